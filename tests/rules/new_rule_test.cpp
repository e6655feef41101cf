// `gh-advise new-rule`.
#include "support/program.hpp"

using namespace support;

TEST_CASE("new-rule: the generated rule is valid, and its tests pass") {
  const TempDir dir;
  const std::string in = " --in " + quoted(dir / "team");
  const Ran made = advise("new-rule comm/tiny-collectives" + in);
  CHECK(made.status == 0);
  CHECK(contains(made.out, "comm/tiny-collectives.test.lua"));
  const Ran tested = advise("test " + quoted(dir / "team"));
  CHECK(tested.status == 0);
  CHECK(tested.out == "3 passed, 0 failed\n");
  CHECK(contains(advise("explain tiny-collectives --rules " + quoted(dir / "team")).out,
                 "category comm"));
  CHECK(shell("luacheck --config '" GH_SOURCE_DIR "/.luacheckrc' --quiet " + quoted(dir / "team"))
            .status == 0);
  CHECK(contains(advise("new-rule comm/tiny-collectives" + in).err,
                 "is there already"));  // nothing is overwritten
  for (const char* name : {"tiny", "Comm/x", "comm/", "/x", "comm/a/b", "'comm/a b'"})
    CHECK_MESSAGE(advise(std::string("new-rule ") + name + in).status == 2, name);
}
