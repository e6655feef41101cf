// gh-advise docs: the documentation that is drawn from the program itself, as Markdown.
#include "report/docs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/files.hpp"
#include "base/owner.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct DocsCommand {
  std::string folder;
  RuleOptions rule;
};

int docs(const DocsCommand& o) {
  const Settings settings(o.rule);
  for (const Page& page : documentation(settings.all_rules, fixtures_beside_program())) {
    const fs::path path = fs::path(o.folder) / page.path;
    std::error_code ec;
    const std::string told = fmt::format("--out {}", printable(o.folder));
    fs::create_directories(end_of_links(path, told).parent_path(), ec);
    if (ec) throw Error(fmt::format("{}: cannot be made: {}", told, ec.message()));
    write_file(path, page.text);
  }
  return done;
}

}  // namespace

Command add_docs(CommandLine& line) {
  Parser command(
      line, "docs",
      "Write the documentation of rules, facts, the rule API, configuration and formats");
  const auto o = std::make_shared<DocsCommand>();
  command.option("--out DIR", o->folder, "The folder to write to").required();
  o->rule.add_sources(command);
  return {command, [o] { return docs(*o); }};
}

}  // namespace gh
