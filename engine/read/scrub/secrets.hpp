// Values and names that must be removed wherever they occur. They come from places known to hold
// them, or are recognizable by themselves.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "read/private_data.hpp"
#include "read/scrub/json_tree.hpp"
#include "read/scrub/sought.hpp"
#include "read/scrub/vocabulary.hpp"

namespace gh::scrubbing {

/// What is not searched for, because it looks like the rest of a report.
struct NotSought {
  std::set<std::string> secrets;  ///< names of variables that hold a secret
  std::size_t others = 0;         ///< settings, numbers and words: values and names
};

class Secrets {
 public:
  /// Words in the vocabulary are not searched for. All functions throw Error when the time is over.
  Secrets(const Vocabulary& vocabulary, const Deadline& deadline)
      : vocabulary_(vocabulary), pace_(deadline) {}

  void add(PrivateKind kind, std::string_view value);
  /// "NAME=value" or NAME="value", as found in reports.
  void add_variable(std::string_view text);
  void add_variable(std::string_view name, std::string_view value);
  /// A variable, or a whole environment in one text, with line breaks or zero bytes between them.
  /// Returns how many these are.
  std::size_t add_variables(std::string_view text);
  /// A command line or one of its words. Add words in order, because an option such as --token
  /// makes the next word a secret.
  void add_command(std::string_view text);
  /// Adds what is recognizable by itself, in any text.
  void add_signs_in(std::string_view text);
  /// Adds only the secrets among these: a program's output also tells tokens per second.
  void add_secrets_told_in(std::string_view text);
  /// Call this after the last addition: what to search for, as it was found.
  SoughtList sought();
  const NotSought& not_sought() const { return not_sought_; }
  /// The size of sought().
  std::size_t size() const { return size_; }

 private:
  using Origins = std::map<std::string, std::string>;  // what must be removed = whose value it is

  void add_folder(std::string_view value);
  void add_name(PrivateKind kind, std::string_view value);
  void add_word_of_command(std::string_view word);
  void add_secret(std::string_view value);
  void add_decoded(std::string_view secret);
  void add_elements(std::string_view value);
  void add_members_in(std::string_view value);
  void add_member(const std::string& key, const Json& value);
  void add_value(std::string_view value);
  void add_parts(std::string_view value);
  void add_signs(std::string_view text, bool secrets_only);
  void put(Origins& to, std::string value);
  bool cannot_be_told(std::string_view secret) const;
  void append_secrets(SoughtList& to);
  void append_values(SoughtList& to);
  void append_names(SoughtList& to);
  void append_folders(SoughtList& to) const;

  const Vocabulary& vocabulary_;
  Pace pace_;
  Origins secrets_, values_, names_, folders_, homes_;  // names in lower case
  std::string origin_;                                  // of what is being added
  std::string next_is_;                                 // the option whose value the next word is
  NotSought not_sought_;
  std::size_t size_ = 0;
};

}  // namespace gh::scrubbing
