// Finds the digests of a job in folders, and reads them.
#include <fmt/format.h>

#include <set>

#include "analysis/idle.hpp"
#include "analysis/kernel_class.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "job/fleet.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// The causes that an account can have: classes of kernels, idle time, and the five others of
// analysis/cause.cpp. A job has a column for each on every rank, so that a digest with invented
// ones would cost ranks x causes.
constexpr std::size_t most_causes = static_cast<std::size_t>(KernelClass::none) + idle_causes + 5;

// Adds the causes of a digest, unless there are too many then.
bool add_causes(const Digest& digest, std::set<std::string>& causes) {
  std::set<std::string> added;
  for (const RankDigest& rank : digest.ranks)
    for (const auto& [cause, share] : rank.account) {
      if (!causes.contains(cause)) added.insert(cause);
      if (causes.size() + added.size() > most_causes) return false;
    }
  causes.merge(added);
  return true;
}

// With thousands of digests, memory matters.
void drop_what_no_pass_reads(Digest& d) {
  for (RankDigest& r : d.ranks) {
    r.plan_json.clear();
    r.sample_ns = {};
    r.collectives.kinds = {};
    for (auto& [cause, share] : r.account) share.sample_ns = {};
  }
}

}  // namespace

std::vector<std::string> find_digests(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ec;
    if (!fs::is_directory(path, ec)) {
      files.push_back(path);
      continue;
    }
    const std::vector<fs::path> inside = files_below(path, ".digest", printable(path));
    if (inside.empty()) {
      throw Error(
          fmt::format("{}: contains no *.digest; create them with `gh-advise digest`, or with "
                      "`gh-advise slurm` for a folder of reports",
                      printable(path)));
    }
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::vector<Digest> read_digests(const std::vector<std::string>& paths,
                                 std::vector<std::string>& errors) {
  std::vector<std::optional<Digest>> read(paths.size());
  std::vector<std::string> failed(paths.size());
  in_parallel(paths.size(), [&](std::size_t i, std::size_t) {
    try {
      read[i] = read_digest(paths[i]);
      drop_what_no_pass_reads(*read[i]);
    } catch (const std::exception& e) {
      failed[i] = e.what();
    }
  });
  std::vector<Digest> digests;
  std::set<std::string> causes;  // of all digests
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (read[i] && !add_causes(*read[i], causes)) {
      failed[i] = fmt::format(
          "{}: is not an intact digest: with those before it, the accounts of the job name more "
          "than {} causes; create it again with `gh-advise digest`",
          paths[i], most_causes);
      read[i].reset();
    }
    if (read[i]) {
      digests.push_back(std::move(*read[i]));
    } else {
      errors.push_back(printable(failed[i]));
    }
  }
  return digests;
}

}  // namespace gh
