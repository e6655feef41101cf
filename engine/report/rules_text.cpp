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
  if (!warns_by_share(rule)) return "The rule sets it, whatever a fix saves.";
  return fmt::format(
      "An error if a fix can save 20 % of the step (or token, iteration, window) or more, a "
      "warning "
      "from {}, a note below.",
      percent(rule.warning_at));
}

constexpr const char* worth_explained =
    "If a finding gives the step after its fix, gh-advise replayed the recorded steps with that "
    "change and without the profiler's overhead. The measured step should lie in the range given. "
    "\"At most\" marks a ceiling, not a forecast: the replay did not fit the trace, or ranks wait "
    "for "
    "each other. If the host limits the step after the fix, trust the range rather than the "
    "number. "
    "Without such a step, the saving is the rule's own estimate or a ceiling.";

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
             "\nSEEN: on how many recordings in the program's source the rule fires. PAIRS: how "
             "many of "
             "their fixes were made and timed. OFF BY: the median error of the predicted step "
             "there.",
             style.width, 0) +
         '\n';
}

std::string render_explanation(const Rule& rule, const TextStyle& style) {
  const Paint paint(style);
  std::string out = paint.bold(rule.id) + ": " + rule.title + '\n';
  out += fmt::format("category {}, since {}, from {}\n", rule.category, rule.since, rule.path);
  const auto part = [&](const char* title, const std::string& text) {
    out += fmt::format("\n{}\n  {}\n", paint.bold(title),
                       wrapped(printable(plain_sentence(text)), style.width, 2));
  };
  for (const auto& [title, text] : rule_parts(rule)) part(title, text);
  part("Seen on recordings", capitalized(seen_text(rule)) + ".");
  part("Severity", severity_text(rule));
  part("What it saves", worth_explained);
  if (!rule.needs.empty()) {
    std::string needs;
    for (const Source s : rule.needs)
      needs += (needs.empty() ? "" : ", ") + std::string(shown_name_of(s));
    part("Needs", needs);
  }
  std::string options, factors;
  for (const auto& [name, o] : rule.options)
    if (o.range)
      factors += fmt::format("  {} = {}  ({:.4g} to {:.4g})\n    {}\n", name, option_text(o.value),
                             o.range->least, o.range->most,
                             wrapped(printable(o.doc + ' ' + o.range->source), style.width, 4));
    else
      options += fmt::format("  {} = {}  ({})\n    {}\n", name, option_text(o.value), o.unit,
                             wrapped(printable(o.doc), style.width, 4));
  for (const auto& [title, list] :
       {std::pair("Options, in gh-advise.toml under [rule.{}]", options),
        {"Factors of its forecast, in gh-advise.toml under [rule.{}]", factors}})
    if (!list.empty())
      out += fmt::format("\n{}\n{}", paint.bold(fmt::format(fmt::runtime(title), rule.id)), list);
  return out;
}

}  // namespace gh
