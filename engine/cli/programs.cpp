#include "cli/programs.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"
#include "record/recording.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

constexpr int most_units = 1'000'000;

bool is_taken(const fs::path& name) {
  std::error_code ec;
  for (const char* ending : {".sqlite", ".json", ".nsys-rep", ".html"})
    if (fs::exists(name.string() + ending, ec)) return true;
  return !reports_of_ranks(name).empty();
}

}  // namespace

Ns duration_option(const char* option, const std::string& value) {
  const auto ns = parsed_duration(value);
  if (!ns)
    throw Error(
        fmt::format("{} {}: give a time above 0 with its unit, as in 30s (ns, us, ms, s, min, h)",
                    option, printable(value)));
  return *ns;
}

Delay parsed_delay(const std::string& value) {
  if (value.empty()) return {};
  if (value == "0s") return {std::nullopt, 0};
  if (value.find_first_not_of("0123456789") != value.npos)
    return {std::nullopt, duration_option("--delay", value)};
  if (value.size() > 7 || std::stoi(value) > most_units)
    throw Error(fmt::format("--delay {}: is more than {} units", printable(value), most_units));
  return {std::stoi(value), std::nullopt};
}

fs::path output_name(std::string given, const std::string& name) {
  if (given.empty() || given.ends_with('/')) return given + name;
  for (const std::string_view ending : {".sqlite", ".nsys-rep", ".json"})
    if (given.ends_with(ending)) given.resize(given.size() - ending.size());
  return given;
}

fs::path new_output(const std::string& given, const std::string& name, bool replace) {
  fs::path output = output_name(given, name);
  if (given.empty()) {
    for (int number = 2; !replace && is_taken(output); ++number)
      output = fmt::format("{}-{}", name, number);
  } else if (!replace) {
    refuse_taken(output);
  }
  return output;
}

void refuse_taken(const fs::path& output) {
  if (is_taken(output))
    throw Error(fmt::format("{}: a recording of this name exists; --force replaces it",
                            printable(output.string())));
}

}  // namespace gh
