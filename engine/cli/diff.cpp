// gh-advise diff: everything that changed between two reports, or what each layer costs in both.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/captures.hpp"
#include "cli/cli.hpp"
#include "cli/documents.hpp"
#include "cli/output.hpp"

namespace gh {
namespace {

struct DiffCommand {
  std::vector<std::string> reports;  // before and after
  bool layers = false;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

// What --layers cannot do is refused before anything is read.
void refuse_for_layers(const DiffCommand& o, const std::vector<Output>& outputs,
                       const std::vector<std::string>& files) {
  const std::vector<std::string> formats = format_names(layers_diff_formats);
  for (const Output& output : outputs)
    if (std::find(formats.begin(), formats.end(), output.format) == formats.end())
      throw Error(fmt::format("--layers: there is no {} of it, only {}", output.format,
                              fmt::join(formats, " and ")));
  if (!o.rule.select.empty() || !o.rule.ignore.empty())
    throw Error("--layers: compares no findings, so leave out --select and --ignore");
  if (!o.report.measured_step.empty())
    throw Error("--layers: compares steps as they were recorded, so leave out --measured-step");
  for (const std::string& file : files)
    if (!file.empty() && is_baseline(file))
      throw Error(fmt::format("{}: is a baseline, which holds no layers; --layers compares reports",
                              printable(file)));
}

// The layers of one side. `given`: what the user called it.
TablesReport layers_of_side(const DiffCommand& o, const Settings& settings,
                            const std::string& given, const std::vector<std::string>& files) {
  if (const std::size_t jobs = find_jobs(files).size(); jobs > 1)
    throw Error(fmt::format("{}: holds {} reports; --layers compares one with one",
                            printable(given), jobs));
  auto [read, errors] = documents_of<TablesReport>(
      files, settings, o.report, [&](const Analysis& analysis, const Replay& replay) {
        return timed("layers", [&] { return tables_of(analysis, &replay, layers_options()); });
      });
  if (!errors.empty()) throw Error(errors.front());
  if (read.front().rows().empty())
    throw Error(fmt::format("{}: has no layers: no work on a GPU was recorded", printable(given)));
  return std::move(read.front());
}

int diff_layers(const DiffCommand& o, const Settings& settings, const std::vector<Output>& outputs,
                const std::vector<std::string>& before_files,
                const std::vector<std::string>& after_files) {
  TablesReport before = layers_of_side(o, settings, o.reports.front(), before_files),
               after = layers_of_side(o, settings, o.reports.back(), after_files);
  if (before.unit != after.unit)
    print_note(fmt::format("times are per {} before and per {} after; --unit makes them comparable",
                           before.unit, after.unit));
  write_outputs(outputs, layers_diff_formats, compare_layers(std::move(before), std::move(after)));
  return done;
}

int diff(const DiffCommand& o) {
  const std::vector<std::string> before_files = find_reports({o.reports.front()}),
                                 after_files = find_reports({o.reports.back()});
  std::vector<std::string> files = before_files;
  files.insert(files.end(), after_files.begin(), after_files.end());
  const Working working(o.report);
  const Settings settings(o.rule);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(diff_formats), settings.inputs(o.report.inputs(files)));
  if (o.layers) {
    refuse_for_layers(o, outputs, files);
    return diff_layers(o, settings, outputs, before_files, after_files);
  }
  std::vector<Capture> before, after;
  {
    CaptureReader reader(settings, settings.rules(o.rule), o.report, files);
    before = reader.read(before_files, CaptureReader::Wanted::baselines_too);
    after = reader.read(after_files, CaptureReader::Wanted::baselines_too);
  }
  const Comparison c = compare(before, after, {}, {}, today(), {true, true});
  write_outputs(outputs, diff_formats, {c, Detail::everything, before, after, CiResult()});
  return done;
}

}  // namespace

Command add_diff(CommandLine& line) {
  Parser command(line, "diff", "Show what changed between two reports or baselines");
  const auto o = std::make_shared<DiffCommand>();
  command
      .option("REPORT", o->reports,
              "Before and after: a report, a baseline, or a folder of captures")
      .required()
      .exactly(2);
  command.flag("--layers", o->layers,
               "Compare what each layer costs instead, as `gh-advise layers` shows it; of two "
               "reports, as text or json");
  o->output.add(command, format_names(diff_formats));
  o->rule.add(command);
  o->report.add(command);
  return {command, [o] { return diff(*o); }};
}

}  // namespace gh
