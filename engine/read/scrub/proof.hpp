// The search that proves that a copy contains nothing that must be removed. It shares only the
// values with the code that removes them. It reads texts in every possible way and compares byte by
// byte, without expressions or a list of written forms.
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

/// Something that must be removed is still in a copy.
class LeftOver : public Error {
 public:
  using Error::Error;
};

class Proof {
 public:
  /// `sought` must outlive it.
  Proof(const SoughtList& sought, const Deadline& deadline);

  /// What a text contains, ignoring case and however often it is escaped. Secrets are also found
  /// across lines, with signs between their letters, in base64 and base32, in numbers of bytes, in
  /// UTF-16, and in one of these inside another. Null if nothing is found.
  const Sought* in_text(std::string_view text) const;

  /// Each throws LeftOver if anything is left, so that nothing is written. They check a text; every
  /// cell and name in a database's tables, except numbers that the program did not choose; or the
  /// bytes of a file, decompressed if necessary. Messages name `report`. In bytes, values shorter
  /// than `least_bytes` are ignored, because they occur in numbers by chance.
  void check_text(std::string_view text, const std::string& where,
                  const std::filesystem::path& report) const;
  void check_tables(const std::filesystem::path& written,
                    const std::filesystem::path& report) const;
  void check_bytes(const std::filesystem::path& written, const std::filesystem::path& report,
                   std::size_t least_bytes) const;

 private:
  struct Needle {
    std::string text;  // folded
    const Sought* sought;
  };
  void add(const Sought& sought, const std::string& text);
  void add_lines(const Sought& sought);
  // Whether a needle found in a folded text really counts there.
  using Judge = bool (*)(const Needle& needle, std::string_view text, std::size_t at);
  // A needle in a folded text for which counts(needle, the text, its position) holds.
  template <class Counts>
  const Sought* find(const std::string& text, Counts counts) const;
  std::vector<const Needle*> needles_at(std::string_view text, std::size_t at,
                                        const std::vector<const Needle*>& sorted) const;
  static bool counts_in_encodings(const Needle& needle, std::string_view text, std::size_t at);
  static bool stands_by_itself(const Needle& needle, std::string_view text, std::size_t at);
  const Sought* in_meanings(std::string text, Judge counts, int encodings) const;
  const Sought* in_encodings(const std::string& text, int encodings) const;
  const Sought* in_decoded(std::string bytes, int encodings) const;

  const SoughtList& sought_;
  Deadline deadline_;
  Pace pace_;
  std::deque<Needle> needles_;
  std::vector<bool> begun_;  // by the first three bytes: whether any needle begins with them
  std::unordered_map<std::uint32_t, std::vector<const Needle*>> by_beginning_;
  std::size_t longest_ = 0;
  std::size_t least_secret_ = std::string::npos;  // size of the shortest; npos if there is none
  bool has_spaces_ = false;
};

}  // namespace gh::scrubbing
