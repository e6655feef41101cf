// The fields of rows that rules use: { class = ... }, sum("bytes"), group("stream").
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "rules/binding/rows.hpp"

namespace gh::binding {

/// In the order of `fields`.
enum class Field {
  name,
  name_class,
  kind,
  direction,
  from,
  to,
  cause,
  thread,
  doing,
  within,
  next,
  stretch,
  collective,
  group,
  start_ns,
  end_ns,
  duration_ns,
  bytes,
  blocks,
  blocks_x,
  threads,
  registers,
  shared_bytes,
  stream,
  device,
  process,
  count,
  number,
  step,
  ranks,
  message_bytes,
  meeting,
  op_ns,
  count_of_fields
};
constexpr std::size_t field_count = static_cast<std::size_t>(Field::count_of_fields);

/// A small number that stands for a text: rows with equal keys have equal texts.
using TextKey = std::uint32_t;
constexpr TextKey no_text = std::numeric_limits<TextKey>::max();

/// A field is either a text, for which rows have keys, or a number; the other one is null.
struct FieldSpec {
  const char* name;
  TextKey (*key)(const Context&, const Rows&, Row);  ///< no_text if the row has none
  std::string (*text)(const Context&, Kind, TextKey);
  std::optional<double> (*number)(const Context&, const Rows&, Row);
};
extern const std::array<FieldSpec, field_count> fields;

inline const FieldSpec& spec_of(Field field) { return fields[static_cast<std::size_t>(field)]; }

/// Throws Error, with a suggestion.
Field field_named(const std::string& name);

inline TextKey text_key(const Context& c, const Rows& s, Row r, Field field) {
  const FieldSpec& f = spec_of(field);
  return f.key ? f.key(c, s, r) : no_text;
}

/// The text of a row's key; "" for no_text.
inline std::string key_text(const Context& c, Kind kind, Field field, TextKey key) {
  return key == no_text ? "" : spec_of(field).text(c, kind, key);
}

/// Nothing if such rows do not have that number.
inline std::optional<double> number_field(const Context& c, const Rows& s, Row r, Field field) {
  const FieldSpec& f = spec_of(field);
  return f.number ? f.number(c, s, r) : std::nullopt;
}

}  // namespace gh::binding
