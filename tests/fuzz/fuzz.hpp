// What the fuzzers share. Each accepts any bytes for one kind of input. A gh::Error is an answer;
// any other exception is a bug.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "report/report.hpp"

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file of this process in memory, with these bytes.
inline std::filesystem::path file_of(std::string_view bytes) {
  static const std::filesystem::path path =
      (std::filesystem::exists("/dev/shm") ? "/dev/shm/gh-advise-fuzz-" : "/tmp/gh-advise-fuzz-") +
      std::to_string(getpid());
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// What follows every importer. The account has to add up to the steps whatever the report
/// contains. `judged`: also runs the rules, which takes most of the time.
inline void analyse(gh::Trace trace, bool judged) {
  const gh::Analysis analysis(std::move(trace), gh::Classes(), {});
  const gh::Facts facts(analysis);
  gh::Ns steps = 0;
  for (const gh::DeviceSteps& device : analysis.devices)
    for (const gh::Step& step : device.steps) steps += step.span.length();
  if (steps != analysis.total_ns()) __builtin_trap();
  for (const gh::Fact& f : facts.all()) facts.value(f.name);
  if (!judged) return;
  static const std::vector<gh::Rule> rules = gh::own_rules();
  const gh::Report report = gh::evaluate(rules, analysis, facts, {});
  if (!report.failed.empty())
    throw std::logic_error(report.failed.front().rule + ": " + report.failed.front().error);
  gh::render_text(analysis, report, {});
  gh::render_json(analysis, report);
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
