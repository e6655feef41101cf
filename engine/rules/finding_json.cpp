#include "rules/finding_json.hpp"

#include <cstdlib>

namespace gh {

std::optional<std::string> stored_source(const SourceLine& source) {
  if (source.line <= 0) return std::nullopt;
  return source.file + ':' + std::to_string(source.line);
}

SourceLine source_from(const std::optional<std::string>& stored) {
  if (!stored) return {};
  const std::size_t colon = stored->rfind(':');
  return {stored->substr(0, colon),
          colon == stored->npos ? 0 : std::atoi(stored->c_str() + colon + 1)};
}

StoredPrediction::StoredPrediction(const std::optional<Prediction>& prediction) {
  if (!prediction) return;
  step_ns = prediction->step_ns;
  range_ns = {prediction->least_ns, prediction->most_ns};
  why = prediction->why;
}

std::optional<Prediction> StoredPrediction::prediction() const {
  if (!step_ns) return std::nullopt;
  if (!range_ns || range_ns->size() != 2 || range_ns->at(1) < range_ns->at(0))
    throw Error("a predicted range ends before it begins");
  return Prediction{*step_ns, range_ns->at(0), range_ns->at(1), why.value_or("")};
}

StoredSaving::StoredSaving(const Finding& f, Ns saves_ns) {
  if (!f.predicted || f.masked) return;
  const auto [least, most] = saving_range(f, saves_ns);
  range_ns = {least, most};
}

void StoredSaving::read_into(std::optional<Prediction>& prediction) const {
  if (!range_ns) return;
  if (range_ns->size() != 2) throw Error("the range of a saving is no pair");
  if (range_ns->at(1) < range_ns->at(0)) throw Error("the range of a saving ends before it begins");
  if (!prediction) prediction.emplace();
  prediction->saves_if_least_ns = range_ns->at(0);
  prediction->saves_if_most_ns = range_ns->at(1);
}

Json finding_json(const Finding& f) {
  FieldWriter writer;
  finding_fields(writer, f);
  return writer.json;
}

Json plan_json(const Report& report) {
  if (!report.plan) return nullptr;
  const Plan& p = *report.plan;
  const Replay& r = *report.replay;
  Json fixes = Json::array();
  for (const Plan::Fix& f : p.fixes)
    fixes.push_back({{"rule", f.rule},
                     {"fingerprint", f.fingerprint},
                     {"masked", f.masked},
                     {"step_ns", f.step.step_ns},
                     {"step_range_ns", {f.step.least_ns, f.step.most_ns}}});
  return {{"of", r.whole_window() ? "window" : "step"},
          {"recorded_step_ns", p.recorded_ns},
          {"step_ns", p.now.step_ns},
          {"step_range_ns", {p.now.least_ns, p.now.most_ns}},
          {"step_is", p.measured ? "measured" : "replayed"},
          {"items", p.items > 0 ? Json{{"in_step", p.items}, {"what", p.item}} : Json(nullptr)},
          {"fixes", fixes},
          {"ceiling", or_null(p.ceiling)},
          {"bounds",
           {{"products_ns", p.bounds.products_ns},
            {"compute_ns", p.bounds.compute_ns},
            {"link_ns", p.bounds.link_ns},
            {"host_ns", p.bounds.host_ns}}},
          {"replay",
           {{"steps", r.steps()},
            {"of_steps", r.of_steps()},
            {"of_window", r.of_window()},
            {"uniform_error", r.uniform_error()},
            {"unresolved", r.unresolved()},
            {"unrepresentative", r.unrepresentative()},
            {"unexplained_ns", r.unexplained_ns()}}}};
}

}  // namespace gh
