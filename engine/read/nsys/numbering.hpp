// Numbers what rows refer to (names, threads, streams) in the order first seen. While being read,
// rows hold these small numbers; their meanings are resolved later, once for all rows.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace gh::nsys {

/// A thread's global id is its process's plus the thread's own 24 bits.
inline constexpr std::int64_t thread_mask = 0xFFFFFF, process_mask = ~thread_mask;

/// A stream, as the file identifies it.
struct StreamKey {
  std::int64_t process, device, stream;
  auto operator<=>(const StreamKey&) const = default;
};

/// A name as stored in the file: a string id, or the text itself.
struct FileName {
  std::int64_t id = -1;
  std::string text;
};

/// The same while its row is being read.
struct FileNameView {
  std::int64_t id = -1;
  std::string_view text;
};

/// Numbers keys of any kind. Most rows repeat the previous row's key.
template <class Key>
class Numbering {
 public:
  std::uint32_t operator()(const Key& key) {
    if (!keys_.empty() && keys_[last_] == key) return last_;
    const auto [it, added] = index_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (added) keys_.push_back(key);
    return last_ = it->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, std::uint32_t> index_;
  std::vector<Key> keys_;
  std::uint32_t last_ = 0;
};

/// Numbers names. String ids are usually small and occur in every row, so an array looks them up.
class NameNumbering {
 public:
  std::uint32_t operator()(const FileNameView& name) {
    if (name.id < 0 || name.id >= dense_limit) return others_number(name);
    const auto id = static_cast<std::size_t>(name.id);
    if (id >= dense_.size()) dense_.resize(std::max(id + 1, 2 * dense_.size()), unseen);
    if (dense_[id] == unseen) dense_[id] = add(name);
    return dense_[id];
  }
  const std::vector<FileName>& keys() const { return keys_; }

 private:
  static constexpr std::int64_t dense_limit = 1 << 22;
  static constexpr std::uint32_t unseen = no_row;
  struct Slot {
    std::size_t hash = 0;
    std::uint32_t number = unseen;
  };

  std::uint32_t add(const FileNameView& name) {
    keys_.push_back({name.id, std::string(name.text)});
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }

  // The number of a large id or a text.
  std::uint32_t others_number(const FileNameView& name) {
    if (name.id != -1) {
      const auto [it, added] = sparse_.try_emplace(name.id, unseen);
      return added ? it->second = add(name) : it->second;
    }
    if (2 * texts_ >= slots_.size()) grow();
    const std::size_t hash = std::hash<std::string_view>()(name.text);
    Slot& slot = slot_of(hash, name.text);
    if (slot.number == unseen) {
      slot = {hash, add(name)};
      ++texts_;
    }
    return slot.number;
  }

  // Where a text is, or would go. Not a std::unordered_map, whose nodes are scattered in memory:
  // there may be as many texts as rows.
  Slot& slot_of(std::size_t hash, std::string_view text) {
    for (std::size_t i = hash;; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.number == unseen || (slot.hash == hash && keys_[slot.number].text == text)) {
        return slot;
      }
    }
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != unseen) slot_of(slot.hash, keys_[slot.number].text) = slot;
    }
  }

  std::vector<FileName> keys_;
  std::vector<std::uint32_t> dense_;              // by id
  std::map<std::int64_t, std::uint32_t> sparse_;  // large ids
  std::vector<Slot> slots_;                       // texts: a hash table; its size is a power of two
  std::size_t texts_ = 0;                         // in the table
};

/// The numbers that one thread has assigned while reading one table.
struct Numbers {
  NameNumbering names;
  Numbering<std::int64_t> threads;
  Numbering<StreamKey> streams;
};

}  // namespace gh::nsys
