// What must not be in a copy, as data: the values themselves, as they were found. The remover and
// the proof search for them on their own, and share this and nothing else.
#pragma once
#include <string>
#include <vector>

namespace gh::scrubbing {

/// What may stand beside it. Ordinary words and short names are parts of others, which mean
/// something else.
enum class Reach {
  anywhere,
  as_number,  ///< no digit beside it
  as_name,    ///< nor an ASCII letter
  as_word     ///< nor an underscore
};

struct Sought {
  std::string text;
  Reach reach = Reach::anywhere;
  bool any_case = true;  ///< ASCII letters of either case
  /// Digits, which stand in numbers by chance.
  bool in_texts_only = false;
  bool is_secret = false;  ///< it goes however it is encoded; other values where they are readable
  const char* instead = "[removed]";
  std::string origin;  ///< the variable or kind that it is of, for messages; never the value
};

using SoughtList = std::vector<Sought>;

/// What stands in the place of what was removed, home and other folders aside.
inline constexpr const char* replacement = "[removed]";

}  // namespace gh::scrubbing
