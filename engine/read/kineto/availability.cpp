// Settles which sources were recorded.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "read/globs.hpp"
#include "read/kineto/importer.hpp"

namespace gh::kineto {

void Importer::settle_availability(const nlohmann::json& head) {
  std::vector<bool> seen(trace_.names.size());
  std::vector<NameId> called;  // each name once
  for (const NameId n : trace_.calls.name) {
    if (seen[n]) continue;
    seen[n] = true;
    called.push_back(n);
  }
  // Whether there are events that are always recorded together with those of a source.
  const auto shown_by_others = [&](const SourceSchema& source) {
    return std::any_of(
        source.shown_by.begin(), source.shown_by.end(), [&](const std::string& name) {
          const auto it = std::find(category_names.begin(), category_names.end(), name);
          return it != category_names.end() &&
                 count_[static_cast<std::size_t>(it - category_names.begin())] > 0;
        });
  };
  const auto asked_for = [&](const SourceSchema& source) {
    return !source.setting.empty() && integer_in(head, source.setting.c_str()) == 1;
  };
  for (std::size_t i = 0; i < trace_.sources.size(); ++i) {
    const SourceSchema& source = schema_.sources[i];
    const auto lost = std::find_if(called.begin(), called.end(), [&](NameId n) {
      return any_matches(source.lost_if, trace_.names[n]);
    });
    Availability& a = trace_.sources[i];
    a = {Collected::not_collected, source.reason, source.record_with};
    if (trace_.rows_of(static_cast<Source>(i)) > 0) {
      a.state = Collected::yes;
    } else if (lost != called.end()) {
      a.reason =
          fmt::format("{} was called, but its GPU work was not recorded", trace_.names[*lost]);
    } else if (shown_by_others(source) || asked_for(source)) {
      a.state = Collected::nothing_happened;
      a.reason = "recorded, and none occurred";
    }
  }
  // Kernels of CUDA graphs are recorded individually, under the call that launched the graph.
  const Availability& kernels = trace_.availability(Source::kernels);
  Availability& nodes = trace_.availability(Source::graph_nodes);
  nodes.state = kernels.known() ? Collected::yes : kernels.state;
  nodes.reason = kernels.reason;
}

}  // namespace gh::kineto
