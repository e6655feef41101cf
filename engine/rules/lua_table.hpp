// Reading what a rule's Lua code gives back: raw, so that metatables of a rule's own tables decide
// nothing, and bounded, so that a rule that says too much is stopped.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct lua_State;

namespace gh {

/// A finding's longest text has some hundred bytes.
inline constexpr std::size_t most_text_bytes = 16 << 10;

/// The string at `index` as valid UTF-8: Lua's strings are bytes, and reports are text.
std::string lua_text(lua_State* lua, int index);

/// A table on Lua's stack, which has to stay there. Every function leaves the stack as it was,
/// except `push`, and throws Error that says where in the rule a field is wrong.
class LuaTable {
 public:
  /// The value at `index`; `where` is how messages name it: "a finding". Throws Error where it is
  /// no table.
  LuaTable(lua_State* lua, int index, std::string where);
  const std::string& where() const { return where_; }

  /// Pushes the value of a key and returns its type.
  int push(const char* key) const;
  /// A string; "" where the key is absent and not required.
  std::string text(const char* key, bool required = true) const;
  /// A finite number; nothing where the key is absent.
  std::optional<double> number(const char* key) const;
  /// What Lua takes for true.
  bool truth(const char* key) const;
  /// A list of strings; none where the key is absent.
  std::vector<std::string> texts(const char* key) const;
  /// Calls take(index of the value) for each element of the list under a key.
  void each(const char* key, const std::function<void(int)>& take) const;
  /// Calls take(key, index of the value) for each key of the table, in order of their names.
  void each_pair(const std::function<void(const std::string&, int)>& take) const;
  /// Refuses keys that nobody reads: a misspelt one would otherwise do nothing, silently.
  void only(const std::vector<std::string>& keys) const;

 private:
  std::vector<std::string> sorted_keys() const;
  void check_length(const std::string& text, const char* key) const;

  lua_State* lua_;
  int index_;
  std::string where_;
};

}  // namespace gh
