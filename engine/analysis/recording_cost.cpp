#include "analysis/recording_cost.hpp"

#include <utility>
#include <vector>

#include "base/schema_table.hpp"
#include "base/spans.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

struct Costs {
  Ns range = 0, operator_range = 0;
  Ns launch = 0, call = 0, allocation = 0;
  double least_of_copy_down = 1;
  LaunchWorth worth;
};

const Costs& costs() {
  static const Costs known = [] {
    const toml::table toml = schema_table("schemas/overhead.toml");
    const auto of = [&](const char* part, const char* key) {
      return toml[part][key].value_or(Ns{0});
    };
    const auto worth = [&](std::size_t i) {
      return toml["calls"]["launch_worth"][i].value_or(0.0);
    };
    return Costs{of("nsys", "range"),           of("nsys", "operator_range"),
                 of("calls", "launch"),         of("calls", "call"),
                 of("calls", "allocation"),     toml["calls"]["least_of_copy_down"].value_or(1.0),
                 {worth(0), worth(1), worth(2)}};
  }();
  return known;
}

}  // namespace

const LaunchWorth& launch_worth() { return costs().worth; }

Ns call_cost_ns(CallClass kind) {
  return kind == CallClass::allocation ? costs().allocation : costs().call;
}

double least_of_copy_down() { return costs().least_of_copy_down; }

Ns usual_launch_ns(const Trace& t, const NameClasses& names, Row first, Row end) {
  constexpr std::size_t least_sampled = 16;
  std::vector<bool> used(t.names.size());
  std::vector<Ns> lengths;
  for (Row op = 0; op < end; ++op) {
    const Row call = t.ops.call[op];
    if (t.ops.kind[op] != OpKind::kernel || call == no_row) continue;
    const bool is_first = !used[t.ops.name[op]];
    used[t.ops.name[op]] = true;
    if (!is_first && op >= first && names.call[t.calls.name[call]] == CallClass::launch)
      lengths.push_back(t.calls.end[call] - t.calls.start[call]);
  }
  return lengths.size() < least_sampled ? costs().launch : median(std::move(lengths));
}

RecordingCost::RecordingCost(const Trace& trace) : trace_(trace), by_name_(trace.names.size()) {
  // PyTorch's profiler: a range is an operator, and frames and memory events lie in these.
  if (trace.recording_ns > 0 && trace.ranges.size() > 0) {
    by_name_.assign(by_name_.size(), trace.recording_ns / static_cast<Ns>(trace.ranges.size()));
    return;
  }
  for (NameId id = 0; id < by_name_.size(); ++id) {
    const std::string& name = trace.names[id];
    by_name_[id] =
        without_arguments(name).size() < name.size() ? costs().operator_range : costs().range;
  }
}

Ns RecordingCost::of_all(const NameClasses& names) const {
  Ns ns = trace_.recording_ns;
  for (const NameId name : trace_.calls.name)
    if (!launches(names.call[name])) ns += call_cost_ns(names.call[name]);
  if (trace_.recording_ns > 0) return ns;
  for (Row r = 0; r < trace_.ranges.size(); ++r) ns += of_range(r);
  return ns;
}

}  // namespace gh
