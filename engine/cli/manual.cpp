// gh-advise manual: the manual page.

#include <fmt/format.h>

#include "base/templates.hpp"
#include "cli/cli.hpp"
#include "cli/description.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

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
  Marks marks{{"date", GH_ADVISE_DATE},
              {"version", GH_ADVISE_VERSION},
              {"description", roff_sentence(describe(line).doc)}};
  // The footer of the help: a line of it is a paragraph, but what exit statuses mean has a section.
  const std::string exit_status = "Exit status: ";
  for (const std::string& paragraph : help_footer(line))
    if (paragraph.starts_with(exit_status))
      marks["statuses"] = roff_sentence(paragraph.substr(exit_status.size()));
    else
      marks["description"] += ".PP\n" + roff_sentence(paragraph);
  for (const Argument& a : describe(line).options) marks["options"] += roff_entry(a);
  for (const Description& c : describe_commands(line)) marks["commands"] += roff_command(c);
  return filled("manual.1", marks);
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
