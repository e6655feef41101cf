// Which parts of a recording changes touch: operations' own time, CUDA calls, and the host's time
// between calls. Two fixes that touch the same part cannot both save it.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "whatif/changes.hpp"

namespace gh {

class Touched {
 public:
  explicit Touched(const Trace& trace)
      : trace_(trace), ops_(trace.ops.size()), calls_(trace.calls.size()) {}

  void add(const Changes& changes);
  /// Whether anything that these changes touch has already been added.
  bool any_of(const Changes& changes) const;
  /// The same changes, without what has been added.
  Changes rest_of(Changes changes) const;

 private:
  bool has_op(const Change& change, Row op) const;
  bool has_host(const HostSpan& host) const;
  std::vector<HostSpan> rest_of_host(const std::vector<HostSpan>& spans) const;
  Spans added_to(std::uint16_t thread) const;

  const Trace& trace_;
  std::vector<bool> ops_, calls_;
  std::map<std::uint16_t, Spans> host_;  // by thread; any thread at no_index
};

}  // namespace gh
