#include "job/slurm_work.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/owner.hpp"
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

void make_work_folder(const fs::path& work) {
  for (const char* part : {"", "digests", "errors", "logs"}) {
    const fs::path folder = *part ? work / part : work;
    const std::string shown = printable(folder.string());
    std::error_code ec;
    // With a project folder's usual umask of 002 the group could write.
    if (fs::create_directories(folder, ec)) {
      fs::permissions(folder, fs::perms::group_write | fs::perms::others_write,
                      fs::perm_options::remove, ec);
    }
    if (ec) {
      throw Error(
          fmt::format("{}: cannot be created: {}; choose another working folder with --work", shown,
                      ec.message()));
    }
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0 || !is_trusted(status.st_uid) ||
        is_writable_by_others(status) || is_foreign_link(folder)) {
      throw Error(
          fmt::format("{}: belongs to another user or is writable by others, who could then choose "
                      "what the jobs run; remove their write permission (chmod go-w), or choose "
                      "your own working folder with --work",
                      shown));
    }
  }
}

SubmissionLock::SubmissionLock(const fs::path& work) : path_(work / "submitting") {
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  const int descriptor = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const int error = errno;
  if (descriptor < 0 && error == EEXIST) {
    throw Error(
        fmt::format("{}: another `gh-advise slurm` is submitting from there; if none is running, "
                    "remove {}",
                    printable(work.string()), printable(path_.string())));
  }
  if (descriptor < 0) {
    throw Error(fmt::format("{}: cannot be created: {}", printable(path_.string()),
                            std::generic_category().message(error)));
  }
  close(descriptor);
  t.add(path_);
}

SubmissionLock::~SubmissionLock() { remove_temporary(path_); }

void write_reports(const fs::path& list, const std::vector<SlurmReport>& reports) {
  std::string text;
  for (const SlurmReport& r : reports) text += r.path.string() + '\0' + r.name + '\0';
  write_file(list, text, "--work");
}

std::vector<SlurmReport> read_reports(const fs::path& list) {
  const std::string text = read_text(list);
  const std::vector<std::string_view> parts = split(text, std::string_view("\0", 1));
  std::vector<SlurmReport> reports;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
    reports.push_back({parts[i], std::string(parts[i + 1])});
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
  const auto id_of = [](const Json& json) {
    const auto id = json.get<std::string>();
    return id.find_first_not_of("0123456789") == id.npos ? id : throw Error("not a job's id");
  };
  try {
    SubmittedJobs jobs;
    const Json json = parsed_json(read_text(work / "jobs.json"));
    for (const Json& a : json.at("arrays")) {
      jobs.arrays.push_back({id_of(a.at("id")), integer(a.at("first"))});
    }
    jobs.merge = id_of(json.at("merge"));
    jobs.reports_per_task = std::max<std::int64_t>(1, integer(json.at("reports_per_task")));
    return jobs;
  } catch (const std::exception&) {
    throw Error(
        fmt::format("{}: nothing was submitted from there; run `gh-advise slurm` without --status",
                    printable(work.string())));
  }
}

}  // namespace gh
