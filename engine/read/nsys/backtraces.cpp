#include "read/nsys/backtraces.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace gh::nsys {
namespace {

using nlohmann::json;

constexpr const char* of_call = "Python Backtrace on CUDA";
constexpr const char* of_moment = "Python Periodic Sampling";

// The stack stored under a key: an object with a list of frames. Empty if it does not have that
// form.
json stack_in(std::string_view text, const char* key) {
  const json mark = json::parse(text, nullptr, false);
  json stack = mark.is_object() && mark.contains(key) ? mark[key] : json();
  if (!stack.is_object()) stack = json::object();
  if (!stack.contains("Frames") || !stack["Frames"].is_array()) stack["Frames"] = json::array();
  return stack;
}

// "train.py(40): train_step"; "" for an installed package.
std::string line_of(const std::string& file, const std::string& function, std::int64_t number) {
  std::string line = fmt::format("{}({}): {}", file, number, function);
  return source_line(line).line == 0 ? "" : line;
}

std::int64_t number_in(const json& frame, const char* name) {
  const bool has_one = frame.is_object() && frame.contains(name) && frame[name].is_number_integer();
  return has_one ? frame[name].get<std::int64_t>() : -1;
}

}  // namespace

Backtraces::Of Backtraces::kind_of(std::string_view json) {
  if (json.find(of_call) != json.npos) return Of::call;
  return json.find(of_moment) != json.npos ? Of::moment : Of::none;
}

const std::string& Backtraces::line_of_program(std::string_view json) {
  const auto [it, added] = known_.try_emplace(std::string(json));
  if (!added) return it->second;
  const auto stack = stack_in(json, of_call);
  for (const auto& frame : stack["Frames"]) {
    it->second = line_of(text(number_in(frame, "File")), text(number_in(frame, "Function")),
                         number_in(frame, "Line"));
    if (!it->second.empty()) break;
  }
  return it->second;
}

const Backtraces::Sample& Backtraces::sample(std::string_view json) {
  const auto [it, added] = samples_.try_emplace(std::string(json));
  if (!added) return it->second;
  const auto stack = stack_in(json, of_moment);
  Sample& sample = it->second;
  for (const auto& frame : stack["Frames"]) {
    const std::string file = text(number_in(frame, "File")),
                      function = text(number_in(frame, "Function"));
    std::string line = line_of(file, function, number_in(frame, "Line"));
    if (!sample.function.empty() && line.empty()) continue;
    sample.module = file.substr(file.rfind('/') + 1);
    sample.function = fmt::format("{} ({})", function, sample.module);
    sample.line = std::move(line);
    if (!sample.line.empty()) break;
  }
  return sample;
}

// Strings are escaped as in HTML: "&lt;module&gt;".
std::string Backtraces::text(std::int64_t id) {
  if (id < 0) return "";
  std::string text = strings_.find(id).value_or("");
  for (const auto& [escaped, plain] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}}) {
    for (std::size_t at = 0; (at = text.find(escaped, at)) != text.npos; ++at) {
      text.replace(at, std::strlen(escaped), plain);
    }
  }
  return text;
}

}  // namespace gh::nsys
