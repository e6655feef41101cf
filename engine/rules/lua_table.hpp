// Reads values that a rule's Lua code passes to C++. Reads are raw, so that metatables of a rule's
// own tables have no effect; bounded, so that a rule that returns too much is stopped; and charged
// to the rule. Used for arguments of verbs, findings, rule files and tests.
//
// Use only inside LuaSandbox::run or a verb: running out of memory or stack ends in a Lua error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct lua_State;

namespace gh {

/// The longest text of a real finding has a few hundred bytes.
inline constexpr std::size_t most_text_bytes = 16 << 10;
/// Up to here a double distinguishes adjacent integers.
inline constexpr double largest_exact = 9e15;
/// The longest list in a real finding has ten elements.
inline constexpr std::size_t most_elements = 1000;

/// The string at `index`, made printable: Lua strings are bytes, and reports are text. Throws Error
/// if it is longer than most_text_bytes.
std::string lua_text(lua_State* lua, int index);
/// The same, but keeps line breaks.
std::string lua_lines(lua_State* lua, int index);
/// The string at `index` unchanged, including NUL: for comparing, not for showing.
std::string lua_bytes(lua_State* lua, int index);

/// A table on Lua's stack, which has to stay there. Every function except `push` leaves the stack
/// as it was, and throws Error that says where in the rule a field is wrong.
class LuaTable {
 public:
  /// The value at `index`; messages call it `where`: "a finding". Throws Error if it is not a
  /// table.
  LuaTable(lua_State* lua, int index, std::string where);
  lua_State* lua() const { return lua_; }
  int index() const { return index_; }
  const std::string& where() const { return where_; }

  /// Pushes the value of a key, or of a position starting at 1, and returns its type.
  int push(const char* key) const;
  int push(std::size_t position) const;
  bool has(const char* key) const;
  bool is_text(const char* key) const;

  /// A string; "" if the key is absent and not required.
  std::string text(const char* key, bool required = true) const;
  /// The same with several lines.
  std::string lines(const char* key) const;
  /// A finite number; nothing if the key is absent.
  std::optional<double> number(const char* key) const;
  /// A whole number, clamped to 0 to `most`.
  std::size_t count(const char* key, std::size_t otherwise, std::size_t most) const;
  /// What Lua considers true.
  bool truth(const char* key) const;
  /// A list of strings; empty if the key is absent.
  std::vector<std::string> texts(const char* key) const;

  /// Calls take(index of the value) for each element of the list under a key.
  void each(const char* key, const std::function<void(int)>& take) const;
  /// The same for this table itself, up to the first nil. Rejects more than `most`.
  void each(const std::function<void(int)>& take, std::size_t most = most_elements) const;
  /// Calls take(key, index of the value) for each key of the table, in order of name.
  void each_pair(const std::function<void(const std::string&, int)>& take) const;
  /// Which keys are allowed in addition to names.
  enum class Positions : bool { refused, left_out };
  /// The keys, sorted. Throws Error if one is not a name.
  std::vector<std::string> names(Positions positions = Positions::refused) const;
  /// Rejects unknown keys: a misspelled one would otherwise be ignored silently.
  void only(const std::vector<std::string>& keys, Positions positions = Positions::refused) const;

 private:
  void check_length(const char* key) const;

  lua_State* lua_;
  int index_;
  std::string where_;
};

}  // namespace gh
