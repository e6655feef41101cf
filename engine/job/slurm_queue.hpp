// What Slurm says of jobs: its queue, its accounting, its configuration.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "job/slurm.hpp"

namespace gh {

struct TaskState {
  std::string state;  ///< "RUNNING"; "" where nobody knows of it
  std::string node;
};
bool is_waiting(const TaskState& task);
bool is_running(const TaskState& task);

/// The states of a job's tasks (task -1: of a job that is no array), by Slurm's queue, which keeps
/// those that ended for some minutes, or by its accounting. Nothing where the queue has forgotten
/// the job; throws QueueSilent where nobody says.
std::map<std::int64_t, TaskState> task_states(const std::string& job_id);

}  // namespace gh
