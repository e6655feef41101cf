// The message and the headline of a finding: templates of its rule, filled from its data.
#pragma once
#include <optional>
#include <string>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"
#include "rules/lua_table.hpp"

namespace gh {

/// The message that a pattern gives. A field "{name}" is a text or count of the data, "{name:unit}"
/// a number with its unit, "{name:lost}" the time of each step that the finding explains,
/// "{name:# kernel|# kernels}" the words for one or for any other number, which replaces #;
/// "{each_step}", "{a_step}", "{unit}" and "{units}" say what times and shares refer to: "each
/// 160.3 ms step", "each 12.1 ms token", "a step", "token", "tokens"; "{.}" is nothing. A brace
/// that a space follows is one. Throws Error if the data lacks a field.
struct FilledMessage {
  std::string text;
  std::optional<double> lost_ns;  ///< the number of its "{name:lost}"
  std::string short_form = "";    ///< of an advice: what stands before its "{.}"
};
FilledMessage filled_message(const std::string& pattern, const LuaTable& data,
                             const Analysis& analysis, const StepTime& step);

}  // namespace gh
