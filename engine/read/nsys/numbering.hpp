// What rows refer to (names, threads, streams), numbered in order of first sight: rows hold small
// numbers while they are read, and what each means is found out once for all of them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace gh::nsys {

/// The global id of a thread is that of its process plus the thread's own 24 bits.
inline constexpr std::int64_t thread_mask = 0xFFFFFF, process_mask = ~thread_mask;

/// A stream, as the file tells it from others.
struct StreamKey {
  std::int64_t process, device, stream;
  auto operator<=>(const StreamKey&) const = default;
};

/// A name as the file has it: the id of a string, or the text itself.
struct FileName {
  std::int64_t id = -1;
  std::string text;
};

/// The same while its row is read.
struct FileNameView {
  std::int64_t id = -1;
  std::string_view text;
};

/// Keys of any kind, numbered. Most rows repeat the key of the row before.
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

/// Names, numbered. Ids of strings are small, as a rule, and come in every row: an array finds
/// them.
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

  // Of a large id, or of a text.
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

  // Where a text is, or would be. Not a std::unordered_map, whose nodes lie all over memory: there
  // may be as many texts as rows.
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
  std::vector<Slot> slots_;                       // texts: a hash table of a power of two of slots
  std::size_t texts_ = 0;                         // in it
};

/// The numbers that one thread has given to what it saw of one table.
struct Numbers {
  NameNumbering names;
  Numbering<std::int64_t> threads;
  Numbering<StreamKey> streams;
};

}  // namespace gh::nsys
