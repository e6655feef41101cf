#include "record/hooks.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/embedded.hpp"
#include "base/files.hpp"
#include "record/fixes.hpp"
#include "record/programs.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view package = "engine/package/python/";

bool is_machine_code(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) ==
         "\x7f"
         "ELF";
}

template <typename Number>
Number number(const json& state, const char* key) {
  const auto found = state.find(key);
  return found != state.end() && found->is_number() ? found->get<Number>() : Number();
}

std::string text(const json& state, const char* key) {
  const auto found = state.find(key);
  return found != state.end() && found->is_string() ? found->get<std::string>() : "";
}

template <typename Value>
std::vector<Value> list_of(const json& state, const char* key) {
  std::vector<Value> list;
  const auto found = state.find(key);
  if (found == state.end() || !found->is_array()) return list;
  for (const json& value : *found) {
    if constexpr (std::is_same_v<Value, double>)
      list.push_back(value.is_number() ? value.get<double>() : NAN);
    else if (value.is_string() == std::is_same_v<Value, std::string>)
      list.push_back(value.get<Value>());
  }
  return list;
}

}  // namespace

Hooks::Hooks(fs::path folder, const HookSettings& settings) : folder_(std::move(folder)) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(package)) continue;
    const fs::path target = folder_ / file.path.substr(package.size());
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
  std::string path = (folder_ / "hooks").string() + ":" + folder_.string();
  if (const char* before = std::getenv("PYTHONPATH"); before && *before)
    path += std::string(":") + before;
  return {{"PYTHONPATH", path}, {"GH_ADVISE_FOLDER", folder_.string()}};
}

HookState Hooks::state() const {
  HookState s;
  std::ifstream file(folder_ / "state.json");
  if (!file) return s;
  const json state = json::parse(file, nullptr, false);
  if (!state.is_object()) return s;
  s.phase = text(state, "phase");
  s.unit = text(state, "unit");
  s.gpu = state.value("gpu", json(false)) == json(true);
  s.passed = number<std::int64_t>(state, "passed");
  s.recorded = number<std::int64_t>(state, "recorded");
  s.timed_ns = number<Ns>(state, "timed_ns");
  s.recorded_ns = number<Ns>(state, "recorded_ns");
  s.unit_ns = list_of<Ns>(state, "unit_ns");
  s.timed = static_cast<std::int64_t>(s.unit_ns.size());
  s.why_short = text(state, "why_short");
  s.losses = list_of<double>(state, "losses");
  s.applied = list_of<std::string>(state, "applied");
  return s;
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
