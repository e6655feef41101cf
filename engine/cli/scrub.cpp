// gh-advise scrub: a copy of a report without what says whose it is.
#include "read/scrub.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/deadline.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace gh {
namespace {

struct ScrubCommand {
  std::vector<std::string> reports, outputs;  // one each
  std::int64_t timeout = 0;
};

// What may still be there. Names of variables, never values.
std::string not_searched_for(const Scrubbed& scrubbed) {
  std::string text;
  if (!scrubbed.not_searched_for.empty()) {
    text += fmt::format(
        "Not searched for, and perhaps still in it: the values of {}, which are too short, or "
        "words that stand in names of kernels and the like.\n",
        printable(fmt::format("{}", fmt::join(scrubbed.not_searched_for, ", "))));
  }
  if (scrubbed.others_not_searched_for > 0) {
    text += fmt::format(
        "{} other values and names were not searched for: settings such as true, short numbers, "
        "and such words.\n",
        scrubbed.others_not_searched_for);
  }
  return text;
}

// What was done, for people.
std::string summary(const Scrubbed& scrubbed, const std::string& out) {
  std::string text = fmt::format("{}\n", printable(out));
  for (const auto& [what, count] : scrubbed.removed)
    if (count > 0) text += fmt::format("  {:<26} {} removed\n", what, count);
  text +=
      fmt::format("  {:<26} {} changed, where one of these, a home folder or a name stood in it\n",
                  "other texts", scrubbed.changed);
  if (!scrubbed.left_out.empty())
    text += fmt::format("  {:<26} {}\n", "left out",
                        printable(fmt::format("{}", fmt::join(scrubbed.left_out, ", "))));
  text += fmt::format("Searched for {} values, names and home folders: none is left in {}.\n",
                      scrubbed.searched_for, bytes_text(static_cast<double>(scrubbed.bytes)));
  return text + not_searched_for(scrubbed) +
         "Names of kernels, ranges, threads, GPUs and files outside of home folders stay; look at "
         "those before you share it.\n";
}

Scrubbed scrub_report(const std::string& report, const std::string& out) {
  Progress progress(1);
  progress.say("scrubbing " + printable(report), 0);
  return scrub(report, out);
}

}  // namespace

Command add_scrub(CommandLine& line) {
  Parser command(
      line, "scrub",
      "Copy a report for sharing, without environment, command lines, captured output and "
      "names of hosts and users");
  const auto o = std::make_shared<ScrubCommand>();
  command
      .option("REPORT", o->reports,
              "A report of Nsight Systems (.sqlite) or a PyTorch profiler trace")
      .required()
      .exactly(1);
  command.option("-o,--output FILE", o->outputs, "The copy; compressed if it ends in .gz")
      .required()
      .exactly(1);
  add_timeout(command, o->timeout);
  return {command, [o] {
            use_timeout(o->timeout);
            const std::string& out = o->outputs.front();
            write(summary(scrub_report(o->reports.front(), out), out), to_stdout);
            return done;
          }};
}

}  // namespace gh
