#include "read/doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/deadline.hpp"
#include "base/profile.hpp"
#include "read/doubts/checks.hpp"

namespace gh {
namespace doubts {

std::vector<std::uint8_t> begins_with(const Trace& trace,
                                      const std::vector<std::string_view>& beginnings) {
  std::vector<std::uint8_t> begins(trace.names.size());
  for (NameId n = 0; n < trace.names.size(); ++n) {
    begins[n] = std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
      return trace.names[n].starts_with(beginning);
    });
  }
  return begins;
}

Checks::Checks(const Trace& checked, Recorder recorder)
    : trace(checked),
      by_torch(recorder == Recorder::torch),
      kernels(static_cast<std::size_t>(
          count_rows(trace.ops.size(), [&](Row op) { return is_kernel(op); }))),
      copies(static_cast<std::size_t>(
          count_rows(trace.ops.size(), [&](Row op) { return is_copy(op); }))),
      sets(static_cast<std::size_t>(
          count_rows(trace.ops.size(), [&](Row op) { return is_set(op); }))),
      migrations(static_cast<std::size_t>(
          count_rows(trace.ops.size(), [&](Row op) { return is_migration(op); }))) {}

void Checks::add(std::int64_t count, std::size_t of, Limit limit, std::string what,
                 std::vector<Source> unknown) {
  check_time();
  found.push_back({count, static_cast<std::int64_t>(of), by_torch ? limit.torch : limit.nsys,
                   std::move(what), std::move(unknown)});
}

void Checks::add_time(double ns, double of_ns, Limit limit, const std::string& what) {
  constexpr double us = 1e3, most = 1e18;  // sums overflow in damaged reports
  add(static_cast<std::int64_t>(std::min(ns / us, most)),
      static_cast<std::size_t>(std::min(of_ns / us, most)), limit, "microseconds " + what);
}

std::vector<Source> Checks::sources(std::vector<Source> of_operations, Unknown unknown) {
  if (unknown == Unknown::nothing) return {};
  if (unknown == Unknown::calls_too) of_operations.push_back(Source::calls);
  return of_operations;
}

}  // namespace doubts

std::vector<Doubt> doubts_of(const Trace& trace, Recorder recorder) {
  const Timed timed("read/doubts");
  doubts::Checks checks(trace, recorder);
  doubts::check_rows(checks);
  doubts::check_launches(checks);
  doubts::check_threads(checks);
  doubts::check_streams(checks);
  doubts::check_devices(checks);
  return std::move(checks.found);
}

void settle(const std::vector<Doubt>& doubts, Trace& trace) {
  // Fewer rows than this are not a pattern.
  constexpr std::int64_t least_rows = 2, least_of = 10;
  for (const Doubt& d : doubts) {
    if (d.count < least_rows || d.of < least_of ||
        static_cast<double>(d.count) <= d.most * static_cast<double>(d.of)) {
      continue;
    }
    const std::string why = fmt::format("{} of {} {}", d.count, d.of, d.what);
    // One kind of damage shows in many ways: report only the first that affects a source.
    bool is_news = d.unknown.empty() || trace.doubts.empty();
    for (const Source s : d.unknown) {
      Availability& have = trace.availability(s);
      if (!have.known()) continue;
      have = {Collected::unknown, why, have.record_with};
      is_news = true;
    }
    if (is_news) trace.doubt(why);
  }
}

}  // namespace gh
