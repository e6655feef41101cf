#include "rules/evaluate.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <new>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "base/text.hpp"
#include "rules/binding.hpp"
#include "rules/estimate.hpp"
#include "rules/finding_from_lua.hpp"
#include "rules/finding_layers.hpp"
#include "rules/lua_table.hpp"
#include "rules/masked.hpp"
#include "rules/sandbox.hpp"
#include "rules/standing.hpp"

namespace gh {
namespace {

// How many findings one rule may return; a rule with more is stopped.
constexpr std::size_t most_findings = 200;  // with more, a rule reports rows rather than problems
constexpr std::size_t most_replayed = 50;  // findings with a change: each is replayed several times

// What every rule gets. Nothing in it changes.
struct Evaluated {
  const Analysis& analysis;
  const Facts& facts;
  const RowsInSteps& in_steps;
  const StepTime& step;
  const Replay* replay;                // null if nothing is replayed
  const OtherRules* others = nullptr;  // set once they have run
};

NotChecked needs(const Rule& rule, Source source, const Trace& trace) {
  const Availability& have = trace.availability(source);
  return {rule.id, fmt::format("needs {}: {}", shown_name_of(source), have.reason),
          have.record_with, true, as_code(have.record_with)};
}

// CUDA graphs traced as a whole hide the kernels in them, not those beside them: what looks into
// kernels looks into these.
bool shows_a_part(Source source, const Analysis& analysis) {
  return source == Source::graph_nodes && analysis.trace.availability(Source::kernels).known() &&
         analysis.coverage() > 0;
}

// Why a rule cannot check this report.
std::optional<NotChecked> unmet_need(const Rule& rule, const Analysis& analysis) {
  const Trace& trace = analysis.trace;
  // Without GPU work nothing counts as clean, whatever was recorded. Rules that judge the recording
  // itself still run.
  if (analysis.total_ns() == 0 && rule.category != "capture")
    return NotChecked{rule.id, "no GPU work was recorded",
                      trace.availability(Source::kernels).record_with};
  const auto missing = std::find_if(rule.needs.begin(), rule.needs.end(), [&](Source s) {
    return !trace.availability(s).known() && !shows_a_part(s, analysis);
  });
  if (missing == rule.needs.end()) return std::nullopt;
  return needs(rule, *missing, trace);
}

// Verbs charge for the rows that they scan, so the same rule needs a larger budget on a long
// report.
SandboxLimits limits_for(const Trace& t) {
  SandboxLimits limits;
  limits.instructions += static_cast<std::int64_t>(
      40 * (t.ops.size() + t.calls.size() + t.ranges.size() + t.os_calls.size()));
  return limits;
}

void push_value(lua_State* lua, const OptionValue& value) {
  if (const auto* n = std::get_if<double>(&value)) {
    lua_pushnumber(lua, *n);
  } else if (const auto* b = std::get_if<bool>(&value)) {
    lua_pushboolean(lua, *b);
  } else {
    const auto& text = std::get<std::string>(value);
    lua_pushlstring(lua, text.data(), text.size());
  }
}

// A factor as set: its range moves along with it, and nothing takes longer than before unless the
// rule says so.
void push_factor(lua_State* lua, const RuleOption& option, double by) {
  const double usual = std::get<double>(option.value);
  const double times = usual > 0 ? by / usual : 1;
  const double longest = std::max({1.0, by, option.range->most});
  lua_newtable(lua);
  for (const auto& [key, value] :
       {std::pair("by", by),
        {"least", std::min(by, option.range->least * times)},
        {"most", std::max(by, std::min(longest, option.range->most * times))}}) {
    lua_pushnumber(lua, value);
    lua_setfield(lua, -2, key);
  }
}

// Two tables: the options, and the factors.
void push_settings(lua_State* lua, const Rule& rule, const RuleSettings& settings) {
  lua_newtable(lua);
  lua_newtable(lua);
  for (const auto& [name, option] : rule.options) {
    const OptionValue& value = settings.value_of(name, option);
    if (option.range)
      push_factor(lua, option, std::get<double>(value));
    else
      push_value(lua, value);
    lua_setfield(lua, option.range ? -2 : -3, name.c_str());
  }
}

// The reason that `evaluate` returned at `index`; "" if that is not a text.
std::string reason_at(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TSTRING) return "";
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua, index, &bytes);
  bytes = std::min(bytes, most_text_bytes);  // a longer text is cut
  lua_take_text(lua, bytes);
  return printable({text, bytes});
}

// The list of findings at `index`.
std::vector<Said> read_findings(lua_State* lua, int index, const Rule& rule,
                                const RuleSettings& settings, const Evaluated& on) {
  std::vector<Said> found;
  std::size_t replayed = 0;
  const auto read = [&](int i) {
    if (found.size() == most_findings)
      throw Error(
          fmt::format("there are more than {} findings; report the worst ones and the total count",
                      most_findings));
    found.push_back(finding_from_lua(lua, i, rule, settings, on.analysis, on.step, on.replay));
    replayed += !found.back().changes.empty();
    if (replayed > most_replayed)
      throw Error(
          "too many findings have changes to replay; omit `change` from those that save least");
  };
  LuaTable(lua, index, "what evaluate returned").each(read);
  return found;
}

// Calls the rule's `evaluate`, which returns a list of findings, or nil, a reason why it could not
// check, and what to record instead.
Answers run(const Rule& rule, const RuleSettings& settings, const Evaluated& on) {
  Answers answers;
  const ApiHost host{on.analysis, on.facts,  on.in_steps,
                     on.step,     on.replay, rule.after_others ? on.others : nullptr};
  LuaSandbox sandbox(limits_for(on.analysis.trace));
  sandbox.load(rule.code);
  sandbox.reset_budget();
  sandbox.run([&](lua_State* lua) {
    LuaTable(lua, 1, "the rule").push("evaluate");
    push_trace(lua, host);
    push_settings(lua, rule, settings);
    lua_call(lua, 3, 3);
    const int first = lua_gettop(lua) - 2;
    if (lua_isnil(lua, first)) {
      const std::string reason = reason_at(lua, first + 1);
      if (reason.empty()) throw Error("evaluate returned nil without a reason");
      const std::string record_with = reason_at(lua, first + 2);
      answers.not_checked.push_back(
          {rule.id, plain_sentence(reason), plain_sentence(record_with), false, record_with});
      return;
    }
    for (Said& f : read_findings(lua, first, rule, settings, on)) {
      Estimate estimate = estimate_of(f, on.analysis, on.step, on.replay);
      answers.findings.push_back({std::move(f), std::move(estimate)});
    }
    if (answers.findings.empty()) answers.clean.push_back(rule.id);
  });
  return answers;
}

// Why a rule that found nothing does not prove that there is no problem; "" if it does.
std::string why_not_clean(const Rule& rule, const Analysis& analysis) {
  if (!analysis.trace.doubts.empty())
    return "the report is in doubt: " + analysis.trace.doubts.front();
  // Whoever launched them, kernels show what they compute, and the recording shows its own
  // problems.
  const bool shows = rule.category == "compute" || rule.category == "capture";
  return shows ? "" : analysis.why_shared();
}

// A rule that looks into kernels and sees few of them proves nothing by finding nothing, or nothing
// of the kind that it checks.
Answers with_coverage(Answers answers, const Rule& rule, const Analysis& analysis) {
  const bool looks_inside =
      std::find(rule.needs.begin(), rule.needs.end(), Source::graph_nodes) != rule.needs.end();
  if (!answers.findings.empty() || !looks_inside || analysis.coverage() >= least_coverage)
    return answers;
  answers.clean.clear();
  answers.not_checked = {needs(rule, Source::graph_nodes, analysis.trace)};
  return answers;
}

// A report that contradicts itself proves nothing, so nothing in it is clean: a rule looks at more
// than it needs, and steps and idle time depend on nearly everything. Findings about the recording
// itself are still valid.
Answers with_doubts(Answers answers, const Rule& rule, const Analysis& analysis) {
  const std::string why = answers.clean.empty() ? "" : why_not_clean(rule, analysis);
  if (why.empty()) return answers;
  answers.clean.clear();
  answers.not_checked.push_back({rule.id, "found nothing, but " + why, ""});
  return answers;
}

Answers answers_of(const Rule& rule, const std::map<std::string, RuleSettings>& settings,
                   const Evaluated& on) {
  static const RuleSettings unchanged;
  Answers answers;
  if (auto unmet = unmet_need(rule, on.analysis)) {
    answers.not_checked.push_back(std::move(*unmet));
    return answers;
  }
  const auto set = settings.find(rule.id);
  const Timed timed("rules/" + rule.id);
  try {
    return with_doubts(with_coverage(run(rule, set == settings.end() ? unchanged : set->second, on),
                                     rule, on.analysis),
                       rule, on.analysis);
  } catch (const OverLimit& e) {
    answers.not_checked.push_back({rule.id, e.what(), ""});
  } catch (const std::bad_alloc&) {
    answers.failed.push_back({rule.id, rule.path + ": not enough memory for this rule"});
  } catch (const std::exception& e) {
    const std::string what = e.what();
    answers.failed.push_back(
        {rule.id, what.starts_with(rule.path) ? what : fmt::format("{}: {}", rule.path, what)});
  }
  return answers;
}

// Rules with more work start first, so that none is left to a single thread at the end. The rule's
// text shows how much work it has: every verb has a ':'.
std::vector<std::size_t> longest_first(const std::vector<Rule>& rules, bool after_others) {
  std::multimap<std::ptrdiff_t, std::size_t, std::greater<>> by_verbs;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (const std::string& text = rules[i].source; rules[i].after_others == after_others)
      by_verbs.emplace(std::count(text.begin(), text.end(), ':'), i);
  std::vector<std::size_t> order;
  for (const auto& [verbs, rule] : by_verbs) order.push_back(rule);
  return order;
}

template <class List>
void append(List& to, List& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

Answers joined(std::vector<Answers> parts, const StepTime& step) {
  Answers all;
  all.step = step;
  for (Answers& part : parts) {
    append(all.findings, part.findings);
    append(all.clean, part.clean);
    append(all.not_checked, part.not_checked);
    append(all.failed, part.failed);
  }
  return all;
}

}  // namespace

Answers ask_rules(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                  const std::map<std::string, RuleSettings>& settings, const Replay* replay,
                  Ns step_ns) {
  const RowsInSteps in_steps = timed("rows in steps", [&] { return RowsInSteps(analysis); });
  StepTime step = replay ? replay->step() : StepTime(analysis);
  if (step_ns > 0) step = {analysis, step_ns, StepTime::From::replayed, step.weights};
  const Evaluated on{analysis, facts, in_steps, step, replay};
  std::vector<Answers> parts(rules.size());
  const auto ask = [&](bool after_others, const Evaluated& with) {
    const std::vector<std::size_t> order = longest_first(rules, after_others);
    in_parallel(order.size(), [&](std::size_t i, std::size_t) {
      parts[order[i]] = answers_of(rules[order[i]], settings, with);
    });
  };
  timed("rules", [&] {
    ask(false, on);
    OtherRules others;
    for (const Rule& rule : rules) others.asked.insert(rule.id);
    for (const Answers& part : parts)
      for (const Estimated& f : part.findings) others.found.push_back(&f);
    Evaluated after = on;
    after.others = &others;
    ask(true, after);
  });
  Answers all = joined(std::move(parts), step);
  // Of steps that fixes leave, nobody asks.
  if (step_ns == 0)
    all.waits = timed("waits", [&] { return host_waits(analysis, in_steps.waits(), replay); });
  return all;
}

Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed,
                const Accepted& accepted) {
  std::shared_ptr<const Replay> replay;
  if (replayed) replay = timed("replay", [&] { return std::make_shared<const Replay>(analysis); });
  Answers answers = ask_rules(rules, analysis, facts, settings, replay.get());

  Report report;
  report.suppressions = states_of(accepted, answers);
  static_cast<Asked&>(report) = answers;
  timed("rank", [&] {
    std::vector<Estimated> kept, suppressed;
    for (Estimated& f : answers.findings)
      (is_accepted(f, accepted) ? suppressed : kept).push_back(std::move(f));
    report.findings = in_order(std::move(kept), replay.get());
    report.suppressed = in_order(std::move(suppressed), replay.get());
  });
  report.plan = timed("plan", [&] { return plan_of(report.findings, replay.get()); });
  report.replay = std::move(replay);
  report =
      timed("masked", [&] { return with_masked(std::move(report), rules, settings, accepted); });
  report.findings =
      timed("layers", [&] { return with_layers(std::move(report.findings), analysis); });
  return report;
}

}  // namespace gh
