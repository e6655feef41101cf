#include "record/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "base/quantities.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"
#include "record/hooks.hpp"
#include "record/watched_program.hpp"

namespace gh {
namespace {

// A program that has been timed is of no more use.
constexpr std::chrono::milliseconds timed_patience{2'000};

constexpr double least_off = 0.005;  // of a mean, even if two runs agree by chance
// Losses further apart than rounding explains, relative.
constexpr double rounding = 1e-3;

// The value of a variable that makes a fix. PyTorch's allocator takes a list, which the user may
// have begun.
std::string with_users(const std::string& name, const std::string& value) {
  const char* given = std::getenv(name.c_str());
  const bool adds = given && *given && name == "PYTORCH_CUDA_ALLOC_CONF";
  return adds ? given + std::string(",") + value : value;
}

// One run, until enough units are timed.
struct Run {
  HookState state;
  std::string failed;
};

Run run_once(const TrialRequest& r, const std::vector<Fix>& fixes) {
  const TemporaryFolder folder;
  HookSettings settings;
  settings.delay = r.delay;
  for (const Fix& fix : fixes) settings.fixes.push_back(fix.name);
  const Hooks hooks(folder.path, settings);
  auto environment = hooks.environment();
  for (const Fix& fix : fixes)
    for (const auto& [name, value] : fix.environment) environment[name] = with_users(name, value);

  Run run;
  WatchedProgram program(r.program, environment);
  const bool limited = watch(program, r.limit_ns, [&] {
    if (hooks.state().phase == "done") program.end(timed_patience);
  });
  run.state = hooks.state();
  if (limited) run.failed = fmt::format("took longer than {}", duration(r.limit_ns));
  if (!limited && run.state.phase == "done") return run;
  if (run.failed.empty() && *program.status() != 0)
    run.failed = fmt::format("ended with status {}", *program.status());
  if (run.failed.empty())
    run.failed = run.state.phase.empty()
                     ? "ended, and no optimizer step, generate() or loop over a DataLoader was seen"
                     : fmt::format("ended after {}, too early to time them",
                                   plural(run.state.passed, run.state.unit));
  return run;
}

// How far apart the losses of two runs are at most, relative, and where.
std::pair<double, std::size_t> furthest(const std::vector<double>& a,
                                        const std::vector<double>& b) {
  std::pair<double, std::size_t> most{0, 0};
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double apart = std::abs(a[i] - b[i]) / std::max({std::abs(a[i]), std::abs(b[i]), 1e-12});
    if (!(apart <= most.first)) most = {std::isnan(apart) ? INFINITY : apart, i};
  }
  return most;
}

void compare_losses(const Trial& base, double unsteady, Trial& trial) {
  if (base.losses.empty() || trial.losses.empty()) return;
  if (unsteady > rounding) {
    trial.compared = Losses::unsteady;
    return;
  }
  const auto [apart, step] = furthest(base.losses, trial.losses);
  trial.compared = apart > rounding ? Losses::differ : Losses::same;
  if (trial.compared == Losses::differ)
    trial.difference = fmt::format("step {}: {:.6g} instead of {:.6g}", step + 1,
                                   trial.losses[step], base.losses[step]);
}

std::string name_of(const Trial& trial) {
  if (trial.is_base()) return "as it is";
  std::string names;
  for (const Fix& fix : trial.fixes) names += (names.empty() ? "" : ", ") + fix.name;
  return "with " + names;
}

// A trial's next run.
void run_next(const TrialRequest& r, int round, Trial& trial, Trials& all, double& unsteady) {
  r.says(fmt::format("round {} of {}: {}", round + 1, r.rounds, name_of(trial)));
  const Run run = run_once(r, trial.fixes);
  if (!run.failed.empty()) {
    trial.failed = run.failed;
    return;
  }
  if (all.unit.empty() && !run.state.gpu)
    r.says("the program computes on the CPU, where most of these fixes change nothing");
  all.unit = run.state.unit;
  trial.nothing_to_change =
      !trial.is_base() && run.state.applied.empty() &&
      (!run.state.gpu || std::all_of(trial.fixes.begin(), trial.fixes.end(),
                                     [](const Fix& f) { return f.environment.empty(); }));
  if (trial.is_base() && !trial.losses.empty())
    unsteady = std::max(unsteady, furthest(trial.losses, run.state.losses).first);
  trial.losses = run.state.losses;
  trial.unit_ns.push_back(run.state.timed_unit_ns());
}

}  // namespace

UnitTime Trial::unit_time() const {
  if (unit_ns.empty()) return {};
  const auto [least, most] = std::minmax_element(unit_ns.begin(), unit_ns.end());
  Ns sum = 0;
  for (const Ns ns : unit_ns) sum += ns;
  const Ns mean = sum / static_cast<Ns>(unit_ns.size());
  const auto least_off_ns = static_cast<Ns>(least_off * static_cast<double>(mean));
  return {mean, std::max((*most - *least) / 2, least_off_ns)};
}

bool helps(const Trial& base, const Trial& trial) {
  if (!trial.failed.empty() || trial.unit_ns.empty() || trial.nothing_to_change) return false;
  const UnitTime before = base.unit_time(), after = trial.unit_time();
  // Half the range of a few runs understates how far they are off: twice that is asked for.
  return before.ns - after.ns > 2 * (before.off_ns + after.off_ns);
}

Trials run_trials(const TrialRequest& r) {
  Trials all;
  all.trials.emplace_back();
  for (const Fix& fix : r.fixes) all.trials.push_back({{fix}, {}, {}, "", false, {}, ""});
  double unsteady = 0;
  for (int round = 0; round < r.rounds; ++round)
    for (Trial& trial : all.trials) {
      if (!trial.failed.empty() || trial.nothing_to_change) continue;
      run_next(r, round, trial, all, unsteady);
      if (trial.is_base() && !trial.failed.empty())
        throw Error(fmt::format("the program {}, as it is", trial.failed));
    }

  // Those that help, together.
  Trial together;
  for (const Trial& trial : all.trials)
    if (!trial.is_base() && helps(all.trials.front(), trial))
      together.fixes.push_back(trial.fixes.front());
  if (together.fixes.size() > 1) {
    for (int round = 0; round < r.rounds && together.failed.empty(); ++round)
      run_next(r, round, together, all, unsteady);
    all.trials.push_back(std::move(together));
  }
  // One run does not show whether the program's losses are the same each time.
  for (Trial& trial : all.trials)
    if (!trial.is_base() && r.rounds > 1) compare_losses(all.trials.front(), unsteady, trial);
  return all;
}

}  // namespace gh
