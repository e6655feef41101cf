#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/deadline.hpp"
#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "base/streams.hpp"
#include "base/text.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

// One of the two numbers of --steps.
std::int64_t step_number(const std::string& text, const std::string& steps) {
  const auto number = number_in<std::int64_t>(text);
  if (!number || *number < 0)
    throw Error(fmt::format("--steps {}: give the first and the last step, as in --steps 10:20",
                            printable(steps)));
  return *number;
}

Ns measured_duration(const std::string& value) {
  const auto ns = parsed_duration(value);
  if (!ns)
    throw Error(fmt::format(
        "--measured-step {}: give a time above 0 with its unit, as in 16.5ms (ns, us, ms, s)",
        printable(value)));
  return *ns;
}

}  // namespace

void RuleOptions::add_sources(Parser& command) {
  command.option("--rules DIR...", directories,
                 "A folder with more rules; may be given several times");
  command.option(
      "--config FILE", config,
      "The configuration (default: the nearest gh-advise.toml in this folder or above); none "
      "uses no configuration");
}

void RuleOptions::add(Parser& command) {
  command.option("--select RULE,...", select,
                 "Only these rules: ids or categories, separated by commas");
  command.option("--ignore RULE,...", ignore,
                 "All rules but these: ids or categories, separated by commas");
  add_sources(command);
}

void add_timeout(Parser& command, std::int64_t& seconds) {
  command
      .option(
          "--timeout SECONDS", seconds,
          "Give up a report after this many seconds of processor time (default: 60, plus 300 per "
          "GiB; most reports take a few)")
      .between(1, 1'000'000);
}

void ReportOptions::add(Parser& command) {
  command.option("--steps FIRST:LAST", steps,
                 "Only these steps (tokens, iterations), by number, as in 10:20");
  command.option(
      "--range NAME", range,
      "Only GPU work that was launched inside NVTX ranges of this name (* and ? allowed)");
  command.option("--unit NAME", unit,
                 "What to call a step: token, micro-batch, layer, epoch, another loop, or window "
                 "for the whole "
                 "recording; -v "
                 "lists what repeats (default: the smallest loop that leaves nothing out)");
  command.option(
      "--measured-step TIME...", measured_step,
      "The time of a step without the profiler, as your log has it: 16.5ms. It corrects for "
      "the profiler's overhead. With several reports, give REPORT=16.5ms for each");
  command.option("--device", device, "Only this GPU");
  command.option("--rank", rank, "Only this process, numbered from 0 in the order of GPUs");
  command.option("--nsys PATH", nsys,
                 "The nsys program that exports .nsys-rep files (default: nsys on the PATH)");
  command
      .option("--threads N", threads,
              "The number of threads (default: one a processor); results do not depend on it")
      .between(1, 1024);
  add_timeout(command, timeout);
  command.flag("--profile", profile,
               "Print the time and memory that gh-advise itself took, to standard error");
  command.option("--dcgm FILE", dcgm,
                 "DCGM's samples from the same time: the output of `dcgmi dmon -e "
                 "1002,1003,1004,1005,100,155,164`, or the metrics of dcgm-exporter");
}

std::vector<std::string> ReportOptions::inputs(std::vector<std::string> reports) const {
  if (!dcgm.empty()) reports.push_back(dcgm);
  return reports;
}

Selection ReportOptions::selection() const {
  if (range && range->empty()) throw Error("--range: is empty; give the name of an NVTX range");
  Selection selection;
  selection.range = printable(range.value_or(""));  // as the names are that it is held against
  if (unit && unit->empty()) throw Error("--unit: is empty; give a name, such as token");
  selection.unit = printable(unit.value_or(""));
  selection.device = device;
  selection.rank = rank;
  if (steps.empty()) return selection;
  const std::size_t colon = steps.find(':');
  const std::int64_t first = step_number(steps.substr(0, colon), steps);
  const std::int64_t last =
      colon == std::string::npos ? first : step_number(steps.substr(colon + 1), steps);
  if (last < first)
    throw Error(fmt::format("--steps {}: the last step comes before the first", printable(steps)));
  selection.steps = {first, last};
  return selection;
}

MeasuredSteps::MeasuredSteps(const ReportOptions& options,
                             const std::vector<std::string>& reports) {
  for (const std::string& given : options.measured_step) {
    const std::size_t sign = given.rfind('=');
    const std::string report = given.substr(0, sign == std::string::npos ? 0 : sign);
    const Ns ns = measured_duration(sign == std::string::npos ? given : given.substr(sign + 1));
    if (sign == std::string::npos) {
      if (const auto jobs = find_jobs(reports).size(); jobs != 1)
        throw Error(
            fmt::format("--measured-step {}: which of the {} reports? Write --measured-step {}={}",
                        printable(given), jobs,
                        reports.empty() ? "REPORT" : printable(reports.front()), printable(given)));
      if (any_ || !named_.empty()) throw Error("--measured-step: is given twice for one report");
      any_ = ns;
      continue;
    }
    if (std::find(reports.begin(), reports.end(), report) == reports.end())
      throw Error(fmt::format("--measured-step {}: '{}' is not one of the reports{}",
                              printable(given), printable(report), did_you_mean(report, reports)));
    if (any_ || !named_.emplace(report, ns).second)
      throw Error("--measured-step: is given twice for one report");
  }
}

std::optional<Ns> MeasuredSteps::of(const std::vector<std::string>& job) const {
  Ns sum = 0, count = 0;  // ranks wait for each other: their mean counts
  for (const std::string& file : job)
    if (const auto named = named_.find(file); named != named_.end()) {
      sum += named->second;
      ++count;
    }
  return count > 0 ? std::optional(sum / count) : any_;
}

Working::Working(const ReportOptions& options) : profile_(options.profile) {
  use_threads(options.threads);
  use_timeout(options.timeout);
  if (profile_) start_profile();
}

Working::~Working() {
  if (profile_) write_to_stderr(render_profile());
}

}  // namespace gh
