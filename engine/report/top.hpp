// What takes the time in the analysed steps: kernels, copies, calls and ranges, summed by name,
// class and so on, with their share of the devices' time and of the path.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/metrics.hpp"
#include "base/json.hpp"
#include "report/layout.hpp"
#include "whatif/whatif.hpp"

namespace gh {

/// What makes a row.
enum class TopBy : std::uint8_t {
  name,    ///< each kernel, direction of copies, call, range and operator
  kind,    ///< classes of kernels and calls
  range,   ///< work on the GPU by the innermost range in which it was launched
  op,      ///< work on the GPU by the innermost operator in which it was launched
  stream,  ///< work on the GPU by stream
  rank     ///< work on the GPU and calls by process
};
enum class TopSort : std::uint8_t { time, count, mean, path, name };

/// By the names that --by and --sort take, in the order of the enumerations.
const std::vector<std::string>& top_by_names();
const std::vector<std::string>& top_sort_names();
/// The tables that rows are in, of any `by`: kernels, copies, calls, ranges, operators, work.
const std::vector<std::string>& top_table_names();

struct TopRow {
  std::string name;      ///< in full
  std::string label;     ///< for people
  std::string of_class;  ///< kernels and calls by name: their class; otherwise ""
  std::int64_t count = 0;
  Ns total_ns = 0, least_ns = std::numeric_limits<Ns>::max(), most_ns = 0;
  std::int64_t bytes = 0;  ///< of copies and memsets
  Ns device_ns = 0;        ///< work on the GPU: of ranges and operators what was launched in them
  Ns path_ns = 0;          ///< on the path
  SampledTime sms;         ///< active ones, during that work
  std::optional<double> device_fraction, path_fraction;  ///< nothing where that does not apply
  double mean_ns() const {
    return count > 0 ? static_cast<double>(total_ns) / static_cast<double>(count) : 0;
  }
};

struct TopTable {
  std::string name;             ///< of top_table_names
  std::vector<TopRow> rows;     ///< sorted
  std::size_t rows_in_all = 0;  ///< before those beyond `most` were left out
  Ns total_ns = 0;              ///< of all of them: what runs side by side counts in full
};

struct TopOptions {
  TopBy by = TopBy::name;
  TopSort sort = TopSort::time;
  std::vector<std::string> tables;  ///< only these; empty: all that there are
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< rows of a table
  bool numbered = false;  ///< ranges whose names count are a row each: layer 3, not layer #
};

/// The tables of one report.
struct Top {
  Json report;                     ///< report_head
  std::vector<std::string> about;  ///< what the report is, for people
  std::string unit, noun;          ///< "training step", "step"
  bool has_steps = false;
  std::int64_t steps = 0;  ///< over all devices
  Ns window_ns = 0;        ///< of all devices: what device_fraction is of
  Ns path_ns = 0;          ///< what path_fraction is of; 0 without a path
  std::string why_no_path;
  TopOptions options;
  std::vector<TopTable> tables;  ///< none that is empty
};

/// `replay`: for the path, or null. Throws Error if `options` name a table that these rows never
/// have, or sort by a path that does not exist.
Top top_of(const Analysis& analysis, const Replay* replay, const TopOptions& options);

/// The kernel that takes most of the devices' time.
struct HottestKernel {
  NameId name = 0;
  KernelClass kernel_class{};
  std::int64_t count = 0;
  Ns ns = 0;
  double of_kernels = 0;  ///< of the time of all kernels
  double of_window = 0;   ///< of the devices' time, what runs side by side once
};
/// Nothing if no kernel ran.
std::optional<HottestKernel> hottest_kernel(const Analysis& analysis);

/// Leaves out the rows beyond so many of each table.
void keep_most(std::vector<Top>& tops, std::size_t most);

std::string render_top_text(const std::vector<Top>& tops, const TextStyle& style);
/// A document (schemas/top.schema.json), for one report and for several; `errors` say why others
/// are missing.
std::string render_top_json(const std::vector<Top>& tops, const std::vector<std::string>& errors);
/// One line a row, for all tables and reports.
std::string render_top_csv(const std::vector<Top>& tops);

}  // namespace gh
