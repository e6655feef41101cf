// StringIds: the texts of an export, which rows refer to by id.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "read/sqlite.hpp"

namespace gh::nsys {

class StringIds {
 public:
  explicit StringIds(const Database& db) {
    if (db.has_table("StringIds")) {
      text_.emplace(db, "SELECT value FROM StringIds WHERE id = ?1");
    }
  }

  /// The text with an id, as stored in the file. Nothing if there is none, or if it contains a NUL:
  /// names contain no NULs, but the profiled program's environment does, and a damaged row must not
  /// reveal it.
  std::optional<std::string> find(std::int64_t id) {
    if (!text_) return std::nullopt;
    text_->reset();
    text_->bind(1, id);
    if (!text_->step()) return std::nullopt;
    const std::string_view text = text_->text(0);
    return text.find('\0') == text.npos ? std::optional<std::string>(text) : std::nullopt;
  }

 private:
  std::optional<Query> text_;
};

}  // namespace gh::nsys
