// What each step of a device spent on each cause. A recording may have a million steps, and few of
// the causes: only those that occur take memory.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/spans.hpp"

namespace gh {

/// A table of nanoseconds, by step and by cause (the place in Account::causes).
class StepCauses {
 public:
  StepCauses() = default;
  StepCauses(std::size_t steps, std::size_t causes)
      : steps_(steps), column_(causes, none), total_ns_(causes) {}

  std::size_t size() const { return steps_; }  ///< steps
  std::size_t causes() const { return column_.size(); }
  Ns of(std::size_t step, std::size_t cause) const {
    return column_[cause] == none || step >= filled() ? 0 : ns_[step * width_ + column_[cause]];
  }
  /// Over all steps; 0 for a cause that the table does not know.
  Ns total_ns(std::size_t cause) const { return cause < total_ns_.size() ? total_ns_[cause] : 0; }

  void add(std::size_t step, std::size_t cause, Ns ns) {
    if (ns == 0) return;
    if (column_[cause] == none) widen(cause);
    if (step >= filled()) ns_.resize((step + 1) * width_);
    ns_[step * width_ + column_[cause]] += ns;
    total_ns_[cause] += ns;
  }

  /// Whether both have the same times, in whatever order they were added.
  friend bool operator==(const StepCauses& a, const StepCauses& b) {
    if (a.size() != b.size() || a.total_ns_ != b.total_ns_) return false;
    for (std::size_t step = 0; step < a.size(); ++step)
      for (std::size_t cause = 0; cause < a.causes(); ++cause)
        if (a.of(step, cause) != b.of(step, cause)) return false;
    return true;
  }

 private:
  static constexpr std::uint16_t none = 0xffff;

  // Steps are filled in order, so that a new column, which usually comes early, moves few of them.
  std::size_t filled() const { return width_ == 0 ? 0 : ns_.size() / width_; }
  void widen(std::size_t cause) {
    std::vector<Ns> wider;
    wider.reserve(steps_ * (width_ + 1));  // what is not filled is never touched
    for (std::size_t step = 0; step < filled(); ++step) {
      const auto row = ns_.begin() + static_cast<std::ptrdiff_t>(step * width_);
      wider.insert(wider.end(), row, row + static_cast<std::ptrdiff_t>(width_));
      wider.push_back(0);
    }
    ns_ = std::move(wider);
    column_[cause] = width_++;
  }

  std::size_t steps_ = 0;
  std::uint16_t width_ = 0;
  std::vector<std::uint16_t> column_;  // by cause
  std::vector<Ns> ns_, total_ns_;      // by step and column; by cause
};

}  // namespace gh
