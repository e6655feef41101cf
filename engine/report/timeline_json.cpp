#include "report/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gh {
namespace {

constexpr std::size_t most_evidence_lanes = 30;
// Beyond this names alone would fill the page.
constexpr std::size_t most_name_bytes = 250'000;

// The activities of a part that have a share: activity, permille, activity, permille, ...
Json shares_json(const std::array<double, account_activities>& shares) {
  Json list = Json::array();
  for (std::size_t s = 0; s < shares.size(); ++s)
    if (const auto permille = std::lround(1000 * shares[s]); permille > 0) {
      list.push_back(s);
      list.push_back(permille);
    }
  return list;
}

// A lane a finding, with marks that lead to it.
Json evidence_lanes(const Report& report, std::size_t findings, Ns origin) {
  Json lanes = Json::array();
  for (std::size_t i = 0; i < std::min(findings, most_evidence_lanes); ++i) {
    const Finding& f = report.findings[i];
    Json marks = Json::array();
    for (std::size_t e = 0; e < f.evidence.size(); ++e)
      marks.push_back({f.evidence[e].span.start - origin, f.evidence[e].span.length(), e});
    if (!marks.empty())
      lanes.push_back({{"label", fmt::format("{}. {}", i + 1, f.rule)},
                       {"title", shortened(f.title, 200)},
                       {"href", fmt::format("#finding-{}", i + 1)},
                       {"severity", name_of(f.severity)},
                       {"marks", marks}});
  }
  return lanes;
}

}  // namespace

std::size_t TimelineData::add(const Overview& o, const Report& report, std::size_t findings) {
  Json lanes = evidence_lanes(report, findings, o.span.start);
  for (const Overview::Device& d : o.devices) {
    if (!d.steps.empty()) {
      Json steps = Json::array();
      for (const Step& s : d.steps)
        steps.push_back(
            piece({s.span, fmt::format("{} {}", unit_.noun, s.number), Activity::step, 1, 0},
                  o.span.start));
      lanes.push_back(
          {{"label", fmt::format("{}, {}", unit_.many, d.label.substr(0, d.label.find(':')))},
           {"pieces", steps}});
    }
    Json parts = Json::array();
    for (const auto& shares : d.parts) parts.push_back(shares_json(shares));
    lanes.push_back({{"label", d.label}, {"parts", std::move(parts)}});
  }
  return push(
      {{"label", fmt::format("The whole window: {}what each device did, and where findings have "
                             "their evidence",
                             unit_.is_window() ? "" : unit_.many + ", ")},
       {"origin", o.span.start},
       {"length", o.span.length()},
       {"detail", {0, o.span.length()}},
       {"evidence", nullptr},
       {"lanes", std::move(lanes)}});
}

std::size_t TimelineData::add(const View& v, const std::string& label) {
  Json lanes = Json::array();
  for (const Lane& l : v.lanes) {
    Json pieces = Json::array();
    for (const Piece& p : l.pieces) pieces.push_back(piece(p, v.span.start));
    lanes.push_back({{"label", shortened(l.label, 80)}, {"pieces", std::move(pieces)}});
  }
  const bool steps = std::any_of(v.lanes.begin(), v.lanes.end(),
                                 [&](const Lane& l) { return l.label == unit_.many; });
  return push({{"label", label},
               {"all", steps ? "the " + unit_.many : "the window"},
               {"origin", v.span.start},
               {"length", v.span.length()},
               {"detail", {v.detail.start - v.span.start, v.detail.end - v.span.start}},
               {"evidence", {v.evidence.start - v.span.start, v.evidence.end - v.span.start}},
               {"lanes", std::move(lanes)}});
}

std::string TimelineData::json() const {
  Json activities = Json::array();
  for (std::size_t i = 0; i < activity_count; ++i) {
    const auto activity = static_cast<Activity>(i);
    activities.push_back({{"name", name_of(activity)},
                          {"label", activity == Activity::step ? unit_.noun : label_of(activity)}});
  }
  return Json{{"activities", activities}, {"names", names_}, {"views", views_}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

std::size_t TimelineData::push(Json view) {
  views_.push_back(std::move(view));
  return views_.size() - 1;
}

Json TimelineData::piece(const Piece& p, Ns origin) {
  Json j{p.span.start - origin, p.span.length(), name(p.name), static_cast<int>(p.activity)};
  if (p.count > 1) {
    j.push_back(p.count);
    j.push_back(p.busy_ns);
  }
  return j;
}

// The number of a name; -1 where there is none, or no room for more.
std::int64_t TimelineData::name(const std::string& text) {
  if (text.empty()) return -1;
  const std::string shown = shortened(text, std::min<std::size_t>(most_text_, 160));
  if (const auto it = name_ids_.find(shown); it != name_ids_.end()) return it->second;
  if (name_bytes_ > most_name_bytes) return -1;
  name_bytes_ += shown.size();
  names_.push_back(shown);
  return name_ids_.emplace(shown, static_cast<std::int64_t>(names_.size() - 1)).first->second;
}

}  // namespace gh
