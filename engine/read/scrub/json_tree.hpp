// JSON as a tree that keeps every member of its objects. If members share a key, most readers keep
// only the last, but any of them may contain what must be removed.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace gh::scrubbing {

/// The members of an object in order. Looking up a key finds the first member with it.
template <class Key, class T, class Less = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, T>>>
struct EveryMember : nlohmann::ordered_map<Key, T, Less, Allocator> {
  using nlohmann::ordered_map<Key, T, Less, Allocator>::ordered_map;

  /// Both add a member even if there is one with that key. The parser calls the second.
  auto emplace(const Key& key, T value) {
    this->emplace_back(key, std::move(value));
    return std::pair(std::prev(this->end()), true);
  }
  T& operator[](const Key& key) { return emplace(key, T()).first->second; }
};

using Json = nlohmann::basic_json<EveryMember>;

}  // namespace gh::scrubbing
