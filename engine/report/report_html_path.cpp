// What a step waits for, and which findings are about it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;
using ItemKey = std::pair<PathItem::Kind, std::string>;

// Of the path, for a line of its own.
constexpr double least_path_share = 0.005;
// Of an item's time that a fix has to change before it is said to be about it.
constexpr double least_changed_share = 0.05;

// What an operation of the path is an item of. The path tells apart collectives that waited for
// ranks outside of the report; findings do not.
ItemKey item_of(const Analysis& a, Row op) {
  const Ops& ops = a.trace.ops;
  if (ops.kind[op] == OpKind::graph) return {PathItem::Kind::compute, "graph"};
  if (crosses_link(ops.copy[op])) return {PathItem::Kind::copy, name_of(ops.copy[op])};
  const std::string& kernel = a.kernel_class(op);
  if (a.is_collective(op)) return {PathItem::Kind::communication, ""};
  return {PathItem::Kind::compute, kernel.empty() ? "device_copy" : kernel};
}

ItemKey key_of(const PathItem& item) {
  return {item.kind, item.kind == PathItem::Kind::communication ? "" : item.name};
}

// Whether evidence covers about the same stretch of time.
bool is_about(Span evidence, Span stretch) {
  const Ns both = std::min(evidence.end, stretch.end) - std::max(evidence.start, stretch.start);
  return both > 0 && 2 * both >= std::max(evidence.length(), stretch.length());
}

// Which findings are about each item of the path: those whose fix changes a part of its time, by
// the rows that the change names, and those whose evidence is its longest stretch.
class FindingsOfPath {
 public:
  FindingsOfPath(const ReportPage& page, const Path& path) : a_(page.analysis) {
    for (const PathPart& part : path.parts) {
      if (part.of == PathPart::Of::operation) on_path_ops_[part.row] += part.span.length();
      if (part.of == PathPart::Of::call) on_path_calls_[part.row] += part.span.length();
    }
    note_latencies(path);
    for (std::size_t f = 0; f < page.findings_shown(); ++f)
      look_at(page.report.findings[f], f + 1, path);
  }

  // Numbers of findings, counted from 1.
  std::vector<std::size_t> of(const PathItem& item) const {
    const auto at = found_.find(key_of(item));
    return at == found_.end() ? std::vector<std::size_t>()
                              : std::vector<std::size_t>(at->second.begin(), at->second.end());
  }

 private:
  // The operation that each launch latency was waited for: what lies between it and its call.
  void note_latencies(const Path& path) {
    for (std::size_t i = 0; i + 1 < path.parts.size(); ++i) {
      const PathPart &later = path.parts[i], &earlier = path.parts[i + 1];
      if (later.of == PathPart::Of::operation && earlier.of == PathPart::Of::call &&
          later.span.start > earlier.span.end)
        latency_of_op_[later.row] += later.span.start - earlier.span.end;
    }
  }

  void look_at(const Finding& f, std::size_t number, const Path& path) {
    std::map<ItemKey, Ns> changed;
    for (const Change& c : f.changes) {
      for (const Row call : calls_of(c))
        if (const auto at = on_path_calls_.find(call); at != on_path_calls_.end())
          changed[{PathItem::Kind::call, a_.trace.names[a_.trace.calls.name[call]]}] += at->second;
      for (const Row op : ops_of(c)) {
        if (const auto at = on_path_ops_.find(op); at != on_path_ops_.end())
          changed[item_of(a_, op)] += at->second;
        if (traits_of(c).moves_launches)
          if (const auto at = latency_of_op_.find(op); at != latency_of_op_.end())
            changed[{PathItem::Kind::launch_latency, ""}] += at->second;
      }
    }
    for (const PathItem& item : path.items) {
      const auto at = changed.find(key_of(item));
      const bool changes =
          at != changed.end() &&
          static_cast<double>(at->second) >= least_changed_share * static_cast<double>(item.ns);
      if (changes || is_seen_in(f, item)) found_[key_of(item)].insert(number);
    }
  }

  // Of the host's time and of waits no rows are named: the longest stretch stands for them.
  static bool is_seen_in(const Finding& f, const PathItem& item) {
    if (item.kind == PathItem::Kind::compute || item.kind == PathItem::Kind::copy ||
        item.kind == PathItem::Kind::rest || item.longest.length() == 0)
      return false;
    for (const Change& c : f.changes)
      for (const HostSpan& h : host_of(c))
        if (is_about(h.span, item.longest)) return true;
    return std::any_of(f.evidence.begin(), f.evidence.end(),
                       [&](const Evidence& e) { return is_about(e.span, item.longest); });
  }

  const Analysis& a_;
  std::map<Row, Ns> on_path_ops_, on_path_calls_, latency_of_op_;
  std::map<ItemKey, std::set<std::size_t>> found_;
};

// What stands for an item in the bar.
Activity activity_of_item(const PathItem& item) {
  switch (item.kind) {
    case PathItem::Kind::compute: return activity_of(cause_name(item.name));
    case PathItem::Kind::copy: return Activity::copy;
    case PathItem::Kind::communication: return Activity::communication;
    case PathItem::Kind::launch_latency: return Activity::idle_launch;
    case PathItem::Kind::call: return Activity::call;
    case PathItem::Kind::host: return Activity::range;
    default: return Activity::idle_other;
  }
}

std::string legend_of_path(const std::vector<StackPart>& parts) {
  const std::vector<std::pair<Activity, std::string>> meanings{
      {Activity::products, label_of(Activity::products)},
      {Activity::attention, label_of(Activity::attention)},
      {Activity::kernels, label_of(Activity::kernels)},
      {Activity::communication, path_label(PathItem::Kind::communication, "")},
      {Activity::copy, "copies"},
      {Activity::idle_launch, path_label(PathItem::Kind::launch_latency, "")},
      {Activity::call, "CUDA calls"},
      {Activity::range, "the host's own work"},
      {Activity::idle_other, "gaps and what nothing recorded explains"}};
  std::vector<LegendItem> items;
  for (const auto& [activity, meaning] : meanings)
    if (std::any_of(parts.begin(), parts.end(),
                    [of = activity](const StackPart& p) { return p.activity == of; }))
      items.emplace_back(name_of(activity), meaning);
  return legend(items);
}

}  // namespace

std::string path_section(const ReportPage& page) {
  if (!page.report.replay || page.report.replay->path().items.empty()) return "";
  const Analysis& a = page.analysis;
  const Path& p = page.report.replay->path();
  const FindingsOfPath findings(page, p);
  const double step_ns = p.step_ns();
  HtmlTable table("What takes most comes first",
                  {{"Waits for"},
                   {a.has_steps() ? capitalized(a.words().per) : "Time", true},
                   {"Share", true},
                   {"Share, drawn"},
                   {"Findings about it"}});
  table.searched_as("");
  table.becomes_lines();
  std::vector<StackPart> parts;
  const auto add = [&](const std::string& name, double ns, const std::string& links) {
    const double share = ns / step_ns;
    table.row({name, Cell(duration(ns), ns), Cell::share(share),
               Cell::raw(plain_bar(share, "worth"), share), Cell::raw(links)});
  };
  const PathLines path = path_lines(p, least_path_share);
  for (const PathLine& line : path.lines) {
    parts.push_back({page.cut(line.label), activity_of_item(*line.item), line.fraction});
    std::string name = line.label;
    if (const std::string device = path_device(a, *line.item); !device.empty())
      name += fmt::format(" ({})", device);
    std::string links;
    for (const std::size_t number : findings.of(*line.item))
      links +=
          fmt::format("{}<a href=\"#finding-{}\">{}. {}</a>", links.empty() ? "" : "<br>", number,
                      number, escaped(page.cut(page.report.findings[number - 1].title, 60)));
    add(page.cut(name), line.ns, links);
  }
  if (path.small_count > 0)
    add(fmt::format("{} more, below {} each", path.small_count, percent(least_path_share)),
        path.small_ns, "");
  return remark(fmt::format("Each moment of {} is put down to the one thing that held it up then. "
                            "Only what is listed here makes {} shorter.",
                            a.words().a, a.words().is_window() ? "it" : "the " + a.words().noun)) +
         stacked_bar(a.has_steps() ? "the mean " + a.words().noun : "all of it", parts,
                     duration(step_ns)) +
         legend_of_path(parts) + table.html(12);
}

std::string waits_section(const ReportPage& page) {
  HtmlTable table("What costs most comes first", {{"Waits in"},
                                                  {"Blocked " + page.analysis.words().per, true},
                                                  {"Saves", true},
                                                  {"Share", true}});
  table.searched_as("");
  table.becomes_lines();
  std::size_t calls = 0;
  std::vector<std::string> silent;
  for (const WaitLine& line : wait_lines(page.report, 0)) {
    if (line.wait->what == WaitFor::unrecorded) {
      silent.push_back(escaped(page.cut(line.label)));
      continue;
    }
    ++calls;
    table.row({page.cut(line.label),
               Cell(duration(line.wait->blocked_ns), static_cast<double>(line.wait->blocked_ns)),
               Cell(line.saves, static_cast<double>(line.wait->saves_ns)),
               Cell::share(line.fraction)});
  }
  std::string section;
  if (calls > 0)
    section = remark(
                  "What the host does after a wait would run beside the GPU if it did not wait. "
                  "Each is replayed without the wait, and without what the profiler adds; the GPU "
                  "may lose less than the host is blocked, or more.") +
              table.html(8);
  if (!silent.empty()) section += remark("Waits that no call shows:") + bullets(silent, "");
  return section;
}

}  // namespace gh
