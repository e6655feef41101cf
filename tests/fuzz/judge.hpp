// Runs a rule on a small trace in which everything occurs.
#pragma once
#include <string>

#include "base/text.hpp"
#include "fuzz.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"

namespace fuzz {

/// Loads the rule, runs it, and renders its findings. They have to be printable and within a rule's
/// limits.
inline void judge(const std::string& source) {
  static const gh::Analysis analysis(
      gh::trace_from_text("return " + std::string(gh::literal_trace_example())), gh::Classes(), {});
  static const gh::Facts facts(analysis);
  try {
    const gh::Rule rule = gh::load_rule(source, "rule.lua");
    const gh::Report report = gh::evaluate({rule}, analysis, facts, {});
    const std::string text = gh::render_text(analysis, report, {});
    gh::render_json(analysis, report);
    gh::render_explanation(rule, {});
    if (text.find('\x1b') != text.npos || gh::valid_utf8(text) != text) __builtin_trap();
    if (report.failed.size() + report.findings.size() + report.clean.size() +
            report.not_checked.size() ==
        0)
      __builtin_trap();
  } catch (const gh::Error&) {
  }
}

}  // namespace fuzz
