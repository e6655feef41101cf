#include "rules/rule_test.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

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

// What a rule said, in the words that cases use. The first line of a snapshot's case is its name in
// brackets.
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

// ID.snapshot: the name of a case in brackets, then what the rule said, then an empty line.
std::map<std::string, std::string> read_snapshots(const fs::path& path) {
  std::map<std::string, std::string> snapshots;
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

// What is wrong with a finding, or "".
std::string mismatch(lua_State* lua, int index, const Finding& f) {
  static const std::vector<std::string> keys{"severity", "subject", "message", "confidence",
                                             "worth"};
  for (lua_pushnil(lua); lua_next(lua, index); lua_pop(lua, 1))
    if (const std::string key = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        std::find(keys.begin(), keys.end(), key) == keys.end())
      throw Error(fmt::format("an expected finding has an unknown field '{}'{}", key,
                              did_you_mean(key, keys)));
  const auto differs = [&](const char* key, const std::string& actual) {
    const std::string expected = field(lua, index, key);
    return !expected.empty() && !glob_match(expected, actual)
               ? fmt::format("{} '{}'", key, expected)
               : std::string();
  };
  for (const auto& [key, actual] :
       {std::pair<const char*, std::string>{"severity", name_of(f.severity)},
        {"subject", f.subject},
        {"message", f.message},
        {"confidence", f.confidence}})
    if (const std::string wrong = differs(key, actual); !wrong.empty()) return wrong;
  std::string wrong;
  if (lua_getfield(lua, index, "worth") == LUA_TTABLE) {
    lua_rawgeti(lua, -1, 1);
    lua_rawgeti(lua, -2, 2);
    const double least = lua_tonumber(lua, -2), most = lua_tonumber(lua, -1);
    if (f.recoverable_fraction < least || f.recoverable_fraction > most)
      wrong = fmt::format("worth between {} and {}", least, most);
    lua_pop(lua, 2);
  }
  lua_pop(lua, 1);
  return wrong;
}

// What was expected and not met, or "". The case is at `index`.
std::string failure(lua_State* lua, int index, const Report& report, const std::string& name,
                    std::map<std::string, std::string>& snapshots, bool update) {
  const int type = lua_getfield(lua, index, "expect");
  const int expect = lua_gettop(lua);
  std::string wrong;
  if (type == LUA_TSTRING) {
    const std::string wanted = lua_tostring(lua, expect);
    if (wanted == "snapshot") {
      const std::string said = snapshot_of(report);
      if (update) snapshots[name] = said;
      const auto known = snapshots.find(name);
      lua_settop(lua, expect - 1);
      return known == snapshots.end()
                 ? "a snapshot, of which there is none yet: run again with --update"
             : known->second == said ? ""
                                     : "\n" + known->second;
    }
    if (wanted != "clean" && wanted != "not checked")
      throw Error(fmt::format(
          "'expect' is \"clean\", \"not checked\", \"snapshot\" or a list of findings, not \"{}\"",
          wanted));
    const bool met = report.failed.empty() && report.findings.empty() &&
                     report.not_checked.empty() == (wanted == "clean");
    if (!met) wrong = wanted;
  } else if (type == LUA_TTABLE) {
    const auto count = static_cast<std::size_t>(lua_rawlen(lua, expect));
    if (count == 0) throw Error("'expect' is an empty list: say \"clean\" or \"not checked\"");
    if (report.findings.size() != count)
      wrong = fmt::format("{} finding{}", count, count == 1 ? "" : "s");
    for (std::size_t i = 0; i < count && wrong.empty(); ++i) {
      lua_rawgeti(lua, expect, static_cast<lua_Integer>(i + 1));
      if (!lua_istable(lua, -1)) throw Error("'expect' is a list of tables");
      wrong = mismatch(lua, lua_gettop(lua), report.findings[i]);
      lua_pop(lua, 1);
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

void run_file(const fs::path& path, const RuleTestOptions& options, RuleTestResult& result) {
  const std::string shown = printable(path.string()), source = read_text(path);
  const auto line_of = [&](const std::string& name) {  // a table has no line of its own: the case's
                                                       // name is looked up in the text
    const std::size_t at = source.find('"' + name + '"');
    return at == std::string::npos
               ? 1
               : 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at),
                                '\n');
  };
  const auto fail = [&](const std::string& name, const std::string& what) {
    ++result.failed;
    result.output += fmt::format("FAIL  {}:{}: {}\n{}", shown, line_of(name), name, what);
  };
  try {
    std::string rule_name = path.filename().string();
    rule_name.resize(rule_name.size() - std::string_view(".test.lua").size());
    const fs::path rule_path = path.parent_path() / (rule_name + ".lua");
    const Rule rule = load_rule(read_text(rule_path), printable(rule_path.string()));
    const fs::path snapshot_path = path.parent_path() / (rule_name + ".snapshot");
    std::map<std::string, std::string> snapshots = read_snapshots(snapshot_path);
    LuaSandbox sandbox;
    sandbox.load(source, shown);
    lua_State* lua = sandbox.state();
    if (!lua_istable(lua, -1) || lua_rawlen(lua, -1) == 0)
      throw Error("a test file returns a list of cases");
    const int cases = lua_gettop(lua);
    for (lua_Integer i = 1; lua_rawgeti(lua, cases, i) != LUA_TNIL; ++i) {
      const int index = lua_gettop(lua);
      const std::string name = lua_istable(lua, index) ? field(lua, index, "name") : "";
      if (name.empty()) throw Error(fmt::format("case {} has no name", i));
      lua_settop(lua, index);
      if (!glob_match(options.filter, name) && !glob_match(options.filter, rule.id)) {
        lua_settop(lua, cases);
        continue;
      }
      try {
        const Analysis analysis(trace_of(lua, index, options.fixtures), Classes(), {});
        const Facts facts(analysis);
        // Literal traces launch each operation just before it starts: the host would bound the step
        // whatever the GPU took.
        lua_getfield(lua, index, "replay");
        const bool replayed = analysis.trace.format != "literal" || lua_toboolean(lua, -1);
        lua_settop(lua, index);
        const Report report =
            evaluate({rule}, analysis, facts, {{rule.id, settings_of(lua, index, rule)}}, replayed);
        const std::string wrong = failure(lua, index, report, name, snapshots, options.update);
        if (wrong.empty())
          ++result.passed;
        else
          fail(name, fmt::format("    expected  {}\n    actual    {}\n", wrong, described(report)));
      } catch (const std::exception& e) {
        fail(name, fmt::format("    {}\n", e.what()));
      }
      lua_settop(lua, cases);
    }
    if (options.update && !snapshots.empty()) {
      std::string text;
      for (const auto& [name, said] : snapshots) text += fmt::format("[{}]\n{}\n", name, said);
      write_file(snapshot_path, text);
    }
  } catch (const std::exception& e) {
    fail("", fmt::format("    {}\n", e.what()));
  }
}

}  // namespace

RuleTestResult run_rule_tests(const fs::path& directory, const RuleTestOptions& options) {
  std::error_code ec;
  if (!fs::is_directory(directory, ec))
    throw Error(fmt::format("{}: is not a directory", printable(directory.string())));
  std::vector<fs::path> files;
  std::vector<std::string> untested;
  for (const auto& entry : fs::recursive_directory_iterator(
           directory, fs::directory_options::skip_permission_denied, ec)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".test.lua"))
      files.push_back(entry.path());
    else if (name.ends_with(".lua") &&
             !fs::exists(fs::path(entry.path()).replace_extension(".test.lua")))
      untested.push_back(printable(entry.path().string()));
  }
  if (files.empty())
    throw Error(fmt::format("{}: holds no rule tests (*.test.lua)", printable(directory.string())));
  std::sort(files.begin(), files.end());
  std::sort(untested.begin(), untested.end());
  RuleTestResult result;
  for (const fs::path& file : files) run_file(file, options, result);
  if (result.passed + result.failed == 0)
    throw Error(
        fmt::format("--filter {}: no case and no rule has such a name", printable(options.filter)));
  for (const std::string& rule : untested)
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
