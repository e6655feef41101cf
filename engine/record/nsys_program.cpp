#include "record/nsys_program.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "record/programs.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> matching(const std::string& pattern) {
  std::vector<fs::path> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return paths;
}

// The newest of each place, and the places in order.
std::vector<fs::path> usual_places() {
  std::vector<fs::path> paths;
  if (const char* cuda = std::getenv("CUDA_HOME")) paths.emplace_back(fs::path(cuda) / "bin/nsys");
  for (const char* pattern : {"/usr/local/cuda*/bin/nsys", "/opt/nvidia/nsight-systems*/*/bin/nsys",
                              "/opt/nvidia/nsight-systems*/*/target-linux-*/nsys",
                              "/usr/local/cuda*/nsight-systems-*/target-linux-*/nsys",
                              "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys"}) {
    const std::vector<fs::path> found = matching(pattern);
    paths.insert(paths.end(), found.rbegin(), found.rend());
  }
  return paths;
}

fs::path with_ending(const fs::path& report, const char* ending) {
  return report.string() + ending;
}

std::string last_words(const fs::path& log) {
  return is_there(log) ? last_line(read_text(log), 200) : "";
}

// Nsight Compute's nsys cannot convert what it recorded by itself: its importer is in another
// folder, and so are the libraries of that.
void import(const fs::path& nsys, const fs::path& report, const fs::path& log) {
  std::error_code ec;
  const fs::path host = fs::weakly_canonical(nsys, ec).parent_path().parent_path();
  for (const char* folder : {"/host-linux-*", "/linux-desktop-*"})
    for (const fs::path& found : matching(host.string() + folder)) {
      if (!can_run(found / "QdstrmImporter")) continue;
      run_program({"env", "LD_LIBRARY_PATH=" + found.string(), (found / "QdstrmImporter").string(),
                   "-i", with_ending(report, ".qdstrm").string(), "-o",
                   with_ending(report, ".nsys-rep").string()},
                  log);
      return;
    }
}

}  // namespace

std::optional<fs::path> find_nsys(const std::string& given) {
  if (auto program = program_on_path(given)) return program;
  if (given != "nsys")
    throw Error(fmt::format("--nsys {}: is no program that can be run", printable(given)));
  for (const fs::path& path : usual_places())
    if (can_run(path)) return path;
  return std::nullopt;
}

std::vector<std::string> nsys_profile(const fs::path& nsys, const fs::path& report,
                                      const RecordedTime& time, const RecordedToo& too,
                                      const std::vector<std::string>& program) {
  std::vector<std::string> words = {nsys.string(),
                                    "profile",
                                    "--force-overwrite=true",
                                    "--trace=cuda,nvtx,osrt,cublas,cudnn",
                                    "--cuda-graph-trace=node",
                                    "--output=" + report.string()};
  if (time.by_program) {
    words.insert(words.end(), {"--capture-range=cudaProfilerApi", "--capture-range-end=stop"});
  } else {
    const auto seconds = [](Ns ns) { return fmt::format("{:g}", static_cast<double>(ns) / 1e9); };
    words.push_back("--delay=" + seconds(time.delay_ns));
    words.push_back("--duration=" + seconds(time.length_ns));
    words.emplace_back("--kill=none");
  }
  if (too.stacks)
    words.insert(words.end(), {"--sample=process-tree", "--cudabacktrace=all",
                               "--python-backtrace=cuda", "--python-sampling=true"});
  else
    words.insert(words.end(), {"--sample=none", "--cpuctxsw=none"});
  if (too.memory) words.emplace_back("--cuda-memory-usage=true");
  if (too.metrics) words.emplace_back("--gpu-metrics-devices=all");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

fs::path nsys_export(const fs::path& nsys, const fs::path& report) {
  const fs::path log = with_ending(report, ".log"), recorded = with_ending(report, ".nsys-rep"),
                 exported = with_ending(report, ".sqlite");
  if (!is_there(recorded) && is_there(with_ending(report, ".qdstrm"))) import(nsys, report, log);
  if (!is_there(recorded))
    throw Error(
        fmt::format("nsys recorded nothing{}",
                    is_there(log) ? fmt::format(" that it can read: {}", last_words(log)) : ""));
  const int status =
      run_program({nsys.string(), "export", "--type=sqlite", "--force-overwrite=true",
                   "--include-json=true", "--output=" + exported.string(), recorded.string()},
                  log);
  if (status != 0 || !is_there(exported))
    throw Error(fmt::format("{} export failed: {}", printable(nsys.string()), last_words(log)));
  return exported;
}

}  // namespace gh
