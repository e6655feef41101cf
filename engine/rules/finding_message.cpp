#include "rules/finding_message.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "rules/finding.hpp"

namespace gh {
namespace {

constexpr std::string_view lost = ":lost";  // ends a field that is the time lost

std::string each_step(const Analysis& a, const StepTime& step) {
  const std::string length = duration(step.ns);
  if (!a.has_steps()) return (a.remade ? "the remaining " : "the window's ") + length;
  return fmt::format("each {} {}", length, a.words().noun);
}

std::string text_or_count(const std::string& key, const LuaTable& data) {
  if (data.is_text(key.c_str())) return data.text(key.c_str());
  const auto count = data.number(key.c_str());
  if (!count)
    throw Error(fmt::format("the message uses '{}', which is not in the finding's data", key));
  return shown(*count, Unit::count);
}

std::string number_with_unit(const std::string& key, const std::string& unit,
                             const LuaTable& data) {
  const auto number = data.number(key.c_str());
  if (!number)
    throw Error(
        fmt::format("the message uses '{}', which is not a number in the finding's data", key));
  return shown(*number, parse_unit(unit, "message"));
}

// "# kernel takes|# kernels take": the words for one, and those for any other number.
std::string one_or_many(const std::string& key, const std::string& words, const LuaTable& data) {
  const std::string count = text_or_count(key, data);
  const std::size_t bar = words.find('|');
  std::string out;
  for (const char c : count == "1" ? words.substr(0, bar) : words.substr(bar + 1))
    out += c == '#' ? count : std::string(1, c);
  return out;
}

std::string value_of(const std::string& field, const LuaTable& data, const Analysis& analysis,
                     const StepTime& step) {
  if (field == "each_step") return each_step(analysis, step);
  if (field == "a_step") return analysis.words().per;
  if (field == "unit") return analysis.words().noun;
  if (field == "units") return analysis.has_steps() ? analysis.words().many : window_unit;
  const std::string key = field.substr(0, field.find(':'));
  const std::string unit = field.size() > key.size() ? field.substr(key.size() + 1) : "";
  if (unit.find('|') != std::string::npos) return one_or_many(key, unit, data);
  return unit.empty() ? text_or_count(key, data) : number_with_unit(key, unit, data);
}

}  // namespace

FilledMessage filled_message(const std::string& pattern, const LuaTable& data,
                             const Analysis& analysis, const StepTime& step) {
  FilledMessage out;
  for (std::size_t at = 0;;) {
    std::size_t open = pattern.find('{', at);
    while (open != std::string::npos && pattern.compare(open, 2, "{ ") == 0)
      open = pattern.find('{', open + 1);
    out.text += std::string_view(pattern).substr(at, open - at);
    // Without this limit, a text of thousands of placeholders could become as long as all of them
    // together.
    if (out.text.size() > most_text_bytes)
      throw Error(fmt::format("the message is longer than {} KiB", most_text_bytes >> 10));
    if (open == std::string::npos) return out;
    const std::size_t close = pattern.find('}', open);
    if (close == std::string::npos)
      throw Error(fmt::format("message '{}' has a '{{' without '}}'", pattern));
    const std::string field = pattern.substr(open + 1, close - open - 1);
    if (field.ends_with(lost)) {
      const std::string name = field.substr(0, field.size() - lost.size());
      out.text += number_with_unit(name, "ns", data);
      out.lost_ns = data.number(name.c_str());
    } else if (field == ".") {
      out.short_form = out.text;
    } else {
      out.text += value_of(field, data, analysis, step);
    }
    at = close + 1;
  }
}

}  // namespace gh
