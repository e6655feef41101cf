// Where the time goes: the account, the whole window, the lengths of steps.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/meetings.hpp"
#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_strips = 16, most_device_columns = 8;

CauseTimes times_of(const ReportPage& page, std::size_t device) {
  const Analysis& a = page.analysis;
  return cause_times(a, page.report.step, a.account.devices[device]);
}

std::string more_devices(std::size_t count, const char* what) {
  return remark(fmt::format("{} more devices {}.", count, what));
}

// The device, and its rank where the report has several processes: counted as --rank does.
std::string row_label(const Analysis& a, std::size_t device) {
  const DeviceSteps& d = a.devices[device];
  const std::vector<Process>& processes = a.trace.processes;
  const std::string label = device_label(a.trace, d.device);
  if (d.process >= processes.size() || processes.size() < 2) return label;
  std::vector<std::uint16_t> ranks;
  for (const DeviceSteps& of : a.devices)
    if (std::find(ranks.begin(), ranks.end(), of.process) == ranks.end())
      ranks.push_back(of.process);
  return fmt::format("rank {}, {}, process {}",
                     std::find(ranks.begin(), ranks.end(), d.process) - ranks.begin(), label,
                     processes[d.process].pid);
}

// The heading of times that are a step's, or the window's.
std::string time_column(const Analysis& a) {
  return a.has_steps() ? capitalized(a.words().per) : "Time";
}

// By analysed device: the time in which it had come to a collective, computed nothing, and waited
// for other ranks to come.
std::vector<double> waits_for_ranks(const Analysis& a) {
  const Trace& t = a.trace;
  const std::vector<std::size_t> place = a.slots();
  std::vector<std::vector<Span>> waits(a.devices.size());
  for (const Meeting& members : meetings(a, 0, static_cast<Row>(t.ops.size()))) {
    Ns last = 0;
    for (const Row op : members) last = std::max(last, t.ops.start[op]);
    for (const Row op : members)
      if (const std::size_t d = place[t.device_of(op)]; d < waits.size() && t.ops.start[op] < last)
        waits[d].push_back({t.ops.start[op], last});
  }
  std::vector<double> ns;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    std::vector<Span> raw;
    a.each_op_in_steps(d, [&](Row op) {
      if (t.ops.kind[op] != OpKind::copy && !a.is_collective(op)) raw.push_back(t.span_of(op));
    });
    const Spans waiting = difference(united(std::move(waits[d])), united(std::move(raw)));
    Ns within = 0;
    for (const Span& step : a.account.devices[d].window) within += overlap(waiting, step);
    ns.push_back(static_cast<double>(within));
  }
  return ns;
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
    of_devices.push_back(times_of(page, d));
  }
  columns.push_back({"Share, drawn"});

  HtmlTable table(fmt::format("Every nanosecond of {} in exactly one cause",
                              a.has_steps() ? "every " + a.words().noun : "the window"),
                  columns);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CauseTime& x, const CauseTime& y) { return x.ns > y.ns; });
  const double all_ns = page.report.step.total_ns(a);
  for (const auto& [cause, ns, recorded_ns] : causes) {
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
  const CauseTimes causes = cause_times(a, page.report.step);
  const std::vector<StackPart> parts = stack_of(causes);
  const std::string what = a.has_steps() ? "the mean " + a.words().noun : "all of it";
  std::string out =
      element("p", busy_text(a, page.report.step)) +
      element("p", bound_verdict_text(a, page.report.step)) +
      stacked_bar(several ? what + " over devices" : what, parts, duration(page.report.step.ns));
  const HtmlTable table = account_table(page, causes);
  return out + legend(parts) +
         folded(fmt::format("As a table ({} causes)", table.rows()), table.html());
}

std::string devices_section(const ReportPage& page) {
  const Analysis& a = page.analysis;
  if (a.total_ns() == 0 || a.devices.size() < 2) return "";
  const std::size_t shown = std::min(a.devices.size(), page.allowed.devices);
  const std::vector<double> waited_ns = waits_for_ranks(a);
  const bool any_waits =
      std::any_of(waited_ns.begin(), waited_ns.end(), [](double ns) { return ns > 0; });
  std::vector<CauseTimes> times;
  std::vector<double> means_ns;
  double longest_ns = 1;
  for (std::size_t d = 0; d < shown; ++d) {
    times.push_back(times_of(page, d));
    means_ns.push_back(sum_of(times[d]) /
                       static_cast<double>(std::max<std::size_t>(a.devices[d].steps.size(), 1)));
    longest_ns = std::max(longest_ns, means_ns.back());
  }
  std::vector<HtmlTable::Column> columns{{"Device"},
                                         {"Mean " + a.words().noun, true},
                                         {"Busy", true},
                                         {"Exposed communication", true}};
  if (any_waits) columns.push_back({"Waits for other ranks", true});
  columns.insert(columns.end(), {{"Idle", true}, {"Where it goes"}});
  HtmlTable table(
      fmt::format("A row a device; each bar is as long as its mean {}{}", a.words().noun,
                  any_waits
                      ? ". A device waits for other ranks from when it starts a collective to "
                        "when the last of them does, while it computes nothing"
                      : ""),
      columns);
  table.becomes_lines();
  for (std::size_t d = 0; d < shown; ++d) {
    const auto steps = static_cast<double>(std::max<std::size_t>(a.devices[d].steps.size(), 1));
    const double all_ns = std::max(sum_of(times[d]), 1.0);
    double idle_ns = 0;
    for (const CauseTime& c : times[d])
      if (Cause(c.cause).is_idle()) idle_ns += c.ns;
    const std::string label = row_label(a, d);
    std::vector<Cell> cells{
        page.cut(label, 200), Cell::time(means_ns[d]), Cell::share(1 - idle_ns / all_ns),
        Cell::time(time_of(times[d], cause_name(Cause::Of::communication)) / steps)};
    if (any_waits)
      cells.push_back(
          Cell::time(page.report.step.of(a, Cause::Of::communication) * waited_ns[d] / steps));
    cells.push_back(Cell::time(idle_ns / steps));
    cells.push_back(
        Cell::raw(stack_html(label, stack_of(times[d]), means_ns[d] / longest_ns), means_ns[d]));
    table.row(cells);
  }
  return table.html() + (shown < a.devices.size()
                             ? more_devices(a.devices.size() - shown, "are in the JSON")
                             : "");
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
    return element(
        "p", "No repetition was found in this report, so all figures refer to the whole window.");
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
