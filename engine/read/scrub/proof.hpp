// The search that proves that a copy holds none of what has to go. It shares with what removes
// only the list of what is sought: it looks at bytes, one after the other, with no expressions.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

class Proof {
 public:
  explicit Proof(const SoughtList& sought);

  /// What stands in a text; null where nothing does.
  const Sought* in_text(std::string_view text) const { return find(text, 0, true, true); }

  /// Each fails with an Error, so that nothing is written, where anything is left: in a text, in
  /// any cell or name of a database's tables, in the bytes of a file, unpacked where it is packed.
  /// `report` is what messages name. In bytes, what is shorter than `least_bytes` is not searched
  /// for: it stands in numbers by chance.
  void check_text(std::string_view text, const std::string& where,
                  const std::filesystem::path& report) const;
  void check_tables(const std::filesystem::path& written,
                    const std::filesystem::path& report) const;
  void check_bytes(const std::filesystem::path& written, const std::filesystem::path& report,
                   std::size_t least_bytes) const;

 private:
  // `begins`, `ends`: what is searched begins and ends with the text, which else goes on.
  const Sought* find(std::string_view text, std::size_t least_bytes, bool begins, bool ends) const;
  bool stands_at(const Sought& sought, std::string_view text, std::size_t at) const;

  const SoughtList& sought_;
  std::vector<bool> begun_;  // by the first three bytes, in lower case: whether anything begins so
  std::unordered_map<std::uint32_t, std::vector<const Sought*>> by_beginning_;
  std::size_t longest_ = 0;
};

}  // namespace gh::scrubbing
