// What is summed up of a group of operations, calls or ranges, and the sums by group.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/metrics.hpp"
#include "analysis/tables/groups.hpp"
#include "analysis/tables/work_sums.hpp"

namespace gh {

/// Sums over the analyzed steps of all devices.
struct Measures {
  Tally each;                          ///< its operations, calls or ranges one by one
  Ns device_ns = 0;                    ///< work on the GPU: what runs side by side counts in full
  Ns path_ns = 0;                      ///< on the path
  std::int64_t bytes = 0;              ///< of copies and memsets
  SampledTime sms;                     ///< active ones, during that work
  WorkSum sum;                         ///< the steps' time, of which each nanosecond counts once
  Ns forward_ns = 0, backward_ns = 0;  ///< of the sum; the rest is neither
  Ns host_ns = 0;                      ///< in its ranges, from start to end
  std::int64_t peak_bytes = 0;         ///< of the memory in use at the peak: what it allocated

  Ns total_ns() const { return sum.total_ns(); }
  bool any() const {
    return each.count > 0 || sum.launches > 0 || sum.total_ns() > 0 || path_ns > 0 ||
           peak_bytes > 0;
  }
  Measures& operator+=(const Measures& other);
};

/// One part of the path that an operation, a call or a host thread takes.
struct PathPart {
  enum class Of : std::uint8_t { operation, call, host };
  Of of = Of::operation;
  std::uint32_t row = 0;  ///< of Trace::ops or Trace::calls; for a host: the thread
  Span span;
  friend bool operator==(const PathPart&, const PathPart&) = default;
};

/// The path as far as tables show it (whatif/path.hpp).
struct PathParts {
  const std::vector<PathPart>* parts = nullptr;  ///< starting from the end; null without a path
  Ns total_ns = 0;
  explicit operator bool() const { return parts != nullptr; }
};

using GroupId = std::uint32_t;
inline constexpr GroupId ungrouped = std::numeric_limits<GroupId>::max();
/// By a row of the trace: which group it is in.
using GroupOf = std::function<GroupId(Row)>;

/// The path by group. Operations and calls are of their groups. The host's time is of the groups to
/// which `split_host` gives parts of it: it calls take(ns, group) for parts of a thread's time.
/// What is left, such as latencies, is a wait for the part that comes after it, and of its group.
/// So all groups together take the whole path.
std::vector<Ns> path_by_group(
    const PathParts& path, std::size_t groups, const GroupOf& of_op, const GroupOf& of_call,
    const std::function<void(std::uint16_t, Span, const std::function<void(Ns, GroupId)>&)>&
        split_host);

/// The kernel that takes most of the devices' time.
struct HottestKernel {
  NameId name = 0;
  KernelClass kernel_class{};
  std::int64_t count = 0;
  Ns ns = 0;
  double of_kernels = 0;  ///< of the time of all kernels and whole graphs
  double of_window = 0;   ///< of the devices' time, what runs side by side once
};
/// Nothing if no kernel ran.
std::optional<HottestKernel> hottest_kernel(const Analysis& analysis);

}  // namespace gh
