// What `gh-advise top` and `gh-advise layers` print of a report, and the page: tables of
// analysis/tables, with what the report is and what could not be told apart.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/tables/tables.hpp"
#include "base/json.hpp"
#include "report/layout.hpp"
#include "whatif/whatif.hpp"

namespace gh {

/// Of what `layers` and `diff --layers` write as JSON.
inline constexpr int layers_schema_version = 1;

/// The memory of one device, in words as well.
struct LayersMemory : DeviceMemory {
  std::string device;
  std::vector<std::string> meaning;  ///< memory_sentences
};

struct TablesReport {
  Json report;                     ///< report_head
  std::vector<std::string> about;  ///< what the report is, for people
  std::string unit, noun;          ///< "training step", "step"
  bool has_steps = false;
  std::int64_t steps = 0;  ///< over all devices
  Ns total_ns = 0;  ///< of the account: of all devices; what device_fraction is of, and what rows
                    ///< of modules without a parent add up to
  Ns path_ns = 0;   ///< what path_fraction is of; 0 without a path
  std::string why_no_path;
  TableOptions options;
  std::vector<Table> tables;         ///< none that is empty
  std::vector<std::string> devices;  ///< parallel to WorkSum::by_device
  std::vector<std::string> causes;   ///< parallel to WorkSum::by_cause
  std::vector<LayersMemory> memory;  ///< of the devices whose allocations were recorded
  std::vector<std::string> notes;    ///< what could not be told apart, and how to record it

  /// Of the only table of a document of layers; none if nothing ran.
  const std::vector<TableRow>& rows() const;
  std::size_t rows_in_all() const { return tables.empty() ? 0 : tables.front().rows_in_all; }
  /// By which sums are divided for the mean step.
  double steps_or_one() const { return static_cast<double>(std::max<std::int64_t>(steps, 1)); }
  double mean_step_ns() const { return static_cast<double>(total_ns) / steps_or_one(); }
  /// A table by name, or null.
  const Table* table(const std::string& name) const;
};

/// `replay`: for the path, or null. Throws Error if `options` name a table that these rows never
/// have, or sort by a path that does not exist.
TablesReport tables_of(const Analysis& analysis, const Replay* replay, TableOptions options);

/// Leaves out the rows beyond so many of each table.
void keep_most(std::vector<TablesReport>& reports, std::size_t most);

/// The rows of one layer in two reports, joined by path.
struct LayerChange {
  std::string path;
  std::uint32_t depth = 0;
  std::optional<double> before_ns, after_ns;  ///< of the mean step; nothing where there is no such
};
struct LayersComparison {
  TablesReport before, after;
  std::vector<LayerChange> changes;  ///< as the rows after, then those that are gone
};
LayersComparison compare_layers(TablesReport before, TablesReport after);

/// A column of a table of layers, in text and on the page.
struct LayerColumn {
  struct Cell {
    std::string text;
    std::optional<double> value;  ///< by which it is sorted
  };
  const char *title, *page_title;  ///< null where it is not shown
  std::size_t width;               ///< in text
  int matters;  ///< where there is no room in text, those that matter less go first
  std::function<Cell(const TableRow&)> cell;
  bool is_number = true;
};
/// Those in which any of these rows has anything.
std::vector<LayerColumn> layer_columns(const TablesReport& layers,
                                       const std::vector<std::size_t>& rows);
/// "3 smaller ones left out"
std::string left_out_text(std::size_t rows);

/// Floating-point operations: "11.8 T".
std::string flops_text(double flops);

/// The text of several reports, each below what it is of and with `text` of its tables; `nothing`
/// says what is missing where there is none.
std::string tables_text(const std::vector<TablesReport>& reports, const TextStyle& style,
                        const char* nothing,
                        std::string (*text)(const TablesReport& report, const TextStyle& style,
                                            const Paint& paint));
/// The document of several reports, and why others are missing.
std::string tables_json(int version, const std::vector<TablesReport>& reports,
                        const std::vector<std::string>& errors,
                        Json (*json)(const TablesReport& report));

/// What `top` writes: TIME, COUNT and MEAN of what is counted one by one.
std::string render_top_text(const std::vector<TablesReport>& reports, const TextStyle& style);
/// A document (schemas/top.schema.json), for one report and for several; `errors` say why others
/// are missing.
std::string render_top_json(const std::vector<TablesReport>& reports,
                            const std::vector<std::string>& errors);
/// One line a row, for all tables and reports.
std::string render_top_csv(const std::vector<TablesReport>& reports);

/// What `layers` writes: sums of which each nanosecond counts once.
std::string render_layers_text(const std::vector<TablesReport>& reports, const TextStyle& style);
/// A document (schemas/layers.schema.json).
std::string render_layers_json(const std::vector<TablesReport>& reports,
                               const std::vector<std::string>& errors);
std::string render_layers_csv(const std::vector<TablesReport>& reports);
std::string render_layers_comparison_text(const LayersComparison& comparison,
                                          const TextStyle& style);
std::string render_layers_comparison_json(const LayersComparison& comparison);

}  // namespace gh
