#include "rules/binding/host_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace gh::binding {
namespace {

// How many rows a backward search looks at: rows further back hardly ever last long enough.
constexpr std::size_t most_looked_at = 100'000;

// The first row that starts at or after a moment.
Row first_from(const std::vector<Ns>& starts, Ns at) {
  return static_cast<Row>(std::lower_bound(starts.begin(), starts.end(), at) - starts.begin());
}

// The first row that starts after a moment.
Row first_after(const std::vector<Ns>& starts, Ns at) {
  return static_cast<Row>(std::upper_bound(starts.begin(), starts.end(), at) - starts.begin());
}

// The last row before `end` for which found(row) holds, or no_row.
template <class Found>
Row last_before(Row end, Found found) {
  std::size_t looked = 0;
  for (Row r = end; r-- > 0 && looked < most_looked_at; ++looked) {
    if (found(r)) return r;
  }
  return no_row;
}

// How long an event lasted within a span; negative if they do not touch.
template <class Events>
Ns shared_ns(const Events& events, Row r, Span span) {
  return std::min(events.end[r], span.end) - std::max(events.start[r], span.start);
}

// The innermost range that the thread was in for all of a span, or no_row.
Row range_of(const Context& c, std::uint16_t thread, Span span) {
  return c.analysis.structure().ranges().first_open(
      thread, span.start, [&](Row r) { return c.trace().ranges.end[r] >= span.end; });
}

// The Python frame that the host was in for most of an idle time, or no_row. They nest, so it is
// the last one to begin.
Row frame_of(const Context& c, const Idle& idle) {
  const Trace& t = c.trace();
  if (idle.thread == no_index || t.frames.size() == 0) return no_row;
  const Nesting& frames = c.analysis.structure().frames();
  const std::size_t begun = frames.begun_before(idle.thread, idle.span.end);
  const Row place = last_before(static_cast<Row>(begun), [&](Row at) {
    return 2 * shared_ns(t.frames, frames.of(idle.thread)[at], idle.span) >= idle.span.length();
  });
  return place == no_row ? no_row : frames.of(idle.thread)[place];
}

// Calls take(row) with the OS calls of the launching thread that touch an idle time.
template <class Take>
void each_os_call(const Trace& t, const Idle& idle, Take take) {
  const OsCalls& calls = t.os_calls;
  const Row first = first_from(calls.start, idle.span.start);
  for (Row r = first; r < calls.size() && calls.start[r] < idle.span.end; ++r) {
    if (calls.thread[r] == idle.thread) take(r);
  }
  // The host runs ahead of the GPU, so it may have begun to wait earlier. Per thread, only the last
  // earlier call can last until then.
  const Row before = last_before(first, [&](Row r) { return calls.thread[r] == idle.thread; });
  if (before != no_row && calls.end[before] > idle.span.start) take(before);
}

// "2 poll calls took 3 ms of it", for the calls that took longest; "" if there are none.
std::string longest_os_call(const Trace& t, const Idle& idle) {
  struct Spent {
    Ns ns = 0;
    int calls = 0;
  };
  std::map<std::string, Spent> by_name;
  each_os_call(t, idle, [&](Row r) {
    Spent& spent = by_name[t.names[t.os_calls.name[r]]];
    spent.ns += shared_ns(t.os_calls, r, idle.span);
    ++spent.calls;
  });
  const auto longest =
      std::max_element(by_name.begin(), by_name.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (longest == by_name.end()) return "";
  const auto& [name, spent] = *longest;
  return fmt::format("{} {} call{} took {} of it", spent.calls, name, spent.calls == 1 ? "" : "s",
                     duration(spent.ns));
}

// The program line that a name contains, if any.
SourceLine line_of(const Context& c, NameId name) {
  const auto& sources = c.analysis.names.sources;
  const auto it = sources.find(name);
  return it == sources.end() ? SourceLine{} : it->second;
}

const Nesting& nesting_of(const Context& c, const Ranges& /*ranges*/) {
  return c.analysis.structure().ranges();
}
const Nesting& nesting_of(const Context& c, const Frames& /*frames*/) {
  return c.analysis.structure().frames();
}

// The row of a thread's innermost range or frame around a moment that names a line of the program;
// no_row if there is none.
template <class Events>
Row naming_a_line(const Context& c, const Events& events, std::uint16_t thread, Ns at) {
  if (events.size() == 0) return no_row;
  const auto names_one = [&](Row r) {
    return events.end[r] >= at && c.analysis.names.sources.contains(events.name[r]);
  };
  const Nesting& nesting = nesting_of(c, events);
  const std::span<const Row> own = nesting.of(thread);
  std::size_t begun = nesting.begun_before(thread, at + 1);
  // What begins at this very moment may end in it: a frame that says where a call was made.
  for (; begun > 0 && events.start[own[begun - 1]] == at; --begun)
    if (names_one(own[begun - 1])) return own[begun - 1];
  return begun == 0 ? no_row : nesting.first_from(own[begun - 1], names_one);
}

// The line that it names; of all threads of the process, the one whose range began last, if
// `beside`.
template <class Events>
SourceLine line_in(const Context& c, const Events& events, std::uint16_t thread, Ns at,
                   bool beside = false) {
  const std::vector<Thread>& threads = c.trace().threads;
  Row found = no_row;
  for (std::uint16_t other = 0; other < threads.size(); ++other)
    if (other == thread || (beside && threads[other].process == threads[thread].process))
      if (const Row r = naming_a_line(c, events, other, at);
          r != no_row && (found == no_row || r > found))
        found = r;
  return found == no_row ? SourceLine{} : line_of(c, events.name[found]);
}

// The forward operator of the backward operator that a thread is in: its row of Trace::forwards.
Row forward_of(const Trace& t, std::uint16_t thread, Ns at) {
  const Forwards& forwards = t.forwards;
  const Row last = last_before(first_after(forwards.start, at),
                               [&](Row f) { return forwards.thread[f] == thread; });
  if (last == no_row) return no_row;
  // Backward operators on a thread do not overlap: only the last one can still be running.
  const Ns start = forwards.start[last];
  const Row end = first_after(t.ranges.start, start);
  for (Row r = first_from(t.ranges.start, start); r < end; ++r) {
    if (t.ranges.thread[r] == thread && t.ranges.end[r] >= at) return last;
  }
  return no_row;
}

// Whether a part of the time deserves a word.
bool matters(Ns part, Ns whole) { return whole > 0 && part >= whole / 10; }

}  // namespace

bool watched(const Trace& trace) {
  return trace.host_samples.size() + trace.cpu_stretches.size() + trace.python_lock.size() > 0;
}

HostWork::Doing doing_during(const Context& c, const Idle& idle, std::size_t slot) {
  // A wait after which the host has not yet got ahead is not what it does now.
  if (idle.call != no_row && !idle.drained) return {c.trace().calls.name[idle.call], 0};
  const std::uint16_t process = c.analysis.devices[slot].process;
  return c.in_steps.host_work().during(idle.thread, process, idle.span);
}

std::string host_note(const Context& c, const Idle& idle) {
  if (idle.thread == no_index) return "";
  const Trace& t = c.trace();
  std::string note;
  if (const Row range = range_of(c, idle.thread, idle.span); range != no_row) {
    note = fmt::format("in range '{}'",
                       shortened(without_arguments(t.names[t.ranges.name[range]]), 60));
  }
  if (const Row frame = frame_of(c, idle); frame != no_row) {
    note += note.empty() ? "in " : ", ";
    note += shortened(t.names[t.frames.name[frame]], 60);
  }
  if (const std::string call = longest_os_call(t, idle); !call.empty()) {
    note += (note.empty() ? "" : ", ") + call;
  }
  if (!watched(t)) return note;
  const HostWork::Seen seen = c.in_steps.host_work().seen({{idle.thread, idle.span}});
  if (seen.samples >= HostWork::least_samples && 2 * seen.in_function >= seen.samples) {
    note += fmt::format("{}in '{}' in {} of {} samples", note.empty() ? "" : ", ",
                        shortened(t.names[seen.function], 60), seen.in_function, seen.samples);
  }
  if (matters(seen.held_off_ns, seen.scheduled_ns)) {
    note +=
        fmt::format("{}off the CPU for {}", note.empty() ? "" : ", ", duration(seen.held_off_ns));
  }
  return note;
}

SourceLine source_around(const Context& c, std::uint16_t thread, Ns at) {
  const Trace& t = c.trace();
  if (c.analysis.names.sources.empty() || thread == no_index) return {};
  if (SourceLine line = line_in(c, t.frames, thread, at); line.line > 0) return line;
  if (SourceLine line = line_in(c, t.ranges, thread, at); line.line > 0) return line;
  if (const Row f = forward_of(t, thread, at); f != no_row) {
    const Forwards& forwards = t.forwards;
    SourceLine line = line_in(c, t.frames, forwards.forward_thread[f], forwards.forward_start[f]);
    if (line.line > 0) return line;
  }
  if (SourceLine line = line_in(c, t.frames, thread, at, true); line.line > 0) return line;
  return line_in(c, t.ranges, thread, at, true);
}

SourceLine source_of_idle(const Context& c, const Idle& idle) {
  const Trace& t = c.trace();
  if (const Row frame = frame_of(c, idle); frame != no_row) {
    if (SourceLine line = line_of(c, t.frames.name[frame]); line.line > 0) return line;
  }
  Row call = idle.call;
  if (call == no_row && idle.next != no_row) call = t.ops.call[idle.next];
  if (call != no_row && t.frames.size() > 0) {
    return source_around(c, t.calls.thread[call], t.calls.start[call]);
  }
  return source_around(c, idle.thread, idle.span.start);
}

}  // namespace gh::binding
