#include "analysis/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "base/text.hpp"

namespace gh {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Of a column that is empty where no row has what it tells.
template <class T>
void append_if_any(std::vector<T>& to, std::size_t to_rows, const std::vector<T>& from,
                   std::size_t from_rows, std::type_identity_t<T> none) {
  if (to.empty() && from.empty()) return;
  to.resize(to_rows, none);
  append(to, from);
  to.resize(to_rows + from_rows, none);
}

void append_shifted(std::vector<Ns>& to, const std::vector<Ns>& from, Ns shift) {
  for (const Ns t : from) to.push_back(t + shift);
}

template <class T, class Map>
void append_mapped(std::vector<T>& to, const std::vector<T>& from, Map map) {
  for (const T v : from) to.push_back(static_cast<T>(map(v)));
}

// When the collectives of a trace ended, by name. Messages from one rank to another are no
// collectives.
CollectiveEnds collective_ends(const Trace& trace, const Classes& classes) {
  const auto& known = classes.kernel_classes();
  std::map<NameId, bool> is_collective;
  CollectiveEnds ends;
  for (Row op = 0; op < trace.ops.size(); ++op) {
    if (trace.ops.kind[op] != OpKind::kernel) continue;
    const std::string& name = trace.names[trace.ops.name[op]];
    const auto [it, added] = is_collective.try_emplace(trace.ops.name[op]);
    if (added)
      it->second = known[classes.kernel_class(name)] == "collective" &&
                   name.find("SendRecv") == std::string::npos;
    if (it->second) ends[name].push_back(trace.ops.end[op]);
  }
  return ends;
}

// What is paired where the i-th of the first is the (i + n)-th of the other.
std::vector<std::pair<Ns, Ns>> pairs(const std::vector<Ns>& first, const std::vector<Ns>& other,
                                     std::ptrdiff_t n) {
  std::vector<std::pair<Ns, Ns>> out;
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, -n);
       i < static_cast<std::ptrdiff_t>(first.size()) &&
       i + n < static_cast<std::ptrdiff_t>(other.size());
       ++i)
    out.emplace_back(first[static_cast<std::size_t>(i)], other[static_cast<std::size_t>(i + n)]);
  return out;
}

// How far values lie from the middle one, in the middle.
Ns spread(const std::vector<Ns>& values) {
  const Ns usual = median(values);
  std::vector<Ns> off;
  for (const Ns v : values) off.push_back(std::abs(v - usual));
  return median(std::move(off));
}

// Adds all rows of `from`, with its numbers of names, devices, processes, threads and streams put
// behind those that are there.
void add(Trace& to, const Trace& from, Ns shift) {
  std::vector<NameId> names;
  for (NameId n = 0; n < from.names.size(); ++n) names.push_back(to.names.intern(from.names[n]));
  const std::size_t devices = to.devices.size(), processes = to.processes.size(),
                    threads = to.threads.size(), streams = to.streams.size();
  if (devices + from.devices.size() >= no_index || processes + from.processes.size() >= no_index ||
      threads + from.threads.size() >= no_index)
    throw Error(
        fmt::format("{}: the job has more threads than can be told apart; give fewer ranks at once",
                    from.path));
  append(to.devices, from.devices);
  append(to.processes, from.processes);
  for (Thread t : from.threads) {
    t.process = static_cast<std::uint16_t>(t.process + processes);
    to.threads.push_back(t);
  }
  for (Stream s : from.streams) {
    s.device = static_cast<std::uint16_t>(s.device + devices);
    s.process = static_cast<std::uint16_t>(s.process + processes);
    to.streams.push_back(s);
  }
  const auto name = [&](NameId n) { return names[n]; };
  const auto behind = [](std::size_t n) { return [n](auto v) { return v + n; }; };
  const auto times = [&](auto& a, const auto& b) {
    append_shifted(a.start, b.start, shift);
    append_shifted(a.end, b.end, shift);
  };

  append_if_any(to.ops.occupancy, to.ops.size(), from.ops.occupancy, from.ops.size(), no_occupancy);
  append_if_any(to.ops.address, to.ops.size(), from.ops.address, from.ops.size(), 0);
  times(to.ops, from.ops);
  append(to.ops.bytes, from.ops.bytes);
  append_mapped(to.ops.stream, from.ops.stream, behind(streams));
  append_mapped(to.ops.name, from.ops.name, name);
  append(to.ops.correlation, from.ops.correlation);
  append(to.ops.blocks, from.ops.blocks);
  append(to.ops.threads, from.ops.threads);
  append(to.ops.kind, from.ops.kind);
  append(to.ops.copy, from.ops.copy);
  append(to.ops.source, from.ops.source);
  append(to.ops.target, from.ops.target);
  append(to.ops.cause, from.ops.cause);
  append(to.ops.in_graph, from.ops.in_graph);
  times(to.calls, from.calls);
  append_mapped(to.calls.name, from.calls.name, name);
  append(to.calls.correlation, from.calls.correlation);
  append_mapped(to.calls.thread, from.calls.thread, behind(threads));
  times(to.ranges, from.ranges);
  append_mapped(to.ranges.name, from.ranges.name, name);
  append_mapped(to.ranges.thread, from.ranges.thread, behind(threads));
  append(to.ranges.bytes, from.ranges.bytes);
  times(to.frames, from.frames);
  append_mapped(to.frames.name, from.frames.name, name);
  append_mapped(to.frames.thread, from.frames.thread, behind(threads));
  append_shifted(to.forwards.start, from.forwards.start, shift);
  append_mapped(to.forwards.thread, from.forwards.thread, behind(threads));
  append_shifted(to.forwards.forward_start, from.forwards.forward_start, shift);
  append_mapped(to.forwards.forward_thread, from.forwards.forward_thread, behind(threads));
  times(to.os_calls, from.os_calls);
  append_mapped(to.os_calls.name, from.os_calls.name, name);
  append_mapped(to.os_calls.thread, from.os_calls.thread, behind(threads));
  times(to.syncs, from.syncs);
  append(to.syncs.correlation, from.syncs.correlation);
  append_mapped(to.syncs.stream, from.syncs.stream, behind(streams));
  times(to.gpu_faults, from.gpu_faults);
  append(to.gpu_faults.address, from.gpu_faults.address);
  append(to.gpu_faults.count, from.gpu_faults.count);
  append_mapped(to.gpu_faults.device, from.gpu_faults.device, behind(devices));
  append_shifted(to.cpu_faults.start, from.cpu_faults.start, shift);
  append(to.cpu_faults.address, from.cpu_faults.address);
  append_mapped(to.cpu_faults.function, from.cpu_faults.function, name);
  append_shifted(to.memory_use.start, from.memory_use.start, shift);
  append(to.memory_use.bytes, from.memory_use.bytes);
  append_mapped(to.memory_use.device, from.memory_use.device, behind(devices));
  append(to.memory_use.kind, from.memory_use.kind);
  append_shifted(to.samples.start, from.samples.start, shift);
  append(to.samples.period, from.samples.period);
  append_mapped(to.samples.metric, from.samples.metric, name);
  append(to.samples.value, from.samples.value);
  append_mapped(to.samples.device, from.samples.device, behind(devices));
  for (const Span s : from.profiler_overhead)
    to.profiler_overhead.push_back({s.start + shift, s.end + shift});
  to.recording_ns += from.recording_ns;
  to.environment_variables += from.environment_variables;
  append(to.diagnostics, from.diagnostics);
  for (const std::string& p : from.problems)
    to.problems.push_back(fmt::format("{}: {}", from.path, p));
  // What one rank did not record, nobody can say of the job.
  for (std::size_t i = 0; i < to.sources.size(); ++i)
    if (static_cast<int>(from.sources[i].state) > static_cast<int>(to.sources[i].state))
      to.sources[i] = from.sources[i];
}

}  // namespace

std::optional<std::ptrdiff_t> matching(const std::vector<Ns>& first, const std::vector<Ns>& other,
                                       std::optional<Ns> ahead) {
  constexpr std::ptrdiff_t most = 64;  // that one rank has before the other's first
  constexpr std::size_t least = 3;     // that both have
  // The same collectives end together: pairs that belong together lie evenly apart, others as
  // unevenly as collectives follow each other.
  struct Fit {
    std::ptrdiff_t n;
    Ns apart, spread;
  };
  std::vector<Fit> fits;
  for (std::ptrdiff_t n = -most; n <= most; ++n) {
    std::vector<Ns> differences;
    for (const auto& [a, b] : pairs(first, other, n)) differences.push_back(b - a);
    if (differences.size() >= least) fits.push_back({n, median(differences), spread(differences)});
  }
  if (fits.empty()) return std::nullopt;
  const Ns best = std::min_element(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
                    return a.spread < b.spread;
                  })->spread;
  std::erase_if(fits, [&](const Fit& f) { return f.spread > 4 * best + 20'000; });
  if (fits.size() == 1) return fits.front().n;
  // Where collectives follow each other evenly, several fit: then the clocks have to say which, or
  // that both have as many.
  if (!ahead) {
    const bool alike = first.size() == other.size() &&
                       std::any_of(fits.begin(), fits.end(), [](const Fit& f) { return f.n == 0; });
    return alike ? std::optional<std::ptrdiff_t>(0) : std::nullopt;
  }
  const auto off = [&](const Fit& f) { return std::abs(f.apart - *ahead); };
  std::sort(fits.begin(), fits.end(), [&](const Fit& a, const Fit& b) { return off(a) < off(b); });
  return 2 * off(fits[0]) <= off(fits[1]) ? std::optional(fits[0].n) : std::nullopt;
}

std::optional<Alignment> align(const CollectiveEnds& first, const CollectiveEnds& other,
                               std::optional<Ns> about) {
  constexpr std::size_t least = 3;
  // Ranks leave a collective within some ten microseconds of each other. Where the half of them
  // differs by more, these are not the same.
  constexpr Ns most_spread_ns = 200'000;
  Alignment alignment;
  std::vector<Ns> differences;
  for (const auto& [name, ends] : first) {
    const auto it = other.find(name);
    const auto n = it == other.end() ? std::nullopt : matching(ends, it->second, about);
    if (!n) continue;
    alignment.offsets[name] = *n;
    for (const auto& [a, b] : pairs(ends, it->second, *n)) differences.push_back(b - a);
  }
  if (differences.size() < least || spread(differences) > most_spread_ns) return std::nullopt;
  alignment.ahead = median(differences);
  return alignment;
}

Trace joined(std::vector<Trace> ranks, const Classes& classes) {
  Trace all = std::move(ranks.front());
  if (ranks.size() == 1) return all;
  for (const Trace& rank : ranks)
    if (&rank != &ranks.front() && rank.format != all.format)
      throw Error(
          fmt::format("{} and {} look like ranks of one job, but come from different profilers; "
                      "name them one at a time",
                      all.path, rank.path));
  const auto first = collective_ends(all, classes);
  const Ns epoch = all.epoch_ns;
  all.path = fmt::format("{} and {} more rank{} of its job", all.path, ranks.size() - 1,
                         ranks.size() == 2 ? "" : "s");
  std::vector<std::size_t> device_rank(all.devices.size(), 0);
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    std::optional<Ns> about;
    if (epoch != 0 && ranks[r].epoch_ns != 0) about = epoch - ranks[r].epoch_ns;
    const auto alignment = align(first, collective_ends(ranks[r], classes), about);
    all.clocks_aligned = all.clocks_aligned && alignment.has_value();
    add(all, ranks[r], -(alignment ? alignment->ahead : about.value_or(0)));
    device_rank.resize(all.devices.size(), r);
    ranks[r] = {};
  }
  // Where every rank calls its own GPU device 0, the numbers tell nothing: the rank does.
  std::set<int> ordinals;
  for (const Device& d : all.devices) ordinals.insert(d.ordinal);
  if (ordinals.size() < all.devices.size())
    for (std::size_t d = 0; d < all.devices.size(); ++d)
      all.devices[d].ordinal = static_cast<int>(device_rank[d]);
  all.seal();
  return all;
}

}  // namespace gh
