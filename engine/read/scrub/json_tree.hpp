// JSON as a tree with every member of its objects. Of members with one key most readers keep the
// last, but what has to go may stand in any.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace gh::scrubbing {

/// The members of an object in their order. Looking one up finds the first of its key.
template <class Key, class T, class Less = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, T>>>
struct EveryMember : nlohmann::ordered_map<Key, T, Less, Allocator> {
  using nlohmann::ordered_map<Key, T, Less, Allocator>::ordered_map;

  /// Both add a member, whatever there is. The parser calls the second.
  auto emplace(const Key& key, T value) {
    this->emplace_back(key, std::move(value));
    return std::pair(std::prev(this->end()), true);
  }
  T& operator[](const Key& key) { return emplace(key, T()).first->second; }
};

using Json = nlohmann::basic_json<EveryMember>;

}  // namespace gh::scrubbing
