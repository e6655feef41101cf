#include "read/kineto/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/schema_table.hpp"

namespace gh::kineto {
namespace {

using Node = toml::node_view<const toml::node>;

// Inverts a table of lists: maps each item to the enumerator that its key names, as found by
// `named`.
template <class Value, class Named>
ByText<Value> by_item(const Node& table, const char* title, Named named) {
  ByText<Value> out;
  for (const auto& [key, list] : *table.as_table()) {
    const std::optional<Value> value = named(key.str());
    if (!value) {
      throw std::logic_error(
          fmt::format("schemas/kineto.toml: [{}] has '{}', which nothing reads", title, key.str()));
    }
    for (const std::string& item : strings(Node(list))) out.emplace(item, *value);
  }
  return out;
}

// For enumerators that an array names in order.
template <class Enum, std::size_t size>
auto position_in(const std::array<const char*, size>& names) {
  return [&names](std::string_view key) -> std::optional<Enum> {
    const auto it = std::find(names.begin(), names.end(), key);
    if (it == names.end()) return std::nullopt;
    return static_cast<Enum>(it - names.begin());
  };
}

// For enumerators that the trace names.
template <class Enum, std::size_t size>
auto named_in_trace(const std::array<Enum, size>& values) {
  return [&values](std::string_view key) -> std::optional<Enum> {
    const auto it =
        std::find_if(values.begin(), values.end(), [&](Enum v) { return key == name_of(v); });
    return it == values.end() ? std::nullopt : std::optional(*it);
  };
}

SourceSchema source_in(const Node& node) {
  return {.shown_by = strings(node["shown_by"]),
          .lost_if = strings(node["lost_if"]),
          .setting = node["setting"].value_or(std::string()),
          .reason = node["reason"].value_or(std::string()),
          .record_with = node["record_with"].value_or(std::string())};
}

Schema parsed() {
  static constexpr std::array directions{CopyKind::h2d, CopyKind::d2h, CopyKind::d2d, CopyKind::h2h,
                                         CopyKind::p2p};
  static constexpr std::array memories{MemoryKind::pageable, MemoryKind::pinned, MemoryKind::device,
                                       MemoryKind::array, MemoryKind::managed};
  const toml::table toml = schema_table("schemas/kineto.toml");
  Schema s;
  s.categories =
      by_item<Category>(toml["category"], "category", position_in<Category>(category_names));
  s.arguments =
      by_item<Argument>(toml["argument"], "argument", position_in<Argument>(argument_names));
  s.copy_directions = by_item<CopyKind>(toml["copy"]["direction"], "copy.direction",
                                        named_in_trace<CopyKind>(directions));
  s.copy_memories = by_item<MemoryKind>(toml["copy"]["memory"], "copy.memory",
                                        named_in_trace<MemoryKind>(memories));
  s.products = strings(toml["products"]["match"]);
  s.messages = strings(toml["message"]["match"]);
  s.no_messages = strings(toml["message"]["except"]);
  s.overhead = strings(toml["overhead"]["match"]);
  s.library_frames = Patterns(strings(toml["frame"]["library"]));
  const toml::table overhead = schema_table("schemas/overhead.toml");
  for (std::size_t c = 0; c < category_count; ++c)
    s.cost_ns[c] = overhead["kineto"][category_names[c]].value_or(Ns{0});
  for (const auto& [type, bytes] : *toml["type_bytes"].as_table()) {
    s.type_bytes[std::string(type.str())] = bytes.value_or(0.0);
  }
  for (std::size_t i = 0; i < s.sources.size(); ++i) {
    s.sources[i] = source_in(toml["source"][name_of(static_cast<Source>(i))]);
  }
  return s;
}

}  // namespace

const Schema& schema() {
  static const Schema schema = parsed();
  return schema;
}

}  // namespace gh::kineto
