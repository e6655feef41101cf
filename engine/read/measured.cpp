#include "read/measured.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".measured.json";
constexpr int schema_version = 1;
constexpr std::int64_t most_samples = 1'000'000'000'000;
constexpr std::size_t most_unit_characters = 100;

std::int64_t whole_number(const Json& json, const char* key, std::int64_t most) {
  if (!json.contains(key)) throw Error(fmt::format("'{}' is missing", key));
  const Json& value = json.at(key);
  const bool in_range = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                        value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!in_range) throw Error(fmt::format("'{}' must be a whole number of at least 1", key));
  return value.get<std::int64_t>();
}

// Ignores keys that later versions may add.
Measured measured_from(const Json& json) {
  if (!json.is_object()) throw Error("it is not a JSON object");
  if (whole_number(json, "schema_version", most_samples) != schema_version)
    throw Error(fmt::format(
        "its schema_version is not {}, so another version of gh-advise wrote it", schema_version));
  Measured m;
  if (const auto unit = json.find("unit"); unit != json.end()) {
    if (!unit->is_string() || unit->get<std::string>().empty())
      throw Error("'unit' must be a non-empty string");
    m.unit = shortened(printable(unit->get<std::string>()), most_unit_characters);
  }
  m.ns = whole_number(json, "measured_step_ns", longest_duration_ns);
  if (json.contains("recorded_step_ns"))
    m.recorded_ns = whole_number(json, "recorded_step_ns", longest_duration_ns);
  if (json.contains("samples")) m.samples = whole_number(json, "samples", most_samples);
  return m;
}

}  // namespace

fs::path measured_path(const fs::path& report) {
  std::string name = report.filename().string();
  for (const std::string_view known : {".sqlite", ".nsys-rep", ".qdrep", ".json.gz", ".json"})
    if (name.ends_with(known)) {
      name.resize(name.size() - known.size());
      break;
    }
  return report.parent_path() / (name + suffix);
}

std::optional<Measured> measured_beside(const fs::path& report) {
  const fs::path path = measured_path(report);
  std::error_code ec;
  if (!fs::exists(path, ec)) return std::nullopt;
  try {
    return measured_from(parsed_json(read_text(path)));
  } catch (const Json::exception&) {
    throw Error(fmt::format("{}: is not JSON; fix or remove it", path.string()));
  } catch (const Error& e) {
    const std::string what = e.what();
    if (what.starts_with(path.string())) throw;
    throw Error(fmt::format("{}: {}; fix or remove it", path.string(), what));
  }
}

void write_measured_beside(const fs::path& report, const Measured& measured) {
  Json json = {{"schema_version", schema_version},
               {"unit", measured.unit},
               {"measured_step_ns", measured.ns}};
  if (measured.samples > 0) json["samples"] = measured.samples;
  if (measured.recorded_ns > 0) json["recorded_step_ns"] = measured.recorded_ns;
  write_file(measured_path(report), json.dump(2) + "\n");
}

bool is_measured_path(const fs::path& path) { return path.filename().string().ends_with(suffix); }

}  // namespace gh
