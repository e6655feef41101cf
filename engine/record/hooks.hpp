// What watches a Python program from within: the package gh_advise, which lies in this program.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/spans.hpp"
#include "base/temporary.hpp"

namespace gh {

/// What the hooks are to do; settings.json in their folder.
struct HookSettings {
  std::string capture = "none";  ///< nsys, torch (PyTorch's profiler), or none: only time units
  int units = 10;                ///< to record
  std::optional<int> delay;      ///< units that pass first; none: until their times settle
  bool times = true;             ///< time some units before the recording
  bool alone = false;            ///< each rank has hooks of its own
  bool stacks = false, memory = false, layers = false;
  std::vector<std::string> fixes;  ///< to apply, as `gh-advise try` calls them
};

/// What the hooks have found out so far; state.json in their folder.
struct HookState {
  std::string phase;  ///< "" before the first unit, then start, timing, recording, done
  std::string unit;   ///< what a unit is: "optimizer step"
  bool gpu = false;   ///< whether the program uses one
  std::int64_t passed = 0, timed = 0, recorded = 0;  ///< units
  Ns timed_ns = 0, recorded_ns = 0;                  ///< all timed, all recorded units
  std::vector<Ns> unit_ns;                           ///< each timed unit, as the host saw it
  std::string why_short;                             ///< why fewer than planned were recorded
  std::vector<std::string> applied;                  ///< fixes that changed something
  std::vector<double> losses;                        ///< of the first steps; only if timed

  /// The mean of the timed and of the recorded units; 0 if there are none.
  Ns timed_unit_ns() const { return timed > 0 ? timed_ns / timed : 0; }
  Ns recorded_unit_ns() const { return recorded > 0 ? recorded_ns / recorded : 0; }
};

/// The hooks, unpacked into a folder, and what they say there.
class Hooks {
 public:
  /// Throws Error if Python cannot be told where they are.
  Hooks(std::filesystem::path folder, const HookSettings& settings);

  /// What the program's environment needs so that Python finds them.
  std::map<std::string, std::string> environment() const;
  HookState state() const;

 private:
  std::filesystem::path folder_;
  std::optional<TemporaryFolder> elsewhere_;  // with the package, if the folder has a ':'
};

/// Whether hooks can watch a command: Python, or a script that may start it. Any other program is
/// a file of machine code.
bool may_run_python(const std::vector<std::string>& command);

}  // namespace gh
