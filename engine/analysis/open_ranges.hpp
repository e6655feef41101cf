// Which ranges a host thread was in, queried at many moments in order of time.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/crews.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Framework operators rather than ranges of the program: "aten::mm", "AddmmBackward0".
bool is_operator_name(std::string_view range);

/// By NameId: which ranges are operators, by their name or by how the profiler recorded them.
std::vector<std::uint8_t> operators_of(const Trace& trace);

/// "aten::mm, op_id = 3, sizes = [...]" -> "aten::mm"
std::string_view operator_of(std::string_view range);

/// By thread: the thread whose ranges, not counting operators, say what it works for. Backward runs
/// on a thread that has no such ranges, while the thread that called it waits inside them.
std::vector<std::uint16_t> narrators_of(const Trace& trace, const Crews& crews,
                                        const std::vector<std::uint8_t>& is_operator);

/// By thread: the one of its crew with most such ranges, even for a thread with some of its own:
/// backward that computes something anew lies within the ranges of the thread that called it.
std::vector<std::uint16_t> callers_of(const Trace& trace, const Crews& crews,
                                      const std::vector<std::uint8_t>& is_operator);

/// The ranges that are open on each thread at a moment; moments have to be queried in order of
/// time.
class OpenRanges {
 public:
  /// `wanted`: by NameId, which ranges count.
  OpenRanges(const Trace& trace, const std::vector<std::uint8_t>& wanted)
      : trace_(trace), wanted_(wanted), open_(trace.threads.size()) {}

  /// Rows of Trace::ranges that a thread is in at `at`, the outermost first.
  const std::vector<Row>& at(std::uint16_t thread, Ns at);

 private:
  void close(std::vector<Row>& open, Ns until) const;

  const Trace& trace_;
  const std::vector<std::uint8_t>& wanted_;
  std::vector<std::vector<Row>> open_;  // by thread
  Row next_ = 0;
};

}  // namespace gh
