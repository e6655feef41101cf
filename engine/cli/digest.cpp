// gh-advise digest: what matters of one report of a large job, in a few kilobytes.
#include "job/digest.hpp"

#include <fmt/format.h>

#include <memory>

#include "advise.hpp"
#include "base/deadline.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

struct DigestCommand {
  std::vector<std::string> reports;  // one
  std::optional<std::int64_t> first_rank;
  std::string node;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

int digest(const DigestCommand& o) {
  const Working working(o.report);
  const Settings settings(o.rule);
  if (o.output.outputs.size() != 1)
    throw Error("digest writes one file; give --output rank.digest once");
  const Output output =
      o.output.parsed({"json"}, settings.inputs(o.report.inputs(o.reports))).front();
  if (o.first_rank && (*o.first_rank < 0 || *o.first_rank > most_rank))
    throw Error(fmt::format("--first-rank: give a rank from 0 to {}", most_rank));
  const std::string& report = o.reports.front();
  Progress progress(1);
  progress.say("digesting " + printable(report), 0);
  Request request = settings.request(settings.rules(o.rule), o.report);
  request.files = o.reports;
  request.measured_step_ns = MeasuredSteps(o.report, o.reports).of(o.reports);
  const auto analyse_rank = [&](std::optional<int> rank) {
    Request of_rank = request;
    if (rank) of_rank.selection.rank = rank;
    return analyse(of_rank);
  };
  const TimeLimit limit;
  const Digest made =
      make_digest(analyse_rank, report, request.rules, request.settings, {o.node, o.first_rank});
  write(pack_digest(made), output.file);
  return done;
}

}  // namespace

Command add_digest(CommandLine& line) {
  Parser command(line, "digest", "Store what matters of one report of a job, for fleet");
  const auto o = std::make_shared<DigestCommand>();
  command.option("REPORT", o->reports, "The report of a rank, or of all ranks of a node")
      .required()
      .exactly(1);
  command.option("-o,--output FILE...", o->output.outputs, "The digest").required();
  command.option(
      "--first-rank N", o->first_rank,
      "The rank of the report's first process, if neither the report nor its name (rank7) "
      "says it");
  command.option("--node NAME", o->node, "The name of the machine (default: the report's)");
  o->rule.add(command);
  o->report.add(command);
  return {command, [o] { return digest(*o); }};
}

}  // namespace gh
