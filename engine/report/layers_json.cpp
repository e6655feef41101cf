// What each layer costs, as JSON (schemas/layers.schema.json).
#include <algorithm>

#include "report/json_parts.hpp"
#include "report/tables.hpp"

namespace gh {
namespace {

Json layer_row_json(const TablesReport& layers, const TableRow& r) {
  Json members = Json::array();
  if (r.members.size() > 1)
    for (std::size_t m = 0; m < r.members.size(); ++m)
      members.push_back({{"path", r.members[m].path},
                         {"total_ns", r.members[m].total_ns},
                         {"odd", std::find(r.odd.begin(), r.odd.end(), m) != r.odd.end()}});
  Json causes = Json::object();
  for (std::size_t c = 0; c < r.sum.by_cause.size(); ++c)
    if (r.sum.by_cause[c] > 0) causes[layers.causes[c]] = r.sum.by_cause[c];
  std::vector<Ns> by_device = r.sum.by_device;
  by_device.resize(layers.devices.size());
  return {{"name", or_null(r.name)},
          {"path", or_null(r.path)},
          {"parent", r.parent == TableRow::no_parent ? Json(nullptr) : Json(r.parent)},
          {"total_ns", r.total_ns()},
          {"own_ns", r.own_ns},
          {"forward_ns", r.forward_ns},
          {"backward_ns", r.backward_ns},
          {"busy_ns", r.sum.busy_ns},
          {"idle_ns", r.sum.idle_ns},
          {"path_ns", layers.path_ns > 0 ? Json(r.path_ns) : Json(nullptr)},
          {"peak_bytes", layers.memory.empty() ? Json(nullptr) : Json(r.peak_bytes)},
          {"launches", r.sum.launches},
          {"device_ns", r.device_ns},
          {"host_ns", r.host_ns},
          {"flops", r.sum.flops},
          {"flops_are_least", r.sum.more_flops()},
          {"bytes", r.sum.bytes},
          {"attained_fraction", r.sum.attained() >= 0 ? Json(r.sum.attained()) : Json(nullptr)},
          {"known_ns", r.sum.known_ns},
          {"bound_by", or_null(r.bound_by)},
          {"causes_ns", causes},
          {"by_device_ns", by_device},
          {"operators", or_null(r.operators)},
          {"file", or_null(r.file)},
          {"layers", members}};
}

Json bytes_or_null(std::int64_t bytes) { return bytes < 0 ? Json(nullptr) : Json(bytes); }

Json bytes_or_null(const std::optional<std::int64_t>& bytes) {
  return bytes ? Json(*bytes) : Json(nullptr);
}

Json memory_json(const LayersMemory& m) {
  const MemoryTimeline& t = m.timeline;
  Json classes = Json::object(), kinds = Json::object(), curve = Json::array(), room;
  for (std::size_t c = 0; c < memory_class_count; ++c)
    if (m.classes.bytes[c] > 0) classes[name_of(static_cast<MemoryClass>(c))] = m.classes.bytes[c];
  for (const auto& [kind, bytes] : t.kinds) kinds[name_of(kind)] = bytes;
  for (const MemoryPoint& p : t.curve)
    curve.push_back({{"at_ns", p.at},
                     {"live_bytes", p.live_bytes},
                     {"reserved_bytes", bytes_or_null(p.reserved_bytes)}});
  if (m.room)
    room = {{"growing_bytes", m.room->growing_bytes},
            {"free_bytes", m.room->free_bytes},
            {"growth_fraction", m.room->growth},
            {"most_free_bytes", m.room->most_free_bytes},
            {"most_growth_fraction", m.room->most_growth}};
  return {{"device", m.device},
          {"allocator", t.allocator == Allocator::cuda ? "cuda" : "framework"},
          {"peak_at_ns", t.peak.at},
          {"live_bytes", t.peak.live_bytes},
          {"reserved_bytes", bytes_or_null(t.peak.reserved_bytes)},
          {"device_bytes", t.device_bytes > 0 ? Json(t.device_bytes) : Json(nullptr)},
          {"before_recording_bytes", t.before_bytes},
          {"unused_bytes", bytes_or_null(t.unused_bytes())},
          {"growth_bytes_per_step", bytes_or_null(m.growth_bytes)},
          {"room", room},
          {"classes_bytes", classes},
          {"kinds_bytes", kinds},
          {"curve", curve}};
}

Json layers_json(const TablesReport& layers) {
  const auto row_json = [&](const TableRow& r) { return layer_row_json(layers, r); };
  return {{"report", layers.report},
          {"unit", layers.unit},
          {"steps", layers.steps},
          {"found", layers.has_steps},
          {"total_ns", layers.total_ns},
          {"path_ns", layers.path_ns > 0 ? Json(layers.path_ns) : Json(nullptr)},
          {"by", name_of(layers.options.by)},
          {"sort", name_of(layers.options.sort)},
          {"devices", layers.devices},
          {"memory", json_list(layers.memory, memory_json)},
          {"notes", layers.notes},
          {"rows_in_all", layers.rows_in_all()},
          {"rows", json_list(layers.rows(), row_json)}};
}

}  // namespace

std::string render_layers_json(const std::vector<TablesReport>& reports,
                               const std::vector<std::string>& errors) {
  return tables_json(layers_schema_version, reports, errors, layers_json);
}

std::string render_layers_comparison_json(const LayersComparison& c) {
  Json changes = Json::array();
  for (const LayerChange& change : c.changes)
    changes.push_back({{"path", or_null(change.path)},
                       {"before_ns", or_null(change.before_ns)},
                       {"after_ns", or_null(change.after_ns)}});
  return Json{{"schema_version", layers_schema_version},
              {"generator", generator()},
              {"before", layers_json(c.before)},
              {"after", layers_json(c.after)},
              {"layers", changes}}
             .dump(2) +
         '\n';
}

}  // namespace gh
