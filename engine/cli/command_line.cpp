#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lua.hpp>
#include <nlohmann/json.hpp>
#include <simdjson.h>
#include <sqlite3.h>
#include <toml++/toml.h>
#include <zlib.h>

#include <set>

namespace gh {

const std::vector<std::string> shells{"bash", "zsh", "fish"};

namespace {

// What stands behind an option, or where an argument does.
struct Value {
  enum class Kind {
    none,
    flag,
    text,
    words,
    rule,
    rules,
    file,
    folder
  } kind;  // text: nothing to complete
  std::vector<std::string> words;
};

Value value_of(const CLI::Option& option) {
  using Kind = Value::Kind;
  if (option.get_items_expected_max() == 0) return {Kind::flag, {}};
  const std::string type = option.get_type_name();
  if (const std::size_t brace = type.find('{'); brace != std::string::npos)
    return {Kind::words,
            CLI::detail::split(type.substr(brace + 1, type.find('}') - brace - 1), ',')};
  if (type == "SEVERITY") return {Kind::words, {"error", "warning", "note"}};
  const std::string name = option.get_positional() ? option.get_name() : type;
  if (name == "RULE") return {option.get_positional() ? Kind::rule : Kind::rules, {}};
  if (name == "DIR") return {Kind::folder, {}};
  if (name == "NAME") return {Kind::text, {}};
  if (option.get_positional() || name.ends_with("FILE") || name == "PATH") return {Kind::file, {}};
  return {Kind::text, {}};
}

struct Argument {
  std::vector<std::string> names;  // "-o", "--output"; none of a positional one
  std::string type;                // "FILE"; the name of a positional one
  std::string doc;
  Value value;
  bool several = false, required = false;
};

struct Command {
  std::string name, doc;
  std::vector<Argument> options, positionals;
  Value value() const {
    return positionals.empty() ? Value{Value::Kind::none, {}} : positionals.front().value;
  }
};

// What a person calls it: "TEXT:{text,json}" of --format is FORMAT.
std::string type_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  const std::string type = option.get_type_name(), name = type.substr(0, type.find(":{"));
  if (name == "INT" || name == "UINT" || name == "FLOAT") return "N";
  if (name != "TEXT" || option.get_lnames().empty()) return name;
  std::string upper = option.get_lnames().front();
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

Command command_of(const CLI::App& app) {
  Command command{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    Argument a{{},
               type_of(*option),
               option->get_description(),
               value_of(*option),
               option->get_items_expected_max() > 1,
               option->get_required()};
    for (const std::string& name : option->get_snames()) a.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) a.names.push_back("--" + name);
    (option->get_positional() ? command.positionals : command.options).push_back(std::move(a));
  }
  return command;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command_of(*command));
  return commands;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// A line of running text in roff; what stands between backticks is bold.
std::string roff(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  bool bold = false;
  for (const char c : text) {
    if (c == '`')
      out += (bold = !bold) ? "\\fB" : "\\fR";
    else if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else if (c == '"')
      out += "\\(dq";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '^')
      out += "\\(ha";
    else
      out += c;
  }
  return out;
}

std::string roff_sentence(const std::string& text) {
  return roff(text) + (text.ends_with('.') ? "\n" : ".\n");
}

std::string roff_entry(const Argument& a) {
  std::vector<std::string> names;
  for (const std::string& name : a.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  if (a.value.kind != Value::Kind::flag)
    head += (head.empty() ? "\\fI" : " \\fI") + roff(a.type) + "\\fR";
  if (a.several) head += (head.empty() ? "" : " ") + std::string("...");
  return ".TP\n" + head + "\n" + roff_sentence(a.doc);
}

std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.name);
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

std::string completion_of_bash(const Command& top, const std::vector<Command>& commands,
                               const std::vector<Rule>& rules) {
  const auto set_to = [](const Value& v) {
    switch (v.kind) {
      case Value::Kind::words: return fmt::format("kind=words words='{}'", fmt::join(v.words, " "));
      case Value::Kind::rule: return std::string("kind=words words=$ids");
      case Value::Kind::rules: return std::string("kind=list words=$selectable");
      case Value::Kind::file: return std::string("kind=files");
      case Value::Kind::folder: return std::string("kind=folders");
      default: return std::string("kind=none");
    }
  };
  std::string cases;
  for (const Command& c : commands) {
    std::string options, values;
    for (const Argument& a : c.options) {
      for (const std::string& name : a.names) options += (options.empty() ? "" : " ") + name;
      if (a.value.kind != Value::Kind::flag)
        values += fmt::format("        {}) {} ;;\n", fmt::join(a.names, "|"), set_to(a.value));
    }
    cases += fmt::format(
        "    {})\n      options='{}'\n      case $previous in\n{}        *) {} ;;\n      esac ;;\n",
        c.name, options, values, set_to(c.value()));
  }
  std::string first;  // the program's own options
  for (const Argument& a : top.options)
    for (const std::string& name : a.names) first += " " + name;
  return fmt::format(R"(# Completions of gh-advise for bash.
_gh_advise() {{
  local commands='{0}' ids='{1}' selectable='{2}'
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=check options kind words
  # bash splits --option=value at the sign.
  if [[ $current == = ]]; then current=''; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  if (( COMP_CWORD > 1 )) && [[ " $commands " == *" ${{COMP_WORDS[1]}} "* ]]; then command=${{COMP_WORDS[1]}}; fi
  case $command in
{3}  esac
  if (( COMP_CWORD == 1 )); then options+='{4}'; fi
  COMPREPLY=()
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    list)  # separated by commas
      local before=''
      if [[ $current == *,* ]]; then before=${{current%,*}},; fi
      mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${{current##*,}}") ;;
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
  if (( COMP_CWORD == 1 )); then
    local -a named
    mapfile -t named < <(compgen -W "$commands" -- "$current")
    COMPREPLY=("${{named[@]}}" "${{COMPREPLY[@]}}")
  fi
}}
complete -F _gh_advise gh-advise
)",
                     fmt::join(names_of(commands), " "), names_of(rules, false),
                     names_of(rules, true), cases, first);
}

std::string completion_of_zsh(const Command& top, const std::vector<Command>& commands,
                              const std::vector<Rule>& rules) {
  const auto text = [](const std::string& s,
                       const char* special) {  // of a description, where a few characters separate
    std::string out;
    for (const char c : s) out += std::string(std::strchr(special, c) ? "\\" : "") + c;
    return out;
  };
  const auto action = [&](const Argument& a) -> std::string {
    const std::string name = text(a.type, ":[]");
    switch (a.value.kind) {
      case Value::Kind::words: return fmt::format(":{}:({})", name, fmt::join(a.value.words, " "));
      case Value::Kind::rule: return fmt::format(":{}:_gh-advise_rule", name);
      case Value::Kind::rules: return fmt::format(":{}:_gh-advise_rules", name);
      case Value::Kind::file: return fmt::format(":{}:_files", name);
      case Value::Kind::folder: return fmt::format(":{}:_files -/", name);
      case Value::Kind::flag: return "";
      default: return fmt::format(":{}: ", name);
    }
  };
  const auto arguments = [&](const Command& c) {
    std::string out;
    for (const Argument& a : c.options)
      for (const std::string& name : a.names)
        out += " \\\n        " + quoted(fmt::format("{}{}[{}]{}", a.several ? "*" : "", name,
                                                    text(a.doc, "[]:\\"), action(a)));
    for (const Argument& a : c.positionals)
      out += " \\\n        " + quoted((a.several ? "*" : "") + action(a));
    return out;
  };
  std::string described, cases;
  for (const Command& c : commands) {
    described += "    " + quoted(c.name + ":" + text(c.doc, ":\\")) + "\n";
    cases += fmt::format("    {})\n      _arguments{} ;;\n", c.name, arguments(c));
  }
  return fmt::format(R"(#compdef gh-advise
# Completions of gh-advise for zsh.
_gh-advise_rule() {{ compadd -- {0} }}
_gh-advise_rules() {{ _values -s , rule {1} }}
_gh-advise() {{
  local -a commands=(
{2}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments{3}
  fi
  local command=check
  if (( ${{commands[(I)${{words[2]}}:*]}} )); then
    command=${{words[2]}}
    shift words
    (( CURRENT-- ))
  fi
  case $command in
{4}  esac
}}
if [ "${{funcstack[1]}}" = _gh-advise ]; then _gh-advise "$@"; else compdef _gh-advise gh-advise; fi
)",
                     names_of(rules, false), names_of(rules, true), described, arguments(top),
                     cases);
}

std::string completion_of_fish(const Command& top, const std::vector<Command>& commands,
                               const std::vector<Rule>& rules) {
  const auto text = [](const std::string& s) {
    return "'" + replaced(replaced(s, "\\", "\\\\"), "'", "\\'") + "'";
  };
  std::string out = fmt::format(R"(# Completions of gh-advise for fish.
set -l commands {}
set -g __gh_advise_rules {}
set -g __gh_advise_selectable {}
complete -c gh-advise -f
)",
                                fmt::join(names_of(commands), " "), names_of(rules, false),
                                names_of(rules, true));
  const auto value = [&](const Value& v) -> std::string {
    switch (v.kind) {
      case Value::Kind::words: return fmt::format(" -x -a '{}'", fmt::join(v.words, " "));
      case Value::Kind::rule: return " -x -a '$__gh_advise_rules'";
      case Value::Kind::rules: return " -x -a '(__fish_append , $__gh_advise_selectable)'";
      case Value::Kind::file: return " -r -F";
      case Value::Kind::folder: return " -x -a '(__fish_complete_directories)'";
      case Value::Kind::flag:
      case Value::Kind::none: return "";
      default: return " -x";
    }
  };
  const auto add = [&](const Command& c, const std::string& where) {
    for (const Argument& a : c.options) {
      std::string names;
      for (const std::string& name : a.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      out += fmt::format("complete -c gh-advise -n {}{}{} -d {}\n", where, names, value(a.value),
                         text(a.doc));
    }
    if (const std::string positional = value(c.value()); !positional.empty())
      out += fmt::format("complete -c gh-advise -n {}{}\n", where,
                         replaced(positional, " -r -F", " -F"));
  };
  add(top, "__fish_use_subcommand");
  for (const Command& c : commands) {
    out += fmt::format("complete -c gh-advise -n __fish_use_subcommand -a {} -d {}\n", c.name,
                       text(c.doc));
    add(c,
        c.name == "check"
            ? "\"not __fish_seen_subcommand_from $commands; or __fish_seen_subcommand_from check\""
            : fmt::format("\"__fish_seen_subcommand_from {}\"", c.name));
  }
  return out;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  const std::vector<Command> commands = commands_of(app);
  std::string page = fmt::format(".TH GH\\-ADVISE 1 {} \"gh\\-advise {}\" \"User Commands\"\n",
                                 GH_ADVISE_DATE, GH_ADVISE_VERSION);
  page +=
      ".SH NAME\ngh\\-advise \\- advisor and linter for GPU training runs\n.SH SYNOPSIS\n.B "
      "gh\\-advise\n.I REPORT\\fR...\n.br\n.B gh\\-advise\n.I COMMAND\n[\\fIOPTION\\fR]... "
      "[\\fIARGUMENT\\fR]...\n";
  page += ".SH DESCRIPTION\n" + roff_sentence(app.get_description());
  const std::string exit_status = "Exit status: ";
  std::string statuses;
  for (const std::string& line : CLI::detail::split(app.get_footer(), '\n'))
    if (line.starts_with(exit_status))
      statuses = line.substr(exit_status.size());
    else
      page += ".PP\n" + roff_sentence(line);
  page += ".SH OPTIONS\n";
  for (const Argument& a : command_of(app).options) page += roff_entry(a);
  page += ".SH COMMANDS\n";
  for (const Command& c : commands) {
    std::string usage = c.name;
    for (const Argument& a : c.positionals) usage += " " + a.type + (a.several ? "..." : "");
    page += fmt::format(".SS \"{}\"\n{}", roff(usage), roff_sentence(c.doc));
    for (const Argument& a : c.positionals) page += roff_entry(a);
    for (const Argument& a : c.options)
      if (a.names.back() != "--help") page += roff_entry(a);
  }
  page += ".SH EXIT STATUS\n" + roff_sentence(statuses);
  page += R"(.SH ENVIRONMENT
.TP
.B COLUMNS
The width of text, instead of the terminal's.
.TP
.B NO_COLOR
Where it is set, and not to nothing, text on a terminal has no colours.
.SH FILES
.TP
.I gh\-advise.toml
The configuration: the nearest one in the working directory or above it.
.B gh\-advise config
prints the one in effect.
.SH EXAMPLES
.nf
nsys export \-\-type sqlite run.nsys\-rep
gh\-advise run.sqlite
gh\-advise explain data\-loader\-starvation
gh\-advise check run.sqlite \-\-format json \-\-fail\-on error
.fi
.SH SEE ALSO
.BR nsys (1)
)";
  return page;
}

std::string completion(const CLI::App& app, const std::string& shell,
                       const std::vector<Rule>& rules) {
  const Command top = command_of(app);
  const std::vector<Command> commands = commands_of(app);
  return shell == "bash"  ? completion_of_bash(top, commands, rules)
         : shell == "zsh" ? completion_of_zsh(top, commands, rules)
                          : completion_of_fish(top, commands, rules);
}

std::string version_text() {
#define GH_TEXT_OF(x) #x
#define GH_TEXT(x) GH_TEXT_OF(x)
  return fmt::format(
      "gh-advise {}\nfor {} by {}, linked {}\nwith SQLite {}, Lua {}.{}, fmt {}.{}.{}, toml++ "
      "{}.{}.{}, simdjson {}, RE2 {}, nlohmann/json {}.{}.{}, zlib {}, CLI11 {}\n",
      GH_ADVISE_VERSION, GH_ADVISE_MACHINE, GH_ADVISE_COMPILER, GH_ADVISE_LINKED, SQLITE_VERSION,
      LUA_VERSION_MAJOR "." LUA_VERSION_MINOR, LUA_VERSION_RELEASE, FMT_VERSION / 10000,
      FMT_VERSION / 100 % 100, FMT_VERSION % 100, TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH,
      GH_TEXT(SIMDJSON_VERSION), GH_ADVISE_RE2, NLOHMANN_JSON_VERSION_MAJOR,
      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, ZLIB_VERSION, CLI11_VERSION);
}

}  // namespace gh
