// gh-advise diff: everything that changed between two reports.

#include "cli/captures.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

struct DiffCommand {
  std::vector<std::string> reports;  // before and after
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

int diff(const DiffCommand& o) {
  const std::vector<std::string> before_files = find_reports({o.reports.front()}),
                                 after_files = find_reports({o.reports.back()});
  std::vector<std::string> files = before_files;
  files.insert(files.end(), after_files.begin(), after_files.end());
  const Working working(o.report);
  const Settings settings(o.rule);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(diff_formats), o.report.inputs(files));
  std::vector<Capture> before, after;
  {
    CaptureReader reader(settings, settings.rules(o.rule), o.report, files);
    before = reader.read(before_files, CaptureReader::Wanted::baselines_too);
    after = reader.read(after_files, CaptureReader::Wanted::baselines_too);
  }
  const Comparison c = compare(before, after, {}, {}, today(), {true, true});
  write_outputs(outputs, diff_formats, {c, Detail::everything, before, after, CiResult()});
  return done;
}

}  // namespace

Command add_diff(CommandLine& line) {
  Parser command(line, "diff", "Show what changed between two reports or baselines");
  const auto o = std::make_shared<DiffCommand>();
  command
      .option("REPORT", o->reports,
              "Before and after: a report, a baseline, or a folder of captures")
      .required()
      .exactly(2);
  o->output.add(command, format_names(diff_formats));
  o->rule.add_choice(command);
  o->rule.add_sources(command);
  o->report.add(command);
  return {command, [o] { return diff(*o); }};
}

}  // namespace gh
