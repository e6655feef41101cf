// gh-advise.toml.
#include "rules/config.hpp"

#include "base/text.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<gh::Rule> rules = gh::own_rules();
  try {
    const gh::Config config(std::string(fuzz::text_of(data, size)), "gh-advise.toml");
    config.rule_settings(rules);
    gh::Classes classes;
    config.extend(classes);
    gh::chosen(rules, config.select, config.ignore);
    for (const gh::Suppression& s : config.suppressions)
      gh::Config(gh::suppression_toml(s), "gh-advise.toml");
  } catch (const gh::Error&) {
  }
  return 0;
}
