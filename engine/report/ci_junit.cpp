// JUnit XML: a case for each rule, each budget and each report that cannot be judged.
#include <fmt/format.h>

#include "report/ci_phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

// The cases as they are written, and how many came to what.
class Suite {
 public:
  // `body` says what became of it; nothing of one that passes.
  void add(const std::string& category, const std::string& name, const std::string& body) {
    ++tests_;
    cases_ += fmt::format("    <testcase classname=\"gh-advise.{}\" name=\"{}\"", xml(category),
                          xml(name));
    cases_ += body.empty() ? "/>\n" : ">\n" + body + "    </testcase>\n";
  }

  std::string error(const std::string& message) {
    ++errors_;
    return fmt::format("      <error message=\"{}\"/>\n", xml(message));
  }
  std::string skipped(const std::string& message) {
    ++skipped_;
    return fmt::format("      <skipped message=\"{}\"/>\n", xml(message));
  }
  // What a rule found, a line each: what fails is the failure, the rest is output.
  std::string found(const std::string& rule, const std::string& failing, const std::string& rest) {
    std::string body;
    if (!failing.empty()) {
      ++failures_;
      body += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", xml(rule),
                          xml(failing.substr(0, failing.find('\n'))), xml(failing));
    }
    if (!rest.empty()) body += fmt::format("      <system-out>{}</system-out>\n", xml(rest));
    return body;
  }

  std::string text(const std::string& headline) const {
    const std::string counts =
        fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests_, failures_,
                    errors_, skipped_);
    const std::string properties = headline.empty()
                                       ? ""
                                       : fmt::format(
                                             "    <properties><property name=\"verdict\" "
                                             "value=\"{}\"/></properties>\n",
                                             xml(headline));
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gh-advise\" {0}>\n  "
        "<testsuite name=\"gh-advise\" {0}>\n{1}{2}  </testsuite>\n</testsuites>\n",
        counts, properties, cases_);
  }

 private:
  std::size_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
  std::string cases_;
};

// What a rule found, of one subject or, where it is "", of all.
std::string found_by(Suite& suite, const CiResult& result, const std::string& rule,
                     const std::string& subject) {
  std::string failing, rest;
  for (const CiFinding& f : result.findings) {
    if (f.finding.rule != rule || (!subject.empty() && f.finding.subject != subject)) continue;
    std::string& lines = f.fails ? failing : rest;
    lines += (lines.empty() ? "" : "\n") + full_text(f);
  }
  return suite.found(rule, failing, rest);
}

void add_rule(Suite& suite, const CiResult& result, const Rule& rule) {
  std::string body = found_by(suite, result, rule.id, "");
  const auto outcome = result.outcomes.find(rule.id);
  if (outcome == result.outcomes.end()) {
    body = suite.skipped("no report could be read");
  } else if (body.empty()) {
    const RuleOutcome& of = outcome->second;
    switch (of.state) {
      case RuleOutcome::State::looked: break;
      case RuleOutcome::State::failed: body = suite.error(of.reason); break;
      case RuleOutcome::State::not_checked:
      case RuleOutcome::State::not_recorded: body = suite.skipped(of.reason); break;
    }
  }
  suite.add(rule.category, rule.id, body);
}

}  // namespace

std::string render_junit(const CiResult& result) {
  Suite suite;
  for (const Rule& r : result.rules) add_rule(suite, result, r);
  for (const std::string& fact : result.kept_budgets) suite.add("budget", fact, "");
  for (const CiFinding& f : result.findings)
    if (f.finding.rule == "budget")
      suite.add("budget", f.finding.subject, found_by(suite, result, "budget", f.finding.subject));
  for (const std::string& e : result.errors) suite.add("report", "can be judged", suite.error(e));
  return suite.text(result.headline);
}

}  // namespace gh
