// The rules as a table, and one rule's documentation, for people, on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/unit_words.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "rules/seen.hpp"

namespace gh {
namespace {

// A share beyond the whole step is never reached: such a rule sets the severity itself.
bool warns_by_share(const Rule& rule) { return rule.warning_at <= 1; }

std::string severity_text(const Rule& rule) {
  if (!warns_by_share(rule)) return "By what it says, not by what it is worth.";
  return fmt::format(
      "An error from 20 % of the step (or token, iteration, window) that can be won back, a "
      "warning "
      "from {}, a note below.",
      percent(rule.warning_at));
}

constexpr const char* worth_explained =
    "Where a finding says which step its fix leaves, the recorded steps were replayed with what "
    "the fix changes, after taking off what the profiler added; the range says between what the "
    "measured step should "
    "lie, and why. Do not believe it where it says \"at most\" or \"no less than\" (the replay "
    "did not fit the trace, or ranks wait for each other), and take the range rather than the "
    "number where the host "
    "bounds what is left. Where no step is given the worth is the rule's own account of the "
    "time: a ceiling, or its estimate.";

std::string rule_line(const Rule& r, std::size_t id_width, const TextStyle& style) {
  const Seen seen = seen_of(r);
  const auto count = [](std::size_t n) { return n > 0 ? std::to_string(n) : ""; };
  return fmt::format("  {}  {:>10}  {:>4}  {:>5}  {:>6}  {}\n", padded(r.id, id_width),
                     warns_by_share(r) ? percent(warns_from(r, {})) : "",
                     count(seen.recordings.size()), count(static_cast<std::size_t>(seen.pairs)),
                     seen.pairs > 0 ? percent(seen.median_error) : "",
                     wrapped(r.title, style.width, id_width + 37));
}

}  // namespace

std::string render_rules_text(const std::vector<Rule>& rules, const TextStyle& style) {
  const Paint paint(style);
  std::size_t id_width = 4;
  std::map<std::string, std::vector<const Rule*>> by_category;
  for (const Rule& r : rules) {
    id_width = std::max(id_width, r.id.size());
    by_category[r.category].push_back(&r);
  }
  const std::string head =
      "  " + padded("RULE", id_width) + "  WARNS FROM  SEEN  PAIRS  OFF BY  FINDS";
  std::string out = paint.faint(head) + '\n';
  for (const auto& [category, list] : by_category) {
    out += '\n' + paint.bold(category) + '\n';
    for (const Rule* r : list) out += rule_line(*r, id_width, style);
  }
  return out +
         wrapped(
             "\nSEEN: on how many recordings the rule fires that ship with the program's source. "
             "PAIRS: fixes of them that were made and timed; OFF BY: how far the predicted step is "
             "off there, in the median.",
             style.width, 0) +
         '\n';
}

std::string render_explanation(const Rule& rule, const TextStyle& style) {
  const Paint paint(style);
  std::string out = paint.bold(rule.id) + ": " + rule.title + '\n';
  out += fmt::format("category {}, since {}, from {}\n", rule.category, rule.since, rule.path);
  const auto part = [&](const char* title, const std::string& text) {
    out += fmt::format("\n{}\n  {}\n", paint.bold(title), wrapped(printable(text), style.width, 2));
  };
  part("What it does", rule.what);
  part("Why it matters", rule.why);
  part("How to fix it", rule.fix);
  part("When it is wrong", rule.wrong);
  part("Seen on recordings", capitalized(seen_text(rule)) + ".");
  part("Severity", severity_text(rule));
  part("What it is worth", worth_explained);
  if (!rule.needs.empty()) {
    std::string needs;
    for (const Source s : rule.needs)
      needs += (needs.empty() ? "" : ", ") + std::string(shown_name_of(s));
    part("Needs", needs);
  }
  if (!rule.options.empty()) {
    out += fmt::format(
        "\n{}\n", paint.bold(fmt::format("Options, in gh-advise.toml under [rule.{}]", rule.id)));
    for (const auto& [name, option] : rule.options)
      out += fmt::format("  {} = {}  ({})\n    {}\n", name, option_text(option.value), option.unit,
                         wrapped(printable(option.doc), style.width, 4));
  }
  return out;
}

}  // namespace gh
