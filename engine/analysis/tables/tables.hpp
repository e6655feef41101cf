// Where the time of the analyzed steps goes, as tables: work, calls and ranges grouped by a key,
// with everything that is summed up of a group. `top` and `layers` and the page print these.
//
//   work_sums.hpp    what groups of operations take of the steps: each nanosecond once
//   measures.hpp     all that is summed up of a group; the path by group
//   module_rows.hpp  modules and ranges within each other, equal ones folded into one row
//   sections.hpp     what else is around launches: ranges of steps and passes, functions of Python
//   layer_memory.hpp the memory at its peak, by layer
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "analysis/tables/layer_memory.hpp"
#include "analysis/tables/measures.hpp"

namespace gh {

/// What makes a row.
enum class By : std::uint8_t {
  name,    ///< each kernel, direction of copies, call, range and operator, in a table each
  kind,    ///< classes of kernels and calls
  module,  ///< modules and ranges within each other, each with all that lies in it
  range,   ///< work by its innermost module or range alone
  op,      ///< work by the operator that it is of, backward by that of its forward
  line,    ///< work by the line of the program
  kernel,  ///< kernels by name, other work by what it is
  stream,  ///< work by stream
  rank     ///< work and calls by process
};
/// `launches` is `count`, as `layers` calls it; `program`: as the program first ran them.
enum class Sort : std::uint8_t { time, count, mean, path, idle, launches, flops, name, program };

/// By the names that --by and --sort take, in the order of the enumerations.
const std::vector<std::string>& by_names();
const std::vector<std::string>& sort_names();
/// Those that fill one table of work: all but `name`.
std::vector<std::string> work_by_names();
By by_named(const std::string& name);
Sort sort_named(const std::string& name);
const std::string& name_of(By);
const std::string& name_of(Sort);

struct TableOptions {
  By by = By::name;
  Sort sort = Sort::time;
  std::vector<std::string> tables;  ///< only these; empty: all that there are
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< rows of a table
  std::uint32_t depth = std::numeric_limits<std::uint32_t>::max();
  bool each = false;  ///< what counts has a row each: layer 3, not layer *
  /// Modules have rows for the sections and operators in them (sections.hpp), and there are rows
  /// for what has host time alone.
  bool whole = false;
  // What rows have: operations one by one; Measures::sum, which takes a sweep over the steps.
  bool counted = true, summed = false;
};
/// What `gh-advise layers` asks for, where nothing else is said.
TableOptions layers_options();

/// One of the layers that a row stands for.
struct LayerMember {
  std::string path;  ///< "net.blocks.5.attn"
  std::string name;  ///< "blocks.5.attn": without what all layers of the row lie in
  Ns total_ns = 0;   ///< over all steps
  Ns work_ns = 0;    ///< of that, without idle time and communication
};

/// A row, with everything within.
struct TableRow : Measures {
  static constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t parent = no_parent;  ///< its place in the list, of modules
  std::uint32_t depth = 0;
  std::string name;      ///< "blocks.*", "attn"; "" for what lies in no layer, operator, ...
  std::string path;      ///< "blocks.*.attn", by which two reports are compared
  std::string label;     ///< for people
  std::string of_class;  ///< kernels and calls by name: their class; otherwise ""
  /// Of modules, what it is; `range` and `function` are Sections.
  enum class Of : std::uint8_t { layer, op, range, function };
  Of of = Of::layer;
  Ns own_ns = 0;  ///< of the total: outside of the rows within
  /// Of the steps' time and of the path: what total_ns(), device_ns and path_ns are. Nothing where
  /// that does not apply.
  std::optional<double> total_fraction, device_fraction, path_fraction;
  std::vector<LayerMember> members;  ///< as the program first ran them
  std::vector<std::size_t> odd;      ///< of the members: whose work takes other than the others'
  std::string bound_by;              ///< WorkSum::bound_by
  // Of a kernel that a compiler wrote: the operators in it, and the file of its code.
  std::string operators, file;

  Ns median_work_ns() const;                     ///< of the members
  std::pair<Ns, Ns> least_most_work_ns() const;  ///< of the members, of which there are any
  /// Whether it stands for several layers that only their number tells apart.
  bool is_folded() const { return members.size() > 1 && name.find('*') != name.npos; }
};

struct Table {
  std::string name;             ///< of table_names
  std::vector<TableRow> rows;   ///< each behind its parent, siblings sorted
  std::size_t rows_in_all = 0;  ///< before those beyond `most` were left out
  Ns total_ns = 0;              ///< of all of them: what runs side by side counts in full
};
/// kernels, copies, calls, ranges, operators, work.
const std::vector<std::string>& table_names();

/// None that is empty. Throws Error if `options` name a table that these rows never have.
std::vector<Table> make_tables(const Analysis& analysis, const PathParts& path,
                               const TableOptions& options,
                               const std::vector<std::int64_t>& peak_by_layer = {});

}  // namespace gh
