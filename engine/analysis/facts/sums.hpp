// Building blocks of facts: quotients, and sums over the operations of steps.
#pragma once
#include "analysis/facts.hpp"

namespace gh::fact {

inline FactValue per(double sum, double of, const char* why_not) {
  return of > 0 ? FactValue(sum / of) : FactValue(Unknown{why_not});
}
inline FactValue per_step(const Analysis& a, double sum) {
  return per(sum, static_cast<double>(a.step_count()), "there are no steps");
}

/// The sum of value(op) over the operations that overlap the steps of their device and for which
/// wanted(op) is true.
template <class Wanted, class Value>
double sum_ops(const Analysis& a, Wanted wanted, Value value) {
  double sum = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    a.each_op_in_steps(d, [&](Row op) {
      if (wanted(op)) sum += static_cast<double>(value(op));
    });
  return sum;
}

inline auto one = [](Row) { return 1; };
/// An operation's time inside the steps is close to its duration, since steps end where operations
/// end.
inline auto length_of(const Analysis& a) {
  return [&a](Row op) { return a.trace.span_of(op).length(); };
}
inline auto bytes_of(const Analysis& a) {
  return [&a](Row op) { return a.trace.ops.bytes[op]; };
}

inline auto is_kernel(const Analysis& a) {
  return [&a](Row op) { return a.trace.ops.kind[op] == OpKind::kernel; };
}
inline auto is_copy(const Analysis& a, CopyKind kind) {
  return [&a, kind](Row op) {
    return a.trace.ops.kind[op] == OpKind::copy && a.trace.ops.copy[op] == kind;
  };
}
inline auto is_migration(const Analysis& a) {
  return [&a](Row op) { return is_unified(a.trace.ops.copy[op]); };
}

}  // namespace gh::fact
