#include "analysis/loader_threads.hpp"

#include "base/patterns.hpp"
#include "base/schema_table.hpp"

namespace gh {

bool is_loader_thread(std::string_view name) {
  static const Patterns names = [] {
    const toml::table ranges = schema_table("schemas/ranges.toml");
    return Patterns(strings(ranges["phase"]["loader"]["threads"]));
  }();
  return names.match(name);
}

}  // namespace gh
