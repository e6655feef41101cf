// schemas/kineto.toml: what every version of a trace calls its events and their arguments. Add new
// names there. A new category or argument also needs an entry in the lists below, and in the
// function that takes such an event (importer.hpp).
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.hpp"
#include "trace/trace.hpp"

namespace gh::kineto {

enum class Category : std::uint8_t {
  torch_operator,
  annotation,
  kernel,
  copy,
  set,
  call,
  sync,
  frame,
  overhead,
  memory,
  forward,
  foreign,
  count
};
inline constexpr auto category_count = static_cast<std::size_t>(Category::count);
inline constexpr std::array<const char*, category_count> category_names{
    "operator", "annotation", "kernel",   "copy",   "set",     "call",
    "sync",     "frame",      "overhead", "memory", "forward", "foreign"};

enum class Argument : std::uint8_t {
  device,
  stream,
  correlation,
  bytes,
  grid,
  block,
  blocks_per_sm,
  occupancy,
  registers,
  shared_bytes,
  shapes,
  strides,
  types,
  concrete,
  reserved,
  allocated,
  address,
  memory_device,
  memory_kind,
  collective,
  elements_in,
  elements_out,
  element_type,
  group_name,
  group_ranks,
  group_size,
  text,
  kernel_file,
  count
};
inline constexpr auto argument_count = static_cast<std::size_t>(Argument::count);
inline constexpr std::array<const char*, argument_count> argument_names{
    "device",        "stream",     "correlation", "bytes",        "grid",         "block",
    "blocks_per_sm", "occupancy",  "registers",   "shared_bytes", "shapes",       "strides",
    "types",         "concrete",   "reserved",    "allocated",    "address",      "memory_device",
    "memory_kind",   "collective", "elements_in", "elements_out", "element_type", "group_name",
    "group_ranks",   "group_size", "text",        "kernel_file"};

/// Allows looking up a text without constructing a string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// [source.KIND]: how to tell "not recorded" from "nothing happened".
struct SourceSchema {
  std::vector<std::string> shown_by, lost_if;
  std::string setting, reason, record_with;
};

struct Schema {
  ByText<Category> categories;
  ByText<Argument> arguments;
  ByText<CopyKind> copy_directions;  ///< by what is in the name of a copy
  ByText<MemoryKind> copy_memories;  ///< by what is in the name of a copy
  std::vector<std::string> products, messages, no_messages, overhead;  ///< globs
  Patterns library_frames;
  std::array<Ns, category_count> cost_ns;  ///< usually, of recording an event
  ByText<double> type_bytes;
  std::array<SourceSchema, static_cast<std::size_t>(Source::count)> sources;
};
const Schema& schema();

}  // namespace gh::kineto
