// gh-advise demo: advice on a report that is inside the program.
#include <filesystem>
#include <memory>

#include "base/embedded.hpp"
#include "base/files.hpp"
#include "base/gzip.hpp"
#include "cli/check.hpp"
#include "cli/cli.hpp"

namespace gh {
namespace {

struct DemoCommand {
  std::string save;
  StyleOptions style;
};

constexpr const char* sample = "starved.sqlite";

// The report, unpacked: two seconds of a training loop whose GPU waits for its data loader.
std::string sample_report() {
  constexpr std::size_t most_bytes = 1 << 30;
  return unpacked(embedded_file("starved.sqlite.gz"), most_bytes);
}

int demo(const DemoCommand& o) {
  if (!o.save.empty()) {
    write_file(o.save, sample_report(), "--save");
    return done;
  }
  const TemporaryFolder folder;
  std::filesystem::current_path(folder.path);  // so that the report has a short name
  write_file(sample, sample_report());
  CheckCommand command;
  command.reports = {sample};
  command.rule.config = "none";
  command.output.style = o.style;
  const int status = check(command);
  std::filesystem::current_path("/");
  print_note(
      "this report is inside the program; record your own with: gh-advise record -- python "
      "train.py");
  return status;
}

}  // namespace

Command add_demo(CommandLine& line) {
  Parser command(line, "demo", "Advise on a report that is inside the program");
  const auto o = std::make_shared<DemoCommand>();
  command.option("--save FILE", o->save, "Write the report to this file instead");
  o->style.add_color(command);
  o->style.add_amount(command);
  return {command, [o] { return demo(*o); }};
}

}  // namespace gh
