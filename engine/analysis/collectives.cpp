#include "analysis/collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/schema_table.hpp"

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

// schemas/ranges.toml, [collective].
struct CollectiveNames {
  Patterns starting;
  std::vector<std::string> message;
  std::string send, receive;
  std::vector<std::pair<std::string, CollectiveKind>> words;
};

CollectiveKind kind_named(const std::string& name) {
  for (std::size_t k = 0; k < kind_count; ++k)
    if (name == name_of(static_cast<CollectiveKind>(k))) return static_cast<CollectiveKind>(k);
  throw std::logic_error("schemas/ranges.toml names an unknown kind of collectives: " + name);
}

CollectiveNames read_collective_names() {
  const toml::table schema = schema_table("schemas/ranges.toml");
  const toml::node_view<const toml::node> of(schema["collective"]);
  CollectiveNames names{Patterns(strings(of["match"])),
                        strings(of["message"]),
                        of["send"].value_or(std::string()),
                        of["receive"].value_or(std::string()),
                        {}};
  for (const toml::node& word : *of["words"].as_array()) {
    const std::vector<std::string> pair = strings(toml::node_view<const toml::node>(word));
    names.words.emplace_back(pair.at(0), kind_named(pair.at(1)));
  }
  return names;
}

const CollectiveNames& collective_names() {
  static const CollectiveNames names = read_collective_names();
  return names;
}

// The kind that a plain name shows; none where it shows nothing.
CollectiveKind kind_in(std::string_view name) {
  for (const auto& [word, kind] : collective_names().words)
    if (name.find(word) != name.npos) return kind;
  return CollectiveKind::none;
}

// What a range around a launch says that it starts; none for ranges that are no operator's.
CollectiveKind kind_of_range(std::string_view name) {
  if (!collective_names().starting.match(name)) return CollectiveKind::none;
  const std::string p = plain(name);
  for (const std::string& start : collective_names().message)
    if (p.starts_with(start)) return CollectiveKind::message;
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
  const NameId send = t.names.find(collective_names().send),
               receive = t.names.find(collective_names().receive);
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

CollectiveKind kind_of_kernel(std::string_view kernel) { return kind_in(plain(kernel)); }

CollectiveKinds::CollectiveKinds(const Analysis& a)
    : trace_(a.trace), sized_(a.trace.threads.size()) {
  const Trace& t = a.trace;
  std::vector<Row> ops;
  for (const DeviceSteps& device : a.devices)
    for (const Row op : device.ops)
      if (a.is_collective(op)) ops.push_back(op);
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
      kind = kind_of_kernel(t.names[t.ops.name[op]]);
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
