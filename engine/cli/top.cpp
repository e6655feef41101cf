// gh-advise top: what takes the time, by name, class, range, operator, stream or rank.

#include "report/top.hpp"

#include <algorithm>

#include "cli/cli.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

// A terminal has little room; programs that read the other formats want everything.
constexpr std::size_t most_as_text = 10;

struct TopCommand {
  std::vector<std::string> reports, only;
  std::string by = "name", sort = "time";
  std::optional<int> most;
  bool numbered = false;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

TopOptions top_options(const TopCommand& o) {
  TopOptions options;
  options.by = static_cast<TopBy>(place_of(top_by_names(), o.by));
  options.sort = static_cast<TopSort>(place_of(top_sort_names(), o.sort));
  options.tables = o.only;
  options.numbered = o.numbered;
  if (o.most) options.most = static_cast<std::size_t>(*o.most);
  return options;
}

int top(TopCommand o) {
  o.reports = find_reports(o.reports);
  const Working working(o.report);
  const Settings settings(o.rule);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(top_formats), o.report.inputs(o.reports));
  const TopOptions options = top_options(o);
  const auto [tops, errors] = documents_of<Top>(
      o.reports, settings, o.report, [&](const Analysis& analysis, const Replay& replay) {
        return timed("top", [&] { return top_of(analysis, &replay, options); });
      });
  if (!tops.empty()) {
    for (const Output& output : outputs) {
      std::vector<Top> shown = tops;
      if (output.format == "text" && !o.most) keep_most(shown, most_as_text);
      write_outputs({output}, top_formats, {shown, errors});
    }
  }
  for (const std::string& e : errors) print_message(e);
  return errors.empty() ? done : could_not;
}

}  // namespace

Command add_top(CommandLine& line) {
  Parser command(line, "top", "Show what takes the time: kernels, copies, calls, ranges");
  const auto o = std::make_shared<TopCommand>();
  command
      .option("REPORT", o->reports,
              "Reports of Nsight Systems or PyTorch's profiler, or folders with them; ranks of one "
              "job make one report")
      .required();
  command.option("--by", o->by, "Group rows by this (default: name)").one_of(top_by_names());
  command
      .option("--sort", o->sort, "Sort rows by this, the largest first (default: time), or by name")
      .one_of(top_sort_names());
  command
      .option(
          "--only", o->only,
          "Only these tables: kernels, copies, calls, ranges, operators; with another --by than "
          "name, work or calls")
      .separated_by(',')
      .type("TABLE")
      .repeatable();
  command.option("--most", o->most, "The most rows of a table (default: 10 in text, otherwise all)")
      .type("N")
      .between(1, 1'000'000'000);
  command.flag(
      "--numbered", o->numbered,
      "Keep the numbers in range names: rows for layer 3 and layer 4, not one for layer #");
  o->output.add(command, format_names(top_formats));
  o->rule.add_sources(command);
  o->report.add(command);
  return {command, [o] { return top(*o); }};
}

}  // namespace gh
