#include "metrics.hpp"

#include <algorithm>
#include <map>

#include "schema_table.hpp"

namespace gh {
namespace {

std::vector<SampledActivity> read_activities() {
  const toml::table table = schema_table("schemas/metrics.toml");
  std::vector<SampledActivity> all;
  for (const auto& [name, entry] : *table["activity"].as_table()) {
    SampledActivity a{std::string(name.str()), {}, entry.at_path("dcgm_field").value_or(std::string()), entry.at_path("dcgm_column").value_or(std::string())};
    for (const toml::node& part : *entry.at_path("parts").as_array()) {
      a.parts.emplace_back();
      for (const toml::node& glob : *part.as_array()) a.parts.back().push_back(glob.value_or(std::string()));
    }
    all.push_back(std::move(a));
  }
  return all;
}

const SampledActivity* activity_of(std::string_view name) {
  const auto it = std::find_if(activities().begin(), activities().end(), [&](const SampledActivity& a) { return a.name == name; });
  return it == activities().end() ? nullptr : &*it;
}

// Which part of the activity a metric is: 0, 1, ...; -1 of none. DCGM's fields are the whole of it.
int part_of(const SampledActivity& a, std::string_view metric) {
  if (!a.dcgm_field.empty() && metric == a.dcgm_field) return 0;
  for (std::size_t p = 0; p < a.parts.size(); ++p)
    if (std::any_of(a.parts[p].begin(), a.parts[p].end(), [&](const std::string& glob) { return glob_match(glob, metric); })) return static_cast<int>(p);
  return -1;
}

}  // namespace

const std::vector<SampledActivity>& activities() {
  static const std::vector<SampledActivity> all = read_activities();
  return all;
}

bool is_metric(std::string_view wanted, std::string_view metric) {
  const SampledActivity* activity = activity_of(wanted);
  return activity ? part_of(*activity, metric) >= 0 : glob_match(wanted, metric);
}

bool sampled_in_steps(const Analysis& a, std::size_t device, Row sample) {
  const Samples& s = a.trace.samples;
  const Span of{s.start[sample] - s.period[sample], s.start[sample] + 1};
  return overlap(a.account.devices[device].window, of) == of.length();
}

std::optional<double> sampled_activity(const Analysis& a, std::string_view name) {
  const SampledActivity* activity = activity_of(name);
  const Samples& s = a.trace.samples;
  if (!activity) return std::nullopt;
  std::map<NameId, int> parts;
  std::map<std::uint16_t, std::size_t> slots;
  for (std::size_t d = 0; d < a.devices.size(); ++d) slots[a.devices[d].device] = d;
  double sum = 0, n = 0, moment = 0;
  Row last = no_row;  // rows are in order of time and device, so that those of a moment follow each other
  const auto settle = [&] {
    if (last != no_row) sum += std::min(moment, 100.0), ++n;
    moment = 0;
  };
  for (Row r = 0; r < s.size(); ++r) {
    const auto [part, first] = parts.emplace(s.metric[r], -1);
    if (first) part->second = part_of(*activity, a.trace.names[s.metric[r]]);
    const auto slot = slots.find(s.device[r]);
    if (part->second < 0 || slot == slots.end() || !sampled_in_steps(a, slot->second, r)) continue;
    if (last == no_row || s.start[last] != s.start[r] || s.device[last] != s.device[r]) settle();
    moment += s.value[r], last = r;
  }
  settle();
  return n > 0 ? std::optional(sum / n / 100) : std::nullopt;
}

std::optional<double> unaligned_activity(const Analysis& a, std::string_view name) {
  const SampledActivity* activity = activity_of(name);
  double sum = 0, n = 0;
  for (const UnalignedMean& m : a.trace.monitor.unaligned)
    if (activity && part_of(*activity, m.metric) >= 0 && std::any_of(a.devices.begin(), a.devices.end(), [&](const DeviceSteps& d) { return d.device == m.device; }))
      sum += m.mean * static_cast<double>(m.count), n += static_cast<double>(m.count);
  return n > 0 ? std::optional(sum / n / 100) : std::nullopt;
}

}  // namespace gh
