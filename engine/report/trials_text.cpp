// What fixes brought that were tried, and how right forecasts were.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"
#include "gate/statistics.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

std::string trial_label(const Trial& trial) {
  if (trial.is_base()) return "as it is";
  return trial.fixes.size() == 1 ? trial.fixes.front().name : "all that help, together";
}

const Forecast* forecast_of(const Trial& trial, const std::vector<Forecast>& forecasts) {
  if (trial.fixes.size() != 1) return nullptr;
  const auto it = std::find_if(forecasts.begin(), forecasts.end(), [&](const Forecast& f) {
    return f.fix == trial.fixes.front().name;
  });
  return it == forecasts.end() ? nullptr : &*it;
}

Ns share_of(Ns ns, double share) { return std::llround(static_cast<double>(ns) * share); }

// "47.1 ms ±0.5 %"
std::string with_error(const UnitTime& time) {
  const double share = 100.0 * static_cast<double>(time.off_ns) / static_cast<double>(time.ns);
  return fmt::format("{} ±{:.1f} %", duration(time.ns), share);
}

std::string result_of(const Trial& base, const Trial& trial) {
  if (trial.is_base()) return "";
  if (trial.nothing_to_change) return "nothing to change";
  if (!trial.failed.empty()) return "failed: it " + trial.failed;
  const UnitTime before = base.unit_time(), after = trial.unit_time();
  if (helps(base, trial)) return speedup(before.ns, after.ns);
  return helps(trial, base) ? "slower" : "no difference";
}

const char* losses_text(const Trial& trial) {
  if (trial.is_base() || trial.unit_ns.empty()) return "";
  switch (trial.compared) {
    case Losses::same: return "same";
    case Losses::differ: return "DIFFER";
    case Losses::unsteady: return "unsteady";
    case Losses::unknown: return "";
  }
  return "";
}

// What a fix's code says, with this machine's figures.
std::string code_of(const Fix& fix) {
  std::string code = fix.code;
  const std::string workers = std::to_string(workers_to_try());
  if (const std::size_t at = code.find("{workers}"); at != code.npos)
    code.replace(at, std::string_view("{workers}").size(), workers);
  return code;
}

std::string code_lines(const Trials& trials, const Paint& paint) {
  const Trial& base = trials.trials.front();
  std::string lines;
  const Trial& last = trials.trials.back();
  if (last.fixes.size() > 1 && !helps(base, last))
    return "Together they do not help: runs differ too much. Try again with more --rounds.\n";
  for (const Trial& trial : trials.trials)
    if (trial.fixes.size() == 1 && helps(base, trial))
      lines += fmt::format("  {}\n", code_of(trial.fixes.front()));
  return lines.empty() ? "None of these fixes helps.\n"
                       : paint.bold("To keep what helps, write") + '\n' + lines;
}

std::string loss_notes(const Trials& trials, const TextStyle& style) {
  std::string notes;
  bool unsteady = false;
  for (const Trial& trial : trials.trials) {
    unsteady |= trial.compared == Losses::unsteady;
    if (trial.compared == Losses::differ)
      notes += wrapped(fmt::format("{} changes the loss, {}. Look at it before you keep this.",
                                   capitalized(trial_label(trial)), trial.difference),
                       style.width, 0) +
               '\n';
  }
  if (unsteady)
    notes += wrapped(
                 "Losses are not compared, because they differ from run to run of the program "
                 "as it is; seed its random numbers to compare them.",
                 style.width, 0) +
             '\n';
  return notes;
}

}  // namespace

std::string render_trials_text(const Trials& trials, const std::vector<Forecast>& forecasts,
                               const TextStyle& style) {
  const Paint paint(style);
  const Trial& base = trials.trials.front();
  std::string out =
      paint.bold(fmt::format("{:<24} {:>17}  {:<18} {:<28} {}", "",
                             (trials.unit.starts_with("o") ? "an " : "a ") + trials.unit,
                             "measured", "predicted", "losses")) +
      '\n';
  for (const Trial& trial : trials.trials) {
    const Forecast* f = forecast_of(trial, forecasts);
    const Ns now = base.unit_time().ns;
    const std::string predicted =
        f ? fmt::format("{} ({} to {})", duration(share_of(now, f->step)),
                        duration(share_of(now, f->least)), duration(share_of(now, f->most)))
          : "";
    const bool timed = !trial.unit_ns.empty() && !trial.nothing_to_change && trial.failed.empty();
    const std::string line = fmt::format("{:<24} {:>17}  {:<18} {:<28} {}", trial_label(trial),
                                         timed ? with_error(trial.unit_time()) : "",
                                         result_of(base, trial), predicted, losses_text(trial));
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out + '\n' + loss_notes(trials, style) + code_lines(trials, paint);
}

std::string render_trials_json(const Trials& trials, const std::vector<Forecast>& forecasts) {
  const Trial& base = trials.trials.front();
  const auto one = [&](const Trial& trial) {
    const UnitTime time = trial.unit_time();
    Json json = {{"fixes", json_list(trial.fixes, [](const Fix& fix) { return fix.name; })},
                 {"unit_ns", time.ns},
                 {"off_ns", time.off_ns},
                 {"runs_ns", trial.unit_ns},
                 {"helps", !trial.is_base() && helps(base, trial)},
                 {"nothing_to_change", trial.nothing_to_change},
                 {"failed", trial.failed},
                 {"losses", trial.losses},
                 {"losses_compared", losses_text(trial)},
                 {"predicted", nullptr}};
    if (const Forecast* f = forecast_of(trial, forecasts))
      json["predicted"] = {{"rule", f->rule},
                           {"unit_ns", share_of(base.unit_time().ns, f->step)},
                           {"least_ns", share_of(base.unit_time().ns, f->least)},
                           {"most_ns", share_of(base.unit_time().ns, f->most)}};
    return json;
  };
  const Json document = {
      {"schema_version", 1}, {"unit", trials.unit}, {"trials", json_list(trials.trials, one)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string render_ledger_text(const std::vector<LedgerEntry>& entries, const TextStyle& style) {
  struct OfRule {
    std::vector<double> errors;
    std::size_t in_range = 0;
  };
  std::map<std::string, OfRule> rules;
  OfRule all;
  std::size_t not_comparable = 0;
  const auto in_range = [](const LedgerEntry& e) {
    return e.least_ns <= e.after_ns && e.after_ns <= e.most_ns;
  };
  for (const LedgerEntry& e : entries) {
    if (e.outcome == Outcome::not_comparable) {
      ++not_comparable;
      continue;
    }
    for (OfRule* of : {&rules[fmt::format("{}", fmt::join(e.rules, ", "))], &all}) {
      of->errors.push_back(std::abs(e.error()));
      of->in_range += in_range(e);
    }
  }
  const auto line = [](const std::string& name, const OfRule& of) {
    return fmt::format("{:<32} {:>9} {:>8} {:>14.1f} % {:>12.1f} %\n", name, of.errors.size(),
                       of.in_range, 100 * median_of(of.errors),
                       100 * *std::max_element(of.errors.begin(), of.errors.end()));
  };
  const Paint paint(style);
  std::string out = paint.bold(fmt::format("{:<32} {:>9} {:>8} {:>16} {:>14}", "fix", "forecasts",
                                           "in range", "off, median", "off, worst")) +
                    '\n';
  for (const auto& [name, of] : rules) out += line(name, of);
  if (!all.errors.empty()) out += line("all", all);
  if (not_comparable > 0)
    out += fmt::format("{} could not be compared\n",
                       plural(static_cast<std::int64_t>(not_comparable), "forecast"));
  return out;
}

}  // namespace gh
