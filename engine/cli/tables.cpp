// gh-advise top and gh-advise layers: where the time goes, as tables by name, class, module, range,
// operator, line, kernel, stream or rank. They take the same options, and differ in what they show
// of a row and where nothing is asked for: top the kernels, copies, calls and ranges, each counted
// one by one; layers the program's modules, of which the rows at the margin add up to the steps.
#include "report/tables.hpp"

#include <algorithm>

#include "cli/cli.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

// A terminal has little room; programs that read the other formats want everything.
constexpr std::size_t most_of_top_as_text = 10;

struct TablesCommand {
  bool is_top = false;
  std::vector<std::string> reports, only;
  std::string by, sort = "time";
  std::optional<int> most, depth;
  bool each = false;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;

  const std::vector<Format<TablesDocument>>& formats() const {
    return is_top ? top_formats : layers_formats;
  }
};

TableOptions table_options(const TablesCommand& o) {
  TableOptions options = o.is_top ? TableOptions() : layers_options();
  options.by = by_named(o.by);
  options.sort = sort_named(o.sort);
  options.tables = o.only;
  options.each = o.each;
  if (o.most) options.most = static_cast<std::size_t>(*o.most);
  if (o.depth) options.depth = static_cast<std::uint32_t>(*o.depth - 1);
  return options;
}

int show_tables(TablesCommand o) {
  o.reports = find_reports(o.reports);
  const Working working(o.report);
  const Settings settings(o.rule);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(o.formats()), settings.inputs(o.report.inputs(o.reports)));
  const TableOptions options = table_options(o);
  const auto [reports, errors] = documents_of<TablesReport>(
      o.reports, settings, o.report, [&](const Analysis& analysis, const Replay& replay) {
        return timed("tables", [&] { return tables_of(analysis, &replay, options); });
      });
  if (!reports.empty()) {
    for (const Output& output : outputs) {
      std::vector<TablesReport> shown = reports;
      if (o.is_top && output.format == "text" && !o.most) keep_most(shown, most_of_top_as_text);
      write_outputs({output}, o.formats(), {shown, errors});
    }
  }
  for (const std::string& e : errors) print_message(e);
  return errors.empty() ? done : could_not;
}

Command add_tables(Parser command, bool is_top) {
  const auto o = std::make_shared<TablesCommand>();
  o->is_top = is_top;
  o->by = is_top ? "name" : "module";
  command
      .option("REPORT", o->reports,
              "Reports of Nsight Systems or PyTorch's profiler, or folders with them; ranks of one "
              "job make one report")
      .required();
  command
      .option("--by", o->by,
              is_top ? "Group rows by this (default: name)"
                     : "A row for each of these (default: module, which includes ranges)")
      .one_of(is_top ? by_names() : work_by_names());
  command
      .option("--sort", o->sort,
              "Sort rows by this, the largest first (default: time), by name, or as the program "
              "first ran them")
      .one_of(sort_names());
  if (is_top)
    command.option(
        "--only TABLE,...", o->only,
        "Only these tables: kernels, copies, calls, ranges, operators; with another --by "
        "than name, work or calls");
  command.flag("--each,--numbered", o->each,
               "Keep the numbers in names: rows for layer 3 and layer 4, equal ones too, not one");
  command
      .option("--depth N", o->depth, "How deep to go, by module: 1 shows only the outermost layers")
      .between(1, 1000);
  command
      .option("--most N", o->most,
              is_top ? "The most rows of a table (default: 10 in text, otherwise all)"
                     : "The most rows (default: in text those above 0.2 % of the time, otherwise "
                       "all)")
      .between(1, 1'000'000'000);
  o->output.add(command, format_names(o->formats()));
  o->rule.add_sources(command);
  o->report.add(command);
  return {command, [o] { return show_tables(*o); }};
}

}  // namespace

Command add_top(CommandLine& line) {
  return add_tables(Parser(line, "top", "Show what takes the time: kernels, copies, calls, ranges"),
                    true);
}

Command add_layers(CommandLine& line) {
  return add_tables(
      Parser(line, "layers", "Show what each layer costs: modules, operators, lines or kernels"),
      false);
}

}  // namespace gh
