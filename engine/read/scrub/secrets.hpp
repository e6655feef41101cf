// Values and names that were found where they are known to stand, or tell by themselves what they
// are: what has to be removed wherever it stands.
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

/// What is not sought, since it could not be told from what a report is made of.
struct NotSought {
  std::set<std::string> secrets;  ///< names of variables that say that they hold a secret
  std::size_t others = 0;         ///< settings, numbers and words: values and names
};

class Secrets {
 public:
  /// What stands in the vocabulary is not sought. Everything throws Error once the time is over.
  Secrets(const Vocabulary& vocabulary, const Deadline& deadline)
      : vocabulary_(vocabulary), pace_(deadline) {}

  void add(PrivateKind kind, std::string_view value);
  /// "NAME=value" or NAME="value", as reports write variables.
  void add_variable(std::string_view text);
  void add_variable(std::string_view name, std::string_view value);
  /// A command line or a word of one. Give the words in order: one that names a secret, --token,
  /// says that the next is one.
  void add_command(std::string_view text);
  /// What tells by itself what it is, in any text.
  void add_signs_in(std::string_view text);
  /// After the last addition: what is to be sought, as it was found.
  SoughtList sought();
  const NotSought& not_sought() const { return not_sought_; }
  /// Of sought().
  std::size_t size() const { return size_; }

 private:
  using Origins = std::map<std::string, std::string>;  // what has to go = whose value it is

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
  std::string next_is_;  // the option of which the next word is the value
  NotSought not_sought_;
  std::size_t size_ = 0;
};

}  // namespace gh::scrubbing
