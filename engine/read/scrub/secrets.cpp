#include "read/scrub/secrets.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "read/scrub/characters.hpp"

namespace gh::scrubbing {
namespace {

constexpr std::size_t least_name_bytes = 3, least_secret_bytes = 4, least_value_bytes = 8,
                      most_value_bytes = 1 << 16;
constexpr std::uint64_t most_nodes = 20'000;

// Accounts of systems and images, and words that are replaced by.
const Globs common_names{"root",      "user",    "users",  "home",   "nobody", "local",
                         "localhost", "removed", "public", "shared", "Public", "Shared"};

// Values of settings, which are no one's secrets.
const Globs settings{"true", "false", "none", "null", "auto", "default", "enabled", "disabled"};

re2::RE2::Options quiet() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_longest_match(true);
  options.set_max_mem(256 << 20);
  return options;
}

std::unique_ptr<RE2> compiled(const std::string& expression) {
  if (expression.empty()) return nullptr;
  auto made = std::make_unique<RE2>(expression, quiet());
  if (!made->ok()) throw Error("the report's environment is too large to be searched for");
  return made;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

bool found(const std::unique_ptr<RE2>& expression, std::string_view text) {
  return expression && RE2::PartialMatch(piece(text), *expression);
}

// Home folders of Linux, clusters, macOS and Windows; the owner is the group.
const RE2& home_folders() {
  static const RE2 expression(
      R"((?:(?:/[\w.+-]+)*/homes?(?:/users)?(?:/[a-z])?|(?:[A-Za-z]:|\b)?/Users|[A-Za-z]:\\+Users\\+)[/]?([\w.+@-]*\w))",
      quiet());
  return expression;
}

bool has_letter(std::string_view value) {
  return std::any_of(value.begin(), value.end(), is_letter);
}

// A word, of few digits if any: forward, bfloat16.
bool is_plain(std::string_view value) {
  return std::all_of(value.begin(), value.end(), is_word) &&
         (value.find_first_of("0123456789") == value.npos || value.size() < 12);
}

// train.py
bool is_file_name(std::string_view value) {
  const std::size_t dot = value.rfind('.');
  return value.find('/') != 0 && dot != value.npos && value.size() - dot <= 6 &&
         std::all_of(value.begin() + static_cast<std::ptrdiff_t>(dot) + 1, value.end(), is_letter);
}

// An address or a long number; others (versions, lists of GPUs) tell nothing.
bool is_number(std::string_view value) {
  static const RE2 expression(R"(\d{8,}|\d+\.\d+\.\d+\.\d+(?::\d+)?)");
  return RE2::FullMatch(piece(value), expression);
}

// Whether a name counts only where no letter and no digit is beside it: one of letters and others
// also counts within words.
bool is_bounded(std::string_view name) {
  return name.size() < 5 || std::all_of(name.begin(), name.end(), is_letter) || is_number(name) ||
         !has_letter(name);
}

std::vector<std::string> longest_first(const std::set<std::string>& set) {
  std::vector<std::string> sorted(set.begin(), set.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return sorted;
}

// What a variable of that name holds.
PrivateKind kind_of_variable(std::string_view name) {
  for (const PrivateKind kind : {PrivateKind::host, PrivateKind::user, PrivateKind::folder}) {
    if (any_matches(of_kind(private_data_schema().environment.names, kind), name)) return kind;
  }
  return PrivateKind::environment;
}

// Adds a text to be found to an expression. `by_itself`: not as a part of a longer word, which may
// mean something else.
void append(std::string& expression, const std::string& value, bool by_itself) {
  if (!expression.empty()) expression += '|';
  if (by_itself && is_word(value.front())) expression += "\\b";
  expression += RE2::QuoteMeta(value);
  if (by_itself && is_word(value.back())) expression += "\\b";
}

}  // namespace

Secrets::Secrets() = default;
Secrets::~Secrets() = default;

void Secrets::add(PrivateKind kind, std::string_view value) {
  value = value.substr(0, most_value_bytes);
  switch (kind) {
    case PrivateKind::folder: return add_folder(value);
    case PrivateKind::host:
    case PrivateKind::user: return add_name(kind, value);
    case PrivateKind::command: return add_word_of_command(value);
    case PrivateKind::environment: add_value(value); return add_parts(value);
    default: return add_value(value);
  }
}

// A top folder, /root or /workspace, tells nothing.
void Secrets::add_folder(std::string_view value) {
  while (value.ends_with('/')) value.remove_suffix(1);
  if (value.starts_with('/') && value.find('/', 1) != value.npos) {
    put(folders_, std::string(value));
  }
}

void Secrets::add_name(PrivateKind kind, std::string_view value) {
  if (value.find_first_of("[,") != value.npos) return add_nodes(kind, value);
  if (value.find("://") != value.npos) return add(PrivateKind::environment, value);
  const bool of_digits = value.find_first_not_of("0123456789") == value.npos;
  if (value.size() >= (of_digits ? least_value_bytes : least_name_bytes) &&
      !any_matches(common_names, value)) {
    put(names_, in_lower_case(value));
  }
  // The host of a domain, unless it is an address.
  const std::size_t dot = value.find('.');
  if (kind == PrivateKind::host && dot != value.npos &&
      value.find_first_not_of("0123456789.") != value.npos) {
    add(kind, value.substr(0, dot));
  }
}

// Lists of hosts as Slurm writes them: "gpu[01-04,07],login".
void Secrets::add_nodes(PrivateKind kind, std::string_view list) {
  static const RE2 expression(R"(([^,\[\]]+)(?:\[([^\]]*)\]([^,\[\]]*))?,?)"),
      range(R"((\d+)(?:-(\d+))?,?)");
  re2::StringPiece rest = piece(list);
  for (std::string before, numbers, after;
       RE2::Consume(&rest, expression, &before, &numbers, &after);) {
    if (numbers.empty()) {
      add(kind, before);
      continue;
    }
    re2::StringPiece ranges(numbers);
    for (std::string first, last; RE2::Consume(&ranges, range, &first, &last);) {
      if (first.size() > 9 || last.size() > 9) continue;
      const std::uint64_t from = std::stoull(first), to = last.empty() ? from : std::stoull(last);
      for (std::uint64_t n = from; n <= to && n - from < most_nodes; ++n) {
        add(kind, fmt::format("{}{:0{}}{}", before, n, first.size(), after));
      }
    }
  }
}

// A plain word and a file of the program also name what ran.
void Secrets::add_word_of_command(std::string_view word) {
  if (const std::size_t equals = word.find('='); equals != word.npos) {
    word.remove_prefix(equals + 1);
  }
  if (!is_plain(word) && !is_file_name(word)) add_value(word);
}

void Secrets::add_value(std::string_view value) {
  if (value.size() >= least_value_bytes && value != replacement &&
      (has_letter(value) || is_number(value))) {
    put(values_, std::string(value));
  }
}

// Addresses and names within a value: "postgres://name:word@host:5432/base", "key=word;other=word".
void Secrets::add_parts(std::string_view value) {
  if (value.size() > 4096) return;
  const char* separators = value.find("://") != value.npos ? ":,;@/" : ":,;@";
  for (std::size_t from = 0, to = 0; from < value.size(); from = to + 1) {
    to = std::min(value.find_first_of(separators, from), value.size());
    std::string_view part = value.substr(from, to - from);
    if (const std::size_t equals = part.rfind('='); equals != part.npos) {
      part.remove_prefix(equals + 1);
    }
    // Of paths the whole is looked for; words without a digit and versions name what runs.
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
  const std::string_view name = text.substr(0, equals);
  std::string_view value = text.substr(equals + 1);
  if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) {
    value = value.substr(1, value.size() - 2);
  }
  add_variable(name, value);
}

void Secrets::add_variable(std::string_view name, std::string_view value) {
  origin_ = name;
  // Secrets, however short.
  if (any_matches(private_data_schema().environment.secret, name) &&
      value.size() >= least_secret_bytes && !any_matches(settings, in_lower_case(value)) &&
      has_letter(value)) {
    put(values_, std::string(value.substr(0, most_value_bytes)));
  }
  add(kind_of_variable(name), value);
  origin_.clear();
}

void Secrets::add_owners(std::string_view text) {
  re2::StringPiece rest = piece(text);
  for (std::string owner; RE2::FindAndConsume(&rest, home_folders(), &owner);) {
    add(PrivateKind::user, owner);
  }
}

void Secrets::add_words_of_format(std::string_view name) {
  const std::string lower = in_lower_case(name);
  words_of_format_.insert(lower);
  for (std::size_t from = 0, to = 0; from < lower.size(); from = to + 1) {
    to = std::min(lower.find_first_of(" _.%", from), lower.size());
    if (to > from) words_of_format_.insert(lower.substr(from, to - from));
  }
}

void Secrets::put(std::set<std::string>& to, std::string value) {
  if (!origin_.empty()) origins_.emplace(value, origin_);
  to.insert(std::move(value));
}

void Secrets::compile() {
  for (auto* set : {&values_, &names_}) {
    std::erase_if(*set, [&](const std::string& value) {
      return words_of_format_.contains(in_lower_case(value));
    });
  }
  std::string all, in_bytes, folders;
  for (const std::string& value : values_) {
    append(all, value, is_plain(value) || is_number(value));
  }
  for (const std::string& value : values_) {
    if (!is_number(value)) append(in_bytes, value, is_plain(value));
  }
  for (const std::string& folder : folders_) append(folders, folder, true);
  compile_names();
  all_values_ = compiled(all);
  values_in_bytes_ = compiled(in_bytes);
  all_folders_ = compiled(folders);
}

// In upper or lower case.
void Secrets::compile_names() {
  std::string all, in_bytes;
  for (const std::string& name : names_) {
    std::string quoted = RE2::QuoteMeta(name);
    if (is_bounded(name)) quoted = fmt::format("(?:^|[^0-9A-Za-z]){}(?:$|[^0-9A-Za-z])", quoted);
    all += (all.empty() ? "" : "|") + quoted;
    if (name.size() >= least_value_bytes) in_bytes += (in_bytes.empty() ? "" : "|") + quoted;
  }
  all_names_ = compiled(all.empty() ? "" : "(?i)" + all);
  names_in_bytes_ = compiled(in_bytes.empty() ? "" : "(?i)" + in_bytes);
}

bool Secrets::replace_in(std::string& text) const {
  bool changed = all_folders_ && RE2::GlobalReplace(&text, *all_folders_, ".") > 0;
  changed = RE2::GlobalReplace(&text, home_folders(), "~") > 0 || changed;
  changed = (all_values_ && RE2::GlobalReplace(&text, *all_values_, replacement) > 0) || changed;
  return replace_names_in(text) || changed;
}

// By hand, so that the search, which is by expressions, proves it. The longest first: a host's
// whole name before its first part.
bool Secrets::replace_names_in(std::string& text) const {
  if (names_.empty()) return false;
  bool changed = false;
  std::string lower = in_lower_case(text);
  for (const std::string& name : longest_first(names_)) {
    for (std::size_t at = 0; (at = lower.find(name, at)) != lower.npos;) {
      const std::size_t end = at + name.size();
      const bool within_word = (at > 0 && is_letter_or_digit(lower[at - 1])) ||
                               (end < lower.size() && is_letter_or_digit(lower[end]));
      if (within_word && is_bounded(name)) {
        ++at;
        continue;
      }
      text.replace(at, name.size(), replacement);
      lower.replace(at, name.size(), replacement);
      at += std::string_view(replacement).size();
      changed = true;
    }
  }
  return changed;
}

bool Secrets::stand_in(std::string_view text) const {
  return found(all_folders_, text) || RE2::PartialMatch(piece(text), home_folders()) ||
         found(all_values_, text) || found(all_names_, text);
}

bool Secrets::stand_in_bytes(std::string_view bytes) const {
  return found(values_in_bytes_, bytes) || found(names_in_bytes_, bytes);
}

std::string Secrets::variable_in(std::string_view text) const {
  const std::string lower = in_lower_case(text);
  for (const auto& [value, name] : origins_) {
    if (text.find(value) != text.npos ||
        (names_.contains(value) && lower.find(value) != lower.npos)) {
      return name;
    }
  }
  return "";
}

std::size_t Secrets::longest() const {
  std::size_t longest = 0;
  for (const auto* set : {&values_, &names_, &folders_}) {
    for (const std::string& value : *set) longest = std::max(longest, value.size());
  }
  return longest;
}

}  // namespace gh::scrubbing
