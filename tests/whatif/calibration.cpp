// Predicted against measured: for every pair of fixtures/measured.toml the step that the replay
// predicts, with constants that come from the pair itself left out. Exits with 1 where a goal is
// missed. Run: build/release/tests/calibration
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "read/nsys.hpp"
#include "rules/rules.hpp"

using namespace gh;

namespace {

struct Pair {
  std::string report, rule, left_out;
  double before_ms = 0, after_ms = 0;
  RuleSettings settings;
};

std::vector<Pair> read_pairs() {
  std::vector<Pair> pairs;
  const toml::table file = toml::parse_file(GH_SOURCE_DIR "/fixtures/measured.toml");
  for (const toml::node& node : *file["pair"].as_array()) {
    const toml::table& t = *node.as_table();
    Pair p{t["report"].value_or(std::string()),
           t["rule"].value_or(std::string()),
           t["left_out"].value_or(std::string("-")),
           t["before_ms"].value_or(0.0),
           t["after_ms"].value_or(0.0),
           {}};
    if (const toml::table* options = t["options"].as_table())
      for (const auto& [key, value] : *options)
        p.settings.options[std::string(key.str())] = value.value_or(0.0);
    pairs.push_back(std::move(p));
  }
  return pairs;
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

int main() {
  const std::vector<Rule> rules = own_rules();
  std::vector<double> errors;
  std::map<std::string, std::vector<std::pair<double, double>>>
      by_report;  // measured and predicted
  std::size_t pairs = 0, inside = 0, narrow = 0;
  fmt::print("{:<20} {:<24} {:>8} {:>8} {:>8} {:>9} {:>7} {:>19}  {}\n", "report", "fix", "before",
             "now*", "after", "predicted", "error", "range", "left out");
  for (const Pair& p : read_pairs()) {
    const Analysis analysis(read_nsys(std::filesystem::path(GH_FIXTURES) / (p.report + ".sqlite")),
                            Classes(), {});
    const Facts facts(analysis);
    const Report report = evaluate(rules, analysis, facts, {{p.rule, p.settings}});
    ++pairs;
    const auto f = std::find_if(report.findings.begin(), report.findings.end(),
                                [&](const Finding& x) { return x.rule == p.rule && x.predicted; });
    if (f == report.findings.end() || !report.plan) {
      fmt::print("{:<20} {:<24} unpredicted\n", p.report, p.rule);
      errors.push_back(1);
      continue;
    }
    const auto ms = [](Ns ns) { return static_cast<double>(ns) / 1e6; };
    const double step = ms(f->predicted->step_ns), least = ms(f->predicted->least_ns),
                 most = ms(f->predicted->most_ns), error = step / p.after_ms - 1;
    const bool in = least <= p.after_ms && p.after_ms <= most,
               slim = most - least <= p.before_ms / 5;
    errors.push_back(std::abs(error));
    inside += in;
    narrow += slim;
    by_report[p.report].emplace_back(p.after_ms, step);
    fmt::print(
        "{:<20} {:<24} {:>8.1f} {:>8.1f} {:>8.1f} {:>9.1f} {:>+6.1f}% [{:>7.1f}, {:>7.1f}]{}{}  "
        "{}\n",
        p.report, p.rule, p.before_ms, ms(report.plan->now.step_ns), p.after_ms, step, 100 * error,
        least, most, in ? " " : "!", slim ? " " : "w", p.left_out);
  }
  std::size_t ranked = 0,
              rankable = 0;  // pairs of fixes of one report that come in the measured order
  for (const auto& [report, fixes] : by_report)
    for (std::size_t i = 0; i < fixes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        ++rankable;
        ranked += (fixes[i].first < fixes[j].first) == (fixes[i].second < fixes[j].second);
      }
  const double worst = *std::max_element(errors.begin(), errors.end());
  fmt::print(
      "\n* the step before, predicted from the recording. ! the measured step lies outside of the "
      "range, w it is wider than a fifth of the step before. What is left\n"
      "  out: the rule's constants that come from the pair; - where none does. What the profiler "
      "adds, and how far runs differ, comes from all recordings.\n"
      "{} pairs: error of the predicted step {:.1f} % (median), {:.1f} % (worst); {} ranges hold "
      "the measured step, {} are narrow; {} of {} pairs of fixes in the measured order\n",
      pairs, 100 * middle(errors), 100 * worst, inside, narrow, ranked, rankable);
  const bool met = middle(errors) <= 0.05 && worst <= 0.20 && 10 * inside >= 9 * pairs &&
                   2 * narrow >= pairs && ranked == rankable;
  return met ? 0 : 1;
}
