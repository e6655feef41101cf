// Facts: what is known about a report, as named values with units. Rules, the `facts` command and
// budgets use the same ones. facts/table.cpp lists them.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Why a fact has no value.
struct Unknown {
  std::string reason;
};
using FactValue = std::variant<Unknown, double, std::string>;

enum class Unit { ns, fraction, count, bytes, bytes_per_s, flops_per_s, watts, text };
const char* name_of(Unit);
/// A value as shown to a person: "160.3 ms", "71 %", "unknown (...)".
std::string shown(const FactValue& value, Unit unit);

struct Fact {
  /// Lower case, dotted, with the unit as a suffix where it is not obvious: step.median_ns.
  std::string name;
  Unit unit;
  std::string doc;
  std::function<FactValue(const Analysis&)> compute;
  std::optional<Source> source = {};  ///< that must have been recorded
};

/// All facts of a report, each computed when it is first asked for. Several threads may ask; one
/// waits for another only if both ask for the same fact.
class Facts {
 public:
  explicit Facts(const Analysis& analysis);
  const std::vector<Fact>& all() const { return facts_; }
  /// Throws Error with a suggestion if there is no such fact.
  const FactValue& value(const std::string& name) const;
  std::vector<std::string> names() const;
  /// The facts that any of these names, all if there are none: each is the name of a fact, what
  /// names begin with up to a dot (account.idle), or a glob. Throws Error with a suggestion for one
  /// that names no fact.
  std::vector<const Fact*> chosen(const std::vector<std::string>& only) const;

 private:
  struct Value {
    std::once_flag computed;
    FactValue value;
  };
  Error no_such_fact(const std::string& name) const;

  const Analysis& analysis_;
  std::vector<Fact> facts_;
  std::map<std::string, std::size_t> index_;  // by name
  mutable std::deque<Value> values_;          // parallel to facts_
};

}  // namespace gh
