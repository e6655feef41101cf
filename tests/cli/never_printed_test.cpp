// What no output holds, whatever stands in the report.
#include <fmt/format.h>

#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("never printed: the profiled program's environment, output and arguments") {
  const std::string marker = "SECRET_TOKEN_12345";
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "secret.sqlite");
  run_sql(dir / "secret.sqlite", R"(
    INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, devStateName, 'EnvVars', 999, 'API_KEY=SECRET_TOKEN_12345' FROM TARGET_INFO_SYSTEM_ENV LIMIT 1;
    INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, devStateName, 'SECRET_TOKEN_12345', 998, 'x' FROM TARGET_INFO_SYSTEM_ENV LIMIT 1;
    INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_ENVIRONMENT', 'API_KEY=SECRET_TOKEN_12345'), ('PROCESS_ARGUMENTS', '--token=SECRET_TOKEN_12345'), ('COLLECT_CUDA_TRACE', 'SECRET_TOKEN_12345');
    INSERT INTO StringIds(id, value) VALUES (900001, CAST('PATH=/bin' || x'00' || 'API_KEY=SECRET_TOKEN_12345' || x'00' AS BLOB)), (900002, 'stdout: SECRET_TOKEN_12345'), (900003, '/tmp/SECRET_TOKEN_12345.log');
    INSERT INTO ProcessStreams SELECT globalPid, 900003, 900002 FROM PROCESSES;
    UPDATE PROCESSES SET name = 'python3 train.py --token SECRET_TOKEN_12345';
    DELETE FROM ThreadNames)");
  // One that lacks all it could lack, so that every "not checked" and note is said.
  fs::copy_file(dir / "secret.sqlite", dir / "bare.sqlite");
  run_sql(dir / "bare.sqlite",
          "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP "
          "TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME");
  // One of which a column is no integer, so that reading complains.
  fs::copy_file(dir / "secret.sqlite", dir / "odd.sqlite");
  run_sql(dir / "odd.sqlite",
          "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 'SECRET_TOKEN_12345' WHERE rowid % 3 = "
          "0; UPDATE PROCESSES SET pid = 'SECRET_TOKEN_12345'");
  write_file(dir / "rule.lua", rule_text("mine", finds("0.9")));
  write_file(dir / "rule.test.lua",
             "return { { name = 'fails', fixture = 'secret', expect = 'clean' } }");
  for (const char* report : {"secret.sqlite", "bare.sqlite", "odd.sqlite"})
    for (const char* command :
         {"", "--format json ", "facts ", "facts --format json ", "--steps 99:99 ",
          "--range nothing ", "--device 9 ", "--rank 9 ", "--rules . "}) {
      INFO(command, report);
      const Ran ran = advise(std::string(command) + report, {"", dir / ""});
      CHECK(ran.out.size() + ran.err.size() > 20);
      CHECK(!contains(ran.out + ran.err, marker));
      CHECK(!contains(ran.out + ran.err, "train.py"));
    }
  CHECK(!contains(on_terminal("secret.sqlite", {"", dir / ""}).out, marker));
  const Ran tested = advise("test . --fixtures .", {"", dir / ""});
  CHECK(tested.status == 1);
  CHECK(!contains(tested.out + tested.err, marker));
}

TEST_CASE("never printed: of the environment all but the variables that rules know") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "secret.sqlite");
  std::string sql;
  for (int i = 0; i < 50; ++i)
    sql += fmt::format(
        "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', "
        "'SERVICE_{}_PASSWORD=\"HIDDEN_{}\"');",
        i, i);
  sql +=
      "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', "
      "'OMP_NUM_THREADS=\"1\"'), ('PROCESS_0:ENVIRONMENT_VARIABLE', "
      "'NCCL_P2P_DISABLE=\"HIDDEN_VALUE\"');";
  run_sql(dir / "secret.sqlite", sql);
  for (const char* command : {"", "--format json ", "--format html ", "--format markdown ",
                              "--format sarif ", "facts ", "facts --format json ", "digest "}) {
    INFO(command);
    const Ran ran = advise(std::string(command) + "secret.sqlite", {"", dir / ""});
    CHECK(!contains(ran.out + ran.err, "HIDDEN"));
    CHECK(!contains(ran.out + ran.err, "SERVICE_"));
  }
  CHECK(contains(advise("secret.sqlite", {"", dir / ""}).out, "OMP_NUM_THREADS=1"));
}

TEST_CASE(
    "never printed: control characters and bytes that are no text, from names in the report or of "
    "it") {
  const TempDir dir;
  const std::string report = "a\x1b[2Jb\xff.sqlite";
  fs::copy_file(GH_FIXTURES "/eager.sqlite", dir / report);
  // ESC sequences, a bell, a C1 control, an overlong form and a broken byte, in the names of
  // kernels, ranges, threads and the GPU.
  run_sql(dir / report, R"(
    UPDATE StringIds SET value = CAST(value || x'1B5B33316D0720C29B316DC0AFFF0A' AS TEXT) WHERE id IN (SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL UNION SELECT nameId FROM ThreadNames UNION SELECT textId FROM NVTX_EVENTS);
    UPDATE NVTX_EVENTS SET text = CAST(text || x'1B5D303B' AS TEXT) WHERE text IS NOT NULL;
    UPDATE PROCESSES SET name = CAST(name || x'1B5B41' AS TEXT); UPDATE TARGET_INFO_GPU SET name = CAST(name || x'1B5B42FF' AS TEXT))");
  bool named = false;
  for (const char* command : {"", "--format json ", "facts ", "facts --format json "}) {
    INFO(command);
    const Ran ran = advise(command + quoted(fs::path(report)), {"", dir / ""});
    CHECK(ran.status == 0);
    for (std::size_t i = 0; i < ran.out.size(); ++i) {
      const auto byte = static_cast<unsigned char>(ran.out[i]),
                 next = static_cast<unsigned char>(i + 1 < ran.out.size() ? ran.out[i + 1] : 0);
      REQUIRE((byte >= 0x20 || byte == '\n'));
      REQUIRE(byte != 0x7F);
      REQUIRE(!(byte == 0xC2 && next >= 0x80 && next < 0xA0));
    }
    CHECK(!contains(ran.out, "\\u00"));
    CHECK_NOTHROW(nlohmann::json(ran.out).dump());  // which refuses what is not UTF-8
    named = named || contains(ran.out, "[31m");
  }
  CHECK(named);  // such a name was printed, then
}
