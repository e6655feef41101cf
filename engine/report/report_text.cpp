// One report for people, on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/cause_times.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/suppressed.hpp"
#include "report/text_parts.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

std::string bar(double fraction, std::size_t width, bool unicode) {
  const double length = fraction * static_cast<double>(width);
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(length)), '#');
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto n = static_cast<std::size_t>(std::lround(length * 8));
  std::string s;
  for (std::size_t i = 0; i < n / 8; ++i) s += "█";
  return s + eighths[n % 8];
}

std::string path_table(const Analysis& a, const Report& report, const TextStyle& style,
                       const Paint& paint) {
  if (!report.replay || report.replay->path().items.empty()) return "";
  const Path& p = report.replay->path();
  std::string out = paint.bold(path_title(a.words())) + '\n';
  const auto add = [&](double ns, double fraction, const std::string& label) {
    out += fmt::format("  {:>10} {:>6}  {}\n", duration(ns), percent(fraction),
                       shortened(label, std::max<std::size_t>(style.width, 40) - 22));
  };
  const PathLines path = path_lines(p, 0.02);
  for (const PathLine& l : path.lines) {
    const std::string device = path_device(a, *l.item);
    add(l.ns, l.fraction, l.label + (device.empty() ? "" : " (" + device + ")"));
  }
  if (path.small_ns > 0)
    add(path.small_ns, path.small_ns / p.step_ns(), "the rest, below 2 % each");
  return out;
}

// Below this share of the step a wait is noise on the first screen.
constexpr double least_wait_share = 0.01;
// And what no digit would show in full.
constexpr double shown_wait_share = 0.0005;

std::string waits_table(const Analysis& a, const Report& report, const TextStyle& style,
                        const Paint& paint) {
  const bool full = style.amount == Amount::full;
  std::string costs, silent;
  for (const WaitLine& l : wait_lines(report, full ? shown_wait_share : least_wait_share)) {
    if (l.wait->what == WaitFor::unrecorded)
      silent += "  " + wrapped(l.label, style.width, 4) + '\n';
    else if (full || l.wait->without)
      costs +=
          fmt::format("  {:>15} {:>6}  {}\n", l.saves, l.wait->without ? percent(l.fraction) : "",
                      shortened(l.label, std::max<std::size_t>(style.width, 45) - 27));
  }
  if (!costs.empty()) costs = paint.bold(waits_title(a.words())) + '\n' + costs;
  if (silent.empty() || !full) return costs;
  silent = paint.bold("Waits that no call shows") + '\n' + silent;
  return costs.empty() ? silent : costs + '\n' + silent;
}

std::string account_table(const Analysis& a, const StepTime& step, const TextStyle& style,
                          const Paint& paint) {
  if (a.total_ns() == 0) return "";
  const std::vector<AccountLine> lines = account_lines(a, step);
  std::size_t label_width = 20;
  for (const AccountLine& l : lines) label_width = std::max(label_width, display_width(l.label));
  // Beside a label stand a time and a share, in 26 columns with what separates them.
  const std::size_t figures = label_width + 26,
                    room = style.width > figures ? std::min<std::size_t>(style.width - figures, 50)
                                                 : 0;

  const char* mean = !a.has_steps()         ? ""
                     : a.devices.size() > 1 ? " (mean over devices)"
                                            : " (mean)";
  std::string out = paint.bold(account_title(a.words()) + mean) + '\n';
  for (const AccountLine& l : lines) {
    const std::string drawn = bar(l.fraction, room, style.unicode);
    out += fmt::format("  {} {:>10} {:>6}{}{}\n", padded(l.label, label_width), duration(l.ns),
                       percent(l.fraction), drawn.empty() ? "" : "  ", drawn);
  }
  const std::string sum = fmt::format(
                        "  {} {:>10} {:>6}",
                        padded(a.has_steps() ? "the " + a.words().noun : "all", label_width),
                        duration(step.ns), "100 %"),
                    of_it = busy_text(a, step);
  const bool beside = sum.size() + 2 + of_it.size() <= style.width;
  out += sum + (beside ? "  " : "\n  ") + of_it + '\n';
  for (const std::string& line : {bound_verdict_text(a, step), hottest_kernel_text(a, step)})
    if (!line.empty()) out += "  " + wrapped(line, style.width, 2) + '\n';
  return out;
}

// The fixes in order: what to do, the step before and after, how many times as fast.
std::string plan_text(const Analysis& a, const Report& report, const TextStyle& style,
                      const Paint& paint) {
  const std::vector<PlanLine> lines = plan_lines(report);
  if (lines.empty()) return "";
  const char* arrow = style.unicode ? "→" : "->";
  std::size_t fix_width = 0;
  for (const PlanLine& l : lines) fix_width = std::max(fix_width, display_width(l.fix));
  // Number, times and factor take 42 columns.
  fix_width = std::min(fix_width, std::max<std::size_t>(style.width, 64) - 42);
  std::string out = paint.bold(plan_title(*report.plan)) + '\n';
  for (const PlanLine& l : lines)
    out += fmt::format("  {:>2}. {}  {:>8} {} {:>8}  {:>5}\n", l.number,
                       padded(shortened(l.fix, fix_width), fix_width), duration(l.before_ns), arrow,
                       duration(l.after_ns), speedup(l.before_ns, l.after_ns));
  out += "  " + wrapped(plan_total_text(a, report), style.width, 2) + '\n';
  if (style.amount == Amount::full)
    for (const std::string& note : plan_notes(report))
      out += "  " + wrapped(note, style.width, 2) + '\n';
  return out;
}

// `above` is the line before, if any: what it says of name and note is not said again.
std::string evidence_line(const Evidence& e, const Evidence* above, const TextStyle& style) {
  std::string line = fmt::format("at {} for {}", seconds(e.span.start), duration(e.span.length()));
  if (e.device >= 0) line += fmt::format(", device {}", e.device);
  if (e.stream >= 0) line += fmt::format(", stream {}", e.stream);
  if (!e.thread.empty()) line += fmt::format(", {}", e.thread);
  const bool says_more = !e.name.empty() || !e.note.empty();
  if (says_more && above && above->name == e.name && above->note == e.note)
    return line + ": the same";
  if (!e.name.empty())
    line += fmt::format(
        ": {}", shortened(e.name, std::min<std::size_t>(80, style.width - FindingText::indent)));
  if (!e.note.empty()) line += fmt::format(" ({})", e.note);
  if (!e.layer.empty()) line += ", in " + e.layer;
  if (!e.source.file.empty()) line += fmt::format(", {}:{}", e.source.file, e.source.line);
  return line;
}

std::string finding_in_full(std::size_t number, const Finding& f, const Analysis& a,
                            const Report& report, const TextStyle& style) {
  FindingText out(style);
  const std::string saves = saves_text(f, report);
  out.title(number, f.severity, f.title + (saves.empty() ? "" : " (" + saves + ")"));
  out.why(f);
  if (const std::string text = prediction_text(f); !text.empty()) out.field(a.words().noun, text);
  if (const std::string text = sharing_text(f, report); !text.empty()) out.field("shared", text);
  out.follows_from(f);
  if (const std::string text = where_text(f); !text.empty()) out.field("in", text);
  for (std::size_t i = 0; i < f.evidence.size(); ++i)
    out.field(i == 0 ? "evidence" : "",
              evidence_line(f.evidence[i], i > 0 ? &f.evidence[i - 1] : nullptr, style));
  out.advice(f);
  out.more(f);
  return out.text() + '\n';
}

// A line with the rule, for `explain`, and what to do.
std::string finding_in_brief(std::size_t number, const Finding& f, const Report& report,
                             const TextStyle& style) {
  FindingText out(style);
  const std::string saves = saves_text(f, report);
  out.title(number, f.severity,
            fmt::format("{}{} [{}]", f.title, saves.empty() ? "" : " (" + saves + ")", f.rule));
  if (const std::string text = where_text(f); !text.empty()) out.indented("In " + text + '.');
  if (!f.advice.empty()) out.indented(f.advice.front());
  return out.text();
}

// A note that saves next to nothing is noise on the first screen.
bool is_small(const Finding& f, const Report& report) {
  return f.severity == Severity::note && f.alone_ns > 0 && 100 * f.alone_ns < f.step_ns &&
         !is_in_plan(f, report);
}

std::string findings_text(const Analysis& a, const Report& report, const TextStyle& style) {
  std::string out;
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    if (style.amount == Amount::full || !is_small(report.findings[i], report))
      out += style.amount == Amount::full
                 ? finding_in_full(i + 1, report.findings[i], a, report, style)
                 : finding_in_brief(i + 1, report.findings[i], report, style);
  return out.empty() || style.amount == Amount::full ? out : out + '\n';
}

// What was looked at without finding anything, what could not be looked at, what was left out.
std::string checked_text(const Analysis& a, const Report& report, const TextStyle& style,
                         const Paint& paint) {
  std::string out;
  const auto line = [&](const std::string& text) { out += wrapped(text, style.width, 2) + '\n'; };
  if (style.amount == Amount::full) {
    if (!report.clean.empty())
      line(fmt::format("Checked and clean: {}.", fmt::join(report.clean, ", ")));
    for (const std::string& lacking : not_checked_text(report)) line("Not checked: " + lacking);
  } else {
    const auto clean = static_cast<std::int64_t>(report.clean.size()),
               not_checked = static_cast<std::int64_t>(report.not_checked.size());
    std::string counts = clean > 0 ? plural(clean, "rule") + " found nothing" : "";
    if (not_checked > 0)
      counts += clean > 0 ? fmt::format("; {} could not be checked", not_checked)
                          : plural(not_checked, "rule") + " could not be checked";
    const auto small = std::count_if(report.findings.begin(), report.findings.end(),
                                     [&](const Finding& f) { return is_small(f, report); });
    if (small > 0)
      counts += fmt::format("{}{} below 1 %", counts.empty() ? "" : "; ", plural(small, "note"));
    if (!counts.empty())
      line(counts +
           ". -v names them and shows the evidence; gh-advise explain RULE describes a "
           "rule.");
  }
  for (const std::string& suppressed : suppressed_lines(a, report))
    line("Suppressed: " + suppressed);
  if (const std::string privacy = privacy_text(a); !privacy.empty()) line(privacy);
  for (const Failed& f : report.failed)
    line(paint.severity(Severity::error, "Rule failed") + fmt::format(": {}: {}", f.rule, f.error));
  return out;
}

std::string painted(const ReportVerdict& verdict, const TextStyle& style, const Paint& paint) {
  const std::string text = wrapped(verdict.text(), style.width, 0) + '\n';
  return verdict.trouble ? paint.bold(text) : paint.good(text);
}

}  // namespace

std::string render_text(const Analysis& a, const Report& report, const TextStyle& style) {
  const Paint paint(style);
  const std::string verdict = painted(verdict_of(a, report), style, paint);
  const auto paragraph = [](const std::string& text) { return text.empty() ? "" : text + '\n'; };
  std::string out;
  if (style.amount == Amount::quiet)
    return report_name(a, style) + verdict + plan_text(a, report, style, paint);

  const bool full = style.amount == Amount::full;
  out += paragraph(report_name(a, style) + verdict);
  std::string heading = report_heading(a, report.step, style);
  for (const std::string& loop : loop_texts(a, report))
    heading += wrapped(loop, style.width, 2) + '\n';
  out += paragraph(heading);
  out += paragraph(account_table(a, report.step, style, paint));
  out += paragraph(waits_table(a, report, style, paint));
  if (full) out += paragraph(path_table(a, report, style, paint));
  for (const std::string& periodic : full ? periodic_texts(a) : std::vector<std::string>())
    out += wrapped(periodic, style.width, 2) + "\n\n";
  if (const std::string units = full ? units_text(a) : ""; !units.empty())
    out += wrapped(units, style.width, 2) + "\n\n";
  out += paragraph(plan_text(a, report, style, paint));
  out += findings_text(a, report, style);
  out += checked_text(a, report, style, paint);
  // Once the beginning has scrolled away, the end is what is read.
  if (static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')) > style.height)
    out += '\n' + paint.faint("In short:") + '\n' + verdict;
  return out;
}

}  // namespace gh
