// The command line.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "analysis/ranks.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/version.hpp"
#include "gate/baseline.hpp"
#include "gate/comparison.hpp"
#include "job/digest.hpp"
#include "job/fleet.hpp"
#include "job/slurm.hpp"
#include "read/dcgm.hpp"
#include "read/job_files.hpp"
#include "read/read.hpp"
#include "read/scrub.hpp"
#include "report/docs.hpp"
#include "report/report.hpp"
#include "rules/config.hpp"
#include "rules/new_rule.hpp"
#include "rules/rule_test.hpp"

namespace {

using namespace gh;

// Exit statuses.
constexpr int done = 0, threshold_met = 1, could_not = 2;

// A line on the terminal that says what is being done, once the user has waited for more than a
// second.
class Progress {
 public:
  explicit Progress(std::size_t reports) : reports_(reports) {
    try {
      if (isatty(STDERR_FILENO))
        thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
    } catch (const std::system_error&) {
      // No thread is to be had: no line.
    }
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
    while (!wake_.wait_for(lock, stop, std::chrono::milliseconds(250),
                           [&] { return stop.stop_requested(); })) {
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
  style.colour =
      to_terminal && !(no_colour && *no_colour) && !(term && std::string_view(term) == "dumb");
  winsize size{};
  if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) > 0)
    style.width = static_cast<std::size_t>(std::atoi(columns));
  else if (to_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = size.ws_col;
  style.width = std::clamp<std::size_t>(style.width, 40, 160);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* locale = std::getenv(name); locale && *locale) {
      style.unicode = !to_terminal ||
                      std::string_view(locale).find("UTF") != std::string_view::npos ||
                      std::string_view(locale).find("utf") != std::string_view::npos;
      break;
    }
  return style;
}

constexpr const char* to_stdout = "-";

// Writes what --output asks for to the file, or to stdout.
void write(const std::string& text, const std::string& file) {
  file == to_stdout ? write_to_stdout(text) : write_file(file, text, "--output");
}

struct Options {
  std::vector<std::string> reports, select, ignore, rule_directories, outputs, baselines, accept;
  std::string format = "text", nsys = "nsys", dcgm, config_path, fail_on, steps, rule_id, shell,
              test_directory, fixtures, filter = "*", directory, reason, until, node, work, program,
              container, partition;
  bool update = false, profile = false;
  unsigned threads = 0;
  std::optional<std::string> range;
  std::optional<int> device, rank;
  std::optional<std::int64_t> first_rank;
  std::vector<std::string> sbatch;
  std::int64_t tasks = 0;
  bool dry_run = false, wait = false, status = false;
};

// The formats of a command, and what is written where in which of them.
using Formats = std::vector<std::string>;
const Formats two_formats{"text", "json"},
    gate_formats{"text", "json", "markdown", "sarif", "github", "junit", "html"},
    check_formats{"text", "json", "markdown", "sarif", "github", "junit", "html", "trace"},
    diff_formats{"text", "json", "markdown", "html"};

struct Output {
  std::string format, file;
};

// --output FORMAT=FILE, each; a plain --output FILE takes --format's, which otherwise goes to
// standard output.
std::vector<Output> outputs_of(const Options& o, const Formats& formats) {
  std::vector<Output> outputs;
  bool plain = false;
  for (const std::string& output : o.outputs) {
    if (output.empty()) throw Error("--output: is empty; give a file, or - for standard output");
    const std::size_t equals = output.find('=');
    const std::string format = output.substr(0, equals);
    if (equals == std::string::npos ||
        format.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos) {
      if (plain)
        throw Error(fmt::format("--output {}: a second file needs its format, as in --output {}={}",
                                printable(output), formats.back(), printable(output)));
      plain = true;
      outputs.push_back({o.format, output});
      continue;
    }
    if (std::find(formats.begin(), formats.end(), format) == formats.end())
      throw Error(fmt::format("--output {}: there is no format '{}'{}; a file of that name is ./{}",
                              printable(output), printable(format), did_you_mean(format, formats),
                              printable(output)));
    if (equals + 1 == output.size())
      throw Error(fmt::format("--output {}: names no file", printable(output)));
    outputs.push_back({format, output.substr(equals + 1)});
  }
  if (!plain) outputs.push_back({o.format, to_stdout});
  std::vector<std::string> inputs = o.reports;
  inputs.insert(inputs.end(), o.baselines.begin(), o.baselines.end());
  if (!o.dcgm.empty()) inputs.push_back(o.dcgm);
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    for (const std::string& input : inputs)
      if (std::error_code ec; std::filesystem::equivalent(out->file, input, ec))
        throw Error(
            fmt::format("--output {}: is what is read; name another file", printable(out->file)));
    if (out->file != "/dev/null" && std::any_of(outputs.begin(), out, [&](const Output& other) {
          return other.file == out->file;
        }))
      throw Error(
          fmt::format("--output {}: is given twice; name another file", printable(out->file)));
  }
  return outputs;
}

TextStyle style_of(const Output& output) {
  return style_of(output.file == to_stdout && isatty(STDOUT_FILENO));
}

Selection selection_of(const Options& o) {
  Selection s;
  if (o.range && o.range->empty()) throw Error("--range: is empty; give the name of an NVTX range");
  s.range = o.range.value_or("");
  s.device = o.device;
  s.rank = o.rank;
  if (!o.steps.empty()) {
    const std::size_t colon = o.steps.find(':');
    const auto number = [&](const std::string& text) {
      if (text.empty() || text.size() > 15 ||
          text.find_first_not_of("0123456789") != std::string::npos)
        throw Error(fmt::format("--steps {}: give the first and the last step, as in --steps 10:20",
                                printable(o.steps)));
      return std::stoll(text);
    };
    const std::int64_t first = number(o.steps.substr(0, colon)),
                       last =
                           colon == std::string::npos ? first : number(o.steps.substr(colon + 1));
    if (last < first)
      throw Error(
          fmt::format("--steps {}: the last step comes before the first", printable(o.steps)));
    s.steps = {first, last};
  }
  return s;
}

// What holds for every report of a run.
struct Setup {
  Config config;
  std::string config_path;      // "" without one
  std::vector<Rule> all_rules;  // before --select and --ignore
  std::vector<std::string> notes;

  explicit Setup(const Options& o) {
    const auto path = o.config_path == "none" ? std::nullopt
                      : o.config_path.empty() ? Config::find(std::filesystem::current_path())
                                              : std::optional<std::filesystem::path>(o.config_path);
    if (path) {
      config = Config(*path);
      config_path = path->string();
    }
    all_rules = own_rules();
    std::vector<std::filesystem::path> directories = config.rule_directories;
    directories.insert(directories.end(), o.rule_directories.begin(), o.rule_directories.end());
    for (std::size_t i = 0; i < directories.size(); ++i)
      add_rules(all_rules,
                rules_in(directories[i], i < config.rule_directories.size()
                                             ? config.where("rules") + ": rules:"
                                             : "--rules"),
                notes);
    for (const std::string& note : notes) fmt::print(stderr, "gh-advise: note: {}\n", note);
  }

  std::vector<Rule> rules(const Options& o) const {
    return chosen(all_rules, o.select.empty() ? config.select : o.select,
                  o.ignore.empty() ? config.ignore : o.ignore);
  }

  // Of one report, or of the ranks of one job.
  Analysis analyse(const std::vector<std::string>& reports, const Options& o,
                   const Selection& selection) const {
    Classes classes;
    config.extend(classes);
    std::vector<Trace> ranks;
    {
      const Timed timed("read");
      for (const std::string& report : reports) ranks.push_back(read_report(report, o.nsys));
    }
    Trace trace = joined(std::move(ranks), classes);
    if (!o.dcgm.empty())
      for (const std::string& note : add_dcgm(trace, o.dcgm))
        fmt::print(stderr, "gh-advise: note: {}\n", note);
    return Analysis(std::move(trace), std::move(classes), selection);
  }
};

std::string today() {
  const std::chrono::year_month_day day{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

// What became of each suppression over all reports: one that is used by any is in use.
class SuppressionsOfAll {
 public:
  void add(const Report& report) {
    for (const auto& [s, state] : report.suppressions) {
      const auto [it, first] = states_.try_emplace(s.where, s, state);
      if (!first &&
          (state == SuppressionState::used || it->second.second == SuppressionState::not_checked))
        it->second.second = state;
    }
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const auto& [where, entry] : states_)
      if (const std::string note = suppression_note(entry.first, entry.second); !note.empty())
        notes.push_back(note);
    return notes;
  }

 private:
  std::map<std::string, std::pair<Suppression, SuppressionState>> states_;  // by place
};

// Renders in each format that is wanted and writes it.
template <class Render>
void write_outputs(const std::vector<Output>& outputs, Render render) {
  for (const Output& output : outputs)
    // Annotations may be none, and then those of the last run must go; a report that could not be
    // made leaves what was there.
    if (const std::string text = render(output);
        !text.empty() || (output.format == "github" && output.file != to_stdout))
      write(text, output.file);
}

std::string render_ci(const std::string& format, const CiResult& result) {
  return format == "sarif"    ? render_sarif(result)
         : format == "github" ? render_github(result)
                              : render_junit(result);
}

int check(const Options& o) {
  const Setup setup(o);
  const std::vector<Rule> rules = setup.rules(o);
  const std::vector<Output> outputs = outputs_of(o, check_formats);
  if (rules.empty())
    throw Error("--select and --ignore leave no rule to check; `gh-advise rules` lists them");
  const auto settings = setup.config.rule_settings(setup.all_rules);
  const std::optional<Severity> fail_on =
      o.fail_on.empty() ? setup.config.fail_on : parse_severity(o.fail_on, "--fail-on");
  const Selection selection = selection_of(o);
  std::vector<std::string> failures, broken;
  std::map<const Output*, std::string> texts;
  std::vector<std::string> objects;
  SuppressionsOfAll suppressions;
  CiResult result;
  result.rules = rules;
  const bool wants_json = std::any_of(outputs.begin(), outputs.end(),
                                      [](const Output& out) { return out.format == "json"; });
  bool met = false;
  {
    const std::vector<std::vector<std::string>> jobs = find_jobs(o.reports);
    for (const Output& out : outputs)
      if (jobs.size() > 1 && (out.format == "trace" || out.format == "html"))
        throw Error(fmt::format("the format {} is of one report: name one at a time", out.format));
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
        const Timed timed("render");
        for (const Output& output : outputs)
          if (output.format == "trace")
            texts[&output] = render_trace(analysis, report);
          else if (output.format == "html")
            texts[&output] = render_html(analysis, report, rules);
          else if (output.format == "text")
            texts[&output] += (texts[&output].empty() ? "" : "\n") +
                              render_text(analysis, report, style_of(output));
        if (wants_json) objects.push_back(render_json(analysis, report));
        result.add(analysis, report, fail_on);
        // A gate that passes because nothing could be looked at would pass on every broken
        // recording.
        if (fail_on && analysis.total_ns() == 0)
          broken.push_back(
              fmt::format("{}: holds no GPU work, so --fail-on cannot judge it; record it again",
                          analysis.trace.path));
        for (const Finding& f : report.findings) met = met || (fail_on && f.severity >= *fail_on);
        for (const Failed& f : report.failed)
          failures.push_back(fmt::format("rule {} failed: {}", f.rule, f.error));
      } catch (const Error& e) {
        broken.push_back(e.what());  // the other reports can still be judged
      }
    }
  }
  const int status = !broken.empty() || !failures.empty() ? could_not : met ? threshold_met : done;
  result.errors = broken;
  result.verdict = status == could_not       ? Verdict::cannot_tell
                   : status == threshold_met ? Verdict::regressed
                                             : Verdict::passes;
  write_outputs(outputs, [&](const Output& output) -> std::string {
    if (output.format == "text" || output.format == "html" || output.format == "trace")
      return texts[&output];
    if (output.format == "markdown") return render_check_markdown(result);
    if (output.format != "json") return render_ci(output.format, result);
    if (objects.empty()) return "";
    return o.reports.size() == 1 ? objects.front()
                                 : fmt::format("[\n{}]\n", fmt::join(objects, ",\n"));
  });
  for (const std::string& note : suppressions.notes())
    fmt::print(stderr, "gh-advise: note: {}\n", note);
  for (const std::string& e : broken) fmt::print(stderr, "gh-advise: {}\n", e);
  for (const std::string& e : failures) fmt::print(stderr, "gh-advise: {}\n", e);
  return status;
}

// Reads and judges reports for comparison; a baseline stands for the captures that it was made of.
class Capturer {
 public:
  Capturer(const Setup& setup, const Options& o, std::size_t reports)
      : setup_(setup),
        options_(o),
        rules_(setup.rules(o)),
        settings_(setup.config.rule_settings(setup.all_rules)),
        selection_(selection_of(o)),
        progress_(reports) {
    for (const auto& [name, value] : {std::pair("--range", o.range.value_or("")),
                                      {"--device", o.device ? std::to_string(*o.device) : ""},
                                      {"--rank", o.rank ? std::to_string(*o.rank) : ""}})
      if (!value.empty())
        selected_ += fmt::format("{}{} {}", selected_.empty() ? "" : " ", name, printable(value));
  }

  enum class Wanted { reports, baselines_too };
  std::vector<Capture> read(const std::vector<std::string>& paths, Wanted wanted) {
    std::vector<Capture> captures;
    std::vector<std::string> reports;
    for (auto path = paths.begin(); path != paths.end(); ++path) {
      std::error_code ec;
      if (path->empty()) throw Error("an empty name is no report");
      if (std::any_of(paths.begin(), path, [&](const std::string& other) {
            return std::filesystem::equivalent(other, *path, ec);
          }))
        throw Error(fmt::format("{}: is named twice; a capture counts once", printable(*path)));
      if (!is_baseline(*path)) {
        reports.push_back(*path);
        continue;
      }
      if (wanted == Wanted::reports)
        throw Error(fmt::format("{}: is a baseline; a report is wanted here", printable(*path)));
      for (Capture& c : read_baseline(*path)) captures.push_back(std::move(c));
    }
    for (const std::vector<std::string>& job : find_jobs(reports)) {
      progress_.say("reading " + printable(job.front()), done_);
      done_ += job.size();
      const Analysis analysis = setup_.analyse(job, options_, selection_);
      const Facts facts(analysis);
      captures.push_back(capture_of(analysis, facts, evaluate(rules_, analysis, facts, settings_),
                                    rules_, settings_));
      captures.back().selection = selected_;
    }
    return captures;
  }

 private:
  const Setup& setup_;
  const Options& options_;
  std::vector<Rule> rules_;
  std::map<std::string, RuleSettings> settings_;
  Selection selection_;
  std::string selected_;
  Progress progress_;
  std::size_t done_ = 0;
};

int make_baseline(const Options& o) {
  const Setup setup(o);
  if (o.outputs.size() != 1) throw Error("baseline writes one file: --output baseline.json");
  const Output output = outputs_of(o, {"json"}).front();
  const std::vector<Capture> captures =
      Capturer(setup, o, o.reports.size()).read(o.reports, Capturer::Wanted::reports);
  // What nothing can be compared with must not become what everything is compared with.
  if (const auto reasons = incomparable(captures, captures); !reasons.empty())
    throw Error(fmt::format("no baseline was written: {}", fmt::join(reasons, "; ")));
  write(render_baseline(captures), output.file);
  std::vector<Ns> steps;
  for (const Capture& c : captures) steps.push_back(median(c.step_ns));
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  const double spread = static_cast<double>(*most - *least) / static_cast<double>(*least);
  if (spread > setup.config.gate.noise_floor)
    fmt::print(stderr,
               "gh-advise: note: the step takes {} in one capture and {} in another; is each of "
               "them what main comes to?\n",
               duration(*least), duration(*most));
  fmt::print(stderr, "gh-advise: a baseline of {} written to {}\n",
             captures.size() == 1 ? printable(o.reports.front())
                                  : fmt::format("{} captures", captures.size()),
             printable(output.file));
  return done;
}

int digest(const Options& o) {
  const Setup setup(o);
  if (o.outputs.size() != 1) throw Error("digest writes one file: --output rank.digest");
  const std::string file = outputs_of(o, {"json"}).front().file;
  if (o.first_rank && (*o.first_rank < 0 || *o.first_rank > most_rank))
    throw Error(fmt::format("--first-rank: ranks are counted from 0, to {} at most", most_rank));
  Progress progress(1);
  progress.say("digesting " + printable(o.reports.front()), 0);
  const auto analyse = [&](std::optional<int> rank) {
    Selection selection = selection_of(o);
    if (rank) selection.rank = rank;
    return setup.analyse(o.reports, o, selection);
  };
  write(
      pack_digest(make_digest(analyse, o.reports.front(), setup.rules(o),
                              setup.config.rule_settings(setup.all_rules), {o.node, o.first_rank})),
      file);
  return done;
}

int fleet(const Options& o) {
  const Setup setup(o);
  const std::vector<Rule> rules = setup.rules(o);
  const std::vector<Output> outputs = outputs_of(o, gate_formats);
  const std::optional<Severity> fail_on =
      o.fail_on.empty() ? setup.config.fail_on : parse_severity(o.fail_on, "--fail-on");
  const auto late = std::find_if(rules.begin(), rules.end(),
                                 [](const Rule& r) { return r.id == "rank-straggler"; });
  std::vector<std::string> errors;
  const Fleet fleet = [&] {
    const std::vector<std::string> files = find_digests(o.reports);
    Progress progress(1);
    progress.say(fmt::format("reading {} digests", files.size()), 0);
    std::vector<Digest> digests = read_digests(files, errors);
    for (Digest& d : digests)
      for (RankDigest& r : d.ranks) {
        // --select and --ignore choose here as well as in `digest`.
        const auto asked = [&](const std::string& id) {
          return std::any_of(rules.begin(), rules.end(),
                             [&](const Rule& rule) { return rule.id == id; }) ||
                 std::none_of(setup.all_rules.begin(), setup.all_rules.end(),
                              [&](const Rule& rule) { return rule.id == id; });
        };
        std::erase_if(r.findings, [&](const Finding& f) { return !asked(f.rule); });
        std::erase_if(r.rules, [&](const auto& outcome) { return !asked(outcome.first); });
      }
    if (digests.empty())
      throw Error(errors.size() == 1 ? errors.front()
                                     : fmt::format("none of {} digests can be read; the first: {}",
                                                   errors.size(), errors.front()));
    return make_fleet(std::move(digests), late == rules.end() ? nullptr : &*late,
                      setup.config.suppressions, today());
  }();
  // A gate that passes because ranks are missing would pass on every broken job.
  std::vector<std::string> broken = errors;
  if (fail_on && !fleet.missing.empty())
    broken.push_back(
        fmt::format("{}, so --fail-on cannot judge the job", fleet_missing_text(fleet)));
  for (const auto& [id, outcome] : fleet.rules)
    if (outcome.state == RuleOutcome::State::failed)
      broken.push_back(fmt::format("rule {} failed: {}", id, outcome.reason));
  CiResult result = fleet_ci_result(
      fleet, rules, o.reports.size() == 1 ? printable(o.reports.front()) : "the job", fail_on);
  const bool met = std::any_of(result.findings.begin(), result.findings.end(),
                               [](const CiFinding& f) { return f.fails; });
  const int status = !broken.empty() ? could_not : met ? threshold_met : done;
  result.errors = broken;
  result.verdict = status == could_not       ? Verdict::cannot_tell
                   : status == threshold_met ? Verdict::regressed
                                             : Verdict::passes;
  write_outputs(outputs, [&](const Output& output) {
    if (output.format == "text") return render_fleet_text(fleet, style_of(output), errors);
    if (output.format == "json") return render_fleet_json(fleet, errors);
    if (output.format == "html") return render_fleet_html(fleet, errors);
    if (output.format == "markdown") return render_check_markdown(result);
    return render_ci(output.format, result);
  });
  for (const auto& [s, state] : fleet.suppressions)
    if (const std::string note = suppression_note(s, state); !note.empty())
      fmt::print(stderr, "gh-advise: note: {}\n", note);
  for (const std::string& e : broken) fmt::print(stderr, "gh-advise: {}\n", e);
  return status;
}

// Waits for the jobs of a folder, with a line on a terminal that says how far they are.
SlurmStatus wait_for(const SlurmOptions& slurm) {
  const bool terminal = isatty(STDERR_FILENO);
  for (;; std::this_thread::sleep_for(std::chrono::seconds(3))) {
    SlurmStatus status;
    try {
      status = slurm_status(slurm);
    } catch (const QueueSilent&) {
      continue;  // a controller that restarts is back soon
    }
    if (terminal) {
      const std::string text = render_slurm_status(status);
      fmt::print(stderr, "\r\x1b[K{}", text.substr(0, text.find('\n')));
      std::fflush(stderr);
    }
    if (status.busy) continue;
    if (terminal) std::fputs("\r\x1b[K", stderr);
    return status;
  }
}

int slurm(const Options& o) {
  SlurmOptions slurm{o.directory, o.work, o.program, o.container, o.partition,     o.tasks,
                     o.sbatch,    {},     {},        {},          {"json", "html"}};
  if (slurm.program.empty())
    slurm.program = slurm.container.empty()
                        ? std::filesystem::read_symlink("/proc/self/exe").string()
                        : "gh-advise";
  // The scripts run in another folder. A name is looked up on the PATH there, or in the container;
  // an image may be in a registry (docker://).
  const auto is_path = [](const std::string& name) {
    return name.find('/') != name.npos && name.find("://") == name.npos;
  };
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  std::string nsys = o.nsys;
  for (std::string* path : {&slurm.program, &nsys})
    if (slurm.container.empty() && is_path(*path)) *path = absolute(*path);
  std::error_code ec;
  if (!slurm.container.empty() &&
      (is_path(slurm.container) || std::filesystem::exists(slurm.container, ec)))
    slurm.container = absolute(slurm.container);
  if (!o.status) {
    const Setup setup(o);
    setup.rules(o);  // says what is wrong with them here rather than in a thousand tasks
    const auto pass = [&](const char* option, const std::vector<std::string>& values) {
      for (const std::string& v : values)
        for (std::vector<std::string>* arguments :
             {&slurm.digest_arguments, &slurm.fleet_arguments})
          arguments->push_back(fmt::format("{}={}", option, v));
    };
    // Jobs begin in another folder, whose configuration is not this one.
    if (setup.config_path.empty())
      pass("--config", {"none"});
    else {
      pass("--config", {absolute(setup.config_path)});
      slurm.binds.push_back(std::filesystem::absolute(setup.config_path).parent_path());
    }
    for (const std::filesystem::path& folder : setup.config.rule_directories)
      slurm.binds.push_back(std::filesystem::absolute(folder));
    for (const std::string& folder : o.rule_directories) {
      pass("--rules", {absolute(folder)});
      slurm.binds.push_back(std::filesystem::absolute(folder));
    }
    pass("--select", o.select);
    pass("--ignore", o.ignore);
    if (nsys != "nsys") slurm.digest_arguments.push_back("--nsys=" + nsys);
    const SlurmJobs jobs = slurm_jobs(slurm, slurm_max_array_size());
    if (o.dry_run) {
      write(render_slurm(slurm, jobs), to_stdout);
      return done;
    }
    write(submit_slurm(slurm, jobs), to_stdout);
    if (!o.wait) return done;
  }
  const SlurmStatus status = o.wait ? wait_for(slurm) : slurm_status(slurm);
  write(render_slurm_status(status), to_stdout);
  return status.failed.empty() && status.not_merged.empty() && (!o.wait || !status.result.empty())
             ? done
             : could_not;
}

// The suppressions that --accept asks for: of what came in, got worse, may have come in, or broke
// its budget. They hold up to a fifth more than it costs now.
std::vector<Suppression> accepted(const Options& o, const Comparison& c) {
  constexpr double headroom = 1.2;
  std::vector<Suppression> suppressions;
  std::vector<std::string> names;
  std::set<std::string> used;  // of the ids that were asked for
  const auto consider = [&](const Finding& f, const std::string& name, std::optional<double> cost) {
    names.push_back(name);
    bool wanted = false;
    for (const std::string& id : o.accept)
      if (id == name || id == f.fingerprint) {
        wanted = true;
        used.insert(id);
      }
    if (wanted)
      suppressions.push_back({f.rule, f.subject, printable(o.reason), o.until, "",
                              cost ? std::optional(*cost * headroom) : std::nullopt});
  };
  for (const FindingChange& f : c.findings)
    if (f.present &&
        (f.change == FindingState::fresh || f.change == FindingState::worse || f.untold))
      consider(f.finding, f.finding.rule,
               f.after_ns > 0 ? std::optional(std::round(f.after_ns)) : std::nullopt);
  // One that fell below its limit is accepted however far it falls.
  for (const BudgetResult& b : c.budgets)
    if (b.state == BudgetResult::State::broken)
      consider(finding_of(b), b.budget.fact,
               b.value.effect > 0 ? std::optional(b.value.after) : std::nullopt);
  for (const std::string& id : o.accept)
    if (!used.contains(id))
      throw Error(
          fmt::format("--accept {}: nothing of that name came in, got worse or broke its budget{}",
                      printable(id),
                      names.empty() ? "" : fmt::format("; these did: {}", fmt::join(names, ", "))));
  return suppressions;
}

void check_accept_options(const Options& o) {
  if (o.accept.empty()) {
    if (!o.reason.empty() || !o.until.empty())
      throw Error("--reason and --until belong to --accept ID");
    return;
  }
  if (o.reason.find_first_not_of(' ') == std::string::npos)
    throw Error("--accept needs --reason TEXT: whoever reads the configuration wants to know why");
  if (o.until.empty()) return;
  const auto digits = [&](std::size_t at, std::size_t n) {
    return o.until.find_first_not_of("0123456789", at) ==
                   (at + n < o.until.size() ? at + n : std::string::npos)
               ? std::atoi(o.until.substr(at, n).c_str())
               : -1;
  };
  const bool shaped = o.until.size() == 10 && o.until[4] == '-' && o.until[7] == '-' &&
                      digits(0, 4) >= 0 && digits(5, 2) >= 0 && digits(8, 2) >= 0;
  if (!shaped ||
      !std::chrono::year_month_day(std::chrono::year(digits(0, 4)),
                                   std::chrono::month(static_cast<unsigned>(digits(5, 2))),
                                   std::chrono::day(static_cast<unsigned>(digits(8, 2))))
           .ok())
    throw Error(fmt::format("--until {}: give a day, as in 2026-12-31", printable(o.until)));
  if (o.until < today()) throw Error(fmt::format("--until {}: is past", o.until));
}

int gate(const Options& o) {
  const Setup setup(o);
  check_accept_options(o);
  const std::vector<Output> outputs = outputs_of(o, gate_formats);
  GateSettings settings = setup.config.gate;
  if (!o.fail_on.empty()) settings.fail_on = parse_severity(o.fail_on, "--fail-on");
  Comparison c;
  std::vector<Capture> before, after;
  std::string unreadable;
  try {
    Capturer capturer(setup, o, o.reports.size() + o.baselines.size());
    before = capturer.read(o.baselines, Capturer::Wanted::baselines_too);
    after = capturer.read(o.reports, Capturer::Wanted::reports);
    c = compare(before, after, settings, setup.config.suppressions, today());
    if (!o.accept.empty()) {
      if (c.verdict == Verdict::cannot_tell && c.reasons.empty() &&
          !incomparable(before, after).empty())
        throw Error(fmt::format("--accept: nothing can be compared: {}", c.incomparable.front()));
      const std::string path = setup.config_path.empty() ? "gh-advise.toml" : setup.config_path;
      const std::vector<Suppression> added = accepted(o, c);
      const std::string text = with_suppressions(path, added);
      write_file(path, text);
      for (const Suppression& s : added)
        fmt::print(stderr, "gh-advise: accepted {}, {}: written to {}\n", s.rule, s.subject,
                   printable(path));
      c = compare(before, after, settings, Config(text, path).suppressions, today());
    }
  } catch (const Error& e) {
    // CI looks at what was written, also where nothing could be judged.
    const bool only_text = std::all_of(outputs.begin(), outputs.end(), [](const Output& out) {
      return out.format == "text" && out.file == to_stdout;
    });
    if (!o.accept.empty() || only_text) throw;
    unreadable = e.what();
    c.verdict = Verdict::cannot_tell;
    c.incomparable = {unreadable};
    c.headline = fmt::format("Cannot tell: {}.", unreadable);
    c.before = printable(fmt::format("{}", fmt::join(o.baselines, ", ")));
    c.after = printable(fmt::format("{}", fmt::join(o.reports, ", ")));
  }
  const CiResult result = ci_result(c, after, setup.rules(o));
  write_outputs(outputs, [&](const Output& output) {
    if (output.format == "text")
      return render_comparison_text(c, Detail::verdict, style_of(output));
    if (output.format == "json") return render_comparison_json(c);
    if (output.format == "markdown") return render_comparison_markdown(c);
    if (output.format == "html") return render_comparison_html(c, before, after);
    return render_ci(output.format, result);
  });
  for (const auto& [s, state] : c.suppressions)
    if (const std::string note = suppression_note(s, state); !note.empty())
      fmt::print(stderr, "gh-advise: note: {}\n", note);
  if (!unreadable.empty()) fmt::print(stderr, "gh-advise: {}\n", unreadable);
  return c.verdict == Verdict::passes      ? done
         : c.verdict == Verdict::regressed ? threshold_met
                                           : could_not;
}

int diff(const Options& o) {
  const Setup setup(o);
  const std::vector<Output> outputs = outputs_of(o, diff_formats);
  Comparison c;
  std::vector<Capture> before, after;
  {
    Capturer capturer(setup, o, 2);
    before = capturer.read({o.reports.front()}, Capturer::Wanted::baselines_too);
    after = capturer.read({o.reports.back()}, Capturer::Wanted::baselines_too);
    c = compare(before, after, {}, {}, today());
  }
  write_outputs(outputs, [&](const Output& output) {
    if (output.format == "html") return render_comparison_html(c, before, after);
    return output.format == "json" ? render_comparison_json(c)
           : output.format == "markdown"
               ? render_comparison_markdown(c)
               : render_comparison_text(c, Detail::everything, style_of(output));
  });
  return done;
}

int list_facts(const Options& o) {
  const Setup setup(o);
  const Analysis analysis = [&] {
    Progress progress(1);
    progress.say("reading " + printable(o.reports.front()), 0);
    return setup.analyse({o.reports.front()}, o, selection_of(o));
  }();
  const Facts facts(analysis);
  write_outputs(outputs_of(o, two_formats), [&](const Output& output) {
    return output.format == "json" ? render_facts_json(analysis, facts)
                                   : render_facts_text(analysis, facts, style_of(output));
  });
  return done;
}

int list_rules(const Options& o) {
  const Setup setup(o);
  const std::vector<Rule> rules = setup.rules(o);
  write_outputs(outputs_of(o, two_formats), [&](const Output& output) {
    return output.format == "json" ? render_rules_json(rules)
                                   : render_rules_text(rules, style_of(output));
  });
  return done;
}

int explain(const Options& o) {
  const Setup setup(o);
  std::vector<std::string> ids;
  for (const Rule& r : setup.all_rules) {
    ids.push_back(r.id);
    if (r.id != o.rule_id) continue;
    write(render_explanation(r, style_of(isatty(STDOUT_FILENO))), to_stdout);
    return done;
  }
  throw Error(fmt::format("there is no rule '{}'{}; `gh-advise rules` lists them",
                          printable(o.rule_id), did_you_mean(o.rule_id, ids)));
}

// The recorded reports that the build unpacks lie beside the program.
std::filesystem::path fixtures_beside_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fixtures";
}

int new_rule(const Options& o) {
  const std::size_t slash = o.rule_id.find('/');
  const NewRule made =
      make_rule(slash == std::string::npos ? "" : o.rule_id.substr(0, slash),
                slash == std::string::npos ? o.rule_id : o.rule_id.substr(slash + 1));
  const std::filesystem::path folder = std::filesystem::path(o.directory) / made.category;
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec)
    throw Error(fmt::format("--in {}: cannot be made: {}", printable(o.directory), ec.message()));
  const std::filesystem::path rule = folder / (made.id + ".lua"),
                              test = folder / (made.id + ".test.lua");
  for (const std::filesystem::path& path : {rule, test})
    if (std::filesystem::exists(path, ec))
      throw Error(fmt::format("{}: is there already; choose another name or folder",
                              printable(path.string())));
  write_file(rule, made.rule);
  write_file(test, made.test);
  write(fmt::format("{}\n{}\nEdit both, then run: gh-advise test {}\n", printable(rule.string()),
                    printable(test.string()), printable(o.directory)),
        to_stdout);
  return done;
}

int write_docs(const Options& o) {
  const Setup setup(o);
  for (const Page& page : documentation(setup.all_rules, fixtures_beside_program())) {
    const std::filesystem::path path = std::filesystem::path(o.directory) / page.path;
    std::error_code ec;
    std::filesystem::create_directories(path.parent_path(), ec);
    if (ec)
      throw Error(
          fmt::format("--out {}: cannot be made: {}", printable(o.directory), ec.message()));
    write_file(path, page.text);
  }
  return done;
}

int show_config(const Options& o) {
  const Setup setup(o);
  write(render_config(setup.config, setup.all_rules), to_stdout);
  return done;
}

int scrub_report(const Options& o) {
  const std::string& out = o.outputs.front();
  const Scrubbed s = [&] {
    Progress progress(1);
    progress.say("scrubbing " + printable(o.reports.front()), 0);
    return scrub(o.reports.front(), out);
  }();
  std::string text = fmt::format("{}\n", printable(out));
  for (const auto& [what, count] : s.removed)
    if (count > 0) text += fmt::format("  {:<26} {} removed\n", what, count);
  text +=
      fmt::format("  {:<26} {} changed, where one of these, a home folder or a name stood in it\n",
                  "other texts", s.changed);
  if (!s.left_out.empty())
    text += fmt::format("  {:<26} {}\n", "left out",
                        printable(fmt::format("{}", fmt::join(s.left_out, ", "))));
  text += fmt::format(
      "Searched for {} values and names, and for home folders: none is left in {}.\n"
      "Names of kernels, ranges, threads, GPUs and files outside of home folders stay; look at "
      "those before you share it.\n",
      s.searched_for, bytes_text(static_cast<double>(s.bytes)));
  write(text, to_stdout);
  return done;
}

int test_rules(const Options& o) {
  const RuleTestResult result = run_rule_tests(
      o.test_directory,
      {o.fixtures.empty() ? fixtures_beside_program() : std::filesystem::path(o.fixtures), o.filter,
       o.update});
  write(result.output, to_stdout);
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
  CLI::App app{
      "Finds what slows down a GPU training run, from its Nsight Systems report or PyTorch "
      "profiler trace: what to fix first, what it is worth, and where the proof is."};
  app.name("gh-advise");
  app.set_version_flag("--version", std::string("gh-advise ") + GH_ADVISE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "`gh-advise REPORT...` is short for `gh-advise check REPORT...`.\n"
      "Exit status: 0; 1 where --fail-on is met, gate finds a regression or a rule test fails; 2 "
      "where the job could not be done.");

  const auto rule_options = [&](CLI::App* c) {
    c->add_option("--rules", o.rule_directories,
                  "A folder with more rules (may be given several times)")
        ->type_name("DIR")
        ->allow_extra_args(false);
    c->add_option(
         "--config", o.config_path,
         "The configuration, instead of the nearest gh-advise.toml here or above; none for none")
        ->type_name("FILE");
  };
  const auto chosen_rules = [&](CLI::App* c) {
    c->add_option("--select", o.select, "Only these rules: ids or categories, separated by commas")
        ->delimiter(',')
        ->type_name("RULE")
        ->allow_extra_args(false);
    c->add_option("--ignore", o.ignore, "Not these rules")
        ->delimiter(',')
        ->type_name("RULE")
        ->allow_extra_args(false);
  };
  const auto printing = [&](CLI::App* c, const Formats& formats) {
    c->add_option("--format", o.format, fmt::format("{}", fmt::join(formats, ", ")))
        ->transform(CLI::IsMember(formats));
    c->add_option("--output", o.outputs,
                  formats.size() > 2 ? "Write to a file instead of standard output; FORMAT=FILE "
                                       "writes another format as well (several times)"
                                     : "Write to a file instead of standard output")
        ->type_name(formats.size() > 2 ? "[FORMAT=]FILE" : "FILE")
        ->allow_extra_args(false);
  };
  const auto selecting = [&](CLI::App* c) {
    c->add_option("--steps", o.steps, "Only these steps, by number: 10:20")
        ->type_name("FIRST:LAST");
    c->add_option("--range", o.range,
                  "Only what was launched inside NVTX ranges of this name (* and ? allowed)")
        ->type_name("NAME");
    c->add_option("--device", o.device, "Only this GPU");
    c->add_option("--rank", o.rank, "Only this process, counted from 0 in order of GPUs");
    c->add_option("--nsys", o.nsys,
                  "The nsys that exports .nsys-rep files (default: the one on the PATH)")
        ->type_name("PATH");
    c->add_option("--threads", o.threads,
                  "How many threads work at one time (default: as many as there are processors); "
                  "results do not depend on it")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    c->add_flag("--profile", o.profile,
                "Print to standard error where the program's own time and memory went");
    c->add_option("--dcgm", o.dcgm,
                  "What DCGM sampled meanwhile: the text of `dcgmi dmon -e 1002,1003,1004,1005`, "
                  "or of dcgm-exporter's metrics")
        ->type_name("FILE");
  };

  CLI::App* check_command = app.add_subcommand("check", "Advise on one or several reports");
  check_command
      ->add_option(
          "REPORT", o.reports,
          "Reports of Nsight Systems (.sqlite, or .nsys-rep where there is nsys) and PyTorch "
          "profiler traces (.json, .json.gz). Files of one job's ranks make one report")
      ->required();
  printing(check_command, check_formats);
  chosen_rules(check_command);
  rule_options(check_command);
  selecting(check_command);
  check_command
      ->add_option("--fail-on", o.fail_on,
                   "Exit with 1 where a finding is at least this severe: error, warning or note")
      ->type_name("SEVERITY");

  CLI::App* baseline_command = app.add_subcommand(
      "baseline", "Keep what one or several captures come to, for gate to compare with");
  baseline_command->add_option("REPORT", o.reports, "Reports of one program on one kind of GPU")
      ->required();
  baseline_command->add_option("-o,--output", o.outputs, "The baseline")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false);
  chosen_rules(baseline_command);
  rule_options(baseline_command);
  selecting(baseline_command);

  CLI::App* gate_command = app.add_subcommand(
      "gate", "Compare with a baseline: exit 0 passes, 1 regressed, 2 cannot tell");
  gate_command->add_option("REPORT", o.reports, "One or several captures of what is to be merged")
      ->required();
  gate_command
      ->add_option("--baseline", o.baselines,
                   "What `gh-advise baseline` wrote, or a report (several times)")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false);
  printing(gate_command, gate_formats);
  chosen_rules(gate_command);
  rule_options(gate_command);
  selecting(gate_command);
  gate_command
      ->add_option("--fail-on", o.fail_on,
                   "Findings that came in and budgets that broke fail from this severity on: "
                   "error, warning (unless set) or note")
      ->type_name("SEVERITY");
  gate_command
      ->add_option("--accept", o.accept,
                   "Write an exception into the configuration: for a rule that came in or got "
                   "worse, one finding's fingerprint, or a budget's fact")
      ->delimiter(',')
      ->type_name("ID")
      ->allow_extra_args(false);
  gate_command->add_option("--reason", o.reason, "Why it is accepted")->type_name("TEXT");
  gate_command
      ->add_option("--until", o.until,
                   "The last day on which it is: 2026-12-31; for good where it is not given")
      ->type_name("DATE");

  CLI::App* digest_command = app.add_subcommand(
      "digest", "Write what one report of a job comes to, for fleet to bring together");
  digest_command->add_option("REPORT", o.reports, "The report of a rank, or of all ranks of a node")
      ->required()
      ->expected(1);
  digest_command->add_option("-o,--output", o.outputs, "The digest")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false);
  digest_command
      ->add_option("--first-rank", o.first_rank,
                   "The rank of the report's first process in the job, where neither the report "
                   "nor its name (rank7) says")
      ->type_name("N");
  digest_command
      ->add_option("--node", o.node, "The machine that it ran on, instead of what the report says")
      ->type_name("NAME");
  chosen_rules(digest_command);
  rule_options(digest_command);
  selecting(digest_command);

  CLI::App* fleet_command = app.add_subcommand("fleet",
                                               "Bring the digests of a job's ranks together: what "
                                               "holds on how many, who is late, what to fix");
  fleet_command
      ->add_option("DIGEST", o.reports,
                   "What `gh-advise digest` wrote, of each rank or node; or folders of *.digest")
      ->required();
  printing(fleet_command, gate_formats);
  chosen_rules(fleet_command);
  rule_options(fleet_command);
  fleet_command
      ->add_option("--fail-on", o.fail_on,
                   "Exit with 1 where a finding is at least this severe: error, warning or note")
      ->type_name("SEVERITY");

  CLI::App* slurm_command = app.add_subcommand("slurm",
                                               "Digest a folder of reports as a Slurm job, and "
                                               "bring them together in another that depends on it");
  slurm_command
      ->add_option("DIR", o.directory,
                   "The reports of a job's ranks, on a file system that the nodes share; what has "
                   "a digest already is not done again")
      ->required();
  slurm_command
      ->add_option(
          "--work", o.work,
          "The folder for scripts, digests, logs and the result (default: gh-advise/ in DIR)")
      ->type_name("DIR");
  slurm_command->add_option("--partition", o.partition, "As sbatch has it")->type_name("NAME");
  slurm_command
      ->add_option("--ntasks", o.tasks,
                   "Divide the reports among so many tasks of an array (default: one each, as far "
                   "as the cluster allows)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000'000));
  slurm_command
      ->add_option("--sbatch", o.sbatch,
                   "Another option of sbatch, as in --sbatch=--mem=8G (several times)")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  slurm_command
      ->add_option("--container", o.container,
                   "Run gh-advise out of this image, by Apptainer or Singularity")
      ->type_name("IMAGE");
  slurm_command
      ->add_option(
          "--program", o.program,
          "gh-advise as the nodes find it (default: this one; in a container the one on its PATH)")
      ->type_name("PATH");
  slurm_command->add_option("--nsys", o.nsys, "The nsys that exports .nsys-rep files there")
      ->type_name("PATH");
  slurm_command->add_flag("--dry-run", o.dry_run,
                          "Print the scripts and how they would be submitted, and write nothing");
  slurm_command->add_flag("--wait", o.wait, "Wait until all is done; exit 2 where a report failed");
  slurm_command->add_flag("--status", o.status,
                          "Submit nothing: say how far it is, and what failed");
  chosen_rules(slurm_command);
  rule_options(slurm_command);

  CLI::App* diff_command =
      app.add_subcommand("diff", "Show what changed between two reports or baselines");
  diff_command->add_option("REPORT", o.reports, "Before and after")->required()->expected(2);
  printing(diff_command, diff_formats);
  chosen_rules(diff_command);
  rule_options(diff_command);
  selecting(diff_command);

  CLI::App* facts_command = app.add_subcommand("facts", "Print the facts of a report, with units");
  facts_command->add_option("REPORT", o.reports, "A report")->required()->expected(1);
  printing(facts_command, two_formats);
  rule_options(facts_command);
  selecting(facts_command);

  CLI::App* rules_command = app.add_subcommand("rules", "List the rules");
  printing(rules_command, two_formats);
  chosen_rules(rules_command);
  rule_options(rules_command);

  CLI::App* explain_command = app.add_subcommand("explain", "Print a rule's documentation");
  explain_command->add_option("RULE", o.rule_id, "The rule's id")->required();
  rule_options(explain_command);

  CLI::App* test_command = app.add_subcommand("test", "Run the tests of the rules in a folder");
  test_command->add_option("DIR", o.test_directory, "A folder with *.test.lua beside the rules")
      ->required();
  test_command
      ->add_option("--filter", o.filter,
                   "Only cases, or rules, whose name matches (* and ? allowed)")
      ->type_name("NAME");
  test_command->add_flag("--update", o.update, "Write the snapshots anew that cases expect");
  test_command
      ->add_option("--fixtures", o.fixtures,
                   "Where the reports lie that cases name (default: fixtures/ beside the program)")
      ->type_name("DIR");

  CLI::App* new_rule_command =
      app.add_subcommand("new-rule", "Write a rule and its test, to be edited");
  new_rule_command->add_option("NAME", o.rule_id, "CATEGORY/ID, as in comm/tiny-collectives")
      ->required();
  new_rule_command->add_option("--in", o.directory, "The team's folder of rules")
      ->required()
      ->type_name("DIR");

  CLI::App* docs_command = app.add_subcommand(
      "docs", "Write the documentation: rules, facts, the rule API, configuration, formats");
  docs_command->add_option("--out", o.directory, "The folder to write to")
      ->required()
      ->type_name("DIR");
  rule_options(docs_command);

  CLI::App* scrub_command =
      app.add_subcommand("scrub",
                         "Copy a report without environment, command lines, captured output and "
                         "names of hosts and users, to be shared");
  scrub_command
      ->add_option("REPORT", o.reports,
                   "A report of Nsight Systems (.sqlite) or a PyTorch profiler trace")
      ->required()
      ->expected(1);
  scrub_command->add_option("-o,--output", o.outputs, "The copy; packed where it ends in .gz")
      ->type_name("FILE")
      ->required()
      ->expected(1);

  CLI::App* config_command = app.add_subcommand(
      "config", "Print the configuration in effect, and where each value comes from");
  rule_options(config_command);

  CLI::App* completion_command = app.add_subcommand(
      "completion", "Print what a shell sources to complete commands, options and rules");
  completion_command->add_option("SHELL", o.shell, "bash, zsh or fish")
      ->required()
      ->transform(CLI::IsMember(shells));

  CLI::App* manual_command =
      app.add_subcommand("manual", "Print the manual page, as in: gh-advise manual | man -l -");

  std::vector<std::string> commands;
  for (const CLI::App* c : app.get_subcommands([](CLI::App*) { return true; }))
    commands.push_back(c->get_name());
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool has_command =
      !arguments.empty() &&
      (std::find(commands.begin(), commands.end(), arguments.front()) != commands.end() ||
       arguments.front() == "--help" || arguments.front() == "-h" ||
       arguments.front() == "--version");
  if (!arguments.empty() && !has_command) {
    // A lone word that is no file is more likely a misspelt command than a report.
    std::error_code ec;
    const std::string& first = arguments.front();
    const bool word = first.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos &&
                      first.front() != '-';
    if (const std::string hint = did_you_mean(first, commands);
        word && !hint.empty() && !std::filesystem::exists(first, ec))
      throw Error(fmt::format("'{}' is neither a command nor a file{}", first, hint));
    arguments.insert(arguments.begin(), "check");
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto subcommands = app.get_subcommands();
    write(subcommands.empty() ? app.help() : subcommands.front()->help("gh-advise"), to_stdout);
    return done;
  } catch (const CLI::CallForVersion&) {
    write(version_text(), to_stdout);
    return done;
  } catch (const CLI::ParseError& e) {
    const auto subcommands = app.get_subcommands();
    const CLI::App& command = subcommands.empty() ? app : *subcommands.front();
    for (const std::string& extra : app.remaining(true))
      if (extra.starts_with("-")) {
        const std::string name = extra.substr(0, extra.find('='));
        std::vector<std::string> known = option_names(command);
        if (!has_command) known.push_back("--version");
        throw Error(fmt::format("{} has no option '{}'{}; see `gh-advise {}--help`",
                                command.get_name(), printable(name), did_you_mean(name, known),
                                subcommands.empty() ? "" : command.get_name() + " "));
      }
    std::string what = printable(e.what());
    if (subcommands.empty()) what = "name a report, or a command";
    throw Error(fmt::format("{}; see `gh-advise {}--help`", what,
                            subcommands.empty() ? "" : command.get_name() + " "));
  }

  use_threads(o.threads);
  if (o.profile) start_profile();
  struct AtEnd {
    bool profile;
    ~AtEnd() {
      if (profile) std::fputs(render_profile().c_str(), stderr);
    }
  } at_end{o.profile};
  if (check_command->parsed()) return check(o);
  if (baseline_command->parsed()) return make_baseline(o);
  if (gate_command->parsed()) return gate(o);
  if (digest_command->parsed()) return digest(o);
  if (fleet_command->parsed()) return fleet(o);
  if (slurm_command->parsed()) return slurm(o);
  if (diff_command->parsed()) return diff(o);
  if (facts_command->parsed()) return list_facts(o);
  if (rules_command->parsed()) return list_rules(o);
  if (explain_command->parsed()) return explain(o);
  if (new_rule_command->parsed()) return new_rule(o);
  if (docs_command->parsed()) return write_docs(o);
  if (scrub_command->parsed()) return scrub_report(o);
  if (config_command->parsed()) return show_config(o);
  if (completion_command->parsed()) {
    write(completion(app, o.shell, own_rules()), to_stdout);
    return done;
  }
  if (manual_command->parsed()) {
    write(manual_page(app), to_stdout);
    return done;
  }
  return test_rules(o);
}

}  // namespace

int main(int argc, char** argv) {
  clean_up_when_interrupted();
  // Selections of millions of rows come and go: what they held goes back to the system, instead of
  // a heap that only grows.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gh-advise: {}\n", printable(e.what()));
    return could_not;
  }
}
