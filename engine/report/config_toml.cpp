// The configuration in effect, as TOML.
#include <fmt/format.h>

#include <algorithm>

#include "report/docs.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

// A key, with a comment that says where its value comes from; "" is the default.
std::string line(const std::string& key, const std::string& value, const std::string& where) {
  return fmt::format("{:<40} # {}\n", key + " = " + value, where.empty() ? "default" : where);
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

template <class Values>
std::string list(const Values& values) {
  std::string items;
  for (const auto& v : values)
    items += (items.empty() ? "" : ", ") + in_quotes(printable(std::filesystem::path(v).string()));
  return '[' + items + ']';
}

std::string top_level(const Config& config) {
  std::string s = line("rules", list(config.rule_directories), config.where("rules")) +
                  line("select", list(config.select), config.where("select")) +
                  line("ignore", list(config.ignore), config.where("ignore"));
  if (config.fail_on)
    s += line("fail_on", in_quotes(name_of(*config.fail_on)), config.where("fail_on"));
  else
    s += "# fail_on is not set: findings do not change the exit status\n";
  for (const char* key : {"kernel_class", "gpu", "ranges"})
    if (const std::string where = config.where(key); !where.empty())
      s += fmt::format("# [{}] adds to schemas/, from {} on\n", key, where);
  return s;
}

std::string gate_table(const Config& config) {
  const GateSettings& gate = config.gate;
  const std::string where = config.where("gate");
  return fmt::format(
      "\n[gate]{:<34} # {}\nfail_on = \"{}\"\nmin_effect = {}\nalpha = {}\nnoise_floor = {}\n", "",
      where.empty() ? "default" : where, name_of(gate.fail_on.value_or(Severity::warning)),
      gate.min_effect, gate.alpha, gate.noise_floor);
}

std::string budget_table(const Budget& b) {
  std::string s = fmt::format("\n[[budget]]{:<31}# {}\nfact = \"{}\"\n", "", b.where, b.fact);
  for (const auto& [key, limit] : {std::pair("max", b.max),
                                   {"min", b.min},
                                   {"max_increase", b.max_increase},
                                   {"max_decrease", b.max_decrease}})
    if (limit) s += fmt::format("{} = {}\n", key, *limit);
  return s + fmt::format("severity = \"{}\"\n", name_of(b.severity));
}

// The options of a rule, set or not; `set` is what the configuration says of it.
std::string rule_table(const Rule& rule, const RuleSettings& set) {
  const auto origin = [&](const std::string& name) {
    const auto it = set.origins.find(name);
    return it == set.origins.end() ? std::string() : it->second;
  };
  const std::size_t margin = rule.id.size() < 33 ? 34 - rule.id.size() : 1;
  std::string s = fmt::format("\n[rule.{}]{}# {}\n", rule.id, std::string(margin, ' '), rule.path);
  for (const auto& [name, option] : rule.options) {
    const auto value = set.options.find(name);
    s += line(name, option_text(value == set.options.end() ? option.value : value->second),
              origin(name));
  }
  if (set.severity) s += line("severity", in_quotes(name_of(*set.severity)), origin("severity"));
  return s;
}

}  // namespace

std::string render_config(const Config& config, const std::vector<Rule>& rules) {
  std::string s = fmt::format(
      "# {}\n", config.path().empty()
                    ? "no gh-advise.toml in this folder or above: all values are defaults"
                    : "from " + config.path());
  s += top_level(config);
  s += gate_table(config);
  for (const Budget& b : config.gate.budgets) s += budget_table(b);
  for (const Suppression& x : config.gate_exceptions())
    s += fmt::format("\n# {}\n{}", x.where, suppression_toml(x));
  const std::map<std::string, RuleSettings> settings = config.rule_settings(rules);
  for (const Rule& rule : rules) {
    const auto set = settings.find(rule.id);
    s += rule_table(rule, set == settings.end() ? RuleSettings{} : set->second);
  }
  return s;
}

}  // namespace gh
