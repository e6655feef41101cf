// A finding, and the plan of a report, as JSON documents contain them (schemas/).
#pragma once
#include "base/json_fields.hpp"
#include "rules/finding.hpp"

namespace gh {

/// "train.py:12", or nothing where no line is known; and back.
std::optional<std::string> stored_source(const SourceLine& source);
SourceLine source_from(const std::optional<std::string>& stored);

inline constexpr auto metric_fields = [](auto& json, auto& metric) {
  json("name", metric.name);
  json("value", metric.value, measures);
  json("unit", metric.unit, Unit::text);
  json("threshold", metric.threshold, measures);
};

inline constexpr auto evidence_fields = [](auto& json, auto& evidence) {
  json("start_ns", evidence.span.start, times);
  json("end_ns", evidence.span.end, times);
  json.or_null("device", evidence.device, std::int64_t{-1}, counts);
  json.or_null("stream", evidence.stream, std::int64_t{-1});
  json.or_null("thread", evidence.thread);
  json("name", evidence.name);
  json("note", evidence.note);
  json.through("source", evidence.source, stored_source, source_from);
  // Digests that were made before findings named layers have none.
  if (json.has("layer")) json.or_null("layer", evidence.layer);
};

inline constexpr auto layer_fields = [](auto& json, auto& layer) {
  json("path", layer.path);
  json("count", layer.count, counts);
  json("of", layer.of, counts);
  json("share", layer.share, shares);
};

/// A window is not a step and must not be mistaken for one: each has separate fields, and null in
/// those of the other.
struct StoredPrediction {
  std::optional<Ns> step_ns;
  std::optional<std::vector<Ns>> range_ns;
  std::optional<std::string> why;

  explicit StoredPrediction(const std::optional<Prediction>& prediction);
  std::optional<Prediction> prediction() const;
};

inline constexpr auto prediction_fields = [](auto& json, auto& finding, bool of_window) {
  const bool applies = finding.of_window == of_window;
  StoredPrediction stored(applies ? finding.predicted : std::nullopt);
  const std::string name = of_window ? "predicted_window" : "predicted_step";
  json(name + "_ns", stored.step_ns);
  json(name + "_range_ns", stored.range_ns, times);
  json(name + "_why", stored.why);
  if constexpr (reads<decltype(json)>)
    if (applies) finding.predicted = stored.prediction();
};

/// What a fix that was replayed saves at least and at most, where `saves_ns` is expected. A
/// baseline keeps no more of a prediction.
struct StoredSaving {
  std::optional<std::vector<Ns>> range_ns;

  StoredSaving(const Finding& finding, Ns saves_ns);
  void read_into(std::optional<Prediction>& prediction) const;
};

inline constexpr auto saving_field = [](auto& json, const std::string& key, auto& finding,
                                        Ns saves_ns) {
  // Documents that were made before savings had ranges tell what is expected alone.
  if (!json.has(key)) {
    if constexpr (reads<decltype(json)>)
      if (finding.predicted)
        finding.predicted->saves_if_least_ns = finding.predicted->saves_if_most_ns = saves_ns;
    return;
  }
  StoredSaving stored(finding, saves_ns);
  json(key, stored.range_ns);
  if constexpr (reads<decltype(json)>) stored.read_into(finding.predicted);
};

/// As schemas/report.schema.json describes it.
inline constexpr auto finding_fields = [](auto& json, auto& finding) {
  json.name("rule", finding.rule);
  json.name("category", finding.category);
  json("severity", finding.severity, Severity::error);
  json("title", finding.title);
  json("message", finding.message);
  json("subject", finding.subject);
  json("recoverable_ns", finding.recoverable_ns);
  json("recoverable_fraction", finding.recoverable_fraction, shares);
  json.either("recoverable_is", finding.about, "about", "at_most");
  json.either("recoverable_of", finding.of_window, "window", "step");
  json("alone_ns", finding.alone_ns);
  json("explained_ns", finding.explained_ns);
  json("after", finding.after);
  json("masked", finding.masked);
  prediction_fields(json, finding, false);
  prediction_fields(json, finding, true);
  saving_field(json, "alone_range_ns", finding, finding.alone_ns);
  json("confidence", finding.confidence);
  if (json.has("owner")) {
    json.or_null("owner", finding.owner);
    json.or_null("owner_key", finding.owner_key);
  }
  json("advice", finding.advice);
  json("metrics", finding.metrics, metric_fields);
  json("evidence", finding.evidence, evidence_fields);
  if (json.has("layers")) json("layers", finding.layers, layer_fields);
  json.or_null("follows_from", finding.follows_from);
  json("fingerprint", finding.fingerprint);
};

Json finding_json(const Finding& finding);
/// The plan of a report, null if there is none (schemas/report.schema.json).
Json plan_json(const Report& report);

}  // namespace gh
