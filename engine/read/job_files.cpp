#include "read/job_files.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <sys/vfs.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/text.hpp"

namespace gh {

namespace {

namespace fs = std::filesystem;

// The beginning of a file, decompressed if necessary; "" if it cannot be read.
std::string head_of(const std::string& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return "";
  const gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return "";
  std::string head(1 << 18, '\0');
  head.resize(static_cast<std::size_t>(
      std::max(0, gzread(file, head.data(), static_cast<unsigned>(head.size())))));
  gzclose(file);
  return head;
}

// What a PyTorch trace says about itself before its first event. Nothing if it is not a rank of a
// multi-rank job.
std::optional<Place> place_in_trace(const std::string& head, const std::string& folder) {
  static const re2::RE2 info(
      "\"distributedInfo\"\\s*:\\s*\\{[^{}]*?\"rank\"\\s*:\\s*(\\d{1,7})[^{}]*?\"world_size\"\\s*:"
      "\\s*(\\d{1,7})");
  static const re2::RE2 base("\"baseTimeNanoseconds\"\\s*:\\s*(\\d{1,19})"),
      first("\"traceEvents\"[^{]*\\{[^{}]*?\"ts\"\\s*:\\s*(\\d{1,19})");
  Place place;
  if (head.find('{') == head.npos ||
      !RE2::PartialMatch(head, info, &place.rank, &place.world_size) || place.world_size <= 1) {
    return std::nullopt;
  }
  place.job = fmt::format("{}\n{} ranks", folder, place.world_size);
  std::int64_t origin_ns = 0, at_us = 0;
  RE2::PartialMatch(head, base, &origin_ns);
  if (RE2::PartialMatch(head, first, &at_us)) {
    place.begins_s = static_cast<double>(origin_ns) / 1e9 + static_cast<double>(at_us) / 1e6;
  }
  return place;
}

// More reports than that are a folder named by mistake, as are more files, more JSON to look into,
// or folders within folders: "/" say.
constexpr std::size_t most_reports = 2'000, most_entries = 200'000, most_json = 5'000;
constexpr int most_levels = 64;

// Whether the kernel shows itself there: files that are none, some of which nobody ends reading.
bool is_of_kernel(const fs::path& folder) {
  // The magic numbers of linux/magic.h: proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs.
  constexpr std::array<std::uint32_t, 7> kinds{0x9fa0,     0x62656572, 0x27e0eb,  0x63677270,
                                               0x64626720, 0x74726163, 0x73636673};
  struct statfs system {};
  return statfs(folder.c_str(), &system) == 0 &&
         std::find(kinds.begin(), kinds.end(), static_cast<std::uint32_t>(system.f_type)) !=
             kinds.end();
}

bool is_json(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

bool is_report(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto ends_in = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends_in(".sqlite")) return true;
  if (ends_in(".nsys-rep") || ends_in(".qdrep")) {
    // nsys exports beside the report: that is the same recording, and needs no nsys.
    std::error_code ec;
    return !fs::is_regular_file(fs::path(path).replace_extension(".sqlite"), ec);
  }
  if (!is_json(path)) return false;
  const std::string head = head_of(path.string());
  return head.find("\"traceEvents\"") != head.npos ||
         head.find("\"deviceProperties\"") != head.npos;
}

Place place_by_name(const std::string& name, const std::string& folder) {
  static const re2::RE2 rank("(?i)((?:^|[^a-z])rank[_.-]?)(\\d{1,7})");
  Place place;
  std::string word;
  // The rank of a low-rank adapter is not a process.
  const bool is_adapter = name.find("lora") != name.npos || name.find("LoRA") != name.npos;
  if (is_adapter || !RE2::PartialMatch(name, rank, &word, &place.rank)) return place;
  std::string pattern = name;
  RE2::Replace(&pattern, rank, "\\1#");
  place.job = fmt::format("{}\n{}", folder, pattern);
  place.by_name = true;
  return place;
}

}  // namespace

Place place_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  if (const auto place = place_in_trace(head_of(path), folder)) return *place;
  return place_by_name(fs::path(path).filename().string(), folder);
}

std::vector<std::string> reports_below(const std::string& folder, std::size_t most,
                                       const fs::path& except) {
  std::vector<std::string> reports;
  if (is_of_kernel(folder)) return reports;
  std::size_t entries = 0, json = 0;
  const auto refuse = [&](const std::string& held) {
    throw Error(
        fmt::format("{}: holds more than {}; name a smaller folder", printable(folder), held));
  };
  std::error_code ec;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    std::error_code gone;
    if (++entries > most_entries) refuse(fmt::format("{} files", most_entries));
    if (at->path().filename().string().starts_with('.') || at->path() == except) {
      at.disable_recursion_pending();
    } else if (at->is_directory(gone)) {
      if (at.depth() >= most_levels) refuse(fmt::format("{} folders in one another", most_levels));
      if (is_of_kernel(at->path())) at.disable_recursion_pending();
    } else if (at->is_regular_file(gone)) {
      if (is_json(at->path()) && ++json > most_json)
        refuse(fmt::format("{} files of JSON", most_json));
      if (!is_report(at->path())) continue;
      reports.push_back(at->path().string());
      if (reports.size() > most) refuse(fmt::format("{} reports", most));
    }
  }
  if (ec) throw Error(fmt::format("{}: {}", printable(folder), ec.message()));
  std::sort(reports.begin(), reports.end());
  return reports;
}

std::vector<std::string> find_reports(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  // A link to a report, or a folder named twice, is not another report.
  std::set<std::string> found;
  const auto is_new = [&](const std::string& path) {
    std::error_code ec;
    const fs::path real = fs::canonical(path, ec);
    return ec || found.insert(real.string()).second;
  };
  std::error_code ec;
  for (const std::string& path : paths)
    if (!fs::is_directory(path, ec)) is_new(path);
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, ec)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> reports = reports_below(path, most_reports);
    if (reports.empty())
      throw Error(
          fmt::format("{}: no report in this folder or below it; a report is a *.sqlite or "
                      "*.nsys-rep of Nsight Systems, or a *.json or *.json.gz of PyTorch's "
                      "profiler",
                      printable(path)));
    for (std::string& report : reports)
      if (is_new(report)) files.push_back(std::move(report));
  }
  return files;
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
      // Profilers of a job start at the same step, and clocks of machines differ by seconds at
      // most.
      constexpr double apart_s = 60;
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
  // Numbers that do not run from 0 are not ranks.
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
