// Where the time of every step went: each nanosecond of every step on every device, in exactly one
// cause.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/steps.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Why a GPU did nothing.
enum class IdleCause : std::uint8_t {
  input,
  sync,
  launch,
  allocation,
  compilation,
  dependency,
  unknown
};
const char* name_of(IdleCause);

/// A stretch in which a device did nothing, with one cause. A pause of the GPU falls into several
/// where the host did several things.
struct Idle {
  Span span;
  Row previous = no_row, next = no_row;  ///< the operations around the pause
  Row call = no_row;  ///< sync, allocation, compilation: the call in which the thread was
  std::uint16_t thread = no_index;  ///< that launched `next`
  IdleCause cause = IdleCause::unknown;
  bool inferred : 1 = false;   ///< input: no range says so, the way the host spent the time does
  bool by_upload : 1 = false;  ///< input: only that data went up after the pause speaks for it
  bool drained : 1 = false;  ///< the thread had let the GPU run dry by waiting for it, and has not
                             ///< got ahead of it again since
  friend bool operator==(const Idle&, const Idle&) = default;
};

/// Idle stretches in order, of which a report has millions: several threads put them into the list
/// at once, and nothing of it moves as it grows.
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

  /// Makes room for `n` more, which must be `put` there before anything else is done with the list.
  /// Returns the place of the first.
  std::size_t grow(std::size_t n);
  /// Writes what is to stand from a place on. Several threads may write to places of their own.
  void put(std::size_t at, std::span<const Idle> idle);

 private:
  static constexpr std::size_t block = 1 << 14;
  struct Free {
    void operator()(Idle* idle) const { std::allocator<Idle>().deallocate(idle, block); }
  };
  std::vector<std::unique_ptr<Idle, Free>>
      blocks_;  // of memory that is not touched before something is put there
  std::size_t size_ = 0;
};

/// The account of one device.
struct DeviceAccount {
  Spans window;                          ///< the steps, joined
  Ns busy_ns = 0;                        ///< of the window: GPU work and unified-memory stalls
  Ns longest_idle_ns = 0;                ///< the longest pause, whatever its causes
  IdleList idle;                         ///< what is not busy of the window
  std::vector<std::vector<Ns>> step_ns;  ///< [step][cause]: each step's row adds up to its length
};

/// The account of a report. Causes are, in this precedence (a nanosecond goes to the first that
/// claims it):
///   um_stall                 page faults of unified memory being handled, and unified copies, also
///   while a kernel waits for them compute.<class>          kernels by class
///   (schemas/kernels.toml), then compute.graph for graphs traced whole, then
///                            compute.device_copy for copies and memsets that stay on the device
///   communication_exposed    collectives with no compute beside them
///   copy_exposed             copies over a link with no compute or collective beside them
///   idle.<cause>             nothing on the GPU
struct Account {
  std::vector<std::string> causes;
  std::vector<DeviceAccount> devices;  ///< parallel to the DeviceSteps they were made of
  std::vector<IdleCause> idle_causes;  ///< of every Idle, one device after the other: what is asked
                                       ///< of all of them, again and again
  /// The sum over devices and steps of one cause; 0 for one that is not listed.
  Ns total_ns(const std::string& cause) const;
  Ns total_ns() const;  ///< over all causes: the sum of all steps on all devices
};

/// `chunk_size`: after about how many operations a device's time is cut, so that several threads
/// can work on it. The account does not depend on it.
Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const std::vector<DeviceSteps>& devices, std::size_t chunk_size = 1 << 15);

/// "compute.gemm_half" -> "compute: GEMM, half precision"
std::string cause_label(const std::string& cause);

}  // namespace gh
