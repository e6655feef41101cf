#include "read/nsys/availability.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "read/globs.hpp"
#include "read/nsys/schema.hpp"

namespace gh::nsys {
namespace {

constexpr const char* graphs_unrecorded =
    "CUDA graphs were launched, but their GPU work was not recorded";

// The names of all CUDA calls, each once.
std::vector<NameId> names_called(const Trace& trace) {
  std::vector<bool> seen(trace.names.size());
  std::vector<NameId> called;
  for (const NameId name : trace.calls.name) {
    if (seen[name]) continue;
    seen[name] = true;
    called.push_back(name);
  }
  return called;
}

// The profiler's own message that recording this source failed; null if there is none.
const Diagnostic* failure(const SourceSchema& schema, const Trace& trace) {
  // A message about a tracer concerns one process; rows prove that the tracer worked in another.
  const bool tracer_worked =
      schema.tracer == "cuda" && (trace.ops.size() > 0 || trace.calls.size() > 0);
  if (tracer_worked) return nullptr;
  for (const Diagnostic& d : trace.diagnostics) {
    if (d.severity > 1 && any_matches(schema.blind_if, d.text)) return &d;
  }
  return nullptr;
}

bool has_any_table(const Database& db, const std::vector<std::string>& kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const std::string& kind) { return !tables_in(db, kind).empty(); });
}

bool migrates_by_fault(const Trace& trace) {
  const Ops& o = trace.ops;
  for (Row op = 0; op < o.size(); ++op) {
    if (o.copy[op] == CopyKind::um_h2d && o.cause[op] == MigrationCause::fault) return true;
  }
  return false;
}

// Why a source has no rows.
Availability without_rows(Source source, const Database& db, const Evidence& evidence,
                          const std::vector<NameId>& called, const Trace& trace) {
  const SourceSchema& schema = source_schema(source);
  const auto settled = [&](Collected state, std::string reason) {
    return Availability{state, std::move(reason), schema.record_with};
  };
  if (const Diagnostic* said = failure(schema, trace)) {
    return settled(Collected::not_collected,
                   fmt::format("the profiler says: {}", shortened(said->text, 160)));
  }
  const auto any_of_these = [&](const std::set<std::string>& kinds) {
    return std::any_of(schema.kinds.begin(), schema.kinds.end(),
                       [&](const std::string& kind) { return kinds.contains(kind); });
  };
  if (any_of_these(evidence.damaged_kinds)) {
    return settled(Collected::unknown, "their table could not be read");
  }
  if (any_of_these(evidence.emptied_kinds)) {
    return settled(
        Collected::unknown,
        "their table is empty, but `nsys export` leaves out empty tables; export the report again");
  }
  if (!evidence.whole_export && !has_any_table(db, schema.kinds)) {
    return settled(
        Collected::unknown,
        "the export contains only other tables; export the report again without --tables");
  }
  // Migrations are recorded with the copies, so both are lost together.
  const bool lost_with_copies =
      source == Source::unified_copies && trace.rows_of(Source::copies) == 0;
  const auto& lost_if = lost_with_copies ? source_schema(Source::copies).lost_if : schema.lost_if;
  const auto lost = std::find_if(called.begin(), called.end(), [&](NameId name) {
    return any_matches(lost_if, trace.names[name]);
  });
  if (lost != called.end()) {
    return settled(
        Collected::not_collected,
        fmt::format("{} was called, but its GPU work was not recorded", trace.names[*lost]));
  }
  if (source == Source::calls && trace.ops.size() > 0) {
    return settled(Collected::not_collected,
                   "the report contains GPU work, but no call that launched it");
  }
  // Memory that migrated because of a GPU page fault proves that there was one.
  if (source == Source::gpu_faults && migrates_by_fault(trace)) {
    return settled(Collected::unknown,
                   "memory migrated because of page faults, but the report contains none");
  }
  const std::vector<std::string>& options = evidence.capture_options;
  if (options.empty()) {
    return settled(
        Collected::unknown,
        "the report contains none, and this version of the export does not say whether they were "
        "recorded");
  }
  const bool asked_for = std::any_of(
      options.begin(), options.end(),
      [&](const std::string& option) { return any_matches(schema.collected_if, option); });
  return asked_for ? settled(Collected::nothing_happened, "recorded, and none occurred")
                   : settled(Collected::not_collected, "not recorded");
}

// Graphs traced as a whole hide their kernels; without any, every kernel is visible.
void settle_graph_nodes(const std::vector<NameId>& called, Trace& trace) {
  const Ops& ops = trace.ops;
  const bool traced_whole =
      std::find(ops.kind.begin(), ops.kind.end(), OpKind::graph) != ops.kind.end();
  const bool traced_by_node =
      std::find(ops.in_graph.begin(), ops.in_graph.end(), 1) != ops.in_graph.end();
  const bool launched = std::any_of(called.begin(), called.end(), [&](NameId name) {
    return any_matches({"cudaGraphLaunch*", "cuGraphLaunch*"}, trace.names[name]);
  });
  Availability& nodes = trace.availability(Source::graph_nodes);
  const std::string record_with = nodes.record_with;
  if (traced_whole) {
    nodes = {Collected::not_collected,
             "CUDA graphs were traced as a whole, so the kernels inside them are not visible",
             record_with};
  } else if (launched && !traced_by_node) {
    trace.problems.push_back(graphs_unrecorded);
    for (const Source s : {Source::graph_nodes, Source::kernels}) {
      trace.availability(s) = {Collected::not_collected, graphs_unrecorded, record_with};
    }
  } else {
    const Availability& kernels = trace.availability(Source::kernels);
    nodes = {kernels.known() ? Collected::yes : Collected::unknown, kernels.reason, record_with};
  }
}

}  // namespace

void settle_availability(const Database& db, const Evidence& evidence, Trace& trace) {
  const std::vector<NameId> called = names_called(trace);
  for (std::size_t i = 0; i < trace.sources.size(); ++i) {
    const auto source = static_cast<Source>(i);
    trace.sources[i] = trace.rows_of(source) > 0
                           ? Availability{Collected::yes, "", source_schema(source).record_with}
                           : without_rows(source, db, evidence, called, trace);
  }
  settle_graph_nodes(called, trace);
}

}  // namespace gh::nsys
