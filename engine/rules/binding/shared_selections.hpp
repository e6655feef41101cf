// Selections that rules have in common: half of them begin with the same kernels, copies or idle
// time, and scanning millions of rows for each is most of what they cost.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/lazy.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// Several rules may ask at once. A copy starts empty.
class SharedSelections {
 public:
  struct Selection {
    RowSet rows;
    std::int64_t instructions;  ///< that finding it costs each rule: what is shared is charged too
  };
  /// What find() returned when this filter was first asked for: a shared_ptr<const Selection>.
  template <class Find>
  const Selection& get(const std::string& filter, Find find) const {
    return selection(filter).get(find);
  }

 private:
  const Lazy<Selection>& selection(const std::string& filter) const {
    const std::lock_guard lock(*mutex_);
    return by_filter_[filter];
  }

  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  mutable std::map<std::string, Lazy<Selection>> by_filter_;
};

}  // namespace gh
