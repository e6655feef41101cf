#include "report/docs.hpp"

#include <fmt/format.h>

#include "base/embedded.hpp"
#include "report/docs_pages.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "rules/rule_test.hpp"

namespace gh {
namespace {

// What a rule says of the first case of its own tests that fires, as a user sees it.
std::string example(const Rule& rule, const std::filesystem::path& fixtures) {
  const std::string test = rule.path.substr(0, rule.path.size() - 4) + ".test.lua";
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != test) continue;
    std::optional<Trace> trace = first_firing_trace(std::string(file.text), fixtures);
    if (!trace) return "";
    const bool literal = trace->format == "literal";
    trace->path =
        literal ? "a trace of its tests" : std::filesystem::path(trace->path).filename().string();
    const Analysis analysis(std::move(*trace), Classes(), {});
    const Facts facts(analysis);
    const std::string text =
        render_text(analysis, evaluate({rule}, analysis, facts, {}, !literal), {});
    return fmt::format("## What it says\n\n```\n{}```\n\n", text);
  }
  return "";
}

std::string rule_page(const Rule& rule, const std::filesystem::path& fixtures) {
  std::string s = fmt::format("# {}\n\n{}. Category {}, since {}.\n\n", rule.id, rule.title,
                              rule.category, rule.since);
  for (const auto& [title, text] : {std::pair("What it does", &rule.what),
                                    {"Why it matters", &rule.why},
                                    {"How to fix it", &rule.fix},
                                    {"When it is wrong", &rule.wrong}})
    s += fmt::format("## {}\n\n{}\n\n", title, *text);
  s += example(rule, fixtures);
  if (!rule.options.empty()) {
    s += fmt::format(
        "## Options\n\nIn `gh-advise.toml` under `[rule.{}]`.\n\n| option | default | unit | "
        "|\n|---|---|---|---|\n",
        rule.id);
    for (const auto& [name, option] : rule.options)
      s += fmt::format("| `{}` | {} | {} | {} |\n", name, option_text(option.value), option.unit,
                       option.doc);
    s += '\n';
  }
  if (!rule.needs.empty()) {
    s += "## Needs\n\n";
    for (const Source source : rule.needs) s += fmt::format("* {}\n", name_of(source));
  }
  return s;
}

std::string facts_page() {
  const Analysis analysis(Trace(), Classes(), {});
  const Facts facts(analysis);
  std::string s =
      "# Facts\n\nWhat is measured of a report, each when first asked for: `gh-advise facts "
      "REPORT` prints them, rules ask with `trace:fact`. A fact without a value says why.\n\n| "
      "fact | unit | |\n|---|---|---|\n";
  for (const Fact& f : facts.all())
    s += fmt::format("| `{}` | {} | {} |\n", f.name, name_of(f.unit), f.doc);
  return s;
}

std::string configuration_page() {
  std::string s =
      "# Configuration\n\n`gh-advise.toml` in the current folder or the nearest above, or "
      "`--config FILE`. An unknown key is an error with its place and a suggestion; `gh-advise "
      "config` prints what is in effect and where it comes from.\n\n| key | type | "
      "|\n|---|---|---|\n";
  for (const ConfigKey& k : config_keys())
    s += fmt::format("| `{}` | {} | {} |\n", k.name, k.type, k.doc);
  return s;
}

std::string formats_page() {
  std::string s =
      "# Formats\n\n`--format text` is for people. `--output FORMAT=FILE` writes another format to "
      "a file in the same run, several times.\n\n| format | of | |\n|---|---|---|\n";
  for (const auto& [format, of, doc] :
       {std::tuple("json", "check, gate, diff, fleet, facts, rules",
                   "for programs; the schemas are below"),
        {"markdown", "check, gate, diff, fleet", "a summary for a pull request"},
        {"sarif", "check, gate, fleet",
         "SARIF 2.1.0, for code scanning; `partialFingerprints` recognize a finding, "
         "`baselineState` says what became of it, `rank` is what it is worth in percent of the "
         "step. What is gone has the kind \"pass\""},
        {"github", "check, gate, fleet",
         "workflow commands, which annotate a run of GitHub Actions"},
        {"junit", "check, gate, fleet", "JUnit XML: a case for each rule and budget"},
        {"trace", "check",
         "a Chrome trace of the evidence and the account, on the time axis of the report, for "
         "Perfetto"}})
    s += fmt::format("| {} | {} | {} |\n", format, of, doc);
  for (const auto& [of, schema] : {std::pair("`check --format json`: one object a report, a list "
                                             "of them where several reports were named",
                                             "report"),
                                   {"`gate` and `diff --format json`", "comparison"},
                                   {"what `baseline` writes", "baseline"},
                                   {"what `digest` writes, unpacked", "digest"},
                                   {"`fleet --format json`", "fleet"},
                                   {"`facts --format json`", "facts"}})
    s += fmt::format("\n{}:\n\n```json\n{}```\n", of,
                     embedded_file(fmt::format("schemas/{}.schema.json", schema)));
  return s;
}

}  // namespace

std::vector<Page> documentation(const std::vector<Rule>& rules,
                                const std::filesystem::path& fixtures) {
  std::vector<Page> pages{{"facts.md", facts_page()},
                          {"writing-rules.md", writing_rules_page()},
                          {"configuration.md", configuration_page()},
                          {"formats.md", formats_page()}};
  std::string index =
      "# gh-advise\n\n* [Facts](facts.md)\n* [Writing rules](writing-rules.md)\n* "
      "[Configuration](configuration.md)\n* [Formats](formats.md)\n\n## Rules\n\n| rule | category "
      "| finds |\n|---|---|---|\n";
  for (const Rule& rule : rules) {
    pages.push_back({fmt::format("rules/{}.md", rule.id), rule_page(rule, fixtures)});
    index +=
        fmt::format("| [{0}](rules/{0}.md) | {1} | {2} |\n", rule.id, rule.category, rule.title);
  }
  pages.push_back({"index.md", index});
  return pages;
}

}  // namespace gh
