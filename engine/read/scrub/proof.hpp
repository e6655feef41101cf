// The search that proves that a copy holds none of what has to go. It shares with what removes only
// the values, as they were found: it reads texts in every way that they may be meant, and compares
// byte by byte, with no expressions and no list of written forms.
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

/// Some of what has to go stands in a copy.
class LeftOver : public Error {
 public:
  using Error::Error;
};

class Proof {
 public:
  /// `sought` has to outlive it.
  Proof(const SoughtList& sought, const Deadline& deadline);

  /// What stands in a text, in letters of either case and however often escaped; secrets also
  /// across lines, in base64 and base32, in numbers of bytes and in UTF-16, also one in another.
  /// Null where nothing does.
  const Sought* in_text(std::string_view text) const;

  /// Each fails with LeftOver, so that nothing is written, where anything is left: in a text, in
  /// any cell or name of a database's tables, numbers aside that are no program's own, in the bytes
  /// of a file, unpacked where it is packed.
  /// `report` is what messages name. In bytes, what is shorter than `least_bytes` is not searched
  /// for: it stands in numbers by chance.
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
  // Whether a needle that stands in a folded text is one there.
  using Judge = bool (*)(const Needle& needle, std::string_view text, std::size_t at);
  // A needle in a folded text for which counts(needle, the text, where it stands) there.
  template <class Counts>
  const Sought* find(const std::string& text, Counts counts) const;
  static bool counts_in_encodings(const Needle& needle, std::string_view text, std::size_t at);
  static bool stands_by_itself(const Needle& needle, std::string_view text, std::size_t at);
  const Sought* in_meanings(std::string text, Judge counts, int encodings) const;
  const Sought* in_encodings(const std::string& text, int encodings) const;
  const Sought* in_decoded(std::string bytes, int encodings) const;

  const SoughtList& sought_;
  Deadline deadline_;
  Pace pace_;
  std::deque<Needle> needles_;
  std::vector<bool> begun_;  // by the first three bytes: whether any begins so
  std::unordered_map<std::uint32_t, std::vector<const Needle*>> by_beginning_;
  std::size_t longest_ = 0;
  std::size_t least_secret_ = std::string::npos;  // bytes of the shortest; npos without any
  bool has_spaces_ = false;
};

}  // namespace gh::scrubbing
