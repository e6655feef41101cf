#include "base/json_reader.hpp"

#include <fmt/format.h>

namespace gh {
namespace {

using Element = FieldReader::Element;

// More than any recording has of rules, facts, causes, findings, problems, devices.
constexpr std::size_t most_listed = 10'000;

template <class Value>
Value as(Element element, const char* what) {
  Value value;
  if (element.get(value)) throw Error(fmt::format("{} is missing", what));
  return value;
}

template <class Items>
Items limited(Items items) {
  if (items.size() > most_listed)
    throw Error(fmt::format("{} entries are too many for a recording", items.size()));
  return items;
}

}  // namespace

Element FieldReader::at(std::string_view key) const {
  Element value;
  if (object_[key].get(value)) throw Error(fmt::format("'{}' is missing", key));
  return value;
}

Error FieldReader::unknown(const std::string& name) {
  return Error(fmt::format("'{}' is unknown", name));
}

void FieldReader::name(std::string_view key, std::string& value) const {
  (*this)(key, value);
  if (!is_name(value))
    throw Error(fmt::format("'{}' is not the name of a rule or category", value));
}

void FieldReader::either(std::string_view key, bool& value, const char* yes, const char* no) const {
  std::string word;
  (*this)(key, word);
  value = word == yes;
  if (!value && word != no) throw unknown(word);
}

simdjson::dom::array FieldReader::list_of(Element element) {
  return limited(as<simdjson::dom::array>(element, "a list"));
}

simdjson::dom::object FieldReader::table_of(Element element) {
  return limited(as<simdjson::dom::object>(element, "an object"));
}

void FieldReader::read(Element element, bool& value, Limits) {
  value = as<bool>(element, "true or false");
}

void FieldReader::read(Element element, std::string& value, Limits) {
  value = printable(as<std::string_view>(element, "a text"));
}

void FieldReader::read(Element element, double& value, Limits limits) {
  value = as<double>(element, "a number");
  if (!(value >= limits.least && value <= limits.most))
    throw Error(fmt::format("the number {} is out of range", value));
}

// Times since 1970 have more digits than a double can hold.
void FieldReader::read(Element element, std::int64_t& value, Limits limits) {
  double rounded = 0;
  read(element, rounded, limits);
  value = as<std::int64_t>(element, "a whole number");
}

void FieldReader::read(Element element, std::size_t& value, Limits limits) {
  std::int64_t number = 0;
  read(element, number, limits);
  value = static_cast<std::size_t>(number);
}

}  // namespace gh
