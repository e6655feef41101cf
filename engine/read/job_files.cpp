#include "read/job_files.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/text.hpp"

namespace gh {

Place place_of(const std::string& path) {
  // A PyTorch trace describes itself before its first event.
  static const re2::RE2 info(
      "\"distributedInfo\"\\s*:\\s*\\{[^{}]*?\"rank\"\\s*:\\s*(\\d{1,7})[^{}]*?\"world_size\"\\s*:"
      "\\s*(\\d{1,7})");
  static const re2::RE2 base("\"baseTimeNanoseconds\"\\s*:\\s*(\\d{1,19})"),
      first("\"traceEvents\"[^{]*\\{[^{}]*?\"ts\"\\s*:\\s*(\\d{1,19})");
  static const re2::RE2 named("(?i)((?:^|[^a-z])rank[_.-]?)(\\d{1,7})");
  Place place;
  const std::string folder = std::filesystem::path(path).parent_path().string(),
                    name = std::filesystem::path(path).filename().string();
  std::string head(1 << 18, '\0');
  std::error_code ec;
  if (std::filesystem::is_regular_file(path, ec)) {
    if (const gzFile file = gzopen(path.c_str(), "rb")) {
      head.resize(static_cast<std::size_t>(
          std::max(0, gzread(file, head.data(), static_cast<unsigned>(head.size())))));
      gzclose(file);
      std::int64_t origin = 0, at = 0;
      if (head.find('{') != head.npos &&
          RE2::PartialMatch(head, info, &place.rank, &place.world_size) && place.world_size > 1) {
        place.job = fmt::format("{}\n{} ranks", folder, place.world_size);
        RE2::PartialMatch(head, base, &origin);
        if (RE2::PartialMatch(head, first, &at)) {
          place.begins_s = static_cast<double>(origin) / 1e9 + static_cast<double>(at) / 1e6;
        }
        return place;
      }
      place.rank = place.world_size = 0;
    }
  }
  std::string word;
  // The rank of a low-rank adapter is no process.
  if (name.find("lora") == name.npos && name.find("LoRA") == name.npos &&
      RE2::PartialMatch(name, named, &word, &place.rank)) {
    std::string pattern = name;
    RE2::Replace(&pattern, named, "\\1#");
    place.job = fmt::format("{}\n{}", folder, pattern);
    place.by_name = true;
  }
  return place;
}

std::vector<std::vector<std::string>> find_jobs(const std::vector<std::string>& paths) {
  struct Job {
    std::string key;
    std::optional<double> begins_s;
    std::set<std::int64_t> ranks;
    bool by_name = false;
  };
  std::vector<Job> jobs;
  std::vector<std::vector<std::string>> files;
  for (const std::string& path : paths) {
    const Place place = paths.size() > 1 ? place_of(path) : Place{};
    const auto its = std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) {
      constexpr double apart_s = 60;  // profilers of one job start at one step; clocks of machines
                                      // differ by seconds at worst
      const bool together =
          !j.begins_s || !place.begins_s || std::abs(*j.begins_s - *place.begins_s) <= apart_s;
      return !place.job.empty() && j.key == place.job && together && !j.ranks.contains(place.rank);
    });
    if (its != jobs.end()) {
      its->ranks.insert(place.rank);
      files[static_cast<std::size_t>(its - jobs.begin())].push_back(path);
    } else {
      jobs.push_back({place.job, place.begins_s, {place.rank}, place.by_name});
      files.push_back({path});
    }
  }
  // Names that are no numbering of ranks from 0 on mean something else.
  std::vector<std::vector<std::string>> grouped;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool numbered =
        *jobs[i].ranks.begin() == 0 &&
        *jobs[i].ranks.rbegin() == static_cast<std::int64_t>(jobs[i].ranks.size()) - 1;
    if (!jobs[i].by_name || numbered || files[i].size() == 1) {
      grouped.push_back(std::move(files[i]));
    } else {
      for (std::string& path : files[i]) grouped.push_back({std::move(path)});
    }
  }
  return grouped;
}

}  // namespace gh
