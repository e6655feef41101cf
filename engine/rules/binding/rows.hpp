// What a rule calls a selection: rows of one kind of event, with a common interface for all kinds.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rules/binding/context.hpp"
#include "trace/row_set.hpp"

namespace gh::binding {

enum class Kind { ops, calls, ranges, os_calls, gpu_faults, idle, steps, chains };

/// A run of operations on one stream, from `trace:chains` or `trace:runs`.
struct Chain {
  Span span;
  Row op;  ///< the one that represents it: the center of a chain, the first of a run
};
using Chains = std::vector<Chain>;

struct Rows {
  Kind kind = Kind::ops;
  RowSet rows;  ///< of the trace; for idle, steps and chains: of Context's lists or `chains`
  std::shared_ptr<const Chains> chains = nullptr;  ///< for Kind::chains

  std::size_t bytes() const {
    return sizeof(Rows) + rows.bytes() + (chains ? chains->size() * sizeof(Chain) : 0);
  }
};

// Inline, since verbs call these for millions of rows.

inline Span span_of(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.trace();
  switch (s.kind) {
    case Kind::ops: return t.span_of(r);
    case Kind::calls: return {t.calls.start[r], t.calls.end[r]};
    case Kind::ranges: return {t.ranges.start[r], t.ranges.end[r]};
    case Kind::os_calls: return {t.os_calls.start[r], t.os_calls.end[r]};
    case Kind::gpu_faults: return {t.gpu_faults.start[r], t.gpu_faults.end[r]};
    case Kind::idle: return c.idle_of(r).span;
    case Kind::steps: return c.step_of(r).span;
    case Kind::chains: return (*s.chains)[r].span;
  }
  return {};
}

/// The slot of the row's device; no_slot for host activity.
inline std::size_t slot_of(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.trace();
  switch (s.kind) {
    case Kind::ops: return c.slot_of_stream[t.ops.stream[r]];
    case Kind::gpu_faults: return c.slot_of_device[t.gpu_faults.device[r]];
    case Kind::idle: return Context::place(c.idle_until, r).slot;
    case Kind::steps: return Context::place(c.steps_until, r).slot;
    case Kind::chains: return c.slot_of_device[t.device_of((*s.chains)[r].op)];
    default: return no_slot;
  }
}

/// The host thread; no_index for device activity. Idle time belongs to the launching thread.
inline std::uint16_t thread_of(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.trace();
  switch (s.kind) {
    case Kind::calls: return t.calls.thread[r];
    case Kind::ranges: return t.ranges.thread[r];
    case Kind::os_calls: return t.os_calls.thread[r];
    case Kind::idle: return c.idle_of(r).thread;
    default: return no_index;
  }
}

/// The process that a row belongs to; no_index if it is not known.
inline std::uint16_t process_of(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.trace();
  if (s.kind == Kind::ops) return t.process_of(r);
  if (const std::size_t slot = slot_of(c, s, r); slot != no_slot)
    return c.analysis.devices[slot].process;
  const std::uint16_t thread = thread_of(c, s, r);
  return thread == no_index ? no_index : t.threads[thread].process;
}

/// By row, the names of rows of such a kind; null if they have none.
inline const NameId* names_of(const Context& c, Kind kind) {
  const Trace& t = c.trace();
  switch (kind) {
    case Kind::ops: return t.ops.name.data();
    case Kind::calls: return t.calls.name.data();
    case Kind::ranges: return t.ranges.name.data();
    case Kind::os_calls: return t.os_calls.name.data();
    default: return nullptr;
  }
}

}  // namespace gh::binding
