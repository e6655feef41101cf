// `gh-advise config`.
#include "support/program.hpp"

using namespace support;

TEST_CASE("config: the configuration in effect says where each value comes from") {
  const TempDir dir;
  CHECK(contains(advise("config", {"", dir / ""}).out,
                 "# no gh-advise.toml in this folder or above"));
  write_file(dir / "gh-advise.toml",
             "ignore = ['comm']\n\n[rule.host-sync]\nshare = 0.1\nseverity = 'note'\n");
  const std::string text = advise("config", {"", dir / ""}).out;
  CHECK(contains(text, "ignore = [\"comm\"]"));
  const auto line = [&](const std::string& start) {
    for (const std::string& l : lines_of(text.substr(text.find("[rule.host-sync]"))))
      if (l.starts_with(start)) return l;
    return std::string("none");
  };
  CHECK(line("share = 0.1 ").ends_with("gh-advise.toml:4"));
  CHECK(line("severity = \"note\"").ends_with("gh-advise.toml:5"));
  CHECK(contains(text, "# default"));
}
