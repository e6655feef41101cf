#include "cli/captures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/text.hpp"
#include "base/unit_words.hpp"
#include "cli/output.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

// "--range forward --rank 1": captures of different parts of a program cannot be compared.
std::string selection_text(const ReportOptions& options) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, printable(value));
  };
  add("--range", options.range.value_or(""));
  add("--device", options.device ? std::to_string(*options.device) : "");
  add("--rank", options.rank ? std::to_string(*options.rank) : "");
  return text;
}

void refuse_repeated(const std::vector<std::string>& paths) {
  std::error_code ec;
  for (auto path = paths.begin(); path != paths.end(); ++path)
    if (std::any_of(paths.begin(), path, [&](const std::string& other) {
          return std::filesystem::equivalent(other, *path, ec);
        }))
      throw Error(fmt::format("{}: is named twice; a capture counts once", printable(*path)));
}

std::vector<std::string> reports_among(const std::vector<std::string>& paths) {
  std::vector<std::string> reports;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(reports),
               [](const std::string& path) { return !path.empty() && !is_baseline(path); });
  return reports;
}

// A copy would make a side look more certain than it is.
void refuse_copies(const std::vector<Capture>& captures) {
  for (auto c = captures.begin(); c != captures.end(); ++c)
    for (auto other = captures.begin(); other != c; ++other)
      if (same_recording(*c, *other))
        throw Error(fmt::format("{}: is the same recording as {}; a capture counts once", c->path,
                                other->path));
}

}  // namespace

CaptureReader::CaptureReader(const Settings& settings, const std::vector<Rule>& rules,
                             const ReportOptions& options, const std::vector<std::string>& paths)
    : request_(settings.request(rules, options)),
      settings_(settings_in_effect(settings.config, settings.all_rules)),
      selected_(selection_text(options)),
      measured_(options, reports_among(paths)),
      progress_(paths.size()) {}

std::vector<Capture> CaptureReader::read(const std::vector<std::string>& paths, Wanted wanted) {
  if (std::find(paths.begin(), paths.end(), "") != paths.end())
    throw Error("an empty name is no report");
  if (wanted == Wanted::reports && request_.selection.unit == window_unit)
    throw Error(
        "--unit window: steps are compared, and a window has none; leave it out, or choose another "
        "unit that check -v lists");
  refuse_repeated(paths);
  std::vector<Capture> captures;
  std::vector<std::string> reports;
  for (const std::string& path : paths) {
    if (!is_baseline(path)) {
      reports.push_back(path);
      continue;
    }
    if (wanted == Wanted::reports)
      throw Error(fmt::format("{}: is a baseline; a report is wanted here", printable(path)));
    for (Capture& c : read_baseline(path)) captures.push_back(std::move(c));
  }
  for (const std::vector<std::string>& job : find_jobs(reports)) {
    progress_.say("reading " + printable(job.front()), done_);
    done_ += job.size();
    request_.files = job;
    request_.other_loops = false;
    request_.measured_step_ns = measured_.of(job);
    const Advice advice = advise(request_);
    captures.push_back(capture_of(*advice.analysis, *advice.facts, advice.report, request_.rules,
                                  request_.settings));
    captures.back().selection = selected_;
    if (request_.selection.steps)  // whoever chooses them leaves the others out on purpose
      for (const char* fact : {"steps.work_before", "steps.work_outside"})
        captures.back().facts.erase(fact);
    captures.back().settings = settings_;
  }
  refuse_copies(captures);
  return captures;
}

}  // namespace gh
