#include "read/scrub/export_secrets.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

namespace gh::scrubbing {
namespace {

class Collector {
 public:
  Collector(const Database& db, const std::vector<Table>& tables, Work& work)
      : db_(db), tables_(tables), work_(work) {}

  Kept run() {
    add_words_of_format();
    for (const Table& t : tables_) add_names_and_values(t);
    add_kept();
    add_from_strings();
    add_vocabulary();
    for (const Table& t : tables_) {
      if (t.is_kept && t.name != "StringIds") add_signs_in_cells(t);
    }
    return std::move(kept_);
  }

 private:
  static const PrivateDataSchema::Nsys& schema() { return private_data_schema().nsys; }
  static bool holds_output(const Table& t) { return any_matches(schema().output, t.name); }

  void add_words_of_format() {
    for (const char* word : {"SQLite format 3", "INTEGER", "PRIMARY KEY", "sqlite_autoindex"}) {
      work_.vocabulary.add_words_of_format(word);
    }
    for (const std::string& table : schema().keep) work_.vocabulary.add_words_of_format(table);
    for (const std::string& column : schema().columns) work_.vocabulary.add_words_of_format(column);
    // The part matched by a * in these patterns may itself be a secret.
    for (const Table& t : tables_) {
      if (t.is_kept) work_.vocabulary.add_name_of_format(t.name);
    }
  }

  // Adds the known contents of a table of names and values.
  void add_names_and_values(const Table& t) {
    const auto names = schema().names.find(t.name);
    if (names == schema().names.end() || !has_column(t, "name") || !has_column(t, "value")) {
      return;
    }
    Query rows(db_, "SELECT name, value FROM " + quoted_name(t.name));
    while (rows.step()) add_row(names->second, rows.text(0), rows.text(1));
  }

  void add_row(const PrivateDataSchema::Names& names, std::string_view name,
               std::string_view value) {
    const std::string text(value);  // the row's next text may reuse its memory
    for (std::size_t i = 0; i < private_kinds; ++i) {
      if (!any_matches(names.private_names[i], name)) continue;
      const auto kind = static_cast<PrivateKind>(i);
      if (kind == PrivateKind::environment) {
        work_.count(kind, static_cast<std::int64_t>(work_.secrets.add_variables(text)));
      } else {
        work_.count(kind, text.empty() ? 0 : 1);
        work_.secrets.add(kind, text);
      }
    }
    if (names_a_secret(name)) work_.secrets.add_variable(name, text);
  }

  // Finds which strings and processes are kept, and which tables are not.
  void add_kept() {
    for (const Table& t : tables_) {
      if (holds_output(t)) {
        add_ids(t, output_);
      } else if (t.is_kept && t.name != "StringIds") {
        add_ids(t, kept_.strings);
        add_processes(t);
      }
    }
    // A program may print the name of a range and nothing else.
    for (const std::int64_t id : kept_.strings) output_.erase(id);
    work_.count(PrivateKind::output, static_cast<std::int64_t>(output_.size()));
  }

  // Adds the strings that a table refers to.
  void add_ids(const Table& t, std::unordered_set<std::int64_t>& to) const {
    for (const std::string& column : t.string_ids) {
      Query ids(db_, fmt::format("SELECT DISTINCT {0} FROM {1} WHERE typeof({0}) = 'integer'",
                                 quoted_name(column), quoted_name(t.name)));
      while (ids.step()) to.insert(ids.integer(0));
    }
  }

  void add_processes(const Table& t) {
    for (const Column& c : t.columns) {
      if (t.name == "PROCESSES" || (c.name != "globalPid" && c.name != "globalTid")) continue;
      Query ids(db_, fmt::format("SELECT DISTINCT {} / {} FROM {}", quoted_name(c.name), process_of,
                                 quoted_name(t.name)));
      while (ids.step()) kept_.processes.insert(ids.integer(0));
    }
  }

  // From kept strings, adds what is recognizable as private, and from captured output the secrets
  // that it tells. From the others, adds the environment: before 2022 it was among the strings,
  // without anything referring to it.
  void add_from_strings() {
    Query strings(db_, "SELECT id, value FROM StringIds");
    while (strings.step()) {
      const std::int64_t id = strings.integer(0);
      const std::string_view text = strings.text(1);
      if (kept_.strings.contains(id)) {
        work_.secrets.add_signs_in(text);
        continue;
      }
      if (output_.contains(id)) {
        work_.secrets.add_secrets_told_in(text);
      } else if (looks_like_variables(text)) {
        work_.count(PrivateKind::environment,
                    static_cast<std::int64_t>(work_.secrets.add_variables(text)));
      }
    }
  }

  static bool looks_like_variables(std::string_view text) {
    static const RE2 expression(R"(^[A-Za-z_]\w*=)");
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
  }

  // Adds names of kernels, calls, GPUs, metrics and kinds.
  void add_vocabulary() {
    for (const Table& t : tables_) {
      if (!t.name.starts_with("ENUM_") && !t.name.starts_with("TARGET_INFO_GPU")) continue;
      for (const char* column : {"name", "label", "metricName"}) {
        if (!has_column(t, column)) continue;
        Query cells(db_, fmt::format("SELECT {0} FROM {1} WHERE typeof({0}) = 'text'", column,
                                     quoted_name(t.name)));
        while (cells.step()) work_.vocabulary.add(cells.text(0));
      }
    }
    std::unordered_set<std::int64_t> names;
    for (const Table& t : tables_) {
      if (t.is_kept && (t.name.starts_with("CUPTI_ACTIVITY_KIND_") || t.name.starts_with("CUD") ||
                        t.name.starts_with("CUBLAS_"))) {
        add_ids(t, names);
      }
    }
    Query strings(db_, "SELECT id, value FROM StringIds");
    while (strings.step()) {
      if (names.contains(strings.integer(0))) work_.vocabulary.add(strings.text(1));
    }
  }

  void add_signs_in_cells(const Table& t) {
    for (const Column& c : t.columns) {
      if (!c.is_known || c.type == "INTEGER" || c.type == "REAL") continue;
      Query cells(db_, fmt::format("SELECT DISTINCT {0} FROM {1} WHERE typeof({0}) IN ('text', "
                                   "'blob')",
                                   quoted_name(c.name), quoted_name(t.name)));
      while (cells.step()) work_.secrets.add_signs_in(cells.text(0));
    }
  }

  const Database& db_;
  const std::vector<Table>& tables_;
  Work& work_;
  Kept kept_;
  std::unordered_set<std::int64_t> output_;
};

}  // namespace

Kept collect_from_export(const Database& db, const std::vector<Table>& tables, Work& work) {
  return Collector(db, tables, work).run();
}

}  // namespace gh::scrubbing
