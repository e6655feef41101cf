#include "report/json_parts.hpp"

#include "rules/finding_json.hpp"

namespace gh {

Json report_head(const Analysis& a) {
  return {{"path", a.trace.path},
          {"format", a.trace.format},
          {"producer", a.trace.producer},
          {"schema", a.trace.schema},
          {"environment_variables", a.trace.environment_variables}};
}

Json finding_json(const Finding& f, const std::string& saves) {
  Json json = finding_json(f);
  json["fix"] = short_fix(f);
  json["saves"] = saves;
  return json;
}

Json suppressions_json(const std::vector<std::pair<Suppression, SuppressionState>>& suppressions) {
  return json_list(suppressions, [](const auto& one) -> Json {
    const auto& [s, state] = one;
    return {{"rule", s.rule},     {"subject", s.subject},
            {"reason", s.reason}, {"until", or_null(s.until)},
            {"where", s.where},   {"state", name_of(state)}};
  });
}

}  // namespace gh
