// What several documents show in the same shape on a terminal.
#pragma once
#include <string>
#include <vector>

#include "report/layout.hpp"

namespace gh {

/// The report's file, in a line.
std::string report_name(const Analysis& analysis, const TextStyle& style);

/// What the report is: producer, devices with their steps, what to know beside.
std::string report_heading(const Analysis& analysis, const StepTime& step, const TextStyle& style);

/// A finding's fields below each other: "   why       ...", their text in a column of its own.
class FindingText {
 public:
  explicit FindingText(const TextStyle& style) : style_(style), paint_(style) {}

  /// "1. warning: the title and what follows it", the number and the severity in colour.
  void title(std::size_t number, Severity severity, const std::string& rest);
  /// Wraps. `name` may be "": the line then continues the field above.
  void field(const std::string& name, const std::string& text);
  /// A text without a name, below the title.
  void indented(const std::string& text);
  void why(const Finding& finding);
  void follows_from(const Finding& finding);
  void advice(const Finding& finding);
  void more(const Finding& finding);

  /// The column in which texts begin.
  static constexpr std::size_t indent = 13;

  const std::string& text() const { return text_; }

 private:
  void line(const std::string& name, const std::string& text);

  const TextStyle& style_;
  Paint paint_;
  std::string text_;
};

}  // namespace gh
