// The kinds of programs that there are, and the names that give them away: schemas/programs.toml.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/patterns.hpp"

namespace gh {

/// Where a name stands that gives a program away, the most telling first.
enum class NamePlace : std::uint8_t { kernel, range, thread, count };
inline constexpr auto name_places = static_cast<std::size_t>(NamePlace::count);

/// A row of the schema, whose head says what each field is.
struct KindRow {
  std::string of, key, name, within;
  std::array<std::vector<std::string>, name_places> match;
  Patterns except;
  std::vector<std::string> formats, implies, together;
  bool models = false, names_backward = false;
};

struct Kinds {
  std::vector<KindRow> all;
  std::array<PatternLists, name_places> match;  ///< of a list for each of `all`
  PatternLists together;                        ///< of all kinds, one list an expression
  std::vector<std::size_t> together_of;         ///< whose each is
  Patterns interpreters;                        ///< processes that run programs of other languages

  /// Null where there is no such kind.
  const KindRow* find(std::string_view key) const;
};

const Kinds& kinds();

}  // namespace gh
