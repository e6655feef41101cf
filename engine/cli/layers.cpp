// gh-advise layers: what each layer of the program costs.

#include "report/layers.hpp"

#include <algorithm>

#include "cli/cli.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

struct LayersCommand {
  std::vector<std::string> reports;
  std::string by = "module", sort = "time";
  std::optional<int> most, depth;
  bool each = false;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

LayersOptions layers_options(const LayersCommand& o) {
  const auto place_of = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  LayersOptions options;
  options.by = static_cast<LayersBy>(place_of(layers_by_names(), o.by));
  options.sort = static_cast<LayersSort>(place_of(layers_sort_names(), o.sort));
  options.each = o.each;
  if (o.most) options.most = static_cast<std::size_t>(*o.most);
  if (o.depth) options.depth = static_cast<std::uint32_t>(*o.depth - 1);
  return options;
}

int layers(LayersCommand o) {
  o.reports = find_reports(o.reports);
  const Working working(o.report);
  const Settings settings(o.rule);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(layers_formats), o.report.inputs(o.reports));
  const LayersOptions options = layers_options(o);
  const auto [reports, errors] = documents_of<Layers>(
      o.reports, settings, o.report, [&](const Analysis& analysis, const Replay& replay) {
        return timed("layers", [&] { return layers_of(analysis, &replay, options); });
      });
  if (!reports.empty()) write_outputs(outputs, layers_formats, {reports, errors});
  for (const std::string& e : errors) print_message(e);
  return errors.empty() ? done : could_not;
}

}  // namespace

Command add_layers(CommandLine& line) {
  Parser command(line, "layers",
                 "Show what each layer costs: modules, operators, lines or kernels");
  const auto o = std::make_shared<LayersCommand>();
  command
      .option("REPORT", o->reports,
              "Reports of Nsight Systems or PyTorch's profiler, or folders with them; ranks of one "
              "job make one report")
      .required();
  command.option("--by", o->by, "A row for each of these (default: module, which includes ranges)")
      .one_of(layers_by_names());
  command
      .option("--sort", o->sort,
              "Sort rows by this, the largest first (default: time), by name, or as the program "
              "first ran them")
      .one_of(layers_sort_names());
  command.flag("--each", o->each, "A row for every layer, equal ones too");
  command.option("--depth", o->depth, "How deep to go: 1 shows only the outermost layers")
      .type("N")
      .between(1, 1000);
  command
      .option("--most", o->most,
              "The most rows (default: in text those above 0.2 % of the time, otherwise all)")
      .type("N")
      .between(1, 1'000'000'000);
  o->output.add(command, format_names(layers_formats));
  o->rule.add_sources(command);
  o->report.add(command);
  return {command, [o] { return layers(*o); }};
}

}  // namespace gh
