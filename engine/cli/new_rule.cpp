// gh-advise new-rule: a rule and its test, to be edited.
#include "rules/new_rule.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/embedded.hpp"
#include "base/files.hpp"
#include "base/owner.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct NewRuleCommand {
  std::string name, folder = "my-rules";
};

// "CATEGORY/ID" apart.
NewRule made_rule(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return make_rule("", name);
  return make_rule(name.substr(0, slash), name.substr(slash + 1));
}

// Whether a folder holds the program's own rules: a team overrides a few of them, not most.
bool holds_own_rules(const fs::path& folder) {
  std::size_t rules = 0, there = 0;
  std::error_code ec;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("rules/")) continue;
    ++rules;
    there += fs::exists(folder / file.path.substr(6), ec);
  }
  return 2 * there > rules;
}

int new_rule(const NewRuleCommand& o) {
  const NewRule made = made_rule(o.name);
  if (holds_own_rules(o.folder))
    throw Error(
        fmt::format("--in {}: that folder holds the program's own rules; name a folder for "
                    "yours, such as my-rules",
                    printable(o.folder)));
  const fs::path folder = fs::path(o.folder) / made.category;
  std::error_code ec;
  const std::string told = fmt::format("--in {}", printable(o.folder));
  fs::create_directories(end_of_links(folder, told), ec);
  if (ec) throw Error(fmt::format("{}: cannot be made: {}", told, ec.message()));
  const fs::path rule = folder / (made.id + ".lua");
  const fs::path test = folder / (made.id + ".test.lua");
  for (const fs::path& path : {rule, test})
    if (fs::exists(path, ec))
      throw Error(fmt::format("{}: is there already; choose another name or folder",
                              printable(path.string())));
  write_file(rule, made.rule);
  write_file(test, made.test);
  write(fmt::format("{}\n{}\nEdit both, then run: gh-advise test {}\n", printable(rule.string()),
                    printable(test.string()), printable(o.folder)),
        to_stdout);
  return done;
}

}  // namespace

Command add_new_rule(CommandLine& line) {
  Parser command(line, "new-rule", "Write a new rule and its test, for you to edit");
  const auto o = std::make_shared<NewRuleCommand>();
  command.option("NAME", o->name, "CATEGORY/ID, as in comm/tiny-collectives").required();
  command.option("--in DIR", o->folder,
                 "Your folder of rules (default: my-rules); made if it is missing");
  return {command, [o] { return new_rule(*o); }};
}

}  // namespace gh
