#include "analysis/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "analysis/collectives.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// When the collectives of a trace ended, by name. Kernels that exchange messages count only if
// there are no others: they may involve just two ranks.
CollectiveEnds collective_ends(const Trace& trace, const Classes& classes) {
  enum Kind : std::uint8_t { unknown, none, collective, message };
  std::vector<Kind> kinds(trace.names.size(), unknown);
  CollectiveEnds collectives, messages;
  for (Row op = 0; op < trace.ops.size(); ++op) {
    if (trace.ops.kind[op] != OpKind::kernel) continue;
    const std::string& name = trace.names[trace.ops.name[op]];
    Kind& kind = kinds[trace.ops.name[op]];
    if (kind == unknown)
      kind = classes.kernel_class(name) != KernelClass::collective ? none
             : kind_of_kernel(name) == CollectiveKind::message     ? message
                                                                   : collective;
    if (kind != none)
      (kind == collective ? collectives : messages)[name].push_back(trace.ops.end[op]);
  }
  return collectives.empty() ? messages : collectives;
}

// The pairs if the i-th of the first matches the (i + n)-th of the other.
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

// The median distance of values from their median.
Ns spread(const std::vector<Ns>& values) {
  const Ns middle = median(values);
  std::vector<Ns> off;
  for (const Ns v : values) off.push_back(std::abs(v - middle));
  return median(std::move(off));
}

// Appends all rows of a rank to those of the ranks before it. Renumbers its names, devices,
// processes, threads and streams to follow theirs, and converts its times to their clock.
class Appending {
 public:
  Appending(Trace& to, const Trace& from, Ns shift)
      : to_(to),
        from_(from),
        shift_(shift),
        devices_(to.devices.size()),
        processes_(to.processes.size()),
        threads_(to.threads.size()),
        streams_(to.streams.size()),
        groups_(to.groups.size()) {
    for (NameId n = 0; n < from.names.size(); ++n) names_.push_back(to.names.intern(from.names[n]));
  }

  void run() {
    if (devices_ + from_.devices.size() >= no_index ||
        processes_ + from_.processes.size() >= no_index ||
        threads_ + from_.threads.size() >= no_index)
      throw Error(fmt::format(
          "{}: the job has more threads than fit into one analysis; give fewer ranks at once",
          from_.path));
    add_threads_and_streams();
    for (const Group& g : from_.groups) to_.groups.push_back({names_[g.name], g.ranks});
    for (const auto& [kernel, file] : from_.kernel_sources)
      to_.kernel_sources.emplace(names_[kernel], names_[file]);
    each_table([&](auto& to, const auto& from) { add(to, from); }, to_, from_);
    keep_old_allocations();
    add_recording();
  }

 private:
  void add_threads_and_streams() {
    append(to_.devices, from_.devices);
    append(to_.processes, from_.processes);
    for (Thread t : from_.threads) {
      t.process = static_cast<std::uint16_t>(t.process + processes_);
      to_.threads.push_back(t);
    }
    for (Stream s : from_.streams) {
      s.device = static_cast<std::uint16_t>(s.device + devices_);
      s.process = static_cast<std::uint16_t>(s.process + processes_);
      to_.streams.push_back(s);
    }
  }

  template <class Events>
  void add(Events& to, const Events& from) {
    const std::size_t rows = to.size();
    each_column(
        [&](auto column, auto& values, const auto& more) {
          if (!is_recorded(column.contents) || (values.empty() && more.empty())) return;
          values.resize(rows, column.none);
          if constexpr (column.contents == Contents::value)
            append(values, more);
          else
            for (const auto value : more) values.push_back(moved<column.contents>(value));
          values.resize(rows + from.size(), column.none);
        },
        to, from);
  }

  void add_recording() {
    for (const Span s : from_.profiler_overhead)
      to_.profiler_overhead.push_back({s.start + shift_, s.end + shift_});
    to_.recording_ns += from_.recording_ns;
    to_.environment_variables += from_.environment_variables;
    to_.environment.insert(from_.environment.begin(), from_.environment.end());
    append(to_.diagnostics, from_.diagnostics);
    const auto add_texts = [&](std::vector<std::string>& to, const std::vector<std::string>& from) {
      for (const std::string& text : from) to.push_back(fmt::format("{}: {}", from_.path, text));
    };
    add_texts(to_.problems, from_.problems);
    add_texts(to_.doubts, from_.doubts);
    // What one rank did not record is unknown for the whole job.
    for (std::size_t i = 0; i < to_.sources.size(); ++i)
      if (static_cast<int>(from_.sources[i].state) > static_cast<int>(to_.sources[i].state))
        to_.sources[i] = from_.sources[i];
  }

  // What CUDA handed out before the recording stays older than it.
  void keep_old_allocations() {
    const Allocations& from = from_.allocations;
    Allocations& to = to_.allocations;
    if (from.size() == 0) return;
    to.by = from.by;
    for (std::size_t i = 0; i < from.size() && from.by == Allocator::cuda; ++i)
      if (from.start[i] <= 0)
        to.start[to.size() - from.size() + i] = std::min(from.start[i], from.start[i] + shift_);
  }

  // What a rank's number, name or time is in the whole job.
  template <Contents contents, class Value>
  Value moved(Value of_rank) const {
    using enum Contents;
    const auto behind = [&](std::size_t others) { return static_cast<Value>(of_rank + others); };
    if constexpr (contents == time) return of_rank + shift_;
    if constexpr (contents == name) return names_[of_rank];
    if constexpr (contents == thread) return behind(threads_);
    if constexpr (contents == thread_or_none)
      return of_rank == no_index ? of_rank : behind(threads_);
    if constexpr (contents == stream) return behind(streams_);
    if constexpr (contents == device) return behind(devices_);
    if constexpr (contents == process) return behind(processes_);
    if constexpr (contents == group_or_none) return of_rank == no_group ? of_rank : behind(groups_);
    return of_rank;
  }

  Trace& to_;
  const Trace& from_;
  const Ns shift_;
  const std::size_t devices_, processes_, threads_, streams_, groups_;  // how many came before
  std::vector<NameId> names_;                                           // by the rank's own number
};

}  // namespace

std::optional<std::ptrdiff_t> matching(const std::vector<Ns>& first, const std::vector<Ns>& other,
                                       std::optional<Ns> ahead) {
  constexpr std::ptrdiff_t most = 64;  // additional ones that one rank has before the other's first
  constexpr std::size_t least = 3;     // that both have
  // The same collectives end together: matching pairs have a constant distance; for others it
  // varies as much as the time between collectives.
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
  // Where collectives are evenly spaced, several matches fit: then the clocks decide, or equal
  // counts do.
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
  // Ranks leave a collective within about ten microseconds of each other. If half of the pairs
  // differ by more, they do not match.
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

Trace join_ranks(std::vector<Trace> ranks, const Classes& classes) {
  Trace all = std::move(ranks.front());
  if (ranks.size() == 1) return all;
  for (const Trace& rank : ranks)
    if (&rank != &ranks.front() && rank.format != all.format)
      throw Error(
          fmt::format("{} and {} look like ranks of one job, but come from different profilers; "
                      "analyze them one at a time",
                      all.path, rank.path));
  const auto first = collective_ends(all, classes);
  const Ns epoch = all.epoch_ns;
  all.path = fmt::format("{} and {} more rank{} of the same job", all.path, ranks.size() - 1,
                         ranks.size() == 2 ? "" : "s");
  std::vector<std::size_t> device_rank(all.devices.size(), 0);
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    std::optional<Ns> about;
    if (epoch != 0 && ranks[r].epoch_ns != 0) about = epoch - ranks[r].epoch_ns;
    const auto alignment = align(first, collective_ends(ranks[r], classes), about);
    all.clocks_aligned = all.clocks_aligned && alignment.has_value();
    const Ns ahead = alignment ? alignment->ahead : about.value_or(0);
    Appending(all, ranks[r], -ahead).run();
    device_rank.resize(all.devices.size(), r);
    ranks[r] = {};
  }
  // If every rank calls its GPU device 0, that number means nothing: use the rank.
  std::set<int> ordinals;
  for (const Device& d : all.devices) ordinals.insert(d.ordinal);
  if (ordinals.size() < all.devices.size())
    for (std::size_t d = 0; d < all.devices.size(); ++d)
      all.devices[d].ordinal = static_cast<int>(device_rank[d]);
  all.seal();
  all.lost = find_lost_work(all);
  return all;
}

}  // namespace gh
