// Findings as CI systems read them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "report/report.hpp"

namespace gh {
namespace {

using Json = nlohmann::ordered_json;

// The path from the folder that the program runs in, which in CI is the repository's root; "" for
// one outside it.
std::string inside_repository(const std::string& path) {
  std::error_code ec;
  const std::filesystem::path relative = std::filesystem::path(path).is_absolute()
                                             ? std::filesystem::proximate(path, ec)
                                             : std::filesystem::path(path).lexically_normal();
  return ec || relative.empty() || relative.is_absolute() || *relative.begin() == ".."
             ? ""
             : relative.generic_string();
}

// Where a finding is shown: the first source line that its evidence names, else the report by its
// path in the repository or by its name.
SourceLine place_of(const CiFinding& f) {
  for (const Evidence& e : f.finding.evidence)
    if (e.source.line > 0)
      if (const std::string file = inside_repository(e.source.file); !file.empty())
        return {file, e.source.line};
  const std::string report = inside_repository(f.report);
  return {report.empty() ? std::filesystem::path(f.report).filename().string() : report, 1};
}

std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// "data-loader-starvation" -> "DataLoaderStarvation"
std::string pascal_case(const std::string& id) {
  std::string name;
  bool upper = true;
  for (const char c : id) {
    if (c != '-')
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '-';
  }
  return name;
}

std::string sentence(const std::string& text) {
  return text.empty() || text.ends_with('.') ? text : text + '.';
}

std::string worth_text(const Finding& f) {
  return f.recoverable_ns > 0
             ? fmt::format("worth {} {} a step ({})", f.about ? "about" : "at most",
                           duration(f.recoverable_ns), percent(f.recoverable_fraction))
             : "";
}

std::string change_prefix(const CiFinding& f) {
  return f.change ? fmt::format("[{}] ", name_of(*f.change)) : "";
}

bool is_present(const CiFinding& f) { return !f.change || *f.change != FindingState::gone; }

// Everything that a reader needs in one text.
std::string full_text(const CiFinding& f) {
  if (!is_present(f)) return fmt::format("{}{}.", change_prefix(f), f.finding.title);
  const std::string worth = worth_text(f.finding);
  std::string text =
      fmt::format("{}{}{} {}", change_prefix(f), f.finding.title,
                  worth.empty() ? "." : fmt::format(", {}.", worth), sentence(f.finding.message));
  if (!f.finding.advice.empty()) text += " Fix: " + sentence(f.finding.advice.front());
  return text;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

}  // namespace

void CiResult::add(const Analysis& analysis, const Report& report,
                   std::optional<Severity> fail_on) {
  for (const Finding& f : report.findings)
    findings.push_back({f, analysis.trace.path, std::nullopt, fail_on && f.severity >= *fail_on});
  CiReport of{analysis.trace.path,
              analysis.has_steps() ? fmt::format("{} steps of {} (median)", analysis.step_count(),
                                                 duration(median(analysis.step_lengths())))
                                   : "no training steps were found",
              {}};
  for (const std::string& cause : analysis.account.causes)
    if (const double fraction = analysis.total_ns() > 0
                                    ? static_cast<double>(analysis.account.total_ns(cause)) /
                                          static_cast<double>(analysis.total_ns())
                                    : 0;
        fraction >= 0.005)
      of.account.emplace_back(cause, fraction);
  std::stable_sort(of.account.begin(), of.account.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  reports.push_back(std::move(of));
  for (const Rule& rule : rules) outcomes[rule.id];
  const auto worsen = [&](const std::string& rule, RuleOutcome::State state,
                          const std::string& reason) {
    RuleOutcome& outcome = outcomes[rule];
    if (state > outcome.state) {
      outcome.state = state;
      outcome.reason = reason;
    }
  };
  for (const NotChecked& n : report.not_checked)
    worsen(n.rule,
           n.not_recorded ? RuleOutcome::State::not_recorded : RuleOutcome::State::not_checked,
           n.reason);
  for (const Failed& f : report.failed) worsen(f.rule, RuleOutcome::State::failed, f.error);
}

CiResult ci_result(const Comparison& c, const std::vector<Capture>& after,
                   const std::vector<Rule>& rules) {
  CiResult r;
  r.verdict = c.verdict;
  r.headline = c.headline;
  r.rules = rules;
  r.errors = c.incomparable;
  const std::string report = after.empty() ? c.after : after.front().path;
  // Where nothing can be told, only that is shown.
  if (c.verdict != Verdict::cannot_tell) {
    for (const BudgetResult& b : c.budgets) {
      if (b.state == BudgetResult::State::broken)
        r.findings.push_back({finding_of(b), report, FindingState::fresh, b.fails});
      else if (b.state != BudgetResult::State::unknown)
        r.kept_budgets.push_back(b.budget.fact);
    }
    for (const FindingChange& f : c.findings)
      if (f.present || f.change == FindingState::gone)
        r.findings.push_back({f.finding, report, f.change, f.fails});
  }
  for (const Capture& capture : after)
    for (const auto& [id, outcome] : capture.rules) {
      RuleOutcome& worst = r.outcomes[id];
      if (outcome.state >= worst.state) worst = outcome;
    }
  return r;
}

std::string render_sarif(const CiResult& result) {
  Json rules = Json::array(), results = Json::array(), notifications = Json::array();
  std::map<std::string, std::size_t> index;
  const auto add_rule = [&](const std::string& id, const std::string& category,
                            const std::string& title, const std::string& full,
                            const std::string& help, const std::string& markdown,
                            const char* level) {
    index[id] = rules.size();
    rules.push_back({{"id", id},
                     {"name", pascal_case(category + '-' + id)},
                     {"shortDescription", {{"text", sentence(title)}}},
                     {"fullDescription", {{"text", sentence(full)}}},
                     {"help", {{"text", help}, {"markdown", markdown}}},
                     {"defaultConfiguration", {{"level", level}}},
                     {"properties",
                      {{"tags", {"performance", "gpu", category}},
                       {"precision", "high"},
                       {"problem.severity", "warning"}}}});
  };
  for (const Rule& r : result.rules)
    add_rule(
        r.id, r.category, r.title, r.what,
        fmt::format("{}\nWhy it matters: {}\nHow to fix it: {}\nWhen it is wrong: {}", r.what,
                    r.why, r.fix, r.wrong),
        fmt::format(
            "{}\n\n**Why it matters.** {}\n\n**How to fix it.** {}\n\n**When it is wrong.** {}",
            r.what, r.why, r.fix, r.wrong),
        "warning");
  // Findings of rules that are not asked any more, and broken budgets.
  for (const CiFinding& f : result.findings)
    if (!index.contains(f.finding.rule)) {
      const std::string what = f.finding.rule == "budget"
                                   ? "A fact is beyond the limit that the configuration sets to it."
                                   : f.finding.title;
      add_rule(f.finding.rule, f.finding.category,
               f.finding.rule == "budget" ? "A budget is broken" : f.finding.title, what, what,
               what, "error");
    }
  for (const CiFinding& f : result.findings) {
    const SourceLine place = place_of(f);
    const double worth = f.finding.recoverable_fraction * 100;
    // What is worth no time of its own ranks by severity.
    const double rank = f.finding.voids                           ? 100
                        : worth > 0                               ? worth
                        : f.finding.severity == Severity::error   ? 75
                        : f.finding.severity == Severity::warning ? 50
                                                                  : 10;
    const bool present = is_present(f);
    Json item{{"ruleId", f.finding.rule},
              {"ruleIndex", index.at(f.finding.rule)},
              {"kind", present ? "fail" : "pass"},
              {"level", present ? name_of(f.finding.severity) : "none"},
              {"message", {{"text", full_text(f)}}},
              {"locations",
               {{{"physicalLocation",
                  {{"artifactLocation", {{"uri", uri_of(place.file)}}},
                   {"region", {{"startLine", place.line}}}}}}}},
              {"partialFingerprints",
               {{"ghAdvise/v1", f.finding.fingerprint},
                {"primaryLocationLineHash", f.finding.fingerprint + ":1"}}},
              {"rank", std::min(rank, 100.0)}};
    if (f.change) {
      const FindingState c = *f.change;
      item["baselineState"] = c == FindingState::fresh                                ? "new"
                              : c == FindingState::gone                               ? "absent"
                              : c == FindingState::worse || c == FindingState::better ? "updated"
                                                                                      : "unchanged";
      if (c == FindingState::accepted)
        item["suppressions"] = {{{"kind", "external"}, {"status", "accepted"}}};
    }
    item["properties"] = {{"subject", f.finding.subject},
                          {"recoverable_ns", f.finding.recoverable_ns},
                          {"recoverable_fraction", f.finding.recoverable_fraction},
                          {"fails", f.fails}};
    results.push_back(std::move(item));
  }
  for (const std::string& e : result.errors)
    notifications.push_back({{"level", "error"}, {"message", {{"text", sentence(e)}}}});
  const int status = result.verdict == Verdict::passes      ? 0
                     : result.verdict == Verdict::regressed ? 1
                                                            : 2;
  const Json run{{"tool",
                  {{"driver",
                    {{"name", "gh-advise"},
                     {"fullName", "gh-advise, an advisor for GPU training runs"},
                     {"version", GH_ADVISE_VERSION},
                     {"semanticVersion", GH_ADVISE_VERSION},
                     {"rules", rules}}}}},
                 {"automationDetails", {{"id", "gh-advise/"}}},
                 {"invocations",
                  {{{"executionSuccessful", status != 2},
                    {"exitCode", status},
                    {"toolExecutionNotifications", notifications}}}},
                 {"columnKind", "utf16CodeUnits"},
                 {"results", results},
                 {"properties", {{"headline", result.headline}}}};
  return Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
              {"version", "2.1.0"},
              {"runs", {run}}}
             .dump(2) +
         '\n';
}

std::string render_github(const CiResult& result) {
  // The characters that would end a command, or a property of one.
  const auto escaped = [](const std::string& text, bool property) {
    std::string out;
    for (const char c : text)
      if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
        out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
      else
        out += c;
    return out;
  };
  const auto command = [&](const char* level, const std::string& title, const std::string& text,
                           const SourceLine& place) {
    const std::string line = place.line > 1 ? fmt::format("line={},", place.line) : "",
                      where = place.file.empty()
                                  ? ""
                                  : fmt::format("file={},{}", escaped(place.file, true), line);
    return fmt::format("::{} {}title={}::{}\n", level, where, escaped(title, true),
                       escaped(text, false));
  };
  std::string out;
  if (!result.headline.empty())
    out += command(result.verdict == Verdict::passes ? "notice" : "error", "gh-advise",
                   result.headline, {});
  for (const std::string& e : result.errors)
    out += command("error", "gh-advise: cannot be judged", e, {});
  for (const CiFinding& f : result.findings) {
    if (f.change == FindingState::same || f.change == FindingState::accepted) continue;
    const bool good = f.change == FindingState::gone || f.change == FindingState::better;
    const char* by_severity = f.finding.severity == Severity::error     ? "error"
                              : f.finding.severity == Severity::warning ? "warning"
                                                                        : "notice";
    const char* level = good                                               ? "notice"
                        : f.fails                                          ? "error"
                        : f.change && f.finding.severity != Severity::note ? "warning"
                                                                           : by_severity;
    out += command(level, fmt::format("gh-advise: {}", f.finding.rule), full_text(f), place_of(f));
  }
  return out;
}

std::string render_junit(const CiResult& result) {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string cases;
  const auto test = [&](const std::string& category, const std::string& name,
                        const std::string& body) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"gh-advise.{}\" name=\"{}\"", xml(category),
                         xml(name)) +
             (body.empty() ? "/>\n" : ">\n" + body + "    </testcase>\n");
  };
  const auto bodies = [&](const std::string& rule, const std::string& subject) {
    std::string failure, told;
    for (const CiFinding& f : result.findings) {
      if (f.finding.rule != rule || (!subject.empty() && f.finding.subject != subject)) continue;
      (f.fails ? failure : told) +=
          (f.fails ? (failure.empty() ? "" : "\n") : (told.empty() ? "" : "\n")) + full_text(f);
    }
    std::string body;
    if (!failure.empty()) {
      ++failures;
      body += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", xml(rule),
                          xml(failure.substr(0, failure.find('\n'))), xml(failure));
    }
    if (!told.empty()) body += fmt::format("      <system-out>{}</system-out>\n", xml(told));
    return body;
  };
  for (const Rule& r : result.rules) {
    std::string body = bodies(r.id, "");
    const auto outcome = result.outcomes.find(r.id);
    if (outcome == result.outcomes.end()) {
      ++skipped;
      body = "      <skipped message=\"no report could be read\"/>\n";
    } else if (body.empty()) {
      if (outcome->second.state == RuleOutcome::State::failed) {
        ++errors;
        body = fmt::format("      <error message=\"{}\"/>\n", xml(outcome->second.reason));
      }
      if (outcome->second.state == RuleOutcome::State::not_checked ||
          outcome->second.state == RuleOutcome::State::not_recorded) {
        ++skipped;
        body = fmt::format("      <skipped message=\"{}\"/>\n", xml(outcome->second.reason));
      }
    }
    test(r.category, r.id, body);
  }
  for (const std::string& fact : result.kept_budgets) test("budget", fact, "");
  for (const CiFinding& f : result.findings)
    if (f.finding.rule == "budget")
      test("budget", f.finding.subject, bodies("budget", f.finding.subject));
  for (const std::string& e : result.errors) {
    ++errors;
    test("report", "can be judged", fmt::format("      <error message=\"{}\"/>\n", xml(e)));
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures,
                  errors, skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gh-advise\" {0}>\n  "
      "<testsuite name=\"gh-advise\" {0}>\n{1}{2}  </testsuite>\n</testsuites>\n",
      counts,
      result.headline.empty()
          ? ""
          : fmt::format("    <properties><property name=\"verdict\" value=\"{}\"/></properties>\n",
                        xml(result.headline)),
      cases);
}

std::string render_check_markdown(const CiResult& result) {
  std::string out = "## gh-advise\n\n";
  for (const std::string& e : result.errors) out += fmt::format("* ❔ {}\n", markdown_text(e));
  if (!result.errors.empty()) out += '\n';
  for (const CiReport& r : result.reports) {
    out += fmt::format("### {}\n\n{}\n\n", markdown_text(r.path), markdown_text(r.steps));
    std::string rows;
    for (const CiFinding& f : result.findings)
      if (f.report == r.path)
        rows +=
            fmt::format("| {} | `{}` | {} | {} |\n",
                        f.fails ? fmt::format("**{}**", name_of(f.finding.severity))
                                : name_of(f.finding.severity),
                        f.finding.rule, markdown_text(f.finding.message), worth_text(f.finding));
    out += rows.empty() ? "Nothing was found by the rules that could look.\n\n"
                        : "| severity | rule | | worth |\n|---|---|---|---|\n" + rows + '\n';
    rows.clear();
    for (const auto& [cause, fraction] : r.account)
      rows += fmt::format("| {} | {} |\n", markdown_text(cause_label(cause)), percent(fraction));
    if (!rows.empty()) out += "| where the time goes | |\n|---|---:|\n" + rows + '\n';
  }
  return out;
}

}  // namespace gh
