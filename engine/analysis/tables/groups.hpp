// Rows grouped by a key, and what is summed up of each group.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// How often, and how long each time.
struct Tally {
  std::int64_t count = 0;
  Ns total_ns = 0, least_ns = std::numeric_limits<Ns>::max(), most_ns = 0;
  void add(Ns ns) { *this += {1, ns, ns, ns}; }
  Tally& operator+=(const Tally& o) {
    count += o.count;
    total_ns += o.total_ns;
    least_ns = std::min(least_ns, o.least_ns);
    most_ns = std::max(most_ns, o.most_ns);
    return *this;
  }
  double mean_ns() const {
    return count > 0 ? static_cast<double>(total_ns) / static_cast<double>(count) : 0;
  }
};

/// For keys of which a report has few. TableMaker groups all work, by ids.
template <class Key>
class Groups {
 public:
  struct Sum {
    Key key;
    Tally each{};
    std::int64_t bytes = 0;
    std::vector<Row> rows{};  ///< as far as the caller needs them
  };

  Groups() = default;
  Groups(Groups&&) noexcept = default;  // a copy's map would lead to the original
  Groups& operator=(Groups&&) noexcept = default;

  Sum& of(const Key& key) {
    const auto [it, is_new] = by_key_.try_emplace(key, nullptr);
    if (is_new) it->second = &sums_.emplace_back(Sum{key});
    return *it->second;
  }
  bool contains(const Key& key) const { return by_key_.contains(key); }
  std::size_t size() const { return sums_.size(); }

  const std::deque<Sum>& as_met() const { return sums_; }
  std::vector<Sum*> by_key() const {
    std::vector<Sum*> order;
    for (const auto& [key, sum] : by_key_) order.push_back(sum);
    return order;
  }
  /// By summed time; of what takes the same, what has the lesser `tie_of` its key comes first.
  template <class TieOf = std::identity>
  std::vector<Sum*> longest_first(TieOf tie_of = {}) const {
    std::vector<Sum*> order = by_key();
    std::stable_sort(order.begin(), order.end(), [&](const Sum* x, const Sum* y) {
      if (x->each.total_ns != y->each.total_ns) return x->each.total_ns > y->each.total_ns;
      return tie_of(x->key) < tie_of(y->key);
    });
    return order;
  }

 private:
  std::deque<Sum> sums_;  // their addresses stay
  std::map<Key, Sum*> by_key_;
};

}  // namespace gh
