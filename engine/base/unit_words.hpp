// How reports speak of what a program repeats.
#pragma once
#include <string>
#include <string_view>

namespace gh {

/// What one repetition is called where nothing repeats: the whole recording is one.
inline constexpr const char* window_unit = "window";

/// The forms that sentences need of the name of what repeats: "training step", "token".
struct UnitWords {
  std::string name = "step";   ///< in full: "training step"
  std::string noun = "step";   ///< in running text, where "step" says as much
  std::string many = "steps";  ///< "steps", "tokens", "batches"
  std::string a = "a step";    ///< "a step", "an iteration"; "the window", of which there is one
  std::string per = "a step";  ///< behind an amount: "3 ms a step"; "in all" of a window

  UnitWords() = default;
  explicit UnitWords(std::string full_name);
  bool is_window() const { return name == window_unit; }
};

/// Whether a unit of this name is meant by somebody who asks for "tokens", "Step", "training step".
bool is_called(std::string_view name, std::string_view asked);

/// With a capital letter.
std::string capitalized(std::string text);

}  // namespace gh
