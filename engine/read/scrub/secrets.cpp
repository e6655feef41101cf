#include "read/scrub/secrets.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "read/scrub/characters.hpp"
#include "read/scrub/json_text.hpp"
#include "read/scrub/node_list.hpp"
#include "read/scrub/readings.hpp"
#include "read/scrub/signs.hpp"
#include "read/scrub/unescape.hpp"
#include "read/scrub/values.hpp"

namespace gh::scrubbing {
namespace {

// Shorter values occur in other words by chance.
constexpr std::size_t least_name_bytes = 3, least_secret_bytes = 4, least_value_bytes = 4,
                      least_digits = 6, least_digits_of_name = 8;
// Words of letters that rules look for are not longer: multi_tensor_apply.
constexpr std::size_t most_word_bytes = 20;
// No name is longer; from a list of a hundred thousand words, each would be searched for.
constexpr std::size_t most_name_bytes = 256;
// Longer values contain text, not a list of addresses.
constexpr std::size_t most_value_with_parts = 4096;

// Accounts of systems and images, and words used as replacements.
const Globs common_names{"root",    "user",   "users",  "home",   "nobody", "local", "localhost",
                         "removed", "public", "shared", "Public", "Shared", "git"};

// Values of settings, which are not secret.
const Globs settings{"true",     "false", "none", "null", "auto",    "default", "enabled",
                     "disabled", "yes",   "info", "warn", "warning", "debug"};

bool is_of_text(char c) {
  return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Splits words as a shell does: quotes and backslashes keep them together.
std::size_t end_of_word(std::string_view text) {
  std::size_t at = 0;
  for (; at < text.size() && std::string_view(" \t\r\n").find(text[at]) == text.npos; ++at) {
    const bool is_quote = text[at] == '"' || text[at] == '\'';
    if (text[at] == '\\') {
      ++at;
    } else if (const std::size_t close = text.find(text[at], at + 1);
               is_quote && close != text.npos) {
      at = close;
    }
  }
  return std::min(at, text.size());
}

// Rejects the last line of something in base64.
bool is_variable(std::string_view line) {
  static const re2::RE2 expression(R"([A-Za-z_]\w*=[^=].*)", re2::RE2::Latin1);
  return re2::RE2::FullMatch(re2::StringPiece(line.data(), line.size()), expression);
}

// The kind of value that a variable with that name holds.
PrivateKind kind_of_variable(std::string_view name) {
  const std::string upper = in_upper_case(name);
  for (const PrivateKind kind : {PrivateKind::host, PrivateKind::user, PrivateKind::folder}) {
    if (any_matches(of_kind(private_data_schema().environment.names, kind), upper)) return kind;
  }
  return PrivateKind::environment;
}

}  // namespace

// --- adding

void Secrets::add(PrivateKind kind, std::string_view value) {
  switch (kind) {
    case PrivateKind::folder: add_folder(value); break;
    case PrivateKind::host:
    case PrivateKind::user: add_name(kind, value); break;
    case PrivateKind::command: add_command(value); break;
    case PrivateKind::environment:
      add_value(value);
      add_parts(value);
      break;
    default: add_value(value);
  }
  add_members_in(value);
  add_signs_in(value);
}

// A top-level folder, /root or /workspace, reveals nothing.
void Secrets::add_folder(std::string_view value) {
  while (value.ends_with('/')) value.remove_suffix(1);
  if (value.starts_with('/') && value.find('/', 1) != value.npos) {
    put(folders_, std::string(value));
  }
}

void Secrets::add_name(PrivateKind kind, std::string_view value) {
  if (value.find_first_of("[,") != value.npos) {
    for (const std::string& node : nodes_of(value)) add_name(kind, node);
    return;
  }
  if (value.find("://") != value.npos) return add(PrivateKind::environment, value);
  if (value.size() > most_name_bytes) return add_value(value);
  if (any_matches(common_names, value)) return;
  if (value.size() >= (is_of_digits(value) ? least_digits_of_name : least_name_bytes)) {
    put(names_, in_lower_case(value));
  } else {
    ++not_sought_.others;
  }
  // "Jane Doe" also adds Jane.
  if (const std::size_t space = value.find(' '); kind == PrivateKind::user && space != value.npos) {
    add_name(kind, value.substr(0, space));
    add_name(kind, value.substr(space + 1));
  }
  // A host name without its domain, unless it is an address.
  const std::size_t dot = value.find('.');
  if (kind == PrivateKind::host && dot != value.npos &&
      value.find_first_not_of("0123456789.") != value.npos) {
    add_name(kind, value.substr(0, dot));
  }
}

// Some reports contain options as separate words, others as one text.
void Secrets::add_command(std::string_view text) {
  for (std::string_view rest = trimmed(text); !rest.empty(); rest = trimmed(rest)) {
    const std::size_t end = end_of_word(rest);
    add_word_of_command(unquoted(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  if (text.find(' ') != text.npos && !is_plain(text)) add_value(text);
}

// A plain word or a file of the program also says what ran.
void Secrets::add_word_of_command(std::string_view word) {
  if (word.empty()) return;
  const std::string option = std::exchange(next_is_, "");
  if (!option.empty() && !word.starts_with("--")) {
    add_variable(option, word);
    return;
  }
  const std::size_t equals = word.find('=');
  std::string_view name = word.substr(0, equals);
  while (name.starts_with('-')) name.remove_prefix(1);
  if (equals != word.npos) {
    word.remove_prefix(equals + 1);
    if (names_a_secret(name)) return add_variable(name, word);
  } else if (name.size() < word.size() && names_a_secret(name)) {
    next_is_ = name;
    return;
  }
  if (!is_plain(word) && !is_file_name(word)) add_value(word);
}

// If a secret is itself escaped, its unescaped form is a secret too.
void Secrets::add_secret(std::string_view value) {
  std::string meant(unquoted(trimmed(value)));
  bool more = true;
  for (int i = 0; more && i <= most_escapings; ++i, more = unescape(meant)) {
    const bool digits = is_of_digits(meant);
    if (any_matches(settings, in_lower_case(meant)) ||
        (digits && meant.size() < least_secret_bytes)) {
      ++not_sought_.others;
    } else if (meant.size() >= (digits ? least_digits : least_secret_bytes)) {
      put(secrets_, meant);
    } else if (meant != replacement) {
      not_sought_.secrets.insert(origin_);
    }
  }
  add_decoded(meant);
}

// Decoded base64 is a secret too: registries store "name:password" this way.
void Secrets::add_decoded(std::string_view secret) {
  const std::size_t digits = secret.find_last_not_of('=') + 1;
  std::string meant = read_base64(secret.substr(0, digits), least_value_bytes);
  meant.resize(std::min(meant.find('\0'), meant.size()));
  const bool is_text = meant.size() == digits * 6 / 8 && valid_utf8(meant) == meant &&
                       std::all_of(meant.begin(), meant.end(), is_of_text);
  if (meant.size() < least_value_bytes || !is_text) return;
  add_secret(meant);
  if (const std::size_t colon = meant.find(':'); colon != meant.npos) {
    add_secret(std::string_view(meant).substr(colon + 1));
  }
}

// In every language, lists consist of words between separators: ["k1", "k2"], (k1 k2), k1|k2.
void Secrets::add_elements(std::string_view value) {
  if (value.size() > most_value_with_parts) return;
  for (const std::string_view word : split(value, "()[]{}<>\"'|,;: \t\r\n"))
    if (word.size() != value.size() && word.size() >= least_value_bytes && has_letter(word) &&
        std::any_of(word.begin(), word.end(), is_digit)) {
      add_secret(word);
    }
}

// Adds what is below keys that name a secret, in JSON that is itself a value, escaped or not, or
// written by Python: {"tokens": ["k1", "k2"]}.
void Secrets::add_members_in(std::string_view value) {
  static const re2::RE2 key(R"re("([^"\\]+)"\s*:\s*)re", re2::RE2::Latin1);
  std::string meant(value);
  if (value.find('"') == value.npos) std::replace(meant.begin(), meant.end(), '\'', '"');
  bool more = true;
  for (int i = 0; more && i <= most_escapings; ++i, more = unescape(meant)) {
    pace_.went(meant.size());
    re2::StringPiece rest(meant);
    for (std::string name; re2::RE2::FindAndConsume(&rest, key, &name);) {
      // In an object, each key says what its value is.
      if (rest.starts_with("{") || !names_a_secret(name)) continue;
      const std::string_view all(rest.data(), rest.size());
      const std::string_view held = all.substr(0, end_of_value(all, 0));
      rest.remove_prefix(held.size());
      if (depth_of(held) <= most_json_depth) add_member(name, Json::parse(held, nullptr, false));
    }
  }
}

void Secrets::add_member(const std::string& key, const Json& value) {
  if (value.is_structured()) {
    for (const auto& [name, element] : value.items()) {
      add_member(value.is_object() ? name : key, element);
    }
  } else if (names_a_secret(key) && (value.is_string() || value.is_number())) {
    const std::string outer = std::exchange(origin_, key);
    add_secret(value.is_string() ? value.get<std::string>() : value.dump());
    origin_ = outer;
  }
}

void Secrets::add_value(std::string_view value) {
  value = trimmed(value);
  if (value.size() >= least_value_bytes && (has_letter(value) || is_number(value)) &&
      !any_matches(settings, in_lower_case(value))) {
    put(values_, std::string(value));
  } else if (!value.empty()) {
    ++not_sought_.others;
  }
}

// Adds addresses and names within a value: "postgres://name:word@host:5432/base",
// "key=word;other=word".
void Secrets::add_parts(std::string_view value) {
  if (value.size() > most_value_with_parts) return;
  const char* separators = value.find("://") != value.npos ? ":,;@/" : ":,;@";
  for (std::string_view part : split(value, separators)) {
    if (const std::size_t equals = part.rfind('='); equals != part.npos) {
      part.remove_prefix(equals + 1);
    }
    // Paths are searched for as a whole; versions, and words without a digit, say what ran.
    if (part.size() == value.size() || part.find('/') != part.npos || part.starts_with('.') ||
        is_file_name(part)) {
      continue;
    }
    const bool is_named = part.size() >= least_value_bytes && has_letter(part) &&
                          std::any_of(part.begin(), part.end(), is_digit);
    if (is_named || is_number(part)) put(values_, std::string(part));
  }
}

void Secrets::add_variable(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return add(PrivateKind::environment, text);
  add_variable(text.substr(0, equals), unquoted(text.substr(equals + 1)));
}

// Lines may also be those of one value, so it is added as a whole too.
std::size_t Secrets::add_variables(std::string_view text) {
  std::size_t count = 0;
  for (const std::string_view part : split(text, std::string_view("\0", 1))) {
    if (part.empty()) continue;
    add_variable(part);
    std::size_t lines = 0;
    for (const std::string_view line : split(part, "\n")) {
      if (!is_variable(line)) continue;
      ++lines;
      if (line.size() < part.size()) add_variable(line);
    }
    count += std::max<std::size_t>(lines, 1);
  }
  return count;
}

void Secrets::add_variable(std::string_view name, std::string_view value) {
  origin_ = name;
  if (names_a_secret(name)) {
    add_secret(value);
    add_elements(value);
  }
  const PrivateKind kind = kind_of_variable(name);
  if ((name == "HOME" || name == "USERPROFILE") && value.find('/', 1) != value.npos) {
    put(homes_, std::string(value.substr(0, value.find_last_not_of('/') + 1)));
    add_name(PrivateKind::user, value.substr(value.rfind('/') + 1));
  }
  add(kind, value);
  origin_.clear();
}

void Secrets::add_signs_in(std::string_view text) {
  add_signs(text, false);
  // jane%40example.com
  if (std::string meant(text); text.find('%') != text.npos && unescape(meant))
    add_signs(meant, false);
}

void Secrets::add_secrets_told_in(std::string_view text) { add_signs(text, true); }

void Secrets::add_signs(std::string_view text, bool secrets_only) {
  pace_.went(text.size());
  const std::string origin = origin_;
  each_sign_in(text, [&](Sign sign, std::string_view found, const char* what) {
    if (secrets_only && sign != Sign::secret) return;
    if (origin.empty()) origin_ = what;
    switch (sign) {
      case Sign::secret: add_secret(found); break;
      case Sign::address: put(values_, std::string(found)); break;
      case Sign::user: add_name(PrivateKind::user, found); break;
      case Sign::home: put(homes_, std::string(found)); break;
    }
  });
  origin_ = origin;
}

void Secrets::put(Origins& to, std::string value) {
  pace_.went(value.size());
  if (value.empty() || value.find(replacement) != value.npos) return;
  to.emplace(std::move(value), origin_);
}

// --- what is searched for

// A secret may be an ordinary word: searching for it inside words would find it in kernel names.
bool Secrets::cannot_be_told(std::string_view secret) const {
  const std::string lower = in_lower_case(secret);
  return vocabulary_.is_word_of_format(lower) ||
         (is_of_letters(lower) && lower.size() <= most_word_bytes &&
          vocabulary_.holds(lower, true));
}

void Secrets::append_secrets(SoughtList& to) {
  for (const auto& [secret, origin] : secrets_) {
    pace_.went(vocabulary_.bytes());
    if (cannot_be_told(secret)) {
      not_sought_.secrets.insert(origin);
      continue;
    }
    const bool digits = is_of_digits(secret);
    to.push_back({.text = secret,
                  .reach = digits ? Reach::as_number : Reach::anywhere,
                  .in_texts_only = digits,
                  .is_secret = true,
                  .origin = origin});
  }
}

void Secrets::append_values(SoughtList& to) {
  for (const auto& [value, origin] : values_) {
    pace_.went(vocabulary_.bytes());
    if (secrets_.contains(value)) continue;
    const bool by_itself = is_plain(value) || is_number(value);
    const std::string lower = in_lower_case(value);
    if (vocabulary_.is_word_of_format(lower) || (by_itself && vocabulary_.holds(lower, false))) {
      ++not_sought_.others;
      continue;
    }
    to.push_back({.text = value,
                  .reach = by_itself ? Reach::as_word : Reach::anywhere,
                  .in_texts_only = is_number(value),
                  .origin = origin});
  }
}

void Secrets::append_names(SoughtList& to) {
  for (const auto& [name, origin] : names_) {
    pace_.went(vocabulary_.bytes());
    if (is_of_letters(name) && vocabulary_.holds(name, false)) {
      ++not_sought_.others;
      continue;
    }
    to.push_back({.text = name,
                  .reach = is_bounded(name) ? Reach::as_name : Reach::anywhere,
                  .in_texts_only = is_of_digits(name),
                  .origin = origin});
  }
}

void Secrets::append_folders(SoughtList& to) const {
  for (const auto& [instead, folders] : {std::pair{"~", &homes_}, std::pair{".", &folders_}}) {
    for (const auto& [folder, origin] : *folders) {
      to.push_back({.text = folder, .instead = instead, .origin = origin});
    }
  }
}

SoughtList Secrets::sought() {
  SoughtList all;
  append_folders(all);
  append_secrets(all);
  append_values(all);
  append_names(all);
  size_ = all.size();
  return all;
}

}  // namespace gh::scrubbing
