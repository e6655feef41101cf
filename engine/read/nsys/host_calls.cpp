// Reads CUDA calls and OS runtime calls, which are intervals of a thread's time, and the profiler's
// overhead.
#include <algorithm>
#include <limits>

#include "read/nsys/rows.hpp"

namespace gh::nsys {
namespace {

// Stores the last call's return value. In most reports no call failed, and then there is no result
// column.
void put_result(Calls& calls, std::int64_t returned) {
  if (returned == 0 && calls.result.empty()) return;
  constexpr std::int64_t most = std::numeric_limits<std::uint16_t>::max();
  calls.result.resize(calls.size() - 1);
  calls.result.push_back(static_cast<std::uint16_t>(std::clamp<std::int64_t>(returned, 0, most)));
}

}  // namespace

void read_calls(const TablePart& from, Part& part) {
  enum { start, end, thread, name, correlation, result };
  TableReader rows(from, {"start", "end", "thread", "name", "correlation", "result"}, part.problems,
                   &part.count);
  Calls& calls = part.calls;
  reserve_rows(calls, rows.expected_rows(from.db));
  while (rows.next()) {
    const Ns begins = rows.integer(start), ends = rows.integer(end);
    const FileNameView function = rows.name(name);
    const std::int64_t caller = rows.integer(thread);
    const std::uint32_t launched = small(rows.integer(correlation));
    const std::int64_t returned = rows.integer(result);
    if (!rows.sound(begins, ends)) continue;
    add_stretch(calls, begins, ends, function, caller, *part.numbers);
    calls.correlation.push_back(launched);
    put_result(calls, returned);
  }
}

void read_os_calls(const TablePart& from, Part& part) {
  enum { start, end, thread, name };
  TableReader rows(from, {"start", "end", "thread", "name"}, part.problems, &part.count);
  OsCalls& calls = part.os_calls;
  reserve_rows(calls, rows.expected_rows(from.db));
  while (rows.next()) {
    const Ns begins = rows.integer(start), ends = rows.integer(end);
    const FileNameView function = rows.name(name);
    const std::int64_t caller = rows.integer(thread);
    if (rows.sound(begins, ends)) {
      add_stretch(calls, begins, ends, function, caller, *part.numbers);
    }
  }
}

// File accesses contain the plain id of their thread, not the global one.
void read_file_accesses(const TablePart& from, Part& part) {
  enum { start, end, thread_id };
  TableReader rows(from, {"start", "end", "thread_id"}, part.problems, &part.count);
  OsCalls& calls = part.os_calls;
  reserve_rows(calls, rows.expected_rows(from.db));
  while (rows.next()) {
    const Ns begins = rows.integer(start), ends = rows.integer(end);
    const std::int64_t caller = rows.integer(thread_id);
    if (rows.sound(begins, ends)) {
      add_stretch(calls, begins, ends, {-1, "file access"}, caller, *part.numbers);
    }
  }
}

void read_overhead(const TablePart& from, Part& part) {
  enum { start, end };
  TableReader rows(from, {"start", "end"}, part.problems, &part.count);
  while (rows.next()) {
    const Ns begins = rows.integer(start), ends = rows.integer(end);
    if (rows.sound(begins, ends)) part.overhead.push_back({begins, ends});
  }
}

}  // namespace gh::nsys
