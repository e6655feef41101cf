#include "rules/finding_json.hpp"

namespace gh {
namespace {

// A field that does not apply is null.
Json or_null(std::int64_t v) { return v < 0 ? Json(nullptr) : Json(v); }
Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }

Json metric_json(const Metric& m) {
  return {{"name", m.name},
          {"value", m.value},
          {"unit", name_of(m.unit)},
          {"threshold", m.threshold ? Json(*m.threshold) : Json(nullptr)}};
}

Json source_json(const SourceLine& s) {
  return s.line > 0 ? Json(s.file + ':' + std::to_string(s.line)) : Json(nullptr);
}

Json evidence_json(const Evidence& e) {
  return {{"start_ns", e.span.start},
          {"end_ns", e.span.end},
          {"device", or_null(e.device)},
          {"stream", or_null(e.stream)},
          {"thread", or_null(e.thread)},
          {"name", e.name},
          {"note", e.note},
          {"source", source_json(e.source)},
          {"layer", or_null(e.layer)}};
}

Json layer_json(const ConcernedLayer& l) {
  return {{"path", l.path}, {"count", l.count}, {"of", l.of}, {"share", l.share}};
}

// A window is not a step and must not be mistaken for one: each has separate fields.
Json prediction_json(const std::optional<Prediction>& p, const std::string& of) {
  const std::string name = "predicted_" + of;
  return {{name + "_ns", p ? Json(p->step_ns) : Json(nullptr)},
          {name + "_range_ns", p ? Json{p->least_ns, p->most_ns} : Json(nullptr)},
          {name + "_why", p ? Json(p->why) : Json(nullptr)}};
}

}  // namespace

Json finding_json(const Finding& f) {
  Json metrics = Json::array(), evidence = Json::array(), layers = Json::array();
  for (const Metric& m : f.metrics) metrics.push_back(metric_json(m));
  for (const Evidence& e : f.evidence) evidence.push_back(evidence_json(e));
  for (const ConcernedLayer& l : f.layers) layers.push_back(layer_json(l));
  const std::optional<Prediction> none;
  Json json{{"rule", f.rule},
            {"category", f.category},
            {"severity", name_of(f.severity)},
            {"title", f.title},
            {"message", f.message},
            {"subject", f.subject},
            {"recoverable_ns", f.recoverable_ns},
            {"recoverable_fraction", f.recoverable_fraction},
            {"recoverable_is", f.about ? "about" : "at_most"},
            {"recoverable_of", f.of_window ? "window" : "step"},
            {"alone_ns", f.alone_ns},
            {"explained_ns", f.explained_ns ? Json(*f.explained_ns) : Json(nullptr)},
            {"after", f.after},
            {"masked", f.masked}};
  json.update(prediction_json(f.of_window ? none : f.predicted, "step"));
  json.update(prediction_json(f.of_window ? f.predicted : none, "window"));
  json.update(Json{{"confidence", f.confidence},
                   {"advice", f.advice},
                   {"metrics", metrics},
                   {"evidence", evidence},
                   {"layers", layers},
                   {"follows_from", or_null(f.follows_from)},
                   {"fingerprint", f.fingerprint}});
  return json;
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
