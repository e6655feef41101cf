#include "read/scrub/export_copy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "base/text.hpp"
#include "read/scrub/export_tables.hpp"
#include "read/scrub/proof.hpp"

namespace gh::scrubbing {
namespace {

namespace fs = std::filesystem;

// The copy of one database. SQLite calls back for the texts.
class ExportCopy {
 public:
  ExportCopy(const fs::path& report, const fs::path& out, Work& work)
      : report_(report), out_(out), work_(work), db_(report) {
    if (!db_.has_table("StringIds")) {
      throw Error(
          fmt::format("{}: is not an export of Nsight Systems; give the .sqlite file that `nsys "
                      "export --type sqlite` wrote",
                      db_.shown_path()));
    }
    if (is_being_written(report)) {
      throw Error(
          fmt::format("{}: is still being written, or its writer was ended; export it again",
                      db_.shown_path()));
    }
    Query encoding(db_, "PRAGMA encoding");
    if (!encoding.step() || encoding.text(0) != "UTF-8") {
      throw Error(
          fmt::format("{}: its texts are not UTF-8, as Nsight Systems writes them; export it again",
                      db_.shown_path()));
    }
    tables_ = tables_of(db_);
  }

  void run() {
    collect();
    work_.secrets.compile();
    copy();
    search();
  }

 private:
  static const PrivateDataSchema::Nsys& schema() { return private_data_schema().nsys; }
  static bool is_kept(const Table& table) { return any_matches(schema().keep, table.name); }
  // Tables whose texts are searched; StringIds is looked at text by text.
  static bool is_searched(const Table& table) {
    return is_kept(table) && table.name != "StringIds";
  }

  // --- collecting

  void collect() {
    add_words_of_format();
    for (const Table& t : tables_) add_names_and_values(t);
    std::unordered_set<std::int64_t> output;
    for (const Table& t : tables_) {
      if (any_matches(schema().output, t.name)) {
        add_ids(t, output);
      } else if (is_searched(t)) {
        add_ids(t, kept_strings_);
      } else if (!is_kept(t) && holds_rows(t)) {
        work_.result.left_out.push_back(t.name);
      }
    }
    for (const std::int64_t id : output) kept_strings_.erase(id);
    work_.count(PrivateKind::output, static_cast<std::int64_t>(output.size()));
    add_from_strings(output);
    for (const Table& t : tables_) {
      if (is_searched(t)) add_owners_in_cells(t);
    }
  }

  void add_words_of_format() {
    for (const char* word : {"SQLite format 3", "INTEGER", "PRIMARY KEY", "sqlite_autoindex"}) {
      work_.secrets.add_words_of_format(word);
    }
    for (const Table& t : tables_) {
      if (!is_kept(t)) continue;
      work_.secrets.add_words_of_format(t.name);
      for (const Column& c : t.columns) work_.secrets.add_words_of_format(c.name);
    }
  }

  // What a table of names and values is known to hold.
  void add_names_and_values(const Table& t) {
    const auto names = schema().names.find(t.name);
    if (names == schema().names.end() || !has_column(t, "name") || !has_column(t, "value")) {
      return;
    }
    Query rows(db_, "SELECT name, value FROM " + quoted_name(t.name));
    while (rows.step()) {
      const std::string name(rows.text(0)), value(rows.text(1));
      for (std::size_t i = 0; i < private_kinds; ++i) {
        if (!any_matches(names->second.private_names[i], name)) continue;
        const auto kind = static_cast<PrivateKind>(i);
        work_.count(kind, value.empty() ? 0 : 1);
        if (kind == PrivateKind::environment) {
          work_.secrets.add_variable(value);
        } else {
          work_.secrets.add(kind, value);
        }
      }
    }
  }

  // Of strings that are kept the names of users; of others, the environment: before 2022 it stood
  // among the strings, where nothing refers to it.
  void add_from_strings(const std::unordered_set<std::int64_t>& output) {
    Query strings(db_, "SELECT id, value FROM StringIds");
    while (strings.step()) {
      const std::string_view text = strings.text(1);
      if (kept_strings_.contains(strings.integer(0))) {
        work_.secrets.add_owners(text);
        continue;
      }
      if (output.contains(strings.integer(0)) || !looks_like_variables(text)) continue;
      for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
        to = std::min(text.find('\0', from), text.size());
        work_.secrets.add_variable(text.substr(from, to - from));
        work_.count(PrivateKind::environment);
      }
    }
  }

  void add_owners_in_cells(const Table& t) {
    for (const Column& c : t.columns) {
      if (c.type.find("TEXT") == c.type.npos) continue;
      Query cells(
          db_, fmt::format("SELECT DISTINCT {0} FROM {1} WHERE {0} LIKE '%/%' OR {0} LIKE '%\\%'",
                           quoted_name(c.name), quoted_name(t.name)));
      while (cells.step()) work_.secrets.add_owners(cells.text(0));
    }
  }

  static bool has_column(const Table& t, std::string_view name) {
    return std::any_of(t.columns.begin(), t.columns.end(),
                       [&](const Column& c) { return c.name == name; });
  }

  bool holds_rows(const Table& t) const {
    return Query(db_, "SELECT 1 FROM " + quoted_name(t.name) + " LIMIT 1").step();
  }

  static bool looks_like_variables(std::string_view text) {
    static const RE2 expression(R"(^[A-Za-z_]\w*=)");
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
  }

  // The strings that a table refers to.
  void add_ids(const Table& t, std::unordered_set<std::int64_t>& to) const {
    for (const std::string& column : t.string_ids) {
      Query ids(db_, fmt::format("SELECT DISTINCT {0} FROM {1} WHERE typeof({0}) = 'integer'",
                                 quoted_name(column), quoted_name(t.name)));
      while (ids.step()) to.insert(ids.integer(0));
    }
  }

  // --- writing

  struct Closer {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };

  [[noreturn]] void fail(sqlite3* db) const {
    throw Error(fmt::format("{}: cannot be copied: {}", db_.shown_path(),
                            shortened(printable(sqlite3_errmsg(db)), 200)));
  }
  void execute(sqlite3* db, const std::string& sql) const {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db);
  }

  // scrubbed(text): the text without what has to go.
  static void scrubbed(sqlite3_context* context, int, sqlite3_value** arguments) {
    auto& self = *static_cast<ExportCopy*>(sqlite3_user_data(context));
    const bool is_text = sqlite3_value_type(arguments[0]) == SQLITE_TEXT;
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(arguments[0]));
    std::string text(bytes ? bytes : "",
                     static_cast<std::size_t>(sqlite3_value_bytes(arguments[0])));
    if (self.work_.secrets.replace_in(text)) ++self.work_.result.changed;
    if (is_text) {
      sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
      sqlite3_result_blob64(context, text.data(), text.size(), SQLITE_TRANSIENT);
    }
  }
  static void is_kept_string(sqlite3_context* context, int, sqlite3_value** arguments) {
    sqlite3_result_int(context, static_cast<ExportCopy*>(sqlite3_user_data(context))
                                    ->kept_strings_.contains(sqlite3_value_int64(arguments[0])));
  }
  // is_kept_name(table, name): of tables of names and values.
  static void is_kept_name(sqlite3_context* context, int, sqlite3_value** arguments) {
    const auto text = [&](int i) {
      const auto* t = reinterpret_cast<const char*>(sqlite3_value_text(arguments[i]));
      return std::string(t ? t : "");
    };
    const auto names = schema().names.find(text(0));
    sqlite3_result_int(context,
                       names != schema().names.end() && any_matches(names->second.keep, text(1)));
  }

  // A connection to the new file, with the report beside it as "report".
  std::unique_ptr<sqlite3, Closer> open_new() {
    sqlite3* opened = nullptr;
    const int rc = sqlite3_open_v2(
        out_.c_str(), &opened,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
        nullptr);
    std::unique_ptr<sqlite3, Closer> db(opened);
    if (rc != SQLITE_OK) fail(opened);
    // The file is no one else's yet, and put in place when it is whole: no journal. A defensive
    // connection would not hear of it.
    std::string journal;
    sqlite3_exec(
        opened, "PRAGMA journal_mode = OFF",
        [](void* mode, int, char** values, char**) {
          *static_cast<std::string*>(mode) = values[0] ? values[0] : "";
          return 0;
        },
        &journal, nullptr);
    if (journal != "off") {
      throw Error(
          fmt::format("{}: cannot be copied: SQLite insists on a journal", db_.shown_path()));
    }
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 1);
    sqlite3_progress_handler(
        opened, 10'000,
        [](void* budget) -> int { return --*static_cast<std::int64_t*>(budget) < 0; }, &budget_);
    constexpr int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    sqlite3_create_function(opened, "scrubbed", 1, flags, this, scrubbed, nullptr, nullptr);
    sqlite3_create_function(opened, "is_kept_string", 1, flags, this, is_kept_string, nullptr,
                            nullptr);
    sqlite3_create_function(opened, "is_kept_name", 2, flags, this, is_kept_name, nullptr, nullptr);
    execute(opened,
            "PRAGMA synchronous = OFF; PRAGMA cell_size_check = ON; PRAGMA encoding = 'UTF-8'");
    sqlite3_stmt* attach = nullptr;
    sqlite3_prepare_v2(opened, "ATTACH ?1 AS report", -1, &attach, nullptr);
    const std::string uri = immutable_uri(report_);
    sqlite3_bind_text(attach, 1, uri.c_str(), -1, SQLITE_TRANSIENT);
    const int attached = sqlite3_step(attach);
    sqlite3_finalize(attach);
    if (attached != SQLITE_DONE) fail(opened);
    return db;
  }

  void copy() {
    const auto db = open_new();
    execute(db.get(), "BEGIN");
    for (const Table& t : tables_) {
      if (!is_kept(t)) continue;
      // Several times what a report takes; pages that lead in circles end there.
      budget_ = 1000 + db_.size_bytes() / 10'000 * 64;
      create(db.get(), t);
      fill(db.get(), t);
    }
    execute(db.get(), "COMMIT");
  }

  void create(sqlite3* db, const Table& t) const {
    std::vector<std::string> definitions, key;
    for (const Column& c : t.columns) {
      definitions.push_back(fmt::format("{} {}", quoted_name(c.name), plain_type(c.type)));
      if (c.key > 0) key.push_back(quoted_name(c.name));
    }
    if (!key.empty()) {
      definitions.push_back(fmt::format("PRIMARY KEY ({})", fmt::join(key, ", ")));
    }
    execute(db, fmt::format("CREATE TABLE main.{} ({})", quoted_name(t.name),
                            fmt::join(definitions, ", ")));
  }

  void fill(sqlite3* db, const Table& t) const {
    std::vector<std::string> wanted;
    for (const Column& c : t.columns) wanted.push_back(value_of(t, c));
    std::string sql = fmt::format("INSERT INTO main.{0} SELECT {1} FROM report.{0}",
                                  quoted_name(t.name), fmt::join(wanted, ", "));
    if (schema().names.contains(t.name)) {
      sql += fmt::format(" WHERE is_kept_name('{}', name)", t.name);
    }
    if (t.name == "PROCESSES") sql += processes_with_events();
    execute(db, sql);
  }

  // Others ran on the machine, and are no one's business.
  std::string processes_with_events() const {
    std::string ids;
    for (const Table& t : tables_) {
      for (const Column& c : t.columns) {
        if (is_kept(t) && t.name != "PROCESSES" &&
            (c.name == "globalPid" || c.name == "globalTid")) {
          ids += fmt::format("{}SELECT {} / 16777216 FROM report.{}", ids.empty() ? "" : " UNION ",
                             quoted_name(c.name), quoted_name(t.name));
        }
      }
    }
    return ids.empty() ? "" : fmt::format(" WHERE globalPid / 16777216 IN ({})", ids);
  }

  // INTEGER PRIMARY KEY is more than a type: it is the row's number.
  static std::string plain_type(const std::string& type) {
    for (const char* known : {"INTEGER", "REAL", "TEXT", "BLOB"}) {
      if (type == known) return type;
    }
    return "";
  }

  std::string value_of(const Table& t, const Column& c) const {
    const std::string name = quoted_name(c.name);
    if (any_matches(schema().columns_out, c.name)) return "''";
    const std::string text = fmt::format(
        "CASE WHEN typeof({0}) IN ('text', 'blob') THEN scrubbed({0}) ELSE {0} END", name);
    if (t.name == "StringIds" && c.name == "value") {
      return fmt::format("CASE WHEN is_kept_string(id) THEN {} ELSE '' END", text);
    }
    // Arguments may follow the name of a process.
    if (t.name == "PROCESSES" && c.name == "name") {
      return fmt::format(
          "CASE WHEN typeof(name) = 'text' THEN scrubbed(substr(name, 1, instr(name || ' ', ' ') - "
          "1)) ELSE {} END",
          text);
    }
    return text;
  }

  // --- proving

  void search() {
    const Database made(out_);
    for (const Table& t : tables_of(made)) {
      std::string any;
      for (const Column& c : t.columns) {
        any += fmt::format("{}typeof({}) IN ('text', 'blob')", any.empty() ? "" : " OR ",
                           quoted_name(c.name));
      }
      Query rows(made, fmt::format("SELECT * FROM {} WHERE {}", quoted_name(t.name), any));
      while (rows.step()) {
        for (int c = 0; c < static_cast<int>(t.columns.size()); ++c) {
          if (rows.is_text(c) && work_.secrets.stand_in(rows.text(c))) {
            fail_left(report_, "in table " + printable(t.name),
                      work_.secrets.variable_in(rows.text(c)));
          }
        }
      }
    }
    search_bytes(out_, report_, work_.secrets);
  }

  fs::path report_, out_;
  Work& work_;
  Database db_;
  std::vector<Table> tables_;
  std::unordered_set<std::int64_t> kept_strings_;
  std::int64_t budget_ = 0;
};

}  // namespace

void copy_export(const fs::path& report, const fs::path& out, Work& work) {
  ExportCopy(report, out, work).run();
}

}  // namespace gh::scrubbing
