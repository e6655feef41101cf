// How to write a rule: its table, what it returns, what it can call, how it is tested.
#include <fmt/format.h>

#include "analysis/program_kind.hpp"
#include "report/docs_pages.hpp"
#include "rules/binding.hpp"
#include "rules/literal_trace.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

// Of what schemas/api.toml documents under a name.
std::string table(const char* head, const char* documented) {
  std::string s = fmt::format("| {} | |\n|---|---|\n", head);
  for (const ApiEntry& f : api_entries(documented))
    s += fmt::format("| `{}` | {} |\n", f.name, f.doc);
  return s + '\n';
}

// Words by kind of program: the text, an example, the keys.
std::string kinds_section() {
  std::string s =
      "## Advice\n\nEach piece of a rule's `advice` begins with what to do in at most 60 letters, "
      "ended by \": \" or \". \": short reports print only that. It is a template as messages are. "
      "`when` names what must be seen for a piece, `unless` what must not, since it shows that it "
      "is "
      "done already or is no help here: one name or several, of the finding's message or of its "
      "`seen`. A finding may be about any program that uses CUDA, and "
      "advice names what its programmer can change. Where that differs, write it by kind:\n\n"
      "```lua\n"
      "advice = {\n"
      "  \"Read it only every few iterations.\",                     -- for any program\n"
      "  { when = \"full\", \"Send less: {peak:bytes} are in use.\" },  -- if that was seen\n"
      "  { unless = \"pinned\",\n"
      "    pytorch = \"Pin the batches: `DataLoader(pin_memory=True)`.\",\n"
      "    numba = \"Pin what is uploaded: `cuda.pinned_array`, once.\",\n"
      "    cuda = \"Pin what is uploaded: `cudaHostAlloc`, once.\" },   -- for all others\n"
      "  { training = \"Or take a larger micro-batch.\" },           -- for training only\n"
      "}\n```\n\nThe text of the kind that fits best is printed: first the tool that recorded the "
      "report, then what runs the program, its task, its framework, its language, and `cuda` last. "
      "A value may be a list of texts or another table by kind (`pytorch = { training = \"...\", "
      "cuda = \"...\" }`). If no key fits, nothing is printed. `trace:words` does the same for a "
      "part of a sentence, and for the options of the tool that recorded the report: `trace:words "
      "{ nsys = \"--trace=cuda,nvtx\", torch_profiler = \"torch.profiler.profile(...)\" }`. A test "
      "of the program's rules refuses words of one kind that another may read.\n\nKinds:";
  for (const std::string& kind : program_kinds()) s += fmt::format(" `{}`", kind);
  return s + ". schemas/programs.toml says how each is recognized.\n\n";
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

}  // namespace

std::string writing_rules_page() {
  std::string s =
      "# Writing rules\n\nA rule is one Lua file that returns a table. It runs in a sandbox, with "
      "limits on instructions, memory and time. It sees facts and selections of the trace, never "
      "rows in bulk. The [cookbook](rule-cookbook.md) has rules to copy.\n\n## The rule\n\n";
  s +=
      table("field", "rule") + "## A finding\n\n" + table("field", "finding") + kinds_section() +
      "## A change\n\nA finding's `change` is a list of tables such as `{ scale = products, "
      "factor = factors.fused }`: a verb with a selection, and for some verbs a factor of the "
      "rule's `factors`, which `times` multiplies: `times = 1 / speedup`. Instead of a factor from "
      "a source there may be computed numbers, `by`, `least` and `most`. The trace is replayed "
      "with all changes made; `least` and `most` bound the factor, and so the range of the "
      "forecast.\n\n" +
      table("verb", "change") +
      "## A test case\n\nTests are in ID.test.lua, next to the rule: a list of cases. `gh-advise "
      "test DIR` runs them. The cases of one file share 100 s of processor time.\n\n" +
      table("field", "case");
  s += "A literal trace, times in microseconds:\n\n```lua\n";
  // The engine's own description of it.
  s += std::string(literal_trace_example()) +
       "```\n\n## What a rule can call\n\n| | | |\n|---|---|---|\n";
  std::string deprecated;
  for (const ApiEntry& e : api_entries()) {
    const std::string signature = is_plain_lua(e) ? "" : "`" + cell_text(e.signature) + "`";
    if (!e.deprecated.empty())
      deprecated += fmt::format("| `{}` | {} | {} |\n", e.name, signature, e.deprecated);
    else
      s += fmt::format("| `{}` | {} | {} |\n", e.name, signature, cell_text(e.doc));
  }
  s += "\n## Libraries\n\nPatterns that several of the program's rules look for, in Lua. Each is a "
       "function: `local found = require \"gathered_weights\"(trace)`.\n";
  for (const std::string& name : library_names()) s += library_section(name);
  s += "\n## Deprecated\n\nThese work as before, and go with the next release. A note on standard "
       "error names each rule of yours that uses one.\n\n| | | instead |\n|---|---|---|\n" +
       deprecated;
  s += "\n## Fields of rows\n\nWhat `sum`, `median`, `group`, `top`, `keep`, `alike`, "
       "`pair` and `gaps` take, and what a row of `top` has.\n\n| field | | of | "
       "|\n|---|---|---|---|\n";
  for (const FieldDoc& f : field_docs())
    s += fmt::format("| `{}` | {} | {} | {} |\n", f.name, f.is_number ? "number" : "text", f.rows,
                     f.doc);
  return s;
}

}  // namespace gh
