// The values that must not be in a copy, as they were found. The remover and the proof search for
// them independently and share nothing else.
#pragma once
#include <string>
#include <vector>

namespace gh::scrubbing {

/// What may be next to it. Ordinary words and short names are parts of other words, which mean
/// something else.
enum class Reach {
  anywhere,
  as_number,  ///< no digit next to it
  as_name,    ///< nor an ASCII letter
  as_word     ///< nor an underscore
};

struct Sought {
  std::string text;
  Reach reach = Reach::anywhere;
  bool any_case = true;  ///< ignores the case of ASCII letters
  /// Digits, which occur in numbers by chance.
  bool in_texts_only = false;
  bool is_secret = false;  ///< removed in any encoding; other values only in readable ones
  const char* instead = "[removed]";
  std::string origin;  ///< its variable or kind, for messages; never the value
};

using SoughtList = std::vector<Sought>;

/// Replaces what was removed, except home and other folders.
inline constexpr const char* replacement = "[removed]";

}  // namespace gh::scrubbing
