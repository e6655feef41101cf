// Where --output writes, what stays where it cannot, and several formats at once.
#include "support/gate_run.hpp"
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

TEST_CASE("output: a report is never overwritten by what is said of it") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "good.sqlite");
  fs::copy_file(GH_FIXTURES "/good.pt.trace.json", dir / "good.trace.json");
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"good.sqlite --output ./good.sqlite", "no format of this command ends in .sqlite"},
           {"good.sqlite --output text=./good.sqlite",
            "would overwrite a file that is read; name another file"},
           {"good.trace.json --output ./good.trace.json",
            "would overwrite a file that is read; name another file"}}) {
    const Ran ran = advise(arguments, {"", dir / ""});
    CHECK(ran.status == 2);
    CHECK_MESSAGE(contains(ran.err, why), ran.err);
  }
  CHECK(read_file(dir / "good.sqlite") == read_file(GH_FIXTURES "/good.sqlite"));
  CHECK(read_file(dir / "good.trace.json") == read_file(GH_FIXTURES "/good.pt.trace.json"));
}

TEST_CASE("output: nothing that is read is overwritten, in a folder neither") {
  const TempDir dir;
  fs::create_directories(dir / "in");
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "in/r.sqlite");
  write_file(dir / "c.toml", "");
  REQUIRE(advise("baseline in/r.sqlite -o in/b.json", {"", dir / ""}).status == 0);
  REQUIRE(advise("digest in/r.sqlite -o in/r.digest", {"", dir / ""}).status == 0);
  const auto all = [&] {
    std::vector<std::string> text;
    for (const char* name : {"in/r.sqlite", "in/b.json", "in/r.digest", "c.toml"})
      text.push_back(read_file(dir / name));
    return text;
  };
  const std::vector<std::string> before = all();
  for (const char* arguments : {
           "gate in --baseline in/b.json --output json=in/r.sqlite",
           "gate in/r.sqlite --baseline in --output json=in/r.sqlite",
           "gate in --baseline in/b.json --output json=in/b.json",
           "gate in --baseline in/b.json --config c.toml --output json=c.toml",
           "fleet in --output json=in/r.digest",
           "fleet in --config c.toml --output json=c.toml",
           "check in --config c.toml --output json=c.toml",
           "top in --config c.toml --output json=c.toml",
           "baseline in/r.sqlite --config c.toml -o c.toml",
           "digest in/r.sqlite --config c.toml -o c.toml",
           "diff in in --config c.toml --output json=c.toml",
       }) {
    CAPTURE(arguments);
    const Ran ran = advise(arguments, {"", dir / ""});
    CHECK(ran.status == 2);
    CHECK_MESSAGE(contains(ran.err, "would overwrite a file that is read"), ran.err);
  }
  CHECK(all() == before);
}

TEST_CASE("output: a file is written whole or not at all") {
  const TempDir dir;
  const std::string text = advise("starved.sqlite").out;
  const Ran ran = advise("starved.sqlite --output " + quoted(dir / "out.txt"));
  CHECK(ran.status == 0);
  CHECK(ran.out == "");
  CHECK(read_file(dir / "out.txt") == text);
  CHECK(advise("facts starved.sqlite --output " + quoted(dir / "facts.txt")).out == "");
  CHECK(read_file(dir / "facts.txt") == advise("facts starved.sqlite").out);
  CHECK(advise("rules --format json --output " + quoted(dir / "rules.json")).status == 0);
  CHECK(read_file(dir / "rules.json") == advise("rules --format json").out);

  // What was there stays where nothing could be made.
  error_line("missing.sqlite --output " + quoted(dir / "out.txt"));
  CHECK(read_file(dir / "out.txt") == text);
  CHECK(contains(error_line("starved.sqlite --output " + quoted(dir / "no/out.txt")),
                 "out.txt: cannot be written: No such file or directory; check the folder"));
  fs::create_directory(dir / "folder");
  CHECK(contains(error_line("starved.sqlite --output " + quoted(dir / "folder")),
                 "cannot be written"));
  for (const auto& entry : fs::directory_iterator(dir / ""))
    CHECK(entry.path().extension() != ".part");

  // What is no file, /dev/null say, is not replaced by one, and a link keeps leading where it did.
  CHECK(shell("mkfifo pipe && (timeout 20 cat pipe >piped & '" GH_PROGRAM "' '" GH_FIXTURES
              "/starved.sqlite' --output pipe; wait)",
              {"", dir / ""})
            .status == 0);
  CHECK(fs::is_fifo(dir / "pipe"));
  CHECK(contains(read_file(dir / "piped"), "Where a step goes"));
  write_file(dir / "target.txt", "old");
  fs::create_symlink("target.txt", dir / "link.txt");
  CHECK(advise("starved.sqlite --output " + quoted(dir / "link.txt")).status == 0);
  CHECK(fs::is_symlink(dir / "link.txt"));
  CHECK(read_file(dir / "target.txt") == text);
  // A full disk is no success.
  const Ran full = advise("starved.sqlite >/dev/full");
  CHECK(full.status == 2);
  CHECK(full.err == "gh-advise: cannot write to standard output: No space left on device\n");
}

TEST_CASE("output: a file's ending chooses its format") {
  const TempDir dir;
  const How here{"", dir / ""};
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "run.sqlite");
  const auto written = [&](const std::string& name, const std::string& more = "") {
    const Ran ran = advise("run.sqlite --output " + name + more, here);
    CHECK(ran.err == "");
    CHECK(ran.out == "");
    return read_file(dir / name);
  };
  const auto printed = [&](const std::string& format) {
    return advise("run.sqlite --format " + format, here).out;
  };
  CHECK(written("report.html").starts_with("<!doctype html>"));
  CHECK(written("report.json") == printed("json"));
  CHECK(written("report.jsonl") == printed("jsonl"));
  CHECK(written("report.md") == printed("markdown"));
  CHECK(written("report.sarif") == printed("sarif"));
  CHECK(written("report.xml") == printed("junit"));
  CHECK(written("report.trace.json") == printed("trace"));
  CHECK(written("report.txt") == printed("text"));
  CHECK(written("report") == printed("text"));
  CHECK(written("report", " --format json") == printed("json"));
  CHECK(written("report.2", " --format json") == printed("json"));
  CHECK(written("a.json", " --output b.md") == printed("json"));
  CHECK(read_file(dir / "b.md") == printed("markdown"));
  CHECK(error_line("run.sqlite --output html", here) ==
        "--output html: is a format and no file; write --output report.html");
  CHECK(error_line("run.sqlite --output github", here) ==
        "--output github: is a format and no file; write --output github=FILE");
  CHECK(advise("run.sqlite --output ./html --output html=x", here).status == 0);
  CHECK(error_line("run.sqlite --output report.pdf", here) ==
        "--output report.pdf: no format of this command ends in .pdf; end the name in one of "
        ".txt, .json, .jsonl, .md, .sarif, .xml (junit), .html, .trace.json, or say which format "
        "it is: --output text=report.pdf");
  CHECK(contains(error_line("rules --output rules.html", here), "ends in .html"));
  CHECK(contains(error_line("run.sqlite --format json --output report.html", here),
                 "leave --format out, or write --output json=report.html"));
  CHECK(!fs::exists(dir / "report.pdf"));
  // To standard output, in the place of the text.
  CHECK(advise("run.sqlite --output json=-", here).out == printed("json"));
  CHECK(advise("run.sqlite --output - --format json", here).out == printed("json"));
  CHECK(contains(error_line("run.sqlite --output json=- --output sarif=-", here),
                 "only one format can go to standard output"));
  CHECK(contains(error_line("run.sqlite --format text --output json=-", here),
                 "--format text: standard output gets another format"));
}

TEST_CASE("output: several formats are written in one run, and each says the same" *
          slow_with_sanitizers) {
  const GateRun in("good", "starved");
  CHECK(in.ran.status == 1);
  CHECK(in.ran.out == advise("gate starved.sqlite --baseline good.sqlite").out);
  for (const char* format : {"sarif", "markdown", "junit", "github", "json"}) {
    CHECK_MESSAGE(contains(in.text(format), "data-loader-starvation"), format);
    CHECK_MESSAGE(
        in.text(format) ==
            advise(std::string("gate starved.sqlite --baseline good.sqlite --format ") + format)
                .out,
        format);
  }
  const TempDir dir;
  CHECK(advise("starved.sqlite --format json --output " + quoted(dir / "plain") +
               " --output sarif=" + quoted(dir / "s"))
            .out == "");
  CHECK(Json::parse(read_file(dir / "plain"))["reports"][0]["report"]["path"] == "starved.sqlite");
  CHECK(contains(advise("starved.sqlite --output srif=x").err,
                 "there is no format 'srif' (did you mean 'sarif'?); for a file of that name, "
                 "write ./srif=x"));
  CHECK(contains(advise("starved.sqlite --output sarif=").err, "names no file"));
  CHECK(contains(advise("starved.sqlite --output a --output a").err, "is given twice"));
  const std::string file = quoted(dir / "b.json");
  CHECK(advise("baseline good.sqlite -o " + file).status == 0);
  CHECK(contains(advise("gate fed.sqlite --baseline " + file + " --output json=" + file).err,
                 "would overwrite a file that is read; name another file"));
  CHECK(contains(
      advise("gate fed.sqlite --baseline " + file + " --output json=/tmp/x --output sarif=/tmp/x")
          .err,
      "is given twice"));
  CHECK(contains(advise("gate " + file + " --baseline good.sqlite").err,
                 "is a baseline; a report is wanted here"));
  CHECK(
      contains(advise("gate fed.sqlite fed.sqlite --baseline good.sqlite").err, "is named twice"));
  write_file(dir / "stale", "old");
  CHECK(advise("gate missing.sqlite --baseline good.sqlite --format junit --output " +
               quoted(dir / "stale"))
            .status == 2);
  CHECK(contains(read_file(dir / "stale"), "no report could be read"));
  write_file(dir / "stale", "old");
  CHECK(advise("fed.sqlite --select host-sync --output github=" + quoted(dir / "stale")).status ==
        0);
  CHECK(read_file(dir / "stale") == "");  // nothing to annotate
  CHECK(advise("gate $'\\xff.sqlite' --baseline good.sqlite --output json=" + quoted(dir / "odd"))
            .status == 2);
  CHECK(contains(read_file(dir / "odd"), "Cannot tell"));
  CHECK(contains(advise("diff good.sqlite fed.sqlite --output sarif=x").err,
                 "there is no format 'sarif'"));
}
