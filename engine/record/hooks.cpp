#include "record/hooks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "record/fixes.hpp"
#include "record/programs.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Limits any_number{.least = -std::numeric_limits<double>::max(),
                            .most = std::numeric_limits<double>::max()};
constexpr std::string_view package = "engine/package/python/";

// PYTHONPATH has a ':' between paths, so none can be within one.
bool fits_pythonpath(const fs::path& path) { return path.string().find(':') == std::string::npos; }

bool is_machine_code(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) ==
         "\x7f"
         "ELF";
}

}  // namespace

Hooks::Hooks(fs::path folder, const HookSettings& settings) : folder_(std::move(folder)) {
  if (!fits_pythonpath(folder_)) elsewhere_.emplace();
  const fs::path& target_folder = elsewhere_ ? elsewhere_->path : folder_;
  if (!fits_pythonpath(target_folder))
    throw Error(fmt::format(
        "{}: has a ':', so Python cannot look there for what watches the program; set TMPDIR to a "
        "folder without",
        printable(target_folder.parent_path().string())));
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(package)) continue;
    const fs::path target = target_folder / file.path.substr(package.size());
    fs::create_directories(target.parent_path());
    write_file(target, file.text);
  }
  json given = {{"capture", settings.capture}, {"units", settings.units},
                {"times", settings.times},     {"alone", settings.alone},
                {"stacks", settings.stacks},   {"memory", settings.memory},
                {"layers", settings.layers},   {"fixes", settings.fixes},
                {"workers", workers_to_try()}, {"delay", nullptr}};
  if (settings.delay) given["delay"] = *settings.delay;
  write_file(folder_ / "settings.json", given.dump());
}

std::map<std::string, std::string> Hooks::environment() const {
  std::string path = ((elsewhere_ ? elsewhere_->path : folder_) / "hooks").string();
  if (const char* before = std::getenv("PYTHONPATH"); before && *before)
    path += std::string(":") + before;
  return {{"PYTHONPATH", path}, {"GH_ADVISE_FOLDER", folder_.string()}};
}

HookState Hooks::state() const try {
  HookState s;
  std::vector<std::optional<double>> losses;  // null where one is no number
  read_json(read_text(folder_ / "state.json"), [&](const FieldReader& read) {
    read("phase", s.phase);
    read("unit", s.unit);
    read("gpu", s.gpu);
    read("passed", s.passed);
    read("recorded", s.recorded);
    read("timed_ns", s.timed_ns);
    read("recorded_ns", s.recorded_ns);
    read("unit_ns", s.unit_ns);
    read("why_short", s.why_short);
    read("losses", losses, any_number);
    read("applied", s.applied);
  });
  s.timed = static_cast<std::int64_t>(s.unit_ns.size());
  for (const auto& loss : losses) s.losses.push_back(loss.value_or(NAN));
  return s;
} catch (const Error&) {  // nothing has been seen yet
  return {};
}

bool may_run_python(const std::vector<std::string>& command) {
  const std::string name = fs::path(command.front()).filename();
  for (const char* shell : {"sh", "bash", "dash", "zsh", "ksh"})
    if (name == shell) return true;
  if (std::any_of(command.begin(), command.end(), starts_python)) return true;
  const auto program = program_on_path(command.front());
  return program && !is_machine_code(*program);
}

}  // namespace gh
