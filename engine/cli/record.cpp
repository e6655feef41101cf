// gh-advise record: a program run as always, timed, recorded and advised on.
#include "record/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "advise.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/programs.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct RecordCommand {
  std::vector<std::string> program;
  std::string output, delay, length = "5s", limit, ranks, nsys = "nsys";
  int units = 10;
  bool metrics = false, stacks = false, memory = false, layers = false;
  bool once = false, stop = false, keep = false, force = false;
  StyleOptions style;
  RuleOptions rule;
};

RecordRequest request_of(const RecordCommand& o, const fs::path& output) {
  RecordRequest request;
  request.program = o.program;
  request.output = output;
  request.nsys = o.nsys;
  request.units = o.units;
  const Delay delay = parsed_delay(o.delay);
  request.delay = delay.units;
  request.delay_ns = delay.ns;
  request.length_ns = duration_option("--length", o.length);
  if (!o.limit.empty()) request.limit_ns = duration_option("--limit", o.limit);
  request.timing = o.once ? Timing::attached : Timing::apart;
  request.too = {o.metrics, o.stacks, o.memory, o.layers};
  request.stop = o.stop;
  request.keep_rep = o.keep;
  request.says = print_note;
  return request;
}

// Advice on a recording, or on those of the ranks of a job: its text on standard output, its page
// beside it, unless the page is "".
void advise_on(const std::vector<std::string>& reports, const fs::path& page,
               const RecordCommand& o, const Settings& settings) {
  Request request = settings.request(settings.rules(o.rule), ReportOptions());
  request.suppressions = settings.config.suppressions;
  request.today = today();
  request.files = reports;
  const Advice advice = advise(request);
  if (!page.empty()) write(render_html(*advice.analysis, advice.report, settings.all_rules), page);
  write(render_text(*advice.analysis, advice.report, o.style.style(stdout_is_terminal())),
        to_stdout);
  const std::string first = printable(reports.front());
  print_note(fmt::format(
      "wrote {}{}",
      reports.size() == 1 ? first : fmt::format("{} recordings from {} on", reports.size(), first),
      page.empty() ? "" : " and " + printable(page.string())));
}

// The page beside a recording. Make it before the program starts: a file of that name that appears
// later is the program's own.
class Page {
 public:
  explicit Page(const fs::path& output)
      : path_(output.string() + ".html"), was_there_(fs::exists(path_)) {}
  fs::path where() const { return was_there_ || !fs::exists(path_) ? path_ : ""; }  // "": nowhere

 private:
  fs::path path_;
  bool was_there_;
};

// What the program's end means for this one's.
int status_for(int program, const RecordCommand& o) {
  if (program == 0 || o.stop) return done;
  print_message(fmt::format("the program ended with status {}, after it was recorded", program));
  return could_not;
}

int record_alone(const RecordCommand& o) {
  if (!o.ranks.empty())
    throw Error(
        "--ranks: is for programs that srun or mpirun starts; any other recording holds all ranks "
        "of this machine");
  const Settings settings(o.rule);
  settings.rules(o.rule);  // says now what is wrong with them
  const NewOutput output(o.output, recording_name(o.program), o.force);
  RecordRequest request = request_of(o, output.name());
  const Page page(output.name());
  request.recorded = [&](const fs::path& report) {
    advise_on({report}, page.where(), o, settings);
  };
  return status_for(record(request), o);
}

// So many units pass in each rank if --delay does not say otherwise, since all ranks have to be
// recorded in the same steps, and each of them settles at another.
constexpr int units_before_ranks = 30;

std::string output_of_rank(const fs::path& output, int rank) {
  return fmt::format("{}.rank{}", output.string(), rank);
}

// As one of the ranks that srun or mpirun started: only records.
int record_own_rank(const RecordCommand& o, int rank) {
  const NewOutput output(output_of_rank(output_name(o.output, recording_name(o.program)), rank), "",
                         o.force);
  RecordRequest request = request_of(o, output.name());
  if (!request.delay && !request.delay_ns) request.delay = units_before_ranks;
  request.one_rank = true;
  request.timing = Timing::attached;  // MPI starts a rank's program once
  request.says = [&](const std::string& note) {
    print_note(fmt::format("rank {}: {}", rank, note));
  };
  request.recorded = [&](const fs::path& report) {
    request.says(fmt::format("wrote {}", printable(report.string())));
  };
  const std::vector<int> chosen = o.ranks.empty() ? std::vector{rank} : ranks_of(o.ranks);
  const bool is_chosen = std::find(chosen.begin(), chosen.end(), rank) != chosen.end();
  return is_chosen ? status_for(record(request), o) : run_to_end(request);
}

// What each rank is started with: this program, as the user gave it.
std::vector<std::string> command_of_ranks(const RecordCommand& o, std::size_t program,
                                          const fs::path& output) {
  std::vector<std::string> words(o.program.begin(),
                                 o.program.begin() + static_cast<std::ptrdiff_t>(program));
  words.insert(words.end(), {fs::read_symlink("/proc/self/exe").string(), "record",
                             "--output=" + output.string(), fmt::format("--units={}", o.units),
                             "--length=" + o.length, "--nsys=" + o.nsys});
  for (const auto& [name, value] : {std::pair("--delay=", o.delay), std::pair("--limit=", o.limit),
                                    std::pair("--ranks=", o.ranks)})
    if (!value.empty()) words.push_back(name + value);
  for (const auto& [name, given] :
       {std::pair("--metrics", o.metrics), std::pair("--stacks", o.stacks),
        std::pair("--memory", o.memory), std::pair("--layers", o.layers),
        std::pair("--once", o.once), std::pair("--stop", o.stop),
        std::pair("--keep-nsys-rep", o.keep), std::pair("--force", o.force)})
    if (given) words.emplace_back(name);
  words.emplace_back("--");
  words.insert(words.end(), o.program.begin() + static_cast<std::ptrdiff_t>(program),
               o.program.end());
  return words;
}

int record_ranks(const RecordCommand& o, std::size_t program) {
  const Settings settings(o.rule);
  settings.rules(o.rule);  // says now what is wrong with them
  const std::vector<std::string> own(o.program.begin() + static_cast<std::ptrdiff_t>(program),
                                     o.program.end());
  const NewOutput reserved(o.output, recording_name(own), o.force);
  const fs::path& output = reserved.name();
  if (!o.ranks.empty()) ranks_of(o.ranks);
  std::map<std::string, fs::file_time_type> old;  // that --force may replace
  for (const std::string& report : reports_of_ranks(output))
    old[report] = fs::last_write_time(report);
  const Page page(output);
  RecordRequest request = request_of(o, output);
  request.program = command_of_ranks(o, program, output);
  const int status = run_to_end(request);
  std::vector<std::string> reports = reports_of_ranks(output);
  std::erase_if(reports, [&](const std::string& report) {
    const auto before = old.find(report);
    return before != old.end() && before->second == fs::last_write_time(report);
  });
  if (reports.empty())
    throw Error(fmt::format("{} ended with status {}, and no rank was recorded",
                            printable(o.program.front()), status));
  advise_on(reports, page.where(), o, settings);
  for (const auto& [report, time] : old)
    if (std::find(reports.begin(), reports.end(), report) == reports.end())
      print_note(
          fmt::format("{} is of an earlier run, and no rank of this one", printable(report)));
  return status_for(status, o);
}

int record_and_advise(const RecordCommand& o) {
  if (const auto program = launched_program(o.program)) return record_ranks(o, *program);
  if (const auto rank = own_rank()) return record_own_rank(o, *rank);
  return record_alone(o);
}

}  // namespace

Command add_record(CommandLine& line) {
  Parser command(line, "record",
                 "Run a program, time some of its steps, record some, and advise on them");
  const auto o = std::make_shared<RecordCommand>();
  command.program(
      o->program,
      "The program and its arguments, after --: -- python train.py, -- torchrun "
      "--nproc-per-node 2 train.py, -- srun -n 4 python train.py, -- ./solver. It needs no "
      "change");
  command.option(
      "-o,--output NAME", o->output,
      "The recording's name without ending (default: the program's, with a number if that "
      "exists)");
  command.flag("--force", o->force, "Replace a recording of this name");
  command
      .option("--units N", o->units,
              "How many units to record: training steps, or requests or batches of inference "
              "(default: 10)")
      .between(1, 10'000);
  command.option(
      "--delay N|TIME", o->delay,
      "How many units pass first (default: until they take equally long); or a time, as in "
      "30s: then the program is recorded from that time on, and no unit is looked for");
  command.option("--length TIME", o->length, "How long to record by time (default: 5s)");
  command.flag("--once", o->once,
               "Start the program once, and time it while nsys is attached, which slows launches "
               "down (default: with nsys it is recorded, ended, started again without nsys and "
               "timed)");
  command.flag("--stop", o->stop,
               "End the program once it is recorded and timed (default: it goes on to its end)");
  command.option("--limit TIME", o->limit,
                 "End a program that takes longer than this (default: none)");
  command.option("--ranks RANKS", o->ranks,
                 "Of a program that srun or mpirun starts: record these ranks only, as in 0,4-7 "
                 "(default: all)");
  command.flag("--metrics", o->metrics,
               "Record how busy SMs, tensor cores and memory are; needs permission to read GPU "
               "counters");
  command.flag("--stacks", o->stacks, "Record source lines; slows the host down");
  command.flag("--memory", o->memory, "Record allocations");
  command.flag("--layers", o->layers,
               "Record modules and operators, for gh-advise layers; slows the host down");
  command.option("--nsys PATH", o->nsys,
                 "The nsys program (default: on the PATH, or where CUDA, Nsight Systems or Nsight "
                 "Compute put it)");
  command.flag("--keep-nsys-rep", o->keep,
               "Also keep nsys's own report, which holds the program's environment");
  o->style.add_color(command);
  o->style.add_amount(command);
  o->rule.add(command);
  return {command, [o] { return record_and_advise(*o); }};
}

}  // namespace gh
