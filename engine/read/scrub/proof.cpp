#include "read/scrub/proof.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "read/sqlite.hpp"

namespace gh::scrubbing {
namespace {

namespace fs = std::filesystem;

// Nothing shorter is sought.
constexpr std::size_t beginning = 3;
constexpr std::uint32_t most_keys = 1 << 24;

std::uint32_t folded(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 'A' && byte <= 'Z' ? byte + 32U : byte;
}

std::uint32_t key_at(std::string_view text, std::size_t at) {
  return folded(text[at]) << 16 | folded(text[at + 1]) << 8 | folded(text[at + 2]);
}

bool is_name_byte(char c) {
  const std::uint32_t byte = folded(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

[[noreturn]] void fail_left(const Sought& sought, const std::string& where,
                            const fs::path& report) {
  throw Error(fmt::format(
      "{}: some of what has to go{} would be left {}, so nothing was written; please report this",
      printable(report.string()),
      sought.origin.empty() ? ""
                            : " (the value of " + shortened(printable(sought.origin), 60) + ")",
      where));
}

}  // namespace

Proof::Proof(const SoughtList& sought) : sought_(sought), begun_(most_keys) {
  for (const Sought& s : sought_) {
    if (s.text.size() < beginning) continue;
    const std::uint32_t key = key_at(s.text, 0);
    begun_[key] = true;
    by_beginning_[key].push_back(&s);
    longest_ = std::max(longest_, s.text.size());
  }
}

bool Proof::stands_at(const Sought& sought, std::string_view text, std::size_t at) const {
  const std::string_view there = text.substr(at, sought.text.size());
  if (there.size() < sought.text.size()) return false;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (sought.any_case ? folded(there[i]) != folded(sought.text[i]) : there[i] != sought.text[i]) {
      return false;
    }
  }
  if (sought.reach == Reach::anywhere) return true;
  // Another sign beside it ends it: a word that itself ends in a sign needs nothing.
  const auto goes_on = [&](char inner, char outer) {
    if (sought.reach == Reach::as_name) return is_name_byte(outer);
    const auto is_word_byte = [](char c) { return is_name_byte(c) || c == '_'; };
    return is_word_byte(inner) && is_word_byte(outer);
  };
  const std::size_t end = at + there.size();
  return !(at > 0 && goes_on(there.front(), text[at - 1])) &&
         !(end < text.size() && goes_on(there.back(), text[end]));
}

const Sought* Proof::find(std::string_view text, std::size_t least_bytes, bool begins,
                          bool ends) const {
  if (text.size() < beginning) return nullptr;
  std::uint32_t key = key_at(text, 0);
  for (std::size_t at = 0;; ++at) {
    if (begun_[key]) {
      for (const Sought* sought : by_beginning_.at(key)) {
        const bool too_short =
            least_bytes > 0 && (sought->text.size() < least_bytes || sought->in_texts_only ||
                                sought->reach == Reach::as_word);
        const bool is_cut =
            (at == 0 && !begins) || (at + sought->text.size() == text.size() && !ends);
        if (!too_short && !is_cut && stands_at(*sought, text, at)) return sought;
      }
    }
    if (at + beginning >= text.size()) return nullptr;
    key = (key << 8 | folded(text[at + beginning])) & (most_keys - 1);
  }
}

void Proof::check_text(std::string_view text, const std::string& where,
                       const fs::path& report) const {
  if (const Sought* left = in_text(text)) fail_left(*left, where, report);
}

void Proof::check_tables(const fs::path& written, const fs::path& report) const {
  const Database made(written);
  Query tables(made, "SELECT name, sql FROM sqlite_master WHERE type = 'table'");
  while (tables.step()) {
    const std::string name(tables.text(0));
    check_text(name, "in the name of a table", report);
    check_text(tables.text(1), "in the definition of a table", report);
    const auto columns = static_cast<int>(made.columns(name).size());
    Query rows(made, "SELECT * FROM " + quoted_name(name));
    while (rows.step()) {
      for (int c = 0; c < columns; ++c) {
        if (rows.is_text(c)) check_text(rows.text(c), "in table " + printable(name), report);
      }
    }
  }
}

void Proof::check_bytes(const fs::path& written, const fs::path& report,
                        std::size_t least_bytes) const {
  constexpr std::size_t chunk = 4 << 20;
  const auto fail_unreadable = [&] {
    throw Error(
        fmt::format("{}: what was written cannot be read again", printable(report.string())));
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(written.c_str(), "rb"), gzclose);
  if (!file) fail_unreadable();
  // A chunk begins with the end of the one before. What stands at the very end of one is looked at
  // in the next, where it shows what is beside it.
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
    if (const Sought* left = find(bytes, least_bytes, first, !more)) {
      fail_left(*left, "in the bytes of the file", report);
    }
  }
}

}  // namespace gh::scrubbing
