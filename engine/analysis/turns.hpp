// Launches that take turns: in a loop, what happens once in each pass alternates, A B C A B C.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "analysis/launch_sequence.hpp"

namespace gh {

/// Where launches that are alike stand, in order.
using Places = std::span<const std::uint32_t>;

/// Where each token stands.
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

/// Launches that occur as often as each other and alternate: the places of the one that comes
/// first, and how many there are.
struct Turns {
  Places first;
  std::size_t kinds = 1;
};

/// The turns in a sequence; what it returns refers to it.
class TurnSearch {
 public:
  /// Fewer occurrences prove no loop.
  static constexpr std::size_t least_count = 3;

  explicit TurnSearch(const LaunchSequence& sequence);
  /// Those of which most take turns first; among equals, those that come seldom.
  std::vector<Turns> all() const;
  /// Where nothing comes once (A B A C B C), something comes several times in each, at distances
  /// that repeat: one of them in each is taken.
  std::vector<Turns> of_several();

 private:
  const LaunchSequence& seq_;
  const PlacesOf alike_, exact_, on_stream_;
  std::deque<std::vector<std::uint32_t>> one_of_several_;  // places, by token
};

}  // namespace gh
