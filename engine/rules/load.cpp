#include "rules/load.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/files.hpp"
#include "rules/advice.hpp"
#include "rules/binding.hpp"
#include "rules/lua_table.hpp"
#include "rules/rule.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

OptionValue option_value(lua_State* lua, int index, const std::string& where) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER: return lua_tonumber(lua, index);
    case LUA_TBOOLEAN: return lua_toboolean(lua, index) != 0;
    case LUA_TSTRING: return lua_text(lua, index);
    default:
      throw Error(fmt::format("{}: 'default' must be a number, a string or a boolean", where));
  }
}

std::vector<Source> read_needs(const LuaTable& rule, const std::string& path) {
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i)
    sources.emplace_back(name_of(static_cast<Source>(i)));
  std::vector<Source> needs;
  for (const std::string& need : rule.texts("needs")) {
    const auto it = std::find(sources.begin(), sources.end(), need);
    if (it == sources.end())
      throw Error(fmt::format("{}: needs '{}', which is not a source{}", path, need,
                              did_you_mean(need, sources)));
    needs.push_back(static_cast<Source>(it - sources.begin()));
  }
  return needs;
}

std::map<std::string, RuleOption> read_options(lua_State* lua, const LuaTable& rule,
                                               const std::string& path) {
  std::map<std::string, RuleOption> options;
  const int type = rule.push("options");
  if (type != LUA_TNIL)
    LuaTable(lua, -1, path + ": 'options'").each_pair([&](const std::string& name, int index) {
      const LuaTable o(lua, index, fmt::format("{}: option '{}'", path, name));
      o.only({"default", "unit", "doc"});
      o.push("default");
      options[name] = {option_value(lua, lua_gettop(lua), o.where()), o.text("unit"),
                       o.lines("doc"), std::nullopt};
      lua_pop(lua, 1);
    });
  lua_pop(lua, 1);
  return options;
}

// The factors of the rule's forecasts. Each may be set as an option is.
void read_factors(lua_State* lua, const LuaTable& table, Rule& rule) {
  if (table.push("factors") != LUA_TNIL)
    LuaTable(lua, -1, rule.path + ": 'factors'").each_pair([&](const std::string& name, int index) {
      const LuaTable f(lua, index, fmt::format("{}: factor '{}'", rule.path, name));
      f.only({"by", "least", "most", "doc", "source"});
      const auto by = f.number("by");
      if (!by) throw Error(fmt::format("{} needs 'by', a number", f.where()));
      const FactorRange range{f.number("least").value_or(*by), f.number("most").value_or(*by),
                              f.lines("source")};
      if (range.least > *by || range.most < *by)
        throw Error(fmt::format("{}: 'by' is not between 'least' and 'most'", f.where()));
      if (!rule.options.emplace(name, RuleOption{*by, "fraction", f.lines("doc"), range}).second)
        throw Error(fmt::format("{} has the name of an option", f.where()));
    });
  lua_pop(lua, 1);
}

// The table of templates at the top of Lua's stack.
std::map<std::string, std::string> templates_at_top(lua_State* lua, const std::string& where) {
  std::map<std::string, std::string> templates;
  const LuaTable table(lua, -1, where);
  for (const std::string& name : table.names()) templates[name] = table.text(name.c_str());
  return templates;
}

std::map<std::string, std::string> read_messages(lua_State* lua, const LuaTable& rule,
                                                 const std::string& path) {
  rule.push("messages");
  auto messages = templates_at_top(lua, path + ": 'messages'");
  lua_pop(lua, 1);
  return messages;
}

std::map<std::string, std::string> read_headlines(lua_State* lua, const LuaTable& table,
                                                  const Rule& rule) {
  std::map<std::string, std::string> headlines;
  if (table.push("headlines") != LUA_TNIL)
    headlines = templates_at_top(lua, rule.path + ": 'headlines'");
  lua_pop(lua, 1);
  std::vector<std::string> messages;
  for (const auto& [name, text] : rule.messages) messages.push_back(name);
  for (const auto& [name, text] : headlines) {
    if (!rule.messages.contains(name))
      throw Error(fmt::format("{}: headline '{}' belongs to no message{}", rule.path, name,
                              did_you_mean(name, messages)));
    if (text.find("{each_step}") != std::string::npos)
      throw Error(fmt::format(
          "{}: headline '{}' uses {{each_step}}; leave the length of the step to the message",
          rule.path, name));
  }
  return headlines;
}

void read_doc(lua_State* lua, const LuaTable& table, Rule& rule) {
  table.push("doc");
  const LuaTable doc(lua, -1, rule.path + ": 'doc'");
  doc.only({"what", "why", "fix", "wrong"});
  rule.what = doc.lines("what");
  rule.why = doc.lines("why");
  rule.fix = doc.lines("fix");
  rule.wrong = doc.lines("wrong");
  lua_pop(lua, 1);
}

// Reads the table that the file returned, at index 1.
void read_rule(lua_State* lua, Rule& rule) {
  const std::string& path = rule.path;
  if (!lua_istable(lua, 1)) throw Error(fmt::format("{}: a rule file must return one table", path));
  const LuaTable t(lua, 1, path + ": the rule");
  t.only({"id", "category", "title", "since", "needs", "options", "messages", "headlines", "doc",
          "warning_at", "after_others", "factors", "advice", "evaluate"});
  rule.id = t.text("id");
  rule.category = t.text("category");
  rule.title = t.text("title");
  rule.since = t.text("since");
  if (!is_name(rule.id) || !is_name(rule.category))
    throw Error(fmt::format(
        "{}: 'id' and 'category' may have only lower-case letters, digits and '-'", path));
  rule.needs = read_needs(t, path);
  rule.options = read_options(lua, t, path);
  read_factors(lua, t, rule);
  rule.messages = read_messages(lua, t, path);
  rule.headlines = read_headlines(lua, t, rule);
  read_doc(lua, t, rule);
  rule.warning_at = t.number("warning_at").value_or(rule.warning_at);
  rule.after_others = t.truth("after_others");
  check_advice(lua, t);
  if (t.push("evaluate") != LUA_TFUNCTION)
    throw Error(fmt::format("{}: the rule needs 'evaluate', a function", path));
}

// Whether a file below a folder of rules is one, neither its test nor a library.
bool is_rule(std::string_view path) {
  return !path.ends_with(".test.lua") && !path.ends_with(library_suffix);
}

std::vector<fs::path> rule_files(const fs::path& directory, const std::string& shown_as) {
  std::vector<fs::path> files = files_below(directory, ".lua", shown_as);
  std::erase_if(files, [](const fs::path& path) { return !is_rule(path.string()); });
  if (files.empty()) throw Error(fmt::format("{}: contains no rules (*.lua)", shown_as));
  return files;
}

void sort_by_id(std::vector<Rule>& rules) {
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
}

bool is_named(const Rule& rule, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& n) { return n == rule.id || n == rule.category; });
}

Rule load_into(LuaSandbox& sandbox, std::string source, const std::string& path) try {
  Rule rule;
  rule.code = sandbox.compile(source, path);
  sandbox.load(rule.code);
  rule.path = path;
  sandbox.run([&](lua_State* lua) { read_rule(lua, rule); });
  rule.source = std::move(source);
  return rule;
} catch (const LuaError& e) {
  throw Error(e.what());
}

}  // namespace

Rule load_rule(std::string source, const std::string& path) {
  LuaSandbox sandbox;
  return load_into(sandbox, std::move(source), path);
}

std::vector<Rule> own_rules() {
  std::vector<Rule> rules;
  LuaSandbox sandbox;  // one for all, which leave nothing behind: luacheck allows no globals
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with("rules/") && is_rule(file.path)) {
      sandbox.reset_budget();
      rules.push_back(load_into(sandbox, std::string(file.text), std::string(file.path)));
    }
  sort_by_id(rules);
  return rules;
}

std::vector<Rule> rules_in(const fs::path& directory, const std::string& said) {
  const std::string shown_as = fmt::format("{} {}", said, printable(directory.string()));
  std::vector<Rule> rules;
  for (const fs::path& file : rule_files(directory, shown_as))
    rules.push_back(load_rule(read_text(file), printable(file.string())));
  return rules;
}

void add_rules(std::vector<Rule>& rules, std::vector<Rule> added, std::vector<std::string>& notes) {
  for (Rule& rule : added) {
    for (const std::string& note : deprecations(rule.source))
      notes.push_back(fmt::format("{}: {}", rule.path, note));
    const auto same =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.id == rule.id; });
    if (same == rules.end()) {
      rules.push_back(std::move(rule));
      continue;
    }
    notes.push_back(fmt::format("rule '{}' of {} replaces {}", rule.id, rule.path, same->path));
    *same = std::move(rule);
  }
  sort_by_id(rules);
}

std::vector<Rule> chosen(std::vector<Rule> rules, const std::vector<std::string>& select,
                         const std::vector<std::string>& ignore) {
  std::vector<std::string> names;
  for (const Rule& r : rules) {
    names.push_back(r.id);
    names.push_back(r.category);
  }
  for (const auto* list : {&select, &ignore})
    for (const std::string& name : *list)
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error(fmt::format("there is no rule or category '{}'{}; `gh-advise rules` lists them",
                                printable(name), did_you_mean(name, names)));
  std::erase_if(rules, [&](const Rule& r) {
    return (!select.empty() && !is_named(r, select)) || is_named(r, ignore);
  });
  return rules;
}

}  // namespace gh
