// Whether the sides are two recordings, judged by the same settings.
#include <fmt/format.h>

#include <algorithm>

#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

// A report has no stored settings: the current ones apply.
bool keeps_settings(const Capture& c) { return !c.settings.empty(); }

// Of the suppressions in use, or of the exceptions, those that a baseline does not know:
// "data-loader-starvation (gh-advise.toml:1)".
std::vector<std::string> new_ones(const Comparison& c, const Sides& sides, bool exceptions) {
  std::vector<std::string> names;
  for (const Capture& before : sides.before) {
    if (!keeps_settings(before)) continue;
    for (const auto& [s, state] : c.suppressions)
      if (s.gate_only == exceptions && state == SuppressionState::used &&
          !before.settings.contains(setting_name(s)))
        add_once(fmt::format("{} ({})", s.rule, s.where), names);
  }
  return names;
}

// "gate.alpha is 0 instead of 0.05; rule.host-sync has changed", or "".
std::string other_settings(const Comparison& c, const Sides& sides) {
  constexpr std::size_t most_shown = 5, most_width = 120;
  std::vector<std::string> changes;
  for (const Capture& before : sides.before) {
    if (!keeps_settings(before)) continue;
    for (std::string& change : changed_settings(before.settings, sides.after.front().settings)) {
      add_once(shortened(change, most_width), changes);
    }
  }
  for (const std::string& name : new_ones(c, sides, false))
    changes.push_back(fmt::format("the suppression of {} is new", name));
  const std::size_t more = changes.size() > most_shown ? changes.size() - most_shown : 0;
  changes.resize(changes.size() - more);
  return fmt::format("{}{}", fmt::join(changes, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

std::vector<std::string> shared_recordings(const Sides& sides) {
  std::vector<std::string> shared;
  for (const Capture& now : sides.after) {
    const auto then = std::find_if(sides.before.begin(), sides.before.end(),
                                   [&](const Capture& c) { return same_recording(c, now); });
    if (then == sides.before.end() || now.step_ns.empty()) continue;
    add_once(fmt::format("{} is the same recording as {}", now.path, then->path), shared);
  }
  return shared;
}

}  // namespace

void check_trust(Comparison& c, const Sides& sides, const Meant& meant) {
  // A suppression hides a finding. An exception says what it lets pass and why, in the change
  // itself, so it holds at once.
  if (const auto accepted = new_ones(c, sides, true); !accepted.empty())
    c.notes.push_back(
        fmt::format("accepted since the baseline was made: {}", fmt::join(accepted, ", ")));
  if (const std::string changes = other_settings(c, sides); !changes.empty()) {
    if (meant.other_settings) {
      c.notes.push_back("the settings differ from the baseline's: " + changes);
    } else {
      c.incomparable.push_back(fmt::format(
          "the settings differ from the baseline's: {}; if you mean that, make the baseline again "
          "with `gh-advise baseline`, or use these settings with --accept-settings",
          changes));
    }
  }
  for (const std::string& shared : shared_recordings(sides)) {
    if (meant.same_recording) {
      c.notes.push_back(shared + ", so this shows no change");
    } else {
      c.incomparable.push_back(shared + "; record the change itself");
    }
  }
}

}  // namespace gh
