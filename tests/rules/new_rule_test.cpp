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
  // Without --in, a folder for it; never among the program's own rules.
  CHECK(advise("new-rule launch/mine", {"", dir / ""}).status == 0);
  CHECK(advise("test my-rules", {"", dir / ""}).out == "3 passed, 0 failed\n");
  // It finds something in a recorded report before anything of it is edited.
  CHECK(
      contains(advise("exposed-copy.sqlite --select mine --rules " + quoted(dir / "my-rules")).out,
               "The GPU waits for 2 copies from the host a step"));
  CHECK(contains(error_line("new-rule launch/mine --in '" GH_SOURCE_DIR "/rules'"),
                 "holds the program's own rules; name a folder for yours, such as my-rules"));
  CHECK(!std::filesystem::exists(GH_SOURCE_DIR "/rules/launch/mine.lua"));
  for (const char* name : {"tiny", "Comm/x", "comm/", "/x", "comm/a/b", "'comm/a b'"})
    CHECK_MESSAGE(advise(std::string("new-rule ") + name + in).status == 2, name);
}
