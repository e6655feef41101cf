#include "rules/rule_test.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/embedded.hpp"
#include "base/files.hpp"
#include "read/nsys.hpp"
#include "rules/binding.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// Patterns are also matched against long texts.
constexpr std::size_t most_expected_bytes = 1024;
// What a finding's title has where a rule of the program made it: a line with its number in front.
constexpr std::size_t most_headline_letters = 80;

// A finding that a case expects: globs, "" for anything.
struct Expected {
  std::string severity, subject, title, message, confidence, advice, follows_from;
  std::optional<std::pair<double, double>> worth;  // bounds of the recoverable fraction
};

// A case as a test file defines it.
struct Case {
  std::string name;
  std::string fixture;         // or, if it is "",
  std::optional<Trace> trace;  // literal
  bool replayed = true;        // whether savings come from the replay
  std::map<std::string, OptionValue> options;
  std::string outcome;             // "clean", "not checked", "snapshot", or
  std::vector<Expected> findings;  // in order
};

// --- Reading cases

Expected read_expected(lua_State* lua, int index) {
  const LuaTable t(lua, index, "an expected finding");
  t.only(
      {"severity", "subject", "title", "message", "confidence", "advice", "follows_from", "worth"});
  Expected e{t.text("severity", false),     t.text("subject", false),
             t.text("title", false),        t.text("message", false),
             t.text("confidence", false),   t.text("advice", false),
             t.text("follows_from", false), std::nullopt};
  for (const std::string* glob :
       {&e.severity, &e.subject, &e.title, &e.message, &e.confidence, &e.advice, &e.follows_from})
    if (glob->size() > most_expected_bytes)
      throw Error(fmt::format("{}: the expected text is longer than {} bytes", t.where(),
                              most_expected_bytes));
  if (t.push("worth") == LUA_TTABLE) {
    const LuaTable bounds(lua, -1, "'worth' of an expected finding");
    bounds.push(std::size_t{1});
    bounds.push(std::size_t{2});
    e.worth = {lua_tonumber(lua, -2), lua_tonumber(lua, -1)};
    lua_pop(lua, 2);
  }
  lua_pop(lua, 1);
  return e;
}

void read_expectation(const LuaTable& t, Case& c) {
  if (t.is_text("expect")) {
    c.outcome = t.text("expect");
    if (c.outcome != "clean" && c.outcome != "not checked" && c.outcome != "snapshot")
      throw Error(fmt::format(
          "'expect' is \"clean\", \"not checked\", \"snapshot\" or a list of findings, not \"{}\"",
          c.outcome));
    return;
  }
  if (!t.has("expect")) throw Error("a case needs 'expect'");
  t.each("expect", [&](int i) { c.findings.push_back(read_expected(t.lua(), i)); });
  if (c.findings.empty())
    throw Error("'expect' is an empty list: write \"clean\" or \"not checked\"");
}

void read_options(const LuaTable& t, Case& c) {
  lua_State* lua = t.lua();
  if (t.push("options") != LUA_TNIL)
    LuaTable(lua, -1, "'options'").each_pair([&](const std::string& name, int value) {
      switch (lua_type(lua, value)) {
        case LUA_TNUMBER: c.options[name] = lua_tonumber(lua, value); break;
        case LUA_TBOOLEAN: c.options[name] = lua_toboolean(lua, value) != 0; break;
        case LUA_TSTRING: c.options[name] = lua_text(lua, value); break;
        default:
          throw Error(fmt::format("option '{}' must be a number, a string or a boolean", name));
      }
    });
  lua_pop(lua, 1);
}

// Literal traces launch each operation just before it starts, so every step would be host-bound
// whatever the GPU takes. They are replayed only on request.
void read_trace(const LuaTable& t, Case& c) {
  c.fixture = t.text("fixture", false);
  if (fs::path(c.fixture).filename() != c.fixture)
    throw Error(fmt::format("'{}' is not a fixture name", c.fixture));
  if (!c.fixture.empty()) return;
  if (t.push("trace") != LUA_TTABLE) throw Error("a case needs 'trace' or 'fixture'");
  c.trace = trace_from_lua(LuaTable(t.lua(), -1, "the trace"));
  c.replayed = t.truth("replay");
  lua_pop(t.lua(), 1);
}

// A test file, loaded.
class Cases {
 public:
  Cases(const std::string& source, const std::string& path) : sandbox_(literal_limits()) {
    sandbox_.load(source, path);
    sandbox_.run([&](lua_State* lua) {
      if (!lua_istable(lua, 1)) throw Error("a test file must return a list of cases");
      LuaTable(lua, 1, "the test file").each([&](int i) {
        names_.push_back(lua_istable(lua, i) ? LuaTable(lua, i, "a case").text("name", false) : "");
        if (names_.back().empty()) throw Error(fmt::format("case {} has no name", names_.size()));
      });
    });
    if (names_.empty()) throw Error("a test file must return a list of cases");
  }

  const std::vector<std::string>& names() const { return names_; }

  /// The case at a position, from 0 on. Read one at a time, since a trace may be large.
  Case read(std::size_t position) {
    Case c;
    c.name = names_[position];
    sandbox_.reset_budget();
    with(position, [&](const LuaTable& t) {
      t.only({"name", "trace", "fixture", "replay", "options", "expect"});
      read_trace(t, c);
      read_options(t, c);
      read_expectation(t, c);
    });
    return c;
  }

  /// Whether a case expects findings with the rule's default options, and on which fixture.
  bool fires(std::size_t position, std::string& fixture) {
    bool fires = false;
    with(position, [&](const LuaTable& t) {
      fires = t.push("expect") == LUA_TTABLE && !t.has("options");
      fixture = t.text("fixture", false);
    });
    return fires;
  }

 private:
  template <class Read>
  void with(std::size_t position, Read read) {
    sandbox_.run([&](lua_State* lua) {
      lua_rawgeti(lua, 1, static_cast<lua_Integer>(position) + 1);
      read(LuaTable(lua, -1, "the case"));
    });
  }

  LuaSandbox sandbox_;
  std::vector<std::string> names_;
};

// --- Comparing

// What a rule reported, in the words that cases use.
std::string described(const Report& report) {
  if (!report.failed.empty()) return "the rule failed: " + report.failed.front().error;
  if (!report.not_checked.empty())
    return fmt::format("not checked: {}", report.not_checked.front().reason);
  if (report.findings.empty()) return "clean";
  std::string s;
  for (const Finding& f : report.findings)
    s += fmt::format("{}{} '{}', worth {:.3f}, {} confidence: {}: {}",
                     s.empty() ? "" : "\n              ", name_of(f.severity), f.subject,
                     f.recoverable_fraction, f.confidence, f.title, f.message);
  return s;
}

// Everything that a rule reported, for snapshots: one item per line, so that differences are easy
// to read.
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

// What a rule reported in each case, by the case's name. In ID.snapshot a case is its name in
// brackets, the report, and an empty line.
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

// The first expectation that a finding does not meet; "" if it meets all.
std::string mismatch(const Expected& expected, const Finding& f) {
  const std::tuple<const char*, const std::string&, std::string> texts[] = {
      {"severity", expected.severity, name_of(f.severity)},
      {"subject", expected.subject, f.subject},
      {"title", expected.title, f.title},
      {"message", expected.message, f.message},
      {"confidence", expected.confidence, f.confidence},
      {"advice", expected.advice, f.advice.empty() ? "" : f.advice.front()},
      // Ranking drops a root that is not among the findings, and a test asks one rule alone.
      {"follows_from", expected.follows_from, f.root}};
  for (const auto& [key, glob, actual] : texts)
    if (!glob.empty() && !glob_match(glob, actual)) return fmt::format("{} '{}'", key, glob);
  if (!expected.worth) return "";
  const auto [least, most] = *expected.worth;
  if (f.recoverable_fraction >= least && f.recoverable_fraction <= most) return "";
  return fmt::format("worth between {} and {}", least, most);
}

std::string findings_mismatch(const std::vector<Expected>& expected,
                              const std::vector<Finding>& findings) {
  const std::size_t count = expected.size();
  if (findings.size() != count) return fmt::format("{} finding{}", count, count == 1 ? "" : "s");
  for (std::size_t i = 0; i < count; ++i)
    if (std::string wrong = mismatch(expected[i], findings[i]); !wrong.empty()) return wrong;
  return "";
}

std::string snapshot_mismatch(const Report& report, const std::string& name, Snapshots& snapshots,
                              bool update) {
  const std::string said = snapshot_of(report);
  if (update) snapshots[name] = said;
  const auto known = snapshots.find(name);
  if (known == snapshots.end()) return "a snapshot, but there is none yet: run again with --update";
  return known->second == said ? "" : "\n" + known->second;
}

// What breaks the style of the program's own rules in the short report, or "".
std::string style_mismatch(const Said& f) {
  if (f.title.ends_with('.') || display_width(f.title) > most_headline_letters)
    return fmt::format("a title of at most {} letters without a full stop, not '{}'",
                       most_headline_letters, f.title);
  const std::string fix = short_fix(f);
  if (fix.empty() || fix.front() < 'A' || fix.front() > 'Z' ||
      display_width(fix) > most_short_fix_letters)
    return fmt::format(
        "an advice that begins with what to do, with a capital letter and in at most {} letters "
        "before its {{.}}, not '{}'",
        most_short_fix_letters, fix);
  return "";
}

std::string style_mismatch(const Report& report) {
  for (const Finding& f : report.findings)
    if (std::string wrong = style_mismatch(f); !wrong.empty()) return wrong;
  return "";
}

// What the case expects and does not get, or "".
std::string case_mismatch(const Case& c, const Report& report, Snapshots& snapshots, bool update) {
  if (c.outcome.empty()) return findings_mismatch(c.findings, report.findings);
  if (c.outcome == "snapshot") return snapshot_mismatch(report, c.name, snapshots, update);
  const bool met = report.failed.empty() && report.findings.empty() &&
                   report.not_checked.empty() == (c.outcome == "clean");
  return met ? "" : c.outcome;
}

RuleSettings settings_of(const Case& c, const Rule& rule) {
  for (const auto& [name, value] : c.options)
    if (!rule.options.contains(name))
      throw Error(fmt::format("rule '{}' has no option '{}'", rule.id, name));
  RuleSettings settings;
  settings.options = c.options;
  return settings;
}

Trace trace_of(Case& c, const fs::path& fixtures) {
  return c.trace ? std::move(*c.trace) : read_nsys(fixtures / (c.fixture + ".sqlite"));
}

// The cases of one rule: ID.test.lua next to ID.lua and ID.snapshot.
class RuleTest {
 public:
  RuleTest(const fs::path& path, const RuleTestOptions& options, RuleTestResult& result)
      : path_(path),
        shown_path_(printable(path.string())),
        source_(read_text(path)),
        options_(options),
        result_(result) {
    for (const EmbeddedFile& file : embedded_files())
      is_own_ = is_own_ || shown_path_.ends_with("/" + std::string(file.path)) ||
                shown_path_ == file.path;
  }

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
    for (const std::string& note : deprecations(rule.source))
      result_.notes.push_back(fmt::format("{}: {}", rule.path, note));
    Snapshots snapshots = read_snapshots(snapshot_path);
    const std::int64_t most_ns = processor_ns() + options_.cpu_ns;
    Cases cases(source_, shown_path_);
    bool any = false;
    for (std::size_t i = 0; i < cases.names().size(); ++i) {
      const std::string& name = cases.names()[i];
      if (!glob_match(options_.filter, name) && !glob_match(options_.filter, rule.id)) continue;
      if (any && processor_ns() > most_ns) return fail_late(name);
      run_case(cases, i, rule, snapshots);
      any = true;
    }
    if (options_.update && !snapshots.empty()) write_snapshots(snapshot_path, snapshots);
  }

  void run_case(Cases& cases, std::size_t position, const Rule& rule, Snapshots& snapshots) try {
    Case c = cases.read(position);
    const Analysis analysis(trace_of(c, options_.fixtures), Classes(), {});
    const Facts facts(analysis);
    const std::map<std::string, RuleSettings> settings{{rule.id, settings_of(c, rule)}};
    const Report report = evaluate({rule}, analysis, facts, settings, c.replayed);
    std::string wrong = case_mismatch(c, report, snapshots, options_.update);
    if (wrong.empty() && is_own_) wrong = style_mismatch(report);
    if (wrong.empty())
      ++result_.passed;
    else
      fail(c.name, fmt::format("    expected  {}\n    actual    {}\n", wrong, described(report)));
  } catch (const std::exception& e) {
    fail(cases.names()[position], fmt::format("    {}\n", e.what()));
  }

  // Each case is bounded, but a short file can contain thousands.
  void fail_late(const std::string& name) {
    fail(name,
         fmt::format("    not run, nor are the cases after it: the cases before took more than "
                     "{} s of processor time; make them smaller, or split the file\n",
                     options_.cpu_ns / 1'000'000'000));
  }

  void fail(const std::string& name, const std::string& what) {
    ++result_.failed;
    result_.output += fmt::format("FAIL  {}:{}: {}\n{}", shown_path_, line_of(name), name, what);
  }

  // Lua does not give a table's line, so look up the case's name in the text.
  std::ptrdiff_t line_of(const std::string& name) const {
    const std::size_t at = source_.find('"' + name + '"');
    if (at == std::string::npos) return 1;
    return 1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  }

  const fs::path& path_;
  std::string shown_path_, source_;
  const RuleTestOptions& options_;
  RuleTestResult& result_;
  bool is_own_ = false;  // a rule of the program, whose words are held to its style
};

// In a directory: the test files, and the rules without one.
struct Found {
  std::vector<fs::path> tests;
  std::vector<std::string> untested;
};

Found find_tests(const fs::path& directory) {
  const std::string shown_path = printable(directory.string());
  Found found;
  for (const fs::path& path : files_below(directory, ".lua", shown_path)) {
    if (path.filename().string().ends_with(".test.lua"))
      found.tests.push_back(path);
    else if (!path.string().ends_with(library_suffix) &&
             !fs::exists(fs::path(path).replace_extension(".test.lua")))
      found.untested.push_back(printable(path.string()));
  }
  if (found.tests.empty())
    throw Error(fmt::format("{}: contains no rule tests (*.test.lua)", shown_path));
  return found;
}

}  // namespace

RuleTestResult run_rule_tests(const fs::path& directory, const RuleTestOptions& options) {
  const Found found = find_tests(directory);
  RuleTestResult result;
  for (const fs::path& file : found.tests) RuleTest(file, options, result).run();
  if (result.passed + result.failed == 0)
    throw Error(fmt::format("--filter {}: no case or rule matches", printable(options.filter)));
  for (const std::string& rule : found.untested)
    result.output += fmt::format("note  {}: has no test\n", rule);
  result.output += fmt::format("{} passed, {} failed\n", result.passed, result.failed);
  return result;
}

void each_literal_trace(const std::string& test_source,
                        const std::function<void(const std::string&, Trace)>& take) {
  Cases cases(test_source, "test");
  for (std::size_t i = 0; i < cases.names().size(); ++i) {
    Case c = cases.read(i);
    if (c.trace) take(c.name, std::move(*c.trace));
  }
}

std::optional<Trace> first_firing_trace(const std::string& test_source, const fs::path& fixtures) {
  Cases cases(test_source, "test");
  std::optional<Trace> literal;
  for (std::size_t i = 0; i < cases.names().size(); ++i) {
    std::string fixture;
    if (!cases.fires(i, fixture)) continue;
    const fs::path report = fixtures / (fixture + ".sqlite");
    if (!fixture.empty() && fs::exists(report)) return read_nsys(report);
    if (fixture.empty() && !literal) literal = cases.read(i).trace;
  }
  return literal;
}

}  // namespace gh
