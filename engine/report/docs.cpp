#include "report/docs.hpp"

#include <fmt/format.h>

#include "base/embedded.hpp"
#include "report/docs_pages.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "rules/rule_test.hpp"
#include "rules/seen.hpp"

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
  s += fmt::format(
      "## Seen on recordings\n\nIt {}. The [recordings](../../fixtures/README.md) ship with the "
      "source.\n\n",
      seen_text(rule));
  s += example(rule, fixtures);
  std::string options, factors;
  for (const auto& [name, o] : rule.options)
    (o.range ? factors : options) +=
        o.range
            ? fmt::format("| `{}` | {} | {:.4g} to {:.4g} | {} {} |\n", name, option_text(o.value),
                          o.range->least, o.range->most, o.doc, o.range->source)
            : fmt::format("| `{}` | {} | {} | {} |\n", name, option_text(o.value), o.unit, o.doc);
  if (!options.empty())
    s += fmt::format(
        "## Options\n\nIn `gh-advise.toml` under `[rule.{}]`.\n\n| option | default | unit | "
        "|\n|---|---|---|---|\n{}\n",
        rule.id, options);
  if (!factors.empty())
    s += fmt::format(
        "## Factors of its forecast\n\nUnless it says otherwise, the time that remains, relative "
        "to "
        "what was recorded. Each is set as an option is.\n\n| factor | | range | "
        "|\n|---|---|---|---|\n{}\n",
        factors);
  if (!rule.needs.empty()) {
    s += "## Needs\n\n";
    for (const Source source : rule.needs)
      s += fmt::format("* {} (`{}`)\n", shown_name_of(source), name_of(source));
  }
  return s;
}

std::string facts_page() {
  const Analysis analysis(Trace(), Classes(), {});
  const Facts facts(analysis);
  std::string s =
      "# Facts\n\nWhat gh-advise measures in a report, each fact when first asked for: `gh-advise "
      "facts REPORT` prints them, rules ask with `trace:fact`. A fact without a value says why.\n\n"
      "    gh-advise facts REPORT --only step.mean_ns,account.idle,'*_fraction'\n\n"
      "prints some: by name, by what names begin with up to a dot, or by a pattern.\n\n"
      "| fact | unit | |\n|---|---|---|\n";
  for (const Fact& f : facts.all())
    s += fmt::format("| `{}` | {} | {} |\n", f.name, name_of(f.unit), f.doc);
  return s;
}

// What teams set most; a test reads it as a configuration.
constexpr const char* configuration_example = R"(```toml
rules = ["perf/rules"]              # folders with the team's own rules
ignore = ["capture"]                # ids or categories; select = [...] for only these
fail_on = "error"                   # exit with 1 from this severity on

[rule.data-loader-starvation]
share = 0.10                        # a rule's options: gh-advise explain ID
severity = "note"                   # instead of what the share says

[[kernel_class]]                    # the class of our own kernels; asked before the program's
class = "attention_fused"
match = ["^our_attention_"]

[[gpu]]                             # a GPU that schemas/gpus.toml does not list, or a capped one
match = "H200"
name = "H200, capped"
half_tflops = 800

[[suppress]]                        # hides a finding that we live with
rule = "unfused-norm"
reason = "the fused norm lands with the next release"
until = 2026-12-31

[[accept]]                          # lets a finding pass the gate, and hides nothing
rule = "host-sync"
reason = "the new logger lands with it"

[ranges]                            # what our trainer calls its phases
step = ["^update \\d+"]
loader = ["^next_batch$"]
```
)";

std::string configuration_page() {
  std::string s =
      "# Configuration\n\n`gh-advise.toml` in the current folder or the nearest above, or "
      "`--config FILE`. An unknown key is an error with its place and a suggestion; `gh-advise "
      "config` prints the settings in effect and where each comes from.\n\n";
  s +=
      "A configuration decides which rules run and what is suppressed, so gh-advise uses one that "
      "it finds only if it is yours: it refuses a file that another user (except root) owns, or "
      "that others can write, or whose folder they can write. `--config FILE` uses it whoever owns "
      "it; `--config none` uses none. With sudo, your own files count as yours. In a CI job, a "
      "configuration in the checkout (`$GITHUB_WORKSPACE`, `$CI_PROJECT_DIR`) counts as yours, "
      "because CI systems check out as another user; as root in a container with a mounted folder, "
      "name it. Anybody may own the rule folders that it names. It may have 1 MiB and 32 nested "
      "levels.\n\n";
  s += configuration_example;
  s += "\n| key | type | |\n|---|---|---|\n";
  for (const ConfigKey& k : config_keys())
    s += fmt::format("| `{}` | {} | {} |\n", k.name, k.type, k.doc);
  return s;
}

std::string formats_page() {
  std::string s =
      "# Formats\n\nThe ending of a file chooses its format:\n\n"
      "    gh-advise run.sqlite --output report.html\n"
      "    gh-advise run.sqlite --output report.json --output report.md\n\n"
      "`--output FORMAT=FILE` names the format, may be given several times, and does not replace "
      "what goes to standard output; `FORMAT=-` writes to standard output. `--format FORMAT` is "
      "the "
      "format of standard output, and of a file without an ending.\n\n"
      "| format | ending | of | |\n|---|---|---|---|\n";
  for (const auto& [format, ending, of, doc] :
       {std::tuple("text", ".txt, .log", "all", "for people, in a terminal"),
        {"html", ".html", "check, gate, diff, fleet",
         "a page to read and to send: one file that fetches nothing"},
        {"json", ".json", "check, gate, diff, fleet, facts, rules, top, layers",
         "for programs, with [JSON schemas](json-schemas.md)"},
        {"jsonl", ".jsonl", "check", "JSON, one report a line"},
        {"markdown", ".md", "check, gate, diff, fleet",
         "a summary for a pull request: the plan, and findings with their fixes"},
        {"sarif", ".sarif", "check, gate, fleet",
         "SARIF 2.1.0, for code scanning; `partialFingerprints` recognize a finding, "
         "`baselineState` says how it changed, `rank` is its saving in percent of the step. A "
         "finding that is gone has the kind \"pass\""},
        {"github", "", "check, gate, fleet",
         "workflow commands, which annotate a run of GitHub Actions"},
        {"junit", ".xml", "check, gate, fleet", "JUnit XML: a case for each rule and budget"},
        {"csv", ".csv", "top, layers",
         "comma-separated values, for spreadsheets: one line for each row of the tables"},
        {"trace", ".trace.json", "check",
         "a Chrome trace of the evidence and the account, on the time axis of the report, for "
         "Perfetto"}})
    s += fmt::format("| {} | {} | {} | {} |\n", format, ending, of, doc);
  s += "\n`check --format json` always writes one object, for one report and for several: "
       "`{\"schema_version\": 3, \"generator\": …, \"errors\": […], \"reports\": […]}`, and so "
       "do `top` and `layers`, whose version is 1. `errors` says which reports could not be read. "
       "A line of jsonl is an item of `reports`. If no report could be read, `reports` is empty "
       "and the exit status is 2.\n\n"
       "A folder stands for the reports in it and below it: `*.sqlite`, `*.nsys-rep` without an "
       "export next to it, and `*.json` and `*.json.gz` that are PyTorch traces. Hidden files and "
       "links to folders are left out. Ranks of one job make one report.\n\n"
       "`record` leaves NAME.sqlite (NAME.json if PyTorch's profiler recorded it), NAME.html and "
       "NAME.measured.json. `try` and `verify` append a line to gh-advise.ledger.jsonl for each "
       "forecast that was measured; `gh-advise calibration gh-advise.ledger.jsonl` says how right "
       "they were.\n\n"
       "`--color=always` colors text also in a pipe or a file, `--color=never` never; without it, "
       "text on a terminal has colors unless `NO_COLOR` is set.\n";
  return s +
         "\n## Exit status\n\n| | |\n|---|---|\n| 0 | done |\n| 1 | `--fail-on` was met, `gate` "
         "found a regression, `verify` a forecast that missed, or a test of a rule failed |\n| 2 | "
         "the job could not be done, or "
         "`gate` or `verify` cannot tell: an unreadable report, no baseline yet, a rule that "
         "failed, a full "
         "disk "
         "|\n| 141 | the reader of standard output is gone, as in `gh-advise run.sqlite \\| head`; "
         "there is no message |\n\nA file is written whole or not at all, even if a signal ends "
         "the "
         "program.\n";
}

std::string json_schemas_page() {
  std::string s =
      "# JSON schemas\n\nThe schemas of `--format json`. `schema_version` grows when a field goes "
      "or changes its meaning; a field may be added in any version.\n\nVersion 3 of `check` and "
      "`top` says in words what text and page say: `summary` (verdict, first fix, account, plan), "
      "`fix` and `saves` of each finding, and a `label` beside the ids of causes and of what a "
      "step waits for. Everything that version 2 has is there unchanged.\n";
  for (const auto& [of, schema] :
       {std::pair("`check --format json`, for one report and for several", "reports"),
        {"a report in it, and a line of `check --format jsonl`", "report"},
        {"`gate` and `diff --format json`", "comparison"},
        {"the file of `baseline`", "baseline"},
        {"the file of `digest`, unpacked", "digest"},
        {"`fleet --format json`", "fleet"},
        {"`facts --format json`", "facts"},
        {"`top --format json`, for one report and for several", "top"},
        {"`layers --format json`, for one report and for several, and `diff --layers --format "
         "json`",
         "layers"},
        {"`NAME.measured.json`, which is read with the report next to it", "measured"},
        {"`try --format json`", "trials"},
        {"a line of `gh-advise.ledger.jsonl`, to which `try` and `verify` append", "ledger"}})
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
                          {"formats.md", formats_page()},
                          {"json-schemas.md", json_schemas_page()}};
  std::string index =
      "# Reference\n\n* [Configuration](configuration.md): every key of `gh-advise.toml`\n* "
      "[Facts](facts.md): what is measured of a report\n* [Formats](formats.md): what the program "
      "writes, and its exit status; [JSON schemas](json-schemas.md)\n* [Writing "
      "rules](writing-rules.md): all that a rule can call\n\n## Rules\n\n| rule | category | finds "
      "|\n|---|---|---|\n";
  for (const Rule& rule : rules) {
    pages.push_back({fmt::format("rules/{}.md", rule.id), rule_page(rule, fixtures)});
    index +=
        fmt::format("| [{0}](rules/{0}.md) | {1} | {2} |\n", rule.id, rule.category, rule.title);
  }
  pages.push_back({"index.md", index});
  // Whoever opens a page to edit it has to see that it would be overwritten.
  for (Page& page : pages)
    page.text.insert(
        0, "<!-- Written by `gh-advise docs`: do not edit; ./dev docs renews it. -->\n\n");
  return pages;
}

}  // namespace gh
