// The conditions for rows to be in a selection.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/binding/fields.hpp"
#include "rules/binding/rows.hpp"

namespace gh::binding {

/// A text matches if it matches one of these patterns.
struct Globs {
  std::vector<std::string> list;
  /// Charges the rule for long texts. Throws Error.
  bool match(const Context& c, std::string_view text) const;
};

/// Whether a row passes.
using RowTest = std::function<bool(const Context&, const Rows&, Row)>;

/// A test of a text field. Matches patterns once for each distinct text, not for each row.
RowTest text_test(Field field, const Globs& globs);

/// All tests of one filter. Nearly every filter of millions of rows uses name, class and kind, so
/// these are tested once for each name and then looked up.
class Filter {
 public:
  /// For rows of one kind. Without tests, all of them pass.
  Filter(const Context& c, Kind kind);

  // Each of these adds a condition.
  void test(RowTest passes) { tests_.push_back(std::move(passes)); }
  void text(const Context& c, Field field, const Globs& globs);
  void none() { none_ = true; }

  /// The same for equal filters, whoever asks; "" without conditions, or if one is a selection.
  const std::string& asked() const { return asked_; }
  void asks(std::string text) { asked_ = std::move(text); }

  /// Those of `all` that pass.
  Rows of(const Context& c, const Rows& all) const;

 private:
  using NameTest = std::function<bool(NameId)>;
  using Answer = std::int8_t;
  static constexpr Answer not_asked = -1;
  static constexpr std::size_t op_kinds = static_cast<std::size_t>(OpKind::graph) + 1;
  static constexpr std::size_t idle_causes = static_cast<std::size_t>(IdleCause::unknown) + 1;

  bool quick_text(const Context& c, Field field, const Globs& globs);
  void name_test(const Context& c, NameTest passes);
  void kernel_class(const Context& c, const Globs& globs);
  void call_class(const Context& c, const Globs& globs);
  bool ask(NameId name) const;
  // Of each row that a rule looks through.
  bool passes_by_name(NameId name) const {
    const Answer answer = name_answers_[name];
    return answer == not_asked ? ask(name) : answer != 0;
  }
  RowSet passing(const Context& c, const Rows& all) const;
  template <class Quick>
  RowSet passing(const Context& c, const Rows& all, Quick quick) const;

  Kind kind_;
  std::string asked_;
  bool none_ = false;
  const OpKind* kind_of_row_;  // null for rows that are not operations
  const NameId* name_of_row_;  // null for rows without names
  std::array<bool, op_kinds> op_kinds_;
  bool any_cause_ = true;
  std::array<bool, idle_causes> causes_;
  std::vector<NameTest> name_tests_;
  // By NameId: the result of name_tests_, once needed; empty if there are none.
  mutable std::vector<Answer> name_answers_;
  std::vector<RowTest> tests_;
};

/// The filter at `index` of the stack: a table such as { class = "gemm_*" }, or nothing at all.
/// Throws Error.
Filter to_filter(lua_State* lua, int index, Kind kind);

}  // namespace gh::binding
