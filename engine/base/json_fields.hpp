// Documents that we write and read again. A generic lambda names every field of a struct once, for
// FieldWriter and FieldReader (json_reader.hpp) alike:
//
//   constexpr auto kernel_fields = [](auto& json, auto& kernel) {
//     json("name", kernel.name);
//     json("count_per_step", kernel.count_per_step, counts);
//     json("grids", kernel.grids, grid_fields);
//     json("state", kernel.state, State::last);
//   };
//
// What follows the value says what it may be: numbers have limits, structs fields, enumerations
// a last name. It is said of the items of a list, of a table, or of an optional value.
#pragma once
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json.hpp"

namespace gh {

/// The numbers that a reader accepts, as a recording can have them. What is none would make every
/// comparison with it true or false for no reason.
struct Limits {
  double least = 0, most = 2e18;
  bool real = false;  ///< 1 is written as "1.0"
};
inline constexpr Limits durations{},  ///< in nanoseconds, up to 63 years
    times{.least = -2e18},            ///< on a clock that may start later
    counts{.most = 1e12}, amounts{.least = -1e30, .most = 1e30},  ///< in any unit
    shares{.most = 1, .real = true}, measures{.least = -1e30, .most = 1e30, .real = true};

template <class Value>
concept is_table = requires { typename Value::mapped_type; };
template <class Value>
concept is_list = requires(Value value) { value.emplace_back(); };
template <class Value>
concept is_optional = requires(Value value) { value.has_value(); };

class FieldWriter {
 public:
  Json json = Json::object();

  template <class Value, class What = Limits>
  void operator()(const std::string& key, const Value& value, What what = {}) {
    json[key] = json_of(value, what);
  }

  /// Null where it equals `none`.
  template <class Value>
  void or_null(const std::string& key, const Value& value, const Value& none = {}, Limits = {}) {
    json[key] = value == none ? Json(nullptr) : Json(value);
  }

  /// One of two words.
  void either(const std::string& key, bool value, const char* yes, const char* no) {
    json[key] = value ? yes : no;
  }

  /// The name of a rule or category.
  void name(const std::string& key, const std::string& value) { json[key] = value; }

  /// Any JSON.
  void raw(const std::string& key, const std::string& text) { json[key] = Json::parse(text); }

  /// What `to` makes of the value, which `from` makes of that.
  template <class Value, class To, class From, class What = Limits>
  void through(const std::string& key, const Value& value, To to, From, What what = {}) {
    json[key] = json_of(to(value), what);
  }

  /// Whether to write a field that not every document has.
  bool has(const std::string& /*key*/, bool written = true) const { return written; }

 private:
  template <class Value, class What>
  static Json json_of(const Value& value, What what) {
    if constexpr (is_table<Value>) {
      Json table = Json::object();
      for (const auto& [name, item] : value) table[name] = json_of(item, what);
      return table;
    } else if constexpr (is_list<Value>) {
      return json_list(value, [&](const auto& item) { return json_of(item, what); });
    } else if constexpr (is_optional<Value>) {
      return value ? json_of(*value, what) : Json(nullptr);
    } else if constexpr (std::is_enum_v<Value>) {
      return name_of(value);
    } else if constexpr (!std::is_same_v<What, Limits>) {
      FieldWriter writer;
      what(writer, value);
      return std::move(writer.json);
    } else if constexpr (std::is_same_v<Value, double>) {
      return what.real ? Json(value) : number_json(value);
    } else {
      return value;
    }
  }
};

template <class Fields>
inline constexpr bool reads = !std::is_same_v<std::remove_cvref_t<Fields>, FieldWriter>;

}  // namespace gh
