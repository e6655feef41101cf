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

namespace gh {
namespace {

// Fills in the finding's title and message, and the time that the latter says is lost.
void read_texts(lua_State* lua, const LuaTable& t, const Rule& rule, const Analysis& analysis,
                const StepTime& step, Said& f) {
  const std::string name = t.text("message");
  const auto pattern = rule.messages.find(name);
  if (pattern == rule.messages.end())
    throw Error(fmt::format("a finding has the message '{}', which is not in 'messages'", name));
  if (t.push("data") == LUA_TNIL) {
    lua_pop(lua, 1);
    lua_newtable(lua);
  }
  const LuaTable data(lua, -1, "'data' of a finding");
  const FilledMessage message = filled_message(pattern->second, data, analysis, step);
  f.marked.text = message.text;
  f.text = plain_sentence(message.text);
  f.claim.lost_ns = message.lost_ns;
  const auto headline = rule.headlines.find(name);
  f.title = headline == rule.headlines.end()
                ? rule.title
                : plain_sentence(filled_message(headline->second, data, analysis, step).text);
  lua_pop(lua, 1);
}

// Rules sum over all steps on all devices; a report is about one step, and no fix saves more than
// there is.
double share_of(const LuaTable& t, const char* key, double otherwise, double all_ns) {
  const auto ns = t.number(key);
  return ns && all_ns > 0 ? std::clamp(*ns / all_ns, 0.0, 1.0) : otherwise;
}

// Whether this is just the start of a program, which is never an error.
bool is_too_little(const Analysis& analysis) {
  return !analysis.has_steps() && analysis.total_ns() < least_judged_ns;
}

std::optional<Severity> read_severity(const LuaTable& t, const char* key) {
  const std::string name = t.text(key, false);
  if (name.empty()) return std::nullopt;
  return parse_severity(name, "a finding");
}

std::string read_confidence(const LuaTable& t) {
  const std::string c = t.text("confidence", false);
  if (c.empty()) return "high";
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

Claim read_claim(const LuaTable& t, const Rule& rule, const RuleSettings& settings,
                 const Analysis& analysis, const StepTime& step) {
  Claim c;
  const double all_ns = step.total_ns(analysis);
  c.share = share_of(t, "recoverable_ns", 0, all_ns);
  c.cited_share = share_of(t, "cited_ns", 1, all_ns);
  c.about = t.truth("about") && analysis.why_shared().empty();
  c.uncertain = t.text("uncertain", false);
  c.doubt = t.text("doubt", false);
  c.confidence = read_confidence(t);
  c.warning_at = rule.warning_at;
  c.team_severity = settings.severity;
  const Severity at_most = read_severity(t, "at_most").value_or(Severity::error);
  c.severity = read_severity(t, "severity");
  if (c.severity) c.severity = std::min(*c.severity, at_most);
  c.at_most = is_too_little(analysis) ? std::min(at_most, Severity::warning) : at_most;
  return c;
}

// Whose time it is, if at least half of it has one owner. Returns what the table says about that
// owner, if the finding asks for advice on it.
const KnownOwner* read_owner(const LuaTable& t, Said& f) {
  const std::vector<CodeOwner> owners = to_owners(t, f.changes);
  Ns all = 0;
  for (const CodeOwner& owner : owners) all += owner.ns;
  if (owners.empty() || 2 * owners.front().ns < all) return nullptr;
  const KnownOwner* known = owners.front().known;
  f.owner = owners.front().name;
  if (known) f.owner_key = known->key;
  return t.has("owner") ? known : nullptr;
}

std::vector<Evidence> read_evidence(const LuaTable& t, const Trace& trace) {
  std::vector<Evidence> evidence = to_evidence(t);
  for (const Evidence& e : evidence)
    if (e.span.start < trace.capture_start || e.span.end > trace.capture_end)
      throw Error("a finding has evidence outside of the trace; take it from selection:evidence");
  return evidence;
}

}  // namespace

Said finding_from_lua(lua_State* lua, int index, const Rule& rule, const RuleSettings& settings,
                      const Analysis& analysis, const StepTime& step, const Replay* replay) {
  const LuaTable t(lua, index, "a finding");
  t.only({"message", "data", "subject", "recoverable_ns", "confidence", "advice", "metrics",
          "evidence", "severity", "at_most", "voids", "follows_from", "about", "change",
          "uncertain", "cited_ns", "doubt", "seen", "owner"});
  Said f;
  f.rule = rule.id;
  f.category = rule.category;
  f.claim = read_claim(t, rule, settings, analysis, step);
  read_texts(lua, t, rule, analysis, step, f);
  f.subject = t.text("subject");
  f.fingerprint = fingerprint(f);
  f.root = t.text("follows_from", false);
  f.voids = t.truth("voids");
  f.of_window = !analysis.has_steps();
  f.changes = to_changes(t);
  const KnownOwner* known = read_owner(t, f);
  for (const FilledMessage& advice : advice_for(lua, t, known, analysis, step)) {
    if (f.advice.empty()) f.marked.fix = advice.short_form;
    f.marked.advice.push_back(advice.text);
    f.advice.push_back(plain_sentence(advice.text));
  }
  f.fix = plain_sentence(f.marked.fix);
  t.each("metrics", [&](int i) { f.metrics.push_back(read_metric(lua, i)); });
  f.evidence = read_evidence(t, analysis.trace);
  if (replay && replay->reason().empty()) replay->trim(f.changes);
  return f;
}

}  // namespace gh
