#include "rules/finding_from_lua.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "rules/advice.hpp"
#include "rules/binding.hpp"
#include "rules/finding_message.hpp"
#include "rules/lua_table.hpp"
#include "rules/worth.hpp"

namespace gh {
namespace {

// Fills in the finding's title and message, and returns the latter with the time that it says is lost.
FilledMessage read_texts(lua_State* lua, const LuaTable& t, const Rule& rule,
                         const Analysis& analysis, const StepTime& step, Finding& f) {
  const std::string name = t.text("message");
  const auto pattern = rule.messages.find(name);
  if (pattern == rule.messages.end())
    throw Error(fmt::format("a finding has the message '{}', which is not in 'messages'", name));
  if (t.push("data") == LUA_TNIL) {
    lua_pop(lua, 1);
    lua_newtable(lua);
  }
  const LuaTable data(lua, -1, "'data' of a finding");
  FilledMessage message = filled_message(pattern->second, data, analysis, step);
  f.marked.message = message.text;
  f.message = plain_sentence(message.text);
  const auto headline = rule.headlines.find(name);
  f.title = headline == rule.headlines.end()
                ? rule.title
                : plain_sentence(filled_message(headline->second, data, analysis, step).text);
  lua_pop(lua, 1);
  return message;
}

// From the rule's own estimate. Rules sum over all steps on all devices; a report is about one
// step, and no fix saves more than there is.
void read_recoverable(const LuaTable& t, const Analysis& analysis, const StepTime& step,
                      Finding& f) {
  const double all = step.total_ns(analysis);
  const double recoverable = std::clamp(t.number("recoverable_ns").value_or(0), 0.0, all);
  if (all > 0) f.recoverable_fraction = recoverable / all;
  f.step_ns = step.ns;
  f.recoverable_ns =
      static_cast<Ns>(std::llround(f.recoverable_fraction * static_cast<double>(step.ns)));
}

// Whether this is just the start of a program, which is never an error.
bool is_too_little(const Analysis& analysis) {
  return !analysis.has_steps() && analysis.total_ns() < least_judged_ns;
}

// Relative to all steps on all devices, over which rules sum.
double cited_share(const LuaTable& t, const Analysis& analysis, const StepTime& step) {
  const double all = step.total_ns(analysis);
  const auto cited = t.number("cited_ns");
  return cited && all > 0 ? std::clamp(*cited / all, 0.0, 1.0) : 1;
}

// Rules set the share from which a finding is a warning (one-line remedies: 3 %).
Severity severity_of(double recoverable_fraction, const Rule& rule) {
  if (recoverable_fraction >= error_at) return Severity::error;
  return recoverable_fraction >= rule.warning_at ? Severity::warning : Severity::note;
}

// From the savings, unless the rule or the configuration sets it; the configuration takes
// precedence.
Severity read_severity(const LuaTable& t, const Finding& f, const Rule& rule,
                       const RuleSettings& settings, const Analysis& analysis) {
  Severity severity = severity_of(f.recoverable_fraction, rule);
  if (is_too_little(analysis)) severity = std::min(severity, Severity::warning);
  if (const std::string s = t.text("severity", false); !s.empty())
    severity = parse_severity(s, "a finding");
  if (const std::string s = t.text("at_most", false); !s.empty())
    severity = std::min(severity, parse_severity(s, "a finding"));
  return settings.severity.value_or(severity);
}

std::string read_confidence(const LuaTable& t, const std::string& otherwise) {
  const std::string c = t.text("confidence", false);
  if (c.empty()) return otherwise;
  if (c != "high" && c != "medium" && c != "low")
    throw Error(fmt::format("confidence '{}' is not high, medium or low", c));
  return c;
}

Metric read_metric(lua_State* lua, int index) {
  const LuaTable m(lua, index, "a metric");
  m.only({"name", "value", "unit", "threshold"});
  const auto value = m.number("value");
  if (!value) throw Error("a metric needs 'value', a number");
  return {m.text("name"), *value, parse_unit(m.text("unit"), "a metric"), m.number("threshold")};
}

// The rule's reason why recording overhead may explain a finding; "" if the replay shows that it
// does not.
std::string read_doubt(const LuaTable& t, const Finding& f, const Rule& rule,
                       const Replay* replay) {
  const bool settled = replay && worth_if_overhead_is_most(f, *replay) >= rule.warning_at;
  return settled ? "" : t.text("doubt", false);
}

std::vector<Evidence> read_evidence(const LuaTable& t, const Trace& trace) {
  std::vector<Evidence> evidence = to_evidence(t);
  for (const Evidence& e : evidence)
    if (e.span.start < trace.capture_start || e.span.end > trace.capture_end)
      throw Error("a finding has evidence outside of the trace; take it from selection:evidence");
  return evidence;
}

}  // namespace

Finding finding_from_lua(lua_State* lua, int index, const Rule& rule, const RuleSettings& settings,
                         const Analysis& analysis, const StepTime& step, const Replay* replay) {
  const LuaTable t(lua, index, "a finding");
  t.only({"message", "data", "subject", "recoverable_ns", "confidence", "advice", "metrics",
          "evidence", "severity", "at_most", "voids", "follows_from", "about", "change",
          "uncertain", "cited_ns", "doubt", "seen"});
  Finding f;
  f.rule = rule.id;
  f.category = rule.category;
  const FilledMessage message = read_texts(lua, t, rule, analysis, step, f);
  f.subject = t.text("subject");
  f.voids = t.truth("voids");
  f.about = t.truth("about") && analysis.processes_on_a_device == 1;
  f.follows_from = t.text("follows_from", false);
  f.of_window = !analysis.has_steps();

  read_recoverable(t, analysis, step, f);
  f.changes = to_changes(t);
  const std::string uncertain = t.text("uncertain", false);
  const double by_account = f.recoverable_fraction;
  if (replay) predict(f, *replay, uncertain, cited_share(t, analysis, step));
  const std::string doubt = read_doubt(t, f, rule, replay);
  if (!doubt.empty()) claim_at_most(f, by_account);

  if (message.lost_ns && step.ns > 0)
    f.explained_ns =
        std::llround(std::clamp(*message.lost_ns, 0.0, static_cast<double>(step.ns)) *
                     static_cast<double>(f.step_ns) / static_cast<double>(step.ns));
  stay_with_explained(f);
  f.alone_ns = f.recoverable_ns;
  f.severity = read_severity(t, f, rule, settings, analysis);
  f.severity_by_worth = !settings.severity && t.text("severity", false).empty();
  f.confidence = read_confidence(t, f.confidence);
  if (!doubt.empty()) {
    f.message += " " + doubt;
    f.confidence = "medium";
    if (!settings.severity) f.severity = Severity::note;
  }
  f.severity_alone = f.severity;
  f.marked.advice = advice_for(lua, t, analysis, step);
  for (const std::string& advice : f.marked.advice) f.advice.push_back(plain_sentence(advice));
  t.each("metrics", [&](int i) { f.metrics.push_back(read_metric(lua, i)); });
  f.evidence = read_evidence(t, analysis.trace);
  f.fingerprint = fingerprint(f);
  return f;
}

}  // namespace gh
