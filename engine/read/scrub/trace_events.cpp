#include "read/scrub/trace_events.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/text.hpp"
#include "read/scrub/characters.hpp"
#include "read/scrub/json_text.hpp"

namespace gh::scrubbing {
namespace {

using Text = std::string_view;

using Keys = std::unordered_set<Text>;
bool is_event_key(Text key) {
  static const Keys keys(torch_schema().event.begin(), torch_schema().event.end());
  return keys.contains(key);
}
bool is_argument_key(Text key) {
  static const Keys keys(torch_schema().argument.begin(), torch_schema().argument.end());
  return keys.contains(key);
}

Text inside_quotes(Text literal) {
  return literal.size() < 2 || literal.front() != '"' ? Text()
                                                      : literal.substr(1, literal.size() - 2);
}

// Names of kernels, CUDA calls and PyTorch's own operators.
bool is_vocabulary(Text category, Text name) {
  return any_matches(torch_schema().known_categories, category) ||
         any_matches(torch_schema().known_names, name);
}

}  // namespace

// --- what must be removed

void TraceEvents::learn(Text event) {
  learn_signs(event);
  learn_names(event);
  known_part(event, Of::event, true, event_);
}

void TraceEvents::learn_names(Text event) {
  Text category, name;
  std::size_t at = 0;
  while (const auto member = next_member(event, at)) {
    if (member->key == "\"cat\"") category = inside_quotes(member->value);
    if (member->key == "\"name\"") name = inside_quotes(member->value);
    if (!category.empty() && !name.empty()) break;
  }
  if (!is_vocabulary(category, name) || known_names_.contains(name)) return;
  known_names_.emplace(name);
  work_.vocabulary.add(name);
}

void TraceEvents::learn_signs(Text json) {
  if (json.find('\\') == json.npos) return work_.secrets.add_signs_in(json);
  with_strings(json, [&](const std::string& text) {
    work_.secrets.add_signs_in(text);
    return std::optional<std::string>();
  });
}

void TraceEvents::learn_value(const std::string& key, const Json& value, std::size_t depth) {
  if (depth > most_json_depth || value == replacement) return;
  for (const PrivateKind kind : kinds_by_key) {
    if (!any_matches(of_kind(torch_schema().private_keys, kind), in_lower_case(key))) continue;
    return add(kind, "", value);
  }
  if (names_a_secret(key)) return add(PrivateKind::environment, key, value);
  if (!value.is_structured()) return;
  for (const auto& [name, element] : value.items()) {
    learn_value(value.is_object() ? name : key, element, depth + 1);
  }
}

// Adds all texts in a value, however deep. `name` is the variable it belongs to, if any.
void TraceEvents::add(PrivateKind kind, const std::string& name, const Json& value) {
  if (value.is_structured()) {
    for (const auto& [key, element] : value.items()) {
      add(kind, value.is_object() ? key : name, element);
    }
    return;
  }
  if (!value.is_string() && (name.empty() || !value.is_number())) return;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  work_.count(kind);
  if (kind != PrivateKind::environment) {
    work_.secrets.add(kind, text);
  } else if (name.empty()) {
    work_.secrets.add_variable(text);
  } else {
    work_.secrets.add_variable(name, text);
  }
}

// --- what is known

Text TraceEvents::known_part_of(Text event) { return known_part(event, Of::event, false, event_); }

Text TraceEvents::known_part(Text object, Of of, bool learns, std::string& buffer) {
  const bool is_process = of == Of::event && object.find("\"process_name\"") != object.npos;
  const bool is_label = of == Of::event && object.find("\"process_labels\"") != object.npos;
  const auto use = [&](Text key, Text value) -> std::optional<Text> {
    const bool is_known = of == Of::event ? is_event_key(key) : is_argument_key(key);
    if (is_known && (of != Of::event || key != "args")) {
      if (of != Of::metadata) return value;
      // A process's name may be followed by its arguments.
      if (key == "name" && value.find(' ') != value.npos) {
        value_ = literal_of(text_of_literal(value).substr(0, text_of_literal(value).find(' ')));
        return value_;
      }
      if (key != "labels" || !is_label_of_machine(value)) return value;
      if (learns) work_.secrets.add(PrivateKind::host, text_of_literal(value));
      value_ = literal_of(replacement);
      return value_;
    }
    if (is_known && value.starts_with('{')) {
      return known_part(value, is_process || is_label ? Of::metadata : Of::arguments, learns,
                        arguments_);
    }
    if (learns) {
      if (depth_of(value) > most_json_depth) {
        throw Error(fmt::format("{}: one of its events nests too deeply to be searched",
                                printable(report_.string())));
      }
      learn_value(std::string(key), Json::parse(value, nullptr, false));
    } else {
      ++work_.result.removed["unknown keys of events"];
    }
    return std::nullopt;
  };
  switch (rewrite_members(object, buffer, use)) {
    case Members::as_they_were: return object;
    case Members::rewritten: return buffer;
    default:
      throw Error(fmt::format("{}: one of its events is not JSON; copy or record it again",
                              printable(report_.string())));
  }
}

bool TraceEvents::is_label_of_machine(Text value) const {
  static const re2::RE2 usual(R"((?:CPU|GPU) ?\d*)");
  const std::string text = text_of_literal(value);
  return !text.empty() && text != replacement && !re2::RE2::FullMatch(text, usual);
}

}  // namespace gh::scrubbing
