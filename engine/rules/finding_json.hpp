// A finding, and the plan of a report, as JSON documents contain them (schemas/).
#pragma once
#include "base/json.hpp"
#include "rules/finding.hpp"

namespace gh {

/// A finding, and the plan of a report (null if there is none), as schemas/report.schema.json
/// describes them.
Json finding_json(const Finding& finding);
Json plan_json(const Report& report);

}  // namespace gh
