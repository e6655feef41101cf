#include "analysis/detect/late_devices.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/collectives.hpp"
#include "analysis/ranks.hpp"

namespace gh {
namespace {

using ByDevice = std::vector<std::vector<Row>>;  // by slot

// What devices did, as far as it matters for collectives.
struct Work {
  // The n-th collective of a name on one device is the n-th of that name on every other: they are
  // the same collective.
  std::map<NameId, ByDevice> collectives;
  std::vector<Spans> computing;  // by slot; waiting during compute costs nothing
};

Work work_of(const Analysis& a) {
  const Trace& t = a.trace;
  const std::vector<DeviceSteps>& devices = a.devices;
  const CollectiveKinds kinds(a);
  Work work;
  for (std::size_t slot = 0; slot < devices.size(); ++slot) {
    std::vector<Span> computing;
    for (const Row op : devices[slot].ops) {
      if (!a.is_collective(op)) {
        if (t.ops.kind[op] != OpKind::copy) computing.push_back(t.span_of(op));
      } else if (kinds.kind(op) != CollectiveKind::message) {
        // Messages between two devices are no collectives, and have one name for all pairs.
        ByDevice& same = work.collectives[t.ops.name[op]];
        same.resize(devices.size());
        same[slot].push_back(op);
      }
    }
    work.computing.push_back(
        intersection(united(std::move(computing)), a.account.devices[slot].window));
  }
  return work;
}

std::vector<Ns> ends_of(const Trace& t, const std::vector<Row>& ops) {
  std::vector<Ns> ends;
  for (const Row op : ops) ends.push_back(t.ops.end[op]);
  return ends;
}

// Whether nearly all collectives that are assumed to be the same ran at the same time. If some
// devices have one in the middle that others lack, all later pairs are wrong, and then they do not.
bool run_together(const Trace& t, const ByDevice& same) {
  const std::size_t count = same.front().size();
  std::size_t together = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Ns last_start = t.ops.start[same[0][i]], first_end = t.ops.end[same[0][i]];
    for (const std::vector<Row>& ops : same) {
      last_start = std::max(last_start, t.ops.start[ops[i]]);
      first_end = std::min(first_end, t.ops.end[ops[i]]);
    }
    together += last_start < first_end;
  }
  return 20 * together >= 19 * count;
}

// Keeps only the collectives of one name that all devices have. Ranks recorded separately may have
// a few more before the others' first or after their last. False if they cannot be matched.
bool keep_common(const Trace& t, ByDevice& same) {
  const std::vector<Row>& reference = same.front();
  const bool all_alike = std::all_of(same.begin(), same.end(), [&](const std::vector<Row>& ops) {
    return ops.size() == reference.size();
  });
  if (all_alike) return true;
  const std::vector<Ns> first = ends_of(t, reference);
  std::vector<std::ptrdiff_t> offsets;
  std::ptrdiff_t from = 0, to = static_cast<std::ptrdiff_t>(reference.size());
  for (const std::vector<Row>& ops : same) {
    const auto offset =
        &ops == &reference ? std::optional<std::ptrdiff_t>(0) : matching(first, ends_of(t, ops), 0);
    if (!offset) return false;
    offsets.push_back(*offset);
    from = std::max(from, -*offset);
    to = std::min(to, static_cast<std::ptrdiff_t>(ops.size()) - *offset);
  }
  if (from >= to) return false;
  for (std::size_t slot = 0; slot < same.size(); ++slot) {
    const auto begin = same[slot].begin() + offsets[slot];
    same[slot] = std::vector<Row>(begin + from, begin + to);
  }
  return run_together(t, same);
}

// Judges the i-th of the collectives that all devices have.
void judge(const Analysis& a, const Work& work, const ByDevice& same, std::size_t i,
           std::vector<LateDevice>& late) {
  const Ops& ops = a.trace.ops;
  std::size_t last = 0, first_out = 0;
  for (std::size_t slot = 1; slot < same.size(); ++slot) {
    if (ops.start[same[slot][i]] > ops.start[same[last][i]]) last = slot;
    if (ops.end[same[slot][i]] < ops.end[same[first_out][i]]) first_out = slot;
  }
  const Row own = same[last][i];
  // A device that had left before did not wait: another group, or the root of a broadcast.
  if (ops.end[same[first_out][i]] <= ops.start[own]) return;
  if (overlap(a.account.devices[last].window, a.trace.span_of(own)) == 0) return;
  std::vector<Ns> waits, exposed;
  for (std::size_t slot = 0; slot < same.size(); ++slot) {
    if (slot == last) continue;
    const Span wait{ops.start[same[slot][i]], ops.start[own]};
    const Ns waited = overlap(a.account.devices[slot].window, wait);  // not before the steps
    waits.push_back(waited);
    exposed.push_back(waited - overlap(work.computing[slot], wait));
    late[last].waited.push_back(same[slot][i]);
  }
  late[last].ns += median(std::move(waits));
  late[last].exposed_ns += median(std::move(exposed));
  late[last].own.push_back(own);
}

}  // namespace

std::vector<LateDevice> find_late_devices(const Analysis& a) {
  if (a.devices.size() < 2 || !a.trace.clocks_aligned) return {};
  Work work = work_of(a);
  std::vector<LateDevice> late(a.devices.size());
  for (std::size_t slot = 0; slot < late.size(); ++slot) late[slot].slot = slot;
  for (auto& [name, same] : work.collectives) {
    if (!keep_common(a.trace, same)) continue;
    for (std::size_t i = 0; i < same.front().size(); ++i) judge(a, work, same, i, late);
  }
  std::erase_if(late, [](const LateDevice& device) { return device.own.empty(); });
  std::stable_sort(late.begin(), late.end(),
                   [](const LateDevice& a, const LateDevice& b) { return a.ns > b.ns; });
  for (LateDevice& device : late) {
    std::sort(device.own.begin(), device.own.end());
    std::sort(device.waited.begin(), device.waited.end());
  }
  return late;
}

}  // namespace gh
