// What a report consists of: words of the format itself, and texts that rules look at, such as
// kernel names. Words in this vocabulary are not searched for, because removing them would change
// the report.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace gh::scrubbing {

class Vocabulary {
 public:
  void add_words_of_format(std::string_view name);  ///< it and its parts
  void add_name_of_format(std::string_view name);   ///< as a whole
  void add(std::string_view text);

  // Words are given in lower case.
  bool is_word_of_format(std::string_view lower) const;
  /// Also true if it is in a text, there or in schemas/.
  bool holds(std::string_view lower, bool within_words) const;
  std::size_t bytes() const { return texts_.size(); }

 private:
  std::set<std::string, std::less<>> words_of_format_;
  std::string texts_;  // in lower case, one per line
};

}  // namespace gh::scrubbing
