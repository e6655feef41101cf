// A job's ranks for people, on a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "report/fleet_phrases.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/text_parts.hpp"

namespace gh {
namespace {

class FleetText {
 public:
  FleetText(const Fleet& fleet, const TextStyle& style)
      : fleet_(fleet), style_(style), paint_(style) {}

  std::string head(const std::vector<std::string>& errors) const {
    std::string out = paint_.bold(fleet_count_text(fleet_)) + '\n' +
                      wrapped(fleet_step_text(fleet_) + ".", style_.width, 2) + '\n';
    for (const std::string& error : errors)
      out += line(paint_.severity(Severity::error, "left out") + ": " + error);
    for (const std::string& note : fleet_.notes)
      out += line(paint_.severity(Severity::warning, "note") + ": " + note);
    return out;
  }

  std::string account() const {
    constexpr const char* columns = "  {} {:>10} {:>10} {:>10} {:>10} {:>10}";
    std::string out = title(fmt::format("Where {} goes, over ranks", fleet_.unit.a));
    std::size_t width = 20, small = 0;
    for (const std::string& cause : fleet_.causes)
      width = std::max(width, display_width(cause_label(cause)));
    out += paint_.faint(fmt::format(columns, padded("", width), "least", "quarter", "middle",
                                    "3 quarters", "most")) +
           '\n';
    for (std::size_t c = 0; c < fleet_.causes.size(); ++c) {
      const Quartiles& q = fleet_.account[c];
      if (static_cast<double>(q.most) < fleet_.step_ns / 200) {
        ++small;
        continue;
      }
      out +=
          fmt::format(columns, padded(cause_label(fleet_.causes[c]), width), duration(q.least),
                      duration(q.lower), duration(q.middle), duration(q.upper), duration(q.most)) +
          '\n';
    }
    if (small > 0) out += fmt::format("  {} more, below 0.5 % on each rank\n", small);
    return out;
  }

  std::string waits() const {
    constexpr std::size_t most_shown = 8;
    std::string out = title("Who waits for whom");
    out += "  " + wrapped(fleet_waits_text(fleet_), style_.width, 2) + '\n';
    for (std::size_t i = 0; i < fleet_.stragglers.size() && i < most_shown; ++i) {
      const FleetRank& rank = rank_numbered(fleet_, fleet_.stragglers[i]);
      out += indented_line(fmt::format("rank {}{}: {} late {}, last in {} of the collectives",
                                       rank.rank, on_node(rank), duration(rank.late_ns),
                                       fleet_.unit.per, percent(rank.last_fraction)));
    }
    if (fleet_.stragglers.size() > most_shown)
      out += fmt::format("  and {} more\n", fleet_.stragglers.size() - most_shown);
    // If several ranks of a node are late, the node says more than they do.
    std::size_t shown_nodes = 0;
    for (const FleetNode& n : fleet_.nodes)
      if (n.late > 1 && shown_nodes++ < most_shown)
        out += indented_line(
            fmt::format("node {}: {} of its {} ranks come late", n.node, n.late, n.ranks));
    return out;
  }

  std::string plan() const {
    if (fleet_.plan.empty()) return "";
    std::string steps = duration(fleet_.step_ns) + " now";
    std::vector<std::string> made;  // the numbers of the findings whose fixes are made
    for (const FleetFix& fix : fleet_.plan) {
      made.push_back(std::to_string(number_of(fix)));
      steps += fmt::format("{}no less than {} after {}", style_.unicode ? " → " : " -> ",
                           duration(fix.least_step_ns), listed(made));
    }
    return title("Plan: what the fixes save together, at most") + "  " +
           wrapped(steps, style_.width, 2) + '\n' + "  " +
           wrapped(fleet_plan_note(fleet_), style_.width, 2) + '\n';
  }

  std::string findings() const {
    std::string out;
    std::size_t number = 0;
    for (const FleetFinding& f : fleet_.findings)
      if (!f.suppressed) out += '\n' + finding(++number, f);
    if (number == 0) out += '\n' + paint_.good("No rule that could run found anything.") + '\n';
    return out;
  }

  std::string unlike() const {
    if (fleet_.unlike.empty()) return "";
    std::string out = title("Ranks that differ from the others");
    for (const Unlike& u : fleet_.unlike)
      out += indented_line(fmt::format("{}: {}", ranks_label(u.ranks), u.what));
    return out;
  }

  // Rules that found nothing, rules that could not run, and suppressions.
  std::string rules() const {
    std::vector<std::string> clean;
    std::map<std::string, std::vector<std::string>> lacking;  // by reason
    for (const auto& [id, outcome] : fleet_.rules) {
      if (!outcome.reason.empty())
        lacking[outcome.reason].push_back(id);
      else if (outcome.state == RuleOutcome::State::looked && !found_any(fleet_, id))
        clean.push_back(id);
    }
    std::string out = "\n";
    if (!clean.empty())
      out += line(fmt::format("Checked and clean on all ranks: {}.", fmt::join(clean, ", ")));
    for (const auto& [reason, ids] : lacking)
      out += line(fmt::format("Not checked: {}: {}.", fmt::join(ids, ", "),
                              reason.substr(0, reason.find_last_not_of('.') + 1)));
    for (const auto& [s, state] : fleet_.suppressions)
      if (state == SuppressionState::used)
        out += line(fmt::format("Suppressed: {}", suppression_text(s, state)));
    return out;
  }

 private:
  std::string title(const std::string& text) const { return '\n' + paint_.bold(text) + '\n'; }
  std::string line(const std::string& text) const { return wrapped(text, style_.width, 2) + '\n'; }
  std::string indented_line(const std::string& text) const {
    return "  " + wrapped(text, style_.width, 4) + '\n';
  }

  // The number that the finding of a fix is shown under.
  std::size_t number_of(const FleetFix& fix) const {
    std::size_t number = 0;
    for (const FleetFinding& f : fleet_.findings) {
      number += !f.suppressed;
      if (f.finding.fingerprint == fix.fingerprint) break;
    }
    return number;
  }

  std::string finding(std::size_t number, const FleetFinding& of) const {
    const Finding& f = of.finding;
    FindingText out(style_);
    const std::string saves = fleet_saves_text(fleet_, f);
    out.title(number, f.severity, f.title + (saves.empty() ? "" : ", " + saves));
    out.why(f);
    if (of.rank_ns.most > 0 && of.ranks.size() > 1 && f.subject != "ranks in turn")
      out.field("ranks", fmt::format("{} to {} {} each, {} in the middle",
                                     duration(of.rank_ns.least), duration(of.rank_ns.most),
                                     fleet_.unit.per, duration(of.rank_ns.middle)));
    out.follows_from(f);
    for (std::size_t i = 0; i < f.evidence.size() && i < 2; ++i) {
      const Evidence& e = f.evidence[i];
      out.field(i == 0 ? "evidence" : "",
                fmt::format("at {} for {}: {}{}", seconds(e.span.start), duration(e.span.length()),
                            shortened(e.name, 60), e.note.empty() ? "" : " (" + e.note + ")"));
    }
    out.advice(f);
    out.more(f);
    return out.text();
  }

  const Fleet& fleet_;
  const TextStyle& style_;
  Paint paint_;
};

}  // namespace

std::string render_fleet_text(const Fleet& fleet, const TextStyle& style,
                              const std::vector<std::string>& errors) {
  const FleetText text(fleet, style);
  return text.head(errors) + text.account() + text.waits() + text.plan() + text.findings() +
         text.unlike() + text.rules();
}

}  // namespace gh
