// gh-advise gate: whether captures of a change pass against a baseline.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "base/files.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "cli/captures.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

struct GateCommand {
  std::vector<std::string> reports, baselines, accept;
  std::string fail_on, reason, until;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
  bool accept_settings = false;

  std::vector<std::string> inputs() const {
    std::vector<std::string> all = reports;
    all.insert(all.end(), baselines.begin(), baselines.end());
    return all;
  }
  // A user may compare a report with itself by the same name, but not a copy of it.
  Meant meant() const {
    return {.other_settings = accept_settings,
            .same_recording = std::find_first_of(reports.begin(), reports.end(), baselines.begin(),
                                                 baselines.end()) != reports.end()};
  }
};

bool is_day(std::string_view date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return false;
  const auto year = number_in<std::uint16_t>(date.substr(0, 4)),
             month = number_in<std::uint16_t>(date.substr(5, 2)),
             day = number_in<std::uint16_t>(date.substr(8));
  return year && month && day &&
         std::chrono::year_month_day(std::chrono::year(*year), std::chrono::month(*month),
                                     std::chrono::day(*day))
             .ok();
}

void check_accept_options(const GateCommand& o) {
  if (o.accept.empty()) {
    if (!o.reason.empty() || !o.until.empty())
      throw Error("--reason and --until belong to --accept ID");
    return;
  }
  if (o.reason.find_first_not_of(' ') == std::string::npos)
    throw Error("--accept needs --reason TEXT, for those who read the configuration later");
  if (o.until.empty()) return;
  if (!is_day(o.until))
    throw Error(fmt::format("--until {}: give a day, as in 2026-12-31", printable(o.until)));
  if (o.until < today()) throw Error(fmt::format("--until {}: is in the past", o.until));
}

// Something that fails and can be accepted.
struct Acceptable {
  Finding finding;
  std::string name;            // as the user would: the rule's, or the budget's fact
  std::optional<double> cost;  // now: nanoseconds a step, or the fact's value
};

// Findings that are new, got worse, or may have, and broken budgets.
std::vector<Acceptable> acceptable(const Comparison& comparison) {
  std::vector<Acceptable> all;
  for (const FindingChange& f : comparison.findings) {
    const bool bad = f.change == FindingState::fresh || f.change == FindingState::worse || f.untold;
    if (!f.present || !bad) continue;
    const auto cost = f.after_ns > 0 ? std::optional(std::round(f.after_ns)) : std::nullopt;
    all.push_back({f.finding, f.finding.rule, cost});
  }
  for (const BudgetResult& b : comparison.budgets) {
    if (b.state != BudgetResult::State::broken && !is_open(b)) continue;
    // A value below its limit is accepted however low it falls.
    const auto cost = b.value.effect > 0 ? std::optional(b.value.after) : std::nullopt;
    all.push_back({finding_of(b), b.budget.fact, cost});
  }
  return all;
}

// The exceptions that --accept asks for. They hold up to a fifth above the present cost.
std::vector<Suppression> accepted(const GateCommand& o, const Comparison& comparison) {
  constexpr double headroom = 1.2;
  std::vector<Suppression> suppressions;
  std::vector<std::string> names;
  std::set<std::string> used;  // of the ids that were asked for
  for (const Acceptable& a : acceptable(comparison)) {
    names.push_back(a.name);
    bool wanted = false;
    for (const std::string& id : o.accept)
      if (id == a.name || id == a.finding.fingerprint) {
        wanted = true;
        used.insert(id);
      }
    const auto up_to = a.cost ? std::optional(*a.cost * headroom) : std::nullopt;
    if (wanted)
      suppressions.push_back(
          {a.finding.rule, a.finding.subject, printable(o.reason), o.until, "", up_to, true});
  }
  const std::string others =
      names.empty() ? "" : fmt::format("; --accept takes {}", fmt::join(names, ", "));
  for (const std::string& id : o.accept)
    if (!used.contains(id))
      throw Error(
          fmt::format("--accept {}: nothing of that name is new, got worse or broke its budget{}",
                      printable(id), others));
  return suppressions;
}

// Both sides and their comparison.
struct Judged {
  std::vector<Capture> before, after;
  Comparison comparison;
  std::string unreadable;  // why nothing could be judged, or ""
};

// Writes the exceptions into the configuration and compares again.
void accept(const GateCommand& o, const Settings& settings, const GateSettings& limits,
            Judged& judged) {
  Comparison& c = judged.comparison;
  if (c.verdict == Verdict::cannot_tell && c.reasons.empty() &&
      !incomparable(judged.before, judged.after).empty())
    throw Error(fmt::format("--accept: nothing can be compared: {}", c.incomparable.front()));
  const bool found = !settings.config_path.empty();
  const std::string path = found ? settings.config_path : "gh-advise.toml";
  const std::vector<Suppression> added = accepted(o, c);
  const std::string text = with_suppressions(path, added);
  write_file(path, text);
  for (const Suppression& s : added)
    print_message(fmt::format("accepted {}, {}: wrote [[accept]] to {}; commit it with the change",
                              s.rule, s.subject, printable(path)));
  // As the next run will find it.
  const Config config(text, found ? path : std::filesystem::absolute(path).string());
  c = compare(judged.before, judged.after, limits, config.gate_exceptions(), today(), o.meant());
}

// What to type to make the first baseline, from reports of the base branch named like these.
std::string first_baseline(const GateCommand& o, const std::string& file) {
  constexpr std::size_t most_named = 4;
  std::string reports;
  for (std::size_t i = 0; i < std::min(o.reports.size(), most_named); ++i)
    reports += shell_word(printable(o.reports[i])) + ' ';
  return fmt::format(
      "record the base branch, type `gh-advise baseline {}-o {}`, and commit that file", reports,
      shell_word(printable(file)));
}

// Throws if a baseline is missing, which is how every gate begins.
void check_baselines_exist(const GateCommand& o) {
  for (const std::string& file : o.baselines) {
    const bool is_report = file.ends_with(".sqlite") || file.ends_with(".nsys-rep");
    if (std::error_code ec; !file.empty() && !is_report && !std::filesystem::exists(file, ec))
      throw Error(fmt::format("{}: there is no baseline yet; {}", printable(file),
                              first_baseline(o, file)));
  }
}

// The files that are named or in a folder that is. What is wrong with a folder is for `judge` to
// say, in every output.
std::vector<std::string> files_of(const GateCommand& o) {
  std::vector<std::string> files;
  for (const std::string& path : o.inputs()) {
    try {
      const std::vector<std::string> inside = find_reports({path});
      files.insert(files.end(), inside.begin(), inside.end());
    } catch (const Error&) {
      files.push_back(path);
    }
  }
  return files;
}

Judged judge(GateCommand& o, const Settings& settings, const GateSettings& limits,
             const std::vector<Output>& outputs) {
  Judged judged;
  Comparison& c = judged.comparison;
  try {
    o.reports = find_reports(o.reports);
    o.baselines = find_reports(o.baselines);
    check_baselines_exist(o);
    CaptureReader reader(settings, settings.rules(o.rule), o.report, o.inputs());
    judged.before = reader.read(o.baselines, CaptureReader::Wanted::baselines_too);
    judged.after = reader.read(o.reports, CaptureReader::Wanted::reports);
    c = compare(judged.before, judged.after, limits, settings.config.gate_exceptions(), today(),
                o.meant());
    if (!o.accept.empty()) accept(o, settings, limits, judged);
  } catch (const Error& e) {
    // CI reads the files, so they say why nothing could be judged.
    const bool only_text = std::all_of(outputs.begin(), outputs.end(), [](const Output& out) {
      return out.format == "text" && out.file == to_stdout;
    });
    if (!o.accept.empty() || only_text) throw;
    judged.unreadable = e.what();
    c.verdict = Verdict::cannot_tell;
    c.incomparable = {judged.unreadable};
    c.headline = fmt::format("Cannot tell: {}.", judged.unreadable);
    c.before = printable(fmt::format("{}", fmt::join(o.baselines, ", ")));
    c.after = printable(fmt::format("{}", fmt::join(o.reports, ", ")));
  }
  return judged;
}

int gate(GateCommand o) {
  const Working working(o.report);
  const Settings settings(o.rule);
  check_accept_options(o);
  if (o.baselines.empty())
    throw Error(fmt::format("gate needs --baseline FILE; for the first one, {}",
                            first_baseline(o, "baseline.json")));
  const std::vector<Output> outputs =
      o.output.parsed(format_names(gate_formats), settings.inputs(o.report.inputs(files_of(o))));
  GateSettings limits = settings.config.gate;
  if (!o.fail_on.empty()) limits.fail_on = parse_severity(o.fail_on, "--fail-on");

  const Judged judged = judge(o, settings, limits, outputs);
  const Comparison& c = judged.comparison;
  const CiResult result = ci_result(c, judged.after, settings.rules(o.rule));
  write_outputs(outputs, gate_formats, {c, Detail::verdict, judged.before, judged.after, result});
  print_suppression_notes(c.suppressions);
  if (!judged.unreadable.empty()) print_message(judged.unreadable);
  return exit_status(c.verdict);
}

}  // namespace

Command add_gate(CommandLine& line) {
  Parser command(
      line, "gate",
      "Compare with a baseline: exit 0 if it passes, 1 if it regressed, 2 if it cannot tell");
  const auto o = std::make_shared<GateCommand>();
  command.option("REPORT", o->reports, "Captures of the change, or folders with them").required();
  command.option(
      "--baseline FILE...", o->baselines,
      "A file that `gh-advise baseline` wrote, or a report. Required; may be given several "
      "times");
  o->output.add(command, format_names(gate_formats));
  o->rule.add(command);
  o->report.add(command);
  command.option(
      "--fail-on SEVERITY", o->fail_on,
      "Fail for new findings and broken budgets of this severity or above: error, warning "
      "(default) or note");
  command.option("--accept ID,...", o->accept,
                 "Write an exception into the configuration: [[accept]] for a rule, a finding's "
                 "fingerprint or a budget's fact. `check` still shows its advice");
  command.flag("--accept-settings", o->accept_settings,
               "Judge by the present rules and settings, if they differ from the baseline's");
  command.option("--reason TEXT", o->reason, "Why --accept accepts it");
  command.option("--until DATE", o->until,
                 "The last day of the exception, as in 2026-12-31; without it, it has no end");
  return {command, [o] { return gate(*o); }};
}

}  // namespace gh
