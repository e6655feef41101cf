// Bars and plots of HTML pages. Labels are text, which is escaped here.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spans.hpp"
#include "base/unit_words.hpp"
#include "report/activity.hpp"
#include "report/cause_times.hpp"

namespace gh {

/// A part of a stacked bar.
struct StackPart {
  std::string label;
  Activity activity;
  double fraction;
};

/// An account, or a part of it, as the parts of a bar: in the order of activities, the largest
/// first within one.
std::vector<StackPart> stack_of(const CauseTimes& causes);

/// A bar in which parts stand side by side; `label` says what it is of. `scale` is its length, 0 to
/// 1.
std::string stack_html(const std::string& label, const std::vector<StackPart>& parts,
                       double scale = 1);

/// The same what it is of and what it comes to.
std::string stacked_bar(const std::string& label, const std::vector<StackPart>& parts,
                        const std::string& value, double scale = 1);

/// What the colours and patterns of an account mean, of those that occur.
std::string legend(const std::vector<StackPart>& parts);
/// What other colours mean: each a class of the style sheet, with what it stands for.
using LegendItem = std::pair<std::string, std::string>;
std::string legend(const std::vector<LegendItem>& items, std::string_view label = "Colours");

/// A bar of one colour, and where given the stretch in which its end is expected, and a limit. All
/// 0 to 1.
std::string plain_bar(double fraction, std::string_view css_class,
                      std::optional<std::pair<double, double>> range = std::nullopt,
                      std::optional<double> limit = std::nullopt);

/// Steps drawn as dots over when they began, or over their number, with their median. Where there
/// are more than `most_dots`, each dot is the longest of several in a row. The axis goes to
/// `most_ns`. Times are in nanoseconds.
struct StripAxis {
  enum class Of { seconds, order } of = Of::seconds;
  UnitWords unit;  ///< what a step is called
};
struct StripDot {
  double x = 0;
  Ns ns = 0;
};
std::string strip_plot(const std::string& label, const std::vector<StripDot>& steps,
                       const StripAxis& axis, Ns most_ns, std::size_t most_dots);

}  // namespace gh
