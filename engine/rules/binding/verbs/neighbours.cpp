// Operations that follow each other on a stream: chains around some, runs of others, and what
// stands beside.
#include <fmt/format.h>

#include <algorithm>

#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// --- Chains

constexpr std::size_t most_required = 16;

// What a rule asks of chains.
struct ChainQuestion {
  RowBits centres, edges, passable;
  std::size_t most;               // operations on either side, up to its edges
  std::size_t edges_a_side;       // at most
  std::vector<RowBits> required;  // a chain has to hold one of each
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

// Walks from `centre`, a position among the operations of a stream, in one direction. Without
// edges where it comes to something that does not belong there, or to nothing.
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
    // Edges of one side stand next to each other.
    if (!side.edges.empty() || !q.passable.holds(op)) return;
    side.passed.push_back(op);
  }
}

bool holds_all_required(const ChainQuestion& q, const std::vector<Row>& chain) {
  return std::all_of(q.required.begin(), q.required.end(), [&](const RowBits& one_of) {
    return std::any_of(chain.begin(), chain.end(), [&](Row op) { return one_of.holds(op); });
  });
}

struct FoundChains {
  std::shared_ptr<Chains> chains = std::make_shared<Chains>();
  RowBits inner, edges;  // operations of all of them
};

// The chains on one stream. No operation is in two.
void find_chains(const ChainQuestion& q, const Trace& t, const std::vector<Row>& ops,
                 FoundChains& found) {
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
    for (const Row op : before.edges) found.edges.add(op);
    for (const Row op : after.edges) found.edges.add(op);
    found.chains->push_back({{t.ops.start[chain.front()], t.ops.end[chain.back()]}, ops[i]});
  }
}

// --- Runs

struct FoundRuns {
  std::shared_ptr<Chains> runs = std::make_shared<Chains>();
  RowBits inner, longest;  // operations of all of them, and the longest one of each
};

void add_run(const Trace& t, const std::vector<Row>& run, FoundRuns& found) {
  found.runs->push_back({{t.ops.start[run.front()], t.ops.end[run.back()]}, run.front()});
  for (const Row op : run) found.inner.add(op);
  found.longest.add(*std::max_element(run.begin(), run.end(), [&](Row a, Row b) {
    return t.span_of(a).length() < t.span_of(b).length();
  }));
}

// Three results: chains or runs, and two selections of operations.
int push_found(lua_State* lua, std::shared_ptr<const Chains> chains, RowSet first, RowSet second) {
  const std::size_t count = chains->size();
  push_rows(lua, {Kind::chains, RowSet::all(count), std::move(chains)});
  push_rows(lua, {Kind::ops, std::move(first)});
  push_rows(lua, {Kind::ops, std::move(second)});
  return 3;
}

}  // namespace

int chains(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const std::size_t all = t.ops.size();
  const LuaTable asked(lua, 2, "what 'chains' is given");
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
  if (centre->rows.empty()) {
    for (const Kind kind : {Kind::chains, Kind::ops, Kind::ops}) push_rows(lua, {kind, {}});
    return 3;
  }
  charge(lua, all / 2);  // the streams are walked
  FoundChains found{.inner = RowBits(all), .edges = RowBits(all)};
  for (const std::vector<Row>& ops : c.in_steps.by_stream()) find_chains(question, t, ops, found);
  return push_found(lua, found.chains, std::move(found.inner).set(), std::move(found.edges).set());
}

int runs(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const LuaTable asked(lua, 2, "what 'runs' is given");
  asked.only({"of", "least"});
  const Rows* of = ops_in(asked, "of");
  if (!of) throw Error("runs needs 'of', a selection of operations");
  const std::size_t least = std::max<std::size_t>(1, asked.count("least", 3, boundless));
  const RowBits wanted(of->rows, t.ops.size());
  FoundRuns found{.inner = RowBits(t.ops.size()), .longest = RowBits(t.ops.size())};
  std::vector<Row> run;  // that goes on
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
  return push_found(lua, found.runs, std::move(found.inner).set(), std::move(found.longest).set());
}

int beside(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  if (asked.kind != Kind::ops || other.kind != Kind::ops) {
    throw Error("'beside' is asked of operations, about operations");
  }
  const Ops& ops = c.trace().ops;
  const RowBits own(asked.rows, ops.size()), neighbours(other.rows, ops.size());
  RowBits found(ops.size());
  std::vector<Row> run;  // of own operations, that goes on
  for (const std::vector<Row>& on_stream : c.in_steps.by_stream()) {
    bool after_neighbour = false;  // whether the run began there
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
        finish(false);  // a product's workspace is cleared right before it: memsets pass
      }
    }
    finish(false);
  }
  push_rows(lua, {Kind::ops, std::move(found).set()});
  return 1;
}

}  // namespace gh::binding
