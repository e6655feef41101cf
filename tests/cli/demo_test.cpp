// `gh-advise demo`, and what `gh-advise serve` refuses; tests/cli/serve_test.py has the rest.
#include <filesystem>

#include "support/program.hpp"

using namespace support;

TEST_CASE("demo: it says what check says of the same report, and how to record one's own") {
  const Ran demo = advise("demo --color never"),
            check = advise("check starved.sqlite --config none");
  CHECK(demo.status == 0);
  CHECK(demo.out == check.out);
  CHECK(contains(demo.err, "gh-advise record -- python train.py"));
  CHECK(advise("demo -q").out == advise("check starved.sqlite --config none -q").out);
}

TEST_CASE("demo: --save writes the report itself") {
  const TempDir dir;
  const std::string saved = (dir / "mine.sqlite").string();
  const Ran ran = advise("demo --save " + saved);
  CHECK(ran.status == 0);
  CHECK(ran.out.empty());
  CHECK(read_file(saved) == read_file(fixture("starved")));
  CHECK(advise("demo --save " + (dir / "missing/mine.sqlite").string()).status == 2);
}

TEST_CASE("serve: what cannot be served is said at once") {
  const TempDir dir;
  CHECK(contains(advise("serve --page " + (dir / "no.html").string()).err, "no such file"));
  CHECK(contains(advise("serve --page /tmp").err, "/tmp: is not a file"));
  CHECK(contains(advise("serve missing.sqlite").err, "missing.sqlite: no such file"));
  CHECK(contains(advise("serve starved.sqlite --page x.html").err, "leave out one of both"));
  CHECK(advise("serve --port 70000").status == 2);
}
