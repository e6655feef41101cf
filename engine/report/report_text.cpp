// One report for people, on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/suppressed.hpp"
#include "report/text_parts.hpp"

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

struct AccountLine {
  std::string label;
  double ns;  // of a step
};

// The causes, the one that takes most first; those below half a percent are one line at the end.
std::vector<AccountLine> account_lines(const Analysis& a, const StepTime& step) {
  std::vector<AccountLine> lines;
  const double steps = static_cast<double>(a.step_count());
  double small_ns = 0;
  std::size_t small_count = 0;
  for (const std::string& cause : a.account.causes) {
    const double ns = step.total_ns(a, cause) / steps;
    if (200 * ns >= static_cast<double>(step.ns)) {
      lines.push_back({cause_label(cause), ns});
    } else if (ns > 0) {
      small_ns += ns;
      ++small_count;
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const AccountLine& x, const AccountLine& y) { return x.ns > y.ns; });
  if (small_count > 0)
    lines.push_back({fmt::format("{} more, below 0.5 % each", small_count), small_ns});
  return lines;
}

// What a step waited for, the thing that takes most first; those below 2 % are one line.
std::vector<AccountLine> path_lines(const Analysis& a, const Path& p) {
  std::vector<AccountLine> lines;
  double small_ns = 0;
  const double step_ns = p.step_ns();
  for (const PathItem& i : p.items) {
    if (50 * p.step_ns(i) < step_ns) {
      small_ns += p.step_ns(i);
      continue;
    }
    const std::string device = path_device(a, i);
    lines.push_back(
        {path_label(i.kind, i.name) + (device.empty() ? "" : " (" + device + ")"), p.step_ns(i)});
  }
  if (small_ns > 0) lines.push_back({"the rest, below 2 % each", small_ns});
  return lines;
}

std::string path_table(const Analysis& a, const Report& report, const TextStyle& style,
                       const Paint& paint) {
  if (!report.replay || report.replay->path().items.empty()) return "";
  const Path& p = report.replay->path();
  std::string out = paint.bold(fmt::format("What {} waits for", a.words().a)) + '\n';
  for (const AccountLine& l : path_lines(a, p))
    out += fmt::format("  {:>10} {:>6}  {}\n", duration(l.ns), percent(l.ns / p.step_ns()),
                       shortened(l.label, std::max<std::size_t>(style.width, 40) - 22));
  return out;
}

std::string account_title(const Analysis& a) {
  if (!a.has_steps()) return "Where the time goes";
  const UnitWords unit = a.words();
  return fmt::format("Where {} goes (mean{})",
                     unit.a,
                     a.devices.size() > 1 ? " over devices" : "");
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

  std::string out = paint.bold(account_title(a)) + '\n';
  for (const AccountLine& l : lines) {
    const double fraction = l.ns / static_cast<double>(step.ns);
    const std::string drawn = bar(fraction, room, style.unicode);
    out += fmt::format("  {} {:>10} {:>6}{}{}\n", padded(l.label, label_width),
                       duration(l.ns),
                       percent(fraction), drawn.empty() ? "" : "  ", drawn);
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

std::string plan_text(const Report& report, const TextStyle& style, const Paint& paint) {
  if (!report.plan || report.plan->fixes.empty()) return "";
  const Plan& p = *report.plan;
  const auto numbers = fix_numbers(report);
  std::string line = step_text(p, p.now) + " now";
  for (std::size_t i = 0; i < p.fixes.size(); ++i)
    line += fmt::format("{}{} after {}", style.unicode ? " → " : " -> ",
                        step_text(p, p.fixes[i].step), listed(numbers[i]));
  std::string out = paint.bold(p.ceiling.empty() ? "What the fixes are worth together"
                                                 : "What the fixes are worth together, at most") +
                    '\n';
  out += "  " + wrapped(line, style.width, 2) + '\n';
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
    return line + ": likewise";
  if (!e.name.empty())
    line += fmt::format(
        ": {}", shortened(e.name, std::min<std::size_t>(80, style.width - FindingText::indent)));
  if (!e.note.empty()) line += fmt::format(" ({})", e.note);
  if (!e.source.file.empty()) line += fmt::format(", {}:{}", e.source.file, e.source.line);
  return line;
}

std::string finding_text(std::size_t number, const Finding& f, const Analysis& a,
                         const Report& report, const TextStyle& style) {
  FindingText out(style);
  const std::string worth = worth_text(f, a);
  out.title(number, f.severity, f.title + (worth.empty() ? "" : ", worth " + worth));
  out.why(f);
  if (const std::string text = prediction_text(f); !text.empty()) out.field(a.words().noun, text);
  if (const std::string text = sharing_text(f, report); !text.empty()) out.field("shared", text);
  out.follows_from(f);
  for (std::size_t i = 0; i < f.evidence.size(); ++i)
    out.field(i == 0 ? "evidence" : "",
              evidence_line(f.evidence[i], i > 0 ? &f.evidence[i - 1] : nullptr, style));
  out.advice(f);
  out.more(f);
  return out.text();
}

}  // namespace

std::string render_text(const Analysis& a, const Report& report, const TextStyle& style) {
  const Paint paint(style);
  std::string out = report_heading(a, report.step, style) + '\n';
  if (const std::string account = account_table(a, report.step, style, paint); !account.empty())
    out += account + '\n';
  if (const std::string path = path_table(a, report, style, paint); !path.empty())
    out += path + '\n';
  if (const std::string plan = plan_text(report, style, paint); !plan.empty()) out += plan + '\n';

  std::size_t number = 0;
  for (const Finding& f : report.findings)
    out += finding_text(++number, f, a, report, style) + '\n';

  const auto line = [&](const std::string& text) { out += wrapped(text, style.width, 2) + '\n'; };
  if (const Quiet quiet = quiet_text(a, report); !quiet.text.empty())
    out += wrapped(quiet.explained ? paint.good(quiet.text) : quiet.text, style.width, 0) + '\n';
  if (!report.clean.empty())
    line(fmt::format("Checked and clean: {}.", fmt::join(report.clean, ", ")));
  for (const std::string& lacking : not_checked_text(report)) line("Not checked: " + lacking);
  for (const std::string& suppressed : suppressed_lines(a, report)) line("Suppressed: " + suppressed);
  for (const Failed& f : report.failed)
    line(paint.severity(Severity::error, "Rule failed") + fmt::format(": {}: {}", f.rule, f.error));
  return out;
}

}  // namespace gh
