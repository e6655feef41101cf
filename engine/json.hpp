// Pieces of our JSON documents that more than one of them holds (schemas/).
#pragma once
#include <nlohmann/json.hpp>

#include "finding.hpp"

namespace gh {

using Json = nlohmann::ordered_json;  ///< keys stay in the order in which they are written, so that two runs print the same bytes

/// A finding, and the plan of a report (null where there is none), as schemas/report.schema.json describes them.
Json finding_json(const Finding& finding);
Json plan_json(const Report& report);

}  // namespace gh
