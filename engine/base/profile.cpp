#include "base/profile.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <vector>

#include "base/deadline.hpp"

namespace gh {
namespace {

struct Phase {
  std::string path;
  double seconds = 0, cpu_seconds = 0;
  std::int64_t held_bytes = 0, peak_bytes = 0;  // when it last ended
};

std::atomic<bool> counting = false;
std::mutex mutex;
std::vector<Phase> phases;  // in the order first seen
std::chrono::steady_clock::time_point begun;

std::int64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

rusage usage() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return u;
}

// The memory that the program uses now.
std::int64_t held_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Phase& phase_of(const std::string& path) {
  const auto it =
      std::find_if(phases.begin(), phases.end(), [&](const Phase& p) { return p.path == path; });
  return it == phases.end() ? phases.emplace_back(Phase{.path = path}) : *it;
}

std::string line(std::string_view name, double clock, double cpu, std::int64_t held,
                 std::int64_t peak) {
  return fmt::format("{:<44} {:>9.3f} {:>9.3f} {:>9.0f} {:>9.0f}\n", name, clock, cpu,
                     static_cast<double>(held) / 1e6, static_cast<double>(peak) / 1e6);
}

// Where a phase's last component begins in its path.
std::size_t name_at(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Lists the parts of a phase directly below it, in whatever order they were first seen.
void add_parts(std::string& out, const std::string& parent) {
  for (const Phase& p : phases) {
    if (parent_of(p.path) != parent) continue;
    const auto depth = static_cast<std::size_t>(std::count(p.path.begin(), p.path.end(), '/'));
    out += line(std::string(2 * depth, ' ') + p.path.substr(name_at(p.path)), p.seconds,
                p.cpu_seconds, p.held_bytes, p.peak_bytes);
    add_parts(out, p.path);
  }
}

}  // namespace

void start_profile() {
  const std::lock_guard lock(mutex);
  phases.clear();
  begun = std::chrono::steady_clock::now();
  counting = true;
}

Timed::Timed(std::string phase) {
  check_time(phase);
  if (!counting) return;
  phase_ = std::move(phase);
  start_ = std::chrono::steady_clock::now();
  cpu_ns_ = thread_cpu_ns();
  const std::lock_guard lock(mutex);
  phase_of(phase_);
}

Timed::~Timed() {
  if (phase_.empty()) return;
  const double clock = seconds_since(start_);
  const double cpu = static_cast<double>(thread_cpu_ns() - cpu_ns_) / 1e9;
  const std::lock_guard lock(mutex);
  Phase& p = phase_of(phase_);
  p.seconds += clock;
  p.cpu_seconds += cpu;
  p.held_bytes = held_bytes();
  p.peak_bytes = usage().ru_maxrss * 1024;
}

std::string render_profile() {
  const std::lock_guard lock(mutex);
  std::string out =
      fmt::format("{:<44} {:>9} {:>9} {:>9} {:>9}\n", "phase", "seconds", "cpu s", "MB", "peak MB");
  add_parts(out, "");
  const rusage u = usage();
  return out + line("all", seconds_since(begun), seconds(u.ru_utime) + seconds(u.ru_stime),
                    held_bytes(), u.ru_maxrss * 1024);
}

}  // namespace gh
