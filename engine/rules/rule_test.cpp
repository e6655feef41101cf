#include "rules/rule_test.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <fstream>
#include <map>

#include "base/files.hpp"
#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

std::string field(lua_State* lua, int index, const char* key) {
  lua_getfield(lua, index, key);
  const std::string s = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : "";
  lua_pop(lua, 1);
  return s;
}

// What a rule said, in the words that cases use.
std::string described(const Report& report) {
  if (!report.failed.empty()) return "the rule failed: " + report.failed.front().error;
  if (!report.not_checked.empty())
    return fmt::format("not checked: {}", report.not_checked.front().reason);
  if (report.findings.empty()) return "clean";
  std::string s;
  for (const Finding& f : report.findings)
    s += fmt::format("{}{} '{}', worth {:.3f}, {} confidence: {}",
                     s.empty() ? "" : "\n              ", name_of(f.severity), f.subject,
                     f.recoverable_fraction, f.confidence, f.message);
  return s;
}

// All that a rule said, for snapshots: one thing a line, so that a difference is easily read.
std::string snapshot_of(const Report& report) {
  if (report.findings.empty()) return described(report) + '\n';
  std::string s;
  for (const Finding& f : report.findings) {
    s += fmt::format("{} '{}', worth {} {:.3f}, {} confidence\n  {}\n", name_of(f.severity),
                     f.subject, f.about ? "about" : "at most", f.recoverable_fraction, f.confidence,
                     f.message);
    for (const std::string& a : f.advice) s += fmt::format("  fix: {}\n", a);
    for (const Metric& m : f.metrics)
      s += fmt::format("  {} = {:.6g} {}\n", m.name, m.value, name_of(m.unit));
    for (const Evidence& e : f.evidence)
      s += fmt::format("  from {} to {} ns: {}{}\n", e.span.start, e.span.end, e.name,
                       e.note.empty() ? "" : " (" + e.note + ")");
  }
  return s;
}

// What a rule said in each case, by the case's name. In ID.snapshot a case is its name in brackets,
// what the rule said, and an empty line.
using Snapshots = std::map<std::string, std::string>;

Snapshots read_snapshots(const fs::path& path) {
  Snapshots snapshots;
  std::ifstream file(path);
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[") && line.ends_with("]"))
      name = line.substr(1, line.size() - 2);
    else if (!line.empty())
      snapshots[name] += line + '\n';
  }
  return snapshots;
}

void write_snapshots(const fs::path& path, const Snapshots& snapshots) {
  std::string text;
  for (const auto& [name, said] : snapshots) text += fmt::format("[{}]\n{}\n", name, said);
  write_file(path, text);
}

void check_expected_fields(lua_State* lua, int index) {
  static const std::vector<std::string> keys{"severity", "subject", "message", "confidence",
                                             "worth"};
  for (lua_pushnil(lua); lua_next(lua, index); lua_pop(lua, 1)) {
    const std::string key = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw Error(fmt::format("an expected finding has an unknown field '{}'{}", key,
                              did_you_mean(key, keys)));
  }
}

// worth = { 0.6, 0.8 } bounds the recoverable fraction.
std::string worth_mismatch(lua_State* lua, int index, double recoverable_fraction) {
  std::string wrong;
  if (lua_getfield(lua, index, "worth") == LUA_TTABLE) {
    lua_rawgeti(lua, -1, 1);
    lua_rawgeti(lua, -2, 2);
    const double least = lua_tonumber(lua, -2), most = lua_tonumber(lua, -1);
    if (recoverable_fraction < least || recoverable_fraction > most)
      wrong = fmt::format("worth between {} and {}", least, most);
    lua_pop(lua, 2);
  }
  lua_pop(lua, 1);
  return wrong;
}

// What is expected of a finding, at `index`, and not so; "" where all is.
std::string mismatch(lua_State* lua, int index, const Finding& f) {
  check_expected_fields(lua, index);
  const std::pair<const char*, std::string> texts[] = {{"severity", name_of(f.severity)},
                                                       {"subject", f.subject},
                                                       {"message", f.message},
                                                       {"confidence", f.confidence}};
  for (const auto& [key, actual] : texts) {
    const std::string expected = field(lua, index, key);
    if (!expected.empty() && !glob_match(expected, actual))
      return fmt::format("{} '{}'", key, expected);
  }
  return worth_mismatch(lua, index, f.recoverable_fraction);
}

std::string findings_mismatch(lua_State* lua, int expect, const std::vector<Finding>& findings) {
  const auto count = static_cast<std::size_t>(lua_rawlen(lua, expect));
  if (count == 0) throw Error("'expect' is an empty list: say \"clean\" or \"not checked\"");
  if (findings.size() != count) return fmt::format("{} finding{}", count, count == 1 ? "" : "s");
  for (std::size_t i = 0; i < count; ++i) {
    lua_rawgeti(lua, expect, static_cast<lua_Integer>(i) + 1);
    if (!lua_istable(lua, -1)) throw Error("'expect' is a list of tables");
    const std::string wrong = mismatch(lua, lua_gettop(lua), findings[i]);
    lua_pop(lua, 1);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string snapshot_mismatch(const Report& report, const std::string& name, Snapshots& snapshots,
                              bool update) {
  const std::string said = snapshot_of(report);
  if (update) snapshots[name] = said;
  const auto known = snapshots.find(name);
  if (known == snapshots.end())
    return "a snapshot, of which there is none yet: run again with --update";
  return known->second == said ? "" : "\n" + known->second;
}

// What the case at `index` expects and does not get, or "".
std::string case_mismatch(lua_State* lua, int index, const Report& report, const std::string& name,
                          Snapshots& snapshots, bool update) {
  const int type = lua_getfield(lua, index, "expect");
  const int expect = lua_gettop(lua);
  std::string wrong;
  if (type == LUA_TTABLE) {
    wrong = findings_mismatch(lua, expect, report.findings);
  } else if (type == LUA_TSTRING) {
    const std::string wanted = lua_tostring(lua, expect);
    if (wanted == "snapshot") {
      wrong = snapshot_mismatch(report, name, snapshots, update);
    } else if (wanted == "clean" || wanted == "not checked") {
      const bool met = report.failed.empty() && report.findings.empty() &&
                       report.not_checked.empty() == (wanted == "clean");
      if (!met) wrong = wanted;
    } else {
      throw Error(fmt::format(
          "'expect' is \"clean\", \"not checked\", \"snapshot\" or a list of findings, not \"{}\"",
          wanted));
    }
  } else {
    throw Error("a case needs 'expect'");
  }
  lua_settop(lua, expect - 1);
  return wrong;
}

RuleSettings settings_of(lua_State* lua, int index, const Rule& rule) {
  RuleSettings settings;
  if (lua_getfield(lua, index, "options") == LUA_TTABLE)
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
      const std::string name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
      if (!rule.options.contains(name))
        throw Error(fmt::format("rule '{}' has no option '{}'", rule.id, name));
      if (lua_type(lua, -1) == LUA_TNUMBER)
        settings.options[name] = lua_tonumber(lua, -1);
      else if (lua_type(lua, -1) == LUA_TBOOLEAN)
        settings.options[name] = lua_toboolean(lua, -1) != 0;
      else
        settings.options[name] = std::string(luaL_checkstring(lua, -1));
    }
  lua_pop(lua, 1);
  return settings;
}

// The trace of the case at `index`.
Trace trace_of(lua_State* lua, int index, const fs::path& fixtures) {
  const std::string fixture = field(lua, index, "fixture");
  if (!fixture.empty()) return read_nsys(fixtures / (fixture + ".sqlite"));
  if (lua_getfield(lua, index, "trace") != LUA_TTABLE)
    throw Error("a case needs 'trace' or 'fixture'");
  Trace trace = trace_from_lua(lua, -1);
  lua_settop(lua, index);
  return trace;
}

// Whether what findings are worth is replayed in the case at `index`. Literal traces launch each
// operation just before it starts: the host would bound the step whatever the GPU took.
bool is_replayed(lua_State* lua, int index, const Trace& trace) {
  if (trace.format != "literal") return true;
  lua_getfield(lua, index, "replay");
  const bool asked = lua_toboolean(lua, -1);
  lua_settop(lua, index);
  return asked;
}

// The cases of one rule, ID.test.lua beside ID.lua and ID.snapshot.
class RuleTest {
 public:
  RuleTest(const fs::path& path, const RuleTestOptions& options, RuleTestResult& result)
      : path_(path),
        shown_path_(printable(path.string())),
        source_(read_text(path)),
        options_(options),
        result_(result) {}

  void run() {
    try {
      run_cases();
    } catch (const std::exception& e) {
      fail("", fmt::format("    {}\n", e.what()));
    }
  }

 private:
  fs::path beside(const char* extension) const {
    std::string name = path_.filename().string();
    name.resize(name.size() - std::string_view(".test.lua").size());
    return path_.parent_path() / (name + extension);
  }

  void run_cases() {
    const fs::path rule_path = beside(".lua"), snapshot_path = beside(".snapshot");
    const Rule rule = load_rule(read_text(rule_path), printable(rule_path.string()));
    Snapshots snapshots = read_snapshots(snapshot_path);
    LuaSandbox sandbox;
    sandbox.load(source_, shown_path_);
    lua_State* lua = sandbox.state();
    if (!lua_istable(lua, -1) || lua_rawlen(lua, -1) == 0)
      throw Error("a test file returns a list of cases");
    const int cases = lua_gettop(lua);
    for (lua_Integer i = 1; lua_rawgeti(lua, cases, i) != LUA_TNIL; ++i) {
      const int index = lua_gettop(lua);
      const std::string name = lua_istable(lua, index) ? field(lua, index, "name") : "";
      if (name.empty()) throw Error(fmt::format("case {} has no name", i));
      if (glob_match(options_.filter, name) || glob_match(options_.filter, rule.id))
        run_case(lua, index, name, rule, snapshots);
      lua_settop(lua, cases);
    }
    if (options_.update && !snapshots.empty()) write_snapshots(snapshot_path, snapshots);
  }

  void run_case(lua_State* lua, int index, const std::string& name, const Rule& rule,
                Snapshots& snapshots) try {
    const Analysis analysis(trace_of(lua, index, options_.fixtures), Classes(), {});
    const Facts facts(analysis);
    const bool replayed = is_replayed(lua, index, analysis.trace);
    const Report report =
        evaluate({rule}, analysis, facts, {{rule.id, settings_of(lua, index, rule)}}, replayed);
    const std::string wrong = case_mismatch(lua, index, report, name, snapshots, options_.update);
    if (wrong.empty())
      ++result_.passed;
    else
      fail(name, fmt::format("    expected  {}\n    actual    {}\n", wrong, described(report)));
  } catch (const std::exception& e) {
    fail(name, fmt::format("    {}\n", e.what()));
  }

  void fail(const std::string& name, const std::string& what) {
    ++result_.failed;
    result_.output += fmt::format("FAIL  {}:{}: {}\n{}", shown_path_, line_of(name), name, what);
  }

  // A table has no line of its own: the case's name is looked up in the text.
  std::ptrdiff_t line_of(const std::string& name) const {
    const std::size_t at = source_.find('"' + name + '"');
    if (at == std::string::npos) return 1;
    return 1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  }

  const fs::path& path_;
  std::string shown_path_, source_;
  const RuleTestOptions& options_;
  RuleTestResult& result_;
};

// Of a directory: the test files, and the rules that have none.
struct Found {
  std::vector<fs::path> tests;
  std::vector<std::string> untested;
};

Found find_tests(const fs::path& directory) {
  const std::string shown_path = printable(directory.string());
  std::error_code ec;
  if (!fs::is_directory(directory, ec))
    throw Error(fmt::format("{}: is not a directory", shown_path));
  Found found;
  for (const auto& entry : fs::recursive_directory_iterator(
           directory, fs::directory_options::skip_permission_denied, ec)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".test.lua"))
      found.tests.push_back(entry.path());
    else if (name.ends_with(".lua") &&
             !fs::exists(fs::path(entry.path()).replace_extension(".test.lua")))
      found.untested.push_back(printable(entry.path().string()));
  }
  if (found.tests.empty())
    throw Error(fmt::format("{}: holds no rule tests (*.test.lua)", shown_path));
  std::sort(found.tests.begin(), found.tests.end());
  std::sort(found.untested.begin(), found.untested.end());
  return found;
}

}  // namespace

RuleTestResult run_rule_tests(const fs::path& directory, const RuleTestOptions& options) {
  const Found found = find_tests(directory);
  RuleTestResult result;
  for (const fs::path& file : found.tests) RuleTest(file, options, result).run();
  if (result.passed + result.failed == 0)
    throw Error(
        fmt::format("--filter {}: no case and no rule has such a name", printable(options.filter)));
  for (const std::string& rule : found.untested)
    result.output += fmt::format("note  {}: has no test beside it\n", rule);
  result.output += fmt::format("{} passed, {} failed\n", result.passed, result.failed);
  return result;
}

std::optional<Trace> first_firing_trace(const std::string& test_source, const fs::path& fixtures) {
  LuaSandbox sandbox;
  sandbox.load(test_source, "test");
  lua_State* lua = sandbox.state();
  std::optional<Trace> literal;
  const int cases = lua_gettop(lua);
  for (lua_Integer i = 1; lua_rawgeti(lua, cases, i) != LUA_TNIL; ++i, lua_settop(lua, cases)) {
    const int index = lua_gettop(lua);
    const bool fires = lua_getfield(lua, index, "expect") == LUA_TTABLE;
    const bool plain = lua_getfield(lua, index, "options") == LUA_TNIL;
    lua_settop(lua, index);
    const std::string fixture = field(lua, index, "fixture");
    if (!fires || !plain) continue;
    if (!fixture.empty() && fs::exists(fixtures / (fixture + ".sqlite")))
      return read_nsys(fixtures / (fixture + ".sqlite"));
    if (fixture.empty() && !literal) literal = trace_of(lua, index, fixtures);
  }
  return literal;
}

}  // namespace gh
