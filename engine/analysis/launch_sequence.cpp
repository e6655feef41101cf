#include "analysis/launch_sequence.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "analysis/launch_times.hpp"

namespace gh {
namespace {

// What entries have in common; each field from left to right makes them more alike.
struct What {
  std::uint64_t kind_and_name = 0, grid = 0;
  std::int64_t bytes = 0;
  std::uint32_t stream = 0;
  bool operator==(const What&) const = default;
};

struct Hash {
  std::size_t operator()(const What& w) const {
    // Spread before the grid joins it: both are shifted by 16, so that they would cancel out.
    std::uint64_t h = w.kind_and_name * 0x9E3779B97F4A7C15U;
    for (const std::uint64_t part :
         {w.grid, static_cast<std::uint64_t>(w.bytes), std::uint64_t{w.stream}})
      h = (h ^ part ^ h >> 31) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(h ^ h >> 29);
  }
};

class Numbers {
 public:
  explicit Numbers(LaunchSequence::Tokens& tokens) : tokens_(tokens) {}
  void add(const What& what) {
    const auto next = static_cast<LaunchSequence::Token>(numbers_.size());
    tokens_.at.push_back(numbers_.try_emplace(what, next).first->second);
    tokens_.count = numbers_.size();
  }

 private:
  LaunchSequence::Tokens& tokens_;
  std::unordered_map<What, LaunchSequence::Token, Hash> numbers_;
};

// Which threads launched the operations.
std::vector<char> launching_threads(const Trace& trace, const std::vector<Row>& ops) {
  std::vector<char> launch(trace.threads.size());
  for (const Row op : ops)
    if (const Row call = trace.ops.call[op]; call != no_row) launch[trace.calls.thread[call]] = 1;
  return launch;
}

}  // namespace

struct LaunchSequence::Entry {
  Ns begun = 0, done = 0;
  Row op = no_row, call = no_row;
};

LaunchSequence::LaunchSequence(const Trace& trace, const Classes& classes, const NameClasses& names,
                               const std::vector<Row>& device_ops, Span calls_in)
    : trace_(trace) {
  std::vector<Entry> all = entries(names, device_ops, calls_in);
  const auto earlier = [](const Entry& a, const Entry& b) { return a.begun < b.begun; };
  if (!std::is_sorted(all.begin(), all.end(), earlier))
    std::stable_sort(all.begin(), all.end(), earlier);
  const std::vector<char> minor = minor_threads(trace, all);
  Ns done = 0;
  for (const Entry& e : all) {
    ops_.push_back(e.op);
    begun_.push_back(e.begun);
    const bool collective = e.op != no_row && trace.ops.kind[e.op] == OpKind::kernel &&
                            names.kernel[trace.ops.name[e.op]] == KernelClass::collective;
    busy_ns_.push_back(e.op == no_row || collective ? 0 : trace.span_of(e.op).length());
    const bool counts = e.call == no_row || !minor[trace.calls.thread[e.call]];
    pause_.push_back(counts && done > 0 ? e.begun - std::min(done, e.begun) : 0);
    if (counts) done = e.done;
    waits_.push_back(e.op == no_row && names.call[trace.calls.name[e.call]] == CallClass::sync);
  }
  number(classes, names, all);
  number_orders();
}

LaunchSequence LaunchSequence::at(const std::vector<std::size_t>& places) const {
  LaunchSequence some(trace_);
  const auto take = [&](const auto& all, auto& taken) {
    if (!all.empty())
      for (const std::size_t i : places) taken.push_back(all[i]);
  };
  take(ops_, some.ops_);
  take(begun_, some.begun_);
  take(pause_, some.pause_);
  take(busy_ns_, some.busy_ns_);
  take(waits_, some.waits_);
  for (Tokens LaunchSequence::*tokens : {&LaunchSequence::alike_, &LaunchSequence::exact_,
                                         &LaunchSequence::on_stream_, &LaunchSequence::in_order_}) {
    take((this->*tokens).at, (some.*tokens).at);
    (some.*tokens).count = (this->*tokens).count;
  }
  return some;
}

// Threads that keep the device busy for almost no time, such as one that checks whether it is still
// there: their launches do not end pauses of the program.
std::vector<char> LaunchSequence::minor_threads(const Trace& trace, const std::vector<Entry>& all) {
  constexpr double least_share = 0.05;  // of the device's time
  std::vector<double> busy_ns(trace.threads.size());
  double total_ns = 0;
  for (const Entry& e : all)
    if (e.op != no_row && e.call != no_row) {
      const auto ns = static_cast<double>(trace.span_of(e.op).length());
      busy_ns[trace.calls.thread[e.call]] += ns;
      total_ns += ns;
    }
  std::vector<char> minor;
  for (const double ns : busy_ns) minor.push_back(ns < least_share * total_ns);
  return minor;
}

std::vector<LaunchSequence::Entry> LaunchSequence::entries(const NameClasses& names,
                                                           const std::vector<Row>& device_ops,
                                                           Span calls_in) const {
  std::vector<Entry> all;
  for (const Row op : device_ops) {
    if (is_unified(trace_.ops.copy[op])) continue;
    const Row call = trace_.ops.call[op];
    const Ns begun = launched_at(trace_, op);
    all.push_back({begun, call == no_row ? begun : trace_.calls.end[call], op, call});
  }
  // What was launched before the recording began came before what follows it on its stream, even if
  // the device started it later.
  std::vector<Ns> next(trace_.streams.size(), std::numeric_limits<Ns>::max());
  for (auto e = all.rbegin(); e != all.rend(); ++e) {
    Ns& behind = next[trace_.ops.stream[e->op]];
    if (e->call == no_row) e->begun = e->done = std::min(e->begun, behind);
    behind = e->begun;
  }
  const std::vector<char> launch = launching_threads(trace_, device_ops);
  const std::vector<Ns>& starts = trace_.calls.start;
  const auto from = std::lower_bound(starts.begin(), starts.end(), calls_in.start);
  for (auto call = static_cast<Row>(from - starts.begin());
       call < starts.size() && starts[call] < calls_in.end; ++call) {
    const CallClass c = names.call[trace_.calls.name[call]];
    if ((c == CallClass::sync || c == CallClass::allocation) && launch[trace_.calls.thread[call]])
      all.push_back({starts[call], trace_.calls.end[call], no_row, call});
  }
  return all;
}

void LaunchSequence::number(const Classes& classes, const NameClasses& names,
                            const std::vector<Entry>& entries) {
  constexpr std::uint64_t a_call = 0xFF, a_product = 0xFE;
  Numbers alike(alike_), exact(exact_), on_stream(on_stream_);
  const Ops& ops = trace_.ops;
  const auto first = std::find_if(ops_.begin(), ops_.end(), [](Row op) { return op != no_row; });
  const bool streams = std::any_of(first, ops_.end(), [&](Row op) {
    return op != no_row && ops.stream[op] != ops.stream[*first];
  });
  for (const Entry& e : entries) {
    What what;
    if (e.op == no_row) {
      what.kind_and_name = std::uint64_t{trace_.calls.name[e.call]} << 16 | a_call;
    } else {
      what.kind_and_name = std::uint64_t{ops.name[e.op]} << 16 |
                           static_cast<std::uint64_t>(ops.kind[e.op]) << 8 |
                           static_cast<std::uint64_t>(ops.copy[e.op]);
    }
    What class_of = what;
    if (e.op != no_row && ops.kind[e.op] == OpKind::kernel)
      if (const KernelClass c = names.kernel[ops.name[e.op]]; classes.is_product(c))
        class_of.kind_and_name = static_cast<std::uint64_t>(c) << 16 | a_product;
    alike.add(class_of);
    if (e.op != no_row) {
      what.grid = std::uint64_t{ops.blocks[e.op]} << 16 | ops.threads[e.op];
      what.bytes = ops.bytes[e.op];
    }
    exact.add(what);
    if (!streams) continue;
    if (e.op != no_row) what.stream = ops.stream[e.op] + 1;
    on_stream.add(what);
  }
}

void LaunchSequence::number_orders() {
  using Four = std::array<Token, 4>;
  const auto hash = [](const Four& four) {
    std::uint64_t h = 0;
    for (const Token t : four) h = (h ^ t ^ h >> 29) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(h ^ h >> 31);
  };
  std::unordered_map<Four, Token, decltype(hash)> numbers(16, hash);
  std::vector<Four> last(trace_.streams.size() + 1, Four{});  // by stream; calls come last
  for (std::size_t i = 0; i < size(); ++i) {
    Four& four = last[ops_[i] == no_row ? trace_.streams.size() : trace_.ops.stream[ops_[i]]];
    four = {four[1], four[2], four[3], alike_.at[i] + 1};
    const auto next = static_cast<Token>(numbers.size()) + 1;
    // The first three do not have three before them.
    in_order_.at.push_back(four[0] == 0 ? 0 : numbers.try_emplace(four, next).first->second);
  }
  in_order_.count = numbers.size() + 1;
}

}  // namespace gh
