// A baseline: captures of one program in a file, against which later ones are compared.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "gate/capture.hpp"

namespace gh {

/// Captures of one program as a JSON object (schemas/baseline.schema.json).
std::string render_baseline(const std::vector<Capture>& captures);

/// Whether a file is a baseline rather than a report: a JSON document that says so, whatever the
/// order of its keys.
bool is_baseline(const std::filesystem::path& path);

/// Reads what render_baseline wrote. Throws Error where it is no baseline, a damaged one, or made
/// by an analysis that measured otherwise.
std::vector<Capture> read_baseline(const std::filesystem::path& path);

}  // namespace gh
