// Finds launches that take turns: in a loop, what happens once in each pass alternates, A B C A B
// C.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "analysis/launch_sequence.hpp"

namespace gh {

/// The places of launches that are alike, in order.
using Places = std::span<const std::uint32_t>;

/// The places of each token.
class PlacesOf {
 public:
  explicit PlacesOf(const LaunchSequence::Tokens& tokens);
  std::size_t size() const { return from_.size() - 1; }
  Places operator[](std::size_t t) const {
    return Places(places_).subspan(from_[t], from_[t + 1] - from_[t]);
  }

 private:
  std::vector<std::uint32_t> from_, places_;
};

/// Launches that occur equally often and alternate: the places of the one that comes first, and how
/// many there are.
struct Turns {
  Places first;
  std::size_t kinds = 1;
};

/// Finds the turns in a sequence; the result refers to this object.
class TurnSearch {
 public:
  /// Fewer occurrences do not prove a loop.
  static constexpr std::size_t least_count = 3;

  explicit TurnSearch(const LaunchSequence& sequence);
  /// Turns with the most kinds first; among equals, those that occur rarely.
  std::vector<Turns> all() const;
  /// Where nothing occurs once in each pass (A B A C B C), something occurs several times in each,
  /// at distances that repeat: takes one of these per pass.
  std::vector<Turns> of_several();
  /// Those that occur twice, A B C A B C: the turns with the most kinds; nothing if none do.
  std::optional<Turns> of_two() const;

 private:
  const LaunchSequence& seq_;
  const PlacesOf alike_, exact_, on_stream_;
  std::deque<std::vector<std::uint32_t>> one_of_several_;  // places, by token
};

}  // namespace gh
