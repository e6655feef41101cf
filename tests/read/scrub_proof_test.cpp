// The search that proves that nothing is left in a copy.
#include "read/scrub/cleaner.hpp"
#include "read/scrub/proof.hpp"
#include "read/scrub/readings.hpp"
#include "read/scrub/written_forms.hpp"
#include "support/program.hpp"

using namespace support;
using namespace gh::scrubbing;
namespace fs = std::filesystem;

TEST_CASE("scrub: the proof finds values in any case and anywhere, and says whose they are") {
  const TempDir dir;
  const SoughtList sought{{.text = "Hunter2ABC", .origin = "DB_PWD"},
                          {.text = "node7", .reach = Reach::as_name, .origin = ""},
                          {.text = "forward", .reach = Reach::as_word, .origin = ""}};
  const Proof proof(sought, gh::Deadline(GH_FIXTURES "/good.sqlite"));
  for (const char* text : {"xhUNTER2abcx", "on_NODE7_", "-forward(", "forward", "node7"})
    CHECK_MESSAGE(proof.in_text(text) != nullptr, text);
  for (const char* text : {"hunter2ab", "node77", "anode7", "forward_x", "", "no"})
    CHECK_MESSAGE(proof.in_text(text) == nullptr, text);
  // Around the boundaries of the chunks that are read.
  for (const std::size_t at :
       {0UL, (4UL << 20) - 10, (4UL << 20) - 5, 4UL << 20, (9UL << 20) - 10}) {
    INFO(at);
    std::string bytes(9 << 20, '.');
    bytes.replace(at, 10, "hunter2abc");
    write_file(dir / "bytes", bytes);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes", "report", 8); }) ==
          "report: some private data (the value of DB_PWD) would remain in the bytes of the "
          "file, so nothing was written; please report this");
    CHECK(shell("gzip -f bytes", {"", dir / ""}).status == 0);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes.gz", "report", 8); }) != "");
    bytes.replace(at, 10, "hunter2abX");
    write_file(dir / "bytes", bytes);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes", "report", 8); }) == "");
  }
}

TEST_CASE("scrub: the proof decodes forms that no list contains") {
  using namespace std::string_literals;
  const SoughtList sought{
      {.text = "Hunter 2/ÄbcdefGh", .is_secret = true, .origin = ""},
      {.text = "line one of it\nline two of it", .is_secret = true, .origin = ""},
      {.text = "4242424242",
       .reach = Reach::as_number,
       .in_texts_only = true,
       .is_secret = true,
       .origin = ""},
      {.text = "/data/team-x", .instead = ".", .origin = ""}};
  const Proof proof(sought, gh::Deadline(GH_FIXTURES "/good.sqlite"));
  for (
      const std::string& text : {
          "HUNTER 2/äBCDEFGH"s,
          "Hunter+2%2F%c3%84bcdefGh"s,
          "Hunter%25202%252F%25C3%2584bcdefGh"s,  // escaped twice
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
          "card4242424242x"s,
          R"(Hunter\ 2\/ÄbcdefGh)"s,
          R"(\110\165nter 2/\303\204bcdefGh)"s,
          R"(\U00000048unter 2/\u{c4}bcdefGh)"s,
          "=48unter 2/=C3=84bcde=\r\nfGh"s,
          "48-75-6e-74-65-72-20-32-2f-c3-84-62-63-64-65-66-47-68"s,
          "0x48,0x75,0x6e,0x74,0x65,0x72,0x20,0x32,0x2f,0xc3,0x84,0x62,0x63,0x64,0x65,0x66,0x47,0x68"s,
          "72, 117, 110, 116, 101, 114, 32, 50, 47, 195, 132, 98, 99, 100, 101, 102, 71, 104"s,
          "JB2W45DFOIQDEL6DQRRGGZDFMZDWQ"s,
          "SAB1AG4AdABlAHIAIAAyAC8AxABiAGMAZABlAGYARwBoAA=="s,
          "U0hWdWRHVnlJREl2dzRSaVkyUmxaa2Rv"s,  // encoded twice
          "eDQyNDI0MjQyNDJ4"s,                  // x4242424242x
          "MHg0OCwgMHg3NSwgMHg2ZSwgMHg3NCwgMHg2NSwgMHg3MiwgMHgyMCwgMHgzMiwgMHgyZiwgMHhjMywgMHg4NCwgMHg2MiwgMHg2MywgMHg2NCwgMHg2NSwgMHg2NiwgMHg0NywgMHg2OA=="s,  // a list
          "eyJrIjoiSHVu\n  dGVyIDJcL1x1\n  MDBjNGJjZGVm\n  R2gifQ=="s,  // JSON, in indented lines
          R"(\/DATA\/team\u002dx\/run)"s,
      })
    CHECK_MESSAGE(proof.in_text(text) != nullptr, text);
  for (const std::string& text :
       {"Hunter 2"s, "14242424242"s, "line on\ne of"s, "L2RhdGEvdGVhbS14"s /* no secret */,
        "100% of \\ and & in ampere_sgemm_128x64_tn"s, "\\u12"s, "%4"s,
        "72, 117, 110, 116, 101, 114"s, "SHVudGVy\n  x IDIvw4RiY2RlZkdo"s, "&#;"s, "\\"s})
    CHECK_MESSAGE(proof.in_text(text) == nullptr, text);
}

TEST_CASE("scrub: what only the proof can read is removed together with its words") {
  const SoughtList sought{{.text = "kq7Zz81 hunter2/A", .is_secret = true, .origin = ""}};
  const gh::Deadline deadline(GH_FIXTURES "/good.sqlite");
  const Remover remover(in_written_forms(sought), deadline);
  const Proof proof(sought, deadline);
  const Cleaner cleaner(remover, &proof);
  const auto cleaned = [&](std::string text) {
    CHECK(cleaner.finds_in(text));
    CHECK(cleaner.remove_from(text));
    CHECK(proof.in_text(text) == nullptr);
    return text;
  };
  const std::string listed =
      "0x6b,0x71,0x37,0x5a,0x7a,0x38,0x31,0x20,0x68,0x75,0x6e,0x74,0x65,0x72,0x32,0x2f,0x41";
  CHECK(cleaned("a (" + listed + ") b") == "a ([removed]) b");
  CHECK(cleaned(listed + " and " + listed) == "[removed] and [removed]");
  CHECK(cleaned("a3E3Wno4MSBo\ndW50ZXIyL0E= and more") == "[removed] and more");
  CHECK(cleaned("=6B=71=37=5A=7A=38=31=\n=20=68unter2/A.") == "[removed]");
  std::string many;
  for (int i = 0; i < 20; ++i) many += listed + " and ";
  CHECK(cleaned(many) == "[removed]");
  std::string clean = "void kernel<4, 128>(int)";
  CHECK(!cleaner.remove_from(clean));
  CHECK(clean == "void kernel<4, 128>(int)");
}
