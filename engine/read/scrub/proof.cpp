#include "read/scrub/proof.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "read/private_data.hpp"
#include "read/scrub/readings.hpp"
#include "read/sqlite.hpp"

namespace gh::scrubbing {
namespace {

namespace fs = std::filesystem;

// Nothing shorter is searched for.
constexpr std::size_t beginning = 3;
constexpr std::uint32_t most_keys = 1 << 24;
// Shorter values, and shorter lines, occur by chance in the possible meanings of digits.
constexpr std::size_t least_encoded = 6, least_line = 8;
// Shorter ones, and words, occur by chance in what several words make without what is between them.
constexpr std::size_t least_bare = 10;
constexpr int most_escapings_read = 6, most_encodings_read = 3;

// A key from three bytes of a folded text.
std::uint32_t key_at(std::string_view text, std::size_t at) {
  std::uint32_t key = 0;
  for (std::size_t i = 0; i < beginning; ++i) {
    key = key << 8 | static_cast<unsigned char>(text[at + i]);
  }
  return key;
}

bool is_name_byte(char folded) {
  return (folded >= 'a' && folded <= 'z') || (folded >= '0' && folded <= '9');
}

bool is_telling(std::string_view bare) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return bare.size() >= least_bare && std::any_of(bare.begin(), bare.end(), is_digit) &&
         !std::all_of(bare.begin(), bare.end(), is_digit);
}

[[noreturn]] void fail_left(const Sought& sought, const std::string& where,
                            const fs::path& report) {
  throw LeftOver(fmt::format(
      "{}: some private data{} would remain {}, so nothing was written; please report this",
      printable(report.string()),
      sought.origin.empty() ? ""
                            : " (the value of " + shortened(printable(sought.origin), 60) + ")",
      where));
}

}  // namespace

Proof::Proof(const SoughtList& sought, const Deadline& deadline)
    : sought_(sought), deadline_(deadline), pace_(deadline), begun_(most_keys) {
  for (const Sought& s : sought_) {
    add(s, s.text);
    if (s.is_secret) {
      least_secret_ = std::min(least_secret_, std::max(s.text.size(), least_encoded));
      if (const std::string core = bare(s.text); core != s.text && is_telling(core)) add(s, core);
    }
    has_spaces_ = has_spaces_ || s.text.find(' ') != s.text.npos;
    if (s.reach == Reach::anywhere) add_lines(s);
  }
  for (auto& [key, begun] : by_beginning_) {
    std::sort(begun.begin(), begun.end(),
              [](const Needle* a, const Needle* b) { return a->text < b->text; });
  }
}

// A line break may itself be written as \n.
void Proof::add_lines(const Sought& sought) {
  std::string text = sought.text;
  for (std::size_t at = 0; (at = text.find("\\n", at)) != text.npos;) text.replace(at, 2, "\n");
  if (text.find('\n') == text.npos) return;
  add(sought, joined_lines(text));
  for (const std::string_view part : split(text, "\n"))
    if (const std::string line = joined_lines(part); line.size() >= least_line) add(sought, line);
}

void Proof::add(const Sought& sought, const std::string& text) {
  if (text.size() < beginning) return;
  const Needle& needle = needles_.emplace_back(Needle{folded(text), &sought});
  const std::uint32_t key = key_at(needle.text, 0);
  begun_[key] = true;
  by_beginning_[key].push_back(&needle);
  longest_ = std::max(longest_, needle.text.size());
}

bool Proof::counts_in_encodings(const Needle& needle, std::string_view, std::size_t) {
  return needle.sought->is_secret && needle.text.size() >= least_encoded;
}

// Whether the surrounding characters make it a separate word or number, as its reach requires.
bool Proof::stands_by_itself(const Needle& needle, std::string_view text, std::size_t at) {
  const Reach reach = needle.sought->reach;
  if (reach == Reach::anywhere) return true;
  // A different kind of character next to it ends it, so a word that ends in a punctuation mark
  // needs no check.
  const auto goes_on = [&](char inner, char outer) {
    if (reach == Reach::as_number) return outer >= '0' && outer <= '9';
    if (reach == Reach::as_name) return is_name_byte(outer);
    const auto is_word_byte = [](char c) { return is_name_byte(c) || c == '_'; };
    return is_word_byte(inner) && is_word_byte(outer);
  };
  const std::size_t end = at + needle.text.size();
  return !(at > 0 && goes_on(text[at], text[at - 1])) &&
         !(end < text.size() && goes_on(text[end - 1], text[end]));
}

// Those of sorted needles that are at this position. What the first and the last of them share,
// all share, and the byte behind it tells which of them remain: thousands may begin alike.
std::vector<const Proof::Needle*> Proof::needles_at(
    std::string_view text, std::size_t at, const std::vector<const Needle*>& sorted) const {
  std::vector<const Needle*> all;
  auto first = sorted.begin(), last = sorted.end();
  for (std::size_t size = 0; first != last;) {
    const std::string_view low = (*first)->text, high = (*(last - 1))->text;
    const std::size_t before = size;
    while (size < low.size() && size < high.size() && low[size] == high[size]) ++size;
    pace_.went(size - before + 1);
    if (text.substr(at + before, size - before) != low.substr(before, size - before)) break;
    for (; first != last && (*first)->text.size() == size; ++first) all.push_back(*first);
    if (at + size == text.size()) break;
    const auto next_of = [&](std::string_view of, std::size_t from) {
      return static_cast<unsigned char>(of[from + size]);
    };
    const unsigned char next = next_of(text, at);
    first = std::partition_point(
        first, last, [&](const Needle* needle) { return next_of(needle->text, 0) < next; });
    last = std::partition_point(
        first, last, [&](const Needle* needle) { return next_of(needle->text, 0) == next; });
  }
  return all;
}

template <class Counts>
const Sought* Proof::find(const std::string& text, Counts counts) const {
  pace_.went(text.size());
  if (text.size() < beginning) return nullptr;
  std::uint32_t key = key_at(text, 0);
  for (std::size_t at = 0;; ++at) {
    if (begun_[key]) {
      for (const Needle* needle : needles_at(text, at, by_beginning_.at(key))) {
        if (counts(*needle, text, at)) return needle->sought;
      }
    }
    if (at + beginning >= text.size()) return nullptr;
    key = (key << 8 | static_cast<unsigned char>(text[at + beginning])) & (most_keys - 1);
  }
}

const Sought* Proof::in_text(std::string_view text) const {
  return in_meanings(std::string(text), stands_by_itself, most_encodings_read);
}

// `encodings`: how many times it may be encoded, in addition to escapes.
const Sought* Proof::in_meanings(std::string text, Judge counts, int encodings) const {
  for (int i = 0; i <= most_escapings_read; ++i) {
    if (const Sought* left = find(folded(text), counts)) return left;
    if (has_spaces_ && text.find('+') != text.npos) {
      std::string spaced = folded(text);
      std::replace(spaced.begin(), spaced.end(), '+', ' ');
      if (const Sought* left = find(spaced, counts)) return left;
    }
    if (const Sought* left = find(folded(read_quoted_printable(text)), counts)) return left;
    if (const Sought* left = in_encodings(text, encodings)) return left;
    if (!read_escapes(text)) break;
  }
  return nullptr;
}

const Sought* Proof::in_encodings(const std::string& text, int encodings) const {
  if (encodings == 0 || least_secret_ > text.size()) return nullptr;
  // Letters with dashes between them, "one" + "two", lists of characters.
  const Judge in_bare = [](const Needle& needle, std::string_view, std::size_t) {
    return needle.sought->is_secret && is_telling(needle.text);
  };
  if (encodings == most_encodings_read)
    if (const Sought* left = find(folded(bare(text)), in_bare)) return left;
  const Judge in_joined = [](const Needle& needle, std::string_view there, std::size_t at) {
    return counts_in_encodings(needle, there, at) && stands_by_itself(needle, there, at);
  };
  for (const std::string& joined : {joined_lines(text), unwrapped_lines(text)}) {
    if (const Sought* left = find(folded(joined), in_joined)) return left;
    if (!has_digits_of_base64(joined, least_secret_)) continue;
    for (const auto read : {read_base64, read_base32}) {
      if (const Sought* left = in_decoded(read(joined, least_secret_), encodings)) return left;
    }
  }
  const std::string grouped = read_base64(joined_groups(text), least_secret_);
  if (const Sought* left = in_decoded(grouped, encodings)) return left;
  for (const auto read : {read_hexadecimal, read_decimal, read_octal}) {
    if (const Sought* left = in_decoded(read(text, least_secret_), encodings)) return left;
  }
  return find(folded(read_utf16(text)), counts_in_encodings);
}

const Sought* Proof::in_decoded(std::string bytes, int encodings) const {
  if (is_utf16(bytes)) bytes += read_utf16(bytes);
  return in_meanings(std::move(bytes), counts_in_encodings, encodings - 1);
}

void Proof::check_text(std::string_view text, const std::string& where,
                       const fs::path& report) const {
  if (const Sought* left = in_text(text)) fail_left(*left, where, report);
}

void Proof::check_tables(const fs::path& written, const fs::path& report) const {
  const Database made(written, deadline_);
  Query tables(made, "SELECT name, sql FROM sqlite_master WHERE type = 'table'");
  while (tables.step()) {
    const std::string name(tables.text(0));
    check_text(name, "in the name of a table", report);
    check_text(tables.text(1), "in the definition of a table", report);
    const std::vector<std::string> columns = made.columns(name);
    std::vector<bool> are_numbers_text;
    for (const std::string& column : columns) {
      are_numbers_text.push_back(any_matches(private_data_schema().nsys.numbers, column));
    }
    Query rows(made, "SELECT * FROM " + quoted_name(name));
    while (rows.step()) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const int c = static_cast<int>(i);
        if (rows.is_text(c) || (are_numbers_text[i] && !rows.is_null(c))) {
          check_text(rows.text(c), "in table " + printable(name), report);
        }
      }
    }
  }
}

void Proof::check_bytes(const fs::path& written, const fs::path& report,
                        std::size_t least_bytes) const {
  constexpr std::size_t chunk = 4 << 20;
  const auto fail_unreadable = [&] {
    throw Error(fmt::format("{}: the copy cannot be read back", printable(report.string())));
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(written.c_str(), "rb"), gzclose);
  if (!file) fail_unreadable();
  // A chunk begins with the end of the one before. A match at the very end of a chunk is judged in
  // the next, where what follows it is visible.
  const std::size_t overlap = longest_ + 2;
  std::string bytes;
  for (bool first = true, more = true; more; first = false) {
    bytes.erase(0, bytes.size() - std::min(bytes.size(), overlap));
    const std::size_t kept = bytes.size();
    bytes.resize(kept + chunk);
    const int got = gzread(file.get(), bytes.data() + kept, chunk);
    if (got < 0) fail_unreadable();
    bytes.resize(kept + static_cast<std::size_t>(got));
    more = got > 0;
    const auto counts = [&](const Needle& needle, std::string_view text, std::size_t at) {
      const Sought& sought = *needle.sought;
      const bool is_cut = (at == 0 && !first) || (at + needle.text.size() == text.size() && more);
      return !is_cut && needle.text.size() >= least_bytes && !sought.in_texts_only &&
             sought.reach != Reach::as_word && stands_by_itself(needle, text, at);
    };
    if (const Sought* left = find(folded(bytes), counts)) {
      fail_left(*left, "in the bytes of the file", report);
    }
  }
}

}  // namespace gh::scrubbing
