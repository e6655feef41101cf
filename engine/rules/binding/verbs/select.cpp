// Selections of the trace's rows, and selections from selections.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rules/binding/filter.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// The rows that pass the filter in the verb's argument.
int select(lua_State* lua, const Context& c, Kind kind, const RowSet& all) {
  charge(lua, all.size() / 4);
  const Filter filter = to_filter(lua, 2, kind);
  if (filter.asked().empty()) {
    push_rows(lua, filter.of(c, Rows{kind, all}));
    return 1;
  }
  bool found = false;
  const auto& selection = c.in_steps.selections.get(filter.asked(), [&] {
    const std::int64_t before = lua_instructions_left(lua);
    RowSet rows = filter.of(c, Rows{kind, all}).rows;
    found = true;
    return std::make_shared<const SharedSelections::Selection>(
        SharedSelections::Selection{std::move(rows), before - lua_instructions_left(lua)});
  });
  if (!found) lua_spend(lua, selection.instructions);
  push_rows(lua, {kind, selection.rows});
  return 1;
}

void check_same_kind(const Rows& a, const Rows& b) {
  if (a.kind != b.kind || a.chains != b.chains) {
    throw Error("these selections are of different kinds");
  }
}

bool is_of_host(Kind kind) {
  return kind == Kind::calls || kind == Kind::ranges || kind == Kind::os_calls;
}

// Where a row belongs: only rows of one owner lie in each other. Of the device where both kinds of
// rows have one, else of the process alone.
using Owner = std::pair<std::uint16_t, std::size_t>;

std::optional<Owner> owner_of(const Context& c, const Rows& s, Row r, bool by_device) {
  const std::size_t slot = by_device ? slot_of(c, s, r) : no_slot;
  if (by_device && slot == no_slot) return std::nullopt;
  const std::uint16_t process = by_device ? c.analysis.devices[slot].process : process_of(c, s, r);
  return process == no_index ? std::nullopt : std::optional(Owner{process, slot});
}

// Spans of one owner, asked whether one of them lies within another.
class Within {
 public:
  void add(Span span) { spans_.push_back(span); }
  /// Before the first question.
  void sort() {
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.start < b.start; });
    ends_.resize(spans_.size());
    Ends ends;
    for (std::size_t i = spans_.size(); i-- > 0; ends_[i] = ends) {
      ends.second = std::min(ends.second, std::max(ends.first, spans_[i].end));
      ends.first = std::min(ends.first, spans_[i].end);
    }
  }
  /// Whether `outer` holds one; two where it is itself among them.
  bool any_in(Span outer, bool is_one) const {
    const auto from = std::lower_bound(spans_.begin(), spans_.end(), outer.start,
                                       [](const Span& s, Ns at) { return s.start < at; });
    if (from == spans_.end()) return false;
    const Ends& ends = ends_[static_cast<std::size_t>(from - spans_.begin())];
    return (is_one ? ends.second : ends.first) <= outer.end;
  }

 private:
  struct Ends {  // the two least
    Ns first = std::numeric_limits<Ns>::max(), second = std::numeric_limits<Ns>::max();
  };
  std::vector<Span> spans_;
  std::vector<Ends> ends_;  // of the spans from each on
};

// The rows of `asked` that hold one of `other`.
RowSet holding(const Context& c, const Rows& asked, const Rows& other) {
  if (asked.kind == Kind::ops && other.kind == Kind::ops) {
    throw Error("no operation contains another: selection:minus takes rows away");
  }
  const bool by_device = !is_of_host(asked.kind) && !is_of_host(other.kind);
  const bool by_launch = other.kind == Kind::ops && is_of_host(asked.kind);
  const Trace& t = c.trace();
  std::map<Owner, Within> inner;
  other.rows.each([&](Row r) {
    const std::optional<Owner> owner = owner_of(c, other, r, by_device);
    const Row call = by_launch ? t.ops.call[r] : no_row;
    if (!owner || (by_launch && call == no_row)) return;
    inner[*owner].add(by_launch ? Span{t.calls.start[call], t.calls.start[call]}
                                : span_of(c, other, r));
  });
  for (auto& [owner, spans] : inner) spans.sort();
  // A row does not hold itself.
  const bool alike = asked.kind == other.kind && asked.chains == other.chains;
  std::size_t count = 0;
  asked.rows.each([&](Row r) { count = r + std::size_t{1}; });
  const RowBits among(alike ? other.rows : RowSet(), count);
  return asked.rows.where([&](Row r) {
    const std::optional<Owner> owner = owner_of(c, asked, r, by_device);
    const auto spans = owner ? inner.find(*owner) : inner.end();
    return spans != inner.end() &&
           spans->second.any_in(span_of(c, asked, r), alike && among.holds(r));
  });
}

int ops(lua_State* lua, const Context& c) { return select(lua, c, Kind::ops, c.in_steps.ops); }
int calls(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::calls, c.in_steps.calls);
}
int ranges(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::ranges, c.in_steps.ranges);
}
int os_calls(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::os_calls, c.in_steps.os_calls);
}
int gpu_faults(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::gpu_faults, c.in_steps.gpu_faults);
}
int idle(lua_State* lua, const Context& c) { return select(lua, c, Kind::idle, c.in_steps.idle); }
int steps(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::steps, c.in_steps.steps);
}

int where(lua_State* lua, const Context& c, const Rows& asked) {
  push_rows(lua, to_filter(lua, 2, asked.kind).of(c, asked));
  return 1;
}

int calls_of(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'calls' needs a selection of operations");
  const Trace& t = c.trace();
  RowBits calls(t.calls.size());
  asked.rows.each([&](Row op) {
    if (const Row call = t.ops.call[op]; call != no_row) calls.add(call);
  });
  push_rows(lua, {Kind::calls, std::move(calls).set()});
  return 1;
}

int containing(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  push_rows(lua, {asked.kind, holding(c, asked, other), asked.chains});
  return 1;
}

int without(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  push_rows(lua, {asked.kind, asked.rows.minus(holding(c, asked, other)), asked.chains});
  return 1;
}

int at(lua_State* lua, const Context&, const Rows& asked) {
  const lua_Integer i = luaL_checkinteger(lua, 2);
  const auto size = static_cast<lua_Integer>(asked.rows.size());
  lua_Integer left = i < 0 ? size + i : i - 1;  // rows before it
  push_rows(lua, {asked.kind, asked.rows.where([&](Row) { return left-- == 0; }), asked.chains});
  return 1;
}

int plus(lua_State* lua, const Context&, const Rows& asked, const Rows& other) {
  check_same_kind(asked, other);
  push_rows(lua, {asked.kind, asked.rows.plus(other.rows), asked.chains});
  return 1;
}

int minus(lua_State* lua, const Context&, const Rows& asked, const Rows& other) {
  check_same_kind(asked, other);
  push_rows(lua, {asked.kind, asked.rows.minus(other.rows), asked.chains});
  return 1;
}

constexpr Verb select_table[] = {
    {"trace:ops", verb<ops>},
    {"trace:calls", verb<calls>},
    {"trace:ranges", verb<ranges>},
    {"trace:os_calls", verb<os_calls>},
    {"trace:gpu_faults", verb<gpu_faults>},
    {"trace:idle", verb<idle>},
    {"trace:steps", verb<steps>},
    {"selection:where", verb<where, Cost{.rows = 4}>},
    {"selection:calls", verb<calls_of, Cost{.rows = 4, .calls = 64}>},
    {"selection:containing", verb<containing, Cost{.rows = 1}>},
    {"selection:without", verb<without, Cost{.rows = 1}>},
    {"selection:at", verb<at, Cost{.rows = 64}>},
    {"selection:plus", verb<plus, Cost{.rows = 1}>},
    {"selection:minus", verb<minus, Cost{.rows = 1}>},
};

}  // namespace

const Verbs select_verbs = select_table;

}  // namespace gh::binding
