#include "read/scrub/written_forms.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>

#include "read/scrub/characters.hpp"
#include "read/scrub/values.hpp"

namespace gh::scrubbing {
namespace {

// Encodings of fewer bytes are so short that they occur elsewhere by chance.
constexpr std::size_t least_encoded_bytes = 6;
// A PEM line has 64; a shorter line may be just a brace.
constexpr std::size_t least_line_bytes = 8;
// Longer values are not searched for with each byte escaped: that takes six times their size, and
// no program writes them this way.
constexpr std::size_t most_escaped_bytes = 4096;

using Text = std::string_view;

// --- escapes

std::string each_byte(Text value, const std::function<std::string(char)>& written) {
  std::string out;
  for (const char c : value) out += written(c);
  return out;
}

std::string in_json(Text value, bool ascii) {
  const std::string literal = nlohmann::json(std::string(value))
                                  .dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
  return literal.substr(1, literal.size() - 2);
}

std::string with_escaped_slashes(Text value) {
  return each_byte(value, [](char c) { return c == '/' ? std::string("\\/") : std::string(1, c); });
}

std::string in_html(Text value) {
  return each_byte(value, [](char c) -> std::string {
    switch (c) {
      case '&': return "&amp;";
      case '<': return "&lt;";
      case '>': return "&gt;";
      case '"': return "&quot;";
      case '\'': return "&#39;";
      default: return {c};
    }
  });
}

// `kept`: what stays unchanged besides letters and digits.
std::string in_url(Text value, Text kept, bool plus_for_space) {
  return each_byte(value, [&](char c) {
    if (plus_for_space && c == ' ') return std::string("+");
    if (is_letter_or_digit(c) || kept.find(c) != kept.npos) return std::string(1, c);
    return fmt::format("%{:02X}", byte(c));
  });
}

// --- encodings

std::string base64(Text bytes, Text alphabet) {
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | byte(c);
    for (held += 8; held >= 6; held -= 6) out += alphabet[bits >> (held - 6) & 63];
  }
  return out;  // without the last digit, which also depends on the next byte
}

// The value as part of something encoded, with 0 to 2 bytes before it, without the digits that
// depend on those bytes.
std::string base64_behind(std::size_t before, Text value, bool for_urls) {
  constexpr Text usual = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                 urls = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::string all =
      base64(std::string(before, '\0') + std::string(value), for_urls ? urls : usual);
  return all.substr((before * 8 + 5) / 6);
}

std::string in_utf16(Text value, bool big_endian) {
  std::string out;
  for (std::size_t i = 0; i < value.size();) {
    // UTF-8 of up to three bytes; invalid bytes and the rare four-byte characters have no such
    // form.
    const unsigned first = byte(value[i]);
    const std::size_t size = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 0;
    if (size == 0 || i + size > value.size()) return "";
    unsigned point = size == 1 ? first : first & (size == 2 ? 31 : 15);
    for (std::size_t k = 1; k < size; ++k) point = point << 6 | (byte(value[i + k]) & 63);
    const char high = static_cast<char>(point >> 8), low = static_cast<char>(point & 255);
    out += big_endian ? std::string{high, low} : std::string{low, high};
    i += size;
  }
  return out;
}

// The value with two-byte UTF-8 letters (Latin, Greek, Cyrillic) in the other case; ASCII letters
// match either way.
std::string in_other_case(Text value, bool upper) {
  std::string out(value);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (byte(out[i]) >> 5 != 6) continue;
    const unsigned point = (byte(out[i]) & 31) << 6 | (byte(out[i + 1]) & 63);
    unsigned other = point;
    const auto between = [&](unsigned from, unsigned to) { return point >= from && point <= to; };
    if (between(0x100, 0x137)) {
      other = upper ? point & ~1U : point | 1U;
    } else if (!upper && (between(0xC0, 0xDE) || between(0x391, 0x3A9) || between(0x410, 0x42F))) {
      other = point == 0xD7 ? point : point + 32;
    } else if (upper && (between(0xE0, 0xFE) || between(0x3B1, 0x3C9) || between(0x430, 0x44F))) {
      other = point == 0xF7 || point == 0x3C2 ? point : point - 32;
    }
    out[i] = static_cast<char>(0xC0 | other >> 6);
    out[i + 1] = static_cast<char>(0x80 | (other & 63));
    ++i;
  }
  return out;
}

// --- all of them

class Forms {
 public:
  explicit Forms(const Sought& value) : value_(value) {
    value_.text = {};  // a copy of a long one would keep its room in each form
    add(value.text);
  }

  void add(const std::string& text, bool any_case = true) {
    if (text.empty() || !known_.insert(text).second) return;
    Sought form = value_;
    form.text = text;
    form.any_case = any_case;
    list.push_back(std::move(form));
  }
  void add_escaped(Text text) {
    add(in_json(text, false));
    add(in_json(text, true));
    add(with_escaped_slashes(text));
    add(with_escaped_slashes(in_json(text, true)));
    add(in_html(text));
    add(in_url(text, "-._~", false));
    add(in_url(text, "-._~/:", false));
    add(in_url(text, "-._*", true));
  }
  void add_encoded(Text text) {
    add(in_utf16(text, false));
    add(in_utf16(text, true));
    if (text.size() < least_encoded_bytes) return;
    for (std::size_t before = 0; before < 3; ++before) {
      for (const bool for_urls : {false, true}) add(base64_behind(before, text, for_urls), false);
    }
    for (const char* format :
         {"{:02x}", "\\x{:02x}", "\\u{:04x}", "%{:02x}", "{:02x} ", "{:02x}:"}) {
      if (format[1] != ':' && text.size() > most_escaped_bytes) continue;
      std::string all =
          each_byte(text, [&](char c) { return fmt::format(fmt::runtime(format), byte(c)); });
      if (all.back() == ' ' || all.back() == ':') all.pop_back();
      add(all);
    }
  }
  void add_cases(Text text) {
    add(in_other_case(text, true));
    add(in_other_case(text, false));
  }
  // A line break may itself be written as \n.
  template <class Use>
  void each_line(Use use) const {
    Text rest = value_.text;
    while (!rest.empty()) {
      std::size_t end = 0;
      while (end < rest.size() && rest[end] != '\n' && !rest.substr(end).starts_with("\\n")) ++end;
      Text line = rest.substr(0, end);
      while (line.ends_with('\r')) line.remove_suffix(1);
      if (line.size() < value_.text.size() && line.size() >= least_line_bytes) use(line);
      rest.remove_prefix(end);
      if (!rest.empty()) rest.remove_prefix(rest.front() == '\n' ? 1 : 2);
    }
  }

  SoughtList list;

 private:
  Sought value_;  // without its text
  std::set<std::string> known_;
};

// The forms of values that are not known to be secret.
SoughtList plain_forms(const Sought& value) {
  Forms forms(value);
  if (value.reach == Reach::anywhere) {
    forms.add_escaped(value.text);
    forms.each_line([&](Text line) {
      forms.add(std::string(line));
      forms.add_escaped(line);
    });
  }
  forms.add_cases(value.text);
  return std::move(forms.list);
}

SoughtList forms_of_secret(const Sought& value) {
  Forms forms(value);
  forms.add_escaped(value.text);
  forms.add_encoded(value.text);
  forms.add_cases(value.text);
  forms.each_line([&](Text line) {
    forms.add(std::string(line));
    forms.add_escaped(line);
    forms.add_encoded(line);
  });
  // Only digits need a check of the digits around them.
  for (Sought& form : forms.list) {
    if (is_of_digits(form.text)) continue;
    form.reach = Reach::anywhere;
    form.in_texts_only = false;
  }
  return std::move(forms.list);
}

}  // namespace

SoughtList in_written_forms(const SoughtList& values) {
  SoughtList all;
  for (const Sought& value : values) {
    SoughtList forms = value.is_secret ? forms_of_secret(value) : plain_forms(value);
    std::move(forms.begin(), forms.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace gh::scrubbing
