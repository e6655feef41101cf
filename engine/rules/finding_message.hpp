// The message and the headline of a finding: templates of its rule, filled from its data.
#pragma once
#include <optional>
#include <string>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"
#include "rules/lua_table.hpp"

namespace gh {

/// The text that a template makes. A field "{name}" is a text or a count of the data,
/// "{name:unit}" a number of it with its unit, "{name:# kernel|# kernels}" words that fit one or
/// any other number, which stands for #; "{each_step}", "{a_step}", "{unit}" and "{units}" say what
/// times and shares are of: "each 160.3 ms step", "each 12.1 ms token", "a step", "token",
/// "tokens". Throws Error where the data lacks a field.
struct FilledMessage {
  std::string text;
  std::optional<double> explained_ns;  ///< the first "{name:ns}" that "of {each_step}" follows
};
FilledMessage filled_message(const std::string& pattern, const LuaTable& data,
                             const Analysis& analysis, const StepTime& step);

}  // namespace gh
