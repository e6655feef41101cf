#include "advise.hpp"

#include <fmt/format.h>

#include "base/deadline.hpp"
#include "base/profile.hpp"
#include "base/text.hpp"
#include "base/unit_words.hpp"
#include "read/dcgm.hpp"
#include "read/measured.hpp"
#include "read/read.hpp"
#include "rules/judged_loops.hpp"

namespace gh {
namespace {

// What lies beside the files of a report: of several ranks, which wait for each other, the mean.
MeasuredStep measured_beside_all(const Request& request) {
  MeasuredStep step;
  Ns sum = 0, files = 0, recorded = 0;
  bool all_recorded = true;
  for (const std::string& file : request.files) {
    const auto measured = measured_beside(file);
    if (!measured) continue;
    const std::string name = printable(measured_path(file).filename().string());
    // A part of a step, or another unit, is not what was measured.
    if (!request.selection.range.empty() || (files > 0 && measured->unit != step.unit)) {
      if (request.notes)
        request.notes(fmt::format("{} is not used: it is of {}, which is not what is analysed",
                                  name, UnitWords(measured->unit).a));
      continue;
    }
    sum += measured->ns;
    step.ns = sum / ++files;
    recorded += measured->recorded_ns;
    all_recorded = all_recorded && measured->recorded_ns > 0;
    step.recorded_ns = all_recorded ? recorded / files : 0;
    step.from = name;
    step.unit = measured->unit;
    if (measured->samples > 0) step.from += fmt::format(", the mean of {}", measured->samples);
  }
  if (files > 1) step.from = fmt::format("the mean of {} files beside the reports", files);
  return step;
}

MeasuredStep measured_step(const Request& request) {
  if (request.measured_step_ns) return {*request.measured_step_ns, "--measured-step"};
  return measured_beside_all(request);
}

}  // namespace

Analysis analyse(const Request& request) {
  const TimeLimit limit;
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

  trace.measured_step = measured_step(request);

  // Classify the names, find the units, account for every nanosecond of them.
  return Analysis(std::move(trace), std::move(classes), request.selection);
}

Advice advise(const Request& request) {
  const TimeLimit limit;
  const auto begin = [&](const char* phase) {
    if (request.begins) request.begins(phase);
  };
  Advice advice;
  begin("reading");
  advice.analysis = std::make_unique<Analysis>(analyse(request));
  const Analysis& analysis = *advice.analysis;
  begin("checking");

  // Facts, each computed when it is first asked for.
  advice.facts = std::make_unique<Facts>(analysis);

  // Replay, rules, rank, plan (rules/evaluate.cpp). Formats render the rest: report/formats.hpp.
  advice.report = evaluate(request.rules, analysis, *advice.facts, request.settings, true,
                           {request.suppressions, request.today});
  if (request.other_loops)
    advice.report.loops = judged_loops(request.rules, analysis, request.selection, request.settings,
                                       {request.suppressions, request.today});
  return advice;
}

}  // namespace gh
