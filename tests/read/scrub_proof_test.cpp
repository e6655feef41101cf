// The search that proves that nothing is left in a copy.
#include "read/scrub/proof.hpp"
#include "read/scrub/readings.hpp"
#include "support/program.hpp"

using namespace support;
using namespace gh::scrubbing;
namespace fs = std::filesystem;

TEST_CASE(
    "scrub: the proof finds what is sought in any case, at any place, and names whose it is") {
  const TempDir dir;
  const SoughtList sought{{.text = "Hunter2ABC", .origin = "DB_PWD"},
                          {.text = "node7", .reach = Reach::as_name, .origin = ""},
                          {.text = "forward", .reach = Reach::as_word, .origin = ""}};
  const Proof proof(sought, gh::Deadline(GH_FIXTURES "/good.sqlite"));
  for (const char* text : {"xhUNTER2abcx", "on_NODE7_", "-forward(", "forward", "node7"})
    CHECK_MESSAGE(proof.in_text(text) != nullptr, text);
  for (const char* text : {"hunter2ab", "node77", "anode7", "forward_x", "", "no"})
    CHECK_MESSAGE(proof.in_text(text) == nullptr, text);
  // Around the ends of what is read at once.
  for (const std::size_t at :
       {0UL, (4UL << 20) - 10, (4UL << 20) - 5, 4UL << 20, (9UL << 20) - 10}) {
    INFO(at);
    std::string bytes(9 << 20, '.');
    bytes.replace(at, 10, "hunter2abc");
    write_file(dir / "bytes", bytes);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes", "report", 8); }) ==
          "report: some of what has to go (the value of DB_PWD) would be left in the bytes of the "
          "file, so nothing was written; please report this");
    CHECK(shell("gzip -f bytes", {"", dir / ""}).status == 0);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes.gz", "report", 8); }) != "");
    bytes.replace(at, 10, "hunter2abX");
    write_file(dir / "bytes", bytes);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes", "report", 8); }) == "");
  }
}

TEST_CASE("scrub: the proof reads what a text means, in forms that nobody has listed") {
  using namespace std::string_literals;
  const SoughtList sought{
      {.text = "Hunter 2/ÄbcdefGh", .is_secret = true, .origin = ""},
      {.text = "line one of it\nline two of it", .is_secret = true, .origin = ""},
      {.text = "4242424242",
       .reach = Reach::as_name,
       .in_texts_only = true,
       .is_secret = true,
       .origin = ""},
      {.text = "/data/team-x", .instead = ".", .origin = ""}};
  const Proof proof(sought, gh::Deadline(GH_FIXTURES "/good.sqlite"));
  for (
      const std::string& text : {
          "HUNTER 2/äBCDEFGH"s,
          "Hunter+2%2F%c3%84bcdefGh"s,
          "Hunter%25202%252F%25C3%2584bcdefGh"s,  // twice
          R"(Hunter 2\/\u00c4bcdefGh)"s,
          R"({\"a\": \"Hunter 2\\\/\\u00C4bcdefGh\"})"s,  // JSON in JSON
          "&#72;unter&#x20;2/&#196;bcdefGh"s,
          "Hunter 2/\nÄbcd\r\nefGh"s,
          "SHVudGVyIDIvw4RiY2RlZkdo"s,
          "Authorization:Basic_eDpIdW50ZXIgMi_DhGJjZGVmR2g="s,  // behind "x:", for URLs
          "SHVudGVy\nIDIvw4Ri\r\nY2RlZkdo"s,
          R"(SHVudGVy\nIDIvw4Ri\nY2RlZkdo)"s,
          "48756e746572 20322f c3846263 6465664768"s,
          "0x48 0x75 0x6E 0x74 0x65 0x72 0x20 0x32 0x2f 0xc3 0x84 0x62 0x63 0x64 0x65 0x66 0x47 0x68"s,
          "48:75:6e:74:65:72:20:32:2f:c3:84:62:63:64:65:66:47:68"s,
          "H\0u\0n\0t\0e\0r\0 \0002\0/\0\xc4\0b\0c\0d\0e\0f\0G\0h\0"s,
          ".\0H\0u\0n\0t\0e\0r\0 \0002\0/\0\xc4\0b\0c\0d\0e\0f\0G\0h"s,
          "only LINE TWO OF IT"s,
          "line one of itline two of it"s,
          "card_4242424242_1"s,
          "eDQyNDI0MjQyNDJ4"s,  // x4242424242x
          R"(\/DATA\/team\u002dx\/run)"s,
      })
    CHECK_MESSAGE(proof.in_text(text) != nullptr, text);
  for (const std::string& text :
       {"Hunter 2"s, "14242424242"s, "line on\ne of"s, "L2RhdGEvdGVhbS14"s /* no secret */,
        "100% of \\ and & in ampere_sgemm_128x64_tn"s, "\\u12"s, "%4"s, "&#;"s, "\\"s})
    CHECK_MESSAGE(proof.in_text(text) == nullptr, text);
}

TEST_CASE("scrub: what the removal does not know, the proof refuses, and nothing is written") {
  const TempDir dir;
  const std::string password = "kq7Zz81hunter2ABCDEFGHIJKLMN", variable = "DB_PASSWORD=" + password;
  // In base64, as a mail wraps it.
  const std::string wrapped = "a3E3Wno4MWh1\nbnRlcjJBQkNE\nRUZHSElKS0xNTg==";
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(dir / "report.sqlite",
          "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', '" + variable +
              "');INSERT INTO StringIds(id, value) VALUES (900001, '" + wrapped +
              "');INSERT INTO OSRT_CALLCHAINS(id, stackDepth, module, symbol, unresolved) VALUES "
              "(900001, 0, 900001, 900001, 0)");
  nlohmann::json trace{{"env", {{"DB_PASSWORD", password}}}};
  trace["traceEvents"] = {
      {{"ph", "i"}, {"pid", 1}, {"tid", 1}, {"ts", 1}, {"s", "t"}, {"name", wrapped}}};
  write_file(dir / "trace.json", trace.dump());
  for (const char* report : {"report.sqlite", "trace.json"}) {
    const Ran ran = advise(std::string("scrub ") + report + " -o out", {"", dir / ""});
    CHECK_MESSAGE(ran.status == 2, ran.out);
    CHECK_MESSAGE(contains(ran.err, "(the value of DB_PASSWORD) would be left"), ran.err);
    CHECK(!fs::exists(dir / "out"));
  }
}
