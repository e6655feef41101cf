#include "cli/settings.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "cli/output.hpp"
#include "rules/config_file.hpp"

namespace gh {
namespace {

std::optional<std::filesystem::path> config_file(const RuleOptions& options) {
  if (options.config == "none") return std::nullopt;
  if (options.config.empty()) return Config::find(std::filesystem::current_path());
  return options.config;
}

}  // namespace

Settings::Settings(const RuleOptions& options) : all_rules(own_rules()) {
  if (const auto path = config_file(options)) {
    config = Config(*path);
    config_path = path->string();
  }
  std::vector<std::string> notes;
  const bool found = options.config.empty();  // rather than named
  for (const std::filesystem::path& folder : config.rule_directories) {
    if (found) check_owner_of_rules(folder, config_path);
    add_rules(all_rules, rules_in(folder, config.where("rules") + ": rules:"), notes);
  }
  for (const std::string& folder : options.directories)
    add_rules(all_rules, rules_in(folder, "--rules"), notes);
  for (const std::string& note : notes) print_note(note);
}

std::vector<std::string> Settings::inputs(std::vector<std::string> files) const {
  if (!config_path.empty()) files.push_back(config_path);
  return files;
}

std::vector<Rule> Settings::rules(const RuleOptions& options) const {
  return chosen(all_rules, options.select.empty() ? config.select : options.select,
                options.ignore.empty() ? config.ignore : options.ignore);
}

std::optional<Severity> Settings::fail_on(const std::string& option) const {
  return option.empty() ? config.fail_on : parse_severity(option, "--fail-on");
}

Request Settings::request(std::vector<Rule> rules, const ReportOptions& options) const {
  Request request = this->request(options);
  request.settings = config.rule_settings(all_rules);
  request.rules = std::move(rules);
  return request;
}

Request Settings::request(const ReportOptions& options) const {
  Request request;
  request.config = &config;
  request.notes = print_note;
  request.selection = options.selection();
  request.nsys = options.nsys;
  request.dcgm = options.dcgm;
  return request;
}

std::string today() {
  const std::chrono::year_month_day day{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

void print_suppression_notes(
    const std::vector<std::pair<Suppression, SuppressionState>>& suppressions) {
  for (const auto& [suppression, state] : suppressions)
    if (const std::string note = suppression_note(suppression, state); !note.empty())
      print_note(note);
}

std::filesystem::path fixtures_beside_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fixtures";
}

}  // namespace gh
