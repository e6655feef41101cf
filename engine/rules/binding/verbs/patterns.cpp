// Patterns of rows, which rules compose: sequences on a lane, rows with equal fields, the phases of
// a step, the gaps between rows, and whatever a rule asks of each row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "rules/binding/time_sets.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

void check_ops(const Rows& s, const char* verb) {
  if (s.kind != Kind::ops) throw Error(fmt::format("'{}' needs a selection of operations", verb));
}

void push_chains(lua_State* lua, std::shared_ptr<const Chains> chains) {
  const std::size_t count = chains->size();
  push_rows(lua, {Kind::chains, RowSet::all(count), std::move(chains)});
}

// --- Sequences

constexpr std::size_t most_elements_of_match = 16;

// A part of a sequence: a run of these operations, as long as it can be.
struct Element {
  RowBits of;
  std::size_t least = 1, most = boundless;
  bool is_end = false;  // nothing follows on the lane
};

// What a rule asks of `trace:match`.
struct Sequence {
  std::vector<Element> elements;
  RowBits on_lane;  // all others are passed over
};

Element element_at(lua_State* lua, int index, std::size_t ops) {
  if (lua_type(lua, index) == LUA_TSTRING && lua_text(lua, index) == "end")
    return {.of = RowBits(0), .is_end = true};
  charge(lua, ops / 64);
  if (lua_type(lua, index) != LUA_TTABLE) {
    const Rows& of = selection_at(lua, index, "each element of 'match'");
    check_ops(of, "match");
    return {RowBits(of.rows, ops)};
  }
  const LuaTable given(lua, index, "an element of 'match'");
  given.only({"of", "least", "most"});
  const Rows* of = ops_in(given, "of");
  if (!of) throw Error("an element of 'match' needs 'of', a selection of operations");
  return {RowBits(of->rows, ops), given.count("least", 1, boundless),
          given.count("most", boundless, boundless)};
}

Sequence sequence_in(const LuaTable& asked, const Context& c) {
  const std::size_t all = c.trace().ops.size();
  Sequence sequence{{}, RowBits(c.in_steps.ops, all)};
  asked.each(
      [&](int index) {
        if (!sequence.elements.empty() && sequence.elements.back().is_end)
          throw Error("nothing in 'match' comes after \"end\"");
        sequence.elements.push_back(element_at(asked.lua(), index, all));
      },
      most_elements_of_match);
  if (sequence.elements.empty() || sequence.elements.front().is_end ||
      sequence.elements.front().least == 0)
    throw Error("'match' begins with an element of at least one operation");
  if (asked.is_text("skip")) {
    if (asked.text("skip") != "others") throw Error("'skip' takes a selection or \"others\"");
    RowBits named(all);
    c.in_steps.ops.each([&](Row op) {
      for (const Element& e : sequence.elements)
        if (!e.is_end && e.of.holds(op)) return named.add(op);
    });
    sequence.on_lane = std::move(named);
  } else if (const Rows* skip = ops_in(asked, "skip")) {
    sequence.on_lane = RowBits(c.in_steps.ops.minus(skip->rows), all);
  }
  return sequence;
}

// Operations by the thread that launched them, in order of launch.
std::vector<std::vector<Row>> by_thread(const Context& c) {
  const Trace& t = c.trace();
  std::vector<std::vector<Row>> lanes(t.threads.size());
  c.in_steps.ops.each([&](Row op) {
    if (const Row call = t.ops.call[op]; call != no_row) lanes[t.calls.thread[call]].push_back(op);
  });
  for (std::vector<Row>& lane : lanes)
    std::stable_sort(lane.begin(), lane.end(),
                     [&](Row a, Row b) { return t.ops.call[a] < t.ops.call[b]; });
  return lanes;
}

// Calls take(operations) with those of each lane, in order.
template <class Take>
void each_lane(const Context& c, const std::string& by, Take take) {
  if (by == "device") {
    for (const DeviceSteps& device : c.analysis.devices) take(device.ops);
  } else if (by == "thread") {
    charge(c.lua, c.in_steps.ops.size());
    for (const std::vector<Row>& lane : by_thread(c)) take(lane);
  } else if (by == "stream" || by.empty()) {
    for (const std::vector<Row>& lane : c.in_steps.by_stream()) take(lane);
  } else {
    throw Error("'match' goes by \"stream\", \"device\" or \"thread\"");
  }
}

class Matcher {
 public:
  Matcher(const Context& c, Sequence sequence)
      : c_(c),
        sequence_(std::move(sequence)),
        found_(sequence_.elements.size(), RowBits(c.trace().ops.size())) {}

  // Elements are runs as long as can be, so no sequence begins within a run of the first: after a
  // failure the search goes on behind that run, after a match behind the match.
  void add(const std::vector<Row>& lane) {
    rows_.clear();
    for (const Row op : lane)
      if (sequence_.on_lane.holds(op)) rows_.push_back(op);
    for (std::size_t at = 0; at < rows_.size();) {
      const std::size_t first_run = run_at(at, sequence_.elements.front());
      const std::size_t matched = first_run > 0 ? match_at(at) : 0;
      at += std::max<std::size_t>({1, first_run, matched});
    }
  }

  void push() {
    lua_State* lua = c_.lua;
    lua_newtable(lua);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      push_rows(lua, {Kind::ops, std::move(found_[i]).set()});
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
    }
    set_integer(lua, "count", static_cast<std::int64_t>(sequences_->size()));
    push_chains(lua, std::move(sequences_));
    lua_setfield(lua, -2, "sequences");
  }

 private:
  std::size_t run_at(std::size_t at, const Element& e) {
    std::size_t end = at;
    while (!e.is_end && end < rows_.size() && e.of.holds(rows_[end])) ++end;
    // A run may be looked at once for each place where a sequence may begin.
    looked_ += end - at + 1;
    if (looked_ >= 4096) charge(c_.lua, std::exchange(looked_, 0) / 4);
    return end - at;
  }

  // How many operations the sequence at this place has; 0 if it does not match.
  std::size_t match_at(std::size_t begin) {
    std::array<std::size_t, most_elements_of_match> ends{};
    std::size_t at = begin;
    for (std::size_t i = 0; i < sequence_.elements.size(); ++i) {
      const Element& e = sequence_.elements[i];
      const std::size_t run = run_at(at, e);
      if (e.is_end ? at < rows_.size() : run < e.least || run > e.most) return 0;
      ends[i] = at += run;
    }
    const Trace& t = c_.trace();
    sequences_->push_back({{t.ops.start[rows_[begin]], t.ops.end[rows_[at - 1]]}, rows_[begin]});
    for (std::size_t i = 0, k = begin; i < sequence_.elements.size(); ++i)
      for (; k < ends[i]; ++k) found_[i].add(rows_[k]);
    return at - begin;
  }

  const Context& c_;
  const Sequence sequence_;
  std::vector<Row> rows_;  // of the lane, without those passed over
  std::vector<RowBits> found_;
  std::shared_ptr<Chains> sequences_ = std::make_shared<Chains>();
  std::size_t looked_ = 0;  // operations, not yet charged
};

// --- Rows with equal fields

constexpr std::size_t most_key_fields = 6;
using RowKey = std::array<std::uint64_t, most_key_fields>;

template <class Value>
using ByKey = std::map<RowKey, Value>;

// The fields whose values have to be equal.
class KeyFields {
 public:
  // A list of names at `index`. Charges for the keys of this many rows.
  KeyFields(lua_State* lua, int index, std::size_t rows) {
    LuaTable(lua, index, "the list of fields")
        .each([&](int at) { fields_.push_back(checked_field(lua, at)); }, most_key_fields);
    charge(lua, rows * (2 + 2 * fields_.size()));
    for (const Field field : fields_)  // whose first use looks at all operations
      if (field == Field::meeting) charge(lua, context(lua).trace().ops.size());
  }
  // Nothing for a row without a value of one of them, which is like no other. Devices, streams
  // and processes are compared themselves, since those of several ranks may have the same numbers.
  std::optional<RowKey> of(const Context& c, const Rows& s, Row r) const {
    RowKey key{};
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const Field field = fields_[i];
      if (spec_of(field).key) {
        const TextKey text = text_key(c, s, r, field);
        if (text == no_text) return std::nullopt;
        key[i] = text;
      } else {
        const std::optional<double> number = number_field(c, s, r, field);
        if (!number) return std::nullopt;
        key[i] = field == Field::device    ? slot_of(c, s, r)
                 : field == Field::process ? process_of(c, s, r)
                 : field == Field::stream  ? c.trace().ops.stream[r]
                                           : std::bit_cast<std::uint64_t>(*number);
      }
    }
    return key;
  }

 private:
  std::vector<Field> fields_;
};

void check_comparable(const Rows& a, const Rows& b) {
  if (a.kind != b.kind) throw Error("rows of different kinds have no fields in common");
}

// --- Phases

// By slot: the starts of these rows, in order.
std::vector<std::vector<Ns>> starts_by_slot(const Context& c, const Rows& s) {
  std::vector<std::vector<Ns>> starts(c.analysis.devices.size());
  s.rows.each([&](Row r) {
    if (const std::size_t slot = slot_of(c, s, r); slot != no_slot)
      starts[slot].push_back(span_of(c, s, r).start);
  });
  for (std::vector<Ns>& of_device : starts) std::sort(of_device.begin(), of_device.end());
  return starts;
}

// How many marks of the row's step come no later than it begins; nothing in a step without marks.
std::optional<std::size_t> marks_before(const Context& c, const std::vector<std::vector<Ns>>& marks,
                                        std::size_t slot, Ns start) {
  const Step* step = c.step_at(slot, start);
  if (!step) return std::nullopt;
  const std::vector<Ns>& of_device = marks[slot];
  const auto first = std::lower_bound(of_device.begin(), of_device.end(), step->span.start);
  if (first == of_device.end() || *first >= step->span.end) return std::nullopt;
  return static_cast<std::size_t>(std::upper_bound(first, of_device.end(), start) - first);
}

// --- Each row

// A column of the rows that `keep` hands to its test: a field, the time of a selection in the row's
// own, or a number for each combination of values of several fields.
struct Column {
  std::string name;
  std::optional<Field> field = {};
  TimeSets other = {};
  std::optional<KeyFields> fields = {};
  ByKey<std::size_t> numbers = {};  // from 1, in order of first occurrence
};

std::vector<Column> columns_at(lua_State* lua, int index, const Context& c, const Rows& asked) {
  constexpr std::size_t most_columns = 16;
  const LuaTable given(lua, index, "the columns of 'keep'");
  std::vector<Column> columns;
  given.each(
      [&](int at) {
        const Field field = checked_field(lua, at);
        columns.push_back({spec_of(field).name, field});
      },
      most_columns);
  for (const std::string& name : given.names(LuaTable::Positions::left_out)) {
    if (columns.size() == most_columns)
      throw Error(fmt::format("'keep' takes at most {} columns", most_columns));
    if (given.push(name.c_str()) == LUA_TTABLE) {
      columns.push_back(
          {.name = name, .fields = KeyFields(lua, lua_gettop(lua), asked.rows.size())});
    } else {
      const Rows& other = selection_at(lua, -1, fmt::format("column '{}'", name));
      charge(lua, other.rows.size());
      columns.push_back({.name = name, .other = time_of(c, other)});
    }
    lua_pop(lua, 1);
  }
  return columns;
}

// The row as a table of its columns.
void push_columns(lua_State* lua, const Context& c, const Rows& s, Row r,
                  std::vector<Column>& columns) {
  lua_createtable(lua, 0, static_cast<int>(columns.size()));
  for (Column& column : columns) {
    const char* name = column.name.c_str();
    if (column.fields) {
      const auto key = column.fields->of(c, s, r);
      if (!key) continue;
      const auto known = column.numbers.try_emplace(*key, column.numbers.size() + 1).first;
      set_integer(lua, name, static_cast<std::int64_t>(known->second));
    } else if (!column.field) {
      const Spans& set = set_for(column.other, slot_of(c, s, r));
      set_number(lua, name, static_cast<double>(overlap(set, span_of(c, s, r))));
    } else if (const auto number = number_field(c, s, r, *column.field)) {
      set_number(lua, name, *number);
    } else if (const TextKey key = text_key(c, s, r, *column.field); key != no_text) {
      set_text(lua, name, key_text(c, s.kind, *column.field, key));
    }
  }
}

int match(lua_State* lua, const Context& c) {
  const LuaTable asked(lua, 2, "the argument of 'match'");
  asked.only({"by", "skip"}, LuaTable::Positions::left_out);
  Matcher matcher(c, sequence_in(asked, c));
  each_lane(c, asked.text("by", false), [&](const std::vector<Row>& lane) { matcher.add(lane); });
  matcher.push();
  return 1;
}

int alike(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  check_comparable(asked, other);
  const KeyFields fields(lua, 3, asked.rows.size() + other.rows.size());
  const std::size_t least = optional_count(lua, 4, 1, boundless);
  ByKey<std::size_t> counts;
  other.rows.each([&](Row r) {
    if (const auto key = fields.of(c, other, r)) ++counts[*key];
  });
  const auto has_enough = [&](Row r) {
    const auto key = fields.of(c, asked, r);
    const auto same = key ? counts.find(*key) : counts.end();
    return (same == counts.end() ? 0 : same->second) >= least;
  };
  push_rows(lua, {asked.kind, asked.rows.where(has_enough), asked.chains});
  return 1;
}

int pair(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  check_comparable(asked, other);
  const KeyFields fields(lua, 3, asked.rows.size() + other.rows.size());
  struct Unpaired {
    std::vector<Row> rows;
    std::size_t next = 0;
  };
  ByKey<Unpaired> unpaired;
  std::size_t count = 0;
  other.rows.each([&](Row r) {
    if (const auto key = fields.of(c, other, r)) unpaired[*key].rows.push_back(r);
    count = r + std::size_t{1};
  });
  RowBits partners(count);
  const auto has_partner = [&](Row r) {
    const auto key = fields.of(c, asked, r);
    const auto same = key ? unpaired.find(*key) : unpaired.end();
    if (same == unpaired.end() || same->second.next == same->second.rows.size()) return false;
    partners.add(same->second.rows[same->second.next++]);
    return true;
  };
  push_rows(lua, {asked.kind, asked.rows.where(has_partner), asked.chains});
  push_rows(lua, {other.kind, std::move(partners).set(), other.chains});
  return 2;
}

int phases(lua_State* lua, const Context& c, const Rows& asked, const Rows& marks) {
  const std::size_t most = std::max<std::size_t>(1, optional_count(lua, 3, 64, 1000));
  const std::vector<std::vector<Ns>> starts = starts_by_slot(c, marks);
  std::vector<std::vector<Row>> found(2);  // before the first mark, after it, after the second...
  asked.rows.each([&](Row r) {
    const auto before = marks_before(c, starts, slot_of(c, asked, r), span_of(c, asked, r).start);
    if (!before) return;
    const std::size_t phase = std::min(*before, most);
    if (phase >= found.size()) found.resize(phase + 1);
    found[phase].push_back(r);
  });
  lua_newtable(lua);
  for (std::size_t i = 0; i < found.size(); ++i) {
    push_rows(lua, {asked.kind, RowSet(std::move(found[i])), asked.chains});
    if (i == 0)
      lua_setfield(lua, -2, "before");
    else
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i));
  }
  return 1;
}

int gaps(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::idle) check_ops(asked, "gaps");
  const KeyFields fields(lua, 2, asked.rows.size());
  ByKey<Ns> ended;
  auto found = std::make_shared<Chains>();
  asked.rows.each([&](Row r) {
    const auto key = fields.of(c, asked, r);
    const Row op = asked.kind == Kind::idle ? c.idle_of(r).next : r;
    if (!key || op == no_row) return;
    const Span span = span_of(c, asked, r);
    const auto [last, is_first] = ended.try_emplace(*key, span.end);
    if (!is_first && last->second < span.start) found->push_back({{last->second, span.start}, op});
    last->second = std::max(last->second, span.end);
  });
  push_chains(lua, std::move(found));
  return 1;
}

int ahead_of(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  check_ops(asked, "ahead_of");
  check_ops(other, "ahead_of");
  const KeyFields fields(lua, 3, asked.rows.size() + other.rows.size());
  ByKey<Ns> starts;
  other.rows.each([&](Row op) {
    if (const auto key = fields.of(c, other, op)) starts.try_emplace(*key, c.trace().ops.start[op]);
  });
  auto found = std::make_shared<Chains>();
  asked.rows.each([&](Row op) {
    const auto key = fields.of(c, asked, op);
    const auto until = key ? starts.find(*key) : starts.end();
    if (const Ns start = c.trace().ops.start[op]; until != starts.end() && start < until->second)
      found->push_back({{start, until->second}, op});
  });
  push_chains(lua, std::move(found));
  return 1;
}

int last(lua_State* lua, const Context& c, const Rows& asked) {
  const KeyFields fields(lua, 2, asked.rows.size());
  struct Latest {
    Row row;
    Ns start;
  };
  ByKey<Latest> latest;
  std::size_t count = 0;
  asked.rows.each([&](Row r) {
    count = r + std::size_t{1};
    const auto key = fields.of(c, asked, r);
    const Ns start = span_of(c, asked, r).start;
    if (!key) return;
    const auto [it, is_first] = latest.try_emplace(*key, Latest{r, start});
    if (!is_first && start > it->second.start) it->second = {r, start};
  });
  RowBits found(count);
  for (const auto& [key, of_key] : latest) found.add(of_key.row);
  push_rows(lua, {asked.kind, std::move(found).set(), asked.chains});
  return 1;
}

int ops_of(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::chains) throw Error("'ops' needs gaps, sequences, chains or runs");
  RowBits ops(c.trace().ops.size());
  asked.rows.each([&](Row r) { ops.add((*asked.chains)[r].op); });
  push_rows(lua, {Kind::ops, std::move(ops).set()});
  return 1;
}

int keep(lua_State* lua, const Context& c, const Rows& asked) {
  std::vector<Column> columns = columns_at(lua, 2, c, asked);
  luaL_checktype(lua, 3, LUA_TFUNCTION);
  const auto passes = [&](Row r) {
    charge(lua, 8 + 8 * columns.size());
    lua_pushvalue(lua, 3);
    push_columns(lua, c, asked, r, columns);
    lua_call(lua, 1, 1);
    const bool kept = lua_toboolean(lua, -1) != 0;
    lua_pop(lua, 1);
    return kept;
  };
  push_rows(lua, {asked.kind, asked.rows.where(passes), asked.chains});
  return 1;
}

constexpr Verb patterns_table[] = {
    {"trace:match", verb<match, Cost{.ops = 2}>},
    {"selection:alike", verb<alike>},
    {"selection:pair", verb<pair>},
    {"selection:phases", verb<phases, Cost{.rows = 1}>},
    {"selection:gaps", verb<gaps>},
    {"selection:ahead_of", verb<ahead_of>},
    {"selection:last", verb<last>},
    {"selection:ops", verb<ops_of, Cost{.rows = 4, .ops = 64}>},
    {"selection:keep", verb<keep>},
};

}  // namespace

const Verbs patterns_verbs = patterns_table;

}  // namespace gh::binding
