// Removes sought values from texts.
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
  /// Throws Error if there is too much to search for. It and everything below throw Error when the
  /// time is over.
  Remover(const SoughtList& sought, const Deadline& deadline);
  ~Remover();

  /// Replaces sought values, even if the text writes them with escapes (of JSON, C, HTML, URLs);
  /// such a text is then written without escapes. False if there was nothing to replace.
  bool remove_from(std::string& text) const;
  /// Whether that would change anything. If a JSON text contains a backslash, its strings may be
  /// escaped, so pass them one by one.
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

  SoughtList long_;            // too long for an expression; in lower case if case does not matter
  std::vector<Group> groups_;  // in the order of replacement
  SoughtList names_;           // and numbers; in lower case, longest first
  std::unique_ptr<re2::RE2> any_name_;  // null if there are none
  Pace pace_;
};

}  // namespace gh::scrubbing
