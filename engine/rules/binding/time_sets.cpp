#include "rules/binding/time_sets.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/span_cursor.hpp"

namespace gh::binding {
namespace {

// Calls take(slot, span) with the time of every row. Kinds with millions of rows have separate
// loops.
template <class Take>
void each_span(const Context& c, const Rows& s, Take take) {
  const Trace& t = c.trace();
  switch (s.kind) {
    case Kind::ops:
      s.rows.each([&](Row r) {
        take(c.slot_of_stream[t.ops.stream[r]], Span{t.ops.start[r], t.ops.end[r]});
      });
      break;
    case Kind::idle:
      s.rows.each([&](Row r) {
        const Context::Place at = Context::place(c.idle_until, r);
        take(at.slot, c.analysis.account.devices[at.slot].idle[at.index].span);
      });
      break;
    case Kind::calls:
      s.rows.each([&](Row r) { take(no_slot, Span{t.calls.start[r], t.calls.end[r]}); });
      break;
    default: s.rows.each([&](Row r) { take(slot_of(c, s, r), span_of(c, s, r)); });
  }
}

// Whether rows are in order of time. Steps and chains are ordered by device or stream.
bool in_order_of_time(Kind kind) { return kind != Kind::chains && kind != Kind::steps; }

Span clipped(Span span, Span window) {
  return {std::max(span.start, window.start), std::min(span.end, window.end)};
}

// The part within the analyzed time of a device, or of the host.
Spans within_steps(const Context& c, std::size_t slot, std::vector<Span> spans) {
  const Spans window = slot == no_slot ? Spans{c.window} : c.analysis.account.devices[slot].window;
  if (window.size() != 1) return intersection(united(std::move(spans)), window);
  // Nearly always the case: avoids a second copy of what may be millions of spans.
  for (Span& span : spans) span = clipped(span, window[0]);
  return united(std::move(spans));
}

// Calls take(slot, span) with the parts of time_of, each device's in order, without storing them.
// Returns false, without calling take, if rows are not in order of time.
template <class Take>
bool stream_time(const Context& c, const Rows& s, Take take) {
  if (!in_order_of_time(s.kind)) return false;
  const std::size_t host = c.analysis.devices.size();  // index in these lists
  std::vector<Span> windows(host + 1, Span{0, 0}), last(host + 1, Span{0, 0});
  windows[host] = c.window;
  for (std::size_t slot = 0; slot < host; ++slot) {
    const Spans& window = c.analysis.account.devices[slot].window;
    if (window.size() > 1) return false;
    if (!window.empty()) windows[slot] = window.front();
  }
  const auto slot_at = [&](std::size_t i) { return i == host ? no_slot : i; };
  each_span(c, s, [&](std::size_t slot, Span whole) {
    const std::size_t i = std::min(slot, host);
    const Span span = clipped(whole, windows[i]);
    if (span.start >= span.end) return;
    Span& open = last[i];
    if (open.start < open.end && span.start <= open.end) {
      open.end = std::max(open.end, span.end);
      return;
    }
    if (open.start < open.end) take(slot_at(i), open);
    open = span;
  });
  for (std::size_t i = 0; i <= host; ++i) {
    if (last[i].start < last[i].end) take(slot_at(i), last[i]);
  }
  return true;
}

// The length of what `streamed` covers, and of what both cover, without storing the time of
// `streamed`, which may be millions of spans. Nothing if rows are not in order of time.
struct Streamed {
  Ns own = 0, both = 0;
};
std::optional<Streamed> stream_beside(const Context& c, const Rows& streamed,
                                      const TimeSets& held) {
  const std::size_t host = c.analysis.devices.size();  // index in this list
  std::vector<std::vector<SpanCursor<Span>>> cursors(host +
                                                     1);  // into the sets that concern each slot
  for (std::size_t i = 0; i < cursors.size(); ++i) {
    for (const auto& [slot, set] : held) {
      // Host activity concerns every device, and any device's activity concerns the host.
      if (slot == i || slot == no_slot || i == host) cursors[i].emplace_back(set);
    }
  }
  Streamed sums;
  const bool done = stream_time(c, streamed, [&](std::size_t slot, Span span) {
    sums.own += span.length();
    for (SpanCursor<Span>& cursor : cursors[std::min(slot, host)])
      sums.both += cursor.overlap(span);
  });
  return done ? std::optional(sums) : std::nullopt;
}

// Streams the time of the larger of two selections. Nothing if rows may be on devices that are not
// analyzed.
std::optional<double> combined_by_stream(const Context& c, const Rows& a, const Rows& b,
                                         bool common) {
  const std::size_t devices = c.analysis.devices.size();
  if (devices < c.trace().devices.size()) return std::nullopt;
  // Host time outside of every device's time cannot be computed device by device.
  if (!common && devices > 1) return std::nullopt;
  const bool hold_first = a.rows.size() <= b.rows.size();
  const TimeSets held = time_of(c, hold_first ? a : b);
  const auto streamed = stream_beside(c, hold_first ? b : a, held);
  if (!streamed) return std::nullopt;
  if (common) return static_cast<double>(streamed->both);
  Ns first = 0;
  if (hold_first) {
    for (const auto& [slot, set] : held) first += total(set);
  } else {
    first = streamed->own;
  }
  return static_cast<double>(first - streamed->both);
}

// The host against devices: common time counts with each of them, exposed time if none is active.
double host_against(const Spans& host, const TimeSets& devices, bool common) {
  double sum = 0;
  std::vector<Span> all;
  for (const auto& [slot, set] : devices) {
    if (common) sum += static_cast<double>(overlap(host, set));
    all.insert(all.end(), set.begin(), set.end());
  }
  return common ? sum : static_cast<double>(total(difference(host, united(std::move(all)))));
}

double combined(const Context& c, const Rows& a, const Rows& b, bool common) {
  if (const auto streamed = combined_by_stream(c, a, b, common)) return *streamed;
  const TimeSets sets = time_of(c, a), others = time_of(c, b);
  double sum = 0;
  for (const auto& [slot, set] : sets) {
    if (slot == no_slot && !others.contains(slot)) {
      sum += host_against(set, others, common);
      continue;
    }
    const Ns both = overlap(set, set_for(others, slot));
    sum += static_cast<double>(common ? both : total(set) - both);
  }
  return sum;
}

// Applies `ns_of` to a selection, with idle time, by its cause, as it is without the profiler.
template <class NsOf>
double without_profiler(const Context& c, const Rows& s, NsOf ns_of) {
  const StepTime& step = c.step;
  if (step.as_recorded()) return ns_of(s);
  if (s.kind != Kind::idle) return s.kind == Kind::ops ? step.work * ns_of(s) : ns_of(s);
  double sum = 0;
  for (std::size_t cause = 0; cause < idle_causes; ++cause) {
    Rows of_cause{s.kind, s.rows.where([&](Row r) {
                    return c.analysis.account.idle_causes[r] == static_cast<IdleCause>(cause);
                  })};
    if (!of_cause.rows.empty()) sum += step.of(static_cast<IdleCause>(cause)) * ns_of(of_cause);
  }
  return sum;
}

}  // namespace

TimeSets time_of(const Context& c, const Rows& s, const TimeSets* near) {
  struct Raw {
    std::vector<Span> spans;
    std::optional<SpanCursor<Span>> near;
  };
  std::map<std::size_t, Raw> raw;
  std::size_t slot = no_slot;
  Raw* of_slot = nullptr;  // rows of one device are usually adjacent
  const bool ask_near = near && in_order_of_time(s.kind);
  each_span(c, s, [&](std::size_t next, Span span) {
    if (!of_slot || next != slot) {
      slot = next;
      const auto [it, added] = raw.try_emplace(slot);
      of_slot = &it->second;
      static const Spans nothing;
      if (added && ask_near && slot != no_slot) {
        of_slot->near.emplace(near->contains(slot) ? near->at(slot) : nothing);
      }
    }
    if (!of_slot->near || of_slot->near->overlap(span) > 0) of_slot->spans.push_back(span);
  });
  TimeSets sets;
  for (auto& [device, of_device] : raw) {
    sets[device] = within_steps(c, device, std::move(of_device.spans));
  }
  return sets;
}

const Spans& set_for(const TimeSets& sets, std::size_t slot) {
  static const Spans none;
  if (const auto it = sets.find(slot); it != sets.end()) return it->second;
  if (const auto host = sets.find(no_slot); host != sets.end()) return host->second;
  return none;
}

Ns recorded_time(const Context& c, const Rows& s) {
  Ns sum = 0;
  if (stream_time(c, s, [&](std::size_t, Span span) { sum += span.length(); })) return sum;
  for (const auto& [slot, set] : time_of(c, s)) sum += total(set);
  return sum;
}

double total_time(const Context& c, const Rows& s) {
  return without_profiler(
      c, s, [&](const Rows& rows) { return static_cast<double>(recorded_time(c, rows)); });
}

double common_time(const Context& c, const Rows& a, const Rows& b) {
  if (b.kind == Kind::idle)
    return without_profiler(c, b, [&](const Rows& idle) { return combined(c, a, idle, true); });
  return without_profiler(c, a, [&](const Rows& rows) { return combined(c, rows, b, true); });
}

double exposed_time(const Context& c, const Rows& a, const Rows& b) {
  // What idle time takes away from it counts as idle time does.
  if (b.kind == Kind::idle && a.kind != Kind::idle && !c.step.as_recorded())
    return total_time(c, a) - common_time(c, a, b);
  return without_profiler(c, a, [&](const Rows& rows) { return combined(c, rows, b, false); });
}

}  // namespace gh::binding
