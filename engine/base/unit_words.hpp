// How reports name the unit that a program repeats.
#pragma once
#include <string>
#include <string_view>

namespace gh {

/// The unit's name when nothing repeats and the whole recording counts as one.
inline constexpr const char* window_unit = "window";

/// The forms that sentences need of a unit's name: "training step", "token".
struct UnitWords {
  std::string name = "step";   ///< in full: "training step"
  std::string noun = "step";   ///< in running text, where "step" is enough
  std::string many = "steps";  ///< "steps", "tokens", "batches"
  std::string a = "a step";  ///< "a step", "an iteration"; "the window", because there is only one
  std::string per = "a step";  ///< after an amount: "3 ms a step"; "in all" for a window

  UnitWords() = default;
  explicit UnitWords(std::string full_name);
  bool is_window() const { return name == window_unit; }
};

/// Whether somebody who asks for "tokens", "Step" or "training step" means the unit of this name.
bool is_called(std::string_view name, std::string_view asked);

/// The text with a capital first letter.
std::string capitalized(std::string text);

}  // namespace gh
