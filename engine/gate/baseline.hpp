// A baseline: captures of one program in a file, against which later ones are compared.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/json_forward.hpp"
#include "gate/capture.hpp"

namespace gh {

/// Captures of one program as a JSON object (schemas/baseline.schema.json).
std::string render_baseline(const std::vector<Capture>& captures);

/// Whether a file is a baseline rather than a report: a JSON document that says so, whatever the
/// order of its keys.
bool is_baseline(const std::filesystem::path& path);

/// Reads what render_baseline wrote. Throws Error where it is no baseline, a damaged or edited one,
/// or taken by an analysis that measured otherwise.
std::vector<Capture> read_baseline(const std::filesystem::path& path);

/// What stands in a baseline as its digest: that of all else in it, however it is laid out. It
/// shows an edit by hand or a bad merge; it is no signature.
std::string baseline_digest(const Json& baseline);

}  // namespace gh
