// gh-advise completion: scripts for shells.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <memory>
#include <set>

#include "base/templates.hpp"
#include "cli/cli.hpp"
#include "cli/description.hpp"
#include "cli/output.hpp"

namespace gh {

namespace {

const std::vector<std::string> shells{"bash", "zsh", "fish"};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::vector<std::string> names_of(const std::vector<Description>& commands) {
  std::vector<std::string> names;
  for (const Description& c : commands) names.push_back(c.name);
  return names;
}

// Ids, and where `selecting` categories too.
std::string names_of(const std::vector<Rule>& rules, bool selecting) {
  std::set<std::string> names;
  for (const Rule& r : rules) {
    names.insert(r.id);
    if (selecting) names.insert(r.category);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// What the script sets where a value is completed.
std::string bash_value(const Value& v) {
  switch (v.kind) {
    case Value::Kind::words: return fmt::format("kind=words words='{}'", fmt::join(v.words, " "));
    case Value::Kind::list: return fmt::format("kind=list words='{}'", fmt::join(v.words, " "));
    case Value::Kind::rule: return "kind=words words=$ids";
    case Value::Kind::rules: return "kind=list words=$selectable";
    case Value::Kind::file: return "kind=files";
    case Value::Kind::folder: return "kind=folders";
    default: return "kind=none";
  }
}

// A command as a case of the script.
std::string bash_case(const Description& c) {
  std::vector<std::string> options;
  std::string values;
  for (const Argument& a : c.options) {
    options.insert(options.end(), a.names.begin(), a.names.end());
    if (a.value.kind != Value::Kind::flag)
      values += fmt::format("        {}) {} ;;\n", fmt::join(a.names, "|"), bash_value(a.value));
  }
  return fmt::format(
      "    {})\n      options='{}'\n      case $previous in\n{}        *) {} ;;\n      esac ;;\n",
      c.name, fmt::join(options, " "), values, bash_value(c.value()));
}

Marks marks_of_bash(const Description& top, const std::vector<Description>& commands) {
  std::string cases, own_options;
  for (const Description& c : commands) cases += bash_case(c);
  for (const Argument& a : top.options)
    for (const std::string& name : a.names) own_options += " " + name;
  return {{"cases", cases}, {"options", own_options}};
}

// A description, in which a few characters would separate.
std::string zsh_text(const std::string& s, const char* special) {
  std::string out;
  for (const char c : s) {
    if (std::strchr(special, c)) out += '\\';
    out += c;
  }
  return out;
}

// What completes a value, as _arguments takes it.
std::string zsh_action(const Argument& a) {
  const std::string name = zsh_text(a.type, ":[]");
  switch (a.value.kind) {
    case Value::Kind::words: return fmt::format(":{}:({})", name, fmt::join(a.value.words, " "));
    case Value::Kind::list:
      return fmt::format(":{0}: _values -s , {0} {1}", name, fmt::join(a.value.words, " "));
    case Value::Kind::rule: return fmt::format(":{}:_gh-advise_rule", name);
    case Value::Kind::rules: return fmt::format(":{}:_gh-advise_rules", name);
    case Value::Kind::file: return fmt::format(":{}:_files", name);
    case Value::Kind::folder: return fmt::format(":{}:_files -/", name);
    case Value::Kind::flag: return "";
    default: return fmt::format(":{}: ", name);
  }
}

// The options and arguments of a command, as _arguments takes them.
std::string zsh_arguments(const Description& c) {
  constexpr const char* next_line = " \\\n        ";
  std::string out;
  for (const Argument& a : c.options)
    for (const std::string& name : a.names)
      out += next_line + quoted(fmt::format("{}{}[{}]{}", a.several ? "*" : "", name,
                                            zsh_text(a.doc, "[]:\\"), zsh_action(a)));
  for (const Argument& a : c.positionals)
    out += next_line + quoted((a.several ? "*" : "") + zsh_action(a));
  return out;
}

Marks marks_of_zsh(const Description& top, const std::vector<Description>& commands) {
  std::string described, cases;
  for (const Description& c : commands) {
    described += "    " + quoted(c.name + ":" + zsh_text(c.doc, ":\\")) + "\n";
    cases += fmt::format("    {})\n      _arguments{} ;;\n", c.name, zsh_arguments(c));
  }
  return {{"described", described}, {"options", zsh_arguments(top)}, {"cases", cases}};
}

std::string fish_text(const std::string& s) {
  return "'" + replaced(replaced(s, "\\", "\\\\"), "'", "\\'") + "'";
}

// What completes a value, as options of fish's own `complete`.
std::string fish_value(const Value& v) {
  switch (v.kind) {
    case Value::Kind::words: return fmt::format(" -x -a '{}'", fmt::join(v.words, " "));
    case Value::Kind::list:
      return fmt::format(" -x -a '(__fish_append , {})'", fmt::join(v.words, " "));
    case Value::Kind::rule: return " -x -a '$__gh_advise_rules'";
    case Value::Kind::rules: return " -x -a '(__fish_append , $__gh_advise_selectable)'";
    case Value::Kind::file: return " -r -F";
    case Value::Kind::folder: return " -x -a '(__fish_complete_directories)'";
    case Value::Kind::flag:
    case Value::Kind::none: return "";
    default: return " -x";
  }
}

// The options and the argument of a command; `where` is the condition under which they hold.
std::string fish_arguments(const Description& c, const std::string& where) {
  std::string out;
  for (const Argument& a : c.options) {
    std::string names;
    for (const std::string& name : a.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    out += fmt::format("complete -c gh-advise -n {}{}{} -d {}\n", where, names, fish_value(a.value),
                       fish_text(a.doc));
  }
  if (const std::string positional = fish_value(c.value()); !positional.empty())
    out += fmt::format("complete -c gh-advise -n {}{}\n", where,
                       replaced(positional, " -r -F", " -F"));
  return out;
}

Marks marks_of_fish(const Description& top, const std::vector<Description>& commands) {
  std::string out;
  out += fish_arguments(top, "__fish_use_subcommand");
  for (const Description& c : commands) {
    // Without a command what follows is that of `check`.
    const std::string where =
        c.name == "check"
            ? "\"not __fish_seen_subcommand_from $commands; or __fish_seen_subcommand_from check\""
            : fmt::format("\"__fish_seen_subcommand_from {}\"", c.name);
    out += fmt::format("complete -c gh-advise -n __fish_use_subcommand -a {} -d {}\n", c.name,
                       fish_text(c.doc));
    out += fish_arguments(c, where);
  }
  return {{"completions", out}};
}

// What the shell has to source to complete commands, options, their values, the ids of `rules`,
// files and folders. `gh-advise` with no command is completed as `gh-advise check`.
std::string completion(const CommandLine& line, const std::string& shell,
                       const std::vector<Rule>& rules) {
  const Description top = describe(line);
  const std::vector<Description> commands = describe_commands(line);
  Marks marks = shell == "bash"  ? marks_of_bash(top, commands)
                : shell == "zsh" ? marks_of_zsh(top, commands)
                                 : marks_of_fish(top, commands);
  marks["commands"] = fmt::format("{}", fmt::join(names_of(commands), " "));
  marks["ids"] = names_of(rules, false);
  marks["selectable"] = names_of(rules, true);
  return filled("completion." + shell, marks);
}

}  // namespace

Command add_completion(CommandLine& line) {
  Parser command(line, "completion",
                 "Print a script that completes commands, options and rules in a shell");
  const auto shell = std::make_shared<std::string>();
  command.option("SHELL", *shell, "bash, zsh or fish").required().one_of(shells);
  return {command, [&line, shell] {
            write(completion(line, *shell, own_rules()), to_stdout);
            return done;
          }};
}

}  // namespace gh
