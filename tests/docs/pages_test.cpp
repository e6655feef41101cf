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

// Turns that no native engineer would use; what stands in code and in output is not prose.
const char* const banned[] = {"is told",
                              "are told",
                              "tells of",
                              "likewise",
                              "to and fro",
                              "runs dry",
                              "is written out",
                              "once measured",
                              "thereof",
                              "nobody has recorded",
                              "no rule could look",
                              "needs samples",
                              "that which",
                              "in the median",
                              "as such",
                              "by the way that",
                              "what is so",
                              "has them",
                              "of its own",
                              "of their own",
                              "what repeats"};

// A page in lower case and one line, without its blocks and code.
std::string prose_of(const std::string& page) {
  static const std::regex code("`[^`]*`"), space("\\s+");
  std::string text;
  bool block = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) block = !block;
    if (!block && !line.starts_with("```")) text += line + '\n';
  }
  text = std::regex_replace(std::regex_replace(text, code, " "), space, " ");
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void check_prose(const std::string& name, const std::string& page) {
  const std::string text = prose_of(page);
  for (const char* turn : banned)
    CHECK_MESSAGE(!contains(text, turn), name, " says '", std::string(turn), "'");
}

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
    if (path == "writing-rules.md" || path == "configuration.md" || path == "formats.md")
      check_prose(path, text);
  }
  for (const auto& entry : fs::directory_iterator(docs / "rules"))
    CHECK_MESSAGE(of_rules.contains(entry.path().filename()), entry.path(), " is no rule's page");
}

TEST_CASE("docs: the files that architecture.md sends to exist") {
  const std::string page = read_file(fs::path(GH_SOURCE_DIR) / "docs/architecture.md"),
                    table = page.substr(page.find("## Where to change what"));
  // A name without a folder stands beside the one before it. Capitals are placeholders.
  static const std::regex file(R"(`((?:[a-z_]+/)*)([a-z_]+\.(?:cpp|hpp|toml|py|json))`)");
  std::string folder;
  std::size_t count = 0;
  for (std::sregex_iterator it(table.begin(), table.end(), file), end; it != end; ++it, ++count) {
    if ((*it)[1].length() > 0) folder = (*it)[1];
    CHECK_MESSAGE(fs::exists(fs::path(GH_SOURCE_DIR) / (folder + (*it)[2].str())), it->str());
  }
  CHECK(count > 40);
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
  CHECK(lines.size() <= 100);
  CHECK(contains(readme, "](docs/page.png)"));
  CHECK(fs::file_size(docs / "page.png") < 250'000);
  CHECK(contains(readme, "    ./dev demo"));
  CHECK(contains(readme, "    ./dev test"));
}

TEST_CASE("docs: pages are written in plain English") {
  for (const fs::path& page : all_pages()) {
    const std::string text = read_file(page);
    if (!text.starts_with("<!-- Written by"))
      check_prose(page.lexically_relative(GH_SOURCE_DIR), text);
  }
}

TEST_CASE("docs: recipes to record are the ones that work") {
  for (const fs::path& page : all_pages()) {
    if (page.parent_path().filename() == "rules") continue;  // their texts are the rules'
    const std::string text = read_file(page);
    for (std::size_t at = 0; (at = text.find("cudaProfilerApi", at)) != text.npos; ++at)
      CHECK_MESSAGE(contains(text.substr(at, 120), "--capture-range-end=stop"), page,
                    ": without --capture-range-end=stop nsys ends the program at the first stop()");
    for (std::size_t at = 0; (at = text.find("schedule(", at)) != text.npos; ++at)
      CHECK_MESSAGE(contains(text.substr(at, text.find(')', at) - at), "repeat=1"), page,
                    ": without repeat=1 PyTorch's profiler writes its file again and again");
    // gh-advise exports a .nsys-rep itself; only where nsys is missing has somebody else to.
    for (const std::string& line : lines_of(text))
      CHECK_MESSAGE(!(contains(line, "nsys profile") && contains(line, "nsys export")), page, ": ",
                    line);
    CHECK_MESSAGE(!contains(text, "--gpu-metrics-device="), page, ": --gpu-metrics-devices");
  }
}
