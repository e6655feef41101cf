// The threads of data loaders, by their names.
#pragma once
#include <string_view>

namespace gh {

/// Whether a framework's data loader names its threads so (schemas/ranges.toml, [phase.loader]).
bool is_loader_thread(std::string_view name);

}  // namespace gh
