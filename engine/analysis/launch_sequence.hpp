// What a program gave a device to do, in order: launches, and the calls between them that wait or
// that take memory. Those that are alike bear one number: where numbers repeat, the program loops.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

class LaunchSequence {
 public:
  /// What entries have in common; numbers from 0 on, separate for each way to look at them.
  using Token = std::uint32_t;
  struct Tokens {
    std::vector<Token> at;  ///< by place
    std::size_t count = 0;
  };

  /// Of a device's operations, migrations of unified memory aside: those the program did not
  /// launch. Of calls those that begin in `calls_in`.
  LaunchSequence(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const std::vector<Row>& device_ops, Span calls_in = {0, open_end});

  std::size_t size() const { return begun_.size(); }
  /// no_row of a call that launches nothing.
  Row op(std::size_t i) const { return ops_[i]; }
  /// Whether it is a call that waits for the device.
  bool waits(std::size_t i) const { return waits_[i] != 0; }
  /// When the host began it.
  Ns begun(std::size_t i) const { return begun_[i]; }
  /// How long the program did something else before.
  Ns pause_before(std::size_t i) const { return pause_[i]; }
  /// How long the device worked on it.
  Ns busy_ns(std::size_t i) const {
    return ops_[i] == no_row ? 0 : trace_.span_of(ops_[i]).length();
  }
  bool is(std::size_t i, OpKind kind) const {
    return ops_[i] != no_row && trace_.ops.kind[ops_[i]] == kind;
  }

  /// Of one kind and name; products by their class, since libraries choose kernels by size.
  const Tokens& alike() const { return alike_; }
  const Tokens& exact() const { return exact_; }  ///< of one name and size: grid, bytes
  /// On one stream as well; empty where there is one only.
  const Tokens& on_stream() const { return on_stream_; }

  /// Of one kind and name as the three before it on its stream: what tells the order in which
  /// things come from a heap of them. 0 of the first three.
  const Tokens& in_order() const { return in_order_; }

 private:
  struct Entry;
  static std::vector<char> minor_threads(const Trace& trace, const std::vector<Entry>& all);
  std::vector<Entry> entries(const NameClasses& names, const std::vector<Row>& device_ops,
                             Span calls_in) const;
  void number_orders();
  void number(const Classes& classes, const NameClasses& names, const std::vector<Entry>& entries);

  const Trace& trace_;
  std::vector<Row> ops_;
  std::vector<Ns> begun_, pause_;  // of the host
  std::vector<char> waits_;
  Tokens alike_, exact_, on_stream_, in_order_;
};

}  // namespace gh
