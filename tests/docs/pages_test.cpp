// The pages of docs/: what is generated is up to date, and links lead somewhere.
#include <regex>
#include <set>

#include "report/docs.hpp"
#include "rules/rules.hpp"
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

const fs::path docs = GH_SOURCE_DIR "/docs";

// The README and all pages, written by hand or generated.
std::vector<fs::path> all_pages() {
  std::vector<fs::path> pages{GH_SOURCE_DIR "/README.md", GH_SOURCE_DIR "/fixtures/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(docs))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  return pages;
}

// What a page links to, without anchors and addresses on the web.
std::vector<std::string> relative_links(const std::string& text) {
  static const std::regex link(R"(\]\(([^)#\s]+)(#[^)\s]*)?\))");
  std::vector<std::string> links;
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it)
    if (const std::string to = (*it)[1]; !contains(to, "://")) links.push_back(to);
  return links;
}

}  // namespace

TEST_CASE(
    "docs: the generated pages are what the program writes, and no rule's page is left over") {
  // ./dev docs writes them anew.
  std::set<std::string> of_rules;
  for (const auto& [path, text] : gh::documentation(gh::own_rules(), GH_FIXTURES)) {
    CHECK_MESSAGE((fs::exists(docs / path) && read_file(docs / path) == text), path,
                  " is stale: ./dev docs");
    if (path.starts_with("rules/")) of_rules.insert(fs::path(path).filename());
  }
  for (const auto& entry : fs::directory_iterator(docs / "rules"))
    CHECK_MESSAGE(of_rules.contains(entry.path().filename()), entry.path(), " is no rule's page");
}

TEST_CASE("docs: relative links lead to files, and every page is linked") {
  std::set<fs::path> linked;
  for (const fs::path& page : all_pages())
    for (const std::string& to : relative_links(read_file(page))) {
      const fs::path target = (page.parent_path() / to).lexically_normal();
      CHECK_MESSAGE(fs::exists(target), page, " links to ", to);
      linked.insert(target);
    }
  for (const auto& entry : fs::recursive_directory_iterator(docs))
    if (entry.is_regular_file())
      CHECK_MESSAGE(linked.contains(entry.path().lexically_normal()), entry.path(),
                    " is linked from nowhere");
}

TEST_CASE("docs: the README is two screens") {
  const std::string readme = read_file(GH_SOURCE_DIR "/README.md");
  const std::vector<std::string> lines = lines_of(readme);
  CHECK(lines.size() <= 110);
  CHECK(contains(readme, "    ./dev demo"));
  CHECK(contains(readme, "    ./dev test"));
}
