// Plants hundreds of secrets in many forms in reports of both kinds; none may stay. The test has
// its own way of searching for them.
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>

#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}
std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

std::string with_each(const std::string& text, const char* before, const char* digits) {
  std::string out;
  for (const unsigned char c : text) {
    out += before;
    out += digits[c / 16];
    out += digits[c % 16];
  }
  return out;
}

std::string base64(const std::string& bytes) {
  static const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned value = 0;
    for (std::size_t k = 0; k < 3; ++k)
      value = value * 256 + (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (int shift = 18; shift >= 0; shift -= 6) out += digits[value >> shift & 63];
  }
  return out;
}

// A secret that is in no recording: letters, digits and characters that need escaping.
std::string secret(std::size_t way, std::size_t n) {
  std::uint64_t mixed = (way * 10 + n + 1) * 0x9E3779B97F4A7C15ull;
  std::string text = "q";
  for (int i = 0; i < 9; ++i, mixed /= 36)
    text += "abcdefghijklmnopqrstuvwxyz0123456789"[mixed % 36];
  return text + "Z" + std::to_string(way * 10 + n);
}

struct Plant {
  std::string variable, value;       // as declared in the environment; no variable: not declared
  std::string text;                  // what is elsewhere in the report
  std::vector<std::string> must_go;  // the forms of the secret there
};

constexpr std::array variables{"db_password", "DB_PWD",    "AWS_CRED",   "svc_Token",
                               "MY_API_KEY",  "HTTP_AUTH", "PASSPHRASE", "my_secret",
                               "CREDENTIALS", "privateKey"};
constexpr std::size_t ways = 60, per_way = 10;

std::string base32(const std::string& bytes) {
  std::string out;
  std::uint64_t bits = 0;
  int held = 0;
  for (const unsigned char c : bytes) {
    bits = bits << 8 | c;
    for (held += 8; held >= 5; held -= 5)
      out += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[bits >> (held - 5) & 31];
  }
  return out;
}

std::string utf16(const std::string& text) {
  std::string out;
  for (const char c : text) out += {c, '\0'};
  return out;
}

// As e-mails do.
std::string wrapped(const std::string& digits) {
  std::string out;
  for (std::size_t at = 0; at < digits.size(); at += 76) out += digits.substr(at, 76) + "\n";
  return out;
}

// Each byte as a number.
std::string listed(const std::string& text, const char* format) {
  std::string out;
  for (const unsigned char c : text) out += fmt::format(fmt::runtime(format), unsigned{c});
  return out;
}

// Forms that the remover does not list: it relies on what the proof reads.
Plant unlisted_plant(std::size_t way, std::size_t n) {
  const std::string s = secret(way, n), name = std::string(variables[n]) + std::to_string(way);
  const auto digits = [&](std::string all) {
    return Plant{name, s, "x " + all + " y", {all.substr(2, all.size() - 6)}};
  };
  const std::string number = "8" + std::to_string(391'027'560 + way * 1'000'003 + n * 10'007);
  const std::string spaced = s + " h#9";
  switch (way) {
    case 20: return {name, number, "pin" + number + "x", {number}};
    case 21: return {name, number, R"({"a": [1, )" + number + "]}", {number}};
    case 22: {
      const std::string all = wrapped(base64(std::string(50, 'k') + s));
      return {name, s, all, {all.substr(68, 8), all.substr(77, 6)}};
    }
    case 23: {
      const std::string all = wrapped(base64(s + s + s + s + s + s + s + s + s));
      return {
          name, s + s + s + s + s + s + s + s + s, all, {all.substr(0, 70), all.substr(78, 20)}};
    }
    case 24: return {name, spaced, "mysql --password=" + s + R"(\ h\#9 base)", {s, R"(h\#9)"}};
    case 25: return digits(listed(s, "{:#04x},"));
    case 26: return digits(listed(s, "{:02X}-"));
    case 27: return digits(listed(s, "\\{:03o}"));
    case 28: return digits(listed(s, "\\U{:08x}"));
    case 29: return digits(listed(s, "\\u{{{:x}}}"));
    case 30: return digits(listed(s, "={:02X}"));
    case 31: return digits(listed(s, "{}, "));
    case 32: return digits(base32("k" + s + "k"));
    case 33: return digits(base64(utf16(s)));
    case 34: return digits(base64(base64("k=" + s)));
    case 35:
      return {
          "", "", "Authorization: Basic " + base64("app:" + s), {base64("app:" + s).substr(0, 20)}};
    case 36: {
      const std::string account = "AccountName=a;AccountKey=" + base64(s + s) + ";x";
      return {"", "", account, {base64(s + s).substr(0, 24)}};
    }
    case 37: return {"", "", "https://a.example/b?sv=1&sig=" + s + "ABCDEFGHIJ%3D", {s}};
    case 38: {
      const std::array texts{"https://hooks.slack.com/services/T0/B0/" + s, "SG.0123456789ab." + s,
                             "dckr_pat_" + s, "hvs.CAESI" + s, "GOCSPX-abcd" + s};
      return {"", "", texts[n % texts.size()], {s}};
    }
    default: return {"", "", "--token=\"" + s + " and more" + s + "\" -x", {s, "and more" + s}};
  }
}

// In lines of 16 digits, with what programs put between them.
std::string in_lines(const std::string& digits, const std::string& between) {
  std::string out = digits.substr(0, 16);
  for (std::size_t at = 16; at < digits.size(); at += 16) out += between + digits.substr(at, 16);
  return out;
}

// Escaped in base64, base64 in lines, and lists of numbers.
Plant wrapped_plant(std::size_t way, std::size_t n) {
  const std::string s = secret(way, n), name = std::string(variables[n]) + std::to_string(way);
  const auto encoded = [&](const std::string& value, const std::string& escaped) {
    const std::string all = base64(R"({"password":")" + escaped + "\"}");
    return Plant{name, value, all, {all.substr(24, 8)}};
  };
  const auto lines = [&](const char* between) {
    const std::string all = base64("k" + s + s + s);
    return Plant{name, s + s + s, in_lines(all, between), {all.substr(16, 16), all.substr(32, 8)}};
  };
  const auto digits = [&](std::string all) {
    return Plant{name, s, "x " + all + " y", {all.substr(2, all.size() - 6)}};
  };
  const std::string half = s.substr(0, 5), rest = s.substr(5);
  switch (way) {
    case 40: return encoded(half + "ä" + rest + "ö", half + R"(\u00e4)" + rest + R"(\u00f6)");
    case 41: return encoded(half + "\"" + rest + "\\x", half + R"(\")" + rest + R"(\\x)");
    case 42: return encoded(s, with_each(s, "%", "0123456789ABCDEF"));
    case 43: return lines("\n    ");
    case 44: return lines("\"\n  \"");
    case 45: return lines("\\\n");
    case 46: return lines("',\n\t'");
    case 47: return digits("['" + listed(s, "{:#04x}', '") + "']");
    case 48: return digits(listed(s, "0X{:02X} "));
    case 49: return digits(listed(s, "{:02x}h, "));
    case 50: return digits(listed(s, "{:02x}."));
    case 51: return digits(listed(s, "{:02x}_"));
    case 52: {
      const std::array formats{"{}\t", "{}/", "{}|", "{}\n", "['{}'] "};
      return digits(listed(s, formats[n % formats.size()]));
    }
    default: {
      const std::array formats{"\\x{{{:x}}}", "%u{:04x}", "&#{}", "U+{:04x} ", "{:04o}, "};
      return digits(listed(s, formats[n % formats.size()]));
    }
  }
}

// In JSON that is the value of a variable with a harmless name.
Plant member_plant(std::size_t way, std::size_t n) {
  const std::string s = secret(way, n), name = "settings" + std::to_string(way * 10 + n);
  const std::string key = lower(variables[n]);
  const auto with = [&](const std::string& value) { return Plant{name, value, "x" + s, {s}}; };
  switch (way) {
    case 54: return with(R"({"auths":{"a.example":{"auth":")" + base64("app:" + s) + "\"}}}");
    case 55: return with("{\"a\": 1, \"" + key + "\": [\"zz-other\", \"" + s + "\"]}");
    case 56: return with(R"({\"a\": \"{\\\")" + key + R"(\\\": \\\")" + s + R"(\\\"}\"})");
    default: return with("python x.py --settings={'" + key + "': [{'" + key + "': '" + s + "'}]}");
  }
}

// In groups of four digits, and in base64 inside base64.
Plant nested_plant(std::size_t way, std::size_t n) {
  const std::string s = secret(way, n), name = std::string(variables[n]) + std::to_string(way);
  if (way == 59) {
    const std::string all = base64(base64(base64("k=" + s)));
    return {name, s, "x " + all + " y", {all.substr(6, all.size() - 12)}};
  }
  std::string groups;
  const std::string all = base64("k" + s + "k");
  for (std::size_t at = 0; at < all.size(); at += 4) groups += all.substr(at, 4) + " ";
  return {name, s, "x " + groups + "y", {groups.substr(5, 9)}};
}

// Forms that exist only in text.
Plant plant(std::size_t way, std::size_t n) {
  if (way >= 58) return nested_plant(way, n);
  if (way >= 54) return member_plant(way, n);
  if (way >= 40) return wrapped_plant(way, n);
  if (way >= 20) return unlisted_plant(way, n);
  const std::string s = secret(way, n), hard = s + "/\"&ä=";
  const std::string name = std::string(variables[n]) + std::to_string(way);
  switch (way) {
    case 0: return {name, s, "upload_" + s + "_1", {s}};
    case 1: return {name, s, "x" + upper(s) + "x", {upper(s)}};
    case 2: return {name, s, lower(s) + "7", {lower(s)}};
    case 3:
      return {
          name, s, with_each(s, "%", "0123456789ABCDEF"), {with_each(s, "%", "0123456789ABCDEF")}};
    case 4:
      return {
          name, s, with_each(s, "", "0123456789abcdef"), {with_each(s, "", "0123456789abcdef")}};
    case 5:
      return {name,
              s,
              "u" + with_each(s, "\\u00", "0123456789abcdef"),
              {with_each(s, "\\u00", "0123456789abcdef")}};
    case 6: return {name, s, base64(s), {base64(s).substr(0, s.size() * 8 / 6)}};
    case 7: return {name, s, base64("k" + s), {base64("k" + s).substr(2, s.size() * 8 / 6 - 2)}};
    case 8:
      return {
          name, s, base64("k=" + s + "abc"), {base64("k=" + s).substr(3, s.size() * 8 / 6 - 2)}};
    case 9: return {name, hard, s + "%2F%22%26%C3%A4%3D", {s}};
    case 10: return {name, hard, s + R"(\/\"&\u00e4=)", {s}};
    case 11: return {name, hard, s + "/&quot;&amp;ä=", {s}};
    case 12: return {name, "-----first line-----\n" + s + "\nlast" + s, "line: " + s, {s}};
    case 13:
      return {name,
              s + std::string(70'000, 'y') + s,
              s + std::string(70'000, 'Y') + upper(s),
              {s, upper(s)}};
    case 14: return {"", "", "run --" + std::string(variables[n]) + "=" + s + "#", {s}};
    case 15: return {"", "", "postgres://app:" + s + "@base/x", {s}};
    case 16: return {"", "", "ghp_" + s + "0123456789abcd and bearer " + s, {s}};
    case 17: return {"", "", s + "@mail.example.org", {s}};
    case 18: return {"", "", "C:\\Users\\Jörg " + s + "\\x.py", {s}};
    default: return {"", "", "/home/ä" + s + "/x and ä" + s, {s}};
  }
}

std::vector<Plant> plants() {
  std::vector<Plant> all;
  for (std::size_t way = 0; way < ways; ++way)
    for (std::size_t n = 0; n < per_way; ++n) all.push_back(plant(way, n));
  return all;
}

std::string sql_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

// All texts of a database concatenated, because pages split long texts in the file.
std::string texts_of(const fs::path& database) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(database.c_str(), &db) == SQLITE_OK);
  std::string all;
  for (const std::string& table : tables_of(database)) {
    sqlite3_stmt* rows = nullptr;
    REQUIRE(sqlite3_prepare_v2(db, ("SELECT * FROM \"" + table + "\"").c_str(), -1, &rows,
                               nullptr) == SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
      for (int c = 0; c < sqlite3_column_count(rows); ++c) {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(rows, c));
        all.append(bytes ? bytes : "", static_cast<std::size_t>(sqlite3_column_bytes(rows, c)));
        all += '\n';
      }
    }
    sqlite3_finalize(rows);
  }
  sqlite3_close(db);
  return all;
}

std::int64_t number_of(const fs::path& database, const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_stmt* row = nullptr;
  REQUIRE(sqlite3_open(database.c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_prepare_v2(db, sql.c_str(), -1, &row, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(row) == SQLITE_ROW);
  const std::int64_t number = sqlite3_column_int64(row, 0);
  sqlite3_finalize(row);
  sqlite3_close(db);
  return number;
}

void check_gone(const std::string& bytes, const std::vector<Plant>& planted) {
  const std::string folded = lower(bytes);
  for (std::size_t i = 0; i < planted.size(); ++i) {
    INFO("way " << i / per_way << ", " << i % per_way);
    for (const std::string& text : planted[i].must_go)
      CHECK_MESSAGE(folded.find(lower(text)) == folded.npos, text);
  }
}

}  // namespace

TEST_CASE("scrub: none of 600 secrets, written in 60 ways into an export, stays" *
          slow_with_sanitizers) {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "report.sqlite");
  const std::vector<Plant> planted = plants();
  std::string sql;
  int id = 900'000;
  for (const Plant& p : planted) {
    if (!p.variable.empty())
      sql += "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', " +
             sql_text(p.variable + "=\"" + p.value + "\"") + ");";
    const std::string text = sql_text(p.text), number = std::to_string(++id);
    sql += "INSERT INTO StringIds(id, value) VALUES (" + number + ", " + text + ");";
    sql += "INSERT INTO OSRT_CALLCHAINS(id, stackDepth, module, symbol, unresolved) VALUES (" +
           number + ", 0, " + number + ", " + number + ", 0);";
    sql += "INSERT INTO DIAGNOSTIC_EVENT SELECT timestamp, timestampType, source, severity, " +
           text + ", globalPid FROM DIAGNOSTIC_EVENT LIMIT 1;";
  }
  run_sql(dir / "report.sqlite", sql);
  const std::string before = lower(texts_of(dir / "report.sqlite"));
  for (const Plant& p : planted)
    for (const std::string& text : p.must_go) REQUIRE_MESSAGE(contains(before, lower(text)), text);
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  check_gone(read_file(dir / "shared.sqlite"), planted);
  check_gone(texts_of(dir / "shared.sqlite"), planted);
  check_gone(ran.out, planted);
  CHECK(advice_on(dir / "shared.sqlite") == advice_on(GH_FIXTURES "/starved.sqlite"));
}

TEST_CASE(
    "scrub: none of 600 secrets, written in 60 ways into a trace, stays, plain or compressed" *
    slow_with_sanitizers) {
  const TempDir dir;
  std::string trace = read_file(GH_FIXTURES "/graphs.pt.trace.json");
  const std::string events = "\"traceEvents\": [";
  REQUIRE(contains(trace, events));
  const std::vector<Plant> planted = plants();
  nlohmann::json environment;
  std::string added;
  for (std::size_t i = 0; i < planted.size(); ++i) {
    const Plant& p = planted[i];
    if (!p.variable.empty()) environment[p.variable] = p.value;
    // As the name, as a value, as a key, as the value of a key that no profiler writes.
    nlohmann::json event{{"ph", "i"}, {"pid", 1}, {"tid", 1}, {"ts", 1}, {"s", "t"}, {"name", "x"}};
    switch (i % 4) {
      case 0: event["name"] = p.text; break;
      case 1: event["args"]["Process Group Description"] = p.text; break;
      case 2: event["args"][p.text] = 1; break;
      default: event["args"]["note"] = p.text; break;
    }
    event["args"]["Trace name"] = p.text;
    added += event.dump() + ",\n";
  }
  trace.insert(trace.find(events) + events.size(), added);
  trace.insert(trace.find(events), "\"env\": " + environment.dump() + ", ");
  write_file(dir / "trace.json", trace);
  for (const char* name : {"shared.json", "shared.json.gz"}) {
    const Ran ran = advise(std::string("scrub trace.json -o ") + name, {"", dir / ""});
    REQUIRE_MESSAGE(ran.status == 0, ran.err);
    check_gone(ran.out, planted);
    CHECK(advice_on(dir / name) == advice_on(GH_FIXTURES "/graphs.pt.trace.json"));
  }
  const std::string shared = read_file(dir / "shared.json");
  check_gone(shared, planted);
  // Also the strings decoded.
  check_gone(nlohmann::json::parse(shared).dump(), planted);
  CHECK(shell("gzip -dc shared.json.gz", {"", dir / ""}).out == shared);
}

TEST_CASE("scrub: what a user added to tables and events is left out") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(
      dir / "report.sqlite",
      R"(ALTER TABLE NVTX_EVENTS ADD COLUMN comment TEXT; UPDATE NVTX_EVENTS SET comment = 'undeclared-4711-word';
    CREATE TABLE "CUDA_x" (whatever TEXT); INSERT INTO CUDA_x VALUES ('undeclared-4711-word');
    CREATE TABLE "NVTX_""odd'] name" (id INTEGER PRIMARY KEY, text TEXT) WITHOUT ROWID; INSERT INTO "NVTX_""odd'] name" VALUES (1, 'xhunter2abcx');
    CREATE TABLE CUDA_hunter2abc (id INTEGER, text TEXT); INSERT INTO CUDA_hunter2abc VALUES (1, 'z');
    CREATE VIEW looks AS SELECT 'undeclared-4711-word'; CREATE TRIGGER pulls AFTER INSERT ON StringIds BEGIN SELECT 'undeclared-4711-word'; END;
    UPDATE TARGET_INFO_CUDA_STREAM SET priority = 'undeclared-4711-word' WHERE rowid = 1;
    UPDATE TARGET_INFO_GPU SET chipName = x'0001ff68756e746572';
    INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'DB_PASSWORD=hunter2abc'))");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const std::string shared = lower(read_file(dir / "shared.sqlite"));
  for (const char* word : {"4711", "hunter", "comment", "cuda_x", "looks", "pulls"})
    CHECK_MESSAGE(!contains(shared, word), word);
  CHECK(contains(shared, "odd']"));
  for (const char* word :
       {"NVTX_EVENTS.comment", "CUDA_x", "CUDA_[removed]", "view looks", "trigger pulls"})
    CHECK_MESSAGE(contains(ran.out, word), ran.out);
  CHECK(contains(ran.out, "texts among numbers        1 removed"));
  CHECK(contains(ran.out, "cells of bytes"));
  CHECK(!contains(ran.out, "hunter"));
}

TEST_CASE("scrub: UTF-16 text, free pages, and a secret's numbers stored as text are removed") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(
      dir / "report.sqlite",
      R"(INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'DB_PASSWORD=hunter2abc'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'CARD_KEY=4242424242424242');
    INSERT INTO StringIds(id, value) VALUES (900001, x'680075006e0074006500720032006100620063000a00'), (900002, 'card_4242424242424242_1');
    INSERT INTO OSRT_CALLCHAINS(id, stackDepth, module, symbol, unresolved) VALUES (900001, 0, 900001, 900002, 0);
    CREATE TABLE gone (text TEXT); INSERT INTO gone VALUES ('xhunter2abc'); DROP TABLE gone)");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const std::string shared = read_file(dir / "shared.sqlite");
  CHECK(!contains(shared, "hunter"));
  CHECK(!contains(shared, std::string("h\0u\0n\0t\0e\0r\0", 12)));
  CHECK(!contains(shared, "4242424242"));
}

TEST_CASE("scrub: values after a space, in headers, and in lists of any language are removed") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(dir / "report.sqlite",
          R"(INSERT INTO META_DATA_CAPTURE VALUES
      ('PROCESS_0:ENVIRONMENT_VARIABLE', 'API_KEYS=["k1s3cret77", "k2s3cret88"]'),
      ('PROCESS_0:ENVIRONMENT_VARIABLE', 'OTHER_KEYS=(''k3s3cret99'' ''k4s3cret00'')'),
      ('PROCESS_0:ENVIRONMENT_VARIABLE', 'MORE_KEYS=k5s3cret11|k6s3cret22'),
      ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HDR_AUTH=Basic Ym9iOmRvY2tlclBhc3M5');
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'python train.py --verbose --db-password hunter2abcXYq --lr 3' WHERE rowid = 1;
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'again hunter2abcXYq k1s3cret77 k2s3cret88 k3s3cret99 k4s3cret00 k5s3cret11 k6s3cret22' WHERE rowid = 2;
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'curl -H "X-Api-Key: h3ader99key"' WHERE rowid = 3;
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'Authorization: Token t0ken99abc' WHERE rowid = 4;
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'Ym9iOmRvY2tlclBhc3M5' WHERE rowid = 5;
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'train --token --lr 3' WHERE rowid = 6;)");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const std::string shared = read_file(dir / "shared.sqlite");
  for (const char* secret :
       {"hunter2abcXYq", "k1s3cret77", "k2s3cret88", "k3s3cret99", "k4s3cret00", "k5s3cret11",
        "k6s3cret22", "h3ader99key", "t0ken99abc", "Ym9iOmRvY2tlclBhc3M5"}) {
    CAPTURE(std::string(secret));
    CHECK(!contains(shared, secret));
  }
  CHECK(contains(shared, "train --token --lr 3"));
}

TEST_CASE(
    "scrub: tokens and keys in URLs, of services and in .netrc are recognized by what precedes "
    "them") {
  const TempDir dir;
  const std::string key = "Zk9xQ2wLp7Vt3RbN8sYd5HfJ";
  nlohmann::json trace{{"env", nlohmann::json::object()}};
  const auto put = [&](const std::string& name) {
    trace["traceEvents"].push_back(
        {{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", 1}, {"dur", 5}, {"name", name}});
  };
  const std::vector<std::string> before{"GET https://x.example/y?token=",
                                        "GET https://x.example/y?id=4&key=",
                                        "refresh_token: ",
                                        "{\"token\": \"",
                                        "login(token='",
                                        "GET https://b.example/s?X-Amz-Security-Token=",
                                        "GET https://b.example/s?X-Goog-Signature=",
                                        "GET https://d.example/s?Signature=",
                                        "use nvapi-",
                                        "use gsk_",
                                        "machine api.example login user password "};
  for (std::size_t i = 0; i < before.size(); ++i) put(before[i] + key + std::to_string(i));
  const std::vector<std::string> kept{"next_token: <|im_end|> of 128000", "num_tokens=128",
                                      "key=value token=word", "max_token: 1234567890123456"};
  for (const std::string& name : kept) put(name);
  write_file(dir / "trace.json", trace.dump());
  const Ran ran = advise("scrub trace.json -o shared.json", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const auto shared = nlohmann::json::parse(read_file(dir / "shared.json"))["traceEvents"];
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(before[i]);
    CHECK(!contains(shared[i]["name"].get<std::string>(), key));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(shared[before.size() + i]["name"] == kept[i]);
}

TEST_CASE(
    "scrub: a secret that is a word in kernel names stays and is reported; settings are not "
    "secrets") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(dir / "report.sqlite",
          "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', "
          "'KERNEL_TOKEN=elementwise'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'SHORT_KEY=abc'), "
          "('PROCESS_0:ENVIRONMENT_VARIABLE', 'USE_AUTH=true'), "
          "('PROCESS_0:ENVIRONMENT_VARIABLE', 'VENDOR=NVIDIA'), ('PROCESS_0:ENVIRONMENT_VARIABLE', "
          "'PRECISION=bfloat16'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOME=/home/aten')");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  CHECK(contains(ran.out, "the values of KERNEL_TOKEN, SHORT_KEY, which are too short"));
  CHECK(contains(ran.out, "other values and names were not searched for: settings such as true"));
  CHECK(advice_on(dir / "shared.sqlite") == advice_on(GH_FIXTURES "/good.sqlite"));
}

TEST_CASE("scrub: a secret's numbers are removed if the program chose them; ids and times stay") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(
      dir / "report.sqlite",
      R"(INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'PIN_KEY=839275610');
    INSERT INTO NVTX_EVENTS(start, end, eventType, int64Value, globalTid) SELECT 839275610, 839275610, 34, 839275610, globalTid FROM NVTX_EVENTS LIMIT 1;
    INSERT INTO NVTX_EVENTS(start, end, eventType, int64Value, globalTid) SELECT 839275611, 839275612, 34, 1839275610, globalTid FROM NVTX_EVENTS LIMIT 1)");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  CHECK_MESSAGE(contains(ran.out, "numbers"), ran.out);
  const auto counted = [&](const std::string& where) {
    return number_of(dir / "shared.sqlite", "SELECT count(*) FROM NVTX_EVENTS WHERE " + where);
  };
  CHECK(counted("int64Value = 839275610") == 0);
  CHECK(counted("int64Value = 1839275610") == 1);
  CHECK(counted("start = 839275610 AND int64Value IS NULL") == 1);

  nlohmann::json trace{{"env", {{"PIN_KEY", "839275610"}}}};
  const auto id = 839275610;
  trace["traceEvents"] = {
      {{"ph", "X"},
       {"pid", 1},
       {"tid", 1},
       {"ts", id},
       {"dur", 5},
       {"name", "x"},
       {"args", {{"Concrete Inputs", {id, {id, 7}}}, {"External id", id}}}},
      {{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", 1}, {"dur", 5}, {"name", id}}};
  write_file(dir / "trace.json", trace.dump());
  const Ran traced = advise("scrub trace.json -o shared.json", {"", dir / ""});
  REQUIRE_MESSAGE(traced.status == 0, traced.err);
  const auto shared = nlohmann::json::parse(read_file(dir / "shared.json"))["traceEvents"];
  CHECK(shared[0]["args"].dump() ==
        R"({"Concrete Inputs":["[removed]",["[removed]",7]],"External id":839275610})");
  CHECK(shared[0]["ts"] == id);
  CHECK(shared[1]["name"] == "[removed]");
}

TEST_CASE(
    "scrub: a secret's bytes as numbers in an operator's inputs are removed; other lists stay") {
  const TempDir dir;
  const std::string secret = "kq7Zz81hunter2";
  nlohmann::json bytes = nlohmann::json::array(), texts = bytes;
  for (const char c : secret) {
    bytes.push_back(static_cast<int>(c));
    texts.push_back(std::to_string(static_cast<int>(c)));
  }
  nlohmann::json trace{{"env", {{"DB_PASSWORD", secret}}}};
  for (const auto& inputs : {bytes, nlohmann::json{1, bytes}, texts, nlohmann::json{107, 113, "a"}})
    trace["traceEvents"].push_back({{"ph", "X"},
                                    {"pid", 1},
                                    {"tid", 1},
                                    {"ts", 1},
                                    {"dur", 5},
                                    {"name", "aten::x"},
                                    {"args", {{"Concrete Inputs", inputs}}}});
  write_file(dir / "trace.json", trace.dump());
  const Ran ran = advise("scrub trace.json -o shared.json", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const auto shared = nlohmann::json::parse(read_file(dir / "shared.json"))["traceEvents"];
  for (std::size_t i = 0; i < 3; ++i) CHECK(shared[i]["args"]["Concrete Inputs"] == "[removed]");
  CHECK(shared[3]["args"]["Concrete Inputs"].dump() == R"([107,113,"a"])");
}

TEST_CASE("scrub: names, hashes and ids that resemble a secret or an encoding stay") {
  const TempDir dir;
  const std::vector<std::string> kept{
      "ampere_sgemm_128x64_tn",
      "triton_poi_fused_add_0d1d2d3d_8f14e45fceea167a5a36dedd4bea2543",
      "void at::native::vectorized_elementwise_kernel<4, 128, 32, 64, 7, 8, 9, 10>(int, float)",
      "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ==",
      "step 1839275610",
      "sig=0.5 SGD. basic block authorization: basic"};
  nlohmann::json trace{{"env", {{"PIN_KEY", "839275610"}, {"DB_PASSWORD", "kq7Zz81hunter2"}}}};
  for (const std::string& name : kept)
    trace["traceEvents"].push_back(
        {{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", 1}, {"dur", 5}, {"name", name}});
  // With one in a form unknown to the remover, so that each text is checked by the proof.
  trace["traceEvents"].push_back({{"ph", "X"},
                                  {"pid", 1},
                                  {"tid", 1},
                                  {"ts", 1},
                                  {"dur", 5},
                                  {"name", "left " + base64(base64("kq7Zz81hunter2")) + " right"}});
  write_file(dir / "trace.json", trace.dump());
  const Ran ran = advise("scrub trace.json -o shared.json", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const auto shared = nlohmann::json::parse(read_file(dir / "shared.json"))["traceEvents"];
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(shared[i]["name"] == kept[i]);
  CHECK(shared[kept.size()]["name"] == "left [removed] right");
}

namespace {

// The names of events in the copy of a trace that has these, and this environment.
std::vector<std::string> names_in_copy(const nlohmann::json& environment,
                                       const std::vector<std::string>& names) {
  const TempDir dir;
  nlohmann::json trace{{"env", environment}};
  for (const std::string& name : names)
    trace["traceEvents"].push_back(
        {{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", 1}, {"dur", 5}, {"name", name}});
  write_file(dir / "trace.json", trace.dump());
  const Ran ran = advise("scrub trace.json -o shared.json", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const auto shared = nlohmann::json::parse(read_file(dir / "shared.json"));
  std::vector<std::string> copied;
  for (const auto& event : shared["traceEvents"]) copied.push_back(event["name"]);
  REQUIRE(copied.size() == names.size());
  return copied;
}

}  // namespace

TEST_CASE("scrub: signs between the letters of a secret do not hide it, and names stay") {
  const std::string secret = "Qz74vKp7LmX18tR4w";
  std::string dashed, wide, listed;
  for (const char c : secret) {
    dashed += std::string(dashed.empty() ? "" : "-") + c;
    wide += std::string(wide.empty() ? "" : "\u200b") + c;
    listed += std::string(listed.empty() ? "'" : ", '") + c + "'";
  }
  const std::vector<std::string> hidden{dashed, wide, "{" + listed + "}",
                                        R"("Qz74vKp" + "7LmX18tR4w")", "Qz74 vKp7 LmX1 8tR4 w"},
      kept{"void gemm<128, 64, 8>(float const*, int)", "layer.1.conv-2",  "a-b-c-1-2-3-4-5-6-7",
           "/opt/models/resnet-50/train.py",           "step 1839275610", "Qz74vKp and 7LmX18"};
  std::vector<std::string> names = hidden;
  names.insert(names.end(), kept.begin(), kept.end());
  // Digits, and what is short, are only found as they are.
  const std::vector<std::string> copied = names_in_copy(
      {{"DB_PASSWORD", secret}, {"PIN_KEY", "1234567"}, {"SHORT_TOKEN", "conv-2x"}}, names);
  for (std::size_t i = 0; i < hidden.size(); ++i)
    CHECK_MESSAGE(contains(R"([removed] {'[removed]'} "[removed]")", copied[i]), copied[i]);
  for (std::size_t i = hidden.size(); i < names.size(); ++i) CHECK(copied[i] == names[i]);
}

TEST_CASE("scrub: keys of more services, and passwords of commands and elements, are recognized") {
  const std::vector<std::string> secrets{
      "123456789:AAa1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q",
      "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
      "key-0123456789abcdef0123456789abcdef",
      "lin_api_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0",
      "SK0123456789abcdef0123456789abcdef",
      "curl -s -u bob:Hk9xQ2wLp7 https://x.example",
      "mysql -h db -pHk9xQ2wLp8 base",
      "sshpass -p Hk9xQ2wLp9 true",
      "<db><password>Hk9xQ2wLp0</password></db>",
      "jane.doe%40corp.example.com",
      "scp out.bin jdoe17@login03x:/scratch/out",
      "ssh jdoe18@login04x nvidia-smi"},
      gone{"123456789:AA", "MTk4",       "key-0",      "lin_api_a", "SK01",   "Hk9xQ2wLp7",
           "Hk9xQ2wLp8",   "Hk9xQ2wLp9", "Hk9xQ2wLp0", "jane.doe",  "jdoe17", "jdoe18"};
  const std::vector<std::string> kept{
      "foo<KeyType>(a)<b>",  "python -u train.py:main", "memcpy@GLIBC_2.14",    "linear@cuda:0",
      "100%41 of key-value", "mkdir -p out/run7",       "<step>forward</step>", "12:AAAA"};
  std::vector<std::string> names = secrets;
  names.insert(names.end(), kept.begin(), kept.end());
  const std::vector<std::string> copied = names_in_copy(nlohmann::json::object(), names);
  for (std::size_t i = 0; i < secrets.size(); ++i)
    CHECK_MESSAGE(!contains(copied[i], gone[i]), copied[i]);
  for (std::size_t i = secrets.size(); i < names.size(); ++i) CHECK(copied[i] == names[i]);
}

TEST_CASE(
    "scrub: secrets that captured output tells are removed, and an environment is many variables") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(
      dir / "report.sqlite",
      R"(INSERT INTO StringIds VALUES (900001, 'login ok, password: Qz125vKp7LmX' || char(10) || '{"tokens": 1839275610}' || char(10) ||
      '{''token'': ''Qz126vKp7LmX46tR4w''}' || char(10) || 'authorization: bearer Qz127vKp7LmX'), (900002, 'stdout');
    CREATE TABLE IF NOT EXISTS ProcessStreams (globalPid INTEGER, filenameId INTEGER, contentId INTEGER -- REFERENCES StringIds(id)
    );
    INSERT INTO ProcessStreams (globalPid, filenameId, contentId) VALUES (1, 900002, 900001);
    INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLES',
      'FOO=one' || char(10) || 'USER=janedoe17' || char(10) || 'DB_PASSWORD=Qz128vKp7LmX' || char(10) || 'b64==');
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'a Qz125vKp7LmX b Qz126vKp7LmX46tR4w c Qz127vKp7LmX d Qz128vKp7LmX e janedoe17' WHERE rowid = 1;
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'step 1839275610' WHERE rowid = 2;)");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const std::string shared = read_file(dir / "shared.sqlite");
  for (const char* secret :
       {"Qz125vKp7LmX", "Qz126vKp7LmX46tR4w", "Qz127vKp7LmX", "Qz128vKp7LmX", "janedoe17"})
    CHECK_MESSAGE(!contains(shared, secret), std::string(secret));
  CHECK(contains(shared, "step 1839275610"));
  CHECK_MESSAGE(contains(ran.out, "environment variables      3 removed"), ran.out);
}

TEST_CASE("scrub: if a key appears twice, the value that readers ignore is removed too") {
  const TempDir dir;
  const std::string events = R"("traceEvents": [)";
  const auto shared = [&](const std::string& head, const std::string& event) {
    write_file(dir / "trace.json",
               "{" + head + events +
                   R"({"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "name": "a )" +
                   "kq7Zz81hunter2 of kqnode77 b\"" + event + "}]}");
    const Ran ran = advise("scrub trace.json -o shared.json", {"", dir / ""});
    REQUIRE_MESSAGE(ran.status == 0, ran.err);
    return read_file(dir / "shared.json");
  };
  CHECK(contains(shared("", ""), "a kq7Zz81hunter2 of kqnode77 b"));
  const std::string secret = R"("DB_PASSWORD": "kq7Zz81hunter2")", empty = R"("DB_PASSWORD": "")";
  for (const std::string& twice :
       {"{" + secret + R"(}, "env": {})", "{" + secret + ", " + empty + "}",
        "{" + empty + ", " + secret + "}", R"({"a": {)" + secret + R"(}, "a": 1})"}) {
    CAPTURE(twice);
    CHECK(contains(shared(R"("env": )" + twice + ", ", ""), "a [removed] of kqnode77 b"));
    CHECK(contains(shared("", R"(, "env": )" + twice), "a [removed] of kqnode77 b"));
    CHECK(contains(shared("", R"(, "args": {"env": )" + twice + "}"), "a [removed] of kqnode77"));
  }
  // In JSON that is itself a value, and for hosts and GPUs.
  const std::string value =
      nlohmann::json(R"({"tokens": [{"password": "kq7Zz81hunter2", "password": ""}]})").dump();
  CHECK(contains(shared(R"("env": {"SETTINGS": )" + value + "}, ", ""), "a [removed] of kqnode77"));
  CHECK(contains(shared(R"("distributedInfo": {"a": "tcp://kqnode77:29500", "a": ""}, )", ""),
                 "kq7Zz81hunter2 of [removed] b"));
  CHECK(contains(
      shared(R"("distributedInfo": {"a": "tcp://kqnode77:29500"}, "distributedInfo": {}, )", ""),
      "kq7Zz81hunter2 of [removed] b"));
  const std::string gpus = R"("deviceProperties": [{"id": 0, "owner": "undeclared", "id": 0}], )";
  const std::string known = shared(gpus + gpus, "");
  CHECK(!contains(known, "undeclared"));
  CHECK(nlohmann::json::parse(known)["deviceProperties"][0]["id"] == 0);
}

TEST_CASE("scrub: passwords of curl and mysql are found behind signs in quotes, and whole") {
  const std::vector<std::string> secrets{R"(curl -s "http://a.b/c?x=1&y=2" -u bob:s3cretAAA1)",
                                         "curl -sSu bob:s3cretAAB2 http://a",
                                         R"(curl -H "A: b; c" -u bob:s3cretAAC3 http://a)",
                                         R"(mysql -h db --init="a&b" -ps3cretAAE5)",
                                         R"(curl -u "bob:ABA secret 27" http://a)",
                                         "curl -u 'bob:ABB secret 28' http://a",
                                         "mysql -p'ABC secret 29' base",
                                         "password: Tr0ub4dor&3xqzAAF",
                                         "password=Tr0ub5dor;AAGxyz77",
                                         "password: Qr0ub6dor,AAHxyz88, then",
                                         "--password Sr0;AAKxyz91",
                                         "postgresql://bob:AAR@secret18@db/x",
                                         "x?password=Wq7xyz93&user=bob",
                                         "got Wq7xyz93 again"},
      gone{"AAA1", "AAB2",     "AAC3",     "AAE5",     "secret 27", "secret 28", "secret 29",
           "AAF",  "AAGxyz77", "AAHxyz88", "AAKxyz91", "secret18",  "Wq7xyz93",  "Wq7xyz93"};
  const std::vector<std::string> kept{R"(curl "http://a/b?x=1" & python -u train:main)",
                                      "curl -o out.bin http://a; python -u train:main",
                                      "f(password=None,port=8080)",
                                      "mysql -h db; mkdir -part7",
                                      "tcp://node:29500/a@b",
                                      "then"};
  std::vector<std::string> names = secrets;
  names.insert(names.end(), kept.begin(), kept.end());
  const std::vector<std::string> copied = names_in_copy(nlohmann::json::object(), names);
  for (std::size_t i = 0; i < secrets.size(); ++i)
    CHECK_MESSAGE(!contains(copied[i], gone[i]), copied[i]);
  for (std::size_t i = secrets.size(); i < names.size(); ++i) CHECK(copied[i] == names[i]);
  CHECK(copied[9] == "password: [removed], then");
}

TEST_CASE("scrub: passwords of letters or digits are found by their names, and other words stay") {
  const std::vector<std::string> secrets{"password: correcthorsebattery",
                                         "db_password=CorrectHorseZebra",
                                         "password: 8675309421",
                                         "<password>openvioletmango</password>",
                                         "<password>5550199337</password>",
                                         "--password gingerwhale",
                                         "--api-key=PlumOrchidTiger",
                                         "MY_TOKEN=PlumOrchidLion",
                                         R"({"db_password": "plainvioletword"})",
                                         R"({"password": 9175309422})",
                                         "saw zebrafinch",
                                         "saw mangobird",
                                         "saw quietotter"},
      gone{"correcthorse", "CorrectHorse", "8675309421", "openviolet",  "5550199337",
           "gingerwhale",  "PlumOrchid",   "PlumOrchid", "plainviolet", "9175309422",
           "zebrafinch",   "mangobird",    "quietotter"};
  const std::vector<std::string> kept{"tokens: 8192",
                                      "max_tokens=4096",
                                      "max_tokens=12345678",
                                      "token: 12345",
                                      "token: 12345678",
                                      "password: required",
                                      "incorrect password: permission denied",
                                      "secret_key=None",
                                      "api_key=undefined",
                                      "credentials=GoogleCredentials",
                                      "password=PasswordProvider",
                                      "--token-file path",
                                      "--token-type embeddings",
                                      "--pad-token endofsentence",
                                      "EOS_TOKEN=endofsentence",
                                      "--keymap attentionlayers",
                                      "--pass-name fusionpipeline",
                                      "num_tokens_per_second: 12345678",
                                      "pass: forward",
                                      "pass: backwardstep",
                                      "<pass>backwardstep</pass>",
                                      "PWD=workspaces",
                                      "password: 00000000",
                                      "password:\nbackwardstep"};
  std::vector<std::string> names = secrets;
  names.insert(names.end(), kept.begin(), kept.end());
  const std::vector<std::string> copied =
      names_in_copy({{"OPTS", "--api-key=zebrafinch --password mangobird"},
                     {"LAUNCH", "python train.py --db-password=quietotter"}},
                    names);
  for (std::size_t i = 0; i < secrets.size(); ++i)
    CHECK_MESSAGE(!contains(copied[i], gone[i]), copied[i]);
  for (std::size_t i = secrets.size(); i < names.size(); ++i) CHECK(copied[i] == names[i]);
}

TEST_CASE("scrub: a password of letters in captured output is removed, and words of kernels stay") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(
      dir / "report.sqlite",
      R"(INSERT INTO StringIds VALUES (900001, 'starting' || char(10) || 'password: silverlynx' || char(10) || '{"db_password": "rosybadger"}' ||
      char(10) || 'password: elementwise'), (900002, 'stdout');
    CREATE TABLE IF NOT EXISTS ProcessStreams (globalPid INTEGER, filenameId INTEGER, contentId INTEGER -- REFERENCES StringIds(id)
    );
    INSERT INTO ProcessStreams (globalPid, filenameId, contentId) VALUES (1, 900002, 900001);
    UPDATE NVTX_EVENTS SET textId = NULL, text = 'saw silverlynx and rosybadger' WHERE rowid = 1;)");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  const std::string shared = read_file(dir / "shared.sqlite");
  for (const char* secret : {"silverlynx", "rosybadger"})
    CHECK_MESSAGE(!contains(shared, secret), std::string(secret));
  CHECK(contains(shared, "saw [removed] and [removed]"));
  CHECK(contains(shared, "elementwise"));
}
