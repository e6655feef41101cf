// What is known about the report as a whole: facts, what was recorded, the profiler's messages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/loader_threads.hpp"
#include "analysis/structure/periodic_events.hpp"
#include "analysis/tables/groups.hpp"
#include "base/text.hpp"
#include "read/environment.hpp"
#include "rules/binding/verbs.hpp"
#include "rules/texts_by_kind.hpp"
#include "whatif/replay.hpp"

namespace gh::binding {
namespace {

int fact(lua_State* lua, const Context& c) {
  const FactValue& v = c.facts.value(checked_text(lua, 2));
  if (const auto* number = std::get_if<double>(&v)) {
    push_number(lua, *number);
    return 1;
  }
  if (const auto* text = std::get_if<std::string>(&v)) {
    push_text(lua, *text);
    return 1;
  }
  lua_pushnil(lua);
  push_text(lua, std::get<Unknown>(v).reason);
  return 2;
}

int total_ns(lua_State* lua, const Context& c) {
  push_number(lua, c.step.total_ns(c.analysis));
  return 1;
}

// A replay passes over all that is replayed.
int saves_ns(lua_State* lua, const Context& c) {
  const Changes changes = changes_at(lua, 2, "what 'saves_ns' takes");
  if (!c.replay) {
    lua_pushnil(lua);
    return 1;
  }
  charge(lua, c.replay->points());
  const Ns now = c.replay->step_ns({});
  const double saved = static_cast<double>(std::max<Ns>(0, now - c.replay->step_ns(changes)));
  push_number(lua, now > 0 ? saved / static_cast<double>(now) * c.step.total_ns(c.analysis) : 0);
  return 1;
}

int available(lua_State* lua, const Context& c) {
  const std::string wanted = checked_text(lua, 2);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i) {
    names.emplace_back(name_of(static_cast<Source>(i)));
    if (names.back() != wanted) continue;
    const Availability& have = c.trace().sources[i];
    lua_pushboolean(lua, have.known());
    push_text(lua, have.reason);
    push_text(lua, as_code(have.record_with));
    return 3;
  }
  throw Error(fmt::format("there is no source '{}'{}", wanted, did_you_mean(wanted, names)));
}

int thread_count(lua_State* lua, const Context& c) {
  const bool loaders = lua_istable(lua, 2);
  if (loaders && (lua_getfield(lua, 2, "phase") != LUA_TSTRING ||
                  checked_text(lua, -1) != name_of(Phase::loader)))
    throw Error("trace:threads knows the threads of a glob, or of { phase = \"loader\" }");
  const std::string glob = loaders ? "*" : checked_glob(lua, 2);
  std::set<std::uint16_t> processes;
  for (const DeviceSteps& d : c.analysis.devices) processes.insert(d.process);
  lua_Integer found = 0;
  charge(lua, c.trace().threads.size());
  for (const Thread& t : c.trace().threads) {
    charge(lua, glob_cost(glob, t.name));
    const bool meant = loaders ? is_loader_thread(t.name) : glob_match(glob, t.name);
    if (meant && processes.contains(t.process)) ++found;
  }
  lua_pushinteger(lua, found);
  return 1;
}

int diagnostics(lua_State* lua, const Context& c) {
  const std::string glob = checked_glob(lua, 2);
  const lua_Integer least_severity = luaL_optinteger(lua, 3, 2);
  charge(lua, c.trace().diagnostics.size());
  NewList list(lua);
  for (const Diagnostic& d : c.trace().diagnostics) {
    charge(lua, glob_cost(glob, d.text));
    if (d.severity < least_severity || !glob_match(glob, d.text)) continue;
    push_text(lua, shortened(d.text, 300));
    list.append();
  }
  return 1;
}

int problems(lua_State* lua, const Context& c) {
  charge(lua, c.trace().problems.size());
  NewList list(lua);
  for (const std::string& problem : c.trace().problems) {
    push_text(lua, problem);
    list.append();
  }
  return 1;
}

int is_kind(lua_State* lua, const Context& c) {
  const std::string kind = checked_text(lua, 2);
  const std::vector<std::string>& known = program_kinds();
  if (std::find(known.begin(), known.end(), kind) == known.end())
    throw Error(fmt::format("there is no kind '{}'{}", kind, did_you_mean(kind, known)));
  lua_pushboolean(lua, c.analysis.program.is(kind));
  return 1;
}

int words(lua_State* lua, const Context& c) {
  const std::vector<std::string> texts =
      texts_for(c.analysis.program, lua, 2, "the argument of trace:words");
  if (texts.empty()) {
    lua_pushnil(lua);
  } else {
    push_text(lua, fmt::format("{}", fmt::join(texts, " ")));
  }
  return 1;
}

int failed_calls(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const std::vector<Row>& failed = c.analysis.failed_calls;
  charge(lua, failed.size());
  Groups<std::pair<NameId, std::uint16_t>> groups;
  for (const Row call : failed)
    groups.of({t.calls.name[call], t.calls.result[call]}).rows.push_back(call);
  NewList list(lua);
  for (const auto& [key, each, bytes, rows] : groups.as_met()) {
    const Classes::CallResult result = c.analysis.classes.call_result(key.second);
    lua_newtable(lua);
    set_text(lua, "call", t.names[key.first]);
    set_text(lua, "class", name_of(c.analysis.names.call[key.first]));
    set_text(lua, "result", result.name);
    set_text(lua, "means", result.means);
    set_flag(lua, "fatal", result.fatal);
    set_integer(lua, "count", static_cast<std::int64_t>(rows.size()));
    set_rows(lua, "rows", {Kind::calls, RowSet(rows)});
    list.append();
  }
  return 1;
}

int periodic_events(lua_State* lua, const Context& c) {
  const Analysis& a = c.analysis;
  std::vector<Row> first{0};  // of each device's steps
  for (const DeviceSteps& d : a.devices)
    first.push_back(first.back() + static_cast<Row>(d.steps.size()));
  charge(lua, first.back());
  NewList list(lua);
  for (const PeriodicEvent& event : a.periodic_events()) {
    std::vector<Row> rows;
    for (const PeriodicEvent::Place& place : event.places)
      rows.push_back(first[place.device] + static_cast<Row>(place.step));
    const std::string& cause = a.account.causes[event.cause];
    lua_newtable(lua);
    set_integer(lua, "every", event.every);
    set_text(lua, "nth", ordinal(event.every));
    set_number(lua, "extra_ns", event.extra_ns);
    set_number(lua, "cost_ns", event.cost_ns);
    set_number(lua, "share", event.cost_ns / static_cast<double>(a.recorded_step_ns()));
    set_text(lua, "cause", cause);
    set_text(lua, "label", cause_label(cause));
    set_text(lua, "doing", a.trace.names[event.doing]);
    set_text(lua, "within", a.trace.names[event.within]);
    set_rows(lua, "steps", {Kind::steps, RowSet(rows)});
    list.append();
  }
  return 1;
}

int environment(lua_State* lua, const Context& c) {
  const std::string name = checked_text(lua, 2);
  const std::vector<std::string> known = known_variables();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw Error(fmt::format("only these environment variables are read: {}; not '{}'{}",
                            fmt::join(known, ", "), name, did_you_mean(name, known)));
  }
  const auto variable = c.trace().environment.find(name);
  if (variable == c.trace().environment.end()) {
    lua_pushnil(lua);
  } else {
    push_text(lua, variable->second);
  }
  return 1;
}

int found(lua_State* lua, const Context& c) {
  if (!c.others) throw Error("trace:found is only for rules that run after_others");
  charge(lua, c.others->found.size());
  NewList list(lua);
  for (const Estimated* f : c.others->found) {
    lua_newtable(lua);
    set_text(lua, "rule", f->rule);
    set_text(lua, "subject", f->subject);
    set_text(lua, "severity", name_of(f->severity_alone));
    set_number(lua, "share", f->alone_fraction);
    list.append();
  }
  return 1;
}

int asked(lua_State* lua, const Context& c) {
  if (!c.others) throw Error("trace:asked is only for rules that run after_others");
  const bool alone = c.others->asked.size() == 1;
  lua_pushboolean(lua, alone || c.others->asked.contains(checked_text(lua, 2)));
  return 1;
}

constexpr Verb recording_table[] = {
    {"trace:fact", verb<fact>},
    {"trace:total_ns", verb<total_ns>},
    {"trace:saves_ns", verb<saves_ns>},
    {"trace:available", verb<available>},
    {"trace:threads", verb<thread_count>},
    {"trace:diagnostics", verb<diagnostics>},
    {"trace:problems", verb<problems>},
    {"trace:is", verb<is_kind>},
    {"trace:words", verb<words>},
    {"trace:failed_calls", verb<failed_calls>},
    {"trace:periodic_events", verb<periodic_events>},
    {"trace:environment", verb<environment>},
    {"trace:found", verb<found>},
    {"trace:asked", verb<asked>},
};

}  // namespace

const Verbs recording_verbs = recording_table;

}  // namespace gh::binding
