// Running on several threads must not change the output, and takes no more threads than were asked
// for.
#include "base/parallel.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "support/program.hpp"

using namespace support;

TEST_CASE("threads: all work is done once, also within work, by as few threads as wanted") {
  gh::use_threads(4);
  std::atomic<int> together = 0, most = 0;
  std::vector<std::atomic<int>> done(500);
  std::atomic<int> clashes = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::atomic<int>> busy(4);
    gh::in_parallel(25, [&](std::size_t i, std::size_t worker) {
      clashes += worker >= 4 || busy[worker]++ != 0;
      gh::in_parallel(20, [&](std::size_t j, std::size_t) {
        for (int now = ++together, seen = most;
             seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        ++done[20 * i + j];
        --together;
      });
      --busy[worker];
    });
  }
  gh::use_threads(0);
  CHECK(clashes == 0);
  CHECK(most <= 4);
  for (const auto& times : done) CHECK(times == 20);
}

TEST_CASE("threads: the first exception stops the work, and the next work is done") {
  gh::use_threads(4);
  std::atomic<int> begun = 0;
  CHECK_THROWS_AS(gh::in_parallel(100'000,
                                  [&](std::size_t i, std::size_t) {
                                    ++begun;
                                    if (i == 3) throw std::runtime_error("three");
                                  }),
                  std::runtime_error);
  CHECK(begun < 100'000);
  begun = 0;
  gh::in_parallel(100, [&](std::size_t, std::size_t) { ++begun; });
  CHECK(begun == 100);
  gh::in_parallel(0, [&](std::size_t, std::size_t) { ++begun; });
  CHECK(begun == 100);
  gh::use_threads(0);
}

// The sanitizer of threads allows none after a fork.
TEST_CASE("threads: a child process has threads of its own" * doctest::skip(sanitized)) {
  gh::use_threads(4);
  gh::in_parallel(8, [](std::size_t, std::size_t) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> together = 0, most = 0;
    gh::in_parallel(4, [&](std::size_t, std::size_t) {
      for (const int now = ++together; most < now;) most = now;
      for (int i = 0; i < 2000 && most < 2; ++i) usleep(1000);
      --together;
    });
    _exit(most >= 2 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  gh::use_threads(0);
  CHECK(status == 0);
}

TEST_CASE("threads: the output does not depend on the number of threads") {
  for (const char* report :
       {"starved.sqlite", "ddp.sqlite", "um.sqlite", "eager-autogradnvtx.sqlite",
        "good.pt.trace.json", "ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json"}) {
    CAPTURE(report);
    const Ran one = advise(std::string(report) + " --format json --threads 1"),
              many = advise(std::string(report) + " --format json --threads 7");
    CHECK(one.status == 0);
    CHECK_MESSAGE(many.status == 0, many.err);
    CHECK((one.out == many.out));
  }
  CHECK(advise("starved.sqlite --threads 0").status == 2);
}
