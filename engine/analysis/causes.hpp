// The causes of the account in order of precedence, and which one an operation belongs to.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/cause.hpp"
#include "analysis/classes.hpp"
#include "analysis/idle.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Causes count from 0, the one that precedes all others; see Account. Refers to what it is made
/// from.
class Causes {
 public:
  static constexpr std::size_t um_stall = 0;

  Causes(const Trace& trace, const Classes& classes, const NameClasses& names)
      : trace_(trace), kernel_classes_(names.kernel) {
    const std::vector<std::string>& known = classes.kernel_classes();
    all_.push_back(cause_name(Cause::Of::um_stall));
    // The first class, collectives, is not compute.
    static_assert(KernelClass::collective == KernelClass{0});
    for (std::size_t c = 1; c < known.size(); ++c) all_.push_back(cause_name(known[c]));
    const auto add = [&](Cause::Of kind) {
      all_.push_back(cause_name(kind));
      return all_.size() - 1;
    };
    graph_ = add(Cause::Of::graph);
    device_copy_ = add(Cause::Of::device_copy);
    communication_ = add(Cause::Of::communication);
    link_copy_ = add(Cause::Of::copy);
    first_idle_ = all_.size();
    for (std::size_t c = 0; c < idle_causes; ++c)
      all_.push_back(cause_name(static_cast<IdleCause>(c)));
  }

  const std::vector<std::string>& all() const { return all_; }
  std::size_t count() const { return all_.size(); }

  std::size_t of(Row op) const {
    switch (trace_.ops.kind[op]) {
      case OpKind::kernel: return of_kernel_class(kernel_classes_[trace_.ops.name[op]]);
      case OpKind::graph: return graph_;
      case OpKind::set: return device_copy_;
      default: return of_copy(op);
    }
  }
  std::size_t of(IdleCause c) const { return first_idle_ + static_cast<std::size_t>(c); }

 private:
  // Each class has its place: the stall is where collectives would be.
  std::size_t of_kernel_class(KernelClass c) const {
    return c == KernelClass::collective ? communication_ : static_cast<std::size_t>(c);
  }
  std::size_t of_copy(Row op) const {
    // A prefetch is a copy like any other: no kernel waits for its pages.
    if (is_unified(trace_.ops.copy[op]))
      return trace_.ops.cause[op] == MigrationCause::prefetch ? link_copy_ : um_stall;
    return crosses_link(trace_.ops.copy[op]) ? link_copy_ : device_copy_;
  }

  const Trace& trace_;
  const std::vector<KernelClass>& kernel_classes_;  // by NameId
  std::vector<std::string> all_;
  std::size_t graph_, device_copy_, communication_, link_copy_, first_idle_;
};

}  // namespace gh
