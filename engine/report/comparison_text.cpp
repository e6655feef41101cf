// A comparison for people, on a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "report/comparison_phrases.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

// `gate` shows what decides its verdict; `diff` shows everything.
class ComparisonText {
 public:
  ComparisonText(const Comparison& c, Detail detail, const TextStyle& style)
      : c_(c), everything_(detail == Detail::everything), style_(style), paint_(style) {}

  std::string text() const {
    std::string out = head();
    if (!everything_) out += list("Why it fails", c_.reasons);
    out += list("What cannot be compared", c_.incomparable);
    if (c_.step.basis.empty()) return out;  // nothing could be read
    out += step();
    out += titled(fmt::format("Where the {}'s time changed (mean)", c_.unit.noun),
                  changed(changed_causes(c_), false));
    out += titled(fmt::format("What the {} waits for, where that changed (mean)", c_.unit.noun),
                  changed(changed_waits(c_, 60), true));
    out += titled("Findings", findings());
    out += titled("Budgets", budgets());
    if (everything_) {
      out += titled("Kernels, by what they changed of " + c_.unit.a, kernels());
      out += titled("Other facts", facts());
    }
    out += list("Notes", c_.notes);
    out += list("Exceptions", suppression_lines(c_));
    return out;
  }

 private:
  std::string titled(const std::string& title, const std::string& lines) const {
    return lines.empty() ? "" : '\n' + paint_.bold(title) + '\n' + lines;
  }
  std::string list(const char* title, const std::vector<std::string>& items) const {
    std::string lines;
    for (const std::string& item : items) lines += "  - " + wrapped(item, style_.width, 4) + '\n';
    return titled(title, lines);
  }
  std::string state(const char* name, bool fails) const {
    return fails ? paint_.severity(Severity::error, padded(name, 8)) : padded(name, 8);
  }

  std::string head() const {
    std::string out;
    if (!everything_)
      out = wrapped(paint_.verdict(c_.verdict == Verdict::passes, c_.headline), style_.width, 0) +
            '\n';
    return out + wrapped(fmt::format("before: {}", c_.before), style_.width, 8) + '\n' +
           wrapped(fmt::format("now:    {}", c_.after), style_.width, 8) + '\n';
  }

  std::string step() const {
    const std::string line =
        fmt::format("{} -> {}, {}{} ({})", duration(c_.step.before), duration(c_.step.after),
                    change_text(c_.step.effect), step_noise_text(c_), basis_text(c_.step));
    return titled("The " + c_.unit.noun, "  " + wrapped(line, style_.width, 2) + '\n');
  }

  // With a verdict, also unproved changes of waits that may explain it.
  std::string changed(std::vector<ChangedPart> parts, bool open_too) const {
    std::erase_if(parts, [&](const ChangedPart& p) {
      return !everything_ && !p.ns->real && !(open_too && p.ns->open);
    });
    std::size_t label_width = 20;
    for (const ChangedPart& p : parts)
      if (matters(p.ns->after - p.ns->before, c_))
        label_width = std::max(label_width, display_width(p.label));
    std::string lines;
    for (const ChangedPart& p : parts) {
      const double change = p.ns->after - p.ns->before;
      if (!matters(change, c_)) continue;
      lines += fmt::format("  {} {:>10} -> {:>10} {:>12}{}\n", padded(p.label, label_width),
                           duration(p.ns->before), duration(p.ns->after), signed_ns(change),
                           p.ns->real ? "" : paint_.faint("  may be noise"));
    }
    return lines;
  }

  std::string findings() const {
    std::string lines;
    for (const FindingChange& f : c_.findings)
      if (everything_ || f.change != FindingState::same) lines += finding(f);
    return lines;
  }

  // A line; for a finding that fails also why, the fix, and what to add in order to let it pass.
  std::string finding(const FindingChange& f) const {
    constexpr std::size_t indent = 19;
    const std::string margin(indent, ' '), worth = change_worth_text(f, c_.unit);
    std::string lines = fmt::format(
        "  {} {} {}\n", state(name_of(f.change), f.fails), padded(name_of(f.finding.severity), 7),
        wrapped(
            fmt::format("{}: {}{}{}", f.finding.rule, f.finding.title,
                        worth.empty() ? "" : ", " + worth, f.why.empty() ? "" : " (" + f.why + ")"),
            style_.width, indent));
    if (!f.fails) return lines;
    lines += margin + wrapped(f.finding.message, style_.width, indent) + '\n';
    if (!f.finding.advice.empty())
      lines +=
          margin + wrapped("fix: " + f.finding.advice.front(), style_.width, indent + 5) + '\n';
    return lines + margin +
           fmt::format("or:  --accept {} --reason TEXT lets it pass\n", f.finding.fingerprint);
  }

  std::string budgets() const {
    std::string lines;
    for (const BudgetResult& b : c_.budgets)
      if (!b.budget.where.empty())
        lines += fmt::format(
            "  {} {}\n", state(name_of(b.state), b.fails),
            wrapped(fmt::format("{} ({})", b.message, b.budget.where), style_.width, 11));
    return lines;
  }

  std::string kernels() const {
    constexpr std::size_t most = 20;
    std::string lines;
    std::size_t shown = 0;
    for (const KernelChange& k : c_.kernels) {
      if (!matters(k.ns_after - k.ns_before, c_) || shown == most) break;
      ++shown;
      lines += fmt::format("  {:>12}  {} -> {} in {:.0f} -> {:.0f} of\n                {}\n",
                           signed_ns(k.ns_after - k.ns_before), duration(k.ns_before),
                           duration(k.ns_after), k.count_before, k.count_after,
                           shortened(kernel_label(k.name), style_.width - 16));
    }
    return lines;
  }

  std::string facts() const {
    std::string lines;
    for (const FactChange& f : c_.facts)
      lines += fmt::format("  {} {:>12} -> {:>12}\n", padded(f.name, 34),
                           shown(f.value.before, f.unit), shown(f.value.after, f.unit));
    return lines;
  }

  const Comparison& c_;
  bool everything_;
  const TextStyle& style_;
  Paint paint_;
};

}  // namespace

std::string render_comparison_text(const Comparison& comparison, Detail detail,
                                   const TextStyle& style) {
  return ComparisonText(comparison, detail, style).text();
}

}  // namespace gh
