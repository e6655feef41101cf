// What each layer of a program costs: its modules and ranges one within the other, with forward and
// backward side by side; or the same by operator, line or kernel. Layers that are equal make one
// row, with their mean, their spread and the odd one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/memory.hpp"
#include "analysis/program_layers.hpp"
#include "analysis/work_sums.hpp"
#include "base/json.hpp"
#include "report/layout.hpp"
#include "whatif/whatif.hpp"

namespace gh {

enum class LayersBy : std::uint8_t { module, op, line, kernel };
enum class LayersSort : std::uint8_t { time, idle, path, launches, flops, name, program };

/// Of what `layers` and `diff --layers` write as JSON.
inline constexpr int layers_schema_version = 1;

/// By the names that --by and --sort take, in the order of the enumerations.
const std::vector<std::string>& layers_by_names();
const std::vector<std::string>& layers_sort_names();

/// One of the layers that a row stands for.
struct LayerMember {
  std::string path;  ///< "net.blocks.5.attn"
  std::string name;  ///< "blocks.5.attn": without what all layers of the row lie in
  Ns total_ns = 0;   ///< over all steps
  Ns work_ns = 0;    ///< of that, without idle time and communication
};

/// A layer, or all layers that are equal. Sums are over the analyzed steps of all devices, with
/// everything within.
struct LayerRow {
  static constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t parent = no_parent;  ///< its place in the list; rows of operators, lines and
                                     ///< kernels have none
  std::uint32_t depth = 0;
  std::string name;  ///< "blocks.*", "attn"; "" for what lies in no layer
  std::string path;  ///< "blocks.*.attn", by which two reports are compared
  WorkSum sum;
  Ns forward_ns = 0, backward_ns = 0;  ///< of the total; the rest is neither
  Ns own_ns = 0;                       ///< of the total: outside of the rows within
  Ns path_ns = 0;                      ///< of the path
  std::int64_t peak_bytes = 0;         ///< of the memory in use at the peak: what it allocated
  std::vector<LayerMember> members;    ///< as the program first ran them
  std::vector<std::size_t> odd;        ///< of the members: whose work takes other than the others'
  // Of a kernel that a compiler wrote: the operators in it, and the file of its code.
  std::string operators, file;

  Ns total_ns() const { return sum.total_ns(); }
  Ns median_work_ns() const;  ///< of the members
};

struct LayersOptions {
  LayersBy by = LayersBy::module;
  LayersSort sort = LayersSort::time;
  bool each = false;                                           ///< a row for every layer
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< rows
  std::uint32_t depth = std::numeric_limits<std::uint32_t>::max();
};

/// The memory of one device.
struct LayersMemory {
  std::string device;
  MemoryTimeline timeline;
  MemoryClasses classes;
  std::optional<MemoryRoom> room;
  std::optional<std::int64_t> growth_bytes;  ///< growth_per_step
  std::vector<std::string> meaning;          ///< memory_sentences
};

struct Layers {
  Json report;                     ///< report_head
  std::vector<std::string> about;  ///< what the report is, for people
  std::string unit, noun;          ///< "training step", "step"
  std::int64_t steps = 0;          ///< over all devices
  bool has_steps = false;
  LayersOptions options;
  std::vector<LayerRow> rows;  ///< each behind its parent, siblings sorted
  std::size_t rows_in_all = 0;
  Ns total_ns = 0;                    ///< of the account: what the rows without a parent add up to
  Ns path_ns = 0;                     ///< what the rows' path_ns add up to; 0 without a path
  std::vector<std::string> devices;   ///< parallel to WorkSum::by_device
  std::vector<std::string> causes;    ///< parallel to WorkSum::by_cause
  std::vector<std::string> bound_by;  ///< by row
  std::vector<LayersMemory> memory;   ///< of the devices whose allocations were recorded
  std::vector<std::string> notes;     ///< what could not be told apart, and how to record it
};

/// `replay`: for the path, or null. Throws Error if `options` sort by a path that does not exist.
Layers layers_of(const Analysis& analysis, const Replay* replay, const LayersOptions& options);

/// The rows of one layer in two reports, joined by path.
struct LayerChange {
  std::string path;
  std::uint32_t depth = 0;
  std::optional<double> before_ns, after_ns;  ///< of the mean step; nothing where there is no such
};
struct LayersComparison {
  Layers before, after;
  std::vector<LayerChange> changes;  ///< as the rows after, then those that are gone
};
LayersComparison compare_layers(Layers before, Layers after);

/// Floating-point operations: "11.8 T".
std::string flops_text(double flops);

std::string render_layers_text(const std::vector<Layers>& reports, const TextStyle& style);
/// A document (schemas/layers.schema.json); `errors` say why other reports are missing.
std::string render_layers_json(const std::vector<Layers>& reports,
                               const std::vector<std::string>& errors);
/// One line a row, for all reports.
std::string render_layers_csv(const std::vector<Layers>& reports);
std::string render_layers_comparison_text(const LayersComparison& comparison,
                                          const TextStyle& style);
std::string render_layers_comparison_json(const LayersComparison& comparison);

}  // namespace gh
