// SARIF 2.1.0, for code scanning.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/json.hpp"
#include "report/ci_phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

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

// In SARIF "[text](address)" is a link, also in a plain message.
std::string without_links(std::string text) {
  for (std::size_t at = text.find("]("); at != text.npos; at = text.find("](", at))
    text.insert(at + 1, " ");
  return text;
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

// What the log says of a rule.
struct RuleText {
  std::string id, category, title, full, help, markdown;
  const char* level;
};

Json rule_json(const RuleText& r) {
  return {{"id", r.id},
          {"name", pascal_case(r.category + '-' + r.id)},
          {"shortDescription", {{"text", without_links(sentence(r.title))}}},
          {"fullDescription", {{"text", without_links(sentence(r.full))}}},
          {"help", {{"text", without_links(r.help)}, {"markdown", r.markdown}}},
          {"defaultConfiguration", {{"level", r.level}}},
          {"properties",
           {{"tags", {"performance", "gpu", r.category}},
            {"precision", "high"},
            {"problem.severity", "warning"}}}};
}

RuleText text_of(const Rule& r) {
  const std::string what = plain_sentence(r.what), why = plain_sentence(r.why),
                    fix = plain_sentence(r.fix), wrong = plain_sentence(r.wrong);
  return {r.id,
          r.category,
          r.title,
          what,
          fmt::format("{}\nWhy it matters: {}\nHow to fix it: {}\nWhen it is wrong: {}", what, why,
                      fix, wrong),
          fmt::format(
              "{}\n\n**Why it matters.** {}\n\n**How to fix it.** {}\n\n**When it is wrong.** {}",
              markdown_text(what), markdown_text(why), markdown_text(fix), markdown_text(wrong)),
          "warning"};
}

// Findings of rules that no longer run, and broken budgets, get a rule from their own text.
RuleText text_of(const Finding& f) {
  const bool budget = f.rule == "budget";
  const std::string what =
      budget ? "A fact is beyond the limit that the configuration sets to it." : f.title;
  return {f.rule, f.category, budget ? "A budget is broken" : f.title,
          what,   what,       markdown_text(what),
          "error"};
}

// The saving of a finding in percent of the step; one without a saving ranks by severity.
double rank_of(const Finding& f) {
  const double worth = f.recoverable_fraction * 100;
  if (f.voids) return 100;
  if (worth > 0) return std::min(worth, 100.0);
  switch (f.severity) {
    case Severity::error: return 75;
    case Severity::warning: return 50;
    default: return 10;
  }
}

const char* baseline_state(FindingState state) {
  switch (state) {
    case FindingState::fresh: return "new";
    case FindingState::gone: return "absent";
    case FindingState::worse:
    case FindingState::better: return "updated";
    default: return "unchanged";
  }
}

Json result_json(const CiFinding& f, std::size_t rule_index) {
  const SourceLine place = place_of(f);
  const bool present = is_present(f);
  Json item{{"ruleId", f.finding.rule},
            {"ruleIndex", rule_index},
            {"kind", present ? "fail" : "pass"},
            {"level", present ? name_of(f.finding.severity) : "none"},
            {"message", {{"text", without_links(full_text(f))}}},
            {"locations",
             {{{"physicalLocation",
                {{"artifactLocation", {{"uri", uri_of(place.file)}}},
                 {"region", {{"startLine", place.line}}}}}}}},
            {"partialFingerprints",
             {{"ghAdvise/v1", f.finding.fingerprint},
              {"primaryLocationLineHash", f.finding.fingerprint + ":1"}}},
            {"rank", rank_of(f.finding)}};
  if (f.change) {
    item["baselineState"] = baseline_state(*f.change);
    if (*f.change == FindingState::accepted)
      item["suppressions"] = {{{"kind", "external"}, {"status", "accepted"}}};
  }
  item["properties"] = {{"subject", f.finding.subject},
                        {"recoverable_ns", f.finding.recoverable_ns},
                        {"recoverable_fraction", f.finding.recoverable_fraction},
                        {"fails", f.fails}};
  return item;
}

}  // namespace

std::string render_sarif(const CiResult& result) {
  Json rules = Json::array();
  std::map<std::string, std::size_t> index;  // of a rule in them, by id
  const auto add_rule = [&](const RuleText& rule) {
    index[rule.id] = rules.size();
    rules.push_back(rule_json(rule));
  };
  for (const Rule& r : result.rules) add_rule(text_of(r));
  for (const CiFinding& f : result.findings)
    if (!index.contains(f.finding.rule)) add_rule(text_of(f.finding));

  Json results = Json::array(), notifications = Json::array();
  for (const CiFinding& f : result.findings)
    results.push_back(result_json(f, index.at(f.finding.rule)));
  for (const std::string& e : result.errors)
    notifications.push_back(
        {{"level", "error"}, {"message", {{"text", without_links(sentence(e))}}}});

  const int status = exit_status(result.verdict);
  const Json run{{"tool",
                  {{"driver",
                    {{"name", "gh-advise"},
                     {"fullName", "gh-advise, an advisor for GPU programs"},
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

}  // namespace gh
