// gh-advise record: a program run as always, timed, recorded and advised on.
#include "record/record.hpp"

#include <fmt/format.h>

#include <filesystem>
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
  bool metrics = false, stacks = false, memory = false, stop = false, keep = false, force = false;
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
  request.too = {o.metrics, o.stacks, o.memory};
  request.stop = o.stop;
  request.keep_rep = o.keep;
  request.says = print_note;
  return request;
}

// Advice on the recording: its text on standard output, its page beside it.
void advise_on(const std::string& report, const RecordCommand& o, const Settings& settings) {
  Request request = settings.request(settings.rules(o.rule), ReportOptions());
  request.suppressions = settings.config.suppressions;
  request.today = today();
  request.files = {report};
  const Advice advice = advise(request);
  const std::string page = fs::path(report).replace_extension(".html");
  write(render_html(*advice.analysis, advice.report, settings.all_rules), page);
  write(render_text(*advice.analysis, advice.report, o.style.style(stdout_is_terminal())),
        to_stdout);
  print_note(fmt::format("wrote {} and {}", printable(report), printable(page)));
}

int record_and_advise(const RecordCommand& o) {
  const Settings settings(o.rule);
  const fs::path output = new_output(o.output, recording_name(o.program), o.force);
  RecordRequest request = request_of(o, output);
  bool judged = false;
  request.recorded = [&](const fs::path& report) {
    advise_on(report, o, settings);
    judged = true;
  };
  const int status = record(request);
  if (status != 0 && !o.stop)
    print_message(fmt::format("the program ended with status {}, after it was recorded", status));
  return judged && (status == 0 || o.stop) ? done : could_not;
}

}  // namespace

Command add_record(CommandLine& line) {
  Parser command(line, "record",
                 "Run a program, time some of its steps, record the next ones, and advise on them");
  const auto o = std::make_shared<RecordCommand>();
  command
      .option("PROGRAM", o->program,
              "The program and its arguments, after --: -- python train.py, -- torchrun "
              "--nproc-per-node 2 train.py, -- ./solver. It needs no change")
      .required();
  command
      .option("-o,--output", o->output,
              "The recording's name without ending (default: the program's, with a number if that "
              "exists)")
      .type("NAME");
  command.flag("--force", o->force, "Replace a recording of this name");
  command
      .option("--units", o->units,
              "How many units to record: training steps, or requests or batches of inference "
              "(default: 10)")
      .type("N")
      .between(1, 10'000);
  command
      .option("--delay", o->delay,
              "How many units pass first (default: until they take equally long); or a time, as in "
              "30s: then the program is recorded from that time on, and no unit is looked for")
      .type("N|TIME");
  command.option("--length", o->length, "How long to record by time (default: 5s)").type("TIME");
  command.flag("--stop", o->stop,
               "End the program once it is recorded (default: it goes on to its end)");
  command.option("--limit", o->limit, "End a program that takes longer than this (default: none)")
      .type("TIME");
  command.flag("--metrics", o->metrics,
               "Record how busy SMs, tensor cores and memory are; needs permission to read GPU "
               "counters");
  command.flag("--stacks", o->stacks, "Record source lines; slows the host down");
  command.flag("--memory", o->memory, "Record allocations");
  command
      .option("--nsys", o->nsys,
              "The nsys program (default: on the PATH, or where CUDA or Nsight Compute put it)")
      .type("PATH");
  command.flag("--keep-nsys-rep", o->keep,
               "Also keep nsys's own report, which holds the program's environment");
  o->style.add_color(command);
  o->style.add_amount(command);
  o->rule.add_choice(command);
  o->rule.add_sources(command);
  return {command, [o] { return record_and_advise(*o); }};
}

}  // namespace gh
