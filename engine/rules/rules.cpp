#include "rules/rules.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/embedded.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "rules/binding.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

// Severity by what is recoverable of the step; a rule may lower the second (one-line remedies: 3
// %).
constexpr double error_at = 0.20;

// What one rule may say; one that says more is stopped. A finding's longest text has some hundred
// bytes, its longest list ten elements.
constexpr std::size_t most_findings = 200;  // more is a rule that reports rows, not problems
constexpr std::size_t most_replayed = 50;  // findings with a change: each is replayed several times
constexpr std::size_t most_changed_rows = 20'000'000;  // events that these name in all
constexpr std::size_t most_text_bytes = 16 << 10;
constexpr lua_Integer most_elements = 1000;

// Lua's strings are bytes, and reports are text.
std::string text_at(lua_State* lua, int index) {
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua, index, &bytes);
  return valid_utf8({text, bytes});
}

// Reads fields of the table on top of the stack, raw: a metatable of a rule's own tables is none of
// our business.
class Table {
 public:
  Table(lua_State* lua, int index, std::string where)
      : lua_(lua), index_(lua_absindex(lua, index)), where_(std::move(where)) {
    if (!lua_istable(lua, index_)) throw Error(fmt::format("{} has to be a table", where_));
  }
  const std::string& where() const { return where_; }

  int push(const char* key) const {
    lua_pushstring(lua_, key);
    return lua_rawget(lua_, index_);
  }

  std::string text(const char* key, bool required = true) const {
    const int type = push(key);
    const std::string value = type == LUA_TSTRING ? text_at(lua_, -1) : std::string();
    lua_pop(lua_, 1);
    if (type != LUA_TSTRING && (required || type != LUA_TNIL))
      throw Error(fmt::format("{} needs '{}', a string", where_, key));
    check_length(value, key);
    return value;
  }

  std::optional<double> number(const char* key) const {
    const int type = push(key);
    std::optional<double> value;
    if (type == LUA_TNUMBER) value = lua_tonumber(lua_, -1);
    lua_pop(lua_, 1);
    if (!value && type != LUA_TNIL)
      throw Error(fmt::format("{}: '{}' has to be a number", where_, key));
    if (value && !std::isfinite(*value))
      throw Error(fmt::format("{}: '{}' is not a finite number", where_, key));
    return value;
  }

  bool truth(const char* key) const {
    push(key);
    const bool value = lua_toboolean(lua_, -1);
    lua_pop(lua_, 1);
    return value;
  }

  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    each(key, [&](int value) {
      if (lua_type(lua_, value) != LUA_TSTRING)
        throw Error(fmt::format("{}: '{}' has to be a list of strings", where_, key));
      list.push_back(text_at(lua_, value));
      check_length(list.back(), key);
    });
    return list;
  }

  // Calls back with the index of each element of the list under a key.
  template <class F>
  void each(const char* key, F f) const {
    const int type = push(key);
    const int list = lua_gettop(lua_);
    if (type != LUA_TNIL && type != LUA_TTABLE)
      throw Error(fmt::format("{}: '{}' has to be a list", where_, key));
    if (type == LUA_TTABLE)
      for (lua_Integer i = 1; lua_rawgeti(lua_, list, i) != LUA_TNIL; ++i) {
        if (i > most_elements)
          throw Error(
              fmt::format("{}: '{}' has more than {} elements", where_, key, most_elements));
        f(lua_gettop(lua_));
        lua_settop(lua_, list);
      }
    lua_settop(lua_, list - 1);
  }

  // Calls back with each key of the table and the index of its value.
  template <class F>
  void each_pair(F f) const {
    std::vector<std::string> keys;  // sorted: Lua's own order differs from run to run
    for (lua_pushnil(lua_); lua_next(lua_, index_); lua_pop(lua_, 1)) {
      if (lua_type(lua_, -2) != LUA_TSTRING || lua_tostring(lua_, -2) != text_at(lua_, -2))
        throw Error(fmt::format("{}: every key has to be a name", where_));
      keys.push_back(text_at(lua_, -2));
    }
    std::sort(keys.begin(), keys.end());
    for (const std::string& key : keys) {
      push(key.c_str());
      f(key, lua_gettop(lua_));
      lua_pop(lua_, 1);
    }
  }

  // Refuses keys that nobody reads: a misspelt one would otherwise do nothing, silently.
  void only(const std::vector<std::string>& keys) const {
    each_pair([&](const std::string& key, int) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        throw Error(fmt::format("{} has an unknown key '{}'{}", where_, printable(key),
                                did_you_mean(key, keys)));
    });
  }

 private:
  void check_length(const std::string& text, const char* key) const {
    if (text.size() > most_text_bytes)
      throw Error(
          fmt::format("{}: '{}' is longer than {} KiB", where_, key, most_text_bytes >> 10));
  }

  lua_State* lua_;
  int index_;
  std::string where_;
};

OptionValue option_value(lua_State* lua, int index, const std::string& where) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER: return lua_tonumber(lua, index);
    case LUA_TBOOLEAN: return lua_toboolean(lua, index) != 0;
    case LUA_TSTRING: return text_at(lua, index);
    default:
      throw Error(
          fmt::format("{}: 'default' has to be a number, a string or a truth value", where));
  }
}

Unit unit_named(const std::string& name, const std::string& where) {
  static const std::map<std::string, Unit> units{
      {"ns", Unit::ns},       {"fraction", Unit::fraction},   {"count", Unit::count},
      {"bytes", Unit::bytes}, {"bytes/s", Unit::bytes_per_s}, {"FLOP/s", Unit::flops_per_s}};
  const auto it = units.find(name);
  if (it == units.end())
    throw Error(fmt::format("{}: unit '{}' is none of ns, fraction, count, bytes, bytes/s, FLOP/s",
                            where, printable(name)));
  return it->second;
}

// Fills "{name}" (text or a count) and "{name:unit}" from the finding's data.
// What shares and times are of, in words: training steps, stretches that the user selected, or the
// whole window.
std::string each_step(const Analysis& a) {
  const std::string length = duration(a.step_count() > 0 ? a.total_ns() / a.step_count() : 0);
  if (!a.has_steps()) return "the recorded " + length;
  return fmt::format("each {} {}", length,
                     a.devices.front().source == StepSource::selected_range ? "stretch" : "step");
}

std::string fill(const std::string& pattern, const Table& data, const Analysis& analysis) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t open = pattern.find('{', i);
    if (open == std::string::npos) {
      out += pattern.substr(i);
      break;
    }
    out += pattern.substr(i, open - i);
    const std::size_t close = pattern.find('}', open);
    if (close == std::string::npos)
      throw Error(fmt::format("message '{}' has a '{{' without '}}'", pattern));
    const std::string field = pattern.substr(open + 1, close - open - 1),
                      key = field.substr(0, field.find(':'));
    const std::string unit = field.size() > key.size() ? field.substr(key.size() + 1) : "";
    if (field == "each_step")
      out += each_step(analysis);
    else if (field == "a_step")
      out += !analysis.has_steps()                                           ? "in all"
             : analysis.devices.front().source == StepSource::selected_range ? "a stretch"
                                                                             : "a step";
    else if (unit.empty()) {
      std::string text;
      try {
        text = data.text(key.c_str());
      } catch (const Error&) {
        const auto n = data.number(key.c_str());
        if (!n)
          throw Error(
              fmt::format("the message uses '{}', which is not in the finding's data", key));
        text = shown(*n, Unit::count);
      }
      out += printable(text);
    } else {
      const auto n = data.number(key.c_str());
      if (!n)
        throw Error(
            fmt::format("the message uses '{}', which is no number in the finding's data", key));
      out += shown(*n, unit_named(unit, "message"));
    }
    i = close + 1;
  }
  return out;
}

Severity severity_of(double fraction, const Rule& rule) {
  return fraction >= error_at          ? Severity::error
         : fraction >= rule.warning_at ? Severity::warning
                                       : Severity::note;
}

Finding read_finding(lua_State* lua, int index, const Rule& rule, const Analysis& analysis,
                     const Replay* replay, const RuleSettings& settings) {
  const Table t(lua, index, "a finding");
  t.only({"message", "data", "subject", "recoverable_ns", "confidence", "advice", "metrics",
          "evidence", "severity", "at_most", "voids", "follows_from", "about", "change",
          "uncertain"});
  Finding f;
  f.rule = rule.id;
  f.category = rule.category;
  f.title = rule.title;
  const std::string message = t.text("message");
  const auto pattern = rule.messages.find(message);
  if (pattern == rule.messages.end())
    throw Error(fmt::format("a finding has the message '{}', which is not in 'messages'",
                            printable(message)));
  if (t.push("data") == LUA_TNIL) {
    lua_pop(lua, 1);
    lua_newtable(lua);
  }
  f.message = fill(pattern->second, Table(lua, -1, "'data' of a finding"), analysis);
  lua_pop(lua, 1);
  f.subject = printable(t.text("subject"));
  f.voids = t.truth("voids");
  f.about = t.truth("about");
  f.follows_from = t.text("follows_from", false);

  // Rules sum over all steps on all devices; a report speaks of the step, and no fix gives back
  // more than there is.
  const double all = static_cast<double>(analysis.total_ns()),
               recoverable = std::clamp(t.number("recoverable_ns").value_or(0), 0.0, all);
  f.recoverable_fraction = all > 0 ? recoverable / all : 0;
  f.recoverable_ns =
      analysis.step_count() > 0
          ? static_cast<Ns>(std::llround(recoverable / static_cast<double>(analysis.step_count())))
          : 0;
  t.push("change");
  f.changes = to_changes(lua, lua_gettop(lua));
  lua_pop(lua, 1);
  if (const std::string uncertain = printable(t.text("uncertain", false)); replay)
    predict(f, *replay, uncertain);
  f.severity = severity_of(f.recoverable_fraction, rule);
  if (const std::string s = t.text("severity", false); !s.empty())
    f.severity = parse_severity(s, "a finding");
  if (const std::string s = t.text("at_most", false); !s.empty())
    f.severity = std::min(f.severity, parse_severity(s, "a finding"));
  if (settings.severity) f.severity = *settings.severity;
  if (const std::string c = t.text("confidence", false); !c.empty()) {
    if (c != "high" && c != "medium" && c != "low")
      throw Error(fmt::format("confidence '{}' is none of high, medium, low", printable(c)));
    f.confidence = c;
  }
  for (const std::string& a : t.texts("advice")) f.advice.push_back(printable(a));
  t.each("metrics", [&](int i) {
    const Table m(lua, i, "a metric");
    m.only({"name", "value", "unit", "threshold"});
    const auto value = m.number("value");
    if (!value) throw Error("a metric needs 'value', a number");
    f.metrics.push_back(
        {m.text("name"), *value, unit_named(m.text("unit"), "a metric"), m.number("threshold")});
  });
  t.push("evidence");
  f.evidence = to_evidence(lua, lua_gettop(lua));
  lua_pop(lua, 1);
  for (const Evidence& e : f.evidence)
    if (e.span.start < analysis.trace.capture_start || e.span.end > analysis.trace.capture_end)
      throw Error(
          "a finding has evidence that lies outside of the trace; take it from selection:evidence");
  f.fingerprint = fingerprint(f);
  return f;
}

void push_option(lua_State* lua, const OptionValue& value) {
  if (const auto* n = std::get_if<double>(&value))
    lua_pushnumber(lua, *n);
  else if (const auto* b = std::get_if<bool>(&value))
    lua_pushboolean(lua, *b);
  else
    lua_pushlstring(lua, std::get<std::string>(value).data(), std::get<std::string>(value).size());
}

void evaluate_one(const Rule& rule, const Analysis& analysis, const Facts& facts,
                  const RowsInSteps& in_steps, const Replay* replay, const RuleSettings& settings,
                  Report& report) {
  // Verbs charge for the rows they walk: a long report needs a larger budget for the same rule.
  SandboxLimits limits;
  limits.instructions += static_cast<std::int64_t>(
      40 * (analysis.trace.ops.size() + analysis.trace.calls.size() + analysis.trace.ranges.size() +
            analysis.trace.os_calls.size()));
  const ApiHost host{analysis, facts, in_steps};
  LuaSandbox sandbox(limits);
  lua_State* lua = sandbox.state();
  sandbox.load(rule.source, rule.path);
  sandbox.reset_budget();
  lua_pushstring(lua, "evaluate");
  lua_rawget(lua, -2);
  push_trace(lua, host);
  lua_newtable(lua);
  for (const auto& [name, option] : rule.options) {
    const auto set = settings.options.find(name);
    push_option(lua, set == settings.options.end() ? option.value : set->second);
    lua_setfield(lua, -2, name.c_str());
  }
  sandbox.call(2, 3);
  const int first = lua_gettop(lua) - 2;
  if (lua_isnil(lua, first)) {
    const auto text = [&](int index) {
      return lua_type(lua, index) == LUA_TSTRING
                 ? printable(std::string_view(lua_tostring(lua, index)).substr(0, most_text_bytes))
                 : std::string();
    };
    const std::string reason = text(first + 1);
    if (reason.empty()) throw Error("evaluate returned nil without a reason");
    report.not_checked.push_back({rule.id, reason, text(first + 2)});
    return;
  }
  std::vector<Finding> found;
  std::size_t replayed = 0, changed_rows = 0;
  // The returned list is put under a key, so that it is read like any other.
  lua_newtable(lua);
  lua_pushvalue(lua, first);
  lua_setfield(lua, -2, "findings");
  Table(lua, -1, "what evaluate returned").each("findings", [&](int index) {
    if (found.size() == most_findings)
      throw Error(fmt::format("more than {} findings; report the worst and how many there are",
                              most_findings));
    found.push_back(read_finding(lua, index, rule, analysis, replay, settings));
    replayed += !found.back().changes.empty();
    for (const Change& c : found.back().changes) changed_rows += c.rows.size() + c.host.size();
    if (replayed > most_replayed || changed_rows > most_changed_rows)
      throw Error(
          "too many changes to be replayed; leave those out of the findings that are worth least");
  });
  if (found.empty()) report.clean.push_back(rule.id);
  report.findings.insert(report.findings.end(), std::make_move_iterator(found.begin()),
                         std::make_move_iterator(found.end()));
}

}  // namespace

Rule load_rule(std::string source, const std::string& path) try {
  LuaSandbox sandbox;
  sandbox.load(source, path);
  lua_State* lua = sandbox.state();
  if (!lua_istable(lua, -1)) throw Error(fmt::format("{}: a rule file returns one table", path));
  const Table t(lua, -1, path + ": the rule");
  t.only({"id", "category", "title", "since", "needs", "options", "messages", "doc", "warning_at",
          "evaluate"});
  Rule rule;
  rule.path = path;
  rule.id = t.text("id");
  rule.category = t.text("category");
  rule.title = printable(t.text("title"));
  rule.since = printable(t.text("since"));
  if (!is_name(rule.id) || !is_name(rule.category))
    throw Error(fmt::format(
        "{}: 'id' and 'category' are made of lower-case letters, digits and '-'", path));
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i)
    sources.emplace_back(name_of(static_cast<Source>(i)));
  for (const std::string& need : t.texts("needs")) {
    const auto it = std::find(sources.begin(), sources.end(), need);
    if (it == sources.end())
      throw Error(fmt::format("{}: needs '{}', which no trace has{}", path, printable(need),
                              did_you_mean(need, sources)));
    rule.needs.push_back(static_cast<Source>(it - sources.begin()));
  }
  t.push("options");
  if (!lua_isnil(lua, -1))
    Table(lua, -1, path + ": 'options'").each_pair([&](const std::string& name, int index) {
      const Table o(lua, index, fmt::format("{}: option '{}'", path, name));
      o.only({"default", "unit", "doc"});
      o.push("default");
      rule.options[name] = {option_value(lua, lua_gettop(lua), o.where()), o.text("unit"),
                            o.text("doc")};
      lua_pop(lua, 1);
    });
  lua_pop(lua, 1);
  t.push("messages");
  Table(lua, -1, path + ": 'messages'").each_pair([&](const std::string& name, int index) {
    if (lua_type(lua, index) != LUA_TSTRING)
      throw Error(fmt::format("{}: message '{}' has to be a string", path, name));
    rule.messages[name] = text_at(lua, index);
  });
  lua_pop(lua, 1);
  t.push("doc");
  const Table doc(lua, -1, path + ": 'doc'");
  doc.only({"what", "why", "fix", "wrong"});
  rule.what = doc.text("what");
  rule.why = doc.text("why");
  rule.fix = doc.text("fix");
  rule.wrong = doc.text("wrong");
  lua_pop(lua, 1);
  rule.warning_at = t.number("warning_at").value_or(rule.warning_at);
  if (t.push("evaluate") != LUA_TFUNCTION)
    throw Error(fmt::format("{}: the rule needs 'evaluate', a function", path));
  rule.source = std::move(source);
  return rule;
} catch (const LuaError& e) {
  throw Error(e.what());
}

std::vector<Rule> own_rules() {
  std::vector<Rule> rules;
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with("rules/") && !file.path.ends_with(".test.lua"))
      rules.push_back(load_rule(std::string(file.text), std::string(file.path)));
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
  return rules;
}

std::vector<Rule> rules_in(const std::filesystem::path& directory, const std::string& said) {
  namespace fs = std::filesystem;
  const std::string shown_path = printable(directory.string());
  std::error_code ec;
  if (!fs::is_directory(directory, ec))
    throw Error(
        fmt::format("{} {}: {}", said, shown_path,
                    fs::exists(directory, ec) ? "is not a directory" : "no such directory"));
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(
           directory, fs::directory_options::skip_permission_denied, ec);
       it != fs::recursive_directory_iterator(); it.increment(ec)) {
    if (ec) throw Error(fmt::format("{} {}: {}", said, shown_path, ec.message()));
    const std::string name = it->path().filename().string();
    if (it->is_regular_file() && name.ends_with(".lua") && !name.ends_with(".test.lua"))
      files.push_back(it->path());
  }
  if (files.empty()) throw Error(fmt::format("{} {}: holds no rule (*.lua)", said, shown_path));
  std::sort(files.begin(), files.end());
  std::vector<Rule> rules;
  for (const fs::path& file : files)
    rules.push_back(load_rule(read_text(file), printable(file.string())));
  return rules;
}

double warns_from(const Rule& rule, const RuleSettings& settings) {
  const auto option = rule.options.find("share");
  if (option == rule.options.end()) return rule.warning_at;
  const auto set = settings.options.find("share");
  const double* share =
      std::get_if<double>(set == settings.options.end() ? &option->second.value : &set->second);
  return share ? std::max(rule.warning_at, *share) : rule.warning_at;
}

void add_rules(std::vector<Rule>& rules, std::vector<Rule> added, std::vector<std::string>& notes) {
  for (Rule& rule : added) {
    const auto same =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.id == rule.id; });
    if (same == rules.end()) {
      rules.push_back(std::move(rule));
      continue;
    }
    notes.push_back(
        fmt::format("rule '{}' of {} takes the place of {}", rule.id, rule.path, same->path));
    *same = std::move(rule);
  }
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
}

Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed) {
  static const RuleSettings unchanged;
  std::shared_ptr<const Replay> replay;
  if (replayed) {
    const Timed timed("replay");
    replay = std::make_shared<const Replay>(analysis);
  }
  const RowsInSteps in_steps = timed("rows in steps", [&] { return RowsInSteps(analysis); });
  std::vector<Report> parts(rules.size());
  const auto judge = [&](const Rule& rule, Report& report) {
    // Without GPU work nothing can be called clean, whatever was recorded. What judges the
    // recording itself runs all the same.
    if (analysis.total_ns() == 0 && rule.category != "capture") {
      report.not_checked.push_back({rule.id, "no GPU work was recorded",
                                    analysis.trace.availability(Source::kernels).record_with});
      return;
    }
    const auto missing = std::find_if(rule.needs.begin(), rule.needs.end(), [&](Source s) {
      return !analysis.trace.availability(s).known();
    });
    if (missing != rule.needs.end()) {
      const Availability& have = analysis.trace.availability(*missing);
      report.not_checked.push_back({rule.id,
                                    fmt::format("needs {}: {}", name_of(*missing), have.reason),
                                    have.record_with, true});
      return;
    }
    const auto setting = settings.find(rule.id);
    const Timed timed("rules/" + rule.id);
    try {
      evaluate_one(rule, analysis, facts, in_steps, replay.get(),
                   setting == settings.end() ? unchanged : setting->second, report);
    } catch (const std::exception& e) {
      const std::string what = e.what();
      report.failed.push_back(
          {rule.id, what.starts_with(rule.path) ? what : fmt::format("{}: {}", rule.path, what)});
    }
  };
  {
    const Timed timed("rules");
    // What asks much takes long, and begins first, so that no rule is left to one thread at the
    // end.
    std::vector<std::size_t> order(rules.size());
    std::iota(order.begin(), order.end(), 0);
    const auto verbs = [&](std::size_t i) {
      return std::count(rules[i].source.begin(), rules[i].source.end(), ':');
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return verbs(a) > verbs(b); });
    // Each rule has a sandbox of its own, and nobody writes to the analysis.
    in_parallel(rules.size(),
                [&](std::size_t i, std::size_t) { judge(rules[order[i]], parts[order[i]]); });
  }
  Report report;
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (Report& part : parts) {
    append(report.findings, part.findings);
    append(report.clean, part.clean);
    append(report.not_checked, part.not_checked);
    append(report.failed, part.failed);
  }
  report.replay = replay;
  rank(report.findings);
  widen_by_roots(report.findings);
  const Timed timed("plan");
  report.plan = plan_of(report);
  return report;
}

}  // namespace gh
