// gh-advise try: fixes applied to a program without an edit, timed beside what was predicted.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "advise.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/programs.hpp"
#include "cli/settings.hpp"
#include "record/record.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct TryCommand {
  std::vector<std::string> program, fixes, allow;
  std::string report, delay, limit, nsys = "nsys", ledger = "gh-advise.ledger.jsonl";
  std::string format = "text";
  int rounds = 2;
  bool no_recording = false;
  StyleOptions style;
  RuleOptions rule;
};

// Those that were asked for; otherwise all that may be tried unasked, and those allowed.
std::vector<Fix> fixes_to_try(const TryCommand& o) {
  const std::vector<Fix> allowed = fixes_named(o.allow, "--allow");
  if (!o.fixes.empty()) {
    std::vector<Fix> chosen = fixes_named(o.fixes, "--fix");
    for (const Fix& fix : chosen)
      if (fix.ask && std::none_of(allowed.begin(), allowed.end(),
                                  [&](const Fix& f) { return f.name == fix.name; }))
        throw Error(
            fmt::format("--fix {0}: may change results; allow it with --allow {0}", fix.name));
    return chosen;
  }
  std::vector<Fix> chosen;
  for (const Fix& fix : known_fixes())
    if (!fix.ask) chosen.push_back(fix);
  for (const Fix& fix : allowed)
    if (fix.ask) chosen.push_back(fix);
  return chosen;
}

struct Predicted {
  std::vector<Forecast> forecasts;
  std::string gpu;
};

// Whether so many workers as are tried load batches as fast as the rest of the step takes, which is
// what the forecast assumes. `now`: the step as it is.
bool workers_suffice(const Prediction& forecast, double now) {
  const auto step = static_cast<double>(forecast.step_ns);
  return (now - step) / workers_to_try() <= step;
}

// What a report of the program says of each fix alone. `unit_ns`: what a unit takes as it
// is; 0 leaves that to the report.
Predicted predicted_by(const std::string& report, const std::vector<Fix>& fixes, Ns unit_ns,
                       const TryCommand& o) {
  const Settings settings(o.rule);
  Request request = settings.request(settings.rules(o.rule), ReportOptions());
  request.nsys = o.nsys;
  request.files = {report};
  request.other_loops = false;
  if (unit_ns > 0) request.measured_step_ns = unit_ns;
  const Advice advice = advise(request);
  Predicted predicted;
  if (const auto& devices = advice.analysis->trace.devices; !devices.empty())
    predicted.gpu = devices.front().name;
  const auto now = static_cast<double>(advice.report.step.ns);
  for (const Fix& fix : fixes)
    for (const Finding& f : advice.report.findings) {
      if (f.masked || !f.predicted || now <= 0) continue;
      if (std::find(fix.rules.begin(), fix.rules.end(), f.rule) == fix.rules.end()) continue;
      if (fix.name == "loader-workers" && !workers_suffice(*f.predicted, now)) {
        print_note(fmt::format(
            "what {} workers bring cannot be predicted: they cannot load batches as fast as the "
            "GPU takes them",
            workers_to_try()));
        break;
      }
      predicted.forecasts.push_back({fix.name, f.rule,
                                     static_cast<double>(f.predicted->step_ns) / now,
                                     static_cast<double>(f.predicted->least_ns) / now,
                                     static_cast<double>(f.predicted->most_ns) / now});
      break;
    }
  return predicted;
}

// The program's own recording, which goes with this run.
Predicted predicted_by_recording(const std::vector<Fix>& fixes, Ns unit_ns, const TryCommand& o) {
  const TemporaryFolder folder;
  Predicted predicted;
  RecordRequest request;
  request.program = o.program;
  request.output = folder.path / "as-it-is";
  request.nsys = o.nsys;
  request.delay = parsed_delay(o.delay).units;
  if (!o.limit.empty()) request.limit_ns = duration_option("--limit", o.limit);
  request.stop = true;
  request.timing = Timing::never;
  request.says = print_note;
  request.recorded = [&](const fs::path& report) {
    predicted = predicted_by(report, fixes, unit_ns, o);
  };
  record(request);
  return predicted;
}

Predicted predictions(const std::vector<Fix>& fixes, Ns unit_ns, const TryCommand& o) {
  if (o.no_recording) return {};
  try {
    return predicted_by_recording(fixes, unit_ns, o);
  } catch (const std::exception& e) {  // the trials are not lost
    print_note(fmt::format("nothing can be predicted: {}", e.what()));
    return {};
  }
}

void write_to_ledger(const Trials& trials, const Predicted& predicted, const TryCommand& o) {
  const Ns before = trials.trials.front().unit_time().ns;
  for (const Trial& trial : trials.trials) {
    if (trial.fixes.size() != 1 || trial.unit_ns.empty() || trial.nothing_to_change ||
        !trial.failed.empty())
      continue;
    for (const Forecast& f : predicted.forecasts) {
      if (f.fix != trial.fixes.front().name) continue;
      LedgerEntry entry;
      entry.day = today();
      entry.before = entry.after = recording_name(o.program);
      entry.rules = {f.rule};
      entry.gpu = predicted.gpu;
      entry.before_ns = before;
      entry.after_ns = trial.unit_time().ns;
      const auto share = [&](double of) { return std::llround(of * static_cast<double>(before)); };
      entry.predicted_ns = share(f.step);
      entry.least_ns = share(f.least);
      entry.most_ns = share(f.most);
      entry.outcome = outcome_of(entry.after_ns, entry.least_ns, entry.most_ns);
      append_to_ledger(o.ledger, entry);
    }
  }
}

int try_fixes(const TryCommand& o) {
  TrialRequest request;
  request.program = o.program;
  request.fixes = fixes_to_try(o);
  request.rounds = o.rounds;
  const Delay delay = parsed_delay(o.delay);
  if (delay.ns) throw Error("--delay: takes a number of units here, not a time");
  request.delay = delay.units;
  if (!o.limit.empty()) request.limit_ns = duration_option("--limit", o.limit);
  request.says = print_note;
  // What is wrong with the other options is said before the program runs.
  const Settings settings(o.rule);
  settings.rules(o.rule);
  if (o.ledger != "none") check_ledger(o.ledger, settings.inputs({o.report}));
  if (o.report.empty() && !o.no_recording) find_nsys(o.nsys);
  std::optional<Predicted> by_report;
  if (!o.report.empty()) by_report = predicted_by(o.report, request.fixes, 0, o);
  if (o.fixes.empty() && o.allow.empty())
    print_note("tf32 and compile may change results and are left out; --allow tf32,compile");
  const Trials trials = run_trials(request);
  const Predicted predicted =
      by_report ? *by_report : predictions(request.fixes, trials.trials.front().unit_time().ns, o);
  write(o.format == "json"
            ? render_trials_json(trials, predicted.forecasts)
            : render_trials_text(trials, predicted.forecasts, o.style.style(stdout_is_terminal())),
        to_stdout);
  if (o.ledger != "none") write_to_ledger(trials, predicted, o);
  return done;
}

std::string names_of_fixes() {
  std::string names;
  for (const Fix& fix : known_fixes())
    names += (names.empty() ? "" : ", ") + fix.name + (fix.ask ? " (asks)" : "");
  return names;
}

}  // namespace

Command add_try(CommandLine& line) {
  Parser command(line, "try",
                 "Run a program with fixes that need no edit, in turns with the program as it is, "
                 "and show what each brings beside what was predicted");
  const auto o = std::make_shared<TryCommand>();
  command.program(o->program,
                  "The program and its arguments, after --: -- python train.py. Each run ends once "
                  "enough of its steps are timed");
  command.option(
      "--fix FIX,...", o->fixes,
      fmt::format("Only these fixes (default: all that do not ask): {}", names_of_fixes()));
  command.option("--allow FIX,...", o->allow,
                 "Also these, which may change results by more than rounding: tf32, compile");
  command.option(
      "--report REPORT", o->report,
      "A recording of the program, which says what to expect (default: one is made after "
      "the runs)");
  command.flag("--no-recording", o->no_recording, "Record nothing, and predict nothing");
  command.option("--rounds N", o->rounds, "How often each is run (default: 2)").between(1, 100);
  command.option("--delay N", o->delay,
                 "How many units pass before any is timed (default: until they take equally long)");
  command.option("--limit TIME", o->limit, "End a run that takes longer than this (default: none)");
  command.option("--ledger FILE", o->ledger,
                 "Append what was predicted and measured to this file (default: "
                 "gh-advise.ledger.jsonl); none for no file");
  command.option("--nsys PATH", o->nsys, "The nsys program, as for `gh-advise record`");
  command.option("--format", o->format, "text or json (default: text)").one_of({"text", "json"});
  o->style.add_color(command);
  o->rule.add(command);
  return {command, [o] { return try_fixes(*o); }};
}

}  // namespace gh
