// The kinds of programs, and the names that identify them: schemas/programs.toml.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/patterns.hpp"

namespace gh {

/// Where a name that identifies a program may occur, the most reliable first.
enum class NamePlace : std::uint8_t { kernel, range, thread, count };
inline constexpr auto name_places = static_cast<std::size_t>(NamePlace::count);

/// A row of the schema; the head of the schema explains each field.
struct KindRow {
  std::string of, key, name, within;
  std::array<std::vector<std::string>, name_places> match;
  Patterns except;
  std::vector<std::string> formats, implies, together;
  bool models = false, names_backward = false, device_loops = false;
};

struct Kinds {
  std::vector<KindRow> all;
  std::array<PatternLists, name_places> match;  ///< one list for each of `all`
  PatternLists together;                        ///< of all kinds, one list per expression
  std::vector<std::size_t> together_of;         ///< which kind each expression belongs to
  Patterns interpreters;         ///< processes that run programs written in other languages
  CapturingPatterns optimizers;  ///< ranges that name the class of an optimizer

  /// Null if there is no such kind.
  const KindRow* find(std::string_view key) const;
};

const Kinds& kinds();

}  // namespace gh
