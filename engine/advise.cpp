#include "advise.hpp"

#include "base/profile.hpp"
#include "read/dcgm.hpp"
#include "read/read.hpp"

namespace gh {

Analysis analyse(const Request& request) {
  Classes classes;
  if (request.config) request.config->extend(classes);

  // Read: every file, whatever profiler wrote it, becomes a trace; the ranks of a job become one,
  // on one clock.
  std::vector<Trace> ranks;
  {
    const Timed timed("read");
    for (const std::string& file : request.files) ranks.push_back(read_report(file, request.nsys));
  }
  Trace trace = join_ranks(std::move(ranks), classes);
  if (!request.dcgm.empty())
    for (const std::string& note : add_dcgm(trace, request.dcgm))
      if (request.notes) request.notes(note);

  // Classify the names, find the units, account for every nanosecond of them.
  return Analysis(std::move(trace), std::move(classes), request.selection);
}

Advice advise(const Request& request) {
  const auto begin = [&](const char* phase) {
    if (request.begins) request.begins(phase);
  };
  Advice advice;
  begin("reading");
  advice.analysis = std::make_unique<Analysis>(analyse(request));
  const Analysis& analysis = *advice.analysis;
  begin("checking");

  // The graph: what a step takes once something in it has been changed.
  auto replay = timed("replay", [&] { return std::make_shared<const Replay>(analysis); });

  // Facts, each computed when it is first asked for.
  advice.facts = std::make_unique<Facts>(analysis);

  // Rules: what each finds, and what its fix is worth by the graph.
  Report& report = advice.report;
  report = ask_rules(request.rules, analysis, *advice.facts, request.settings, std::move(replay));

  // Rank: the best fix first, and what follows from it behind it.
  rank(report.findings);
  widen_by_roots(report.findings);

  // Plan: the fixes one after the other, until none is worth much.
  report.plan = timed("plan", [&] { return plan_of(report); });

  // What the team has decided to live with goes. Formats render the rest: report/formats.hpp.
  suppress(report, request.suppressions, request.today);
  return advice;
}

}  // namespace gh
