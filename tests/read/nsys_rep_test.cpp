// Nsight Systems' own files are exported by Nsight Systems.
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("nsys_rep: Nsight Systems' own files are exported first") {
  const TempDir dir;
  write_file(dir / "run 1.nsys-rep", std::string("\x01\x02\x00PK", 5) + std::string(500, '\x7f'));
  write_script(
      dir / "bin/nsys",
      "[ \"$1 $2 $3 $4 $5\" = 'export --type sqlite --force-overwrite true' ] && [ \"$6\" = "
      "--output ] && [ -s \"$8\" ] && echo \"$7\" > " +
          quoted(dir / "where") + " && cp '" GH_FIXTURES "/good.sqlite' \"$7\"\n");
  write_script(dir / "broken", "echo starting; echo 'no such importer' >&2; exit 3\n");
  write_script(dir / "idle", "exit 0\n");
  const std::string report = "'run 1.nsys-rep' --select memory",
                    direct = advise("good.sqlite --select memory").out;
  for (const Ran& ran :
       {advise(report, {"PATH=" + (dir / "bin").string() + ":/usr/bin:/bin", dir / ""}),
        advise(report + " --nsys bin/nsys", {"", dir / ""})}) {
    CHECK(ran.status == 0);
    CHECK(ran.out.substr(ran.out.find('\n')) == direct.substr(direct.find('\n')));
    CHECK(contains(ran.out, "run 1.nsys-rep\n"));
    std::string where = read_file(dir / "where");
    where.pop_back();
    CHECK_FALSE(fs::exists(where));  // nothing is left behind
    CHECK_FALSE(fs::exists(fs::path(where).parent_path()));
  }
  const auto error = [&](const std::string& nsys) {
    const Ran ran = advise(report + " --nsys " + nsys, {"", dir / ""});
    CHECK(ran.status == 2);
    return ran.err;
  };
  if (!emulated)
    CHECK(contains(error("./missing"),
                   "is not exported yet, and ./missing cannot be run to export it; give its path "
                   "with --nsys, or run `nsys export --type sqlite run 1.nsys-rep`"));
  CHECK(contains(error("./broken"), "./broken export failed (no such importer)"));
  CHECK(contains(error("./idle"), "./idle export failed (exit status 0)"));
}
