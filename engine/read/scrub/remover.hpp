// Removes sought values from texts.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "read/scrub/literals.hpp"
#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

class Remover {
 public:
  /// It and everything below throw Error when the time is over.
  Remover(const SoughtList& sought, const Deadline& deadline);

  /// Replaces sought values, even if the text writes them with escapes (of JSON, C, HTML, URLs);
  /// such a text is then written without escapes. False if there was nothing to replace.
  bool remove_from(std::string& text) const;
  /// Whether that would change anything. If a JSON text contains a backslash, its strings may be
  /// escaped, so pass them one by one.
  bool finds_in(std::string_view text) const;

 private:
  bool remove_plain(std::string& text) const;

  std::vector<std::array<std::size_t, 4>> turns_;  // in the order of replacement
  Literals exact_, in_lower_case_;
  Pace pace_;
};

}  // namespace gh::scrubbing
