// gh-advise baseline: stores measurements of the base branch for `gate`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/captures.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

struct BaselineCommand {
  std::vector<std::string> reports;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

// Says so if captures differ by more than noise.
void note_spread(const std::vector<Capture>& captures, double noise_floor) {
  std::vector<Ns> steps;
  for (const Capture& c : captures) steps.push_back(median(c.step_ns));
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  const double spread = static_cast<double>(*most - *least) / static_cast<double>(*least);
  if (spread > noise_floor)
    print_note(
        fmt::format("the {} takes {} in one capture and {} in another; are all of them of the base "
                    "branch?",
                    UnitWords(captures.front().unit).noun, duration(*least), duration(*most)));
}

int baseline(BaselineCommand o) {
  o.reports = find_reports(o.reports);
  const Working working(o.report);
  const Settings settings(o.rule);
  if (o.output.outputs.size() != 1)
    throw Error("baseline writes one file; give --output baseline.json once");
  const Output output =
      o.output.parsed({"json"}, settings.inputs(o.report.inputs(o.reports))).front();
  const std::vector<Capture> captures =
      CaptureReader(settings, settings.rules(o.rule), o.report, o.reports)
          .read(o.reports, CaptureReader::Wanted::reports);
  // Nothing could be compared with such a baseline.
  if (const auto reasons = incomparable(captures, captures); !reasons.empty())
    throw Error(fmt::format("no baseline was written: {}", fmt::join(reasons, "; ")));
  write(render_baseline(captures), output.file);
  note_spread(captures, settings.config.gate.noise_floor);
  const std::string of = captures.size() == 1 ? printable(o.reports.front())
                                              : fmt::format("{} captures", captures.size());
  print_message(
      fmt::format("wrote the baseline of {} to {}; compare with: gh-advise gate REPORT "
                  "--baseline {}",
                  of, printable(output.file), printable(output.file)));
  return done;
}

}  // namespace

Command add_baseline(CommandLine& line) {
  Parser command(line, "baseline", "Store the measurements of captures, for gate to compare with");
  const auto o = std::make_shared<BaselineCommand>();
  command
      .option("REPORT", o->reports,
              "Reports of one program on one kind of GPU, or folders with them")
      .required();
  command.option("-o,--output FILE...", o->output.outputs, "The baseline, a JSON file").required();
  o->rule.add(command);
  o->report.add(command);
  return {command, [o] { return baseline(*o); }};
}

}  // namespace gh
