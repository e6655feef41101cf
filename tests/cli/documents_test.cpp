// The manual page and the completions of shells have every command and option, and --version what
// the program was built with.
#include <sqlite3.h>
#include <zlib.h>

#include <regex>
#include <set>

#include "support/program.hpp"

using namespace support;
using std::string;

namespace {

// All that an expression's group finds.
std::set<string> all(const string& text, const char* expression) {
  const std::regex regex(expression);
  std::set<string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.insert((*it)[1]);
  return found;
}

std::set<string> commands() {
  return all(advise("--help").out.substr(advise("--help").out.find("Subcommands:")),
             "\n  ([a-z][a-z-]*) ");
}
std::set<string> options_of(const string& command) {
  return all(advise(command + " --help").out, "\n  (?:-., ?)?(--[a-z-]+)");
}

string without_escapes(string text) {
  for (std::size_t at = 0; (at = text.find('\\', at)) != string::npos;) text.erase(at, 1);
  return text;
}

// What bash offers for a line whose last word is being typed.
std::set<string> offered_by_bash(const string& line) {
  const Ran ran = shell("source <('" GH_PROGRAM "' completion bash) && COMP_WORDS=(" + line +
                        ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && $(complete -p gh-advise | "
                        "sed 's/.*-F \\([^ ]*\\).*/\\1/') && printf '%s\\n' \"${COMPREPLY[@]}\"");
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err == "");
  std::set<string> words;
  for (const string& word : lines_of(ran.out))
    if (!word.empty()) words.insert(word);
  return words;
}

std::set<string> offered_by_fish(const string& line) {
  const Ran ran =
      shell("'" GH_PROGRAM
            "' completion fish > \"$TMPDIR/gh-advise.fish\" && fish --no-config -c 'source "
            "$TMPDIR/gh-advise.fish; complete -C \"" +
                line + "\"' | cut -f1",
            {"HOME=/nonexistent TMPDIR=" + std::filesystem::temp_directory_path().string()});
  INFO(ran.err);
  std::set<string> words;
  for (const string& word : lines_of(ran.out)) words.insert(word);
  return words;
}

string completed_by_zsh(const string& line) {
  const TempDir dir;
  write_file(dir / "_gh-advise", advise("completion zsh").out);
  const Ran ran = shell("timeout 60 zsh -f '" GH_SOURCE_DIR "/tests/cli/complete.zsh' " +
                            quoted(dir / "") + " '" + line + "'",
                        {"TERM=dumb HOME=/nonexistent"});
  INFO(ran.err);
  return ran.out.substr(0, ran.out.find('\n'));
}

}  // namespace

TEST_CASE("manual: every command and option is in the manual page and in each shell's completion") {
  const string manual = without_escapes(advise("manual").out), bash = advise("completion bash").out,
               zsh = advise("completion zsh").out, fish = advise("completion fish").out;
  const std::set<string> names = commands();
  CHECK(names.size() >= 13);
  for (const string& command : names) {
    INFO(command);
    CHECK(std::regex_search(manual, std::regex("\n\\.SS \"" + command + "[ \"]")));
    CHECK(contains(bash, "\n    " + command + ")\n"));
    CHECK(contains(zsh, "\n    " + command + ")\n"));
    CHECK(contains(fish, " -a " + command + " -d "));
    const std::set<string> options = options_of(command);
    CHECK(options.contains("--help"));
    const string section = manual.substr(manual.find(".SS \"" + command)),
                 until_next = section.substr(0, section.find("\n.S", 1));
    const string bash_case = bash.substr(bash.find("\n    " + command + ")\n")),
                 zsh_case = zsh.substr(zsh.find("\n    " + command + ")\n"));
    for (const string& option : options) {
      INFO(option);
      if (option != "--help") CHECK(contains(until_next, "fB" + option + "fR"));
      CHECK(contains(bash_case.substr(0, bash_case.find("esac ;;")), option));
      CHECK(contains(zsh_case.substr(0, zsh_case.find(";;")), option + "["));
      CHECK(std::regex_search(
          fish, std::regex("from " + command + "\" (-s . )?-l " + option.substr(2) + " ")));
    }
  }
  CHECK(contains(manual, "EXIT STATUS"));
  CHECK(advise("completion tcsh").status == 2);
}

TEST_CASE("manual: man takes the manual page without a complaint") {
  const TempDir dir;
  write_file(dir / "gh-advise.1", advise("manual").out);
  const Ran lint = shell("mandoc -T lint -W warning gh-advise.1", {"", dir / ""});
  CHECK(lint.out + lint.err == "");
  const Ran groff = shell("groff -ww -man -Tutf8 -z gh-advise.1", {"", dir / ""});
  CHECK(groff.status == 0);
  CHECK(groff.out + groff.err == "");
}

TEST_CASE("completion: bash completes commands, options, values, rules and files") {
  std::set<string> first = offered_by_bash("gh-advise ''");
  for (const string& command : commands()) CHECK_MESSAGE(first.contains(command), command);
  CHECK(first.contains("starved.sqlite"));  // gh-advise REPORT
  CHECK(offered_by_bash("gh-advise --vers") == std::set<string>{"--version"});
  CHECK(offered_by_bash("gh-advise new") == std::set<string>{"new-rule"});
  std::set<string> options = options_of("check");
  for (const char* short_name : {"-h", "-v", "-q"}) options.insert(short_name);
  CHECK(offered_by_bash("gh-advise check -") == options);
  CHECK(offered_by_bash("gh-advise check starved.sqlite --format j") ==
        std::set<string>{"json", "jsonl", "junit"});
  CHECK(offered_by_bash("gh-advise starved.sqlite --format j") ==
        std::set<string>{"json", "jsonl", "junit"});  // check is understood
  CHECK(offered_by_bash("gh-advise facts x --format = j") ==
        std::set<string>{"json"});  // as bash splits --format=j
  CHECK(offered_by_bash("gh-advise facts x --format =") == std::set<string>{"json", "text"});
  CHECK(offered_by_bash("gh-advise check x --fail-on ''") ==
        std::set<string>{"error", "note", "warning"});
  CHECK(offered_by_bash("gh-advise explain unfused-n") == std::set<string>{"unfused-norm"});
  CHECK(offered_by_bash("gh-advise check x --select input,launch-b") ==
        std::set<string>{"input,launch-bound"});
  CHECK(offered_by_bash("gh-advise facts x --only account,device.na") ==
        std::set<string>{"account,device.name"});
  CHECK(offered_by_bash("gh-advise gate starved.s") == std::set<string>{"starved.sqlite"});
  CHECK(offered_by_bash("gh-advise rules ''").empty());
  CHECK(offered_by_bash("gh-advise help ga") == std::set<std::string>{"gate"});
  CHECK(offered_by_bash("gh-advise completion ''") == std::set<string>{"bash", "fish", "zsh"});
}

TEST_CASE("completion: fish completes commands, options, values and files") {
  const std::set<string> first = offered_by_fish("gh-advise ");
  for (const string& command : commands()) CHECK_MESSAGE(first.contains(command), command);
  CHECK(offered_by_fish("gh-advise check starved.sqlite --format j") ==
        std::set<string>{"json", "jsonl", "junit"});
  CHECK(offered_by_fish("gh-advise starved.sqlite --fail-on n") == std::set<string>{"note"});
  CHECK(offered_by_fish("gh-advise explain unfused-n") == std::set<string>{"unfused-norm"});
  CHECK(offered_by_fish("gh-advise check --fail-") == std::set<string>{"--fail-on"});
  CHECK(offered_by_fish("gh-advise check starved.s") == std::set<string>{"starved.sqlite"});
  CHECK(offered_by_fish("gh-advise config --out").empty());
}

TEST_CASE("completion: zsh completes commands, options, values and files" * slow_with_sanitizers) {
  CHECK(completed_by_zsh("gh-advise new") == "gh-advise new-rule");
  CHECK(completed_by_zsh("gh-advise check starved.sqlite --format js") ==
        "gh-advise check starved.sqlite --format json");
  CHECK(completed_by_zsh("gh-advise starved.sqlite --rank 0 --fail-on no") ==
        "gh-advise starved.sqlite --rank 0 --fail-on note");
  CHECK(completed_by_zsh("gh-advise explain unfused-n") == "gh-advise explain unfused-norm");
  CHECK(completed_by_zsh("gh-advise check x --select memory,unfused-s")
            .starts_with("gh-advise check x --select memory,unfused-softmax"));
  CHECK(completed_by_zsh("gh-advise facts x --only steps.count,device.na")
            .starts_with("gh-advise facts x --only steps.count,device.name"));
  CHECK(completed_by_zsh("gh-advise check starved.s") == "gh-advise check starved.sqlite");
}

TEST_CASE("version: it tells what the program was built with") {
  const string out = advise("--version").out;
  CHECK(out.starts_with("gh-advise " GH_ADVISE_VERSION "\n"));
#ifdef __aarch64__
  CHECK(contains(out, "\nfor aarch64 by "));
#else
  CHECK(contains(out, "\nfor x86_64 by "));
#endif
  CHECK(contains(out, "SQLite " SQLITE_VERSION ", "));
  CHECK(contains(out, "zlib " ZLIB_VERSION ", "));
  for (const char* name :
       {"Lua", "fmt", "toml\\+\\+", "simdjson", "RE2 ABI", "nlohmann/json", "CLI11"})
    CHECK_MESSAGE(std::regex_search(out, std::regex(name + string(" [0-9]"))), name);
  // The newest entry of what users read is of this version.
  const string changes = read_file(GH_SOURCE_DIR "/CHANGELOG.md");
  CHECK(changes.substr(changes.find("\n## ")).starts_with("\n## " GH_ADVISE_VERSION " ("));
}
