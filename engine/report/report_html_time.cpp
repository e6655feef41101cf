// Where the time goes: the account, the whole window, the lengths of steps.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_strips = 16, most_device_columns = 8;
// Of the path, for a line of its own.
constexpr double least_path_share = 0.005;

// Without the profiler, all steps together.
CauseTimes times_of(const ReportPage& page, const DeviceAccount& device) {
  const Account& account = page.analysis.account;
  CauseTimes causes;
  for (std::size_t c = 0; c < account.causes.size(); ++c) {
    double ns = 0;
    for (const auto& step : device.step_ns) ns += static_cast<double>(step[c]);
    causes.emplace_back(account.causes[c], page.report.step.of(account.causes[c]) * ns);
  }
  return causes;
}

// Over all devices.
CauseTimes times_of(const ReportPage& page) {
  CauseTimes causes;
  for (const std::string& cause : page.analysis.account.causes)
    causes.emplace_back(cause, page.report.step.total_ns(page.analysis, cause));
  return causes;
}

double sum_of(const CauseTimes& causes) {
  double ns = 0;
  for (const auto& [cause, of_cause] : causes) ns += of_cause;
  return ns;
}

// The time of one cause among them; 0 where it is not.
double time_of(const CauseTimes& causes, const std::string& cause) {
  const auto at =
      std::find_if(causes.begin(), causes.end(), [&](const auto& c) { return c.first == cause; });
  return at == causes.end() ? 0 : at->second;
}

std::string more_devices(std::size_t count, const char* what) {
  return remark(fmt::format("{} more devices {}.", count, what));
}

// The device, and its process where the report has several.
std::string bar_label(const Analysis& a, const DeviceSteps& d) {
  const std::vector<Process>& processes = a.trace.processes;
  std::string label = device_label(a.trace, d.device);
  if (d.process < processes.size() && processes.size() > 1)
    label += fmt::format(", process {}", processes[d.process].pid);
  return label;
}

// The heading of times that are a step's, or the window's.
std::string time_column(const Analysis& a) {
  return a.has_steps() ? capitalized(a.words().per) : "Time";
}

// A bar a device, as long as its mean step.
std::string device_bars(const ReportPage& page) {
  const Analysis& a = page.analysis;
  const std::size_t shown = std::min(a.devices.size(), page.allowed.devices);
  std::vector<double> means_ns;
  double longest_ns = 1;
  for (std::size_t d = 0; d < shown; ++d) {
    means_ns.push_back(sum_of(times_of(page, a.account.devices[d])) /
                       static_cast<double>(std::max<std::size_t>(a.devices[d].steps.size(), 1)));
    longest_ns = std::max(longest_ns, means_ns.back());
  }
  std::string out;
  for (std::size_t d = 0; d < shown; ++d)
    out += stacked_bar(bar_label(a, a.devices[d]), stack_of(times_of(page, a.account.devices[d])),
                       duration(means_ns[d]), means_ns[d] / longest_ns);
  if (shown < a.devices.size()) out += more_devices(a.devices.size() - shown, "are in the JSON");
  return out;
}

// Every cause, the one that takes most first, with a column for each of a few devices.
HtmlTable account_table(const ReportPage& page, CauseTimes causes) {
  const Analysis& a = page.analysis;
  std::vector<HtmlTable::Column> columns{{"Cause"}, {time_column(a), true}, {"Share", true}};
  const std::size_t apart =
      a.devices.size() > 1 ? std::min<std::size_t>(a.devices.size(), most_device_columns) : 0;
  std::vector<CauseTimes> of_devices;
  for (std::size_t d = 0; d < apart; ++d) {
    columns.push_back(
        {fmt::format("Device {}", a.trace.devices[a.devices[d].device].ordinal), true});
    of_devices.push_back(times_of(page, a.account.devices[d]));
  }
  columns.push_back({"Share, drawn"});

  HtmlTable table(fmt::format("Every nanosecond of {} in exactly one cause",
                              a.has_steps() ? "every " + a.words().noun : "the window"),
                  columns);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  const double all_ns = page.report.step.total_ns(a);
  for (const auto& [cause, ns] : causes) {
    if (ns <= 0) continue;
    const double share = ns / all_ns;
    std::vector<Cell> cells{cause_label(cause), Cell(duration(ns / page.steps()), ns),
                            Cell::share(share)};
    for (std::size_t d = 0; d < apart; ++d) {
      cells.push_back(
          Cell::share(time_of(of_devices[d], cause) / std::max(sum_of(of_devices[d]), 1.0)));
    }
    cells.push_back(Cell::raw(plain_bar(share, name_of(activity_of(cause))), share));
    table.row(cells);
  }
  return table;
}

// What has to become shorter before the step does.
std::string path_table(const ReportPage& page) {
  if (!page.report.replay || page.report.replay->path().items.empty()) return "";
  const Path& p = page.report.replay->path();
  HtmlTable table(
      fmt::format("What {} waits for: every nanosecond on one thing, walked back from "
                  "the end along what each point waited for last",
                  page.analysis.words().a),
      {{"Waits for"}, {time_column(page.analysis), true}, {"Share", true}, {"Share, drawn"}});
  const double step_ns = p.step_ns();
  double small_ns = 0;
  std::size_t small_count = 0;
  const auto add = [&](const std::string& name, double ns) {
    const double share = ns / step_ns;
    table.row({name, Cell(duration(ns), ns), Cell::share(share),
               Cell::raw(plain_bar(share, "worth"), share)});
  };
  for (const PathItem& item : p.items) {
    if (p.step_ns(item) < least_path_share * step_ns) {
      small_ns += p.step_ns(item);
      ++small_count;
      continue;
    }
    const std::string device = path_device(page.analysis, item);
    add(page.cut(path_label(item.kind, item.name) + (device.empty() ? "" : " (" + device + ")")),
        p.step_ns(item));
  }
  if (small_count > 0)
    add(fmt::format("{} more, below {} each", small_count, percent(least_path_share)), small_ns);
  return table.html();
}

// What every colour of the overview means.
std::string legend_of_all() {
  std::vector<StackPart> all;
  for (std::size_t i = 0; i < account_activities; ++i)
    all.push_back({"", static_cast<Activity>(i), 1});
  return legend(all);
}

}  // namespace

std::string account_section(const ReportPage& page) {
  const Analysis& a = page.analysis;
  if (a.total_ns() == 0) return "";
  const bool several = a.devices.size() > 1;
  const CauseTimes causes = times_of(page);
  const std::vector<StackPart> parts = stack_of(causes);
  const std::string what = a.has_steps() ? "the mean " + a.words().noun : "all of it";
  std::string out =
      element("p", busy_text(a, page.report.step)) +
      element("p", bound_verdict_text(a, page.report.step)) +
      stacked_bar(several ? what + " over devices" : what, parts, duration(page.report.step.ns));
  if (several) out += device_bars(page);
  return out + legend(parts) + "<details><summary>As a table</summary>" +
         account_table(page, causes).html() + "</details>\n" + path_table(page);
}

std::string overview_section(const ReportPage& page, TimelineData& timelines) {
  if (page.analysis.total_ns() == 0 || page.allowed.parts == 0) return "";
  const Overview o = overview_of(page.analysis, page.allowed.parts, page.allowed.steps);
  const std::size_t view = timelines.add(o, page.report, page.findings_shown());
  std::string out = remark(fmt::format(
      "What each device did over time{}, and above it each finding's evidence: choose a "
      "mark to go to its finding.",
      page.analysis.has_steps() ? ", the " + page.analysis.words().many : ""));
  if (o.devices_left_out > 0) out += more_devices(o.devices_left_out, "are not drawn");
  return out +
         fmt::format("<figure class=timeline id=timeline-overview data-view={}></figure>\n", view) +
         legend_of_all();
}

std::string steps_section(const ReportPage& page) {
  const Analysis& a = page.analysis;
  if (a.total_ns() == 0 && !a.has_steps()) return "";
  if (!a.has_steps())
    return element("p",
                   "Nothing was found in this report that repeats, so the window stands for all.");
  Ns longest_ns = 0;
  for (const Ns ns : a.step_lengths()) longest_ns = std::max(longest_ns, ns);
  std::string out;
  for (std::size_t d = 0; d < a.devices.size() && d < most_strips; ++d) {
    std::vector<StripDot> steps;
    for (const Step& s : a.devices[d].steps)
      steps.push_back({static_cast<double>(s.span.start) / 1e9, s.span.length()});
    out += strip_plot(device_label(a.trace, a.devices[d].device), steps,
                      {StripAxis::Of::seconds, a.words()}, longest_ns, page.allowed.steps / 2);
  }
  if (a.devices.size() > most_strips)
    out += more_devices(a.devices.size() - most_strips, "are not drawn");
  return out;
}

}  // namespace gh
