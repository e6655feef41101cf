#include "base/deadline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <limits>
#include <mutex>

#include "base/text.hpp"

namespace gh {
namespace {

// Reading a GiB takes about ten seconds, or a minute if compressed, and all that follows two or
// three times as long; an emulator or sanitizer makes both several times slower.
constexpr std::int64_t least_seconds = 60;
constexpr double seconds_a_gib = 300;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::int64_t timeout_seconds = 0;  // from --timeout

// What the TimeLimit allows, if there is one.
struct Allowed {
  bool limited = false;
  std::string file, phase;  // the first file that was read, and what began last
  std::int64_t begun_ns = 0, seconds = 0;
};
std::mutex allowed_mutex;
Allowed allowed;
std::atomic<std::int64_t> all_ends_ns = never;  // in CPU time

std::int64_t seconds_for(const std::filesystem::path& file) {
  if (timeout_seconds > 0) return timeout_seconds;
  std::error_code ec;
  const std::uintmax_t bytes = std::filesystem::file_size(file, ec);
  const double gib = ec ? 0 : static_cast<double>(bytes) / (1 << 30);
  return least_seconds + static_cast<std::int64_t>(seconds_a_gib * gib);
}

void allow_for(const std::string& file, std::int64_t seconds) {
  const std::lock_guard lock(allowed_mutex);
  if (!allowed.limited) return;
  if (allowed.file.empty()) allowed.file = file;
  allowed.seconds = timeout_seconds > 0 ? timeout_seconds : allowed.seconds + seconds;
  all_ends_ns = allowed.begun_ns + allowed.seconds * 1'000'000'000;
}

}  // namespace

std::int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void use_timeout(std::int64_t seconds) { timeout_seconds = seconds; }

Deadline::Deadline(const std::filesystem::path& file)
    : shown_(printable(file.string())),
      seconds_(seconds_for(file)),
      ends_ns_(processor_ns() + seconds_ * 1'000'000'000) {
  allow_for(shown_, seconds_);
}

bool Deadline::passed() const { return processor_ns() > std::min(ends_ns_, all_ends_ns.load()); }

std::string Deadline::message() const {
  return fmt::format(
      "reading it took more than {} s of CPU time; if you trust the file, allow more with "
      "--timeout",
      seconds_);
}

void Deadline::check() const {
  if (passed()) throw Error(fmt::format("{}: {}", shown_, message()));
}

TimeLimit::TimeLimit() {
  const std::lock_guard lock(allowed_mutex);
  outermost_ = !allowed.limited;
  if (!outermost_) return;
  allowed.limited = true;
  allowed.begun_ns = processor_ns();
}

TimeLimit::~TimeLimit() {
  if (!outermost_) return;
  const std::lock_guard lock(allowed_mutex);
  allowed = {};
  all_ends_ns = never;
}

std::int64_t time_left_ns() {
  const std::int64_t ends = all_ends_ns;
  return ends == never ? never : ends - processor_ns();
}

void check_time() {
  if (time_left_ns() >= 0) return;
  const std::lock_guard lock(allowed_mutex);
  throw Error(fmt::format(
      "{}: it took more than {} s of CPU time, the last of it for '{}'; if you trust the "
      "file, allow more with --timeout",
      allowed.file, allowed.seconds, allowed.phase));
}

void check_time(std::string_view phase) {
  if (all_ends_ns == never) return;
  check_time();
  const std::lock_guard lock(allowed_mutex);
  allowed.phase = phase;
}

}  // namespace gh
