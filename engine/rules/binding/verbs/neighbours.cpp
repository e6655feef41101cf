// Operations next to each other on a stream: chains around some, runs of others, repeated
// sequences, and adjacent operations.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// Chains or runs, all operations in them, and of each its edges or its longest operation.
struct Found {
  explicit Found(std::size_t ops) : inner(ops), notable(ops) {}
  int push(lua_State* lua) && {
    const std::size_t count = chains->size();
    push_rows(lua, {Kind::chains, RowSet::all(count), std::move(chains)});
    push_rows(lua, {Kind::ops, std::move(inner).set()});
    push_rows(lua, {Kind::ops, std::move(notable).set()});
    return 3;
  }
  std::shared_ptr<Chains> chains = std::make_shared<Chains>();
  RowBits inner, notable;
};

// --- Chains

constexpr std::size_t most_required = 16;

// What a rule asks of chains.
struct ChainQuestion {
  RowBits centres, edges, passable;
  std::size_t most;               // operations on either side, up to its edges
  std::size_t edges_a_side;       // at most
  std::vector<RowBits> required;  // a chain has to contain one of each
};

std::vector<RowBits> required_selections(const LuaTable& asked, std::size_t ops) {
  std::vector<RowBits> required;
  asked.each("with", [&](int index) {
    const Rows& one_of = selection_at(asked.lua(), index, "each of 'with'");
    if (one_of.kind != Kind::ops) throw Error("'with' takes selections of operations");
    if (required.size() == most_required) {
      throw Error(fmt::format("'with' takes at most {} selections", most_required));
    }
    charge(asked.lua(), ops / 64);
    required.emplace_back(one_of.rows, ops);
  });
  return required;
}

// One side of a chain.
struct Side {
  std::vector<Row> passed, edges;  // nearest first
};

// Walks from `centre`, a position among the operations of a stream, in one direction. Leaves no
// edges if it reaches an operation that does not belong there, or the end.
void walk(const ChainQuestion& q, const std::vector<Row>& ops, std::size_t centre,
          std::ptrdiff_t direction, Side& side) {
  side.passed.clear();
  side.edges.clear();
  const auto end = static_cast<std::ptrdiff_t>(ops.size());
  std::size_t walked = 0;
  for (auto at = static_cast<std::ptrdiff_t>(centre) + direction;
       at >= 0 && at < end && walked <= q.most; at += direction, ++walked) {
    const Row op = ops[static_cast<std::size_t>(at)];
    if (q.edges.holds(op)) {
      side.edges.push_back(op);
      if (side.edges.size() == q.edges_a_side) return;
      continue;
    }
    // Edges on one side are adjacent.
    if (!side.edges.empty() || !q.passable.holds(op)) return;
    side.passed.push_back(op);
  }
}

bool holds_all_required(const ChainQuestion& q, const std::vector<Row>& chain) {
  return std::all_of(q.required.begin(), q.required.end(), [&](const RowBits& one_of) {
    return std::any_of(chain.begin(), chain.end(), [&](Row op) { return one_of.holds(op); });
  });
}

// The chains on one stream. No operation is in two.
void find_chains(const ChainQuestion& q, const Trace& t, const std::vector<Row>& ops,
                 Found& found) {
  Side before, after;
  std::vector<Row> chain;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!q.centres.holds(ops[i]) || found.inner.holds(ops[i])) continue;
    walk(q, ops, i, -1, before);
    if (before.edges.empty()) continue;
    walk(q, ops, i, 1, after);
    if (after.edges.empty()) continue;
    chain.assign(before.passed.rbegin(), before.passed.rend());
    chain.push_back(ops[i]);
    chain.insert(chain.end(), after.passed.begin(), after.passed.end());
    if (!holds_all_required(q, chain)) continue;
    for (const Row op : chain) found.inner.add(op);
    for (const Row op : before.edges) found.notable.add(op);
    for (const Row op : after.edges) found.notable.add(op);
    found.chains->push_back({{t.ops.start[chain.front()], t.ops.end[chain.back()]}, ops[i]});
  }
}

// --- Runs

void add_run(const Trace& t, const std::vector<Row>& run, Found& found) {
  found.chains->push_back({{t.ops.start[run.front()], t.ops.end[run.back()]}, run.front()});
  for (const Row op : run) found.inner.add(op);
  found.notable.add(*std::max_element(run.begin(), run.end(), [&](Row a, Row b) {
    return t.span_of(a).length() < t.span_of(b).length();
  }));
}

// --- Sequences

// Walks over kernels and hashes each `length` consecutive ones.
class Sequences {
 public:
  Sequences(const Ops& ops, std::size_t length) : ops_(ops), length_(length) {
    for (std::size_t i = 0; i < length; ++i) power_ *= base;
  }
  void interrupt() {
    rows_.clear();
    marks_.clear();
    hash_ = 0;
    oldest_ = distinct_ = 0;
  }
  /// Takes the next kernel. True if a whole sequence ends with it in which half of the kernels
  /// differ.
  bool add(Row kernel) {
    const std::uint64_t is = mark(kernel);
    rows_.push_back(kernel);
    hash_ = hash_ * base + is;
    if (marks_.size() < length_) {
      marks_.push_back(is);
      distinct_ += count_of(is) == 1;
    } else {
      const std::uint64_t was = std::exchange(marks_[oldest_], is);
      oldest_ = (oldest_ + 1) % length_;
      hash_ -= was * power_;
      if (is != was) distinct_ = distinct_ + (count_of(is) == 1) - (count_of(was) == 0);
    }
    return marks_.size() == length_ && 2 * distinct_ >= length_;
  }
  std::uint64_t hash() const { return hash_; }
  /// Calls take(row) with the kernels of the sequence that just ended.
  template <class Take>
  void each(Take take) const {
    for (std::size_t i = rows_.size() - length_; i < rows_.size(); ++i) take(rows_[i]);
  }

 private:
  static constexpr std::uint64_t base = 0x9E3779B97F4A7C15;

  std::uint64_t mark(Row kernel) const {
    std::uint64_t h = ops_.name[kernel];
    h = (h * base) ^ ops_.blocks[kernel];
    h = (h * base) ^ ops_.threads[kernel];
    return h ^ (h >> 29);
  }

  // Linear search, since they are few.
  std::size_t count_of(std::uint64_t mark) const {
    return static_cast<std::size_t>(std::count(marks_.begin(), marks_.end(), mark));
  }

  const Ops& ops_;
  std::size_t length_;
  std::uint64_t hash_ = 0, power_ = 1;
  std::vector<Row> rows_;             // since the last interruption
  std::vector<std::uint64_t> marks_;  // of the last `length_` of them, a ring buffer
  std::size_t oldest_ = 0, distinct_ = 0;
};

// Calls found(sequences) at the end of each sequence of kernels of `of`. Skips copies and memsets.
template <class Found>
void each_sequence(const Context& c, const RowBits& of, std::size_t length, Found found) {
  const Ops& ops = c.trace().ops;
  Sequences sequences(ops, length);
  for (const std::vector<Row>& on_stream : c.in_steps.by_stream()) {
    for (const Row op : on_stream) {
      if (ops.kind[op] != OpKind::kernel) continue;
      if (!of.holds(op)) {
        sequences.interrupt();
      } else if (sequences.add(op)) {
        found(sequences);
      }
    }
    sequences.interrupt();
  }
}

int chains(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const std::size_t all = t.ops.size();
  const LuaTable asked(lua, 2, "the argument of 'chains'");
  asked.only({"centre", "edge", "through", "with", "most", "edges"});
  const Rows* centre = ops_in(asked, "centre");
  const Rows* edge = ops_in(asked, "edge");
  const Rows* through = ops_in(asked, "through");
  if (!centre || !edge || !through) throw Error("chains needs 'centre', 'edge' and 'through'");
  const ChainQuestion question{RowBits(centre->rows, all),
                               RowBits(edge->rows, all),
                               RowBits(through->rows.plus(centre->rows), all),
                               asked.count("most", 14, 1000),
                               asked.count("edges", 1, 1000),
                               required_selections(asked, all)};
  Found found(all);
  if (centre->rows.empty()) return std::move(found).push(lua);
  charge(lua, all / 2);  // walking the streams
  for (const std::vector<Row>& ops : c.in_steps.by_stream()) find_chains(question, t, ops, found);
  return std::move(found).push(lua);
}

int runs(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const LuaTable asked(lua, 2, "the argument of 'runs'");
  asked.only({"of", "least"});
  const Rows* of = ops_in(asked, "of");
  if (!of) throw Error("runs needs 'of', a selection of operations");
  const std::size_t least = std::max<std::size_t>(1, asked.count("least", 3, boundless));
  const RowBits wanted(of->rows, t.ops.size());
  Found found(t.ops.size());
  std::vector<Row> run;  // the current run
  const auto finish = [&] {
    if (run.size() >= least) add_run(t, run, found);
    run.clear();
  };
  for (const std::vector<Row>& ops : c.in_steps.by_stream()) {
    for (const Row op : ops) {
      if (wanted.holds(op)) {
        run.push_back(op);
      } else if (!is_unified(t.ops.copy[op])) {
        finish();
      }
    }
    finish();
  }
  return std::move(found).push(lua);
}

int repeated(lua_State* lua, const Context& c) {
  constexpr std::size_t most_length = 64;
  const std::size_t all = c.trace().ops.size();
  const LuaTable asked(lua, 2, "the argument of 'repeated'");
  asked.only({"within", "of", "least"});
  const Rows *within = ops_in(asked, "within"), *of = ops_in(asked, "of");
  if (!within || !of) throw Error("repeated needs 'within' and 'of', selections of operations");
  const std::size_t length = std::max<std::size_t>(2, asked.count("least", 8, most_length));
  charge(lua, length * (within->rows.size() + of->rows.size()) / 8);
  std::unordered_set<std::uint64_t> known;
  each_sequence(c, RowBits(of->rows, all), length,
                [&](const Sequences& s) { known.insert(s.hash()); });
  RowBits found(all);
  each_sequence(c, RowBits(within->rows, all), length, [&](const Sequences& s) {
    if (known.contains(s.hash())) s.each([&](Row op) { found.add(op); });
  });
  push_rows(lua, {Kind::ops, std::move(found).set()});
  return 1;
}

int beside(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  if (asked.kind != Kind::ops || other.kind != Kind::ops) {
    throw Error("'beside' needs two selections of operations");
  }
  const Ops& ops = c.trace().ops;
  const RowBits own(asked.rows, ops.size()), neighbours(other.rows, ops.size());
  RowBits found(ops.size());
  std::vector<Row> run;  // the current run of own operations
  for (const std::vector<Row>& on_stream : c.in_steps.by_stream()) {
    bool after_neighbour = false;  // whether the run began after one
    const auto finish = [&](bool at_neighbour) {
      if (after_neighbour || at_neighbour) {
        for (const Row op : run) found.add(op);
      }
      run.clear();
      after_neighbour = at_neighbour;
    };
    for (const Row op : on_stream) {
      if (neighbours.holds(op)) {
        finish(true);
      } else if (own.holds(op)) {
        run.push_back(op);
      } else if (ops.kind[op] != OpKind::set) {
        finish(false);  // a product's workspace is cleared right before it: skip memsets
      }
    }
    finish(false);
  }
  push_rows(lua, {Kind::ops, std::move(found).set()});
  return 1;
}

constexpr Verb neighbours_table[] = {
    {"trace:chains", verb<chains, Cost{.ops = 16}>},
    {"trace:runs", verb<runs, Cost{.ops = 2}>},
    {"trace:repeated", verb<repeated, Cost{.ops = 2}>},
    {"selection:beside", verb<beside, Cost{.ops = 2}>},
};

}  // namespace

const Verbs neighbours_verbs = neighbours_table;

}  // namespace gh::binding
