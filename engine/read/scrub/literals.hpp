// Searches a text for very many others at once, in one pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

struct Literal {
  std::string text;
  Reach reach;
  std::uint32_t turn;  ///< when it is searched for
  const char* instead;
  /// The longest other one that it begins with, set by Literals.
  const Literal* within = nullptr;
};

/// Takes little more memory than the literals themselves, and time in proportion to the text, but
/// for thousands of literals that share a beginning of which the text is full.
class Literals {
 public:
  /// Those with the same text and turn count once: the first of them.
  explicit Literals(std::vector<Literal> all);
  Literals(Literals&&) = default;  // a copy would point into the original
  Literals& operator=(Literals&&) = default;

  /// Calls use(literal, its position) for those in a text, from left to right and without overlaps:
  /// the first one there, and the longest of those that begin there. Only for those of a turn, if
  /// one is given. Ends if use returns false. Throws Error if the pace's deadline has passed.
  using Use = std::function<bool(const Literal&, std::size_t at)>;
  void each_in(std::string_view text, std::optional<std::uint32_t> turn, const Pace& pace,
               const Use& use) const;

 private:
  static constexpr std::size_t most_hashed = 4;
  const Literal* last_not_above(std::string_view rest) const;
  bool may_begin_at(std::string_view text, std::size_t at) const;

  std::vector<Literal> all_;  // in the order of their texts
  std::vector<bool> begun_;   // by a hash of its first bytes: whether any begins with them
  std::size_t least_hashed_ = most_hashed;  // of these bytes: those of shorter ones are all hashed
};

}  // namespace gh::scrubbing
