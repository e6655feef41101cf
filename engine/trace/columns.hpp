// How a kind of event declares its columns.
//
// Each struct in trace.hpp lists its columns once, with what they contain. Whoever moves whole rows
// (sorting, merging the parts of a file, joining ranks, replaying) walks that list, so a new column
// needs no line there. A column that is missing from the list does not compile. Rows that start and
// end together are sorted by their columns, in the order of the list.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace gh {

/// What a column contains, and so what becomes of it when its rows move to another trace.
enum class Contents : std::uint8_t {
  value,           ///< the same in any trace
  time,            ///< on the trace's time axis
  name,            ///< a NameId
  thread,          ///< an index into Trace::threads
  thread_or_none,  ///< the same, or no_index
  stream,          ///< an index into Trace::streams
  device,          ///< an index into Trace::devices
  process,         ///< an index into Trace::processes
  group_or_none,   ///< an index into Trace::groups, or no_group
  joined           ///< a row of another kind, which only `Trace::seal` finds
};

/// The same as types, so that what a column contains is known when it is compiled.
namespace is {
template <Contents contents>
using Constant = std::integral_constant<Contents, contents>;
inline constexpr Constant<Contents::value> value;
inline constexpr Constant<Contents::time> time;
inline constexpr Constant<Contents::name> name;
inline constexpr Constant<Contents::thread> thread;
inline constexpr Constant<Contents::thread_or_none> thread_or_none;
inline constexpr Constant<Contents::stream> stream;
inline constexpr Constant<Contents::device> device;
inline constexpr Constant<Contents::process> process;
inline constexpr Constant<Contents::group_or_none> group_or_none;
inline constexpr Constant<Contents::joined> joined;
}  // namespace is

template <class Events, class Value, Contents what, bool may_be_empty>
struct Column {
  static constexpr Contents contents = what;
  static constexpr bool optional = may_be_empty;  ///< empty where no row has a value
  std::vector<Value> Events::*at;
  Value none;  ///< what a row has that has no value
};

/// What `columns` of a kind of event declares them to; calls `visit(column)` for each. `columns` is
/// a template and takes it as its argument, since most files of the program include the
/// declarations and only a few walk them: a file that does not has nothing to compile of them.
template <class Visit>
struct ColumnList {
  Visit visit;

  /// Columns in which a row that has no value has zeros.
  template <Contents contents, class Events, class... Values>
  constexpr void operator()(is::Constant<contents>, std::vector<Values> Events::*... at) const {
    (visit(Column<Events, Values, contents, false>{at, {}}), ...);
  }
  /// A column with another value for rows that have none.
  template <Contents contents, class Events, class Value>
  constexpr void with_none(is::Constant<contents>, std::vector<Value> Events::*at,
                           std::type_identity_t<Value> none) const {
    visit(Column<Events, Value, contents, false>{at, none});
  }
  /// A column that is empty where no row has a value.
  template <Contents contents, class Events, class Value>
  constexpr void optional(is::Constant<contents>, std::vector<Value> Events::*at,
                          std::type_identity_t<Value> none = {}) const {
    visit(Column<Events, Value, contents, true>{at, none});
  }
};

/// Calls `visit(column, values, more...)` for every column of a kind of event, with its values in
/// each of `events`.
template <class Visit, class Events, class... More>
void each_column(Visit visit, Events& events, More&... more) {
  using Kind = std::remove_const_t<Events>;
  constexpr std::size_t declared = [] {
    std::size_t count = 0;
    const auto add = [&count](auto) { ++count; };
    Kind::columns(ColumnList<decltype(add)>{add});
    return count;
  }();
  // All vectors have the same size, and nothing else in such a struct is as large.
  constexpr std::size_t column_bytes = sizeof(std::vector<int>);
  static_assert(declared == sizeof(Events) / column_bytes, "`columns` must list every column");
  const auto one = [&](auto column) { visit(column, events.*(column.at), more.*(column.at)...); };
  Kind::columns(ColumnList<decltype(one)>{one});
}

/// Whether a row of its own exists in a column, rather than one that `Trace::seal` makes.
constexpr bool is_recorded(Contents contents) { return contents != Contents::joined; }

/// Makes room for more rows, except in columns that are empty in most reports.
template <class Events>
void reserve_rows(Events& events, std::size_t rows) {
  each_column(
      [rows](auto column, auto& values) {
        if constexpr (!column.optional && is_recorded(column.contents)) values.reserve(rows);
      },
      events);
}

/// Completes columns that rows were not added to. An optional column stays empty.
template <class Events>
void complete_rows(Events& events) {
  each_column(
      [rows = events.size()](auto column, auto& values) {
        if constexpr (is_recorded(column.contents)) {
          if (values.size() < rows && !(column.optional && values.empty()))
            values.resize(rows, column.none);
        }
      },
      events);
}

}  // namespace gh
