#include "read/scrub/export_copy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "base/text.hpp"
#include "read/scrub/cleaner.hpp"
#include "read/scrub/export_secrets.hpp"
#include "read/scrub/proof.hpp"
#include "read/scrub/written_forms.hpp"

namespace gh::scrubbing {
namespace {

namespace fs = std::filesystem;

// In a file of numbers, eight bytes of a text do not occur by chance.
constexpr std::size_t least_bytes_in_numbers = 8;

struct Closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};

// Text stored as bytes is kept; other bytes cannot be searched.
bool is_readable(std::string_view bytes) {
  return valid_utf8(bytes) == bytes && std::none_of(bytes.begin(), bytes.end(), [](char c) {
           return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
         });
}

// Writes the copy of one database. SQLite calls back for each text.
class Writer {
 public:
  Writer(const Database& from, const fs::path& report, const fs::path& out,
         const std::vector<Table>& tables, const Kept& kept, const Cleaner& cleaner,
         Scrubbed& result)
      : from_(from),
        report_(report),
        out_(out),
        tables_(tables),
        kept_(kept),
        cleaner_(cleaner),
        result_(result) {}

  void run() {
    const auto db = open_new();
    execute(db.get(), "BEGIN");
    for (const Table& t : tables_) {
      if (!t.is_kept || cleaner_.finds_in(t.name)) {
        leave_out(t.name, t);
        continue;
      }
      watch_->renew();
      create(db.get(), t);
      fill(db.get(), t);
      for (const Column& c : t.columns) {
        if (!c.is_known) leave_out(fmt::format("{}.{}", t.name, c.name), t);
      }
    }
    for (const std::string& name : views_and_triggers_of(from_)) tell_left_out(name);
    execute(db.get(), "COMMIT");
  }

 private:
  static const PrivateDataSchema::Nsys& schema() { return private_data_schema().nsys; }

  void leave_out(const std::string& name, const Table& t) {
    if (any_matches(schema().output, t.name)) return;  // counted as captured output
    if (Query(from_, "SELECT 1 FROM " + quoted_name(t.name) + " LIMIT 1").step()) {
      tell_left_out(name);
    }
  }
  // Names may be private too.
  void tell_left_out(std::string name) {
    cleaner_.remove_from(name);
    result_.left_out.push_back(std::move(name));
  }

  [[noreturn]] void fail(sqlite3* db) const {
    if (thrown_) std::rethrow_exception(thrown_);
    const int code = sqlite3_extended_errcode(db);
    if (code == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC ||
        code == SQLITE_IOERR_TRUNCATE || code == SQLITE_CANTOPEN) {
      throw Error(
          fmt::format("the copy of {} cannot be written: {}; check that there is enough space",
                      from_.shown_path(), printable(sqlite3_errmsg(db))));
    }
    const std::string deadline_text = from_.deadline().message();
    const char* why = (code & 0xFF) != SQLITE_INTERRUPT ? sqlite3_errmsg(db)
                      : from_.deadline().passed()       ? deadline_text.c_str()
                                                        : "its pages form a loop";
    throw Error(fmt::format("{}: cannot be copied: {}", from_.shown_path(),
                            shortened(printable(why), 200)));
  }
  void execute(sqlite3* db, const std::string& sql) const {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db);
  }

  // --- functions used in the statements below

  static Writer& self(sqlite3_context* context) {
    return *static_cast<Writer*>(sqlite3_user_data(context));
  }
  // scrubbed(text): the text without what must be removed. SQLite cannot handle exceptions.
  static void scrubbed(sqlite3_context* context, int, sqlite3_value** arguments) {
    Writer& writer = self(context);
    try {
      writer.scrub(context, arguments[0]);
    } catch (...) {
      writer.thrown_ = std::current_exception();
      sqlite3_result_error(context, "stopped", -1);
    }
  }
  void scrub(sqlite3_context* context, sqlite3_value* argument) {
    const bool is_text = sqlite3_value_type(argument) == SQLITE_TEXT;
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(argument));
    std::string text(bytes ? bytes : "", static_cast<std::size_t>(sqlite3_value_bytes(argument)));
    if (!is_text && !is_readable(text)) {
      text.clear();
      ++result_.removed["cells of bytes"];
    } else if (cleaner_.remove_from(text)) {
      ++result_.changed;
    }
    if (is_text) {
      sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
      sqlite3_result_blob64(context, text.data(), text.size(), SQLITE_TRANSIENT);
    }
  }
  // own_number(number): for columns with numbers chosen by the program.
  static void own_number(sqlite3_context* context, int, sqlite3_value** arguments) {
    Writer& writer = self(context);
    try {
      const auto* digits = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
      if (digits && writer.cleaner_.finds_in(digits)) {
        ++writer.result_.removed["numbers"];
        sqlite3_result_null(context);
      } else {
        sqlite3_result_value(context, arguments[0]);
      }
    } catch (...) {
      writer.thrown_ = std::current_exception();
      sqlite3_result_error(context, "stopped", -1);
    }
  }
  // foreign_text(text): for columns of numbers.
  static void foreign_text(sqlite3_context* context, int, sqlite3_value**) {
    ++self(context).result_.removed["texts among numbers"];
    sqlite3_result_text(context, replacement, -1, SQLITE_STATIC);
  }
  static void is_kept_string(sqlite3_context* context, int, sqlite3_value** arguments) {
    sqlite3_result_int(context,
                       self(context).kept_.strings.contains(sqlite3_value_int64(arguments[0])));
  }
  static void is_kept_process(sqlite3_context* context, int, sqlite3_value** arguments) {
    sqlite3_result_int(context, self(context).kept_.processes.contains(
                                    sqlite3_value_int64(arguments[0]) / process_of));
  }
  // is_kept_name(table, name): for tables of names and values.
  static void is_kept_name(sqlite3_context* context, int, sqlite3_value** arguments) {
    const auto text = [&](int i) {
      const auto* t = reinterpret_cast<const char*>(sqlite3_value_text(arguments[i]));
      return std::string(t ? t : "");
    };
    const auto names = schema().names.find(text(0));
    sqlite3_result_int(context,
                       names != schema().names.end() && any_matches(names->second.keep, text(1)));
  }

  // --- the new file

  // Opens a connection to it, with the original attached as "report".
  std::unique_ptr<sqlite3, Closer> open_new() {
    sqlite3* opened = nullptr;
    const int rc = sqlite3_open_v2(
        out_.c_str(), &opened,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
        nullptr);
    std::unique_ptr<sqlite3, Closer> db(opened);
    if (rc != SQLITE_OK) fail(opened);
    turn_off_journal(opened);
    distrust(opened);
    sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 1);  // the report
    // Each row is read, checked and written, which costs several times as much as reading it.
    watch_ = std::make_unique<const Watch>(opened, from_.size_bytes(), from_.deadline(), 4);
    constexpr int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    using Function = void (*)(sqlite3_context*, int, sqlite3_value**);
    const auto add = [&](const char* name, int arguments, Function function) {
      sqlite3_create_function(opened, name, arguments, flags, this, function, nullptr, nullptr);
    };
    add("scrubbed", 1, scrubbed);
    add("own_number", 1, own_number);
    add("foreign_text", 1, foreign_text);
    add("is_kept_string", 1, is_kept_string);
    add("is_kept_process", 1, is_kept_process);
    add("is_kept_name", 2, is_kept_name);
    execute(opened, "PRAGMA synchronous = OFF; PRAGMA encoding = 'UTF-8'");
    attach_report(opened);
    return db;
  }

  // Nobody else uses the file before it is complete, so it needs no journal. A defensive connection
  // would not allow this.
  void turn_off_journal(sqlite3* db) const {
    std::string journal;
    sqlite3_exec(
        db, "PRAGMA journal_mode = OFF",
        [](void* mode, int, char** values, char**) {
          *static_cast<std::string*>(mode) = values[0] ? values[0] : "";
          return 0;
        },
        &journal, nullptr);
    if (journal != "off") {
      throw Error(fmt::format("{}: cannot be copied: SQLite refuses to write without a journal",
                              from_.shown_path()));
    }
  }

  void attach_report(sqlite3* db) const {
    sqlite3_stmt* attach = nullptr;
    sqlite3_prepare_v2(db, "ATTACH ?1 AS report", -1, &attach, nullptr);
    const std::string uri = immutable_uri(report_);
    sqlite3_bind_text(attach, 1, uri.c_str(), -1, SQLITE_TRANSIENT);
    const int attached = sqlite3_step(attach);
    sqlite3_finalize(attach);
    if (attached != SQLITE_DONE) fail(db);
  }

  static bool is_copied(const Column& c) { return c.is_known; }

  void create(sqlite3* db, const Table& t) const {
    std::vector<std::string> definitions, key;
    for (const Column& c : t.columns) {
      if (!is_copied(c)) continue;
      definitions.push_back(fmt::format("{} {}", quoted_name(c.name), plain_type(c.type)));
      if (c.key > 0) key.push_back(quoted_name(c.name));
    }
    const bool has_whole_key = std::all_of(t.columns.begin(), t.columns.end(), [](const Column& c) {
      return c.key == 0 || is_copied(c);
    });
    if (!key.empty() && has_whole_key) {
      definitions.push_back(fmt::format("PRIMARY KEY ({})", fmt::join(key, ", ")));
    }
    execute(db, fmt::format("CREATE TABLE main.{} ({})", quoted_name(t.name),
                            fmt::join(definitions, ", ")));
  }

  void fill(sqlite3* db, const Table& t) const {
    std::vector<std::string> names, values;
    for (const Column& c : t.columns) {
      if (!is_copied(c)) continue;
      names.push_back(quoted_name(c.name));
      values.push_back(value_of(t, c));
    }
    std::string sql =
        fmt::format("INSERT INTO main.{0} ({1}) SELECT {2} FROM report.{0}", quoted_name(t.name),
                    fmt::join(names, ", "), fmt::join(values, ", "));
    if (schema().names.contains(t.name)) {
      sql += fmt::format(" WHERE is_kept_name('{}', name)", t.name);
    }
    if (t.name == "PROCESSES" && has_column(t, "globalPid")) {
      sql += " WHERE is_kept_process(globalPid)";
    }
    execute(db, sql);
  }

  // INTEGER PRIMARY KEY is more than a type: it makes the column the row id.
  static std::string plain_type(const std::string& type) {
    for (const char* known : {"INTEGER", "REAL", "TEXT", "BLOB"}) {
      if (type == known) return type;
    }
    return "";
  }

  static std::string value_of(const Table& t, const Column& c) {
    const std::string name = quoted_name(c.name);
    if (any_matches(schema().columns_out, c.name)) return "''";
    std::string number = name;
    if (any_matches(schema().numbers, c.name)) {
      number = fmt::format(
          "CASE WHEN typeof({0}) IN ('integer', 'real') THEN own_number(+{0}) ELSE {0} END", name);
    }
    const bool is_number = c.type == "INTEGER" || c.type == "REAL";
    const std::string text =
        fmt::format("CASE WHEN typeof({0}) IN ('text', 'blob') THEN {1}({0}) ELSE {2} END", name,
                    is_number ? "foreign_text" : "scrubbed", number);
    if (t.name == "StringIds" && c.name == "value") {
      return fmt::format("CASE WHEN is_kept_string(id) THEN {} ELSE '' END", text);
    }
    // A process's name may be followed by its arguments.
    if (t.name == "PROCESSES" && c.name == "name") {
      return fmt::format(
          "CASE WHEN typeof(name) = 'text' THEN scrubbed(substr(name, 1, instr(name || ' ', ' ') - "
          "1)) ELSE {} END",
          text);
    }
    return text;
  }

  const Database& from_;
  fs::path report_, out_;
  const std::vector<Table>& tables_;
  const Kept& kept_;
  const Cleaner& cleaner_;
  Scrubbed& result_;
  std::exception_ptr thrown_;
  std::unique_ptr<const Watch> watch_;
};

void check_is_export(const Database& db, const fs::path& report) {
  if (!db.has_table("StringIds")) {
    throw Error(
        fmt::format("{}: is not an Nsight Systems export; give a .sqlite file written by `nsys "
                    "export --type sqlite`",
                    db.shown_path()));
  }
  if (is_being_written(report)) {
    throw Error(fmt::format(
        "{}: is still being written, or its writer was stopped; export it again", db.shown_path()));
  }
  Query encoding(db, "PRAGMA encoding");
  if (!encoding.step() || encoding.text(0) != "UTF-8") {
    throw Error(fmt::format(
        "{}: its texts are not UTF-8, unlike in any Nsight Systems export; export it again",
        db.shown_path()));
  }
}

}  // namespace

void copy_export(const fs::path& report, NewFile& out, Work& work) {
  const Database db(report, work.deadline);
  check_is_export(db, report);
  const std::vector<Table> tables = tables_of(db);
  const Kept kept = collect_from_export(db, tables, work);
  const SoughtList sought = work.secrets.sought();
  const Proof proof(sought, work.deadline);
  const Scrubbed found = work.result;
  const auto write = [&](const Cleaner& cleaner) {
    Writer(db, report, out.path(), tables, kept, cleaner, work.result).run();
  };
  const auto prove = [&] {
    proof.check_tables(out.path(), report);
    proof.check_bytes(out.path(), report, least_bytes_in_numbers);
  };
  const auto begin_anew = [&] {
    out.clear();
    work.result = found;
  };
  const Remover remover(in_written_forms(sought), work.deadline);
  write_proven(remover, proof, write, prove, begin_anew);
}

}  // namespace gh::scrubbing
