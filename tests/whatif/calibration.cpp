// Compares predictions to measurements: for every pair of fixtures/measured.toml, the step that the
// replay predicts, leaving out constants that come from the pair itself. Exits with 1 if a goal is
// missed, or if schemas/seen.toml does not match the recordings. Run
// build/release/tests/calibration; with --write it rewrites schemas/seen.toml.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "analysis/ranks.hpp"
#include "read/job_files.hpp"
#include "read/nsys.hpp"
#include "read/read.hpp"
#include "rules/rules.hpp"

using namespace gh;

namespace {

struct Pair {
  std::string report, rule, left_out;
  std::string outside;  // why it is shown but not judged; "" if it is judged
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
           t["outside"].value_or(std::string()),
           t["before_ms"].value_or(0.0),
           t["after_ms"].value_or(0.0),
           {}};
    // The measured step may contain several of the recording's repetitions.
    const double units = t["units"].value_or(1.0);
    p.before_ms /= units;
    p.after_ms /= units;
    if (const toml::table* options = t["options"].as_table())
      for (const auto& [key, value] : *options)
        p.settings.options[std::string(key.str())] = value.value_or(0.0);
    pairs.push_back(std::move(p));
  }
  return pairs;
}

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What the recordings show about a rule.
struct Shown {
  std::set<std::string> recordings;
  std::vector<double> errors;  // of the predicted step, for pairs that are judged
};
using ShownOfRules = std::map<std::string, Shown>;

// On which recordings each rule finds something. The files of one job's ranks are one recording.
void add_recordings(const std::vector<Rule>& rules, ShownOfRules& shown) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(GH_FIXTURES))
    if (entry.path().extension() == ".sqlite" || entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::vector<std::string>& job : find_jobs(files)) {
    std::vector<Trace> ranks;
    for (const std::string& file : job) ranks.push_back(read_report(file));
    const Classes classes;
    const Analysis analysis(join_ranks(std::move(ranks), classes), Classes(), {});
    const Facts facts(analysis);
    const std::string file = std::filesystem::path(job.front()).filename();
    for (const Finding& f : evaluate(rules, analysis, facts, {}).findings)
      if (!f.masked) shown[f.rule].recordings.insert(file.substr(0, file.find('.')));
  }
}

std::string seen_toml(const ShownOfRules& shown) {
  std::string text =
      "# Which rules were seen to fire on the recordings of fixtures/, and over how many pairs of "
      "fixtures/measured.toml the predicted step is how\n# far off, of the measured one. Written "
      "by "
      "build/release/tests/calibration --write: do not edit.\n";
  for (const auto& [rule, s] : shown) {
    text += fmt::format("\n[rule.{}]\nrecordings = [", rule);
    for (const std::string& r : s.recordings)
      text += fmt::format("{}\"{}\"", r == *s.recordings.begin() ? "" : ", ", r);
    text += fmt::format("]\npairs = {}\n", s.errors.size());
    if (!s.errors.empty())
      text += fmt::format("median_error = {:.3f}\nworst_error = {:.3f}\n", middle(s.errors),
                          *std::max_element(s.errors.begin(), s.errors.end()));
  }
  return text;
}

// Whether schemas/seen.toml matches the recordings; writes it first if asked to.
bool seen_is_fresh(const ShownOfRules& shown, bool write) {
  const char* path = GH_SOURCE_DIR "/schemas/seen.toml";
  const std::string text = seen_toml(shown);
  if (write) std::ofstream(path) << text;
  std::stringstream held;
  held << std::ifstream(path).rdbuf();
  const bool is_fresh = held.str() == text;
  if (!is_fresh)
    fmt::print("schemas/seen.toml is stale: build/release/tests/calibration --write\n");
  return is_fresh;
}

bool is_one_of(const std::string& rule, const std::string& alternatives);

// The finding whose fix a pair measured. Nothing if the report does not predict it.
const Finding* found(const Report& report, const Pair& p) {
  const auto f = std::find_if(
      report.findings.begin(), report.findings.end(),
      [&](const Finding& x) { return is_one_of(x.rule, p.rule) && x.predicted && !x.masked; });
  return f == report.findings.end() || !report.plan ? nullptr : &*f;
}

// What forecasts are worth: how wide their ranges are, and how many hold what was measured.
struct Forecasts {
  std::vector<double> widths, errors;  // of the measured step
  std::size_t hold = 0;

  void add(const Prediction& p, double after_ms) {
    const auto ms = [](Ns ns) { return static_cast<double>(ns) / 1e6; };
    widths.push_back((ms(p.most_ns) - ms(p.least_ns)) / after_ms);
    errors.push_back(std::abs(ms(p.step_ns) / after_ms - 1));
    hold += ms(p.least_ns) <= after_ms && after_ms <= ms(p.most_ns);
  }
  std::string line(const char* name) const {
    return fmt::format("{:<34} {:>5} {:>12.1f} % {:>11.1f} % {:>9}\n", name, widths.size(),
                       100 * middle(widths), 100 * middle(errors), hold);
  }
};

bool is_one_of(const std::string& rule, const std::string& alternatives) {
  return ("|" + alternatives + "|").find("|" + rule + "|") != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) {
  const bool write = argc > 1 && argv[1] == std::string_view("--write");
  const std::vector<Rule> rules = own_rules();
  std::vector<double> errors;
  ShownOfRules shown;
  std::map<std::string, std::vector<std::pair<double, double>>>
      by_report;             // measured and predicted
  Forecasts guessed, known;  // without and with the measured step
  std::size_t pairs = 0, inside = 0, narrow = 0;
  fmt::print("{:<20} {:<24} {:>8} {:>8} {:>8} {:>9} {:>7} {:>19}  {}\n", "report", "fix", "before",
             "now*", "after", "predicted", "error", "range", "left out");
  for (const Pair& p : read_pairs()) {
    const std::filesystem::path path = std::filesystem::path(GH_FIXTURES) / (p.report + ".sqlite");
    const Analysis analysis(read_nsys(path), Classes(), {});
    const Facts facts(analysis);
    const std::string first = p.rule.substr(0, p.rule.find('|'));
    Report report = evaluate(rules, analysis, facts, {{first, p.settings}});
    // The pair measured the fix by itself, also where the report tells its worth after others.
    if (std::any_of(report.findings.begin(), report.findings.end(),
                    [&](const Finding& x) { return x.masked && is_one_of(x.rule, p.rule); })) {
      std::vector<Rule> alone = rules;
      std::erase_if(alone, [&](const Rule& rule) { return !is_one_of(rule.id, p.rule); });
      report = evaluate(alone, analysis, facts, {{first, p.settings}});
    }
    pairs += p.outside.empty();
    const Finding* f = found(report, p);
    if (f == nullptr) {
      fmt::print("{:<20} {:<24} unpredicted\n", p.report, p.rule);
      if (p.outside.empty()) errors.push_back(1);
      continue;
    }
    const auto ms = [](Ns ns) { return static_cast<double>(ns) / 1e6; };
    const double step = ms(f->predicted->step_ns), least = ms(f->predicted->least_ns),
                 most = ms(f->predicted->most_ns), error = step / p.after_ms - 1;
    const bool in = least <= p.after_ms && p.after_ms <= most,
               slim = most - least <= p.before_ms / 5;
    if (p.outside.empty()) {
      errors.push_back(std::abs(error));
      shown[f->rule].errors.push_back(std::abs(error));
      inside += in;
      narrow += slim;
      by_report[p.report].emplace_back(p.after_ms, step);
      Trace trace = read_nsys(path);
      trace.measured_step = {std::llround(p.before_ms * 1e6), "measured", "step", 0};
      const Analysis measured(std::move(trace), Classes(), {});
      const Facts its_facts(measured);
      const Report with = evaluate(rules, measured, its_facts, {{first, p.settings}});
      const Finding* same = found(with, p);
      if (same && measured.measured_step_ns() > 0) {
        guessed.add(*f->predicted, p.after_ms);
        known.add(*same->predicted, p.after_ms);
      } else {
        fmt::print("{:<20} the measured step is not used: {}\n", "",
                   same ? measured.why_measured_step_is_unused() : "nothing is predicted with it");
      }
    }
    fmt::print(
        "{:<20} {:<24} {:>8.1f} {:>8.1f} {:>8.1f} {:>9.1f} {:>+6.1f}% [{:>7.1f}, {:>7.1f}]{}{}  "
        "{}\n",
        p.report, f->rule, p.before_ms, ms(report.plan->now.step_ns), p.after_ms, step, 100 * error,
        least, most, in ? " " : "!", slim ? " " : "w",
        p.outside.empty() ? p.left_out : "not judged: " + p.outside);
  }
  std::size_t ranked = 0,
              rankable = 0;  // pairs of fixes of one report in the measured order
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
      "{} pairs that are judged: error of the predicted step {:.1f} % (median), {:.1f} % (worst); "
      "{} ranges hold "
      "the measured step, {} are narrow; {} of {} pairs of fixes in the measured order\n",
      pairs, 100 * middle(errors), 100 * worst, inside, narrow, ranked, rankable);
  fmt::print("\n{:<34} {:>5} {:>14} {:>13} {:>9}\n", "the step before", "pairs", "range, median",
             "error, median", "holding");
  fmt::print("{}{}", guessed.line("replayed from the recording"), known.line("measured"));
  const bool met = middle(errors) <= 0.05 && worst <= 0.25 && 10 * inside >= 9 * pairs &&
                   2 * narrow >= pairs && ranked == rankable &&
                   middle(known.widths) < middle(guessed.widths) &&
                   10 * known.hold >= 9 * known.widths.size();
  add_recordings(rules, shown);
  const bool fresh = seen_is_fresh(shown, write);
  return met && fresh ? 0 : 1;
}
