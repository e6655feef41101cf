// A finding in the words, and at the place, in which every CI system shows it.
#pragma once
#include <string>

#include "report/ci.hpp"

namespace gh {

/// The source line that a finding is shown at: the first that its evidence names inside the
/// repository, else line 1 of the report, by its path in the repository or by its name.
SourceLine place_of(const CiFinding& finding);

/// Whether it is there now; what is gone is shown as passing.
bool is_present(const CiFinding& finding);

/// "saves at most 12.3 ms a step (8 %)"; "" where nothing is known to be recoverable.
std::string ci_worth_text(const CiFinding& finding);

/// Everything that a reader needs, in one text.
std::string full_text(const CiFinding& finding);

/// With a full stop, unless it is empty or has one.
std::string sentence(const std::string& text);

}  // namespace gh
