// One report, and one comparison, as a page to look at.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

using Json = nlohmann::ordered_json;

// A page of any report stays below 2 MB, so that it can be sent by mail. What a page has room for;
// the next smaller one is taken where that does not do.
struct Allowance {
  std::size_t pieces;    // of all findings' timelines
  std::size_t findings;  // shown in full
  std::size_t text;      // characters of a name or sentence
  std::size_t parts;     // of the overview; 0 leaves it out
  std::size_t steps;     // of the overview, and dots of each strip
  std::size_t devices;   // with a bar and a strip of their own
};
constexpr std::size_t most_bytes = 1'950'000;
constexpr Allowance allowances[] = {{30'000, 40, 2'000, 8'000, 800, 64},
                                    {8'000, 20, 600, 4'000, 400, 32},
                                    {1'500, 8, 250, 1'000, 100, 16},
                                    {0, 3, 120, 0, 50, 8}};
constexpr std::size_t views_of_first = 5, first_findings = 8, rows_open = 6, most_evidence = 10,
                      most_kernels_shown = 30, most_strips = 16;

// Evidence, kernels and the whole window as the script draws them.
class Drawings {
 public:
  explicit Drawings(std::size_t most_text) : most_text_(most_text) {}

  // `findings`: so many have a place on the page to lead to.
  std::size_t add(const Overview& o, const Report& report, std::size_t findings) {
    Json lanes = Json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(findings, 30); ++i) {
      const Finding& f = report.findings[i];
      Json marks = Json::array();
      for (std::size_t e = 0; e < f.evidence.size(); ++e)
        marks.push_back({f.evidence[e].span.start - o.span.start, f.evidence[e].span.length(), e});
      if (!marks.empty())
        lanes.push_back({{"label", fmt::format("{}. {}", i + 1, f.rule)},
                         {"title", shortened(f.title, 200)},
                         {"href", fmt::format("#finding-{}", i + 1)},
                         {"severity", name_of(f.severity)},
                         {"marks", marks}});
    }
    for (const Overview::Device& d : o.devices) {
      if (!d.steps.empty()) {
        Json steps = Json::array();
        for (const Step& s : d.steps)
          steps.push_back(piece({s.span, fmt::format("step {}", s.number), Activity::step, 1, 0},
                                o.span.start));
        lanes.push_back({{"label", fmt::format("steps, {}", d.label.substr(0, d.label.find(':')))},
                         {"pieces", steps}});
      }
      Json parts = Json::array();
      for (const auto& shares : d.parts) {
        Json list = Json::array();
        for (std::size_t s = 0; s < shares.size(); ++s)
          if (const auto permille = std::lround(1000 * shares[s]); permille > 0) {
            list.push_back(s);
            list.push_back(permille);
          }
        parts.push_back(std::move(list));
      }
      lanes.push_back({{"label", d.label}, {"parts", std::move(parts)}});
    }
    return push(
        {{"label",
          "The whole window: steps, what each device did, and where findings have their evidence"},
         {"origin", o.span.start},
         {"length", o.span.length()},
         {"detail", {0, o.span.length()}},
         {"evidence", nullptr},
         {"lanes", std::move(lanes)}});
  }

  std::size_t add(const View& v, const std::string& label) {
    Json lanes = Json::array();
    for (const Lane& l : v.lanes) {
      Json pieces = Json::array();
      for (const Piece& p : l.pieces) pieces.push_back(piece(p, v.span.start));
      lanes.push_back({{"label", shortened(l.label, 80)}, {"pieces", std::move(pieces)}});
    }
    return push({{"label", label},
                 {"origin", v.span.start},
                 {"length", v.span.length()},
                 {"detail", {v.detail.start - v.span.start, v.detail.end - v.span.start}},
                 {"evidence", {v.evidence.start - v.span.start, v.evidence.end - v.span.start}},
                 {"lanes", std::move(lanes)}});
  }

  std::string json() const {
    Json activities = Json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(Activity::count); ++i)
      activities.push_back({{"name", name_of(static_cast<Activity>(i))},
                            {"label", label_of(static_cast<Activity>(i))}});
    return Json{{"activities", activities}, {"names", names_}, {"views", views_}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  std::size_t push(Json view) {
    views_.push_back(std::move(view));
    return views_.size() - 1;
  }
  Json piece(const Piece& p, Ns origin) {
    Json j{p.span.start - origin, p.span.length(), name(p.name), static_cast<int>(p.activity)};
    if (p.count > 1) {
      j.push_back(p.count);
      j.push_back(p.busy_ns);
    }
    return j;
  }
  // Each name once; -1 where there is none, or where names alone would fill the page.
  std::int64_t name(const std::string& text) {
    if (text.empty()) return -1;
    const std::string shown = shortened(text, std::min<std::size_t>(most_text_, 160));
    if (const auto it = ids_.find(shown); it != ids_.end()) return it->second;
    if (bytes_ > 250'000) return -1;
    bytes_ += shown.size();
    names_.push_back(shown);
    return ids_.emplace(shown, static_cast<std::int64_t>(names_.size() - 1)).first->second;
  }
  std::size_t most_text_, bytes_ = 0;
  std::unordered_map<std::string, std::int64_t> ids_;
  Json names_ = Json::array(), views_ = Json::array();
};

std::string verdict_text(const Analysis& a, const Report& report) {
  if (a.total_ns() == 0) return "Nothing could be judged: the report holds no GPU work.";
  const Finding* first = report.findings.empty() ? nullptr : &report.findings.front();
  if (first && first->voids) return fmt::format("Do not trust the rest: {}.", first->title);
  if (const Quiet quiet = quiet_text(a, report); !quiet.text.empty()) return quiet.text;
  if (!first) return "No rule could look at this report.";
  const std::string worth = worth_text(*first, a);
  std::string text =
      fmt::format("{}{}", first->title, worth.empty() ? "" : ": fixing it is worth " + worth);
  if (report.plan && report.plan->fixes.size() > 1) {
    const Plan& p = *report.plan;
    text += fmt::format(", and {} fixes together take the step from {} to {}{}", p.fixes.size(),
                        duration(p.now.step_ns), p.ceiling.empty() ? "" : "no less than ",
                        duration(p.fixes.back().step.step_ns));
  }
  return text + '.';
}

// An account, or a part of it, as the parts of a bar: in the order of activities, the largest first
// within one.
std::vector<StackPart> stack_of(const std::vector<std::pair<std::string, double>>& causes) {
  double all = 0;
  for (const auto& c : causes) all += c.second;
  std::vector<StackPart> parts;
  for (const auto& [cause, ns] : causes)
    if (ns > 0) parts.push_back({cause_label(cause), activity_of(cause), ns / std::max(all, 1.0)});
  std::stable_sort(parts.begin(), parts.end(), [](const StackPart& x, const StackPart& y) {
    return x.activity != y.activity ? x.activity < y.activity : x.fraction > y.fraction;
  });
  return parts;
}

std::vector<std::pair<std::string, double>> causes_of(
    const Analysis& a, const std::vector<const DeviceAccount*>& devices) {
  std::vector<std::pair<std::string, double>> causes;
  for (std::size_t c = 0; c < a.account.causes.size(); ++c) {
    double ns = 0;
    for (const DeviceAccount* d : devices)
      for (const auto& step : d->step_ns) ns += static_cast<double>(step[c]);
    causes.emplace_back(a.account.causes[c], ns);
  }
  return causes;
}

// The time of one cause among them.
double of(const std::vector<std::pair<std::string, double>>& causes, const std::string& cause) {
  const auto at =
      std::find_if(causes.begin(), causes.end(), [&](const auto& c) { return c.first == cause; });
  return at == causes.end() ? 0 : at->second;
}

class ReportPage {
 public:
  ReportPage(const Analysis& a, const Report& report, const std::vector<Rule>& rules,
             const Allowance& allowed)
      : a_(a),
        t_(a.trace),
        report_(report),
        rules_(rules),
        allowed_(allowed),
        drawings_(allowed.text) {}

  std::string html() {
    const std::string verdict = verdict_text(a_, report_);
    // The overview is drawing 0, which others do not wait for.
    const std::string overview = overview_part(), findings = findings_part();
    std::string body =
        "<a class=skip href=\"#findings\">Skip to the findings</a>\n<header><p "
        "class=faint>gh-advise</p>" +
        element("h1", cut(verdict)) + '\n' + first_advice() + where() + "</header>\n<main>\n";
    body += section("plan", "What to fix first", plan_part()) +
            section("account", a_.has_steps() ? "Where a step goes" : "Where the time goes",
                    account_part()) +
            section("overview", "The whole window", overview) +
            section("findings", "Findings", findings.empty() ? element("p", "None.") : findings) +
            section("steps", "How long steps take", steps_part()) +
            section("kernels", "Kernels", kernels_part()) +
            section("copies", "Copies over the link", copies_part()) +
            section("rules", "What else was looked at", rules_part());
    body += fmt::format(
        "</main>\n<footer>Made by gh-advise {} from this report alone; nothing on this page is "
        "fetched from anywhere. Timelines: drag or arrow keys pan, Ctrl + wheel or + and - zoom, n "
        "and p go from piece to piece, 0 shows the evidence.</footer>\n",
        GH_ADVISE_VERSION);
    return html_page("gh-advise: " + shortened(t_.path, 100), body, drawings_.json());
  }

 private:
  std::string cut(const std::string& text) const { return shortened(text, allowed_.text); }

  // What to do, before everything else.
  std::string first_advice() const {
    if (report_.findings.empty() || report_.findings.front().advice.empty() ||
        report_.findings.front().severity == Severity::note)
      return "";
    const Finding& f = report_.findings.front();
    return "<p class=first><strong>Do first:</strong> " +
           escaped(shortened(f.advice.front(), 400)) +
           fmt::format(
               " <span class=faint>({} confidence, <a href=\"#finding-1\">why</a>)</span></p>\n",
               escaped(f.confidence));
  }

  std::string where() const {
    std::vector<std::string> lines{
        fmt::format("{}, {}, schema {}", t_.path, t_.producer, t_.schema)};
    for (std::size_t d = 0; d < a_.devices.size() && d < allowed_.devices; ++d)
      lines.push_back(device_text(a_, a_.devices[d]));
    if (a_.devices.size() > allowed_.devices)
      lines.push_back(fmt::format("{} more devices", a_.devices.size() - allowed_.devices));
    for (const std::string& note : side_notes(a_)) lines.push_back(note);
    for (std::string& l : lines) l = shortened(l, 400);
    if (lines.size() > 80) lines.resize(80);
    return bullets(lines, "where");
  }

  // What sums are of.
  std::string mean_of() const {
    if (!a_.has_steps()) return "";
    return a_.devices.front().source == StepSource::selected_range ? ", of a mean stretch"
                                                                   : ", of a mean step";
  }

  std::string link(std::size_t number) const {
    return fmt::format("<a href=\"#finding-{0}\">{0}. {1}</a>", number,
                       escaped(cut(report_.findings[number - 1].title)));
  }

  // With a replay the fixes one after the other, otherwise what each finding is worth alone.
  std::string plan_part() const {
    std::string out;
    if (report_.plan && !report_.plan->fixes.empty()) {
      const Plan& p = *report_.plan;
      const auto full = static_cast<double>(std::max<Ns>(p.now.step_ns, 1));
      const auto numbers = fix_numbers(report_);
      HtmlTable table(
          p.ceiling.empty()
              ? "The step with these fixes made, one after the other; brackets show between what "
                "it is expected once measured"
              : "The step with these fixes made, one after the other: no less than this",
          {{"Fix"}, {"Step then", true}, {"Between", true}, {"Length of the step"}});
      table.row({"as it is, without what the profiler adds",
                 HtmlTable::Cell(step_text(p, p.now), full), "",
                 HtmlTable::Cell::raw(plain_bar(1, "worth"))});
      for (std::size_t i = 0; i < p.fixes.size(); ++i) {
        const Prediction& s = p.fixes[i].step;
        const auto number = static_cast<std::size_t>(std::stoul(numbers[i].back()));
        const auto range = std::pair(static_cast<double>(s.least_ns) / full,
                                     static_cast<double>(s.most_ns) / full);
        table.row({number <= allowed_.findings
                       ? HtmlTable::Cell::raw((i == 0 ? "" : "and ") + link(number))
                       : HtmlTable::Cell(p.fixes[i].rule),
                   HtmlTable::Cell(step_text(p, s), static_cast<double>(s.step_ns)),
                   p.ceiling.empty()
                       ? HtmlTable::Cell(
                             fmt::format("{} and {}", duration(s.least_ns), duration(s.most_ns)),
                             static_cast<double>(s.least_ns))
                       : HtmlTable::Cell("unknown"),
                   HtmlTable::Cell::raw(
                       plain_bar(static_cast<double>(s.step_ns) / full, "worth",
                                 p.ceiling.empty() ? std::optional(range) : std::nullopt))});
      }
      out += table.html();
      for (const std::string& note : plan_notes(report_))
        out += element("p", cut(note), "class=faint");
    }
    HtmlTable table("Every finding, the best fix first, and what it is worth alone",
                    {{"Finding"}, {"Severity"}, {"Worth"}, {"Of the step"}});
    for (std::size_t i = 0; i < report_.findings.size() && i < 200; ++i) {
      const Finding& f = report_.findings[i];
      const std::string worth = worth_text(f, a_);
      const HtmlTable::Cell title =
          i < allowed_.findings
              ? HtmlTable::Cell::raw(link(i + 1))
              : HtmlTable::Cell(fmt::format("{}. {}", i + 1, shortened(f.title, 200)));
      table.row({title,
                 HtmlTable::Cell::raw(
                     fmt::format("<span class=\"severity {0}\">{0}</span>", name_of(f.severity)),
                     static_cast<double>(f.severity)),
                 HtmlTable::Cell(worth.empty() ? "not told" : worth,
                                 static_cast<double>(f.recoverable_ns)),
                 HtmlTable::Cell::raw(plain_bar(f.recoverable_fraction, "worth"),
                                      f.recoverable_fraction)});
    }
    out += table.html();
    return out;
  }

  std::string account_part() const {
    if (a_.total_ns() == 0) return "";
    std::vector<const DeviceAccount*> all;
    for (const DeviceAccount& d : a_.account.devices) all.push_back(&d);
    const auto causes = causes_of(a_, all);
    const std::vector<StackPart> parts = stack_of(causes);
    const std::string what = a_.has_steps() ? "the mean step" : "all of it";
    std::string out =
        element("p", busy_text(a_)) +
        stacked_bar(a_.devices.size() > 1 ? what + " over devices" : what, parts,
                    duration(a_.total_ns() / std::max<std::int64_t>(a_.step_count(), 1)));
    if (a_.devices.size() > 1) {
      const std::size_t shown = std::min(a_.devices.size(), allowed_.devices);
      double longest = 1;
      std::vector<double> means;
      for (std::size_t d = 0; d < shown; ++d) {
        means.push_back(static_cast<double>(total(a_.account.devices[d].window)) /
                        static_cast<double>(std::max<std::size_t>(a_.devices[d].steps.size(), 1)));
        longest = std::max(longest, means.back());
      }
      for (std::size_t d = 0; d < shown; ++d) {
        const Process* process = a_.devices[d].process < t_.processes.size()
                                     ? &t_.processes[a_.devices[d].process]
                                     : nullptr;
        out += stacked_bar(fmt::format("{}{}", device_label(t_, a_.devices[d].device),
                                       process && t_.processes.size() > 1
                                           ? fmt::format(", process {}", process->pid)
                                           : ""),
                           stack_of(causes_of(a_, {&a_.account.devices[d]})), duration(means[d]),
                           means[d] / longest);
      }
      if (shown < a_.devices.size())
        out +=
            element("p", fmt::format("{} more devices are in the JSON.", a_.devices.size() - shown),
                    "class=faint");
    }
    out += legend(parts);
    std::vector<HtmlTable::Column> columns{
        {"Cause"}, {a_.has_steps() ? "A step" : "Time", true}, {"Share", true}};
    const std::size_t apart =
        a_.devices.size() > 1 ? std::min<std::size_t>(a_.devices.size(), 8) : 0;
    std::vector<std::vector<std::pair<std::string, double>>> of_devices;
    for (std::size_t d = 0; d < apart; ++d) {
      columns.push_back({fmt::format("Device {}", t_.devices[a_.devices[d].device].ordinal), true});
      of_devices.push_back(causes_of(a_, {all[d]}));
    }
    columns.push_back({"Share, drawn"});
    HtmlTable table("Every nanosecond of every step in exactly one cause", columns);
    std::vector<std::pair<std::string, double>> sorted = causes;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& x, const auto& y) { return x.second > y.second; });
    const auto steps = static_cast<double>(std::max<std::int64_t>(a_.step_count(), 1)),
               whole = static_cast<double>(a_.total_ns());
    for (const auto& [cause, ns] : sorted) {
      if (ns <= 0) continue;
      std::vector<HtmlTable::Cell> cells{cause_label(cause),
                                         HtmlTable::Cell(duration(ns / steps), ns),
                                         HtmlTable::Cell(percent(ns / whole), ns / whole)};
      for (std::size_t d = 0; d < apart; ++d) {
        const double share =
            of(of_devices[d], cause) / static_cast<double>(std::max<Ns>(total(all[d]->window), 1));
        cells.emplace_back(percent(share), share);
      }
      cells.push_back(
          HtmlTable::Cell::raw(plain_bar(ns / whole, name_of(activity_of(cause))), ns / whole));
      table.row(cells);
    }
    return out + "<details><summary>As a table</summary>" + table.html() + "</details>\n";
  }

  std::string overview_part() {
    if (a_.total_ns() == 0 || allowed_.parts == 0) return "";
    const Overview o = overview_of(a_, allowed_.parts, allowed_.steps);
    const std::size_t view =
        drawings_.add(o, report_, std::min(report_.findings.size(), allowed_.findings));
    std::string out = element("p",
                              "What each device did over time, the steps, and above them each "
                              "finding's evidence: choose a mark to go to its finding.",
                              "class=faint");
    if (o.devices_left_out > 0)
      out += element("p", fmt::format("{} more devices are not drawn.", o.devices_left_out),
                     "class=faint");
    return out +
           fmt::format("<figure class=timeline id=timeline-overview data-view={}></figure>\n",
                       view) +
           legend_of_all();
  }

  static std::string legend_of_all() {
    std::vector<StackPart> all;
    for (std::size_t i = 0; i < account_activities; ++i)
      all.push_back({"", static_cast<Activity>(i), 1});
    return legend(all);
  }

  std::string findings_part() {
    std::string out;
    const std::size_t shown = std::min(report_.findings.size(), allowed_.findings);
    if (shown > 0) out += calls_legend();
    std::size_t views = 0;
    for (std::size_t i = 0; i < shown; ++i) views += views_of(i);
    for (std::size_t i = 0; i < shown; ++i)
      out +=
          finding_html(i, views == 0 ? 0 : std::min<std::size_t>(allowed_.pieces / views, 1'500));
    if (shown < report_.findings.size())
      out += element(
          "p",
          fmt::format("{} more findings are listed above; the JSON has all that is known of them.",
                      report_.findings.size() - shown),
          "class=faint");
    return out;
  }

  static std::string calls_legend() {
    std::string out =
        "<ul class=legend aria-label=\"Colours of the timelines\"><li><i class=box></i>the "
        "evidence</li>";
    for (const Activity a : {Activity::range, Activity::call_launch, Activity::call_sync,
                             Activity::call_allocation, Activity::os_call})
      out += fmt::format("<li><i class=\"{}\"></i>{}</li>", name_of(a), label_of(a));
    return out +
           "</ul><p class=faint>GPU work and idle time have the colours above; what is pale is "
           "several things too short to be drawn apart.</p>\n";
  }

  std::size_t views_of(std::size_t i) const {
    return std::min(report_.findings[i].evidence.size(),
                    i < first_findings ? views_of_first : std::size_t{1});
  }

  std::string finding_html(std::size_t i, std::size_t pieces) {
    const Finding& f = report_.findings[i];
    const std::size_t number = i + 1;
    const std::string worth = worth_text(f, a_);
    std::string out = fmt::format(
        "<article class=finding id=finding-{0} tabindex=-1 aria-labelledby=finding-{0}-title><h3 "
        "id=finding-{0}-title>{0}. <span class=\"severity {1}\">{1}</span>: {2} <code "
        "class=faint>{3}</code></h3>\n",
        number, name_of(f.severity), escaped(cut(f.title)), escaped(f.rule));
    if (!worth.empty()) out += "<p>Worth <strong>" + escaped(worth) + "</strong></p>";
    out += element(
        "p", cut(f.message) +
                 (f.confidence == "high" ? "" : fmt::format(" ({} confidence)", f.confidence)));
    if (const std::string text = prediction_text(f); !text.empty())
      out += element("p", "The step: " + cut(text));
    if (!f.follows_from.empty())
      out += element("p", fmt::format("Follows from {}: that fix probably cures this as well.",
                                      f.follows_from));
    std::vector<std::string> advice = f.advice;
    if (advice.size() > 8) advice.resize(8);
    for (std::string& s : advice) s = shortened(s, std::min<std::size_t>(allowed_.text, 600));
    if (!advice.empty()) out += "<h4>What to do</h4>" + bullets(advice, "fix");
    out += evidence_html(f, number, views_of(i), pieces);
    out += concerned_html(f);
    HtmlTable metrics("What was measured",
                      {{"Quantity"}, {"Value", true}, {"Compared with", true}});
    for (std::size_t m = 0; m < f.metrics.size() && m < 20; ++m) {
      const Metric& x = f.metrics[m];
      metrics.row({shortened(x.name, 80), HtmlTable::Cell(shown(x.value, x.unit), x.value),
                   x.threshold ? HtmlTable::Cell(shown(*x.threshold, x.unit), *x.threshold)
                               : HtmlTable::Cell("")});
    }
    out += metrics.html();
    return out + rule_html(f.rule) + "</article>\n";
  }

  std::string evidence_html(const Finding& f, std::size_t number, std::size_t views,
                            std::size_t pieces) {
    if (f.evidence.empty())
      return element("p", "No stretch of the trace stands for it alone.", "class=faint");
    std::string out;
    std::optional<std::size_t> first;
    HtmlTable table(fmt::format("Evidence, the worst first{}",
                                f.evidence.size() > most_evidence
                                    ? fmt::format(": {} of {}", most_evidence, f.evidence.size())
                                    : ""),
                    {{"Show"}, {"At", true}, {"Takes", true}, {"Where"}, {"What"}});
    for (std::size_t e = 0; e < f.evidence.size() && e < most_evidence; ++e) {
      const Evidence& x = f.evidence[e];
      std::string button;
      if (e < views && pieces > 0) {
        const std::size_t view =
            drawings_.add(view_of(a_, x, pieces),
                          fmt::format("Evidence {} of finding {}: {}, for {}", e + 1, number,
                                      seconds(x.span.start), duration(x.span.length())));
        if (!first) first = view;
        button = fmt::format(
            "<button type=button data-show={} data-figure=timeline-{} data-evidence={} "
            "aria-pressed={}>show {}</button>",
            view, number, e, e == 0 ? "true" : "false", e + 1);
      }
      std::string where, what = cut(x.name.empty()   ? x.note
                                    : x.note.empty() ? x.name
                                                     : x.name + " (" + x.note + ")");
      const auto add = [&](const std::string& s) { where += (where.empty() ? "" : ", ") + s; };
      if (x.device >= 0) add(fmt::format("device {}", x.device));
      if (x.stream >= 0) add(fmt::format("stream {}", x.stream));
      if (!x.thread.empty()) add(shortened(x.thread, 80));
      if (!x.source.file.empty())
        what += fmt::format(", {}:{}", shortened(x.source.file, 200), x.source.line);
      table.row({HtmlTable::Cell::raw(button),
                 HtmlTable::Cell(seconds(x.span.start), static_cast<double>(x.span.start)),
                 HtmlTable::Cell(duration(x.span.length()), static_cast<double>(x.span.length())),
                 where, shortened(what, std::min<std::size_t>(allowed_.text, 500))});
    }
    if (first)
      out += fmt::format("<figure class=timeline id=timeline-{} data-view={}></figure>\n", number,
                         *first);
    return out + table.html();
  }

  std::string concerned_html(const Finding& f) const {
    const Concerned c = concerned_by(a_, report_, f);
    HtmlTable table(
        c.per_step ? "Kernels and calls concerned" + mean_of() : "What ran in the evidence",
        {{"Name"},
         {"Kind"},
         {c.per_step && a_.has_steps() ? "A step" : "How many", true},
         {"Time", true},
         {"Each", true}});
    for (std::size_t i = 0; i < c.uses.size(); ++i) {
      const Use& u = c.uses[i];
      table.row(
          {shortened(u.name, std::min<std::size_t>(allowed_.text, 110)), u.kind,
           HtmlTable::Cell(fmt::format("{:.{}f}", u.count,
                                       std::abs(u.count - std::round(u.count)) < 1e-6 ? 0 : 1),
                           u.count),
           HtmlTable::Cell(duration(u.ns), u.ns),
           HtmlTable::Cell(duration(u.ns / std::max(u.count, 1e-9)),
                           u.ns / std::max(u.count, 1e-9))});
    }
    return table.html(rows_open);
  }

  // A rule's documentation once, with its first finding.
  std::string rule_html(const std::string& id) {
    const auto rule =
        std::find_if(rules_.begin(), rules_.end(), [&](const Rule& r) { return r.id == id; });
    if (rule == rules_.end() || !documented_.insert(id).second) return "";
    std::string out = fmt::format("<details><summary>About the rule {}</summary>", escaped(id));
    for (const auto& [title, text] : {std::pair("What it does", rule->what),
                                      {"Why it matters", rule->why},
                                      {"How to fix it", rule->fix},
                                      {"When it is wrong", rule->wrong}})
      out += element("h4", title) +
             element("p", shortened(text, std::min<std::size_t>(allowed_.text, 1'500)));
    return out + "</details>\n";
  }

  std::string steps_part() const {
    if (!a_.has_steps())
      return a_.total_ns() == 0
                 ? ""
                 : element("p",
                           "No steps were found in this report, so the window stands for one.");
    Ns most = 0;
    for (const Ns ns : a_.step_lengths()) most = std::max(most, ns);
    std::string out;
    for (std::size_t d = 0; d < a_.devices.size() && d < most_strips; ++d) {
      std::vector<StripDot> steps;
      for (const Step& s : a_.devices[d].steps)
        steps.push_back({static_cast<double>(s.span.start) / 1e9, s.span.length()});
      out += strip_plot(device_label(t_, a_.devices[d].device), steps, StripAxis::seconds, most,
                        allowed_.steps / 2);
    }
    if (a_.devices.size() > most_strips)
      out += element("p",
                     fmt::format("{} more devices are not drawn.", a_.devices.size() - most_strips),
                     "class=faint");
    return out;
  }

  std::string kernels_part() const {
    struct Sum {
      double count = 0, ns = 0;
    };
    std::map<std::string, Sum> classes;
    std::map<NameId, std::pair<std::string, Sum>> kernels;
    double all = 0;
    for (std::size_t d = 0; d < a_.devices.size(); ++d) {
      for (const Row op : a_.ops_in_steps(d)) {
        if (t_.ops.kind[op] != OpKind::kernel) continue;
        const auto ns = static_cast<double>(t_.ops.end[op] - t_.ops.start[op]);
        const std::string& c = a_.kernel_class(op);
        auto& kernel = kernels.try_emplace(t_.ops.name[op], c, Sum{}).first->second;
        for (Sum* s : {&classes[c], &kernel.second}) {
          ++s->count;
          s->ns += ns;
        }
        all += ns;
      }
    }
    const auto steps = static_cast<double>(std::max<std::int64_t>(a_.step_count(), 1));
    const auto activity = [](const std::string& c) {
      return name_of(c == "collective" ? Activity::communication : activity_of("compute." + c));
    };
    std::vector<std::pair<std::string, Sum>> by_class(classes.begin(), classes.end());
    std::stable_sort(by_class.begin(), by_class.end(),
                     [](const auto& x, const auto& y) { return x.second.ns > y.second.ns; });
    HtmlTable table(
        fmt::format("Classes of kernels{}; kernels side by side count twice here", mean_of()),
        {{"Class"},
         {"Time", true},
         {"Share", true},
         {"Kernels", true},
         {"Each", true},
         {"Share, drawn"}});
    for (const auto& [c, s] : by_class)
      table.row({cause_label("compute." + c).substr(9),
                 HtmlTable::Cell(duration(s.ns / steps), s.ns),
                 HtmlTable::Cell(percent(s.ns / all), s.ns / all),
                 HtmlTable::Cell(fmt::format("{:.1f}", s.count / steps), s.count),
                 HtmlTable::Cell(duration(s.ns / s.count), s.ns / s.count),
                 HtmlTable::Cell::raw(plain_bar(s.ns / all, activity(c)))});
    std::vector<std::pair<NameId, std::pair<std::string, Sum>>> costliest(kernels.begin(),
                                                                          kernels.end());
    std::stable_sort(costliest.begin(), costliest.end(), [](const auto& x, const auto& y) {
      return x.second.second.ns > y.second.second.ns;
    });
    HtmlTable names(fmt::format("The costliest {} of {} kernels",
                                std::min(costliest.size(), most_kernels_shown), costliest.size()),
                    {{"Kernel"},
                     {"Class"},
                     {"Time", true},
                     {"Share", true},
                     {"How many", true},
                     {"Each", true}});
    for (std::size_t i = 0; i < costliest.size() && i < most_kernels_shown; ++i) {
      const auto& [c, s] = costliest[i].second;
      names.row({shortened(kernel_label(t_.names[costliest[i].first]),
                           std::min<std::size_t>(allowed_.text, 300)),
                 c, HtmlTable::Cell(duration(s.ns / steps), s.ns),
                 HtmlTable::Cell(percent(s.ns / all), s.ns / all),
                 HtmlTable::Cell(fmt::format("{:.1f}", s.count / steps), s.count),
                 HtmlTable::Cell(duration(s.ns / s.count), s.ns / s.count)});
    }
    if (names.empty()) return "";
    return table.html() + "<details><summary>The costliest kernels</summary>" + names.html() +
           "</details>\n";
  }

  std::string copies_part() const {
    struct Sum {
      double count = 0, bytes = 0, ns = 0;
    };
    std::map<std::pair<CopyKind, std::string>, Sum> sums;
    double peak = 0;
    for (std::size_t d = 0; d < a_.devices.size(); ++d) {
      peak =
          std::max(peak, a_.classes.peaks(t_.devices[a_.devices[d].device]).host_link_bytes_per_s);
      for (const Row op : a_.ops_in_steps(d)) {
        const CopyKind k = t_.ops.copy[op];
        if (t_.ops.kind[op] != OpKind::copy ||
            (k != CopyKind::h2d && k != CopyKind::d2h && !is_unified(k)))
          continue;
        const MemoryKind host = k == CopyKind::h2d ? t_.ops.source[op] : t_.ops.target[op];
        Sum& s = sums[{k, is_unified(k) ? "unified" : name_of(host)}];
        ++s.count;
        s.bytes += static_cast<double>(t_.ops.bytes[op]);
        s.ns += static_cast<double>(t_.ops.end[op] - t_.ops.start[op]);
      }
    }
    const auto steps = static_cast<double>(std::max<std::int64_t>(a_.step_count(), 1));
    double most = peak;
    for (const auto& [key, s] : sums) most = std::max(most, 1e9 * s.bytes / std::max(s.ns, 1.0));
    HtmlTable table(
        peak > 0 ? fmt::format("Copies between host and device{}; the line is what the link to the "
                               "host reaches in practice, {}",
                               mean_of(), shown(peak, Unit::bytes_per_s))
                 : fmt::format(
                       "Copies between host and device{}; what this GPU's link reaches is unknown",
                       mean_of()),
        {{"Direction"},
         {"Host memory"},
         {"Copies", true},
         {"Bytes", true},
         {"Mean size", true},
         {"Time", true},
         {"Bandwidth", true},
         {"Against the link"}});
    for (const auto& [key, s] : sums) {
      const double rate = 1e9 * s.bytes / std::max(s.ns, 1.0);
      table.row(
          {name_of(key.first), key.second,
           HtmlTable::Cell(fmt::format("{:.1f}", s.count / steps), s.count),
           HtmlTable::Cell(bytes_text(s.bytes / steps), s.bytes),
           HtmlTable::Cell(bytes_text(s.bytes / s.count), s.bytes / s.count),
           HtmlTable::Cell(duration(s.ns / steps), s.ns),
           HtmlTable::Cell(shown(rate, Unit::bytes_per_s), rate),
           HtmlTable::Cell::raw(plain_bar(rate / std::max(most, 1.0), "copy", std::nullopt,
                                          peak > 0 ? std::optional(peak / most) : std::nullopt))});
    }
    return table.html();
  }

  std::string rules_part() const {
    std::string out;
    const auto add = [&](const char* title, std::vector<std::string> lines) {
      if (lines.empty()) return;
      if (lines.size() > 40) lines.resize(40);
      for (std::string& l : lines) l = shortened(l, std::min<std::size_t>(allowed_.text, 600));
      out += element("h3", title) + bullets(lines);
    };
    if (!report_.clean.empty())
      out += element("h3", "Checked and clean") +
             element("p", shortened(fmt::format("{}", fmt::join(report_.clean, ", ")), 4'000));
    add("Not checked", not_checked_text(report_));
    std::vector<std::string> suppressed, failed;
    for (const auto& [s, state] : report_.suppressions)
      if (state == SuppressionState::used) suppressed.push_back(suppressed_text(s));
    for (const Failed& f : report_.failed) failed.push_back(fmt::format("{}: {}", f.rule, f.error));
    add("Suppressed", suppressed);
    add("Rules that failed", failed);
    add("Left out on reading", t_.problems);
    return out;
  }

  const Analysis& a_;
  const Trace& t_;
  const Report& report_;
  const std::vector<Rule>& rules_;
  Allowance allowed_;
  Drawings drawings_;
  std::set<std::string> documented_;
};

// One side of a comparison: its account as a bar, its steps as dots.
std::string side_html(const Comparison& c, bool after, const std::vector<Capture>& captures,
                      double longest_ns, Ns most_ns) {
  std::vector<std::pair<std::string, double>> causes;
  double all = 0;
  for (const CauseChange& x : c.account) {
    causes.emplace_back(x.cause, after ? x.ns.after : x.ns.before);
    all += causes.back().second;
  }
  const std::vector<StackPart> parts = stack_of(causes);
  std::string out =
      "<div>" +
      element("h3", shortened((after ? "Now: " : "Before: ") + (after ? c.after : c.before), 200));
  out += stacked_bar(after ? "a step now" : "a step before", parts, duration(all),
                     longest_ns > 0 ? all / longest_ns : 1) +
         legend(parts);
  std::vector<StripDot> steps;
  for (const Capture& capture : captures)
    for (const Ns ns : capture.step_ns) steps.push_back({static_cast<double>(steps.size()), ns});
  return out + strip_plot("Steps in order", steps, StripAxis::order, most_ns, 400) + "</div>\n";
}

}  // namespace

std::string render_html(const Analysis& a, const Report& report, const std::vector<Rule>& rules) {
  std::string page;
  for (const Allowance& allowed : allowances)
    if (page = ReportPage(a, report, rules, allowed).html(); page.size() <= most_bytes) break;
  return page;
}

std::string render_comparison_html(const Comparison& c, const std::vector<Capture>& before,
                                   const std::vector<Capture>& after) {
  const auto list = [](const char* title, std::vector<std::string> items) {
    if (items.size() > 50) items.resize(50);
    for (std::string& i : items) i = shortened(i, 1'000);
    return items.empty() ? "" : element("h2", title) + bullets(items);
  };
  std::string body =
      "<header><p class=faint>gh-advise</p>" + element("h1", shortened(c.headline, 500)) +
      bullets({shortened("before: " + c.before, 400), shortened("now: " + c.after, 400)}, "where") +
      "</header>\n<main>\n";
  body += list("Why it fails", c.reasons) + list("What cannot be compared", c.incomparable);
  if (!c.step.basis.empty()) {
    double longest_before = 0, longest_after = 0;
    Ns most_ns = 0;
    for (const CauseChange& x : c.account) {
      longest_before += x.ns.before;
      longest_after += x.ns.after;
    }
    for (const auto* side : {&before, &after})
      for (const Capture& capture : *side)
        for (const Ns ns : capture.step_ns) most_ns = std::max(most_ns, ns);
    const double longest = std::max(longest_before, longest_after);
    std::string step =
        element("p", fmt::format("{} before, {} now: {}{} ({})", duration(c.step.before),
                                 duration(c.step.after), change_text(c.step.effect),
                                 c.step.real || c.step.effect == 0 ? "" : ", which does not count",
                                 basis_text(c.step)));
    step += "<div class=side>" + side_html(c, false, before, longest, most_ns) +
            side_html(c, true, after, longest, most_ns) + "</div>\n";
    const auto changed = [&](const Difference& d, auto text) {
      return std::vector<HtmlTable::Cell>{
          HtmlTable::Cell(text(d.before), d.before), HtmlTable::Cell(text(d.after), d.after),
          HtmlTable::Cell((d.after < d.before ? "-" : "+") + text(std::abs(d.after - d.before)),
                          d.after - d.before)};
    };
    const auto row = [](HtmlTable& table, std::vector<HtmlTable::Cell> head,
                        const std::vector<HtmlTable::Cell>& cells,
                        std::vector<HtmlTable::Cell> tail) {
      head.insert(head.end(), cells.begin(), cells.end());
      head.insert(head.end(), tail.begin(), tail.end());
      table.row(head);
    };
    const auto ns_text = [](double ns) { return duration(ns); };
    HtmlTable causes(
        "Where the step's time changed",
        {{"Cause"}, {"Before", true}, {"Now", true}, {"Change", true}, {"More than noise"}});
    for (const CauseChange& x : c.account)
      if (x.ns.before > 0 || x.ns.after > 0)
        row(causes, {cause_label(x.cause)}, changed(x.ns, ns_text), {x.ns.real ? "yes" : "no"});
    body += section("step", "The step", step + causes.html());

    HtmlTable findings("Findings on both sides", {{"Change"},
                                                  {"Severity"},
                                                  {"Finding"},
                                                  {"Before", true},
                                                  {"Now", true},
                                                  {"Fails"},
                                                  {"Why, and what to do"}});
    for (std::size_t i = 0; i < c.findings.size() && i < 200; ++i) {
      const FindingChange& f = c.findings[i];
      std::string more = f.why;
      if (f.change != FindingState::same)
        more += (more.empty() ? "" : ". ") + f.finding.message +
                (f.finding.advice.empty() ? "" : " Fix: " + f.finding.advice.front());
      findings.row({HtmlTable::Cell::raw(
                        fmt::format("<span class=change-{0}>{0}</span>", name_of(f.change))),
                    name_of(f.finding.severity),
                    shortened(fmt::format("{}: {}", f.finding.rule, f.finding.title), 300),
                    HtmlTable::Cell(f.before_ns > 0 ? duration(f.before_ns) : "", f.before_ns),
                    HtmlTable::Cell(f.after_ns > 0 ? duration(f.after_ns) : "", f.after_ns),
                    f.fails ? "yes" : "no", shortened(more, 800)});
    }
    body += section("findings", "Findings", findings.html());
    HtmlTable budgets("Budgets", {{"State"}, {"Fact"}, {"Limit and figures"}});
    for (const BudgetResult& b : c.budgets)
      if (!b.budget.where.empty())
        budgets.row({name_of(b.state), shortened(b.budget.fact, 100), shortened(b.message, 500)});
    body += section("budgets", "Budgets", budgets.html());
    HtmlTable kernels("Kernels, by what they changed of a step", {{"Kernel"},
                                                                  {"Class"},
                                                                  {"Before", true},
                                                                  {"Now", true},
                                                                  {"Change", true},
                                                                  {"How many before", true},
                                                                  {"Now", true}});
    for (std::size_t i = 0; i < c.kernels.size() && i < 2 * most_kernels_shown; ++i) {
      const KernelChange& k = c.kernels[i];
      kernels.row({shortened(kernel_label(k.name), 300), k.kernel_class,
                   HtmlTable::Cell(duration(k.ns_before), k.ns_before),
                   HtmlTable::Cell(duration(k.ns_after), k.ns_after),
                   HtmlTable::Cell((k.ns_after < k.ns_before ? "-" : "+") +
                                       duration(std::abs(k.ns_after - k.ns_before)),
                                   k.ns_after - k.ns_before),
                   HtmlTable::Cell(fmt::format("{:.1f}", k.count_before), k.count_before),
                   HtmlTable::Cell(fmt::format("{:.1f}", k.count_after), k.count_after)});
    }
    body += section("kernels", "Kernels", kernels.html());
    HtmlTable facts("Other facts that changed",
                    {{"Fact"}, {"Before", true}, {"Now", true}, {"Change", true}});
    for (std::size_t i = 0; i < c.facts.size() && i < 200; ++i)
      row(facts, {c.facts[i].name},
          changed(c.facts[i].value, [&](double v) { return shown(v, c.facts[i].unit); }), {});
    body += section("facts", "Facts", facts.html());
  }
  body += list("Notes", c.notes);
  std::vector<std::string> suppressions;
  for (const auto& [s, state] : c.suppressions)
    if (state != SuppressionState::not_checked) suppressions.push_back(suppression_text(s, state));
  body +=
      list("Suppressed", suppressions) + fmt::format(
                                             "</main>\n<footer>Made by gh-advise {}; nothing on "
                                             "this page is fetched from anywhere.</footer>\n",
                                             GH_ADVISE_VERSION);
  return html_page("gh-advise: " + shortened(c.headline, 100), body, Drawings(100).json());
}

}  // namespace gh
