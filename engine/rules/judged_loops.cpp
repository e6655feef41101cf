#include "rules/judged_loops.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analysis/facts.hpp"
#include "analysis/segments.hpp"
#include "base/profile.hpp"

namespace gh {
namespace {

// What the recording shows as a whole was found in the report's own steps.
bool is_of_loop(const Finding& f) {
  return f.category != "capture" && f.severity != Severity::note && f.alone_ns > 0 && !f.masked;
}

JudgedLoop judged(const Segment& segment, const std::vector<Rule>& rules, const Analysis& whole,
                  const Selection& selection, const std::map<std::string, RuleSettings>& settings,
                  const Accepted& accepted) {
  Selection of_loop = selection;
  of_loop.unit = segment.loop->name;
  Trace trace = whole.trace;
  trace.measured_step = {};  // of the report's own steps
  const Analysis analysis(std::move(trace), whole.classes, of_loop);
  const Facts facts(analysis);
  Report report = evaluate(rules, analysis, facts, settings, true, accepted);

  JudgedLoop loop;
  loop.name = segment.loop->name;
  loop.place = segment.place();
  for (const DeviceSteps& d : analysis.devices)
    loop.steps = std::max(loop.steps, static_cast<std::int64_t>(d.steps.size()));
  loop.step_ns = report.step.ns;
  loop.busy_fraction = report.step.busy_share(analysis);
  const auto worst = std::find_if(report.findings.begin(), report.findings.end(), is_of_loop);
  if (worst != report.findings.end()) loop.finding = std::move(*worst);
  return loop;
}

}  // namespace

std::vector<JudgedLoop> judged_loops(const std::vector<Rule>& rules, const Analysis& analysis,
                                     const Selection& selection,
                                     const std::map<std::string, RuleSettings>& settings,
                                     const Accepted& accepted) {
  constexpr double least = 0.1;  // of the recording: what takes less changes no decision
  std::vector<JudgedLoop> loops;
  const bool chosen = !selection.unit.empty() || !selection.range.empty() || selection.steps;
  if (chosen || (!share_a_device(analysis.devices) && fraction_outside(analysis) < least))
    return loops;
  for (const Segment& segment : analysis.segments().list)
    if (segment.loop && analysis.segments().fraction(segment) >= least)
      loops.push_back(timed("other loop", [&] {
        return judged(segment, rules, analysis, selection, settings, accepted);
      }));
  return loops;
}

}  // namespace gh
