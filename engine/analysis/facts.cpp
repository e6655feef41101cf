#include "analysis/facts.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "analysis/facts/table.hpp"
#include "base/deadline.hpp"
#include "base/patterns.hpp"

namespace gh {
namespace {

FactValue share(Ns sum, double of) {
  if (of <= 0) return Unknown{"no GPU did any work in this report"};
  return static_cast<double>(sum) / of;
}

// Two facts for each cause of the account.
void add_account(std::vector<Fact>& facts, const std::string& cause) {
  facts.push_back({"account." + cause + "_ns", Unit::ns,
                   fmt::format("Mean time per step that the account assigns to {}.", cause),
                   [cause](const Analysis& a) {
                     return share(a.account.total_ns(cause), static_cast<double>(a.step_count()));
                   }});
  facts.push_back({"account." + cause + "_fraction", Unit::fraction,
                   fmt::format("The share of the steps that the account assigns to {}.", cause),
                   [cause](const Analysis& a) {
                     return share(a.account.total_ns(cause), static_cast<double>(a.total_ns()));
                   }});
}

FactValue computed(const Fact& fact, const Analysis& a) {
  if (fact.source && !a.trace.availability(*fact.source).known())
    return Unknown{a.trace.availability(*fact.source).reason};
  return fact.compute(a);
}

}  // namespace

const char* name_of(Unit unit) {
  static constexpr std::array names{"ns",      "fraction", "count", "bytes",
                                    "bytes/s", "FLOP/s",   "W",     "text"};
  return names[static_cast<std::size_t>(unit)];
}

std::string shown(const FactValue& value, Unit unit) {
  if (const auto* u = std::get_if<Unknown>(&value)) return fmt::format("unknown ({})", u->reason);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  const double v = std::get<double>(value);
  switch (unit) {
    case Unit::ns: return duration(v);
    case Unit::fraction: return percent(v);
    case Unit::bytes: return bytes_text(v);
    case Unit::bytes_per_s: return fmt::format("{:.{}f} GB/s", v / 1e9, v < 9.95e9 ? 2 : 1);
    case Unit::watts: return fmt::format("{:.0f} W", v);
    case Unit::flops_per_s: return fmt::format("{:.0f} TFLOP/s", v / 1e12);
    default: return v == std::floor(v) ? fmt::format("{:.0f}", v) : fmt::format("{:.1f}", v);
  }
}

Facts::Facts(const Analysis& analysis) : analysis_(analysis), facts_(fact_table()) {
  for (const std::string& cause : analysis.account.causes) add_account(facts_, cause);
  values_.resize(facts_.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) index_.emplace(facts_[i].name, i);
}

std::vector<std::string> Facts::names() const {
  std::vector<std::string> names;
  for (const Fact& f : facts_) names.push_back(f.name);
  return names;
}

std::vector<const Fact*> Facts::chosen(const std::vector<std::string>& only) const {
  std::vector<bool> named(facts_.size(), only.empty());
  for (const std::string& wanted : only) {
    const std::string beginning = wanted.ends_with('.') ? wanted : wanted + '.';
    bool any = false;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const std::string& name = facts_[i].name;
      if (!glob_match(wanted, name) && !name.starts_with(beginning)) continue;
      named[i] = any = true;
    }
    if (!any) throw no_such_fact(wanted);
  }
  std::vector<const Fact*> facts;
  for (std::size_t i = 0; i < facts_.size(); ++i)
    if (named[i]) facts.push_back(&facts_[i]);
  return facts;
}

Error Facts::no_such_fact(const std::string& name) const {
  return Error(
      fmt::format("there is no fact '{}'{}", printable(name), did_you_mean(name, names())));
}

const FactValue& Facts::value(const std::string& name) const {
  const auto fact = index_.find(name);
  if (fact == index_.end()) throw no_such_fact(name);
  check_time();
  Value& v = values_[fact->second];
  std::call_once(v.computed, [&] { v.value = computed(facts_[fact->second], analysis_); });
  return v.value;
}

}  // namespace gh
