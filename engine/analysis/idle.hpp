// Idle time: spans in which a device did nothing, and why. idle_causes.cpp finds the causes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Why a GPU did nothing.
enum class IdleCause : std::uint8_t {
  input,           ///< the launching thread fetched its next batch
  sync,            ///< it waited for the GPU, or refilled it after such a wait
  launch,          ///< it launched as fast as it could
  allocation,      ///< it was in a call that allocates or frees memory
  compilation,     ///< it compiled code, or instantiated a graph
  loading,         ///< it loaded code: a module, or a kernel at its first launch
  faults,          ///< it touched pages of unified memory that were on the GPU
  failed,          ///< it was in a call that failed
  launch_latency,  ///< it had launched; the operation was on its way to the GPU
  dependency,      ///< it had launched in time, but another stream or device delayed the operation
  unknown          ///< it did something else
};
/// How many causes there are.
inline constexpr std::size_t idle_causes = static_cast<std::size_t>(IdleCause::unknown) + 1;
const char* name_of(IdleCause);

/// A span in which a device did nothing, with one cause. A pause of the GPU is split into several
/// where the host did several things.
struct Idle {
  Span span;
  Row previous = no_row, next = no_row;  ///< the operations around the pause
  /// The call that the thread was in, for causes that are calls; where `drained`, the wait.
  Row call = no_row;
  std::uint16_t thread = no_index;  ///< the one that launched `next`
  IdleCause cause = IdleCause::unknown;
  /// input: inferred from how the host spent the time, since no range says so.
  bool inferred : 1 = false;
  /// input: the only evidence is that data was uploaded after the pause.
  bool by_upload : 1 = false;
  /// Not a wait, but time that a wait cost: without it the thread would have been ahead by this
  /// much.
  bool drained : 1 = false;
  friend bool operator==(const Idle&, const Idle&) = default;
};

/// Idle spans in order. A report has millions of them: several threads write to the list at once,
/// and its elements never move as it grows.
class IdleList {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Idle& operator[](std::size_t i) const { return blocks_[i / block].get()[i % block]; }
  Idle& operator[](std::size_t i) { return blocks_[i / block].get()[i % block]; }
  const Idle& front() const { return (*this)[0]; }
  const Idle& back() const { return (*this)[size_ - 1]; }

  struct Iterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = Idle;
    using difference_type = std::ptrdiff_t;
    using pointer = const Idle*;
    using reference = const Idle&;
    const IdleList* list = nullptr;
    std::size_t at = 0;
    const Idle& operator*() const { return (*list)[at]; }
    const Idle* operator->() const { return &**this; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    Iterator operator++(int) { return {list, at++}; }
    bool operator==(const Iterator&) const = default;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

  /// Makes room for `n` more, which must be `put` before anything else is done with the list.
  /// Returns the place of the first.
  std::size_t grow(std::size_t n);
  /// Writes elements from a place on. Several threads may write to different places at once.
  void put(std::size_t at, std::span<const Idle> idle);

 private:
  static constexpr std::size_t block = 1 << 14;
  struct Free {
    void operator()(Idle* idle) const { std::allocator<Idle>().deallocate(idle, block); }
  };
  // Memory is not touched before something is put there.
  std::vector<std::unique_ptr<Idle, Free>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace gh
