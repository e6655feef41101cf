// Sums up what groups of operations take of the steps' time. Groups may be anything: the layers
// that launched them, or the kernels' names. As in the account, each nanosecond of each step on
// each device counts once, so that the groups together take exactly what the account adds up to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// What a group takes, summed over the analyzed steps of all devices.
struct WorkSum {
  std::vector<Ns> by_cause;   ///< parallel to Account::causes
  std::vector<Ns> by_device;  ///< parallel to Analysis::devices: of all causes
  Ns busy_ns = 0;    ///< its operations run: of those side by side, one by the causes' precedence
  Ns idle_ns = 0;    ///< the device waits for its operations, and does nothing
  Ns device_ns = 0;  ///< of all its operations: what runs side by side counts in full
  std::int64_t launches = 0;          ///< its operations
  double flops = 0, bytes = 0;        ///< as far as shapes tell
  double known_ns = 0, least_ns = 0;  ///< of work of known size: what it takes, and needs
  double by_memory_ns = 0;            ///< of products that are limited by bytes
  Ns product_ns = 0;   ///< of kernels that are products, whether their shapes are known or not
  double told_ns = 0;  ///< of products whose shapes are known

  Ns total_ns() const { return busy_ns + idle_ns; }
  WorkSum& operator+=(const WorkSum& other);
  /// What it is bound by (name_of(Limit)); "" for nothing at all.
  std::string bound_by(const Account& account) const;
  /// Whether the shapes of some of its products are unknown, so that there are more FLOPs.
  bool more_flops() const;
  /// Whether most of its work is of known size, so that `attained` and `bytes` speak of it.
  bool tells_size() const { return 2 * known_ns >= static_cast<double>(device_ns) && known_ns > 0; }
  /// What it reaches of the attainable rates, 0 to 1; below 0 if nothing of it is of known size.
  double attained() const { return known_ns > 0 ? least_ns / known_ns : -1; }
};

/// `group_of`: by operation, which group it is in, below `groups`.
std::vector<WorkSum> sum_work(const Analysis& analysis, std::size_t groups,
                              const std::function<std::uint32_t(Row)>& group_of);

}  // namespace gh
