#include "rules/host_waits.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/structure/structure.hpp"

namespace gh {
namespace {

constexpr std::size_t most_waits = 8;

struct Place {
  std::vector<Row> calls;
  std::size_t count = 0;  // of waits, which may be several calls each
  std::vector<std::int64_t> bytes;
  Ns blocked_ns = 0;
  Span longest;
};

}  // namespace

std::vector<HostWait> host_waits(const Analysis& a, const std::vector<Wait>& waits,
                                 const Replay* replay) {
  const Trace& t = a.trace;
  const ProgramLayers& layers = a.structure().layers();
  using Key = std::tuple<WaitFor, NameId, std::uint32_t, std::string, NameId>;
  std::map<Key, Place> places;
  std::map<LayerId, std::string> stems;
  for (const Wait& wait : waits) {
    const Origin& from = layers.origin(layers.of_call(wait.first));
    const auto [stem, is_new] = stems.try_emplace(from.layer);
    if (is_new) stem->second = layers.stem_path(from.layer);
    Place& place = places[{wait.what, t.calls.name[wait.first], from.op, stem->second, from.line}];
    place.calls.push_back(wait.call);
    place.count += wait.call == wait.first;
    if (wait.copy != no_row) place.bytes.push_back(t.ops.bytes[wait.copy]);
    const Span span{wait.since, t.calls.end[wait.call]};
    place.blocked_ns += span.length();
    if (place.calls.size() == 1 || span.length() > place.longest.length()) place.longest = span;
  }
  std::vector<std::pair<Key, Place>> longest(std::make_move_iterator(places.begin()),
                                             std::make_move_iterator(places.end()));
  std::stable_sort(longest.begin(), longest.end(), [](const auto& x, const auto& y) {
    return x.second.blocked_ns > y.second.blocked_ns;
  });
  longest.resize(std::min(longest.size(), most_waits));

  const bool replayed = replay && replay->reason().empty();
  const double steps = static_cast<double>(std::max<std::int64_t>(1, a.step_count()));
  std::vector<HostWait> found;
  for (auto& [key, place] : longest) {
    const auto& [what, call, op, layer, line] = key;
    HostWait wait;
    wait.what = what;
    wait.call = t.names[call];
    wait.op = layers.operators()[op];
    wait.layer = layer;
    if (const auto source = a.names.sources.find(line); source != a.names.sources.end())
      wait.source = source->second;
    wait.per_step = static_cast<double>(place.count) / steps;
    wait.blocked_ns = static_cast<Ns>(static_cast<double>(place.blocked_ns) / steps);
    wait.bytes = median(std::move(place.bytes));
    wait.longest = place.longest;
    if (replayed) {
      Changes without{change::Unblock{std::move(place.calls)}};
      replay->trim(without);
      wait.without = predicted(*replay, without, "");
      wait.saves_ns = std::max<Ns>(0, replay->step_ns({}) - wait.without->step_ns);
      wait.at_most = what == WaitFor::decision || what == WaitFor::managed ||
                     what == WaitFor::migration || !replay->trusted() ||
                     (what == WaitFor::result && wait.bytes > single_value_bytes);
    }
    found.push_back(std::move(wait));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const HostWait& x, const HostWait& y) { return x.saves_ns > y.saves_ns; });
  if (!replayed) return found;
  for (const SilentWait& silence : replay->silences()) {
    HostWait wait;
    wait.what = WaitFor::unrecorded;
    wait.call = t.names[t.calls.name[silence.call]];
    wait.within_call = silence.within_call;
    wait.thread = t.thread_label(silence.thread);
    wait.waits_for = silence.what_for;
    wait.is_certain = silence.is_certain;
    wait.per_step = 1;
    wait.blocked_ns = silence.mean_ns;
    wait.longest = silence.longest;
    found.push_back(std::move(wait));
  }
  return found;
}

}  // namespace gh
