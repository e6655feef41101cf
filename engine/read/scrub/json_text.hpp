// JSON as text: what is not replaced stays exactly as written.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace gh::scrubbing {

/// How deep brackets nest.
std::size_t depth_of(std::string_view json);

/// The end of the value that begins at `at`.
std::size_t end_of_value(std::string_view json, std::size_t at);

/// Decodes a string literal including its quotation marks, and encodes a text as one.
std::string text_of_literal(std::string_view literal);
std::string literal_of(const std::string& text);

/// Calls use(text) for each string in JSON text, decoded. If that returns a text, it replaces the
/// string.
template <class Use>
std::string with_strings(std::string_view json, Use use) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t open = std::min(json.find('"', at), json.size());
    out += json.substr(at, open - at);
    if (open == json.size()) break;
    std::size_t close = open + 1;
    while (close < json.size() && json[close] != '"') close += json[close] == '\\' ? 2 : 1;
    close = std::min(close + 1, json.size());
    const std::string_view literal = json.substr(open, close - open);
    if (const auto instead = use(text_of_literal(literal))) {
      out += literal_of(*instead);
    } else {
      out += literal;
    }
    at = close;
  }
  return out;
}

/// The same for each number outside strings; use(number) returns JSON.
template <class Use>
std::string with_numbers(std::string_view json, Use use) {
  constexpr std::string_view digits = "0123456789", of_number = "0123456789+-.eE";
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t end = std::min(json.find_first_not_of(of_number, at), json.size());
    const std::string number(json.substr(at, end - at));
    if (number.find_first_of(digits) != number.npos) {
      out += use(number).value_or(number);
      at = end;
      continue;
    }
    const std::size_t next = json[at] == '"' ? end_of_value(json, at) : at + 1;
    out += json.substr(at, next - at);
    at = next;
  }
  return out;
}

enum class Members { as_they_were, rewritten, malformed };

struct Member {
  std::string_view key, before_value, value;  ///< before_value: from the key up to the value
};
/// The member of an object's text at `at`, which starts at 0 and moves to the next member. Nothing
/// at the end of the object or if it is malformed, in which case `at` is npos.
std::optional<Member> next_member(std::string_view object, std::size_t& at);

/// Calls use(key, value) for each member of an object's text, with the key unescaped. The result
/// replaces the value; if there is none, the member is left out. If anything changed, the new text
/// is in `out`.
template <class Use>
Members rewrite_members(std::string_view object, std::string& out, Use use) {
  bool changed = false;
  out = "{";
  std::size_t at = 0;
  while (const auto member = next_member(object, at)) {
    const bool escaped = member->key.find('\\') != member->key.npos;
    const std::string meant = escaped ? text_of_literal(member->key) : std::string();
    const std::optional<std::string_view> value =
        use(escaped ? std::string_view(meant) : member->key.substr(1, member->key.size() - 2),
            member->value);
    changed = changed || !value || value->data() != member->value.data();
    if (!value) continue;
    if (out.size() > 1) out += ", ";
    out += member->before_value;
    out += *value;
  }
  if (at == object.npos) return Members::malformed;
  out += '}';
  return changed ? Members::rewritten : Members::as_they_were;
}

}  // namespace gh::scrubbing
