// What a report reveals about the machine and the people behind it, and where: schemas/scrub.toml.
#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "read/globs.hpp"

namespace gh {

enum class PrivateKind { environment, command, host, user, folder, output, count };
inline constexpr auto private_kinds = static_cast<std::size_t>(PrivateKind::count);

using Globs = std::vector<std::string>;
using GlobsByKind = std::array<Globs, private_kinds>;
inline const Globs& of_kind(const GlobsByKind& globs, PrivateKind kind) {
  return globs[static_cast<std::size_t>(kind)];
}

/// schemas/scrub.toml, which explains each of these.
struct PrivateDataSchema {
  /// A table of names and values.
  struct Names {
    Globs keep;
    GlobsByKind private_names;
  };
  struct Nsys {
    Globs keep, output, strings, columns, columns_out, numbers;
    std::map<std::string, Names, std::less<>> names;  ///< by table
  } nsys;
  struct Torch {
    Globs keep, event, argument, gpu, numbers, known_categories, known_names;
    GlobsByKind private_keys;
  } torch;
  struct Environment {
    Globs secret, no_secret;
    GlobsByKind names;
  } environment;
};

/// Whether something with that name, a variable, an option or a key, holds a secret.
bool names_a_secret(std::string_view name);
const PrivateDataSchema& private_data_schema();
inline const PrivateDataSchema::Torch& torch_schema() { return private_data_schema().torch; }

/// The kinds that keys in a PyTorch trace indicate.
inline constexpr std::array kinds_by_key{PrivateKind::environment, PrivateKind::command,
                                         PrivateKind::host, PrivateKind::user};

/// How deep to walk JSON. Traces nest only a few levels outside their events.
inline constexpr std::size_t most_json_depth = 100;

/// Calls use(kind, value) for every value in JSON, however deep, whose keys say that it is of a
/// kind.
template <class Json, class Use>
void each_private_value(const Json& json, Use use, std::size_t depth = 0) {
  if (!json.is_structured() || depth > most_json_depth) return;
  const GlobsByKind& keys = private_data_schema().torch.private_keys;
  for (const auto& [key, value] : json.items()) {
    bool known = false;
    for (const PrivateKind kind : kinds_by_key) {
      if (!json.is_object() || !any_matches(of_kind(keys, kind), key)) continue;
      use(kind, value);
      known = true;
    }
    if (!known) each_private_value(value, use, depth + 1);
  }
}

}  // namespace gh
