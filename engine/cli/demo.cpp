// gh-advise demo: advice on a report that is inside the program.
#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>
#include <memory>

#include "base/embedded.hpp"
#include "base/files.hpp"
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
  const std::string_view packed = embedded_file("starved.sqlite.gz");
  std::string report;
  z_stream stream{};
  constexpr int with_gzip_header = 15 + 16;
  if (inflateInit2(&stream, with_gzip_header) != Z_OK)
    throw Error("there is not enough memory to unpack the report");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  for (int state = Z_OK; state == Z_OK;) {
    const std::size_t had = report.size();
    report.resize(had + (1 << 20));
    stream.next_out = reinterpret_cast<Bytef*>(report.data() + had);
    stream.avail_out = static_cast<uInt>(report.size() - had);
    state = inflate(&stream, Z_NO_FLUSH);
    report.resize(report.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return report;
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
  command.option("--save", o->save, "Write the report to this file instead").type("FILE");
  o->style.add_color(command);
  o->style.add_amount(command);
  return {command, [o] { return demo(*o); }};
}

}  // namespace gh
