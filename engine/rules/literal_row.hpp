// One row of a literal trace: times and a name by position, everything else by name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/spans.hpp"

struct lua_State;

namespace gh {

/// The table on top of Lua's stack, which has to stay there while the row is read. Throws Error
/// that says in which row what is wrong.
class LiteralRow {
 public:
  /// `where` is how messages name it: "ops[3]". Refuses fields other than `fields`.
  LiteralRow(lua_State* lua, std::string where, const std::vector<std::string>& fields);

  /// By position, from 1 on. Times are written in microseconds.
  Ns time(int position) const;
  std::string text_at(int position) const;
  double number_at(int position) const;

  /// By name. What has another type counts as absent.
  bool has(const char* field) const;
  bool is_true(const char* field) const;
  bool is_false(const char* field) const;  ///< false itself, not absent
  std::string text(const char* field, const std::string& otherwise) const;
  double number(const char* field, double otherwise) const;
  std::optional<Span> span(const char* field) const;  ///< written as { from, to }

 private:
  lua_State* lua_;
  int index_;
  std::string where_;
};

}  // namespace gh
