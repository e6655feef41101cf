#include "base/deadline.hpp"

#include <fmt/format.h>

#include <ctime>

#include "base/text.hpp"

namespace gh {
namespace {

// Reading a GiB takes about ten seconds, or a minute if compressed; several times as long under an
// emulator or sanitizer.
constexpr std::int64_t least_seconds = 60;
constexpr double seconds_a_gib = 300;

std::int64_t timeout_seconds = 0;  // from --timeout

std::int64_t seconds_for(const std::filesystem::path& file) {
  if (timeout_seconds > 0) return timeout_seconds;
  std::error_code ec;
  const std::uintmax_t bytes = std::filesystem::file_size(file, ec);
  const double gib = ec ? 0 : static_cast<double>(bytes) / (1 << 30);
  return least_seconds + static_cast<std::int64_t>(seconds_a_gib * gib);
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
      ends_ns_(processor_ns() + seconds_ * 1'000'000'000) {}

bool Deadline::passed() const { return processor_ns() > ends_ns_; }

std::string Deadline::message() const {
  return fmt::format(
      "reading it took more than {} s of CPU time; if you trust the file, allow more with "
      "--timeout",
      seconds_);
}

void Deadline::check() const {
  if (passed()) throw Error(fmt::format("{}: {}", shown_, message()));
}

}  // namespace gh
