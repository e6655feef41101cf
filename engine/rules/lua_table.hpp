// Values that a rule's Lua code gives to C++, read raw, so that metatables of a rule's own tables
// decide nothing; bounded, so that a rule that says too much is stopped; and charged to the rule.
// Verbs read their arguments with it, and so does what reads a finding, a rule's file, or a test.
//
// For use inside of LuaSandbox::run or a verb only: want of memory, or of stack, ends in a Lua
// error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct lua_State;

namespace gh {

/// A finding's longest text has some hundred bytes.
inline constexpr std::size_t most_text_bytes = 16 << 10;
/// Up to which a double tells neighbours apart.
inline constexpr double largest_exact = 9e15;
/// A finding's longest list has ten elements.
inline constexpr std::size_t most_elements = 1000;

/// The string at `index`, printable: Lua's strings are bytes, and reports are text. Throws Error
/// where it is longer than most_text_bytes.
std::string lua_text(lua_State* lua, int index);
/// The same, but lines stay lines.
std::string lua_lines(lua_State* lua, int index);
/// The string at `index` as it is, NUL and all: what is compared rather than shown.
std::string lua_bytes(lua_State* lua, int index);

/// A table on Lua's stack, which has to stay there. Every function leaves the stack as it was,
/// except `push`, and throws Error that says where in the rule a field is wrong.
class LuaTable {
 public:
  /// The value at `index`; `where` is how messages name it: "a finding". Throws Error where it is
  /// no table.
  LuaTable(lua_State* lua, int index, std::string where);
  lua_State* lua() const { return lua_; }
  int index() const { return index_; }
  const std::string& where() const { return where_; }

  /// Pushes the value of a key, or of a position from 1 on, and returns its type.
  int push(const char* key) const;
  int push(std::size_t position) const;
  bool has(const char* key) const;
  bool is_text(const char* key) const;

  /// A string; "" where the key is absent and not required.
  std::string text(const char* key, bool required = true) const;
  /// The same, of several lines.
  std::string lines(const char* key) const;
  /// A finite number; nothing where the key is absent.
  std::optional<double> number(const char* key) const;
  /// A whole number, 0 to `most`: what lies outside becomes the nearer of the two.
  std::size_t count(const char* key, std::size_t otherwise, std::size_t most) const;
  /// What Lua takes for true.
  bool truth(const char* key) const;
  /// A list of strings; none where the key is absent.
  std::vector<std::string> texts(const char* key) const;

  /// Calls take(index of the value) for each element of the list under a key.
  void each(const char* key, const std::function<void(int)>& take) const;
  /// The same of this table itself, up to the first nil. Refuses more than `most`.
  void each(const std::function<void(int)>& take, std::size_t most = most_elements) const;
  /// Calls take(key, index of the value) for each key of the table, in order of their names.
  void each_pair(const std::function<void(const std::string&, int)>& take) const;
  /// Which keys there may be besides names.
  enum class Positions : bool { refused, left_out };
  /// The keys, sorted. Throws Error where one is no name.
  std::vector<std::string> names(Positions positions = Positions::refused) const;
  /// Refuses keys that nobody reads: a misspelt one would otherwise do nothing, silently.
  void only(const std::vector<std::string>& keys, Positions positions = Positions::refused) const;

 private:
  void check_length(const char* key) const;

  lua_State* lua_;
  int index_;
  std::string where_;
};

}  // namespace gh
