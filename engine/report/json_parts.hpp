// What several JSON documents hold in the same shape (schemas/).
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "rules/finding.hpp"

namespace gh {

/// The report that a document is of: path, format, producer, schema.
Json report_head(const Analysis& analysis);

/// A finding (schemas/report.schema.json): what to do in a few words, and `saves`, what that saves.
Json finding_json(const Finding& finding, const std::string& saves);

/// Of what `check` and `top` write. It grows when a field is taken away or changes its meaning.
inline constexpr int reports_schema_version = 3;

/// The configuration's suppressions and what became of each.
Json suppressions_json(const std::vector<std::pair<Suppression, SuppressionState>>& suppressions);

}  // namespace gh
