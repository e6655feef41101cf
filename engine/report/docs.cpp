// The pages of docs/ that the program writes: prose in engine/templates/, and what the program
// itself goes by.
#include "report/docs.hpp"

#include <fmt/format.h>

#include "analysis/program_kind.hpp"
#include "base/embedded.hpp"
#include "base/templates.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "rules/binding.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rule_test.hpp"
#include "rules/sandbox.hpp"
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
  for (const auto& [title, text] : rule_parts(rule))
    s += fmt::format("## {}\n\n{}\n\n", title, text);
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

// For a cell of a table in Markdown.
std::string cell_text(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

// What a library's first comment says, below its name and arguments.
std::string library_section(const std::string& name) {
  std::string_view text = library_text(name);
  const std::size_t function = text.find("return function");
  const std::string_view arguments =
      text.substr(function + 15, text.find('\n', function) - function - 15);
  std::string s = fmt::format("\n### {}{}\n\n", name, arguments);
  for (; text.starts_with("--"); text.remove_prefix(text.find('\n') + 1)) {
    const std::string_view line = text.substr(2, text.find('\n') - 2);
    s += fmt::format("{}\n", line.substr(std::min<std::size_t>(1, line.size())));
  }
  return s;
}

// What the marks of these pages stand for.
Marks marks_of_pages(const std::vector<Rule>& rules) {
  Marks marks{{"deprecated", ""}};  // at times there is none
  const Analysis analysis(Trace(), Classes(), {});
  const Facts facts(analysis);
  for (const Fact& f : facts.all())
    marks["facts"] += fmt::format("| `{}` | {} | {} |\n", f.name, name_of(f.unit), f.doc);
  for (const ConfigKey& k : config_keys())
    marks["keys"] += fmt::format("| `{}` | {} | {}{} |\n", k.name, k.type, k.doc,
                                 k.required ? " Required." : "");
  for (const Rule& rule : rules)
    marks["rules"] +=
        fmt::format("| [{0}](rules/{0}.md) | {1} | {2} |\n", rule.id, rule.category, rule.title);
  for (const std::string& kind : program_kinds()) marks["kinds"] += fmt::format(" `{}`", kind);
  for (const auto& [mark, documented] :
       {std::pair("rule_fields", "rule"), std::pair("finding_fields", "finding"),
        std::pair("case_fields", "case"), std::pair("changes", "change")})
    for (const ApiEntry& e : api_entries(documented))
      marks[mark] += fmt::format("| `{}` | {} |\n", e.name, e.doc);
  marks["literal_trace"] = literal_trace_example();
  for (const ApiEntry& e : api_entries()) {
    const std::string signature = is_plain_lua(e) ? "" : "`" + cell_text(e.signature) + "`";
    marks[e.deprecated.empty() ? "calls" : "deprecated"] +=
        fmt::format("| `{}` | {} | {} |\n", e.name, signature,
                    e.deprecated.empty() ? cell_text(e.doc) : e.deprecated);
  }
  for (const std::string& name : library_names()) marks["libraries"] += library_section(name);
  for (const FieldDoc& f : field_docs())
    marks["fields"] += fmt::format("| `{}` | {} | {} | {} |\n", f.name,
                                   f.is_number ? "number" : "text", f.rows, f.doc);
  return marks;
}

}  // namespace

std::vector<Page> documentation(const std::vector<Rule>& rules,
                                const std::filesystem::path& fixtures) {
  const Marks marks = marks_of_pages(rules);
  std::vector<Page> pages;
  for (const char* name : {"index.md", "facts.md", "writing-rules.md", "configuration.md",
                           "formats.md", "json-schemas.md"})
    pages.push_back({name, filled(name, marks)});
  for (const Rule& rule : rules)
    pages.push_back({fmt::format("rules/{}.md", rule.id), rule_page(rule, fixtures)});
  // Whoever opens a page to edit it has to see that it would be overwritten.
  for (Page& page : pages)
    page.text.insert(
        0, "<!-- Written by `gh-advise docs`: do not edit; ./dev docs renews it. -->\n\n");
  return pages;
}

}  // namespace gh
