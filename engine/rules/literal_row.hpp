// One row of a literal trace: times and a name by position, everything else by key.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spans.hpp"
#include "rules/lua_table.hpp"

namespace gh {

/// A table on Lua's stack, which has to stay there while the row is read. Throws Error that names
/// the row and the problem.
class LiteralRow {
 public:
  /// The table at `index`; messages call it `where`: "ops[3]". Rejects fields other than `fields`.
  LiteralRow(lua_State* lua, int index, std::string where, const std::vector<std::string>& fields);

  /// By position, starting at 1. Times are in microseconds.
  Ns time(int position) const;
  std::string text_at(int position) const;
  double number_at(int position) const;

  /// By key. A value of another type counts as absent.
  bool has(const char* field) const { return table_.has(field); }
  bool is_true(const char* field) const { return table_.truth(field); }
  bool is_false(const char* field) const;  ///< false itself, not absent
  std::string text(const char* field, const std::string& otherwise) const;
  /// Finite, and within the range in which a double counts exactly.
  double number(const char* field, double otherwise) const;
  /// A whole number, clamped to 0 to `most`.
  template <class Integer>
  Integer count(const char* field, double otherwise, Integer most) const {
    const double n = number(field, otherwise);
    return n <= 0 ? Integer{0} : n >= static_cast<double>(most) ? most : static_cast<Integer>(n);
  }
  std::optional<Span> span(const char* field) const;  ///< written as { from, to }

 private:
  LuaTable table_;
};

}  // namespace gh
