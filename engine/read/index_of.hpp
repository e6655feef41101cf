// Gives what a file refers to (threads, devices) an index in the trace.
#pragma once
#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/error.hpp"
#include "trace/trace.hpp"

namespace gh {

/// The index in `list` of what a key refers to; `made()` makes what is new. Throws Error if there
/// are more of them than a report can have: "{}: contains more than {} {}".
template <class Key, class Item, class Make>
std::uint16_t index_of(const Key& key, std::map<Key, std::uint16_t>& known, std::vector<Item>& list,
                       const Trace& trace, std::size_t most, const char* of_what, Make made) {
  const auto [it, added] = known.try_emplace(key, static_cast<std::uint16_t>(list.size()));
  if (added) {
    if (list.size() >= most)
      throw Error(fmt::format("{}: contains more than {} {}, so it is damaged; record it again",
                              trace.path, most, of_what));
    list.push_back(made());
  }
  return it->second;
}

}  // namespace gh
