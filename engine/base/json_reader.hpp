// Reads with simdjson what FieldWriter wrote. It may come from anybody: whatever a field cannot
// have, is an Error.
#pragma once
#include <simdjson.h>

#include "base/error.hpp"
#include "base/json_fields.hpp"
#include "base/text.hpp"

namespace gh {

class FieldReader {
 public:
  using Element = simdjson::dom::element;

  explicit FieldReader(Element object) : object_(object) {}

  template <class Value, class What = Limits>
  void operator()(std::string_view key, Value& value, What what = {}) const {
    read(at(key), value, what);
  }

  template <class Value>
  void or_null(std::string_view key, Value& value, const Value& none = {},
               Limits limits = {}) const {
    const Element stored = at(key);
    if (stored.is_null())
      value = none;
    else
      read(stored, value, limits);
  }

  void either(std::string_view key, bool& value, const char* yes, const char* no) const;
  void name(std::string_view key, std::string& value) const;
  void raw(std::string_view key, std::string& text) const { text = simdjson::minify(at(key)); }

  template <class Value, class To, class From, class What = Limits>
  void through(std::string_view key, Value& value, To to, From from, What what = {}) const {
    auto stored = to(Value());
    read(at(key), stored, what);
    value = from(stored);
  }

  bool has(std::string_view key, bool /*written*/ = true) const {
    return object_[key].error() == simdjson::SUCCESS;
  }

 private:
  Element at(std::string_view key) const;
  static Error unknown(const std::string& name);
  static simdjson::dom::array list_of(Element element);
  static simdjson::dom::object table_of(Element element);

  static void read(Element element, bool& value, Limits);
  static void read(Element element, std::string& value, Limits);
  static void read(Element element, double& value, Limits limits);
  static void read(Element element, std::int64_t& value, Limits limits);
  static void read(Element element, std::size_t& value, Limits limits);

  template <class Value, class What>
  static void read(Element element, Value& value, What what) {
    if constexpr (is_table<Value>) {
      value.clear();
      for (const auto [name, item] : table_of(element)) read(item, value[printable(name)], what);
    } else if constexpr (is_list<Value>) {
      value.clear();
      for (const Element item : list_of(element)) read(item, value.emplace_back(), what);
    } else if constexpr (is_optional<Value>) {
      value.reset();
      if (!element.is_null()) read(element, value.emplace(), what);
    } else if constexpr (std::is_enum_v<Value>) {
      std::string name;
      read(element, name, Limits());
      for (int i = 0; i <= static_cast<int>(what); ++i) {
        value = static_cast<Value>(i);
        if (name == name_of(value)) return;
      }
      throw unknown(name);
    } else {
      const FieldReader fields(element);
      what(fields, value);
    }
  }

  Element object_;
};

/// Calls `read` with a reader of the document. Throws Error if it is not JSON.
template <class Read>
void read_json(const std::string& text, Read read) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(text).get(document)) throw Error("its JSON is incomplete or malformed");
  read(FieldReader(document));
}

}  // namespace gh
