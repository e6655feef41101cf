#include "read/nsys/backtraces.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace gh::nsys {
namespace {

using nlohmann::json;

constexpr const char* key = "Python Backtrace on CUDA";

// The list of frames; an empty array where it is not as it should be.
json frames_in(std::string_view text) {
  const json mark = json::parse(text, nullptr, false);
  if (!mark.is_object() || !mark.contains(key)) return json::array();
  const json& stack = mark[key];
  if (!stack.is_object() || !stack.contains("Frames") || !stack["Frames"].is_array()) {
    return json::array();
  }
  return stack["Frames"];
}

std::int64_t number_in(const json& frame, const char* name) {
  const bool has_one = frame.is_object() && frame.contains(name) && frame[name].is_number_integer();
  return has_one ? frame[name].get<std::int64_t>() : -1;
}

}  // namespace

bool Backtraces::is_one(std::string_view json) { return json.find(key) != json.npos; }

const std::string& Backtraces::line_of_program(std::string_view json) {
  const auto [it, added] = known_.try_emplace(std::string(json));
  if (!added) return it->second;
  for (const auto& frame : frames_in(json)) {
    std::string line = fmt::format("{}({}): {}", text(number_in(frame, "File")),
                                   number_in(frame, "Line"), text(number_in(frame, "Function")));
    if (source_line(line).line == 0) continue;
    it->second = std::move(line);
    break;
  }
  return it->second;
}

// Strings stand there as in HTML: "&lt;module&gt;".
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
