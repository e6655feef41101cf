#include "rules/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/files.hpp"

namespace gh {
namespace {

const std::vector<ConfigKey> keys{
    {"rules", "list of strings", "Folders with the team's own rules, from the file's folder on."},
    {"select", "list of strings", "Only these rules: ids or categories."},
    {"ignore", "list of strings", "Not these rules: ids or categories."},
    {"fail_on", "string",
     "Exit with 1 where a finding is at least this severe: \"error\", \"warning\" or \"note\"."},
    {"rule", "table",
     "[rule.ID] sets the options of one rule, as `gh-advise explain ID` lists them, and `severity` "
     "of all its findings."},
    {"suppress", "list of tables",
     "[[suppress]] takes a finding out that the team has decided to live with."},
    {"suppress.rule", "string", "Its rule's id."},
    {"suppress.subject", "string", "A glob for its subject; \"*\" where it is not given."},
    {"suppress.reason", "string", "Why. Required."},
    {"suppress.until", "date", "The last day on which it holds: 2026-12-31."},
    {"suppress.up_to", "number",
     "What it may cost, in nanoseconds a step (of a budget: the fact's value); beyond that it "
     "counts again."},
    {"gate", "table", "[gate] sets what `gh-advise gate` takes for a regression."},
    {"gate.fail_on", "string",
     "Findings that came in and budgets that broke fail from this severity on; \"warning\" where "
     "it is not given."},
    {"gate.min_effect", "number",
     "The least difference that counts, as a share of the step (of the value itself for other "
     "facts); 0.03."},
    {"gate.alpha", "number", "The level of the rank test; 0.05."},
    {"gate.noise_floor", "number",
     "With fewer than four captures and steps a side, differences below this share are taken for "
     "noise; 0.2."},
    {"budget", "list of tables",
     "[[budget]] sets a limit to a fact, held by `gh-advise gate`. Without one for step.median_ns, "
     "the step may not become longer by more than gate.min_effect."},
    {"budget.fact", "string", "The fact, as `gh-advise facts` names it."},
    {"budget.max", "number", "At most this, in the fact's own unit."},
    {"budget.min", "number", "At least this."},
    {"budget.max_increase", "number",
     "At most this share more than the baseline: 0.05 is 5 %. Of step.median_ns it takes the place "
     "of the program's own limit."},
    {"budget.max_decrease", "number", "At most this share less than the baseline."},
    {"budget.severity", "string",
     "\"error\" where it is not given. Below gate.fail_on it is only told."},
    {"kernel_class", "list of tables",
     "[[kernel_class]] tells what the team's own kernels are; asked before the program's classes "
     "(schemas/kernels.toml)."},
    {"kernel_class.class", "string", "A class of schemas/kernels.toml, or a new one."},
    {"kernel_class.match", "list of strings",
     "Regular expressions (RE2), found anywhere in the demangled name, in either case."},
    {"kernel_class.except", "list of strings", "Names that are not meant."},
    {"kernel_class.doc", "string", "What it is, for people."},
    {"gpu", "list of tables",
     "[[gpu]] tells the peak rates of a GPU that schemas/gpus.toml does not list, or of one that "
     "is capped."},
    {"gpu.match", "string or list of strings", "Regular expressions for its name."},
    {"gpu.name", "string", "What to call it."},
    {"gpu.compute_capability", "list of numbers", "As [9, 0]."},
    {"gpu.sm_count", "number", "Streaming multiprocessors of the whole GPU."},
    {"gpu.fp32_tflops", "number", "Peak of the CUDA cores in FP32."},
    {"gpu.tf32_tflops", "number", "Peak of the tensor cores in TF32, dense."},
    {"gpu.half_tflops", "number", "Peak in FP16 and BF16, dense."},
    {"gpu.fp8_tflops", "number", "Peak in FP8, dense."},
    {"gpu.memory_gb", "number", "Device memory, in 10^9 bytes."},
    {"gpu.memory_gb_per_s", "number", "Its bandwidth."},
    {"gpu.host_link", "string", "The link to the host: \"PCIe 5 x16\"."},
    {"gpu.host_link_gb_per_s", "number", "What it carries one way, in practice."},
    {"gpu.coherent", "true or false", "Whether host and device share their memory (NVLink-C2C)."},
    {"gpu.tensor_cores", "true or false", "Whether it has tensor cores."},
    {"ranges", "table",
     "[ranges] tells how the team's ranges are called: regular expressions (RE2), asked beside "
     "those of schemas/ranges.toml."},
    {"ranges.step", "list of strings",
     "Ranges that enclose a training step; looked for before all others."},
    {"ranges.loader", "list of strings", "In these the launching thread fetches its next batch."},
    {"ranges.optimizer", "list of strings", "In these parameters are updated."},
    {"ranges.checkpoint", "list of strings", "In these the state of the run is written."},
    {"ranges.evaluation", "list of strings", "In these the model is tried on other data."},
    {"ranges.garbage_collection", "list of strings", "In these Python collects garbage."},
};

std::string at(const std::string& path, const toml::node& node) {
  return fmt::format("{}:{}:{}", path, node.source().begin.line, node.source().begin.column);
}

// Refuses what is not among the keys of a table ("" for the file itself), and values of another
// type.
void check_keys(const toml::table& table, const std::string& path, const std::string& prefix) {
  std::vector<std::string> names;
  for (const ConfigKey& k : keys) {
    const std::string_view name = k.name;
    const std::size_t dot = name.find('.');
    if ((dot == name.npos ? "" : name.substr(0, dot)) == prefix)
      names.emplace_back(dot == name.npos ? name : name.substr(dot + 1));
  }
  for (const auto& [key, value] : table) {
    if (std::find(names.begin(), names.end(), key.str()) == names.end())
      throw Error(fmt::format("{}:{}:{}: unknown key '{}'{}", path, key.source().begin.line,
                              key.source().begin.column, printable(key.str()),
                              did_you_mean(key.str(), names)));
    const std::string name =
        prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
    const std::string_view type = std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) {
                                    return name == k.name;
                                  })->type;
    const bool good = type == "string"           ? value.is_string()
                      : type == "number"         ? value.is_number()
                      : type == "table"          ? value.is_table()
                      : type == "true or false"  ? value.is_boolean()
                      : type == "date"           ? value.is_date()
                      : type.starts_with("list") ? value.is_array()
                                                 : true;
    const char* wanted = type == "string"          ? "a string"
                         : type == "number"        ? "a number"
                         : type == "table"         ? "a table"
                         : type == "true or false" ? "true or false"
                         : type == "date"          ? "a date, as in 2026-12-31"
                                                   : "a list";
    if (!good)
      throw Error(fmt::format("{}: '{}' has to be {}", at(path, value), key.str(), wanted));
  }
}

std::vector<std::string> strings(const toml::table& table, std::string_view key,
                                 const std::string& path) {
  std::vector<std::string> out;
  if (const toml::array* list = table[key].as_array())
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text) throw Error(fmt::format("{}: '{}' is a list of strings", at(path, item), key));
      out.push_back(*text);
    }
  return out;
}

void check_tables(const toml::table& table, std::string_view key, const std::string& path,
                  std::string_view required, std::string_view also = "match") {
  const toml::array* list = table[key].as_array();
  if (!list) return;
  for (const toml::node& item : *list) {
    const toml::table* entry = item.as_table();
    if (!entry) throw Error(fmt::format("{}: write [[{}]] for each", at(path, item), key));
    check_keys(*entry, path, std::string(key));
    if (!(*entry)[required] || (!also.empty() && !(*entry)[also]))
      throw Error(fmt::format("{}: [[{}]] needs '{}'{}", at(path, item), key, required,
                              also.empty() ? "" : fmt::format(" and '{}'", also)));
    if (also != "match") continue;
    // Classes become names of causes and facts.
    if (const auto name = (*entry)["class"].value<std::string>();
        name &&
        (name->empty() ||
         name->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos))
      throw Error(
          fmt::format("{}: a class is named with lower-case letters, digits and '_', not '{}'",
                      at(path, *(*entry)["class"].node()), printable(*name)));
    // A pattern that is no string would be taken for an empty one, which is found in every name.
    const toml::node& match = *(*entry)["match"].node();
    if (!match.is_string() && !match.is_array())
      throw Error(fmt::format("{}: 'match' has to be a regular expression or a list of them",
                              at(path, match)));
    strings(*entry, "match", path);
    strings(*entry, "except", path);
  }
}

void read_gate(const toml::table& file, const std::string& path, GateSettings& gate) {
  const auto share = [&](const toml::table& table, const char* key, double least,
                         double most) -> std::optional<double> {
    const auto value = table[key].value<double>();
    if (value && !(*value >= least && *value <= most))
      throw Error(fmt::format("{}: '{}' has to be between {} and {}: a share, as 0.05 for 5 %",
                              at(path, *table[key].node()), key, least, most));
    return value;
  };
  if (const toml::table* table = file["gate"].as_table()) {
    check_keys(*table, path, "gate");
    if (const auto severity = (*table)["fail_on"].value<std::string>())
      gate.fail_on = parse_severity(*severity, at(path, *(*table)["fail_on"].node()));
    gate.min_effect = share(*table, "min_effect", 0, 1).value_or(gate.min_effect);
    gate.alpha = share(*table, "alpha", 0, 1).value_or(gate.alpha);
    gate.noise_floor = share(*table, "noise_floor", 0, 1).value_or(gate.noise_floor);
  }
  const toml::array* list = file["budget"].as_array();
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const toml::table& entry = *list->get(i)->as_table();
    const auto limit = [&](const char* key) {
      const auto value = entry[key].value<double>();
      if (value && !std::isfinite(*value))
        throw Error(fmt::format("{}: '{}' has to be finite", at(path, *entry[key].node()), key));
      return value;
    };
    Budget b{printable(*entry["fact"].value<std::string>()),
             limit("max"),
             limit("min"),
             share(entry, "max_increase", 0, 1),
             share(entry, "max_decrease", 0, 1),
             Severity::error,
             fmt::format("{}:{}", path, entry.source().begin.line)};
    if (b.max && b.min && *b.min > *b.max)
      throw Error(fmt::format("{}: 'min' is above 'max'", at(path, entry)));
    if (!b.max && !b.min && !b.max_increase && !b.max_decrease)
      throw Error(fmt::format("{}: a budget needs max, min, max_increase or max_decrease",
                              at(path, entry)));
    if (const auto severity = entry["severity"].value<std::string>())
      b.severity = parse_severity(*severity, at(path, *entry["severity"].node()));
    gate.budgets.push_back(std::move(b));
  }
}

}  // namespace

Config::Config() : table_(std::make_unique<toml::table>()) {}
Config::~Config() = default;
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;

namespace {

std::string configuration_text(const std::filesystem::path& path) {
  // A directory can be opened and then reads as nothing, which would be taken for a configuration
  // without settings.
  std::error_code ec;
  if (!std::filesystem::exists(path, ec) || std::filesystem::is_directory(path, ec))
    throw Error(fmt::format("{}: cannot be read; check that it exists and is a file",
                            printable(path.string())));
  return read_text(path);
}

}  // namespace

Config::Config(const std::filesystem::path& path) : Config(configuration_text(path), path) {}

Config::Config(const std::string& text, const std::filesystem::path& path)
    : shown_path_(printable(path.string())) {
  try {
    table_ = std::make_unique<toml::table>(toml::parse(text, path.string()));
  } catch (const toml::parse_error& e) {
    const auto& position = e.source().begin;
    throw Error(fmt::format("{}:{}:{}: {}", shown_path_, position.line, position.column,
                            printable(e.description())));
  }
  check_keys(*table_, shown_path_, "");
  for (const std::string& directory : strings(*table_, "rules", shown_path_))
    rule_directories.push_back(path.parent_path() / directory);
  select = strings(*table_, "select", shown_path_);
  ignore = strings(*table_, "ignore", shown_path_);
  if (const auto severity = (*table_)["fail_on"].value<std::string>())
    fail_on = parse_severity(*severity, at(shown_path_, *(*table_)["fail_on"].node()));
  check_tables(*table_, "kernel_class", shown_path_, "class");
  check_tables(*table_, "gpu", shown_path_, "name");
  check_tables(*table_, "suppress", shown_path_, "rule", "reason");
  check_tables(*table_, "budget", shown_path_, "fact", "");
  if (const toml::table* ranges = (*table_)["ranges"].as_table()) {
    check_keys(*ranges, shown_path_, "ranges");
    for (const auto& [key, value] : *ranges) strings(*ranges, key.str(), shown_path_);
  }
  read_gate(*table_, shown_path_, gate);
  if (const toml::array* list = (*table_)["suppress"].as_array())
    for (const toml::node& item : *list) {
      const toml::table& entry = *item.as_table();
      const auto text = [&](std::string_view key, const char* otherwise) {
        return printable(entry[key].value_or(std::string(otherwise)));
      };
      Suppression s{text("rule", ""),
                    text("subject", "*"),
                    text("reason", ""),
                    "",
                    fmt::format("{}:{}", shown_path_, item.source().begin.line),
                    entry["up_to"].value<double>()};
      if (const auto until = entry["until"].value<toml::date>())
        s.until = fmt::format("{:04}-{:02}-{:02}", until->year, until->month, until->day);
      if (s.reason.find_first_not_of(' ') == std::string::npos)
        throw Error(fmt::format("{}: a suppression needs a reason", at(shown_path_, item)));
      suppressions.push_back(std::move(s));
    }
}

std::string Config::where(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node ? fmt::format("{}:{}", shown_path_, node->source().begin.line) : "";
}

const std::vector<ConfigKey>& config_keys() { return keys; }

std::string suppression_toml(const Suppression& s) {
  std::ostringstream out;
  out << "[[suppress]]\n";
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
    throw Error(fmt::format("{}; nothing was written: add the suppression by hand", e.what()));
  }
  return text;
}

std::map<std::string, RuleSettings> Config::rule_settings(const std::vector<Rule>& rules) const {
  std::map<std::string, RuleSettings> all;
  std::vector<std::string> ids;
  for (const Rule& r : rules) ids.push_back(r.id);
  ids.emplace_back("budget");  // an exception may be made of a broken budget as well
  for (const Suppression& s : suppressions)
    if (std::find(ids.begin(), ids.end(), s.rule) == ids.end())
      throw Error(fmt::format("{}: there is no rule '{}' to suppress{}", s.where, s.rule,
                              did_you_mean(s.rule, ids)));
  ids.pop_back();
  const toml::table* tables = (*table_)["rule"].as_table();
  if (!tables) return all;
  for (const auto& [id, node] : *tables) {
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.id == id.str(); });
    if (rule == rules.end())
      throw Error(fmt::format("{}: there is no rule '{}'{}", at(shown_path_, node),
                              printable(id.str()), did_you_mean(id.str(), ids)));
    const toml::table* table = node.as_table();
    if (!table)
      throw Error(fmt::format("{}: write [rule.{}] and its options below", at(shown_path_, node),
                              id.str()));
    RuleSettings& settings = all[std::string(id.str())];
    std::vector<std::string> names{"severity"};
    for (const auto& [name, option] : rule->options) names.push_back(name);
    for (const auto& [key, value] : *table) {
      if (key.str() == "severity") {
        settings.severity = parse_severity(value.value_or(std::string()), at(shown_path_, value));
        settings.origins["severity"] = fmt::format("{}:{}", shown_path_, value.source().begin.line);
        continue;
      }
      const auto option = rule->options.find(std::string(key.str()));
      if (option == rule->options.end())
        throw Error(fmt::format("{}:{}:{}: rule '{}' has no option '{}'{}", shown_path_,
                                key.source().begin.line, key.source().begin.column, id.str(),
                                printable(key.str()), did_you_mean(key.str(), names)));
      OptionValue& set = settings.options[option->first];
      settings.origins[option->first] =
          fmt::format("{}:{}", shown_path_, value.source().begin.line);
      const OptionValue& standard = option->second.value;
      if (std::holds_alternative<double>(standard) && value.is_number())
        set = *value.value<double>();
      else if (std::holds_alternative<bool>(standard) && value.is_boolean())
        set = *value.value<bool>();
      else if (std::holds_alternative<std::string>(standard) && value.is_string())
        set = *value.value<std::string>();
      else
        throw Error(fmt::format("{}: option '{}' of rule '{}' has to be {}", at(shown_path_, value),
                                key.str(), id.str(),
                                std::holds_alternative<double>(standard) ? "a number"
                                : std::holds_alternative<bool>(standard) ? "true or false"
                                                                         : "a string"));
    }
  }
  return all;
}

void Config::extend(Classes& classes) const { classes.extend(*table_, shown_path_); }

std::optional<std::filesystem::path> Config::find(const std::filesystem::path& from) {
  std::error_code ec;
  for (std::filesystem::path folder = std::filesystem::absolute(from);;
       folder = folder.parent_path()) {
    if (std::filesystem::is_regular_file(folder / "gh-advise.toml", ec))
      return folder / "gh-advise.toml";
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

std::vector<Rule> chosen(std::vector<Rule> rules, const std::vector<std::string>& select,
                         const std::vector<std::string>& ignore) {
  std::vector<std::string> names;
  for (const Rule& r : rules) {
    names.push_back(r.id);
    names.push_back(r.category);
  }
  for (const auto* list : {&select, &ignore})
    for (const std::string& name : *list)
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error(fmt::format("there is no rule or category '{}'{}; `gh-advise rules` lists them",
                                printable(name), did_you_mean(name, names)));
  const auto named = [](const Rule& r, const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& n) { return n == r.id || n == r.category; });
  };
  std::erase_if(rules, [&](const Rule& r) {
    return (!select.empty() && !named(r, select)) || named(r, ignore);
  });
  return rules;
}

}  // namespace gh
