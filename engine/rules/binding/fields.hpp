// The fields of rows that rules name: { class = ... }, sum("bytes"), group("stream").
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
  count,
  number,
  ranks,
  count_of_fields
};
constexpr std::size_t field_count = static_cast<std::size_t>(Field::count_of_fields);

/// A small number that stands for a text: rows with the same key have the same text.
using TextKey = std::uint32_t;
constexpr TextKey no_text = std::numeric_limits<TextKey>::max();

/// A field is a text, of which rows have the key, or a number; one of the two is null.
struct FieldSpec {
  const char *name, *rows, *doc;                     ///< as in FieldDoc
  TextKey (*key)(const Context&, const Rows&, Row);  ///< no_text where the row has none
  std::string (*text)(const Context&, Kind, TextKey);
  std::optional<double> (*number)(const Context&, const Rows&, Row);
};
extern const std::array<FieldSpec, field_count> fields;

inline const FieldSpec& spec_of(Field field) { return fields[static_cast<std::size_t>(field)]; }

/// Throws Error, with what may have been meant.
Field field_named(const std::string& name);

inline TextKey text_key(const Context& c, const Rows& s, Row r, Field field) {
  const FieldSpec& f = spec_of(field);
  return f.key ? f.key(c, s, r) : no_text;
}

/// The text that a row's key stands for; "" of no_text.
inline std::string key_text(const Context& c, Kind kind, Field field, TextKey key) {
  return key == no_text ? "" : spec_of(field).text(c, kind, key);
}

/// Nothing where such rows have no such number.
inline std::optional<double> number_field(const Context& c, const Rows& s, Row r, Field field) {
  const FieldSpec& f = spec_of(field);
  return f.number ? f.number(c, s, r) : std::nullopt;
}

}  // namespace gh::binding
