#include "record/recording.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

#include <chrono>
#include <exception>
#include <map>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/numbers.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"
#include "read/measured.hpp"
#include "read/recognise.hpp"
#include "read/scrub.hpp"
#include "record/hooks.hpp"
#include "record/programs.hpp"
#include "record/watched_program.hpp"

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
  if (!program_on_path(r.program.front()))
    throw Error(fmt::format("{}: is no program that can be run{}", printable(r.program.front()),
                            r.program.front().ends_with(".py")
                                ? fmt::format("; python {}?", printable(r.program.front()))
                                : ""));
  Method method{find_nsys(r.nsys), !r.delay_ns && may_run_python(r.program)};
  if (r.too.layers && !method.by_units)
    throw Error(
        r.delay_ns
            ? "--layers: modules are marked while units are recorded, and --delay gives a time"
            : "--layers: marks the modules of PyTorch, and this program is not Python");
  if (method.nsys) return method;
  if (!method.by_units)
    throw Error(
        "nsys was found neither on the PATH nor where CUDA, Nsight Systems and Nsight Compute put "
        "it; give its path with --nsys. Only PyTorch programs can be recorded without it");
  if (r.too.metrics) throw Error("--metrics: needs nsys, which was not found; see --nsys");
  return method;
}

// Why a program that was timed or recorded was ended early.
std::string ended_by_limit(const RecordRequest& r) {
  return fmt::format("the program was ended after {}, as --limit says", duration(r.limit_ns));
}

// A recording while it comes into being.
class Recorder {
 public:
  explicit Recorder(const RecordRequest& r)
      : r_(r),
        method_(method_of(r)),
        times_apart_(method_.nsys && method_.by_units && r.timing == Timing::apart),
        folder_(r.output),
        report_(folder_.path / "report"),
        target_(r.output.string() + (method_.nsys ? ".sqlite" : ".json")) {
    refuse_unknown(target_);
    refuse_unknown(measured_path(target_));
    if (r.keep_rep) refuse_unknown(rep());
    for (const fs::path& file : {target_, measured_path(target_), other(), rep()})
      if (std::error_code ec; fs::exists(file, ec)) before_.insert(file);
    if (!method_.by_units) return;
    HookSettings settings;
    settings.capture = method_.nsys ? "nsys" : "torch";
    settings.units = r.units;
    settings.delay = r.delay;
    settings.times = !times_apart_ && r.timing != Timing::never;
    settings.alone = r.one_rank;
    settings.stacks = r.too.stacks;
    settings.memory = r.too.memory;
    settings.layers = r.too.layers;
    hooks_.emplace(folder_.path, settings);
  }

  int run() {
    int status = run_recorded();
    if (starts_again() && !failed_) status = run_timed();
    if (failed_) std::rethrow_exception(failed_);
    return status;
  }

 private:
  // The program's first start, which is recorded.
  int run_recorded() {
    WatchedProgram program(command(),
                           hooks_ ? hooks_->environment() : std::map<std::string, std::string>());
    bool recorded = false;
    const bool limited = watch(program, r_.limit_ns, [&] {
      say_progress();
      if (recorded || !is_recorded(program)) return;
      recorded = true;
      // A run that goes on is not broken off because its recording cannot be used.
      try {
        finish();
      } catch (const std::exception&) {
        failed_ = std::current_exception();
        // The reason is said at the end, which may be days away.
        if (!r_.stop && !starts_again())
          r_.says("the recording cannot be used; the program goes on");
      }
      if (r_.stop || starts_again()) end_recorded(program);
    });
    program_status_ = program.status();
    const int status = *program_status_;
    end_rest(program);
    if (recorded && limited) r_.says(ended_by_limit(r_));
    if (recorded) return status;
    if (limited) throw Error(fmt::format("{}; {}", ended_by_limit(r_), how_far()));
    if (!is_recorded(program)) throw Error(why_not(status));
    finish();
    return status;
  }

  // Without a unit, as in programs that are not PyTorch's, nothing can be timed.
  bool starts_again() const { return times_apart_ && !state_.unit.empty(); }

  void end_recorded(WatchedProgram& program) {
    r_.says(starts_again() ? "ending the program's first start"
                           : "ending the program, as --stop says");
    ended_here_ = true;
    if (method_.nsys)
      program.end_but_for_nsys(end_patience);
    else
      program.end(end_patience);
  }

  // What the program leaves running may still store results.
  void end_rest(WatchedProgram& program) const {
    const auto last = Clock::now() + end_patience;
    if (const std::size_t rest = ended_here_ ? 0 : program.others_running(); rest > 0)
      r_.says(fmt::format("waiting for {} that the program left running",
                          rest == 1 ? "a process" : fmt::format("{} processes", rest)));
    while (!ended_here_ && program.others_running() > 0 && Clock::now() < last)
      std::this_thread::sleep_for(poll_interval);
    program.end(end_patience);
  }

  // The program's second start, without nsys: what it takes then is what it always takes.
  int run_timed() {
    r_.says("starting the program again, without nsys, to time it");
    HookSettings settings;
    settings.delay = r_.delay;
    settings.alone = r_.one_rank;
    const fs::path folder = folder_.path / "timed";
    fs::create_directory(folder);
    const Hooks hooks(folder, settings);
    WatchedProgram program(r_.program, hooks.environment());
    bool timed = false;
    ended_here_ = false;
    const bool limited = watch(program, r_.limit_ns, [&] {
      if (timed || hooks.state().phase != "done") return;
      timed = true;
      take_times(hooks.state());
      if (r_.stop) {
        ended_here_ = true;
        program.end(end_patience);
      }
    });
    const int status = *program.status();
    end_rest(program);
    if (timed && limited) r_.says(ended_by_limit(r_));
    if (timed) return r_.stop ? 0 : status;
    take_times(hooks.state());
    r_.says(fmt::format("it could not be timed without nsys: {}",
                        limited       ? ended_by_limit(r_)
                        : status == 0 ? "it ended too early"
                                      : fmt::format("it ended with status {}", status)));
    return status;
  }

  // What the second start found out. A run that goes on is not broken off by an error here.
  void take_times(const HookState& timed) {
    if (timed.phase == "done" && timed.unit == state_.unit) {
      state_.timed = timed.timed;
      state_.timed_ns = timed.timed_ns;
    }
    try {
      advise();
    } catch (...) {
      failed_ = std::current_exception();
    }
  }

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
      r_.says(fmt::format("{} passed; now timing some", plural(state_.passed, state_.unit)));
    if (said_ == "recording")
      r_.says(state_.unit.empty()
                  ? "no optimizer step, generate() or loop over a DataLoader was seen so far; now "
                    "recording for some seconds"
                  : fmt::format("{} passed; now recording {}", plural(state_.passed, state_.unit),
                                r_.units));
  }

  void say_result() const {
    if (state_.timed > 0)
      r_.says(fmt::format(
          "timed {} {}, {} each", plural(state_.timed, state_.unit),
          method_.nsys && !times_apart_ ? "while nsys was attached" : "without the profiler",
          duration(state_.timed_unit_ns())));
    if (!state_.why_short.empty())
      r_.says(
          fmt::format("{} of {} were recorded: {}", state_.recorded, r_.units, state_.why_short));
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
    if (!state_.unit.empty())
      r_.says(fmt::format("recorded {}", plural(state_.recorded, state_.unit)));
    if (!method_.nsys && !state_.gpu)
      throw Error(
          "the program computes on the CPU: torch.cuda.is_available() is False there, so there is "
          "nothing to advise on");
    refuse_the_programs_own(target_);
    if (method_.nsys) {
      scrub(nsys_export(*method_.nsys, report_), target_);
      if (r_.keep_rep) {
        refuse_the_programs_own(rep());
        fs::rename(report_.string() + ".nsys-rep", rep());
      }
      // They hold the program's environment, for no longer than they must.
      std::error_code ec;
      for (const char* ending : {".nsys-rep", ".qdstrm", ".sqlite"})
        fs::remove(report_.string() + ending, ec);
    } else {
      scrub(folder_.path / "report.json", target_);
    }
    // What belongs to an older recording of this name.
    std::error_code ec;
    for (const fs::path& older : {measured_path(target_), other()})
      if (before_.contains(older) && is_recording(older)) fs::remove(older, ec);
    if (!starts_again()) advise();
  }

  // Files that are named like this recording.
  fs::path other() const { return r_.output.string() + (method_.nsys ? ".json" : ".sqlite"); }
  fs::path rep() const { return r_.output.string() + ".nsys-rep"; }

  // What was not there before the program ran is its own.
  bool is_the_programs_own(const fs::path& file) const {
    std::error_code ec;
    return !before_.contains(file) && fs::exists(file, ec);
  }
  void refuse_the_programs_own(const fs::path& file) const {
    if (is_the_programs_own(file))
      throw Error(fmt::format(
          "{}: the program itself wrote a file of this name, so it is not replaced; name another "
          "with --output",
          printable(file.string())));
  }

  void advise() {
    if (state_.timed > 0) {
      Measured measured;
      measured.ns = state_.timed_unit_ns();
      measured.samples = state_.timed;
      measured.recorded_ns = state_.recorded_unit_ns();
      refuse_the_programs_own(measured_path(target_));
      write_measured_beside(target_, measured);
    }
    say_result();
    r_.recorded(target_);
  }

  std::string how_far() const {
    if (!hooks_) return "nothing was recorded";
    if (state_.unit.empty())
      return "no optimizer step, generate() or loop over a DataLoader was seen";
    return fmt::format("{} had passed, and nothing was recorded",
                       plural(state_.passed, state_.unit));
  }

  std::string why_not(int status) const {
    const std::string ended =
        status == 0 ? "the program ended" : fmt::format("the program ended with status {}", status);
    if (!hooks_)
      return fmt::format("{} before anything was recorded; --delay and --length say when", ended);
    if (state_.phase == "done" || state_.phase == "recording")
      return fmt::format("{}, and the profiler left no recording", ended);
    if (status != 0) return fmt::format("{}; {}, see its own messages above", ended, how_far());
    if (state_.unit.empty())
      return fmt::format("{}, and {}; record by time instead: --delay 10s", ended, how_far());
    return fmt::format("{} after {}, too early to record {}; --delay 2 --units 3 needs fewer",
                       ended, plural(state_.passed, state_.unit), r_.units);
  }

  const RecordRequest& r_;
  Method method_;
  bool times_apart_;
  TemporaryFolder folder_;
  fs::path report_;            // nsys's, without ending
  fs::path target_;            // the user's
  std::set<fs::path> before_;  // of such names, what was there before the program ran
  std::optional<Hooks> hooks_;
  HookState state_;
  std::string said_;
  std::optional<int> program_status_;  // once it has ended
  bool ended_here_ = false;            // it was ended, and did not end by itself
  std::exception_ptr failed_;          // what went wrong while the program went on
  std::uintmax_t rep_bytes_ = 0;
  Clock::time_point rep_since_ = Clock::now();  // of this size
};

}  // namespace

int record(const RecordRequest& request) { return Recorder(request).run(); }

void refuse_unknown(const fs::path& path) {
  std::error_code ec;
  if (!fs::exists(path, ec) || is_recording(path)) return;
  throw Error(fmt::format("{}: is no recording, so it is not replaced; name another with --output",
                          printable(path.string())));
}

int run_to_end(const RecordRequest& r) {
  WatchedProgram program(r.program, {});
  if (watch(program, r.limit_ns, [] {})) throw Error(ended_by_limit(r));
  return *program.status();
}

std::vector<std::string> reports_of_ranks(const fs::path& name) {
  const std::string begin = name.filename().string() + ".rank";
  std::map<std::uint32_t, std::string> reports;
  std::error_code ec;
  const fs::path folder = name.parent_path();
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ec)) {
    const std::string file = entry.path().filename();
    const std::string ending = entry.path().extension();
    if (!file.starts_with(begin) || (ending != ".sqlite" && ending != ".json")) continue;
    const auto rank = number_in<std::uint32_t>(
        std::string_view(file).substr(begin.size(), file.size() - begin.size() - ending.size()));
    if (!rank) continue;
    std::string& report = reports[*rank];
    const fs::path path = folder / file;
    if (report.empty() || fs::last_write_time(path, ec) > fs::last_write_time(report, ec))
      report = path.string();
  }
  std::vector<std::string> list;
  for (const auto& [rank, report] : reports) list.push_back(report);
  return list;
}

std::string recording_name(const std::vector<std::string>& program) {
  for (const std::string& word : program)
    if (word.ends_with(".py")) return fs::path(word).stem();
  // `python -m package.train`: the module.
  for (std::size_t i = 0; i + 1 < program.size(); ++i)
    if (program[i] == "-m") return program[i + 1].substr(program[i + 1].rfind('.') + 1);
  return fs::path(program.front()).stem();
}

}  // namespace gh
