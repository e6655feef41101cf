#include "job/slurm_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.hpp"
#include "base/json.hpp"
#include "job/slurm_commands.hpp"

namespace gh {

namespace fs = std::filesystem;

fs::path work_folder(const SlurmOptions& o) {
  return fs::weakly_canonical(o.work.empty() ? o.folder / "gh-advise" : o.work);
}

fs::path digest_path(const fs::path& work, const std::string& report) {
  return work / "digests" / (report + ".digest");
}

fs::path error_path(const fs::path& work, const std::string& report) {
  return work / "errors" / (report + ".err");
}

bool is_newer(const fs::path& path, const fs::path& than) {
  std::error_code ec, other;
  const auto a = fs::last_write_time(path, ec), b = fs::last_write_time(than, other);
  return !ec && !other && a >= b;
}

void write_reports(const fs::path& list, const std::vector<SlurmReport>& reports) {
  std::string text;
  for (const SlurmReport& r : reports) text += r.path.string() + '\0' + r.name + '\0';
  write_file(list, text, "--work");
}

std::vector<SlurmReport> read_reports(const fs::path& list) {
  const std::vector<std::string> parts = split(read_text(list), '\0');
  std::vector<SlurmReport> reports;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) reports.push_back({parts[i], parts[i + 1]});
  return reports;
}

void write_jobs(const fs::path& work, const SubmittedJobs& jobs) {
  Json arrays = Json::array();
  for (const SubmittedJobs::Array& a : jobs.arrays) {
    arrays.push_back({{"id", a.id}, {"first", a.first}});
  }
  const Json json{
      {"arrays", arrays}, {"merge", jobs.merge}, {"reports_per_task", jobs.reports_per_task}};
  write_file(work / "jobs.json", json.dump(1) + '\n', "--work");
}

SubmittedJobs read_jobs(const fs::path& work) {
  const auto integer = [](const Json& n) {
    return n.is_number_integer() ? n.get<std::int64_t>() : throw Error("not an integer");
  };
  try {
    SubmittedJobs jobs;
    const Json json = Json::parse(read_text(work / "jobs.json"));
    for (const Json& a : json.at("arrays")) {
      jobs.arrays.push_back({a.at("id").get<std::string>(), integer(a.at("first"))});
    }
    jobs.merge = json.at("merge").get<std::string>();
    jobs.reports_per_task = std::max<std::int64_t>(1, integer(json.at("reports_per_task")));
    return jobs;
  } catch (const std::exception&) {
    throw Error(
        fmt::format("{}: nothing was submitted from there; run `gh-advise slurm` without --status",
                    printable(work.string())));
  }
}

}  // namespace gh
