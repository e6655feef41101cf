#include "job/slurm_queue.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/numbers.hpp"
#include "job/slurm_commands.hpp"

namespace gh {
namespace {

using TaskStates = std::map<std::int64_t, TaskState>;

// Parses a line "TASK|STATE|NODE"; `task_of` extracts the number from the task.
template <class TaskOf>
void add_states(const CommandAnswer& answer, TaskOf task_of, TaskStates& states) {
  if (answer.status != 0) return;
  for (const std::string_view line : split(answer.text, "\n")) {
    const std::vector<std::string_view> parts = split(line, "|");
    if (parts.size() < 2) continue;
    const auto task = number_in<std::uint32_t>(task_of(std::string(parts[0])));
    // "CANCELLED by 1000"
    const std::string_view state = parts[1].substr(0, parts[1].find(' '));
    states[task ? std::int64_t{*task} : -1] = {printable(state),
                                               parts.size() > 2 ? printable(parts[2]) : ""};
  }
}

template <std::size_t n>
bool is_one_of(const std::string& state, const char* const (&states)[n]) {
  return std::find(std::begin(states), std::end(states), state) != std::end(states);
}

}  // namespace

bool is_waiting(const TaskState& task) {
  constexpr const char* states[] = {"PENDING",     "REQUEUED",     "REQUEUE_HOLD",
                                    "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  return is_one_of(task.state, states);
}

bool is_running(const TaskState& task) {
  constexpr const char* states[] = {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED",
                                    "STOPPED", "SIGNALING",   "STAGE_OUT",  "RESIZING"};
  return is_one_of(task.state, states);
}

std::map<std::int64_t, TaskState> task_states(const std::string& job_id) {
  TaskStates states;
  const CommandAnswer queue = run_command(
      {"squeue", "--noheader", "--array", "--states=all", "--jobs=" + job_id, "--format=%K|%T|%N"});
  add_states(
      queue, [](const std::string& task) { return task; }, states);
  if (!states.empty()) return states;

  const CommandAnswer accounting =
      run_command({"sacct", "--noheader", "--parsable2", "--array", "--allocations",
                   "--jobs=" + job_id, "--format=JobID,State,NodeList"});
  const auto task_of_id = [](const std::string& id) {  // "71_0"
    const std::size_t at = id.find('_');
    return at == id.npos ? "" : id.substr(at + 1);
  };
  add_states(accounting, task_of_id, states);
  if (states.empty() && queue.status != 0 && queue.text.find("Invalid job id") == queue.text.npos) {
    throw QueueSilent();
  }
  return states;
}

std::int64_t slurm_max_array_size() {
  constexpr std::int64_t by_default = 1001;
  const CommandAnswer answer = run_command({"scontrol", "show", "config"});
  const std::size_t at = answer.text.find("MaxArraySize");
  if (answer.status != 0 || at == answer.text.npos) return by_default;
  const std::size_t digits = answer.text.find_first_of("0123456789", at);
  const std::int64_t size =
      digits == answer.text.npos ? 0 : std::atoll(answer.text.c_str() + digits);
  return size > 1 ? size : by_default;
}

}  // namespace gh
