#include "rules/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/files.hpp"
#include "base/schema_table.hpp"
#include "rules/config_file.hpp"

namespace gh {
namespace {

// The position of something: "gh-advise.toml:12:3", or only the line, "gh-advise.toml:12".
std::string at(const std::string& path, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", path, region.begin.line, region.begin.column);
}
std::string at(const std::string& path, const toml::node& node) { return at(path, node.source()); }
std::string line_of(const std::string& path, const toml::node& node) {
  return fmt::format("{}:{}", path, node.source().begin.line);
}

// Types as named in the table of keys: whether a value has a type, and how to describe such a
// value.
bool has_type(const toml::node& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "table") return value.is_table();
  if (type == "true or false") return value.is_boolean();
  if (type == "date") return value.is_date();
  if (type.starts_with("list")) return value.is_array();
  return true;
}
const char* wanted(std::string_view type) {
  if (type == "string") return "a string";
  if (type == "number") return "a number";
  if (type == "table") return "a table";
  if (type == "true or false") return "true or false";
  if (type == "date") return "a date, as in 2026-12-31";
  return "a list";
}

// The keys of a table ("" for the file itself), by their names in it.
std::vector<std::pair<std::string, const ConfigKey*>> keys_of(std::string_view table) {
  std::vector<std::pair<std::string, const ConfigKey*>> keys;
  for (const ConfigKey& k : config_keys()) {
    const std::size_t dot = k.name.find('.');
    const bool is_top = dot == k.name.npos;
    if ((is_top ? "" : k.name.substr(0, dot)) == table)
      keys.emplace_back(is_top ? k.name : k.name.substr(dot + 1), &k);
  }
  return keys;
}

// Rejects keys that a table ("" for the file itself) does not have, and values of another type.
void check_keys(const toml::table& table, const std::string& path, std::string_view name) {
  const auto known = keys_of(name);
  for (const auto& [key, value] : table) {
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&, &key = key](const auto& k) { return k.first == key.str(); });
    if (it == known.end()) {
      std::vector<std::string> names;
      for (const auto& k : known) names.push_back(k.first);
      throw Error(fmt::format("{}: unknown key '{}'{}", at(path, key.source()),
                              printable(key.str()), did_you_mean(key.str(), names)));
    }
    const std::string& type = it->second->type;
    if (!has_type(value, type))
      throw Error(fmt::format("{}: '{}' must be {}", at(path, value), key.str(), wanted(type)));
  }
}

// The list of strings under a key; empty if the key is absent or has another type.
std::vector<std::string> strings(const toml::table& table, std::string_view key,
                                 const std::string& path) {
  std::vector<std::string> out;
  if (const toml::array* list = table[key].as_array())
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text)
        throw Error(fmt::format("{}: '{}' must be a list of strings", at(path, item), key));
      out.push_back(*text);
    }
  return out;
}

std::optional<Severity> severity_in(const toml::table& table, std::string_view key,
                                    const std::string& path) {
  const auto name = table[key].value<std::string>();
  if (!name) return std::nullopt;
  return parse_severity(*name, at(path, *table[key].node()));
}

// A share from 0 to 1.
std::optional<double> share(const toml::table& table, std::string_view key,
                            const std::string& path) {
  const auto value = table[key].value<double>();
  if (value && !(*value >= 0 && *value <= 1))
    throw Error(fmt::format("{}: '{}' must be a share between {} and {}, such as 0.05 for 5 %",
                            at(path, *table[key].node()), key, 0.0, 1.0));
  return value;
}

using CheckEntry = void (*)(const toml::table& entry, const std::string& path);

// The tables [[name]], each checked: the required keys have to be there.
std::vector<const toml::table*> tables(const toml::table& file, std::string_view name,
                                       const std::string& path, CheckEntry check = nullptr) {
  std::vector<std::string> needed;
  for (const auto& [key, described] : keys_of(name))
    if (described->required) needed.push_back(key);
  std::vector<const toml::table*> entries;
  const toml::array* list = file[name].as_array();
  if (!list) return entries;
  for (const toml::node& item : *list) {
    const toml::table* entry = item.as_table();
    if (!entry) throw Error(fmt::format("{}: write each as a table [[{}]]", at(path, item), name));
    check_keys(*entry, path, name);
    if (!std::all_of(needed.begin(), needed.end(),
                     [&](const std::string& key) { return entry->contains(key); }))
      throw Error(
          fmt::format("{}: [[{}]] needs '{}'", at(path, item), name, fmt::join(needed, "' and '")));
    if (check) check(*entry, path);
    entries.push_back(entry);
  }
  return entries;
}

// [[gpu]] and [[kernel_class]], which Classes reads. A pattern that is not a string would count as
// an empty one, which matches every name.
void check_patterns(const toml::table& entry, const std::string& path) {
  const toml::node& match = *entry["match"].node();
  if (!match.is_string() && !match.is_array())
    throw Error(
        fmt::format("{}: 'match' must be a regular expression or a list of them", at(path, match)));
  strings(entry, "match", path);
  strings(entry, "except", path);
}

// Classes become names of causes and facts.
void check_kernel_class(const toml::table& entry, const std::string& path) {
  constexpr const char* allowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const auto name = entry["class"].value<std::string>();
  if (name && (name->empty() || name->find_first_not_of(allowed) != std::string::npos))
    throw Error(fmt::format(
        "{}: a class name may have only lower-case letters, digits and '_', unlike '{}'",
        at(path, *entry["class"].node()), printable(*name)));
  check_patterns(entry, path);
}

// [ranges], which Classes reads.
void check_ranges(const toml::table& file, const std::string& path) {
  const toml::table* ranges = file["ranges"].as_table();
  if (!ranges) return;
  check_keys(*ranges, path, "ranges");
  for (const auto& [key, value] : *ranges) strings(*ranges, key.str(), path);
}

// Every name in a report is matched against every pattern, and the largest team has some dozens.
void check_count(const std::vector<const toml::table*>& with_patterns, const std::string& path) {
  constexpr std::size_t most_patterns = 1000;
  std::size_t count = 0;
  for (const toml::table* table : with_patterns)
    for (const auto& [key, value] : *table)
      count += value.is_array() ? value.as_array()->size() : key == "match";
  if (count > most_patterns)
    throw Error(
        fmt::format("{}: holds {} patterns in [[kernel_class]], [[gpu]] and [ranges], and may hold "
                    "{}; join some with |",
                    path, count, most_patterns));
}

// [gate]
void read_gate(const toml::table& file, const std::string& path, GateSettings& gate) {
  const toml::table* table = file["gate"].as_table();
  if (!table) return;
  check_keys(*table, path, "gate");
  gate.fail_on = severity_in(*table, "fail_on", path);
  gate.min_effect = share(*table, "min_effect", path).value_or(gate.min_effect);
  gate.alpha = share(*table, "alpha", path).value_or(gate.alpha);
  gate.noise_floor = share(*table, "noise_floor", path).value_or(gate.noise_floor);
}

std::optional<double> finite(const toml::table& table, std::string_view key,
                             const std::string& path) {
  const auto value = table[key].value<double>();
  if (value && !std::isfinite(*value))
    throw Error(fmt::format("{}: '{}' must be finite", at(path, *table[key].node()), key));
  return value;
}

// [[budget]]
Budget budget_of(const toml::table& entry, const std::string& path) {
  Budget b;
  b.fact = printable(*entry["fact"].value<std::string>());
  b.max = finite(entry, "max", path);
  b.min = finite(entry, "min", path);
  b.max_increase = share(entry, "max_increase", path);
  b.max_decrease = share(entry, "max_decrease", path);
  b.where = line_of(path, entry);
  if (b.max && b.min && *b.min > *b.max)
    throw Error(fmt::format("{}: 'min' is larger than 'max'", at(path, entry)));
  if (!b.max && !b.min && !b.max_increase && !b.max_decrease)
    throw Error(
        fmt::format("{}: a budget needs max, min, max_increase or max_decrease", at(path, entry)));
  b.severity = severity_in(entry, "severity", path).value_or(b.severity);
  return b;
}

// [[suppress]] or [[accept]]
Suppression suppression_of(const toml::table& entry, const std::string& path, bool gate_only) {
  const auto text = [&](std::string_view key, const char* otherwise) {
    return printable(entry[key].value_or(std::string(otherwise)));
  };
  Suppression s;
  s.gate_only = gate_only;
  s.rule = text("rule", "");
  s.subject = text("subject", "*");
  s.reason = text("reason", "");
  s.where = line_of(path, entry);
  s.up_to = entry["up_to"].value<double>();
  if (const auto until = entry["until"].value<toml::date>())
    s.until = fmt::format("{:04}-{:02}-{:02}", until->year, until->month, until->day);
  if (s.reason.find_first_not_of(' ') == std::string::npos)
    throw Error(fmt::format("{}: {} needs a reason", at(path, entry),
                            gate_only ? "an exception" : "a suppression"));
  return s;
}

// The value of a rule's option, with the type of its default.
OptionValue option_of(const toml::node& value, const OptionValue& standard, std::string_view key,
                      std::string_view rule, const std::string& path) {
  const char* wanted = "a string";
  if (std::holds_alternative<double>(standard)) {
    if (value.is_number()) return *value.value<double>();
    wanted = "a number";
  } else if (std::holds_alternative<bool>(standard)) {
    if (value.is_boolean()) return *value.value<bool>();
    wanted = "true or false";
  } else if (value.is_string()) {
    return printable(*value.value<std::string>());
  }
  throw Error(
      fmt::format("{}: option '{}' of rule '{}' must be {}", at(path, value), key, rule, wanted));
}

// [rule.ID]
RuleSettings settings_of(const toml::table& table, const Rule& rule, const std::string& path) {
  RuleSettings settings;
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (name == "severity") {
      settings.severity = parse_severity(value.value_or(std::string()), at(path, value));
    } else if (const auto option = rule.options.find(name); option != rule.options.end()) {
      settings.options[name] = option_of(value, option->second.value, name, rule.id, path);
    } else {
      std::vector<std::string> names{"severity"};
      for (const auto& [known, unused] : rule.options) names.push_back(known);
      throw Error(fmt::format("{}: rule '{}' has no option '{}'{}", at(path, key.source()), rule.id,
                              printable(name), did_you_mean(name, names)));
    }
    settings.origins[name] = line_of(path, value);
  }
  return settings;
}

std::vector<std::string> ids_of(const std::vector<Rule>& rules) {
  std::vector<std::string> ids;
  for (const Rule& r : rules) ids.push_back(r.id);
  return ids;
}

// Refuses suppressions of rules that do not exist. A broken budget can be suppressed as well.
void check_suppressed(const std::vector<Suppression>& suppressions,
                      const std::vector<Rule>& rules) {
  std::vector<std::string> ids = ids_of(rules);
  ids.emplace_back("budget");
  for (const Suppression& s : suppressions)
    if (std::find(ids.begin(), ids.end(), s.rule) == ids.end())
      throw Error(fmt::format("{}: there is no rule '{}' to {}{}", s.where, s.rule,
                              s.gate_only ? "accept" : "suppress", did_you_mean(s.rule, ids)));
}

toml::table parsed(const std::string& text, const std::filesystem::path& path) {
  check_nesting(text, printable(path.string()));
  try {
    return toml::parse(text, path.string());
  } catch (const toml::parse_error& e) {
    throw Error(fmt::format("{}: {}", at(printable(path.string()), e.source()),
                            printable(e.description())));
  }
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    each_entry(schema_table("schemas/configuration.toml"), "key", [&](const toml::table& key) {
      const auto text = [&](const char* of) { return key[of].value_or(std::string()); };
      all.push_back({text("name"), text("type"), text("doc"), key["required"].value_or(false)});
    });
    return all;
  }();
  return keys;
}

Config::Config() : table_(std::make_unique<toml::table>()) {}
Config::~Config() = default;
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;

Config::Config(const std::filesystem::path& path) : Config(configuration_text(path), path) {}

Config::Config(const std::string& text, const std::filesystem::path& path)
    : shown_path_(printable(path.string())),
      table_(std::make_unique<toml::table>(parsed(text, path))) {
  const toml::table& file = *table_;
  check_keys(file, shown_path_, "");
  for (const std::string& directory : strings(file, "rules", shown_path_))
    rule_directories.push_back(path.parent_path() / directory);
  select = strings(file, "select", shown_path_);
  ignore = strings(file, "ignore", shown_path_);
  fail_on = severity_in(file, "fail_on", shown_path_);

  std::vector<const toml::table*> with_patterns =
      tables(file, "kernel_class", shown_path_, check_kernel_class);
  for (const toml::table* gpu : tables(file, "gpu", shown_path_, check_patterns))
    with_patterns.push_back(gpu);
  const auto suppressed = tables(file, "suppress", shown_path_);
  const auto exceptions = tables(file, "accept", shown_path_);
  const auto budgets = tables(file, "budget", shown_path_);
  check_ranges(file, shown_path_);
  if (const toml::table* ranges = file["ranges"].as_table()) with_patterns.push_back(ranges);
  check_count(with_patterns, shown_path_);
  read_gate(file, shown_path_, gate);
  for (const toml::table* entry : budgets) gate.budgets.push_back(budget_of(*entry, shown_path_));
  for (const toml::table* entry : suppressed)
    suppressions.push_back(suppression_of(*entry, shown_path_, false));
  for (const toml::table* entry : exceptions)
    accepted.push_back(suppression_of(*entry, shown_path_, true));
}

std::vector<Suppression> Config::gate_exceptions() const {
  std::vector<Suppression> all = suppressions;
  all.insert(all.end(), accepted.begin(), accepted.end());
  return all;
}

std::string Config::where(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node ? line_of(shown_path_, *node) : "";
}

std::string Config::text_of(std::string_view key) const {
  const toml::node* node = table_->get(key);
  if (!node) return "";
  std::ostringstream out;
  node->visit([&](const auto& value) { out << value; });
  return out.str();
}

std::map<std::string, RuleSettings> Config::rule_settings(const std::vector<Rule>& rules) const {
  check_suppressed(gate_exceptions(), rules);
  std::map<std::string, RuleSettings> all;
  const toml::table* sections = (*table_)["rule"].as_table();
  if (!sections) return all;
  for (const auto& [key, node] : *sections) {
    const std::string_view id = key.str();
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.id == id; });
    if (rule == rules.end())
      throw Error(fmt::format("{}: there is no rule '{}'{}", at(shown_path_, node), printable(id),
                              did_you_mean(id, ids_of(rules))));
    const toml::table* section = node.as_table();
    if (!section)
      throw Error(fmt::format("{}: write a table [rule.{}] with the rule's options",
                              at(shown_path_, node), id));
    all[rule->id] = settings_of(*section, *rule, shown_path_);
  }
  return all;
}

void Config::extend(Classes& classes) const { classes.extend(*table_, shown_path_); }

std::optional<std::filesystem::path> Config::find(const std::filesystem::path& from) {
  std::error_code ec;
  for (std::filesystem::path folder = std::filesystem::absolute(from);;
       folder = folder.parent_path()) {
    const std::filesystem::path path = folder / "gh-advise.toml";
    if (std::filesystem::is_regular_file(path, ec)) {
      check_owner(path);
      return path;
    }
    if (folder == folder.parent_path() || is_checkout(folder)) return std::nullopt;
  }
}

std::string suppression_toml(const Suppression& s) {
  std::ostringstream out;
  out << (s.gate_only ? "[[accept]]\n" : "[[suppress]]\n");
  for (const auto& [key, text] :
       {std::pair("rule", &s.rule), {"subject", &s.subject}, {"reason", &s.reason}})
    out << key << " = " << toml::toml_formatter(toml::value<std::string>(*text)) << '\n';
  if (!s.until.empty()) out << "until = " << s.until << '\n';
  if (s.up_to) out << "up_to = " << fmt::format("{}", *s.up_to) << '\n';
  return out.str();
}

std::string with_suppressions(const std::filesystem::path& path,
                              const std::vector<Suppression>& suppressions) {
  std::string text;
  if (std::error_code ec; std::filesystem::exists(path, ec)) text = read_text(path);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  for (const Suppression& s : suppressions)
    text += (text.empty() ? "" : "\n") + suppression_toml(s);
  try {
    Config(text, path);
  } catch (const Error& e) {
    throw Error(fmt::format("{}; nothing was written: add the exception by hand", e.what()));
  }
  return text;
}

}  // namespace gh
