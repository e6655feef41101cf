#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/structure/structure.hpp"
#include "base/text.hpp"
#include "report/json_parts.hpp"
#include "report/memory_words.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

// Of the time: what lies in no layer is worth a word.
constexpr double much = 0.25;

std::string how_to_record_layers(const Analysis& a) {
  if (a.program.is("jax"))
    return "XLA names what it launches after jax.named_scope, but neither within CUDA graphs "
           "(XLA_FLAGS=--xla_gpu_enable_command_buffer= turns them off) nor for all that it "
           "fuses.";
  if (a.trace.format == "PyTorch profiler trace")
    return "Record with gh-advise record --layers, or with "
           "torch.profiler.profile(with_stack=True), or put "
           "torch.profiler.record_function(NAME) around modules.";
  if (!a.program.is("pytorch"))
    return "Put NVTX ranges around the program's parts: nvtxRangePush and nvtxRangePop.";
  return "Record with gh-advise record --layers, or put NVTX ranges around modules and record "
         "operators (torch.autograd.profiler.emit_nvtx), which tell whose backward it is.";
}

// What could not be told apart, and how to record it. `untold`: the share of the time that is in
// the row without a name.
std::vector<std::string> notes_of(const Analysis& a, By by, double untold) {
  std::vector<std::string> notes;
  if (by == By::op && untold >= much)
    notes.emplace_back(
        "Most work was launched in no operator that was recorded. Record with gh-advise record "
        "--layers, or with PyTorch's profiler.");
  if (by == By::line && untold >= much)
    notes.emplace_back(
        "Most lines are unknown. Record with gh-advise record --stacks, or with "
        "torch.profiler.profile(with_stack=True).");
  if (by != By::module) return notes;
  const ProgramLayers& layers = a.structure().layers();
  if (layers.has_matched_backward())
    notes.emplace_back(
        "Backward was matched to layers by what repeats in it, the last layer first; where one "
        "layer begins is exact to a few kernels. To have it told apart, record operators: "
        "gh-advise record --layers, PyTorch's profiler, or torch.autograd.profiler.emit_nvtx().");
  else if (layers.has_repeated())
    notes.emplace_back(
        "Layers that no range names were found by what repeats; each is called after its largest "
        "product.");
  if (untold >= much)
    notes.push_back(fmt::format("{} of the time lies in no layer. {}", percent(untold),
                                how_to_record_layers(a)));
  return notes;
}

}  // namespace

const std::vector<TableRow>& TablesReport::rows() const {
  static const std::vector<TableRow> none;
  return tables.empty() ? none : tables.front().rows;
}

const Table* TablesReport::table(const std::string& name) const {
  const auto it =
      std::find_if(tables.begin(), tables.end(), [&](const Table& t) { return t.name == name; });
  return it == tables.end() ? nullptr : &*it;
}

TablesReport tables_of(const Analysis& a, const Replay* replay, TableOptions options) {
  TablesReport made;
  made.report = report_head(a);
  made.about = {recording_text(a)};
  for (const DeviceSteps& d : a.devices) {
    made.about.push_back(device_text(a, d));
    made.devices.push_back(device_label(a.trace, d.device));
  }
  made.unit = a.unit();
  made.noun = a.words().noun;
  made.has_steps = a.has_steps();
  made.steps = a.step_count();
  made.total_ns = a.total_ns();
  made.causes = a.account.causes;
  PathParts path;
  if (replay) path = replay->path().for_tables();
  if (path)
    made.path_ns = path.total_ns;
  else
    made.why_no_path = !replay                    ? "the steps could not be replayed"
                       : replay->reason().empty() ? "the path is empty"
                                                  : replay->reason();
  if (!path && options.sort == Sort::path)
    throw Error(
        fmt::format("{}: --sort path: there is no path: {}", a.trace.path, made.why_no_path));
  // Modules fold by what they run, and idle time and FLOP are sums.
  options.summed |=
      options.by == By::module || options.sort == Sort::idle || options.sort == Sort::flops;
  const std::size_t most = std::exchange(options.most, std::numeric_limits<std::size_t>::max());
  LayerMemory memory;
  if (!options.counted) memory = layer_memory_of(a);
  made.tables = make_tables(a, path, options, memory.by_layer);
  options.most = most;
  made.options = options;
  for (DeviceMemory& m : memory.devices) {
    const std::string device = device_label(a.trace, m.timeline.device);
    made.memory.push_back({std::move(m), device, {}});
    made.memory.back().meaning = memory_sentences(made.memory.back(), a);
  }
  if (!options.counted) {
    double untold = 0;
    for (const TableRow& row : made.rows())
      if (row.name.empty()) untold = row.total_fraction.value_or(0);
    made.notes = notes_of(a, options.by, untold);
  } else {
    for (const std::string& note : side_notes(a, StepTime(a))) made.about.push_back(note);
    if (const std::string privacy = privacy_text(a); !privacy.empty())
      made.about.push_back(privacy);
  }
  for (Table& table : made.tables)
    if (table.rows.size() > most) table.rows.resize(most);
  return made;
}

std::string tables_text(const std::vector<TablesReport>& reports, const TextStyle& style,
                        const char* nothing,
                        std::string (*text)(const TablesReport& report, const TextStyle& style,
                                            const Paint& paint)) {
  const Paint paint(style);
  std::string out;
  for (const TablesReport& report : reports) {
    if (!out.empty()) out += '\n';
    out += paint.bold(shortened(report.report.at("path").get<std::string>(), style.width)) + '\n';
    for (std::size_t i = 0; i < report.about.size(); ++i)
      out += wrapped(report.about[i], style.width, i == 0 ? 0 : 2) + '\n';
    out += report.tables.empty() ? fmt::format("\nNothing to show: {} was recorded.\n", nothing)
                                 : text(report, style, paint);
  }
  return out;
}

std::string tables_json(int version, const std::vector<TablesReport>& reports,
                        const std::vector<std::string>& errors,
                        Json (*json)(const TablesReport& report)) {
  return Json{{"schema_version", version},
              {"generator", generator()},
              {"errors", errors},
              {"reports", json_list(reports, json)}}
             .dump(2) +
         '\n';
}

void keep_most(std::vector<TablesReport>& reports, std::size_t most) {
  for (TablesReport& report : reports)
    for (Table& table : report.tables)
      if (table.rows.size() > most) table.rows.resize(most);
}

LayersComparison compare_layers(TablesReport before, TablesReport after) {
  const auto mean = [](const TablesReport& l, const TableRow& r) {
    return static_cast<double>(r.total_ns()) / l.steps_or_one();
  };
  LayersComparison c;
  std::map<std::string, double> was;
  for (const TableRow& row : before.rows()) was[row.path] += mean(before, row);
  for (const TableRow& row : after.rows()) {
    LayerChange change{row.path, row.depth, std::nullopt, mean(after, row)};
    if (const auto it = was.find(row.path); it != was.end()) {
      change.before_ns = it->second;
      was.erase(it);
    }
    c.changes.push_back(change);
  }
  for (const TableRow& row : before.rows())
    if (const auto it = was.find(row.path); it != was.end()) {
      c.changes.push_back({row.path, row.depth, it->second, std::nullopt});
      was.erase(it);
    }
  c.before = std::move(before);
  c.after = std::move(after);
  return c;
}

}  // namespace gh
