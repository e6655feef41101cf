#include "record/fixes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/schema_table.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"

namespace gh {

const std::vector<Fix>& known_fixes() {
  static const std::vector<Fix> fixes = [] {
    std::vector<Fix> list;
    each_entry(schema_table("schemas/fixes.toml"), "fix", [&](const toml::table& t) {
      Fix fix;
      fix.name = t["name"].value_or(std::string());
      fix.code = t["code"].value_or(std::string());
      fix.rules = strings(t["rules"]);
      fix.ask = t["ask"].value_or(false);
      if (const toml::table* variables = t["environment"].as_table())
        for (const auto& [name, value] : *variables)
          fix.environment[std::string(name.str())] = value.value_or(std::string());
      list.push_back(std::move(fix));
    });
    return list;
  }();
  return fixes;
}

std::vector<Fix> fixes_named(const std::vector<std::string>& names, const char* option) {
  std::vector<Fix> chosen;
  for (const std::string& name : names) {
    const auto& all = known_fixes();
    const auto fix =
        std::find_if(all.begin(), all.end(), [&](const Fix& f) { return f.name == name; });
    if (fix == all.end()) {
      std::vector<std::string> known;
      for (const Fix& f : all) known.push_back(f.name);
      throw Error(fmt::format("{} {}: there is no such fix{}; `gh-advise try --help` lists them",
                              option, printable(name), did_you_mean(name, known)));
    }
    const bool given_twice =
        std::any_of(chosen.begin(), chosen.end(), [&](const Fix& f) { return f.name == name; });
    if (!given_twice) chosen.push_back(*fix);
  }
  return chosen;
}

int workers_to_try() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 1U, 8U));
}

}  // namespace gh
