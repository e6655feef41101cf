// GPU metrics that were sampled within the steps.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/metrics.hpp"
#include "base/text.hpp"
#include "rules/binding/verbs.hpp"
#include "trace/metric_names.hpp"

namespace gh::binding {
namespace {

bool is_within_steps(const Context& c, Row sample) {
  const std::size_t slot = c.slot_of_device[c.trace().samples.device[sample]];
  return slot != no_slot && sampled_in_steps(c.analysis, slot, sample);
}

// The results if nothing was sampled: nil, why, and how to record it.
int push_not_sampled(lua_State* lua, const Context& c, const std::string& glob) {
  const Availability& have = c.trace().availability(Source::samples);
  lua_pushnil(lua);
  if (have.known()) {
    push_text(lua, fmt::format("no metric '{}' was sampled within the steps", printable(glob)));
  } else {
    push_text(lua, have.reason);
  }
  push_text(lua, as_code(have.record_with));
  return 3;
}

// A metric, and the bounds that its samples have to be within.
struct Bound {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  std::string glob;
  double least = -infinity, most = infinity;
};

constexpr std::size_t most_bounds = 16;

// An element of sampled_fraction's list.
Bound to_bound(lua_State* lua, int index) {
  const LuaTable part(lua, index, "a part of the argument of 'sampled_fraction'");
  part.only({"metric", "least", "most"});
  if (part.push("metric") != LUA_TSTRING) throw Error(part.where() + " needs 'metric', a string");
  std::string glob = checked_glob(lua, -1);
  lua_pop(lua, 1);
  return {std::move(glob), part.number("least").value_or(-Bound::infinity),
          part.number("most").value_or(Bound::infinity)};
}

// A moment at which metrics were sampled.
struct Moment {
  std::size_t known = 0;  // number of bounds whose metric has a sample
  bool met = true;        // whether all of them are met
};

// Calls take(sample, bound) for each sample within the steps and each bound of its metric.
template <class Take>
void each_sample(lua_State* lua, const Context& c, const std::vector<Bound>& bounds, Take take) {
  const Samples& s = c.trace().samples;
  std::map<NameId, std::vector<bool>> matches;  // by bound: whether it is of the metric
  for (Row r = 0; r < s.size(); ++r) {
    const auto [it, first] = matches.try_emplace(s.metric[r]);
    const std::string& name = c.trace().names[s.metric[r]];
    for (std::size_t b = 0; first && b < bounds.size(); ++b) {
      charge(lua, glob_cost(bounds[b].glob, name));
      it->second.push_back(is_metric(bounds[b].glob, name));
    }
    for (std::size_t b = 0; b < bounds.size(); ++b)
      if (it->second[b] && is_within_steps(c, r)) take(r, bounds[b]);
  }
}

int metric(lua_State* lua, const Context& c) {
  const std::string glob = checked_glob(lua, 2);
  const Samples& s = c.trace().samples;
  std::vector<double> values;
  Ns period = 0;
  each_sample(lua, c, {{glob}}, [&](Row r, const Bound&) {
    values.push_back(s.value[r]);
    period = std::max(period, s.period[r]);
  });
  if (values.empty()) return push_not_sampled(lua, c, glob);
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const auto count = static_cast<double>(values.size());
  lua_newtable(lua);
  set_number(lua, "count", count);
  set_number(lua, "mean", sum / count);
  set_number(lua, "median", values[values.size() / 2]);
  set_number(lua, "least", values.front());
  set_number(lua, "most", values.back());
  set_number(lua, "period_ns", static_cast<double>(period));
  return 1;
}

int sampled_fraction(lua_State* lua, const Context& c) {
  std::vector<Bound> bounds;
  LuaTable(lua, 2, "the argument of 'sampled_fraction'")
      .each([&](int index) { bounds.push_back(to_bound(lua, index)); }, most_bounds);
  charge(lua, bounds.size() * c.trace().samples.size() / 2);
  const Samples& s = c.trace().samples;
  std::map<std::pair<std::uint16_t, Ns>, Moment> moments;  // by device and time
  each_sample(lua, c, bounds, [&](Row r, const Bound& bound) {
    Moment& m = moments[{s.device[r], s.start[r]}];
    ++m.known;
    m.met = m.met && s.value[r] >= bound.least && s.value[r] <= bound.most;
  });
  double met = 0, all = 0;
  for (const auto& [at, moment] : moments) {
    if (moment.known != bounds.size()) continue;
    met += moment.met;
    ++all;
  }
  if (all == 0) return push_not_sampled(lua, c, bounds.empty() ? "" : bounds.front().glob);
  push_number(lua, met / all);
  return 1;
}

constexpr Verb samples_table[] = {
    {"trace:metric", verb<metric, Cost{.samples = 4}>},
    {"trace:sampled_fraction", verb<sampled_fraction, Cost{.samples = 2}>},
};

}  // namespace

const Verbs samples_verbs = samples_table;

}  // namespace gh::binding
