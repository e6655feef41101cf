// Takes what is sought out of texts.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "read/scrub/sought.hpp"

namespace re2 {
class RE2;
}

namespace gh::scrubbing {

class Remover {
 public:
  /// Throws Error where there is too much to be sought, and so does everything below once the time
  /// is over.
  Remover(const SoughtList& sought, const Deadline& deadline);
  ~Remover();

  /// Puts something else in the place of what is sought, also where the text writes it with escapes
  /// (of JSON, C, HTML, URLs): such a text is then written without any. False where nothing was
  /// there.
  bool remove_from(std::string& text) const;
  /// Whether that would change anything. A text of JSON, in which strings may be escaped, is to be
  /// looked at string by string where it holds a backslash.
  bool finds_in(std::string_view text) const;

 private:
  struct Group {
    std::unique_ptr<re2::RE2> expression;
    const char* instead = replacement;
  };
  void add_group(const SoughtList& sought, const char* instead, Reach reach, bool any_case);
  void add_names(const SoughtList& sought);
  bool remove_plain(std::string& text) const;
  bool remove_long(std::string& text) const;
  bool remove_names(std::string& text) const;

  SoughtList long_;            // too long for an expression; in lower case where any case counts
  std::vector<Group> groups_;  // in the order in which they are replaced
  SoughtList names_;           // and numbers; in lower case, the longest first
  std::unique_ptr<re2::RE2> any_name_;  // null without any
  Pace pace_;
};

}  // namespace gh::scrubbing
