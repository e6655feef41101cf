#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/layout.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

std::string bar(double fraction, std::size_t width, bool unicode) {
  if (!unicode)
    return std::string(static_cast<std::size_t>(std::lround(fraction * static_cast<double>(width))),
                       '#');
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto n = static_cast<std::size_t>(std::lround(fraction * static_cast<double>(width) * 8));
  std::string s;
  for (std::size_t i = 0; i < n / 8; ++i) s += "█";
  return s + eighths[n % 8];
}

std::string heading(const Analysis& a, const TextStyle& style, const Paint& paint) {
  std::string out = paint.bold(shortened(a.trace.path, style.width)) + '\n';
  out += wrapped(fmt::format("{}, schema {}", a.trace.producer, a.trace.schema), style.width, 0) +
         '\n';
  for (const DeviceSteps& d : a.devices) out += wrapped(device_text(a, d), style.width, 2) + '\n';
  for (const std::string& note : side_notes(a)) out += wrapped(note, style.width, 2) + '\n';
  return out;
}

std::string account_table(const Analysis& a, const TextStyle& style, const Paint& paint) {
  const Ns all = a.total_ns();
  if (all == 0) return "";
  const std::int64_t steps = a.step_count();
  struct Line {
    std::string label;
    Ns ns;
    bool idle;
  };
  std::vector<Line> lines;
  Ns small = 0;
  std::size_t small_count = 0;
  for (const std::string& cause : a.account.causes) {
    const Ns ns = a.account.total_ns(cause);
    // Less than half a percent is a line of its own only where nothing else would be left.
    if (ns >= all / 200)
      lines.push_back({cause_label(cause), ns, cause.starts_with("idle.")});
    else if (ns > 0) {
      small += ns;
      ++small_count;
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& x, const Line& y) { return x.ns > y.ns; });
  if (small_count > 0)
    lines.push_back({fmt::format("{} more, below 0.5 % each", small_count), small, false});
  std::size_t label_width = 20;
  for (const Line& l : lines) label_width = std::max(label_width, display_width(l.label));
  const std::size_t room = style.width > label_width + 26
                               ? std::min<std::size_t>(style.width - label_width - 26, 50)
                               : 0;
  const char* what = a.has_steps() ? (a.devices.size() > 1 ? "Where a step goes (mean over devices)"
                                                           : "Where a step goes (mean)")
                                   : "Where the time goes";
  std::string out = paint.bold(what) + '\n';
  const auto row = [&](const Line& l) {
    const double fraction = static_cast<double>(l.ns) / static_cast<double>(all);
    const std::string drawn = bar(fraction, room, style.unicode);
    return fmt::format("  {} {:>10} {:>6}{}{}", padded(l.label, label_width),
                       duration(static_cast<double>(l.ns) / static_cast<double>(steps)),
                       percent(fraction), drawn.empty() ? "" : "  ", drawn);
  };
  for (const Line& l : lines) out += row(l) + '\n';
  const std::string sum = fmt::format("  {} {:>10} {:>6}",
                                      padded(a.has_steps() ? "the step" : "all", label_width),
                                      duration(all / steps), "100 %"),
                    of_it = busy_text(a);
  out += sum + (sum.size() + 2 + of_it.size() <= style.width ? "  " : "\n  ") + of_it + '\n';
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
std::string evidence_line(const Evidence& e, const Evidence* above, const TextStyle& style,
                          std::size_t indent) {
  std::string line = fmt::format("at {} for {}", seconds(e.span.start), duration(e.span.length()));
  if (e.device >= 0) line += fmt::format(", device {}", e.device);
  if (e.stream >= 0) line += fmt::format(", stream {}", e.stream);
  if (!e.thread.empty()) line += fmt::format(", {}", e.thread);
  if (above && above->name == e.name && above->note == e.note && !(e.name + e.note).empty())
    return wrapped(line + ": likewise", style.width, indent);
  if (!e.name.empty())
    line += fmt::format(": {}", shortened(e.name, std::min<std::size_t>(80, style.width - indent)));
  if (!e.note.empty()) line += fmt::format(" ({})", e.note);
  if (!e.source.file.empty()) line += fmt::format(", {}:{}", e.source.file, e.source.line);
  return wrapped(line, style.width, indent);
}

std::string finding_text(std::size_t number, const Finding& f, const Analysis& a,
                         const TextStyle& style, const Paint& paint) {
  constexpr std::size_t indent = 13;
  const auto field = [&](const char* name, const std::string& text) {
    return fmt::format("   {}{}\n", paint.faint(padded(name, indent - 3)), text);
  };
  const std::string worth = worth_text(f, a);
  std::string out = wrapped(fmt::format("{}. {}: {}{}", number, name_of(f.severity), f.title,
                                        worth.empty() ? "" : ", worth " + worth),
                            style.width, 3) +
                    '\n';
  const std::string tag = fmt::format("{}. {}", number, name_of(f.severity));
  out = paint.severity(f.severity, tag) + out.substr(tag.size());
  out += field("why", wrapped(f.message + (f.confidence == "high"
                                               ? ""
                                               : fmt::format(" ({} confidence)", f.confidence)),
                              style.width, indent));
  if (const std::string text = prediction_text(f); !text.empty())
    out += field("step", wrapped(text, style.width, indent));
  if (!f.follows_from.empty())
    out +=
        field("follows",
              wrapped(fmt::format("from {}: that fix probably cures this as well", f.follows_from),
                      style.width, indent));
  for (std::size_t i = 0; i < f.evidence.size(); ++i)
    out += field(i == 0 ? "evidence" : "",
                 evidence_line(f.evidence[i], i > 0 ? &f.evidence[i - 1] : nullptr, style, indent));
  for (std::size_t i = 0; i < f.advice.size(); ++i)
    out += field(i == 0 ? "fix" : "",
                 (f.advice.size() > 1 ? "- " : "") +
                     wrapped(f.advice[i], style.width, indent + (f.advice.size() > 1 ? 2 : 0)));
  out += field("more", fmt::format("gh-advise explain {}", f.rule));
  return out;
}

}  // namespace

std::string render_text(const Analysis& a, const Report& report, const TextStyle& style) {
  const Paint paint(style);
  std::string out = heading(a, style, paint) + '\n';
  if (const std::string account = account_table(a, style, paint); !account.empty())
    out += account + '\n';
  if (const std::string plan = plan_text(report, style, paint); !plan.empty()) out += plan + '\n';

  std::size_t number = 0;
  for (const Finding& f : report.findings) out += finding_text(++number, f, a, style, paint) + '\n';
  if (const Quiet quiet = quiet_text(a, report); !quiet.text.empty())
    out += wrapped(quiet.explained ? paint.good(quiet.text) : quiet.text, style.width, 0) + '\n';
  if (!report.clean.empty())
    out += wrapped(fmt::format("Checked and clean: {}.", fmt::join(report.clean, ", ")),
                   style.width, 2) +
           '\n';
  for (const std::string& line : not_checked_text(report))
    out += wrapped("Not checked: " + line, style.width, 2) + '\n';
  for (const auto& [s, state] : report.suppressions)
    if (state == SuppressionState::used)
      out += wrapped("Suppressed: " + suppressed_text(s), style.width, 2) + '\n';
  for (const Failed& f : report.failed)
    out += wrapped(paint.severity(Severity::error, "Rule failed") +
                       fmt::format(": {}: {}", f.rule, f.error),
                   style.width, 2) +
           '\n';
  return out;
}

std::string render_facts_text(const Analysis& a, const Facts& facts, const TextStyle& style) {
  const Paint paint(style);
  std::string out = heading(a, style, paint) + '\n';
  std::size_t name_width = 0;
  for (const Fact& f : facts.all()) name_width = std::max(name_width, f.name.size());
  for (const Fact& f : facts.all()) {
    const FactValue& value = facts.value(f.name);
    // Causes that took no time would fill two thirds of the list.
    if (f.name.starts_with("account.") && std::holds_alternative<double>(value) &&
        std::get<double>(value) == 0)
      continue;
    const bool beside =
        style.width >=
        name_width + 42;  // a narrow terminal gets values and documentation below the names
    const std::size_t indent = beside ? name_width + 2 : 4;
    out += beside ? padded(f.name, indent) : f.name + "\n    ";
    out += paint.bold(wrapped(shown(value, f.unit), style.width, indent)) + '\n' +
           std::string(indent, ' ') + paint.faint(wrapped(f.doc, style.width, indent)) + '\n';
  }
  return out;
}

std::string render_rules_text(const std::vector<Rule>& rules, const TextStyle& style) {
  const Paint paint(style);
  std::size_t id_width = 4;
  std::map<std::string, std::vector<const Rule*>> by_category;
  for (const Rule& r : rules) {
    id_width = std::max(id_width, r.id.size());
    by_category[r.category].push_back(&r);
  }
  const std::string head = "  " + padded("RULE", id_width) + "  WARNS FROM  FINDS";
  std::string out = paint.faint(head) + '\n';
  for (const auto& [category, list] : by_category) {
    out += '\n' + paint.bold(category) + '\n';
    for (const Rule* r : list) {
      const bool never = r->warning_at > 1;
      out += fmt::format("  {}  {:>10}  {}\n", padded(r->id, id_width),
                         never ? "" : percent(warns_from(*r, {})),
                         wrapped(r->title, style.width, id_width + 16));
    }
  }
  return out;
}

std::string render_explanation(const Rule& rule, const TextStyle& style) {
  const Paint paint(style);
  std::string out = paint.bold(rule.id) + ": " + rule.title + '\n';
  out += fmt::format("category {}, since {}, from {}\n", rule.category, rule.since, rule.path);
  const auto part = [&](const char* title, const std::string& text) {
    out += fmt::format("\n{}\n  {}\n", paint.bold(title), wrapped(printable(text), style.width, 2));
  };
  part("What it does", rule.what);
  part("Why it matters", rule.why);
  part("How to fix it", rule.fix);
  part("When it is wrong", rule.wrong);
  part("Severity", rule.warning_at > 1 ? "By what it says, not by what it is worth."
                                       : fmt::format("An error from 20 % of the step that can be "
                                                     "won back, a warning from {}, a note below.",
                                                     percent(rule.warning_at)));
  part("What it is worth",
       "Where a finding says which step its fix leaves, the recorded steps were replayed with what "
       "the fix changes, after taking off what the profiler added; the range says between what the "
       "measured step should "
       "lie, and why. Do not believe it where it says \"at most\" or \"no less than\" (the replay "
       "did not fit the trace, or ranks wait for each other), and take the range rather than the "
       "number where the host "
       "bounds what is left. Where no step is given the worth is the rule's own account of the "
       "time: a ceiling, or its estimate.");
  if (!rule.needs.empty()) {
    std::string needs;
    for (const Source s : rule.needs)
      needs += (needs.empty() ? "" : ", ") + std::string(name_of(s));
    part("Needs", needs);
  }
  if (!rule.options.empty()) {
    out += fmt::format(
        "\n{}\n", paint.bold(fmt::format("Options, in gh-advise.toml under [rule.{}]", rule.id)));
    for (const auto& [name, option] : rule.options) {
      const std::string value = std::holds_alternative<double>(option.value)
                                    ? fmt::format("{}", std::get<double>(option.value))
                                : std::holds_alternative<bool>(option.value)
                                    ? fmt::format("{}", std::get<bool>(option.value))
                                    : fmt::format("\"{}\"", std::get<std::string>(option.value));
      out += fmt::format("  {} = {}  ({})\n    {}\n", name, value, option.unit,
                         wrapped(printable(option.doc), style.width, 4));
    }
  }
  return out;
}

}  // namespace gh
