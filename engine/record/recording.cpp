#include "record/recording.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"
#include "read/measured.hpp"
#include "read/scrub.hpp"
#include "record/hooks.hpp"
#include "record/programs.hpp"
#include "record/watched_program.hpp"
#include "record/work_folder.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_interval{50};
// A recording of which nothing has been written for so long is complete.
constexpr std::chrono::milliseconds settled{1000};

// How a program is recorded: what with, and what decides when.
struct Method {
  std::optional<fs::path> nsys;  // otherwise PyTorch's own profiler
  bool by_units = true;
};

Method method_of(const RecordRequest& r) {
  Method method{find_nsys(r.nsys), !r.delay_ns && may_run_python(r.program)};
  if (method.nsys) return method;
  if (!method.by_units)
    throw Error(
        "nsys was found neither on the PATH nor where CUDA and Nsight Compute put it; give its "
        "path with --nsys. Only PyTorch programs can be recorded without it");
  if (r.too.metrics) throw Error("--metrics: needs nsys, which was not found; see --nsys");
  return method;
}

// A recording while it comes into being.
class Recorder {
 public:
  explicit Recorder(const RecordRequest& r)
      : r_(r), method_(method_of(r)), folder_(r.output), report_(folder_.path / "report") {
    if (!method_.by_units) return;
    HookSettings settings;
    settings.capture = method_.nsys ? "nsys" : "torch";
    settings.units = r.units;
    settings.delay = r.delay;
    settings.stacks = r.too.stacks;
    settings.memory = r.too.memory;
    hooks_.emplace(folder_.path, settings);
  }

  int run() {
    WatchedProgram program(command(),
                           hooks_ ? hooks_->environment() : std::map<std::string, std::string>());
    const auto begin = Clock::now();
    bool recorded = false;
    while (!program.status()) {
      std::this_thread::sleep_for(poll_interval);
      say_progress();
      if (!recorded && is_recorded(program)) {
        recorded = true;
        if (r_.stop) {
          r_.says("recorded; ending the program, as --stop says");
          program.end(end_patience);
        }
        finish();
      }
      if (r_.limit_ns > 0 && Clock::now() - begin > std::chrono::nanoseconds(r_.limit_ns)) {
        program.end(end_patience);
        if (recorded) break;
        throw Error(fmt::format("the program was ended after {}, as --limit says; {}",
                                duration(r_.limit_ns), how_far()));
      }
    }
    program_status_ = program.status();
    const int status = *program_status_;
    program.end(end_patience);  // what it may have left running
    if (!recorded) {
      if (!is_recorded(program)) throw Error(why_not(status));
      finish();
    }
    return status;
  }

 private:
  std::vector<std::string> command() const {
    if (!method_.nsys) return r_.program;
    RecordedTime time{method_.by_units, r_.delay_ns.value_or(0), r_.length_ns};
    return nsys_profile(*method_.nsys, report_, time, r_.too, r_.program);
  }

  // Says what the hooks see, whenever it changes.
  void say_progress() {
    if (!hooks_) return;
    state_ = hooks_->state();
    if (state_.phase == said_) return;
    said_ = state_.phase;
    if (said_ == "timing")
      r_.says(fmt::format("{} passed; now timing some without the profiler",
                          plural(state_.passed, state_.unit)));
    if (said_ == "recording") r_.says(fmt::format("now recording {}", r_.units));
  }

  void say_result() const {
    if (state_.timed > 0)
      r_.says(fmt::format("timed {} without the profiler, {} each; recorded {}",
                          plural(state_.timed, state_.unit), duration(state_.timed_unit_ns()),
                          state_.recorded));
    if (!state_.why_short.empty())
      r_.says(fmt::format("fewer than {} were recorded: {}", r_.units, state_.why_short));
  }

  // While the program runs, nsys writes for a while, and then has closed the file.
  bool is_recorded(const WatchedProgram& program) {
    if (hooks_) state_ = hooks_->state();
    if (!method_.nsys) return is_there(folder_.path / "report.json") && state_.phase == "done";
    if (program_status_)
      return is_there(report_.string() + ".nsys-rep") || is_there(report_.string() + ".qdstrm");
    const fs::path rep = report_.string() + ".nsys-rep";
    std::error_code ec;
    const std::uintmax_t bytes = fs::file_size(rep, ec);
    if (ec || bytes == 0 || bytes != rep_bytes_ || program.has_open(rep)) {
      rep_bytes_ = ec ? 0 : bytes;
      rep_since_ = Clock::now();
      return false;
    }
    return Clock::now() - rep_since_ > settled;
  }

  // Brings the recording to where the user wants it.
  void finish() {
    if (!method_.nsys && !state_.gpu)
      throw Error(
          "the program computes on the CPU: torch.cuda.is_available() is False there, so there is "
          "nothing to advise on");
    const fs::path report = r_.output.string() + (method_.nsys ? ".sqlite" : ".json");
    if (method_.nsys) {
      scrub(nsys_export(*method_.nsys, report_), report);
      if (r_.keep_rep) fs::rename(report_.string() + ".nsys-rep", r_.output.string() + ".nsys-rep");
    } else {
      scrub(folder_.path / "report.json", report);
    }
    if (state_.timed > 0) write_measured(report);
    say_result();
    r_.recorded(report);
  }

  void write_measured(const fs::path& report) const {
    Measured measured;
    measured.ns = state_.timed_unit_ns();
    measured.samples = state_.timed;
    measured.recorded_ns = state_.recorded_unit_ns();
    write_measured_beside(report, measured);
  }

  std::string how_far() const {
    if (!hooks_) return "nothing was recorded";
    if (state_.phase.empty())
      return "no optimizer step, generate() or loop over a DataLoader was seen";
    return fmt::format("{} had passed, and nothing was recorded",
                       plural(state_.passed, state_.unit));
  }

  std::string why_not(int status) const {
    const std::string ended =
        status == 0 ? "the program ended" : fmt::format("the program ended with status {}", status);
    if (!hooks_)
      return fmt::format("{} before anything was recorded; --delay and --length say when", ended);
    if (state_.phase.empty())
      return fmt::format("{}, and {}; record by time instead: --delay 10s", ended, how_far());
    if (state_.phase == "done" || state_.phase == "recording")
      return fmt::format("{}, and the profiler left no recording", ended);
    return fmt::format("{} after {}, too early to record {}; --delay 2 --units 3 needs fewer",
                       ended, plural(state_.passed, state_.unit), r_.units);
  }

  const RecordRequest& r_;
  Method method_;
  WorkFolder folder_;
  fs::path report_;  // nsys's, without ending
  std::optional<Hooks> hooks_;
  HookState state_;
  std::string said_;
  std::optional<int> program_status_;  // once it has ended
  std::uintmax_t rep_bytes_ = 0;
  Clock::time_point rep_since_ = Clock::now();  // of this size
};

}  // namespace

int record(const RecordRequest& request) { return Recorder(request).run(); }

std::string recording_name(const std::vector<std::string>& program) {
  for (const std::string& word : program)
    if (word.ends_with(".py")) return fs::path(word).stem();
  // `python -m package.train`: the module.
  for (std::size_t i = 0; i + 1 < program.size(); ++i)
    if (program[i] == "-m") return program[i + 1].substr(program[i + 1].rfind('.') + 1);
  return fs::path(program.front()).stem();
}

}  // namespace gh
