// gh-advise manual: the manual page.

#include <fmt/format.h>

#include "cli/cli.hpp"
#include "cli/description.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

// The sections after the commands.
constexpr const char* ends = R"(.SH ENVIRONMENT
.TP
.B COLUMNS
The width of text (default: the terminal's).
.TP
.B NO_COLOR
If it is set and not empty, text has no colors unless --color=always asks for them.
.SH FILES
.TP
.I gh\-advise.toml
The configuration: the nearest one in the working directory or above it.
.B gh\-advise config
prints the one in effect.
.SH EXAMPLES
.nf
nsys profile \-\-trace=cuda,nvtx,osrt \-\-output=run python train.py
gh\-advise run.nsys\-rep
gh\-advise run.sqlite \-\-output html=report.html
gh\-advise explain data\-loader\-starvation
gh\-advise check run.nsys\-rep \-\-format json \-\-fail\-on error
.fi
.SH SEE ALSO
.BR nsys (1)
)";

// A line of running text in roff; what stands between backticks is bold.
std::string roff(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  bool bold = false;
  for (const char c : text) {
    switch (c) {
      case '`':
        bold = !bold;
        out += bold ? "\\fB" : "\\fR";
        break;
      case '-': out += "\\-"; break;
      case '\\': out += "\\e"; break;
      case '"': out += "\\(dq"; break;
      case '~': out += "\\(ti"; break;
      case '^': out += "\\(ha"; break;
      default: out += c;
    }
  }
  return out;
}

std::string roff_sentence(const std::string& text) {
  return roff(text) + (text.ends_with('.') ? "\n" : ".\n");
}

std::string roff_entry(const Argument& a) {
  std::vector<std::string> names;
  for (const std::string& name : a.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  if (a.value.kind != Value::Kind::flag)
    head += (head.empty() ? "\\fI" : " \\fI") + roff(a.type) + "\\fR";
  if (a.several) head += (head.empty() ? "" : " ") + std::string("...");
  return ".TP\n" + head + "\n" + roff_sentence(a.doc);
}

std::string roff_command(const Description& c) {
  std::string usage = c.name;
  for (const Argument& a : c.positionals) usage += " " + a.type + (a.several ? "..." : "");
  std::string out = fmt::format(".SS \"{}\"\n{}", roff(usage), roff_sentence(c.doc));
  for (const Argument& a : c.positionals) out += roff_entry(a);
  for (const Argument& a : c.options)
    if (a.names.back() != "--help") out += roff_entry(a);
  return out;
}

// gh-advise(1) in the man macros of roff.
std::string manual_page(const CommandLine& line) {
  std::string page = fmt::format(".TH GH\\-ADVISE 1 {} \"gh\\-advise {}\" \"User Commands\"\n",
                                 GH_ADVISE_DATE, GH_ADVISE_VERSION);
  page +=
      ".SH NAME\ngh\\-advise \\- advisor and linter for GPU programs\n.SH SYNOPSIS\n.B "
      "gh\\-advise\n.I REPORT\\fR...\n.br\n.B gh\\-advise\n.I COMMAND\n[\\fIOPTION\\fR]... "
      "[\\fIARGUMENT\\fR]...\n";
  page += ".SH DESCRIPTION\n" + roff_sentence(describe(line).doc);
  // The footer of the help: a line of it is a paragraph, but what exit statuses mean has a section.
  const std::string exit_status = "Exit status: ";
  std::string statuses;
  for (const std::string& paragraph : help_footer(line)) {
    if (paragraph.starts_with(exit_status))
      statuses = paragraph.substr(exit_status.size());
    else
      page += ".PP\n" + roff_sentence(paragraph);
  }
  page += ".SH OPTIONS\n";
  for (const Argument& a : describe(line).options) page += roff_entry(a);
  page += ".SH COMMANDS\n";
  for (const Description& c : describe_commands(line)) page += roff_command(c);
  page += ".SH EXIT STATUS\n" + roff_sentence(statuses);
  return page + ends;
}

}  // namespace

Command add_manual(CommandLine& line) {
  Parser command(line, "manual", "Print the manual page, as in: gh-advise manual | man -l -");
  return {command, [&line] {
            write(manual_page(line), to_stdout);
            return done;
          }};
}

}  // namespace gh
