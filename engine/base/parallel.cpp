#include "base/parallel.hpp"

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/deadline.hpp"

namespace gh {
namespace {

std::atomic<unsigned> wanted = 0;

}  // namespace

unsigned thread_count() {
  return wanted != 0 ? wanted.load() : std::max(1u, std::thread::hardware_concurrency());
}

void use_threads(unsigned count) { wanted = count; }

void in_parallel(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  const auto run = [&](std::size_t worker) {
    try {
      for (std::size_t i; !failed && (i = next++) < count;) {
        check_time();
        work(i, worker);
      }
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t worker = 1; worker < std::min<std::size_t>(thread_count(), count); ++worker) {
      try {
        helpers.emplace_back(run, worker);
      } catch (const std::system_error&) {
        break;  // the system has no more threads: the existing ones do the rest
      }
    }
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gh
