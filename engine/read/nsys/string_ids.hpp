// StringIds: the texts of an export, which rows refer to by id.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "read/sqlite.hpp"

namespace gh::nsys {

class StringIds {
 public:
  explicit StringIds(const Database& db) {
    if (!db.has_table("StringIds")) return;
    const std::string by_id = "SELECT value FROM StringIds WHERE id = ?1";
    Query plan(db, "EXPLAIN QUERY PLAN " + by_id);
    constexpr int detail = 3;
    if (plan.step() && plan.text(detail).starts_with("SCAN")) {
      list_rows(db);
      text_.emplace(db, "SELECT value FROM StringIds WHERE rowid = ?1");
    } else {
      text_.emplace(db, by_id);
    }
  }

  /// The text with an id, as stored in the file. Nothing if there is none, or if it contains a NUL:
  /// names contain no NULs, but the profiled program's environment does, and a damaged row must not
  /// reveal it.
  std::optional<std::string> find(std::int64_t id) {
    if (!text_) return std::nullopt;
    if (rows_) {
      const auto row = std::lower_bound(rows_->begin(), rows_->end(), id,
                                        [](const std::pair<std::int64_t, std::int64_t>& r,
                                           std::int64_t i) { return r.first < i; });
      if (row == rows_->end() || row->first != id) return std::nullopt;
      id = row->second;
    }
    text_->reset();
    text_->bind(1, id);
    if (!text_->step()) return std::nullopt;
    const std::string_view text = text_->text(0);
    return text.find('\0') == text.npos ? std::optional<std::string>(text) : std::nullopt;
  }

 private:
  // Where the table has lost its key, SQLite would read all of it for every id.
  void list_rows(const Database& db) {
    rows_.emplace();
    Query all(db, "SELECT id, rowid FROM StringIds");
    while (all.step())
      if (!all.is_null(0)) rows_->emplace_back(all.integer(0), all.integer(1));
    std::sort(rows_->begin(), rows_->end());
  }

  std::optional<Query> text_;
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> rows_;  // by id; without a key
};

}  // namespace gh::nsys
