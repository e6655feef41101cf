// gh-advise facts: what was measured of a report, with units.

#include <fmt/format.h>

#include "advise.hpp"
#include "base/deadline.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/settings.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

struct FactsCommand {
  std::vector<std::string> reports, only;  // one report
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

Analysis analyse_report(const FactsCommand& o) {
  const Settings settings(o.rule);
  Request request = settings.request(o.report);
  request.files = o.reports;
  request.measured_step_ns = MeasuredSteps(o.report, o.reports).of(o.reports);
  Progress progress(1);
  progress.say("reading " + printable(o.reports.front()), 0);
  return analyse(request);
}

int facts(FactsCommand o) {
  o.reports = find_reports(o.reports);
  if (find_jobs(o.reports).size() > 1)
    throw Error(fmt::format("facts takes one report, and the folder holds {}; name one of them",
                            o.reports.size()));
  const Working working(o.report);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(facts_formats), o.report.inputs(o.reports));
  const TimeLimit limit;
  const Analysis analysis = analyse_report(o);
  const Facts facts(analysis);
  write_outputs(outputs, facts_formats, {analysis, facts, o.only});
  return done;
}

}  // namespace

Command add_facts(CommandLine& line) {
  Parser command(line, "facts", "Print the facts of a report, with units");
  const auto o = std::make_shared<FactsCommand>();
  command.option("REPORT", o->reports, "A report, or a folder with one").required().exactly(1);
  command.option(
      "--only FACT,...", o->only,
      "Only these facts: names, their beginnings up to a dot (account.idle), or patterns "
      "with * and ?");
  o->output.add(command, format_names(facts_formats));
  o->rule.add_sources(command);
  o->report.add(command);
  return {command, [o] { return facts(*o); }};
}

}  // namespace gh
