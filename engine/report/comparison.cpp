// Comparisons as people and programs read them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

using Json = nlohmann::ordered_json;

std::string signed_ns(double ns) { return (ns < 0 ? "-" : "+") + duration(std::abs(ns)); }

// What is small beside the step is no news.
bool matters(double change_ns, const Comparison& c) {
  return std::abs(change_ns) >= 0.002 * std::max(c.step.before, c.step.after);
}

std::string worth_text(const FindingChange& f) {
  if (f.change == FindingState::worse || f.change == FindingState::better)
    return fmt::format("{} -> {} a step", duration(f.before_ns), duration(f.after_ns));
  const double ns = f.present ? f.after_ns : f.before_ns;
  return ns > 0 ? fmt::format("{} {} a step", f.finding.about ? "about" : "at most", duration(ns))
                : "";
}

}  // namespace

std::string suppression_text(const Suppression& s, SuppressionState state) {
  const std::string what = suppressed_text(s);
  switch (state) {
    case SuppressionState::expired: return "expired: " + what;
    case SuppressionState::unused: return "matches nothing any more: " + what;
    case SuppressionState::not_checked: return "could not be looked at: " + what;
    default: return what;
  }
}

std::string render_comparison_text(const Comparison& c, Detail detail, const TextStyle& style) {
  const Paint paint(style);
  const bool all = detail == Detail::everything;
  // A difference is for people who judge themselves.
  std::string out =
      all ? ""
          : wrapped(paint.verdict(c.verdict == Verdict::passes, c.headline), style.width, 0) + '\n';
  out += wrapped(fmt::format("before: {}", c.before), style.width, 8) + '\n' +
         wrapped(fmt::format("now:    {}", c.after), style.width, 8) + '\n';
  const auto list = [&](const char* title, const std::vector<std::string>& items) {
    if (items.empty()) return;
    out += '\n' + paint.bold(title) + '\n';
    for (const std::string& item : items) out += "  - " + wrapped(item, style.width, 4) + '\n';
  };
  if (!all) list("Why it fails", c.reasons);
  list("What cannot be compared", c.incomparable);
  if (c.step.basis.empty()) return out;  // nothing could be read

  out += '\n' + paint.bold("The step") + '\n';
  out += "  " +
         wrapped(fmt::format("{} -> {}, {}{} ({})", duration(c.step.before), duration(c.step.after),
                             change_text(c.step.effect),
                             c.step.real || c.step.effect == 0 ? "" : ", which does not count",
                             basis_text(c.step)),
                 style.width, 2) +
         '\n';

  std::size_t label_width = 20;
  for (const CauseChange& cause : c.account)
    if (matters(cause.ns.after - cause.ns.before, c))
      label_width = std::max(label_width, display_width(cause_label(cause.cause)));
  std::string lines;
  for (const CauseChange& cause : c.account) {
    const double change = cause.ns.after - cause.ns.before;
    if (!matters(change, c) || (!all && !cause.ns.real)) continue;
    lines += fmt::format("  {} {:>10} -> {:>10} {:>12}{}\n",
                         padded(cause_label(cause.cause), label_width), duration(cause.ns.before),
                         duration(cause.ns.after), signed_ns(change),
                         cause.ns.real ? "" : paint.faint("  may be noise"));
  }
  if (!lines.empty())
    out += '\n' + paint.bold("Where the step's time changed (mean)") + '\n' + lines;

  lines.clear();
  for (const FindingChange& f : c.findings) {
    if (!all && f.change == FindingState::same) continue;
    const std::string state = f.fails
                                  ? paint.severity(Severity::error, padded(name_of(f.change), 8))
                                  : padded(name_of(f.change), 8);
    const std::string worth = worth_text(f);
    lines += fmt::format("  {} {} {}\n", state, padded(name_of(f.finding.severity), 7),
                         wrapped(fmt::format("{}: {}{}{}", f.finding.rule, f.finding.title,
                                             worth.empty() ? "" : ", " + worth,
                                             f.why.empty() ? "" : " (" + f.why + ")"),
                                 style.width, 19));
    if (f.fails)
      lines += std::string(19, ' ') + wrapped(f.finding.message, style.width, 19) + '\n' +
               (f.finding.advice.empty()
                    ? ""
                    : std::string(19, ' ') +
                          wrapped("fix: " + f.finding.advice.front(), style.width, 24) + '\n') +
               std::string(19, ' ') + fmt::format("id:  {}\n", f.finding.fingerprint);
  }
  if (!lines.empty()) out += '\n' + paint.bold("Findings") + '\n' + lines;

  lines.clear();
  for (const BudgetResult& b : c.budgets)
    if (!b.budget.where.empty())
      lines +=
          fmt::format("  {} {}\n",
                      b.fails ? paint.severity(Severity::error, padded(name_of(b.state), 8))
                              : padded(name_of(b.state), 8),
                      wrapped(fmt::format("{} ({})", b.message, b.budget.where), style.width, 11));
  if (!lines.empty()) out += '\n' + paint.bold("Budgets") + '\n' + lines;

  if (all) {
    lines.clear();
    std::size_t shown_lines = 0;
    for (const KernelChange& k : c.kernels) {
      if (!matters(k.ns_after - k.ns_before, c) || shown_lines == 20) break;
      ++shown_lines;
      lines += fmt::format("  {:>12}  {} -> {} in {:.0f} -> {:.0f} of\n                {}\n",
                           signed_ns(k.ns_after - k.ns_before), duration(k.ns_before),
                           duration(k.ns_after), k.count_before, k.count_after,
                           shortened(kernel_label(k.name), style.width - 16));
    }
    if (!lines.empty())
      out += '\n' + paint.bold("Kernels, by what they changed of a step") + '\n' + lines;
    lines.clear();
    for (const FactChange& f : c.facts)
      lines += fmt::format("  {} {:>12} -> {:>12}\n", padded(f.name, 34),
                           shown(f.value.before, f.unit), shown(f.value.after, f.unit));
    if (!lines.empty()) out += '\n' + paint.bold("Other facts") + '\n' + lines;
  }
  list("Notes", c.notes);
  std::vector<std::string> suppressions;
  for (const auto& [s, state] : c.suppressions)
    if (state != SuppressionState::not_checked) suppressions.push_back(suppression_text(s, state));
  list("Suppressed", suppressions);
  return out;
}

std::string render_comparison_json(const Comparison& c) {
  const auto difference = [](const Difference& d) {
    return Json{{"before", d.before}, {"after", d.after},
                {"effect", d.effect}, {"p", d.p ? Json(*d.p) : Json(nullptr)},
                {"real", d.real},     {"basis", d.basis}};
  };
  const auto limit = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  Json account = Json::array(), findings = Json::array(), kernels = Json::array(),
       facts = Json::array(), budgets = Json::array(), suppressions = Json::array();
  for (const CauseChange& x : c.account) {
    account.push_back({{"cause", x.cause}});
    account.back().update(difference(x.ns));
  }
  for (const FindingChange& x : c.findings)
    findings.push_back({{"change", name_of(x.change)},
                        {"fails", x.fails},
                        {"rule", x.finding.rule},
                        {"category", x.finding.category},
                        {"severity", name_of(x.finding.severity)},
                        {"title", x.finding.title},
                        {"message", x.finding.message},
                        {"subject", x.finding.subject},
                        {"fingerprint", x.finding.fingerprint},
                        {"before_ns", x.before_ns},
                        {"after_ns", x.after_ns},
                        {"advice", x.finding.advice},
                        {"why", x.why.empty() ? Json(nullptr) : Json(x.why)}});
  for (const KernelChange& x : c.kernels)
    kernels.push_back({{"name", x.name},
                       {"class", x.kernel_class},
                       {"count_before", x.count_before},
                       {"count_after", x.count_after},
                       {"ns_before", x.ns_before},
                       {"ns_after", x.ns_after}});
  for (const FactChange& x : c.facts) {
    facts.push_back({{"name", x.name}, {"unit", name_of(x.unit)}});
    facts.back().update(difference(x.value));
  }
  for (const BudgetResult& x : c.budgets)
    budgets.push_back(
        {{"fact", x.budget.fact},
         {"state", name_of(x.state)},
         {"fails", x.fails},
         {"severity", name_of(x.budget.severity)},
         {"message", x.message},
         {"max", limit(x.budget.max)},
         {"min", limit(x.budget.min)},
         {"max_increase", limit(x.budget.max_increase)},
         {"max_decrease", limit(x.budget.max_decrease)},
         {"where", x.budget.where.empty() ? Json(nullptr) : Json(x.budget.where)},
         {"value", x.state == BudgetResult::State::unknown ? Json(nullptr) : difference(x.value)}});
  for (const auto& [s, state] : c.suppressions)
    suppressions.push_back({{"rule", s.rule},
                            {"subject", s.subject},
                            {"reason", s.reason},
                            {"until", s.until.empty() ? Json(nullptr) : Json(s.until)},
                            {"where", s.where},
                            {"state", name_of(state)}});
  return Json{{"schema_version", 1},
              {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION},
              {"verdict", name_of(c.verdict)},
              {"headline", c.headline},
              {"before", c.before},
              {"after", c.after},
              {"incomparable", c.incomparable},
              {"reasons", c.reasons},
              {"notes", c.notes},
              {"step", difference(c.step)},
              {"account", account},
              {"findings", findings},
              {"budgets", budgets},
              {"kernels", kernels},
              {"facts", facts},
              {"suppressions", suppressions}}
             .dump(2) +
         '\n';
}

std::string render_comparison_markdown(const Comparison& c) {
  const char* mark = c.verdict == Verdict::passes      ? "✅"
                     : c.verdict == Verdict::regressed ? "❌"
                                                       : "❔";
  std::string out = fmt::format("## {} gh-advise\n\n**{}**\n\n", mark, markdown_text(c.headline));
  const auto list = [&](const char* title, const std::vector<std::string>& items) {
    if (items.empty()) return;
    out += fmt::format("{}\n\n", title);
    for (const std::string& item : items) out += fmt::format("* {}\n", markdown_text(item));
    out += '\n';
  };
  list("Why it fails:", c.reasons);
  list("What cannot be compared:", c.incomparable);
  std::string rows;
  for (const FindingChange& f : c.findings) {
    if (f.change == FindingState::same) continue;
    rows += fmt::format("| {} | {} | `{}` | {} | {} |\n",
                        f.fails ? fmt::format("**{}**", name_of(f.change)) : name_of(f.change),
                        name_of(f.finding.severity), f.finding.rule,
                        markdown_text(f.finding.title + (f.why.empty() ? "" : " (" + f.why + ")")),
                        markdown_text(worth_text(f)));
  }
  if (!rows.empty())
    out += "### What changed\n\n| change | severity | rule | | worth |\n|---|---|---|---|---|\n" +
           rows + '\n';
  rows.clear();
  for (const FindingChange& f : c.findings)
    if (f.fails)
      rows += fmt::format(
          "* **{}**: {}{}\n", f.finding.rule, markdown_text(f.finding.message),
          f.finding.advice.empty() ? "" : " Fix: " + markdown_text(f.finding.advice.front()));
  if (!rows.empty()) out += rows + '\n';
  rows.clear();
  for (const BudgetResult& b : c.budgets)
    if (!b.budget.where.empty())
      rows += fmt::format("| {} | {} |\n",
                          b.fails ? fmt::format("**{}**", name_of(b.state)) : name_of(b.state),
                          markdown_text(b.message));
  if (!rows.empty()) out += "### Budgets\n\n| | |\n|---|---|\n" + rows + '\n';
  const auto row = [](const std::string& label, const Difference& d) {
    return fmt::format("| {} | {} | {} | {}{} |\n", label, duration(d.before), duration(d.after),
                       signed_ns(d.after - d.before), d.real ? "" : " (noise)");
  };
  if (c.step.basis.empty()) return out;  // nothing could be read
  rows = row("**the step** (median)", c.step);
  // In order of what it takes now, so that the table reads as an account.
  std::vector<const CauseChange*> causes;
  for (const CauseChange& x : c.account)
    if (matters(x.ns.before, c) || matters(x.ns.after, c)) causes.push_back(&x);
  std::stable_sort(causes.begin(), causes.end(), [](const CauseChange* x, const CauseChange* y) {
    return std::max(x->ns.before, x->ns.after) > std::max(y->ns.before, y->ns.after);
  });
  for (const CauseChange* x : causes) rows += row(markdown_text(cause_label(x->cause)), x->ns);
  out += fmt::format("### Where a step goes\n\n| | before | now | |\n|---|---:|---:|---:|\n{}\n",
                     rows);
  list("Notes:", c.notes);
  std::vector<std::string> suppressions;
  for (const auto& [s, state] : c.suppressions)
    if (state != SuppressionState::not_checked) suppressions.push_back(suppression_text(s, state));
  list("Suppressed:", suppressions);
  out += fmt::format("<sub>before: {}; now: {}; {}; gh-advise {}</sub>\n", markdown_text(c.before),
                     markdown_text(c.after), markdown_text(basis_text(c.step)), GH_ADVISE_VERSION);
  return out;
}

}  // namespace gh
