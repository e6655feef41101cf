// How to write a rule: its table, what it returns, what it can call, how it is tested.
#include <fmt/format.h>

#include "analysis/program_kind.hpp"
#include "report/docs_pages.hpp"
#include "rules/binding.hpp"
#include "rules/literal_trace.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

// The fields of a rule's table, of a finding and of a test case: what load_rule, read_finding and
// run_rule_tests accept.
struct Field {
  const char* name;
  const char* doc;
};
constexpr Field rule_fields[] = {
    {"id",
     "Its name everywhere: lower-case letters, digits and `-`. A team's rule with the id "
     "of one of the program's replaces it."},
    {"category", "A name to select it by; usually its folder."},
    {"title", "One line of the catalog: what the rule finds."},
    {"since", "The version that introduced it."},
    {"needs",
     "A list of sources (see trace:available). If one of them is missing, the rule is "
     "*not checked*, and the report says how to record it."},
    {"options",
     "By name: `{ default, unit, doc }`. `gh-advise.toml` sets them under `[rule.ID]`; `doc` says "
     "where the default comes from."},
    {"factors",
     "By name: `{ by, least, most, doc, source }`, the factors of forecasts. `doc` says what takes "
     "`by` of the time, `source` which measurement or paper says so, and that it is between "
     "`least` "
     "and `most`. `gh-advise.toml` sets `by` as it sets an option, and the range moves along."},
    {"advice",
     "A list of pieces, the first fix first, see below. A finding carries those that fit it."},
    {"messages",
     "Templates by name. `{x}` is the field x of the finding's `data`, `{x:ns}`, `{x:bytes}`, "
     "`{x:fraction}`, `{x:bytes/s}` and `{x:count}` with its unit; `{x:lost}` is the time of each "
     "step that the "
     "finding explains, which bounds what its fix is said to save; `{each_step}` is \"each 47.2 ms "
     "step\", `{a_step}` \"a step\", `{unit}` \"step\" and `{units}` \"steps\", with the name that "
     "the program's unit "
     "has (fact unit.name), or what fits a whole window. `{x:# copy|# copies}` has the words for "
     "one and for any other number, which replaces `#`. Code stands between backticks: only "
     "the page shows it so, other formats leave the backticks out."},
    {"headlines",
     "By the same names, the titles of findings: what this recording shows, in about 70 letters, "
     "without a full stop. Templates as in `messages`, except `{each_step}`. A finding whose "
     "message "
     "has none carries the rule's title."},
    {"doc",
     "`{ what, why, fix, wrong }`: what it does, why it matters, how to fix it, when it is wrong."},
    {"warning_at",
     "The share of the step from which a finding is a warning; 0.05 by default. From 0.2 "
     "on it is an error."},
    {"after_others",
     "`true` for a rule that is asked last and may call `trace:found`, to find what no "
     "other rule has."},
    {"evaluate",
     "`function(trace, options, factors)`: returns a list of findings; `{}` if all is well; or "
     "`nil, reason, record_with` if it cannot tell."},
};
constexpr Field finding_fields[] = {
    {"message", "The name of one of the rule's messages."},
    {"data", "What the message is filled with."},
    {"subject",
     "What it is about, without times, counts or addresses: rule and subject identify the "
     "finding from run to run."},
    {"recoverable_ns",
     "The time that the fix saves, over all steps and devices, from the account. It "
     "decides severity and rank if there is no `change` to replay."},
    {"about",
     "true if this is an estimate, which the truth may exceed; otherwise it is printed as "
     "\"at most\"."},
    {"severity", "note, warning or error, instead of the one that the share gives."},
    {"at_most", "The highest severity that it may have."},
    {"doubt",
     "A sentence for a finding that the profiler's overhead may explain: the finding ends "
     "with it, is a note and claims no more than recoverable_ns, unless its change, "
     "replayed, saves enough for a warning even with the largest overhead that was ever "
     "measured."},
    {"confidence", "high if the trace shows it; medium or low if it is inferred."},
    {"seen", "What else was seen: `{ pageable = true }`. Pieces of advice ask for it."},
    {"advice",
     "Instead of the rule's `advice`: a list of texts, or of tables of them by kind of program."},
    {"metrics", "A list of `{ name, value, unit, threshold }`."},
    {"evidence", "What selection:evidence returns: stretches of the trace that prove it."},
    {"change",
     "What the fix changes about the trace, see below. The trace is replayed with it, and "
     "the result replaces recoverable_ns."},
    {"cited_ns",
     "The time of the steps that the finding cites, over all of them: a replay that is no "
     "forecast claims no more."},
    {"uncertain",
     "Why the factors of a change have a range: \"how much of the model is bound by "
     "memory\"."},
    {"follows_from",
     "The id of a rule whose finding causes this one. It then comes after that finding."},
    {"voids", "true if it puts the whole report in doubt: it then comes first."},
};
constexpr Field case_fields[] = {
    {"name", "What is to happen."},
    {"trace", "A literal trace; see below."},
    {"fixture", "Instead of a trace: the name of a recorded report."},
    {"options", "Options of the rule for this case."},
    {"replay",
     "true to replay a literal trace with the finding's change. Recorded reports are "
     "always replayed; in most literal traces the host bounds every step, since each "
     "operation is launched just before it starts."},
    {"expect",
     "\"clean\", \"not checked\", \"snapshot\" (all that the rule says, held to ID.snapshot, which "
     "`--update` writes) or a list of findings, each with any of severity, subject, title, "
     "message, confidence, advice (the first; all globs) and `worth = { least, most }`, a share of "
     "the "
     "step. One finding more or "
     "less fails."},
};

template <class Fields>
std::string table(const char* head, const Fields& fields) {
  std::string s = fmt::format("| {} | |\n|---|---|\n", head);
  for (const auto& f : fields) s += fmt::format("| `{}` | {} |\n", f.name, f.doc);
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
      table("field", rule_fields) + "## A finding\n\n" + table("field", finding_fields) +
      kinds_section() +
      "## A change\n\nA finding's `change` is a list of tables such as `{ scale = products, "
      "factor = factors.fused }`: a verb with a selection, and for some verbs a factor of the "
      "rule's `factors`, which `times` multiplies: `times = 1 / speedup`. Instead of a factor from "
      "a source there may be computed numbers, `by`, `least` and `most`. The trace is replayed "
      "with all changes made; `least` and `most` bound the factor, and so the range of the "
      "forecast.\n\n" +
      table("verb", change_verbs()) +
      "## A test case\n\nTests are in ID.test.lua, next to the rule: a list of cases. `gh-advise "
      "test DIR` runs them. The cases of one file share 100 s of processor time.\n\n" +
      table("field", case_fields);
  s += "A literal trace, times in microseconds:\n\n```lua\n";
  // The engine's own description of it.
  s += std::string(literal_trace_example()) +
       "```\n\n## What a rule can call\n\n| | | |\n|---|---|---|\n";
  std::string deprecated;
  for (const ApiEntry& e : api_entries()) {
    const std::string signature = *e.signature ? "`" + cell_text(e.signature) + "`" : "";
    if (e.deprecated)
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
  s += "\n## Fields of rows\n\nWhat `sum`, `median`, `growth`, `group`, `top`, `keep`, `alike`, "
       "`pair` and `gaps` take, and what a row of `top` has.\n\n| field | | of | "
       "|\n|---|---|---|---|\n";
  for (const FieldDoc& f : field_docs())
    s += fmt::format("| `{}` | {} | {} | {} |\n", f.name, f.is_number ? "number" : "text", f.rows,
                     f.doc);
  return s;
}

}  // namespace gh
