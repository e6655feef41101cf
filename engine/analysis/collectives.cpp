#include "analysis/collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace gh {
namespace {

constexpr std::size_t kind_count = static_cast<std::size_t>(CollectiveKind::count);

// Strips capitals, underscores and whatever else people put between words of a name.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The kind that a plain name shows; none where it shows nothing.
CollectiveKind kind_in(std::string_view name) {
  struct Word {
    const char* text;
    CollectiveKind kind;
  };
  static constexpr std::array<Word, 10> words{{
      {"alltoall", CollectiveKind::all_to_all},
      {"reducescatter", CollectiveKind::reduce_scatter},
      {"allgather", CollectiveKind::all_gather},
      {"allreduce", CollectiveKind::all_reduce},
      {"crossdevicereduce", CollectiveKind::all_reduce},
      {"internode", CollectiveKind::all_to_all},
      {"intranode", CollectiveKind::all_to_all},
      {"deepep", CollectiveKind::all_to_all},
      {"broadcast", CollectiveKind::broadcast},
      {"sendrecv", CollectiveKind::message},
  }};
  for (const Word& w : words)
    if (name.find(w.text) != name.npos) return w.kind;
  return CollectiveKind::none;
}

// What a range around a launch says that it starts; none for ranges that are no operator's.
CollectiveKind kind_of_range(std::string_view name) {
  const bool is_operator = name.starts_with("nccl") || name.starts_with("c10d::");
  if (!is_operator) return CollectiveKind::none;
  const std::string p = plain(name);
  if (p.starts_with("ncclsend") || p.starts_with("ncclrecv") || p.starts_with("c10dsend") ||
      p.starts_with("c10drecv"))
    return CollectiveKind::message;
  return kind_in(p);
}

// By thread and kind: when ranges that start such collectives were open.
using Started = std::vector<std::array<Spans, kind_count>>;

Started started_in(const Trace& t) {
  std::vector<std::uint8_t> of_name(t.names.size());
  for (NameId id = 0; id < t.names.size(); ++id)
    of_name[id] = static_cast<std::uint8_t>(kind_of_range(t.names[id]));
  std::vector<std::array<std::vector<Span>, kind_count>> raw(t.threads.size());
  for (Row r = 0; r < t.ranges.size(); ++r)
    if (const std::uint8_t kind = of_name[t.ranges.name[r]]; kind != 0)
      raw[t.ranges.thread[r]][kind].push_back({t.ranges.start[r], t.ranges.end[r]});
  Started started(raw.size());
  for (std::size_t thread = 0; thread < raw.size(); ++thread)
    for (std::size_t kind = 0; kind < kind_count; ++kind)
      started[thread][kind] = united(std::move(raw[thread][kind]));
  return started;
}

CollectiveKind started_at(const std::array<Spans, kind_count>& of_thread, Ns at) {
  for (std::size_t kind = 0; kind < kind_count; ++kind)
    if (overlap(of_thread[kind], Span{at, at + 1}) > 0) return static_cast<CollectiveKind>(kind);
  return CollectiveKind::none;
}

// Whether messages that no range names are all-to-alls. Those have two or more each way; pipeline
// stages have one.
bool are_exchanges(const Trace& t, std::size_t messages) {
  std::size_t sends = 0, receives = 0;
  const NameId send = t.names.find("ncclSend"), receive = t.names.find("ncclRecv");
  for (Row r = 0; r < t.ranges.size(); ++r) {
    sends += send != 0 && t.ranges.name[r] == send;
    receives += receive != 0 && t.ranges.name[r] == receive;
  }
  return messages > 0 && std::min(sends, receives) >= 2 * messages;
}

}  // namespace

const char* name_of(CollectiveKind kind) {
  static constexpr std::array<const char*, kind_count> names{
      "",           "all-reduce", "reduce-scatter",   "all-gather",
      "all-to-all", "broadcast",  "send and receive", "another kind"};
  return names[static_cast<std::size_t>(kind)];
}

CollectiveKinds::CollectiveKinds(const Analysis& a)
    : trace_(a.trace), sized_(a.trace.threads.size()) {
  const Trace& t = a.trace;
  std::vector<Row> ops;
  for (const DeviceSteps& device : a.devices)
    for (const Row op : device.ops)
      if (t.ops.kind[op] == OpKind::kernel && a.kernel_class(op) == "collective") ops.push_back(op);
  if (ops.empty()) return;

  for (Row r = 0; r < t.ranges.size(); ++r)
    if (t.ranges.bytes[r] > 0) sized_[t.ranges.thread[r]].push_back(r);
  const Started started = started_in(t);
  kinds_.resize(t.ops.size());
  std::vector<Row> unnamed;  // messages that no range names
  for (const Row op : ops) {
    CollectiveKind kind = CollectiveKind::none;
    if (const Row call = t.ops.call[op]; call != no_row)
      kind = started_at(started[t.calls.thread[call]], t.calls.start[call]);
    if (kind == CollectiveKind::none) {
      kind = kind_in(plain(t.names[t.ops.name[op]]));
      if (kind == CollectiveKind::none) kind = CollectiveKind::other;
      if (kind == CollectiveKind::message) unnamed.push_back(op);
    }
    kinds_[op] = static_cast<std::uint8_t>(kind);
  }
  if (are_exchanges(t, unnamed.size()))
    for (const Row op : unnamed) kinds_[op] = static_cast<std::uint8_t>(CollectiveKind::all_to_all);
}

std::int64_t CollectiveKinds::bytes(Row op) const {
  const Row call = trace_.ops.call[op];
  if (call == no_row) return 0;
  const Ranges& r = trace_.ranges;
  const std::vector<Row>& ranges = sized_[trace_.calls.thread[call]];
  const Ns at = trace_.calls.start[call];
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), at,
                                      [&](Ns ns, Row range) { return ns < r.start[range]; });
  return after == ranges.begin() || r.end[*(after - 1)] < at ? 0 : r.bytes[*(after - 1)];
}

}  // namespace gh
