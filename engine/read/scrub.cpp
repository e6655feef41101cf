#include "read/scrub.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>
#include <sqlite3.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>

#include "base/files.hpp"
#include "base/schema_table.hpp"
#include "base/text.hpp"
#include "read/event_stream.hpp"
#include "read/format.hpp"
#include "read/sqlite.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

const toml::table& schema() {
  static const toml::table table = schema_table("schemas/scrub.toml");
  return table;
}

bool any_matches(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& g) { return glob_match(g, name); });
}

// What has to go, by what it is.
enum class Kind { environment, command, host, user, folder, output, count };
constexpr const char* told[] = {
    "environment variables",   "words of the command line", "host names", "user names", "folders",
    "texts of captured output"};
constexpr const char* key_of[] = {"environment", "command", "host", "user", "folder", "output"};

constexpr std::size_t least_name_bytes = 3, least_secret_bytes = 4, least_value_bytes = 8,
                      most_value_bytes = 1 << 16;
constexpr const char* replacement = "[removed]";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_letter_or_digit(char c) { return is_word(c) && c != '_'; }
std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// ---------------------------------------------------------------------------------------------------------------------
// What is looked for in texts

// Values and names that were found where they are known to stand, to be replaced wherever else they
// do.
class Secrets {
 public:
  Secrets() : homes_(home_pattern, quiet()) {}

  void add(Kind kind, std::string_view value) {
    value = value.substr(0, most_value_bytes);
    switch (kind) {
      case Kind::folder:
        // A top folder, /root or /workspace, tells nothing.
        while (value.ends_with('/')) value.remove_suffix(1);
        if (value.starts_with('/') && value.find('/', 1) != value.npos) {
          put(folders_, std::string(value));
        }
        return;
      case Kind::host:
      case Kind::user:
        if (value.find_first_of("[,") != value.npos) return add_nodes(kind, value);
        if (value.find("://") != value.npos) return add(Kind::environment, value);
        if (value.size() >= (value.find_first_not_of("0123456789") == value.npos
                                 ? least_value_bytes
                                 : least_name_bytes) &&
            !any_matches(common_names, value)) {
          put(names_, in_lower_case(value));
        }
        if (const std::size_t dot = value.find('.');
            kind == Kind::host && dot != value.npos &&
            value.find_first_not_of("0123456789.") != value.npos) {
          add(kind, value.substr(0, dot));
        }
        return;
      case Kind::command:
        if (const std::size_t equals = value.find('='); equals != value.npos) {
          value.remove_prefix(equals + 1);
        }
        // A plain word (forward, bfloat16) and a file of the program (train.py) also name what ran.
        if (is_plain(value) || is_file_name(value)) return;
        [[fallthrough]];
      default:
        if (value.size() >= least_value_bytes && value != replacement &&
            (std::any_of(value.begin(), value.end(), is_letter) || is_number(value))) {
          put(values_, std::string(value));
        }
        if (kind == Kind::environment) add_parts(value);
    }
  }

  // "NAME=value" or NAME="value", as reports write variables.
  void add_variable(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return add(Kind::environment, text);
    const std::string_view name = text.substr(0, equals);
    std::string_view value = text.substr(equals + 1);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) {
      value = value.substr(1, value.size() - 2);
    }
    add_variable(name, value);
  }
  void add_variable(std::string_view name, std::string_view value) {
    origin_ = name;
    add_value(name, value);
    origin_.clear();
  }

  // Words of the format itself: values that are such are no secrets, and could not be told from
  // them.
  void add_words_of_format(std::string_view name) {
    const std::string lower = in_lower_case(name);
    words_of_format_.insert(lower);
    for (std::size_t from = 0, to = 0; from < lower.size(); from = to + 1) {
      to = std::min(lower.find_first_of(" _.%", from), lower.size());
      if (to > from) words_of_format_.insert(lower.substr(from, to - from));
    }
  }

  void add_value(std::string_view name, std::string_view value) {
    if (any_matches(strings(toml::node_view<const toml::node>(schema())["environment"]["secret"]),
                    name) &&
        value.size() >= least_secret_bytes && !any_matches(settings, in_lower_case(value)) &&
        std::any_of(value.begin(), value.end(), is_letter)) {
      put(values_, std::string(value.substr(0, most_value_bytes)));
    }
    for (const Kind kind : {Kind::host, Kind::user, Kind::folder}) {
      if (any_matches(strings(toml::node_view<const toml::node>(
                          schema())["environment"][key_of[static_cast<int>(kind)]]),
                      name)) {
        return add(kind, value);
      }
    }
    add(Kind::environment, value);
  }

  // Names of users from the paths of home folders in any text.
  void add_owners(std::string_view text) {
    re2::StringPiece rest(text.data(), text.size());
    for (std::string owner; RE2::FindAndConsume(&rest, homes_, &owner);) add(Kind::user, owner);
  }

  // After the last addition and before the first search.
  void compile() {
    for (auto* set : {&values_, &names_}) {
      std::erase_if(*set, [&](const std::string& value) {
        return words_of_format_.contains(in_lower_case(value));
      });
    }
    std::string all, in_bytes;
    const auto append = [](std::string& to, const std::string& value, bool bounded) {
      if (!to.empty()) to += '|';
      // Found by itself only, where it may be part of a longer word of another meaning.
      if (bounded && is_word(value.front())) to += "\\b";
      to += RE2::QuoteMeta(value);
      if (bounded && is_word(value.back())) to += "\\b";
    };
    for (const std::string& value : values_) {
      append(all, value, is_plain(value) || is_number(value));
    }
    for (const std::string& value : values_) {
      if (!is_number(value)) append(in_bytes, value, is_plain(value));
    }
    // Names stand between what is no letter and no digit, in upper or lower case; one of letters
    // and others also within words.
    std::string names, names_in_bytes;
    for (const std::string& name : names_) {
      const std::string quoted = (is_bounded(name) ? "(?:^|[^0-9A-Za-z])" : "") +
                                 RE2::QuoteMeta(name) +
                                 (is_bounded(name) ? "(?:$|[^0-9A-Za-z])" : "");
      names += (names.empty() ? "" : "|") + quoted;
      if (name.size() >= least_value_bytes) {
        names_in_bytes += (names_in_bytes.empty() ? "" : "|") + quoted;
      }
    }
    names_found_ = compiled(names.empty() ? "" : "(?i)" + names);
    names_in_bytes_ = compiled(names_in_bytes.empty() ? "" : "(?i)" + names_in_bytes);
    std::string folders;
    for (const std::string& folder : folders_) append(folders, folder, true);
    all_ = compiled(all);
    in_bytes_ = compiled(in_bytes);
    folder_ = compiled(folders);
  }

  // Replaces what is found. False where nothing was.
  bool replace_in(std::string& text) const {
    bool changed = folder_ && RE2::GlobalReplace(&text, *folder_, ".") > 0;
    changed = RE2::GlobalReplace(&text, homes_, "~") > 0 || changed;
    changed = (all_ && RE2::GlobalReplace(&text, *all_, replacement) > 0) || changed;
    // By hand, so that the search, which is by expressions, proves it. The longest first: a host's
    // whole name before its first part.
    std::string lower = names_.empty() ? "" : in_lower_case(text);
    for (const std::string& name : by_length(names_)) {
      for (std::size_t at = 0; (at = lower.find(name, at)) != lower.npos;) {
        if (is_bounded(name) &&
            ((at > 0 && is_letter_or_digit(lower[at - 1])) ||
             (at + name.size() < lower.size() && is_letter_or_digit(lower[at + name.size()])))) {
          ++at;
          continue;
        }
        text.replace(at, name.size(), replacement);
        lower.replace(at, name.size(), replacement);
        at += std::string_view(replacement).size();
        changed = true;
      }
    }
    return changed;
  }
  bool stand_in(std::string_view text) const {
    return found(folder_, text) || RE2::PartialMatch(piece(text), homes_) || found(all_, text) ||
           found(names_found_, text);
  }
  // In bytes of any meaning, where a short name stands by chance.
  bool stand_in_bytes(std::string_view bytes) const {
    return found(in_bytes_, bytes) || found(names_in_bytes_, bytes);
  }
  // The variable whose value stands there, if any: never the value.
  std::string variable_in(std::string_view text) const {
    const std::string lower = in_lower_case(text);
    for (const auto& [value, name] : origins_) {
      if (text.find(value) != text.npos ||
          (names_.contains(value) && lower.find(value) != lower.npos)) {
        return name;
      }
    }
    return "";
  }
  std::size_t size() const { return values_.size() + names_.size() + folders_.size(); }
  std::size_t longest() const {
    std::size_t longest = 0;
    for (const auto* set : {&values_, &names_, &folders_}) {
      for (const std::string& value : *set) longest = std::max(longest, value.size());
    }
    return longest;
  }

 private:
  // Home folders of Linux, clusters, macOS and Windows; the owner is the group.
  static constexpr const char* home_pattern =
      R"((?:(?:/[\w.+-]+)*/homes?(?:/users)?(?:/[a-z])?|(?:[A-Za-z]:|\b)?/Users|[A-Za-z]:\\+Users\\+)[/]?([\w.+@-]*\w))";
  // Accounts of systems and images, and words that are replaced by.
  static inline const std::vector<std::string> common_names{
      "root",      "user",    "users",  "home",   "nobody", "local",
      "localhost", "removed", "public", "shared", "Public", "Shared"};

  // Values of settings, which are no one's secrets.
  static inline const std::vector<std::string> settings{"true", "false",   "none",    "null",
                                                        "auto", "default", "enabled", "disabled"};

  void put(std::set<std::string>& to, std::string value) {
    if (!origin_.empty()) origins_.emplace(value, origin_);
    to.insert(std::move(value));
  }
  static std::vector<std::string> by_length(const std::set<std::string>& set) {
    std::vector<std::string> sorted(set.begin(), set.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
      return a.size() > b.size();
    });
    return sorted;
  }
  static bool is_bounded(std::string_view name) {
    return name.size() < 5 || std::all_of(name.begin(), name.end(), is_letter) || is_number(name) ||
           std::none_of(name.begin(), name.end(), is_letter);
  }

  // Addresses and names within a value: "postgres://name:word@host:5432/base",
  // "key=word;other=word".
  void add_parts(std::string_view value) {
    if (value.size() > 4096) return;
    const char* separators = value.find("://") != value.npos ? ":,;@/" : ":,;@";
    for (std::size_t from = 0, to = 0; from < value.size(); from = to + 1) {
      to = std::min(value.find_first_of(separators, from), value.size());
      std::string_view part = value.substr(from, to - from);
      if (const std::size_t equals = part.rfind('='); equals != part.npos) {
        part.remove_prefix(equals + 1);
      }
      // Of paths the whole is looked for; words without a digit and versions name what runs.
      if (part.size() == value.size() || part.find('/') != part.npos || part.starts_with('.') ||
          is_file_name(part)) {
        continue;
      }
      const bool is_named =
          part.size() >= least_value_bytes && std::any_of(part.begin(), part.end(), is_letter) &&
          std::any_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (is_named || is_number(part)) put(values_, std::string(part));
    }
  }

  // Lists of hosts as Slurm writes them: "gpu[01-04,07],login".
  void add_nodes(Kind kind, std::string_view list) {
    static const RE2 expression(R"(([^,\[\]]+)(?:\[([^\]]*)\]([^,\[\]]*))?,?)"),
        range(R"((\d+)(?:-(\d+))?,?)");
    constexpr std::uint64_t most_nodes = 20'000;
    re2::StringPiece rest(list.data(), list.size());
    for (std::string before, numbers, after;
         RE2::Consume(&rest, expression, &before, &numbers, &after);) {
      if (numbers.empty()) {
        add(kind, before);
        continue;
      }
      re2::StringPiece ranges(numbers);
      for (std::string first, last; RE2::Consume(&ranges, range, &first, &last);) {
        if (first.size() > 9 || last.size() > 9) continue;
        const std::uint64_t from = std::stoull(first), to = last.empty() ? from : std::stoull(last);
        for (std::uint64_t n = from; n <= to && n - from < most_nodes; ++n) {
          add(kind, fmt::format("{}{:0{}}{}", before, n, first.size(), after));
        }
      }
    }
  }

  static re2::RE2::Options quiet() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_longest_match(true);
    options.set_max_mem(256 << 20);
    return options;
  }
  static std::unique_ptr<RE2> compiled(const std::string& expression) {
    if (expression.empty()) return nullptr;
    auto made = std::make_unique<RE2>(expression, quiet());
    if (!made->ok()) throw Error("the report's environment is too large to be searched for");
    return made;
  }
  static re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }
  static bool found(const std::unique_ptr<RE2>& expression, std::string_view text) {
    return expression && RE2::PartialMatch(piece(text), *expression);
  }
  static bool is_plain(std::string_view value) {
    return std::all_of(value.begin(), value.end(), is_word) &&
           (value.find_first_of("0123456789") == value.npos || value.size() < 12);
  }
  static bool is_file_name(std::string_view value) {
    const std::size_t dot = value.rfind('.');
    return value.find('/') != 0 && dot != value.npos && value.size() - dot <= 6 &&
           std::all_of(value.begin() + static_cast<std::ptrdiff_t>(dot) + 1, value.end(),
                       is_letter);
  }
  // An address or a long number; others (versions, lists of GPUs) tell nothing.
  static bool is_number(std::string_view value) {
    static const RE2 expression(R"(\d{8,}|\d+\.\d+\.\d+\.\d+(?::\d+)?)");
    return RE2::FullMatch(piece(value), expression);
  }

  std::set<std::string> values_, names_, folders_;  // names in lower case
  std::set<std::string, std::less<>> words_of_format_;
  std::map<std::string, std::string> origins_;  // the variables of values and names
  std::string origin_;                          // of what is being added
  RE2 homes_;
  std::unique_ptr<RE2> all_, in_bytes_, folder_, names_found_, names_in_bytes_;
};

// What is being done, and the count of it.
struct Work {
  Secrets secrets;
  Scrubbed result;
  void count(Kind kind, std::int64_t n = 1) { result.removed[told[static_cast<int>(kind)]] += n; }
};

[[noreturn]] void fail_left(const fs::path& report, std::string_view where,
                            const std::string& variable) {
  throw Error(fmt::format(
      "{}: some of what has to go{} would be left {}, so nothing was written; please report this",
      printable(report.string()),
      variable.empty() ? "" : " (the value of " + shortened(printable(variable), 60) + ")", where));
}

// Searches the bytes of what was written, unpacked where it is packed.
void search_bytes(const fs::path& path, const fs::path& report, const Secrets& secrets) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) {
    throw Error(
        fmt::format("{}: what was written cannot be read again", printable(report.string())));
  }
  constexpr std::size_t chunk = 4 << 20;
  const std::size_t overlap = secrets.longest();
  std::string bytes;
  for (int got = 1; got > 0;) {
    bytes.erase(0, bytes.size() - std::min(bytes.size(), overlap));
    const std::size_t kept = bytes.size();
    bytes.resize(kept + chunk);
    got = gzread(file.get(), bytes.data() + kept, chunk);
    if (got < 0) {
      throw Error(
          fmt::format("{}: what was written cannot be read again", printable(report.string())));
    }
    bytes.resize(kept + static_cast<std::size_t>(got));
    if (secrets.stand_in_bytes(bytes)) {
      fail_left(report, "in the bytes of the file", secrets.variable_in(bytes));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Reports of Nsight Systems

struct Column {
  std::string name, type;
  int key = 0;
};
struct Table {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::string> string_ids;  // columns that refer to StringIds
};

std::vector<Table> tables_of(const Database& db) {
  const std::vector<std::string> known = strings(schema()["nsys"]["strings"]);
  std::vector<Table> tables;
  Query names(db,
              "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name "
              "NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name");
  while (names.step()) {
    Table t{std::string(names.text(0)), {}, {}};
    const std::string sql(names.text(1));
    Query columns(db, "PRAGMA table_info(" + quoted_name(t.name) + ")");
    while (columns.step()) {
      t.columns.push_back({std::string(columns.text(1)), std::string(columns.text(2)),
                           static_cast<int>(columns.integer(5))});
      const std::string& column = t.columns.back().name;
      // "nameId INTEGER NOT NULL, -- REFERENCES StringIds(id) -- Function name"
      const bool says_so = RE2::PartialMatch(
          sql, "(?m)^\\s*\"?" + RE2::QuoteMeta(column) + "\"?\\s[^\\n]*REFERENCES StringIds\\b");
      if (says_so || std::find(known.begin(), known.end(), column) != known.end()) {
        t.string_ids.push_back(column);
      }
    }
    if (!t.columns.empty()) tables.push_back(std::move(t));
  }
  return tables;
}

// The copy of one database. SQLite calls back for the texts.
class SqliteScrub {
 public:
  SqliteScrub(const fs::path& report, const fs::path& out, Work& work)
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
  using View = toml::node_view<const toml::node>;
  static View nsys() { return View(schema())["nsys"]; }
  static bool is_kept(const std::string& table) {
    return any_matches(strings(nsys()["keep"]), table);
  }

  // Each row of a table of names and values.
  template <class Use>
  void each_pair(const Table& t, Use use) {
    const auto has = [&](const char* name) {
      return std::any_of(t.columns.begin(), t.columns.end(),
                         [&](const Column& c) { return c.name == name; });
    };
    if (!has("name") || !has("value")) return;
    Query rows(db_, "SELECT name, value FROM " + quoted_name(t.name));
    while (rows.step()) use(std::string(rows.text(0)), std::string(rows.text(1)));
  }

  void collect() {
    std::unordered_set<std::int64_t> output;
    for (const char* word : {"SQLite format 3", "INTEGER", "PRIMARY KEY", "sqlite_autoindex"}) {
      work_.secrets.add_words_of_format(word);
    }
    for (const Table& t : tables_) {
      if (is_kept(t.name)) {
        work_.secrets.add_words_of_format(t.name);
        for (const Column& c : t.columns) work_.secrets.add_words_of_format(c.name);
      }
      if (const View names = nsys()["names"][t.name]; names) {
        each_pair(t, [&](const std::string& name, const std::string& value) {
          for (const Kind kind :
               {Kind::environment, Kind::command, Kind::host, Kind::user, Kind::folder}) {
            if (any_matches(strings(names[key_of[static_cast<int>(kind)]]), name)) {
              work_.count(kind, value.empty() ? 0 : 1);
              kind == Kind::environment ? work_.secrets.add_variable(value)
                                        : work_.secrets.add(kind, value);
            }
          }
        });
      }
      if (any_matches(strings(nsys()["output"]), t.name)) {
        for (const std::string& column : t.string_ids) add_ids(t, column, output);
      } else if (is_kept(t.name) && t.name != "StringIds") {
        for (const std::string& column : t.string_ids) add_ids(t, column, kept_strings_);
      } else if (!is_kept(t.name) &&
                 Query(db_, "SELECT 1 FROM " + quoted_name(t.name) + " LIMIT 1").step()) {
        work_.result.left_out.push_back(t.name);
      }
    }
    for (const std::int64_t id : output) kept_strings_.erase(id);
    work_.count(Kind::output, static_cast<std::int64_t>(output.size()));
    // Before 2022 the environment stood among the strings, where nothing refers to it.
    Query texts(db_, "SELECT id, value FROM StringIds");
    while (texts.step()) {
      const std::string_view text = texts.text(1);
      if (kept_strings_.contains(texts.integer(0))) {
        work_.secrets.add_owners(text);
        continue;
      }
      if (output.contains(texts.integer(0)) || !looks_like_variables(text)) continue;
      for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
        to = std::min(text.find('\0', from), text.size());
        work_.secrets.add_variable(text.substr(from, to - from));
        work_.count(Kind::environment);
      }
    }
    for (const Table& t : tables_) {
      if (is_kept(t.name) && t.name != "StringIds") {
        for (const Column& c : t.columns) {
          if (c.type.find("TEXT") != c.type.npos) {
            Query cells(
                db_,
                fmt::format("SELECT DISTINCT {0} FROM {1} WHERE {0} LIKE '%/%' OR {0} LIKE '%\\%'",
                            quoted_name(c.name), quoted_name(t.name)));
            while (cells.step()) work_.secrets.add_owners(cells.text(0));
          }
        }
      }
    }
  }

  static bool looks_like_variables(std::string_view text) {
    static const RE2 expression(R"(^[A-Za-z_]\w*=)");
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
  }

  void add_ids(const Table& t, const std::string& column, std::unordered_set<std::int64_t>& to) {
    Query ids(db_, fmt::format("SELECT DISTINCT {0} FROM {1} WHERE typeof({0}) = 'integer'",
                               quoted_name(column), quoted_name(t.name)));
    while (ids.step()) to.insert(ids.integer(0));
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
    auto& self = *static_cast<SqliteScrub*>(sqlite3_user_data(context));
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
    sqlite3_result_int(context, static_cast<SqliteScrub*>(sqlite3_user_data(context))
                                    ->kept_strings_.contains(sqlite3_value_int64(arguments[0])));
  }
  // is_kept_name(table, name): of tables of names and values.
  static void is_kept_name(sqlite3_context* context, int, sqlite3_value** arguments) {
    const auto text = [&](int i) {
      const auto* t = reinterpret_cast<const char*>(sqlite3_value_text(arguments[i]));
      return std::string(t ? t : "");
    };
    sqlite3_result_int(context, any_matches(strings(nsys()["names"][text(0)]["keep"]), text(1)));
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
      if (!is_kept(t.name)) continue;
      budget_ =
          1000 + db_.size_bytes() / 10'000 *
                     64;  // several times what a report takes; pages that lead in circles end there
      std::string definition, wanted;
      std::vector<std::string> key;
      for (const Column& c : t.columns) {
        definition += fmt::format("{}{} {}", definition.empty() ? "" : ", ", quoted_name(c.name),
                                  plain_type(c.type));
        if (c.key > 0) key.push_back(quoted_name(c.name));
        wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", value_of(t, c));
      }
      if (!key.empty()) definition += fmt::format(", PRIMARY KEY ({})", fmt::join(key, ", "));
      execute(db.get(), fmt::format("CREATE TABLE main.{} ({})", quoted_name(t.name), definition));
      std::string sql = fmt::format("INSERT INTO main.{0} SELECT {1} FROM report.{0}",
                                    quoted_name(t.name), wanted);
      if (nsys()["names"][t.name]) {
        sql += fmt::format(" WHERE is_kept_name('{}', name)", t.name);
      }
      if (t.name == "PROCESSES") sql += processes_with_events();
      execute(db.get(), sql);
    }
    execute(db.get(), "COMMIT");
  }

  // Others ran on the machine, and are no one's business.
  std::string processes_with_events() const {
    std::string ids;
    for (const Table& t : tables_) {
      for (const Column& c : t.columns) {
        if (is_kept(t.name) && t.name != "PROCESSES" &&
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
    if (any_matches(strings(nsys()["columns_out"]), c.name)) return "''";
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

// ---------------------------------------------------------------------------------------------------------------------
// Traces of the PyTorch profiler

using Json = nlohmann::ordered_json;

// A trace nests a few deep beside its events; what goes deeper is not walked.
constexpr std::size_t most_depth = 100;

std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0, deepest = 0;
  for (const char c : json) {
    if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    }
  }
  return deepest;
}

// Calls `use` for what stands below keys, however deep, that say that it is of a kind.
template <class Value, class Use>
void each_secret(const Value& json, Use use, std::size_t depth = 0) {
  if (!json.is_structured() || depth > most_depth) return;
  for (const auto& [key, value] : json.items()) {
    bool known = false;
    for (const Kind kind : {Kind::environment, Kind::command, Kind::host, Kind::user}) {
      if (json.is_object() && any_matches(strings(toml::node_view<const toml::node>(
                                              schema())["torch"][key_of[static_cast<int>(kind)]]),
                                          key)) {
        use(kind, value);
        known = true;
      }
    }
    if (!known) each_secret(value, use, depth + 1);
  }
}

// The end of the value that begins at `at`.
std::size_t end_of_value(std::string_view json, std::size_t at) {
  int depth = 0;
  for (bool in_string = false; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
      if (in_string || depth > 0) continue;
      return std::min(at + 1, json.size());
    }
    if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']' || c == ',') && depth == 0) {
      return at;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return json.size();
}

// Calls `use(text)` for each string in JSON text, as it is meant, and puts in what that returns in
// its place, if anything.
template <class Use>
std::string with_strings(std::string_view json, Use use) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t open = std::min(json.find('"', at), json.size());
    out += json.substr(at, open - at);
    if (open == json.size()) break;
    std::size_t close = open + 1;
    bool escaped = false;
    while (close < json.size() && json[close] != '"') {
      escaped = escaped || json[close] == '\\';
      close += json[close] == '\\' ? 2 : 1;
    }
    close = std::min(close + 1, json.size());
    const std::string_view literal = json.substr(open, close - open);
    std::string text(literal.substr(1, literal.size() > 1 ? literal.size() - 2 : 0));
    if (escaped) {
      if (const Json parsed = Json::parse(literal, nullptr, false); parsed.is_string()) {
        text = parsed.get<std::string>();
      }
    }
    if (const auto instead = use(text)) {
      out += Json(*instead).dump(-1, ' ', false, Json::error_handler_t::replace);
    } else {
      out += literal;
    }
    at = close;
  }
  return out;
}

// Calls use(key, value) for each key of JSON text, and puts in what that returns in place of the
// value, if anything; else it goes on within.
template <class Use>
std::string with_values(std::string_view json, Use use) {
  std::string out;
  std::size_t written = 0;
  for (std::size_t at = json.find('"'); at < json.size(); at = json.find('"', at)) {
    const std::size_t end = end_of_value(json, at), colon = json.find_first_not_of(" \t\r\n", end);
    const std::string_view literal = json.substr(at, end - at);
    at = end;
    if (colon == json.npos || json[colon] != ':' || literal.size() < 2) continue;
    std::string key(literal.substr(1, literal.size() - 2));
    if (key.find('\\') != key.npos) {
      if (const Json parsed = Json::parse(literal, nullptr, false); parsed.is_string()) {
        key = parsed.get<std::string>();
      }
    }
    const std::size_t value = std::min(json.find_first_not_of(" \t\r\n", colon + 1), json.size()),
                      value_end = end_of_value(json, value);
    if (const auto instead = use(key, json.substr(value, value_end - value))) {
      out += json.substr(written, value - written);
      out += *instead;
      written = at = value_end;
    } else {
      at = value;
    }
  }
  out += json.substr(written);
  return out;
}

class TorchScrub {
 public:
  TorchScrub(const fs::path& report, NewFile& out, bool packed, Work& work)
      : report_(report), out_(out), packed_(packed), work_(work) {}

  void run() {
    collect();
    work_.secrets.compile();
    write();
    search();
  }

 private:
  static const RE2& secret_key() {
    static const RE2 expression([] {
      std::string keys;
      for (const Kind kind : {Kind::environment, Kind::command, Kind::host, Kind::user}) {
        for (const std::string& key : strings(toml::node_view<const toml::node>(
                 schema())["torch"][key_of[static_cast<int>(kind)]])) {
          keys += "|" + RE2::QuoteMeta(key);
        }
      }
      return "(?i)\"(?:process_name|process_labels" + keys + ")\"|\\\\u00";
    }());
    return expression;
  }

  // An event without values of keys that say that they have to go; `learn`: so that they are looked
  // for elsewhere.
  std::string without_secrets(std::string_view event, bool learn) {
    if (!RE2::PartialMatch(re2::StringPiece(event.data(), event.size()), secret_key())) {
      return std::string(event);
    }
    const bool is_process = event.find("\"process_name\"") != event.npos,
               is_label = event.find("\"process_labels\"") != event.npos;
    return with_values(
        event, [&](const std::string& key, std::string_view value) -> std::optional<std::string> {
          if (value.empty() || (value[0] != '"' && value[0] != '{' && value[0] != '[')) {
            return std::nullopt;
          }
          const Json json = Json::parse(value, nullptr, false);
          for (const Kind kind : {Kind::environment, Kind::command, Kind::host, Kind::user}) {
            if (any_matches(strings(toml::node_view<const toml::node>(
                                schema())["torch"][key_of[static_cast<int>(kind)]]),
                            in_lower_case(key))) {
              if (learn && json != replacement) add(kind, "", json);
              return '"' + std::string(replacement) + '"';
            }
          }
          if (!json.is_string()) return std::nullopt;
          const auto text = json.get<std::string>();
          // Arguments may follow the name of a process.
          if (is_process && key == "name" && text.find(' ') != text.npos) {
            return Json(text.substr(0, text.find(' ')))
                .dump(-1, ' ', false, Json::error_handler_t::replace);
          }
          static const RE2 usual(R"((?:CPU|GPU) ?\d*)");
          if (is_label && key == "labels" && !text.empty() && text != replacement &&
              !RE2::FullMatch(text, usual)) {
            if (learn) add(Kind::host, "", json);
            return '"' + std::string(replacement) + '"';
          }
          return std::nullopt;
        });
  }

  // Calls use(key, text of the value) for each key of an event, as it is written, in one pass.
  template <class Use>
  static void with_keys(std::string_view event, Use use) {
    for (std::size_t at = event.find("\":"); at != event.npos; at = event.find("\":", at + 2)) {
      const std::size_t open = event.rfind('"', at - 1);
      if (at == 0 || open == event.npos) continue;
      const std::size_t value = std::min(event.find_first_not_of(' ', at + 2), event.size());
      std::size_t end = value;
      if (value < event.size() && event[value] == '"') {
        end = std::min(event.find('"', value + 1), event.size() - 1) + 1;
      }
      use(event.substr(open + 1, at - open - 1), event.substr(value, end - value));
    }
  }
  void learn_word(std::string_view word) {
    if (word.size() > 60 || known_words_.contains(word)) return;
    if (std::all_of(word.begin(), word.end(), [](char c) {
          return is_letter(c) || c == '_' || c == ' ' || c == '.' || c == '%';
        })) {
      work_.secrets.add_words_of_format(word);
    }
    known_words_.emplace(word);
  }

  void collect() {
    EventStream events(report_);
    for (std::string_view event; events.next(event);) {
      if (event.find('\\') == event.npos) {
        work_.secrets.add_owners(event);
      } else {
        with_strings(event, [&](const std::string& text) {
          work_.secrets.add_owners(text);
          return std::optional<std::string>();
        });
      }
      with_keys(event, [&](std::string_view key, std::string_view value) {
        // Keys and categories without digits are the format's.
        if (key == "cat" && value.size() > 2) learn_word(value.substr(1, value.size() - 2));
        learn_word(key);
      });
      without_secrets(event, true);
    }
    if (!events.has_events()) {
      throw Error(fmt::format(
          "{}: is JSON without traceEvents; give what torch.profiler's export_chrome_trace wrote",
          printable(report_.string())));
    }
    bare_ = events.head().empty();
    if (depth_of(events.head()) > most_depth) {
      throw Error(fmt::format("{}: what stands beside its events nests too deep to be searched",
                              printable(report_.string())));
    }
    const Json head = bare_ ? Json::object() : Json::parse(events.head(), nullptr, false);
    if (!head.is_object()) {
      throw Error(
          fmt::format("{}: what stands beside its events is no JSON; copy or record it again",
                      printable(report_.string())));
    }
    each_secret(head, [&](Kind kind, const Json& value) { add(kind, "", value); });
    const std::vector<std::string> keep = strings(schema()["torch"]["keep"]);
    for (const auto& [key, value] : head.items()) {
      if (!any_matches(keep, key)) {
        work_.result.left_out.push_back(key);
      } else if (key != "traceEvents") {
        head_[key] = value;
      }
    }
    for (const auto& [key, value] : head_.items()) learn_word(key);
    if (const auto gpus = head_.find("deviceProperties"); gpus != head_.end() && gpus->is_array()) {
      for (Json& gpu : *gpus) {
        if (gpu.is_object()) gpu.erase("uuid");
      }
    }
    // Addresses of processes.
    if (const auto group = head_.find("distributedInfo"); group != head_.end()) {
      with_strings(group->dump(-1, ' ', false, Json::error_handler_t::replace),
                   [&](const std::string& text) {
                     static const RE2 address(R"((\d+\.\d+\.\d+\.\d+(?::\d+)?)|://\[?([^:/\]]+))");
                     re2::StringPiece rest(text);
                     for (std::string number, host;
                          RE2::FindAndConsume(&rest, address, &number, &host);) {
                       number.empty() ? work_.secrets.add(Kind::host, host)
                                      : work_.secrets.add(Kind::environment, number);
                     }
                     return std::optional<std::string>();
                   });
    }
    with_strings(head_.dump(-1, ' ', false, Json::error_handler_t::replace),
                 [&](const std::string& text) {
                   work_.secrets.add_owners(text);
                   return std::optional<std::string>();
                 });
  }

  void add(Kind kind, const std::string& name, const Json& value) {
    if (value.is_structured()) {
      for (const auto& [key, element] : value.items()) {
        add(kind, value.is_object() ? key : "", element);
      }
    } else if (value.is_string()) {
      const auto text = value.get<std::string>();
      work_.count(kind);
      if (kind == Kind::environment) {
        name.empty() ? work_.secrets.add_variable(text) : work_.secrets.add_variable(name, text);
      } else {
        work_.secrets.add(kind, text);
      }
    }
  }

  std::string scrubbed(std::string_view json) {
    return with_strings(json, [&](std::string text) -> std::optional<std::string> {
      if (!work_.secrets.replace_in(text)) return std::nullopt;
      ++work_.result.changed;
      return text;
    });
  }
  // Whether any string may hold what has to go, told from the text at once.
  bool is_clean(std::string_view json) const {
    return json.find('\\') == json.npos && !work_.secrets.stand_in(json);
  }

  void write() {
    Packer to(out_, packed_);
    if (!bare_) {
      std::string head = scrubbed(head_.dump(1, ' ', false, Json::error_handler_t::replace));
      head.resize(head.rfind('}'));
      while (!head.empty() && (head.back() == '\n' || head.back() == ' ')) head.pop_back();
      to.write(head + (head_.empty() ? "" : ",") + "\n\"traceEvents\": ");
    }
    EventStream events(report_);
    const char* before = "[\n";
    for (std::string_view event; events.next(event); before = ",\n") {
      const std::string known = without_secrets(event, false);
      to.write(before);
      to.write(is_clean(known) ? known : scrubbed(known));
    }
    if (*before == '[') to.write("[");
    to.write(bare_ ? "\n]\n" : "\n]\n}\n");
    to.finish();
  }

  void search() {
    const auto check = [&](std::string_view json, const char* where) {
      with_strings(json, [&](const std::string& text) {
        if (work_.secrets.stand_in(text)) {
          fail_left(report_, where, work_.secrets.variable_in(text));
        }
        return std::optional<std::string>();
      });
    };
    EventStream events(out_.path());
    for (std::string_view event; events.next(event);) {
      if (!is_clean(event)) check(event, "in an event");
      if (without_secrets(event, false) != event) fail_left(report_, "in an event", "");
    }
    check(events.head(), "beside the events");
    search_bytes(out_.path(), report_, work_.secrets);
  }

  // Into the file as it is, or packed with gzip.
  class Packer {
   public:
    Packer(NewFile& file, bool packed) : file_(file), packed_(packed) {
      if (packed_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
        throw Error("zlib cannot be set up");
      }
    }
    ~Packer() {
      if (packed_) deflateEnd(&stream_);
    }
    Packer(const Packer&) = delete;
    Packer& operator=(const Packer&) = delete;
    void write(std::string_view text) {
      buffer_ += text;
      if (buffer_.size() > chunk) flush(Z_NO_FLUSH);
    }
    void finish() { flush(Z_FINISH); }

   private:
    static constexpr std::size_t chunk = 1 << 20;
    void flush(int how) {
      if (!packed_) {
        file_.write(buffer_);
      } else {
        std::string out(chunk, '\0');
        stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_in = static_cast<uInt>(buffer_.size());
        do {
          stream_.next_out = reinterpret_cast<Bytef*>(out.data());
          stream_.avail_out = static_cast<uInt>(out.size());
          deflate(&stream_, how);
          file_.write(std::string_view(out).substr(0, out.size() - stream_.avail_out));
        } while (stream_.avail_out == 0);
      }
      buffer_.clear();
    }
    NewFile& file_;
    bool packed_;
    z_stream stream_{};
    std::string buffer_;
  };

  fs::path report_;
  NewFile& out_;
  bool packed_, bare_ = false;
  Json head_ = Json::object();
  std::set<std::string, std::less<>> known_words_;
  Work& work_;
};

}  // namespace

Scrubbed scrub(const fs::path& report, const fs::path& out) {
  std::error_code ec;
  if (fs::exists(out, ec) && fs::equivalent(report, out, ec)) {
    throw Error(fmt::format("{}: is what is read; name another file", printable(out.string())));
  }
  if (fs::exists(out, ec) && !fs::is_regular_file(out, ec)) {
    throw Error(fmt::format("{}: is no file; name one", printable(out.string())));
  }
  if (out == "-") throw Error("-: names no file; name one");
  const bool is_trace = is_torch_trace(first_bytes_of(report));
  if (!is_trace && out.extension() == ".gz") {
    throw Error(
        fmt::format("{}: a database is not packed; leave out .gz", printable(out.string())));
  }
  NewFile file(out);
  Work work;
  if (is_trace) {
    TorchScrub(report, file, out.extension() == ".gz", work).run();
  } else {
    SqliteScrub(report, file.path(), work).run();
  }
  work.result.searched_for = work.secrets.size();
  work.result.bytes = fs::file_size(file.path(), ec);
  file.commit();
  return work.result;
}

}  // namespace gh
