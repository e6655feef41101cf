// Values and names that were found where they are known to stand, to be replaced wherever else they
// do.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "read/private_data.hpp"

namespace re2 {
class RE2;
}

namespace gh::scrubbing {

/// What stands in the place of what was removed.
inline constexpr const char* replacement = "[removed]";

/// Secrets are added, then compiled, then searched for.
class Secrets {
 public:
  Secrets();
  ~Secrets();

  void add(PrivateKind kind, std::string_view value);
  /// "NAME=value" or NAME="value", as reports write variables.
  void add_variable(std::string_view text);
  void add_variable(std::string_view name, std::string_view value);
  /// Names of users from the paths of home folders in any text.
  void add_owners(std::string_view text);
  /// Words of the format itself: values that are such are no secrets, and could not be told from
  /// them.
  void add_words_of_format(std::string_view name);

  /// After the last addition and before the first search. Throws Error where there is too much to
  /// be searched for.
  void compile();

  /// Replaces what is found. False where nothing was.
  bool replace_in(std::string& text) const;
  bool stand_in(std::string_view text) const;
  /// In bytes of any meaning, where a short name stands by chance.
  bool stand_in_bytes(std::string_view bytes) const;
  /// The variable whose value stands there, if any: never the value.
  std::string variable_in(std::string_view text) const;

  std::size_t size() const { return values_.size() + names_.size() + folders_.size(); }
  std::size_t longest() const;

 private:
  void add_folder(std::string_view value);
  void add_name(PrivateKind kind, std::string_view value);
  void add_nodes(PrivateKind kind, std::string_view list);
  void add_word_of_command(std::string_view word);
  void add_value(std::string_view value);
  void add_parts(std::string_view value);
  void put(std::set<std::string>& to, std::string value);
  void compile_names();
  bool replace_names_in(std::string& text) const;

  std::set<std::string> values_, names_, folders_;  // names in lower case
  std::set<std::string, std::less<>> words_of_format_;
  std::map<std::string, std::string> origins_;  // the variables of values and names
  std::string origin_;                          // of what is being added

  // Null where there is nothing to find.
  using Expression = std::unique_ptr<re2::RE2>;
  Expression all_values_, values_in_bytes_, all_folders_, all_names_, names_in_bytes_;
};

}  // namespace gh::scrubbing
