#include "trace/metric_names.hpp"

#include <algorithm>

#include "base/schema_table.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

std::vector<SampledActivity> read_activities() {
  const toml::table table = schema_table("schemas/metrics.toml");
  std::vector<SampledActivity> all;
  for (const auto& [name, entry] : *table["activity"].as_table()) {
    SampledActivity a;
    a.name = name.str();
    a.dcgm_field = entry.at_path("dcgm_field").value_or(std::string());
    a.dcgm_column = entry.at_path("dcgm_column").value_or(std::string());
    a.unit = entry.at_path("unit").value_or(std::string());
    a.most = entry.at_path("most").value_or(1.0);
    for (const toml::node& part : *entry.at_path("parts").as_array()) {
      a.parts.emplace_back();
      for (const toml::node& glob : *part.as_array())
        a.parts.back().push_back(glob.value_or(std::string()));
    }
    all.push_back(std::move(a));
  }
  return all;
}

}  // namespace

const std::vector<SampledActivity>& activities() {
  static const std::vector<SampledActivity> all = read_activities();
  return all;
}

const SampledActivity* activity_of(std::string_view name) {
  const auto it = std::find_if(activities().begin(), activities().end(),
                               [&](const SampledActivity& a) { return a.name == name; });
  return it == activities().end() ? nullptr : &*it;
}

int part_of(const SampledActivity& a, std::string_view metric) {
  if (!a.dcgm_field.empty() && metric == a.dcgm_field) return 0;
  for (std::size_t p = 0; p < a.parts.size(); ++p)
    if (std::any_of(a.parts[p].begin(), a.parts[p].end(),
                    [&](const std::string& glob) { return glob_match(glob, metric); }))
      return static_cast<int>(p);
  return -1;
}

bool is_metric(std::string_view wanted, std::string_view metric) {
  const SampledActivity* activity = activity_of(wanted);
  return activity ? part_of(*activity, metric) >= 0 : glob_match(wanted, metric);
}

}  // namespace gh
