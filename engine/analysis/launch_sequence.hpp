// What a program asked of a device, in order: launches, and the calls between them that wait or
// allocate memory. Entries that are alike have the same number: where numbers repeat, the program
// loops.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

class LaunchSequence {
 public:
  /// Entries with the same number are alike; numbers count from 0, separately for each notion of
  /// alike.
  using Token = std::uint32_t;
  struct Tokens {
    std::vector<Token> at;  ///< by place
    std::size_t count = 0;
  };

  /// For a device's operations, except migrations of unified memory, which the program did not
  /// launch. Only calls that begin in `calls_in` count.
  LaunchSequence(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const std::vector<Row>& device_ops, Span calls_in = {0, open_end});

  /// These entries alone, with the same numbers.
  LaunchSequence at(const std::vector<std::size_t>& places) const;

  std::size_t size() const { return begun_.size(); }
  /// no_row for a call that launches nothing
  Row op(std::size_t i) const { return ops_[i]; }
  /// Whether it is a call that waits for the device.
  bool waits(std::size_t i) const { return waits_[i] != 0; }
  /// When the host began it.
  Ns begun(std::size_t i) const { return begun_[i]; }
  /// How long the program did something else before it.
  Ns pause_before(std::size_t i) const { return pause_[i]; }
  /// How long the device worked on it. Collectives do not count: they last as long as they wait for
  /// other ranks, which may do something else meanwhile.
  Ns busy_ns(std::size_t i) const { return busy_ns_[i]; }
  bool is(std::size_t i, OpKind kind) const {
    return ops_[i] != no_row && trace_.ops.kind[ops_[i]] == kind;
  }

  /// Same kind and name; products by class, since libraries choose kernels by size.
  const Tokens& alike() const { return alike_; }
  const Tokens& exact() const { return exact_; }  ///< same name and size: grid, bytes
  /// Same stream as well; empty if there is only one.
  const Tokens& on_stream() const { return on_stream_; }

  /// Same kind and name as well as the same three entries before it on its stream: distinguishes an
  /// order from a random mix. 0 for the first three.
  const Tokens& in_order() const { return in_order_; }

 private:
  struct Entry;
  explicit LaunchSequence(const Trace& trace) : trace_(trace) {}
  static std::vector<char> minor_threads(const Trace& trace, const std::vector<Entry>& all);
  std::vector<Entry> entries(const NameClasses& names, const std::vector<Row>& device_ops,
                             Span calls_in) const;
  void number_orders();
  void number(const Classes& classes, const NameClasses& names, const std::vector<Entry>& entries);

  const Trace& trace_;
  std::vector<Row> ops_;
  std::vector<Ns> begun_, pause_;  // on the host
  std::vector<Ns> busy_ns_;        // on the device
  std::vector<char> waits_;
  Tokens alike_, exact_, on_stream_, in_order_;
};

}  // namespace gh
