// The command line.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include "config.hpp"
#include "docs.hpp"
#include "new_rule.hpp"
#include "ranks.hpp"
#include "read_report.hpp"
#include "render.hpp"
#include "rule_test.hpp"

namespace {

using namespace gh;

// Exit statuses.
constexpr int done = 0, threshold_met = 1, could_not = 2;

// A line on the terminal that says what is being done, once the user has waited for more than a second.
class Progress {
 public:
  explicit Progress(std::size_t reports) : reports_(reports) {
    if (isatty(STDERR_FILENO)) thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }
  ~Progress() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  void say(const std::string& what, std::size_t report) {
    const std::lock_guard lock(mutex_);
    what_ = reports_ > 1 ? fmt::format("{} ({} of {})", what, report + 1, reports_) : what;
  }

 private:
  void run(std::stop_token stop) {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, std::chrono::milliseconds(250), [&] { return stop.stop_requested(); })) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds < 1) continue;
      fmt::print(stderr, "\r\x1b[K{} ... {:.0f} s", shortened(what_, 60), seconds);
      std::fflush(stderr);
      shown_ = true;
    }
  }
  std::size_t reports_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string what_;
  std::atomic<bool> shown_ = false;
  std::jthread thread_;
};

TextStyle style_of(bool to_terminal) {
  TextStyle style;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.colour = to_terminal && !(no_colour && *no_colour) && !(term && std::string_view(term) == "dumb");
  winsize size{};
  if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) > 0) style.width = static_cast<std::size_t>(std::atoi(columns));
  else if (to_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  style.width = std::clamp<std::size_t>(style.width, 40, 160);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* locale = std::getenv(name); locale && *locale) {
      style.unicode = !to_terminal || std::string_view(locale).find("UTF") != std::string_view::npos || std::string_view(locale).find("utf") != std::string_view::npos;
      break;
    }
  return style;
}

// Writes to the file, all or nothing, or to stdout.
void write(const std::string& text, const std::optional<std::string>& output) {
  const std::string file = output.value_or("-");
  if (file.empty()) throw Error("--output: is empty; give a file, or - for standard output");
  if (file == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) throw Error("cannot write to standard output");
    return;
  }
  // What is no file (/dev/null, a pipe) is written as it is: it cannot be put in place whole. A link stays a link.
  namespace fs = std::filesystem;
  std::error_code ec, ignored;
  const fs::path target = fs::weakly_canonical(file, ignored);
  const bool direct = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
  const fs::path part = direct ? target : fs::path(fmt::format("{}.{}.part", target.string(), getpid()));
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out && !direct) fs::rename(part, target, ec);
  if (!out || ec) {
    if (!direct) fs::remove(part, ignored);
    throw Error(fmt::format("--output {}: cannot be written{}", printable(file), ec ? ": " + ec.message() : "; check the folder and the space left"));
  }
}

struct Options {
  std::vector<std::string> reports, select, ignore, rule_directories;
  std::string format = "text", nsys = "nsys", config_path, fail_on, steps, rule_id, test_directory, fixtures, filter = "*", directory;
  bool update = false;
  std::optional<std::string> output, range;
  std::optional<int> device, rank;
};

Selection selection_of(const Options& o) {
  Selection s;
  if (o.range && o.range->empty()) throw Error("--range: is empty; give the name of an NVTX range");
  s.range = o.range.value_or(""), s.device = o.device, s.rank = o.rank;
  if (!o.steps.empty()) {
    const std::size_t colon = o.steps.find(':');
    const auto number = [&](const std::string& text) {
      if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != std::string::npos) throw Error(fmt::format("--steps {}: give the first and the last step, as in --steps 10:20", printable(o.steps)));
      return std::stoll(text);
    };
    const std::int64_t first = number(o.steps.substr(0, colon)), last = colon == std::string::npos ? first : number(o.steps.substr(colon + 1));
    if (last < first) throw Error(fmt::format("--steps {}: the last step comes before the first", printable(o.steps)));
    s.steps = {first, last};
  }
  return s;
}

// What holds for every report of a run.
struct Setup {
  Config config;
  std::vector<Rule> all_rules;   // before --select and --ignore
  std::vector<std::string> notes;

  explicit Setup(const Options& o) {
    const auto path = o.config_path.empty() ? Config::find(std::filesystem::current_path()) : std::optional<std::filesystem::path>(o.config_path);
    if (path) config = Config(*path);
    all_rules = own_rules();
    std::vector<std::filesystem::path> directories = config.rule_directories;
    directories.insert(directories.end(), o.rule_directories.begin(), o.rule_directories.end());
    for (std::size_t i = 0; i < directories.size(); ++i)
      add_rules(all_rules, rules_in(directories[i], i < config.rule_directories.size() ? config.where("rules") + ": rules:" : "--rules"), notes);
    for (const std::string& note : notes) fmt::print(stderr, "gh-advise: note: {}\n", note);
  }

  std::vector<Rule> rules(const Options& o) const {
    return chosen(all_rules, o.select.empty() ? config.select : o.select, o.ignore.empty() ? config.ignore : o.ignore);
  }

  // Of one report, or of the ranks of one job.
  Analysis analyse(const std::vector<std::string>& reports, const Options& o, const Selection& selection) const {
    Classes classes;
    config.extend(classes);
    std::vector<Trace> ranks;
    for (const std::string& report : reports) ranks.push_back(read_report(report, o.nsys));
    Trace trace = joined(std::move(ranks), classes);
    return Analysis(std::move(trace), std::move(classes), selection);
  }
};

std::string today() {
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

// What became of each suppression over all reports: one that is used by any is in use.
class SuppressionsOfAll {
 public:
  void add(const Report& report) {
    for (const auto& [s, state] : report.suppressions) {
      const auto [it, first] = states_.try_emplace(s.where, s, state);
      if (!first && (state == SuppressionState::used || it->second.second == SuppressionState::not_checked)) it->second.second = state;
    }
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const auto& [where, entry] : states_) {
      const auto& [s, state] = entry;
      if (state == SuppressionState::expired) notes.push_back(fmt::format("{}: the suppression of {} expired after {}; fix it, or decide anew", where, s.rule, s.until));
      if (state == SuppressionState::unused) notes.push_back(fmt::format("{}: the suppression of {} matches nothing any more; take it out", where, s.rule));
    }
    return notes;
  }

 private:
  std::map<std::string, std::pair<Suppression, SuppressionState>> states_;  // by place
};

int check(const Options& o) {
  const Setup setup(o);
  const std::vector<Rule> rules = setup.rules(o);
  for (const std::string& report : o.reports)
    if (std::error_code ec; o.output && std::filesystem::equivalent(*o.output, report, ec)) throw Error(fmt::format("--output {}: is the report itself; name another file", printable(*o.output)));
  if (rules.empty()) throw Error("--select and --ignore leave no rule to check; `gh-advise rules` lists them");
  const auto settings = setup.config.rule_settings(setup.all_rules);
  const std::optional<Severity> fail_on = o.fail_on.empty() ? setup.config.fail_on : parse_severity(o.fail_on, "--fail-on");
  const Selection selection = selection_of(o);
  const TextStyle style = style_of(!o.output && isatty(STDOUT_FILENO));
  std::string text;
  std::vector<std::string> failures, broken;
  std::vector<std::string> objects;
  SuppressionsOfAll suppressions;
  bool met = false;
  {
    const std::vector<std::vector<std::string>> jobs = find_jobs(o.reports);
    Progress progress(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      progress.say("reading " + printable(jobs[i].front()), i);
      try {
        const Analysis analysis = setup.analyse(jobs[i], o, selection);
        progress.say("checking " + printable(jobs[i].front()), i);
        const Facts facts(analysis);
        Report report = evaluate(rules, analysis, facts, settings);
        suppress(report, setup.config.suppressions, today());
        suppressions.add(report);
        if (o.format == "json") objects.push_back(render_json(analysis, report));
        else text += (text.empty() ? "" : "\n") + render_text(analysis, report, style);
        // A gate that passes because nothing could be looked at would pass on every broken recording.
        if (fail_on && analysis.total_ns() == 0) broken.push_back(fmt::format("{}: holds no GPU work, so --fail-on cannot judge it; record it again", analysis.trace.path));
        for (const Finding& f : report.findings) met = met || (fail_on && f.severity >= *fail_on);
        for (const Failed& f : report.failed) failures.push_back(fmt::format("rule {} failed: {}", f.rule, f.error));
      } catch (const Error& e) {
        broken.push_back(e.what());  // the other reports can still be judged
      }
    }
  }
  if (o.format == "json") {
    if (o.reports.size() == 1) text = objects.empty() ? "" : objects.front();
    else if (!objects.empty()) text = fmt::format("[\n{}]\n", fmt::join(objects, ",\n"));
  }
  if (!text.empty()) write(text, o.output);
  for (const std::string& note : suppressions.notes()) fmt::print(stderr, "gh-advise: note: {}\n", note);
  for (const std::string& e : broken) fmt::print(stderr, "gh-advise: {}\n", e);
  for (const std::string& e : failures) fmt::print(stderr, "gh-advise: {}\n", e);
  return !broken.empty() || !failures.empty() ? could_not : met ? threshold_met : done;
}

int list_facts(const Options& o) {
  const Setup setup(o);
  const Analysis analysis = [&] {
    Progress progress(1);
    progress.say("reading " + printable(o.reports.front()), 0);
    return setup.analyse({o.reports.front()}, o, selection_of(o));
  }();
  const Facts facts(analysis);
  write(o.format == "json" ? render_facts_json(analysis, facts) : render_facts_text(analysis, facts, style_of(!o.output && isatty(STDOUT_FILENO))), o.output);
  return done;
}

int list_rules(const Options& o) {
  const Setup setup(o);
  const std::vector<Rule> rules = setup.rules(o);
  write(o.format == "json" ? render_rules_json(rules) : render_rules_text(rules, style_of(!o.output && isatty(STDOUT_FILENO))), o.output);
  return done;
}

int explain(const Options& o) {
  const Setup setup(o);
  std::vector<std::string> ids;
  for (const Rule& r : setup.all_rules) {
    ids.push_back(r.id);
    if (r.id != o.rule_id) continue;
    write(render_explanation(r, style_of(isatty(STDOUT_FILENO))), {});
    return done;
  }
  throw Error(fmt::format("there is no rule '{}'{}; `gh-advise rules` lists them", printable(o.rule_id), did_you_mean(o.rule_id, ids)));
}

// The recorded reports that the build unpacks lie beside the program.
std::filesystem::path fixtures_beside_program() { return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fixtures"; }

// Writes a file that must not be there yet.
void write_new(const std::filesystem::path& path, const std::string& text) {
  if (std::error_code ec; std::filesystem::exists(path, ec)) throw Error(fmt::format("{}: is there already; choose another name or folder", printable(path.string())));
  write(text, path.string());
}

int new_rule(const Options& o) {
  const std::size_t slash = o.rule_id.find('/');
  const NewRule made = make_rule(slash == std::string::npos ? "" : o.rule_id.substr(0, slash), slash == std::string::npos ? o.rule_id : o.rule_id.substr(slash + 1));
  const std::filesystem::path folder = std::filesystem::path(o.directory) / made.category;
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec) throw Error(fmt::format("--in {}: cannot be made: {}", printable(o.directory), ec.message()));
  const std::filesystem::path rule = folder / (made.id + ".lua"), test = folder / (made.id + ".test.lua");
  write_new(rule, made.rule), write_new(test, made.test);
  write(fmt::format("{}\n{}\nEdit both, then run: gh-advise test {}\n", printable(rule.string()), printable(test.string()), printable(o.directory)), {});
  return done;
}

int write_docs(const Options& o) {
  const Setup setup(o);
  for (const Page& page : documentation(setup.all_rules, fixtures_beside_program())) {
    const std::filesystem::path path = std::filesystem::path(o.directory) / page.path;
    std::error_code ec;
    std::filesystem::create_directories(path.parent_path(), ec);
    if (ec) throw Error(fmt::format("--out {}: cannot be made: {}", printable(o.directory), ec.message()));
    write(page.text, path.string());
  }
  return done;
}

int show_config(const Options& o) {
  const Setup setup(o);
  write(render_config(setup.config, setup.all_rules), {});
  return done;
}

int test_rules(const Options& o) {
  const RuleTestResult result = run_rule_tests(o.test_directory, {o.fixtures.empty() ? fixtures_beside_program() : std::filesystem::path(o.fixtures), o.filter, o.update});
  write(result.output, {});
  return result.failed > 0 ? threshold_met : done;
}

// The options that a command knows, for suggestions.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

int run(int argc, char** argv) {
  Options o;
  CLI::App app{"Finds what slows down a GPU training run, from its Nsight Systems report or PyTorch profiler trace: what to fix first, what it is worth, and where the proof is."};
  app.name("gh-advise");
  app.set_version_flag("--version", std::string("gh-advise ") + GH_ADVISE_VERSION);
  app.require_subcommand(1);
  app.footer("`gh-advise REPORT...` is short for `gh-advise check REPORT...`.\n"
             "Exit status: 0; 1 where --fail-on is met (or a rule test fails); 2 where the job could not be done.");

  const auto formats = CLI::IsMember({"text", "json"});
  const auto rule_options = [&](CLI::App* c) {
    c->add_option("--rules", o.rule_directories, "A folder with more rules (may be given several times)")->type_name("DIR")->allow_extra_args(false);
    c->add_option("--config", o.config_path, "The configuration, instead of the nearest gh-advise.toml here or above")->type_name("FILE");
  };
  const auto chosen_rules = [&](CLI::App* c) {
    c->add_option("--select", o.select, "Only these rules: ids or categories, separated by commas")->delimiter(',')->type_name("RULE")->allow_extra_args(false);
    c->add_option("--ignore", o.ignore, "Not these rules")->delimiter(',')->type_name("RULE")->allow_extra_args(false);
  };
  const auto printing = [&](CLI::App* c) {
    c->add_option("--format", o.format, "text or json")->transform(formats);
    c->add_option("--output", o.output, "Write to a file instead of standard output")->type_name("FILE");
  };
  const auto selecting = [&](CLI::App* c) {
    c->add_option("--steps", o.steps, "Only these steps, by number: 10:20")->type_name("FIRST:LAST");
    c->add_option("--range", o.range, "Only what was launched inside NVTX ranges of this name (* and ? allowed)")->type_name("NAME");
    c->add_option("--device", o.device, "Only this GPU");
    c->add_option("--rank", o.rank, "Only this process, counted from 0 in order of GPUs");
    c->add_option("--nsys", o.nsys, "The nsys that exports .nsys-rep files (default: the one on the PATH)")->type_name("PATH");
  };

  CLI::App* check_command = app.add_subcommand("check", "Advise on one or several reports");
  check_command->add_option("REPORT", o.reports, "Reports of Nsight Systems (.sqlite, or .nsys-rep where there is nsys) and PyTorch profiler traces (.json, .json.gz). Files of one job's ranks make one report")->required();
  printing(check_command), chosen_rules(check_command), rule_options(check_command), selecting(check_command);
  check_command->add_option("--fail-on", o.fail_on, "Exit with 1 where a finding is at least this severe: error, warning or note")->type_name("SEVERITY");

  CLI::App* facts_command = app.add_subcommand("facts", "Print the facts of a report, with units");
  facts_command->add_option("REPORT", o.reports, "A report")->required()->expected(1);
  printing(facts_command), rule_options(facts_command), selecting(facts_command);

  CLI::App* rules_command = app.add_subcommand("rules", "List the rules");
  printing(rules_command), chosen_rules(rules_command), rule_options(rules_command);

  CLI::App* explain_command = app.add_subcommand("explain", "Print a rule's documentation");
  explain_command->add_option("RULE", o.rule_id, "The rule's id")->required();
  rule_options(explain_command);

  CLI::App* test_command = app.add_subcommand("test", "Run the tests of the rules in a folder");
  test_command->add_option("DIR", o.test_directory, "A folder with *.test.lua beside the rules")->required();
  test_command->add_option("--filter", o.filter, "Only cases, or rules, whose name matches (* and ? allowed)")->type_name("NAME");
  test_command->add_flag("--update", o.update, "Write the snapshots anew that cases expect");
  test_command->add_option("--fixtures", o.fixtures, "Where the reports lie that cases name (default: fixtures/ beside the program)")->type_name("DIR");

  CLI::App* new_rule_command = app.add_subcommand("new-rule", "Write a rule and its test, to be edited");
  new_rule_command->add_option("RULE", o.rule_id, "CATEGORY/ID, as in comm/tiny-collectives")->required();
  new_rule_command->add_option("--in", o.directory, "The team's folder of rules")->required()->type_name("DIR");

  CLI::App* docs_command = app.add_subcommand("docs", "Write the documentation: rules, facts, the rule API, configuration, formats");
  docs_command->add_option("--out", o.directory, "The folder to write to")->required()->type_name("DIR");
  rule_options(docs_command);

  CLI::App* config_command = app.add_subcommand("config", "Print the configuration in effect, and where each value comes from");
  rule_options(config_command);

  std::vector<std::string> commands;
  for (const CLI::App* c : app.get_subcommands([](CLI::App*) { return true; })) commands.push_back(c->get_name());
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool has_command = !arguments.empty() && (std::find(commands.begin(), commands.end(), arguments.front()) != commands.end() ||
                                                  arguments.front() == "--help" || arguments.front() == "-h" || arguments.front() == "--version");
  if (!arguments.empty() && !has_command) {
    // A lone word that is no file is more likely a misspelt command than a report.
    std::error_code ec;
    const std::string& first = arguments.front();
    const bool word = first.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos && first.front() != '-';
    if (const std::string hint = did_you_mean(first, commands); word && !hint.empty() && !std::filesystem::exists(first, ec)) throw Error(fmt::format("'{}' is neither a command nor a file{}", first, hint));
    arguments.insert(arguments.begin(), "check");
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto subcommands = app.get_subcommands();
    write(subcommands.empty() ? app.help() : subcommands.front()->help("gh-advise"), {});
    return done;
  } catch (const CLI::CallForVersion&) {
    write(std::string("gh-advise ") + GH_ADVISE_VERSION + "\n", {});
    return done;
  } catch (const CLI::ParseError& e) {
    const auto subcommands = app.get_subcommands();
    const CLI::App& command = subcommands.empty() ? app : *subcommands.front();
    for (const std::string& extra : app.remaining(true))
      if (extra.starts_with("-")) {
        const std::string name = extra.substr(0, extra.find('='));
        std::vector<std::string> known = option_names(command);
        if (!has_command) known.push_back("--version");
        throw Error(fmt::format("{} has no option '{}'{}; see `gh-advise {}--help`", command.get_name(), printable(name), did_you_mean(name, known), subcommands.empty() ? "" : command.get_name() + " "));
      }
    std::string what = printable(e.what());
    if (subcommands.empty()) what = "name a report, or a command";
    throw Error(fmt::format("{}; see `gh-advise {}--help`", what, subcommands.empty() ? "" : command.get_name() + " "));
  }

  if (check_command->parsed()) return check(o);
  if (facts_command->parsed()) return list_facts(o);
  if (rules_command->parsed()) return list_rules(o);
  if (explain_command->parsed()) return explain(o);
  if (new_rule_command->parsed()) return new_rule(o);
  if (docs_command->parsed()) return write_docs(o);
  if (config_command->parsed()) return show_config(o);
  return test_rules(o);
}

}  // namespace

int main(int argc, char** argv) {
  // Selections of millions of rows come and go: what they held goes back to the system, instead of a heap that only grows.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gh-advise: {}\n", printable(e.what()));
    return could_not;
  }
}
