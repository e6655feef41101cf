#include "config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

namespace gh {
namespace {

std::string at(const std::string& path, const toml::node& node) { return fmt::format("{}:{}:{}", path, node.source().begin.line, node.source().begin.column); }

// Refuses keys that nobody reads, and values of the wrong kind.
void check_keys(const toml::table& table, const std::string& path, const std::vector<std::pair<std::string, toml::node_type>>& known) {
  std::vector<std::string> names;
  for (const auto& [name, type] : known) names.push_back(name);
  for (const auto& [key, value] : table) {
    const auto entry = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == key.str(); });
    if (entry == known.end()) throw Error(fmt::format("{}:{}:{}: unknown key '{}'{}", path, key.source().begin.line, key.source().begin.column, printable(key.str()), did_you_mean(key.str(), names)));
    const bool number = entry->second == toml::node_type::floating_point && value.is_number();
    if (entry->second != toml::node_type::none && value.type() != entry->second && !number) {
      const char* wanted = entry->second == toml::node_type::array ? "a list" : entry->second == toml::node_type::table ? "a table" : entry->second == toml::node_type::string ? "a string"
                           : entry->second == toml::node_type::boolean ? "true or false" : "a number";
      throw Error(fmt::format("{}: '{}' has to be {}", at(path, value), key.str(), wanted));
    }
  }
}

std::vector<std::string> strings(const toml::table& table, std::string_view key, const std::string& path) {
  std::vector<std::string> out;
  if (const toml::array* list = table[key].as_array())
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text) throw Error(fmt::format("{}: '{}' is a list of strings", at(path, item), key));
      out.push_back(*text);
    }
  return out;
}

void check_tables(const toml::table& table, std::string_view key, const std::string& path, const std::vector<std::pair<std::string, toml::node_type>>& known, std::string_view required) {
  const toml::array* list = table[key].as_array();
  if (!list) return;
  for (const toml::node& item : *list) {
    const toml::table* entry = item.as_table();
    if (!entry) throw Error(fmt::format("{}: write [[{}]] for each", at(path, item), key));
    check_keys(*entry, path, known);
    if (!(*entry)[required] || !(*entry)["match"]) throw Error(fmt::format("{}: [[{}]] needs '{}' and 'match'", at(path, item), key, required));
    // Classes become names of causes and facts.
    if (const auto name = (*entry)["class"].value<std::string>(); name && (name->empty() || name->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos))
      throw Error(fmt::format("{}: a class is named with lower-case letters, digits and '_', not '{}'", at(path, *(*entry)["class"].node()), printable(*name)));
    // A pattern that is no string would be taken for an empty one, which is found in every name.
    const toml::node& match = *(*entry)["match"].node();
    if (!match.is_string() && !match.is_array()) throw Error(fmt::format("{}: 'match' has to be a regular expression or a list of them", at(path, match)));
    strings(*entry, "match", path), strings(*entry, "except", path);
  }
}

}  // namespace

Config::Config() : table_(std::make_unique<toml::table>()) {}
Config::~Config() = default;
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;

Config::Config(const std::filesystem::path& path) : shown_path_(printable(path.string())) {
  using enum toml::node_type;
  // A directory can be opened and then reads as nothing, which would be taken for a configuration without settings.
  if (std::error_code ec; std::filesystem::is_directory(path, ec)) throw Error(fmt::format("{}: cannot be read; check that it exists and is a file", shown_path_));
  try {
    table_ = std::make_unique<toml::table>(toml::parse_file(path.string()));
  } catch (const toml::parse_error& e) {
    const auto& position = e.source().begin;
    if (position.line == 0) throw Error(fmt::format("{}: cannot be read; check that it exists and is a file", shown_path_));
    throw Error(fmt::format("{}:{}:{}: {}", shown_path_, position.line, position.column, printable(e.description())));
  }
  check_keys(*table_, shown_path_, {{"rules", array}, {"select", array}, {"ignore", array}, {"fail_on", string}, {"rule", table}, {"kernel_class", array}, {"gpu", array}, {"ranges", table}});
  for (const std::string& directory : strings(*table_, "rules", shown_path_)) rule_directories.push_back(path.parent_path() / directory);
  select = strings(*table_, "select", shown_path_), ignore = strings(*table_, "ignore", shown_path_);
  if (const auto severity = (*table_)["fail_on"].value<std::string>()) fail_on = parse_severity(*severity, at(shown_path_, *(*table_)["fail_on"].node()));
  check_tables(*table_, "kernel_class", shown_path_, {{"class", string}, {"match", array}, {"except", array}, {"doc", string}}, "class");
  check_tables(*table_, "gpu", shown_path_,
               {{"match", none}, {"name", string}, {"compute_capability", array}, {"sm_count", floating_point}, {"fp32_tflops", floating_point}, {"tf32_tflops", floating_point},
                {"half_tflops", floating_point}, {"fp8_tflops", floating_point}, {"memory_gb", floating_point}, {"memory_gb_per_s", floating_point}, {"host_link", string},
                {"host_link_gb_per_s", floating_point}, {"coherent", boolean}, {"tensor_cores", boolean}},
               "name");
  if (const toml::table* ranges = (*table_)["ranges"].as_table()) {
    std::vector<std::pair<std::string, toml::node_type>> keys{{"step", array}};
    for (std::size_t p = 0; p < static_cast<std::size_t>(Phase::count); ++p) keys.emplace_back(name_of(static_cast<Phase>(p)), array);
    check_keys(*ranges, shown_path_, keys);
    for (const auto& [key, type] : keys) strings(*ranges, key, shown_path_);
  }
}

std::map<std::string, RuleSettings> Config::rule_settings(const std::vector<Rule>& rules) const {
  std::map<std::string, RuleSettings> all;
  const toml::table* tables = (*table_)["rule"].as_table();
  if (!tables) return all;
  std::vector<std::string> ids;
  for (const Rule& r : rules) ids.push_back(r.id);
  for (const auto& [id, node] : *tables) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.id == id.str(); });
    if (rule == rules.end()) throw Error(fmt::format("{}: there is no rule '{}'{}", at(shown_path_, node), printable(id.str()), did_you_mean(id.str(), ids)));
    const toml::table* table = node.as_table();
    if (!table) throw Error(fmt::format("{}: write [rule.{}] and its options below", at(shown_path_, node), id.str()));
    RuleSettings& settings = all[std::string(id.str())];
    std::vector<std::string> names{"severity"};
    for (const auto& [name, option] : rule->options) names.push_back(name);
    for (const auto& [key, value] : *table) {
      if (key.str() == "severity") {
        settings.severity = parse_severity(value.value_or(std::string()), at(shown_path_, value));
        continue;
      }
      const auto option = rule->options.find(std::string(key.str()));
      if (option == rule->options.end())
        throw Error(fmt::format("{}:{}:{}: rule '{}' has no option '{}'{}", shown_path_, key.source().begin.line, key.source().begin.column, id.str(), printable(key.str()), did_you_mean(key.str(), names)));
      OptionValue& set = settings.options[option->first];
      const OptionValue& standard = option->second.value;
      if (std::holds_alternative<double>(standard) && value.is_number()) set = *value.value<double>();
      else if (std::holds_alternative<bool>(standard) && value.is_boolean()) set = *value.value<bool>();
      else if (std::holds_alternative<std::string>(standard) && value.is_string()) set = *value.value<std::string>();
      else throw Error(fmt::format("{}: option '{}' of rule '{}' has to be {}", at(shown_path_, value), key.str(), id.str(),
                                   std::holds_alternative<double>(standard) ? "a number" : std::holds_alternative<bool>(standard) ? "true or false" : "a string"));
    }
  }
  return all;
}

void Config::extend(Classes& classes) const { classes.extend(*table_, shown_path_); }

std::optional<std::filesystem::path> Config::find(const std::filesystem::path& from) {
  std::error_code ec;
  for (std::filesystem::path folder = std::filesystem::absolute(from);; folder = folder.parent_path()) {
    if (std::filesystem::is_regular_file(folder / "gh-advise.toml", ec)) return folder / "gh-advise.toml";
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

std::vector<Rule> chosen(std::vector<Rule> rules, const std::vector<std::string>& select, const std::vector<std::string>& ignore) {
  std::vector<std::string> names;
  for (const Rule& r : rules) names.push_back(r.id), names.push_back(r.category);
  for (const auto* list : {&select, &ignore})
    for (const std::string& name : *list)
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error(fmt::format("there is no rule or category '{}'{}; `gh-advise rules` lists them", printable(name), did_you_mean(name, names)));
  const auto named = [](const Rule& r, const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(), [&](const std::string& n) { return n == r.id || n == r.category; });
  };
  std::erase_if(rules, [&](const Rule& r) { return (!select.empty() && !named(r, select)) || named(r, ignore); });
  return rules;
}

}  // namespace gh
