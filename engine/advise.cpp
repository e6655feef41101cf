#include "advise.hpp"

#include "base/profile.hpp"

namespace gh {

Analysis analyse(const Request& request, std::vector<std::string>& notes) {
  // Read every file, whatever profiler wrote it, and join the ranks of a job on one clock.
  Classes classes;
  if (request.config) request.config->extend(classes);
  std::vector<Trace> ranks;
  {
    const Timed timed("read");
    for (const std::string& file : request.files) ranks.push_back(read_report(file, request.nsys));
  }
  Trace trace = joined(std::move(ranks), classes);
  if (!request.dcgm.empty()) notes = add_dcgm(trace, request.dcgm);

  // Classify the names, find the steps, account for every nanosecond of them.
  return Analysis(std::move(trace), std::move(classes), request.selection);
}

Advice advise(const Request& request) {
  const auto begin = [&](const char* phase) {
    if (request.begins) request.begins(phase);
  };
  Advice advice;
  begin("reading");
  advice.analysis = std::make_unique<Analysis>(analyse(request, advice.notes));

  begin("checking");
  advice.facts = std::make_unique<Facts>(*advice.analysis);
  advice.report = evaluate(request.rules, *advice.analysis, *advice.facts, request.settings);
  suppress(advice.report, request.suppressions, request.today);
  return advice;
}

}  // namespace gh
