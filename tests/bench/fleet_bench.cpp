// fleet_bench [RANKS]: measures how long `gh-advise fleet` takes on the digests of a large job, and
// how much memory.
//
// The digests are derived from recorded ones: eight ranks per node, each with its own clock, steps
// and accounts that vary by a few percent, and one late rank in a hundred. Run this program by
// hand; it is not a test and checks no times.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "job/digest.hpp"

namespace {

namespace fs = std::filesystem;

gh::Digest recorded(const char* fixture, const fs::path& folder) {
  const fs::path file = folder / "recorded";
  const std::string command = fmt::format("'{}' digest '{}/{}' --output '{}'", GH_PROGRAM,
                                          GH_FIXTURES, fixture, file.string());
  if (std::system(command.c_str()) != 0)
    throw gh::Error("the program failed on " + std::string(fixture));
  gh::Digest d = gh::read_digest(file);
  fs::remove(file);
  return d;
}

double processor(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t ranks = argc > 1 ? std::atoll(argv[1]) : 4096;
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("gh-advise-fleet-bench-{}", getpid());
  fs::create_directories(folder);
  const gh::Digest base = recorded("ddp-straggler.sqlite", folder),
                   other = recorded("starved.sqlite", folder);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> percent(-0.03, 0.03);
  std::uintmax_t bytes = 0;
  for (std::int64_t r = 0; r < ranks; ++r) {
    gh::Digest d = base;
    gh::RankDigest& rank = d.ranks[r % 100 == 37];  // the second one sleeps in each step
    rank.rank = r;
    d.node = fmt::format("node{:04}", r / 8);
    d.world_size = ranks;
    d.report = fmt::format("run.rank{}.sqlite", r);
    // Findings like those of a report with problems: every tenth rank also gets those of the
    // starved one.
    if (r % 10 == 3)
      rank.findings.insert(rank.findings.end(), other.ranks[0].findings.begin(),
                           other.ranks[0].findings.end());
    for (auto& [cause, share] : rank.account) share.ns_per_step *= 1 + percent(random);
    const gh::Ns ahead = r * 1'000'003, jitter = 2'000;
    d.epoch_ns += -ahead;
    rank.window.start += ahead;
    rank.window.end += ahead;
    // As many collectives as a digest may contain.
    std::vector<gh::Collective>& list = rank.collectives.first;
    const gh::Ns period = list.back().end - list.front().end + 5'000'000;
    for (std::size_t i = 0; list.size() < gh::most_collectives; ++i)
      list.push_back({list[i].name, list[i].start + period, list[i].end + period, list[i].alone});
    for (gh::Collective& c : list) {
      c.start += ahead + static_cast<gh::Ns>(random() % jitter);
      c.end += ahead;
    }
    d.ranks = {rank};
    std::ofstream(folder / fmt::format("{}.digest", r), std::ios::binary) << gh::pack_digest(d);
    bytes += fs::file_size(folder / fmt::format("{}.digest", r));
  }
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    execl(GH_PROGRAM, GH_PROGRAM, "fleet", folder.c_str(), "--output",
          (folder / "fleet.txt").c_str(), "--output", "json=/dev/null",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fmt::print(stderr, "the program failed\n");
  fmt::print("{} digests, {:.0f} KB on average: {:.2f} s, {:.2f} s of CPU time, {:.0f} MB peak\n",
             ranks, static_cast<double>(bytes) / static_cast<double>(ranks) / 1e3, seconds,
             processor(usage.ru_utime) + processor(usage.ru_stime),
             static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
  if (argc > 2) std::system(fmt::format("head -60 '{}'", (folder / "fleet.txt").string()).c_str());
  if (argc > 2)
    fmt::print("kept: {}\n", folder.string());
  else
    fs::remove_all(folder);
}
