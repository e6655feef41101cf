// Rules of a team: loaded, and evaluated on a small trace in which everything occurs.
#include "base/text.hpp"
#include "fuzz.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gh::Analysis analysis(
      gh::trace_from_text("return " + std::string(gh::literal_trace_example())), gh::Classes(), {});
  static const gh::Facts facts(analysis);
  try {
    const gh::Rule rule = gh::load_rule(std::string(fuzz::text_of(data, size)), "rule.lua");
    const gh::Report report = gh::evaluate({rule}, analysis, facts, {});
    gh::render_text(analysis, report, {});
    gh::render_json(analysis, report);
    gh::render_explanation(rule, {});
  } catch (const gh::Error&) {
  }
  return 0;
}
