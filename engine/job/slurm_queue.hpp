// Asks Slurm about jobs: its queue, its accounting, its configuration.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "job/slurm.hpp"

namespace gh {

struct TaskState {
  std::string state;  ///< "RUNNING"; "" if unknown
  std::string node;
};
bool is_waiting(const TaskState& task);
bool is_running(const TaskState& task);

/// The states of a job's tasks (task -1 if the job is not an array), from Slurm's queue, which
/// keeps ended tasks for some minutes, or from its accounting. Empty if the queue has forgotten the
/// job; throws QueueSilent if nothing answers.
std::map<std::int64_t, TaskState> task_states(const std::string& job_id);

}  // namespace gh
