#include "rules/rule.hpp"

#include <algorithm>

namespace gh {

double warns_from(const Rule& rule, const RuleSettings& settings) {
  const auto option = rule.options.find("share");
  if (option == rule.options.end()) return rule.warning_at;
  const auto* share = std::get_if<double>(&settings.value_of("share", option->second));
  return share ? std::max(rule.warning_at, *share) : rule.warning_at;
}

}  // namespace gh
