// Something that is made when it is first asked for, once, whichever thread asks.
#pragma once
#include <memory>
#include <mutex>

namespace gh {

/// A copy or a moved one starts anew: what was made may refer to the owner.
template <class T>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy& /*other*/) : Lazy() {}
  Lazy& operator=(const Lazy& /*other*/) {
    state_ = std::make_unique<State>();
    return *this;
  }

  /// What make() returned when it was first called: a shared_ptr<const T>.
  template <class Make>
  const T& get(Make make) const {
    std::call_once(state_->made, [&] { state_->value = make(); });
    return *state_->value;
  }

 private:
  struct State {
    std::once_flag made;
    std::shared_ptr<const T> value;
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace gh
