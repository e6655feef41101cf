// What all checks of doubts/ share: the trace, counting rows that are wrong, and the list of
// doubts.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.hpp"
#include "read/doubts.hpp"
#include "trace/clocks.hpp"
#include "trace/sort_rows.hpp"

namespace gh::doubts {

/// The share of rows above which a report is doubted. PyTorch's older traces count in microseconds,
/// and some of their rows are not calls at all.
struct Limit {
  double nsys, torch = nsys;
};

/// How many of the rows are wrong.
template <class IsWrong>
std::int64_t count_rows(std::size_t rows, IsWrong is_wrong) {
  std::atomic<std::int64_t> all = 0;
  in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    std::int64_t here = 0;
    for (std::size_t row = first; row < end; ++row) here += is_wrong(static_cast<Row>(row));
    all += here;
  });
  return all;
}

/// By NameId, whether the name begins with one of these.
std::vector<std::uint8_t> begins_with(const Trace& trace,
                                      const std::vector<std::string_view>& beginnings);

/// The trace being checked, and the doubts so far.
class Checks {
 public:
  Checks(const Trace& checked, Recorder recorder);

  void add(std::int64_t count, std::size_t of, Limit limit, std::string what,
           std::vector<Source> unknown = {});
  /// The same for nanoseconds, reported in microseconds.
  void add_time(double ns, double of_ns, Limit limit, const std::string& what);

  /// What becomes unknown if operations are wrong: nothing, the operations themselves, or also the
  /// calls that launched them, because either may be wrong.
  enum class Unknown : std::uint8_t { nothing, operations, calls_too };
  /// The same for kernels, copies, memsets and migrations, each counted separately.
  template <class IsWrong>
  void add_by_kind(Limit limit, const char* what, Unknown unknown, IsWrong is_wrong) {
    const auto count = [&](std::size_t of, auto is_one) {
      return count_rows(of == 0 ? 0 : trace.ops.size(),
                        [&](Row op) { return is_one(op) && is_wrong(op); });
    };
    add(count(kernels, [&](Row op) { return is_kernel(op); }), kernels, limit,
        std::string("kernels ") + what, sources({Source::kernels, Source::graph_nodes}, unknown));
    add(count(copies, [&](Row op) { return is_copy(op); }), copies, limit,
        std::string("copies ") + what, sources({Source::copies}, unknown));
    add(count(sets, [&](Row op) { return is_set(op); }), sets, limit,
        std::string("memsets ") + what, sources({Source::copies}, unknown));
    add(count(migrations, [&](Row op) { return is_migration(op); }), migrations, limit,
        std::string("unified memory migrations ") + what,
        sources({Source::unified_copies}, unknown));
  }

  bool is_kernel(Row op) const {
    return trace.ops.kind[op] == OpKind::kernel || trace.ops.kind[op] == OpKind::graph;
  }
  bool is_copy(Row op) const { return trace.ops.kind[op] == OpKind::copy && is_ordered(op); }
  bool is_set(Row op) const { return trace.ops.kind[op] == OpKind::set; }
  bool is_migration(Row op) const { return is_unified(trace.ops.copy[op]); }
  /// Unified memory migrations belong to no call and no stream.
  bool is_ordered(Row op) const { return !is_migration(op); }
  std::uint16_t process_of_call(Row call) const {
    return trace.threads[trace.calls.thread[call]].process;
  }

  const Trace& trace;
  const bool by_torch;
  const std::size_t kernels, copies, sets, migrations;  ///< how many there are
  std::vector<Doubt> found;

 private:
  static std::vector<Source> sources(std::vector<Source> of_operations, Unknown unknown);
};

void check_rows(Checks& checks);      ///< names, lengths, duplicates
void check_launches(Checks& checks);  ///< calls and what they launched
void check_threads(Checks& checks);   ///< what one thread does is sequential
void check_streams(Checks& checks);   ///< and so is a stream
void check_devices(Checks& checks);   ///< what belongs to a GPU but to no call

}  // namespace gh::doubts
