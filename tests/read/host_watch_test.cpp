// What an Nsight Systems export contains about host threads besides their calls, and about the
// program's environment. Each test uses the smallest database that shows the case, with rows like
// those in recordings.
#include "read/nsys/host_watch.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "read/nsys.hpp"
#include "support/support.hpp"

using gh::Row;
using gh::Source;
using support::contains;

namespace {

const std::string strings = "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);";
const std::string kernel =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
    "globalPid, demangledName); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 200, 0, 7, 1, "
    "42<<24, 1);";
const std::string switches =
    "CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid, threadState, threadBlock);";
const std::string marks =
    "CREATE TABLE NVTX_EVENTS (start, end, eventType, text TEXT, textId, globalTid, jsonText "
    "TEXT);";

std::string into(const std::string& table, const std::string& values) {
  return "INSERT INTO " + table + " VALUES " + values + ";";
}
std::string named(const std::string& values) { return strings + into("StringIds", values); }

gh::Trace read(const std::string& sql) {
  const support::TempDir dir;
  return gh::read_nsys(support::run_sql(dir / "report.sqlite", sql));
}

// "10-20@3": when a thread was on a CPU, and on which.
std::string on_cpu(const gh::Trace& t, std::int64_t tid) {
  std::vector<std::string> texts;
  const gh::CpuStretches& on = t.cpu_stretches;
  for (Row r = 0; r < on.size(); ++r)
    if (t.threads[on.thread[r]].tid == tid)
      texts.push_back(fmt::format("{}-{}@{}", on.start[r], on.end[r], on.cpu[r]));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string sampled(const gh::Trace& t) {
  std::vector<std::string> texts;
  const gh::HostSamples& s = t.host_samples;
  for (Row r = 0; r < s.size(); ++r)
    texts.push_back(fmt::format("{} {}{}{}", s.start[r], t.names[s.function[r]],
                                s.line[r] == 0 ? "" : " at " + t.names[s.line[r]],
                                s.is_python[r] ? " (Python)" : ""));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

TEST_CASE("host watch: switches onto and off a CPU become intervals") {
  // Rows of two threads, unsorted.
  const gh::Trace t = read(named("(1, 'k')") + kernel + switches +
                           into("SCHED_EVENTS",
                                "(40, 5, 1, (42<<24)+7, 0, 0), (20, 3, 0, (42<<24)+7, 0, 0), "
                                "(10, 3, 1, (42<<24)+7, 0, 0), (15, 4, 1, (42<<24)+8, 0, 0), "
                                "(60, 5, 0, (42<<24)+7, 0, 0), (35, 4, 0, (42<<24)+8, 0, 0)"));
  CHECK(t.problems.empty());
  CHECK(on_cpu(t, 7) == "10-20@3 40-60@5");
  CHECK(on_cpu(t, 8) == "15-35@4");
  CHECK(t.availability(Source::cpu_stretches).state == gh::Collected::yes);
}

TEST_CASE("host watch: a missing switch does not look like time off the CPU") {
  const auto of = [](const std::string& rows) {
    return on_cpu(read(named("(1, 'k')") + kernel + switches + into("SCHED_EVENTS", rows)), 7);
  };
  const std::string t = ", (42<<24)+7, 0, 0)";
  // Off without on, at the start: the time it came is unknown.
  CHECK(of("(5, 3, 0" + t + ", (10, 3, 1" + t + ", (20, 3, 0" + t) == "10-20@3");
  CHECK(of("(10, 3, 1" + t + ", (20, 3, 0" + t + ", (30, 3, 0" + t) == "10-20@3 20-30@3");
  CHECK(of("(10, 3, 1" + t + ", (20, 4, 1" + t + ", (30, 4, 0" + t) == "10-20@3 20-30@4");
  // On until the end of the recording.
  CHECK(of("(10, 3, 1" + t) == "10-200@3");
}

TEST_CASE("host watch: a native sample is named after its innermost informative frame") {
  const std::string tables =
      named(
          "(1, 'k'), (2, '__memmove_avx'), (3, '/usr/lib/libc.so.6'), (4, "
          "'at::native::add(at::Tensor const&)'), (5, "
          "'/home/me/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so'), (6, "
          "'0x7f12'), (7, '/home/me/a.out'), (8, '_PyEval_EvalFrameDefault'), (9, "
          "'/usr/bin/python3.12'), (10, 'float_fill'), (11, "
          "'/home/me/venv/lib/python3.12/site-packages/numpy/random/"
          "_common.cpython-312-x86_64-linux-gnu.so'), (12, '[Broken backtraces]')") +
      kernel +
      "CREATE TABLE COMPOSITE_EVENTS (id INT NOT NULL PRIMARY KEY, start, cpu, threadState, "
      "globalTid, cpuCycles);"
      "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, kernelMode, thumbCode, unresolved, "
      "specialEntry, originalIP, unwindMethod, stackDepth);";
  const auto frame = [](int id, int symbol, int module, int depth) {
    return into("SAMPLING_CALLCHAINS",
                fmt::format("({}, {}, {}, 0, 0, 0, 0, 0, 0, {})", id, symbol, module, depth));
  };
  const gh::Trace t = read(
      tables +
      into("COMPOSITE_EVENTS",
           "(1, 20, 3, 1, (42<<24)+7, 1), (2, 30, 3, 1, (42<<24)+7, 1), (3, 40, 3, 1, "
           "(42<<24)+7, 1), (4, 50, 3, 1, (42<<24)+7, 1), (5, 60, 3, 1, (42<<24)+7, 1), (6, 70, "
           "3, 1, (42<<24)+7, 1)") +
      frame(1, 2, 3, 0) + frame(1, 4, 5, 1) + frame(1, 8, 9, 2) +  // in libc, called by PyTorch
      frame(2, 6, 7, 0) + frame(2, 12, 12, 1) +                    // without a symbol
      frame(3, 8, 9, 0) +                                          // Python itself
      frame(4, 10, 11, 1) + frame(4, 2, 3, 0) +                    // in any order
      frame(5, 2, 3, 0));  // the only frame; sample 6 has no stack
  CHECK(t.problems.empty());
  CHECK(sampled(t) ==
        "20 at::native::add (libtorch_cpu.so), 30 a.out, 40 Python itself (python3.12), 50 "
        "float_fill (numpy.random._common), 60 __memmove_avx (libc.so.6)");
}

TEST_CASE("host watch: a module's name does not include private folders") {
  CHECK(gh::nsys::short_module("/home/me/site-packages/numpy/random/_pcg64.cpython-312.so") ==
        "numpy.random._pcg64");
  CHECK(gh::nsys::short_module("/home/me/build/solver") == "solver");
  CHECK(gh::nsys::short_module("[kernel.kallsyms]") == "[kernel.kallsyms]");
  CHECK(gh::nsys::short_module("") == "");
}

TEST_CASE("host watch: sampled Python stacks name the program's line") {
  const auto sample = [](int at, const std::string& state, const std::string& frames) {
    return into("NVTX_EVENTS",
                fmt::format("({}, NULL, 34, NULL, NULL, (42<<24)+7, '{{\"Python Periodic "
                            "Sampling\":{{\"Thread state ID\":1,\"Thread state\":\"{}\",\"Frames "
                            "count\":2,\"Frames\":[{}]}}}}')",
                            at, state, frames));
  };
  const gh::Trace t =
      read(named("(1, 'k'), (2, '/opt/lib/python3.12/site-packages/torch/nn/linear.py'), (3, "
                 "'forward'), (4, '/w/train.py'), (5, 'tokenize')") +
           kernel + marks + sample(10, "Running", R"({"Function":5,"File":4,"Line":40})") +
           sample(20, "Uninterruptible",
                  R"({"Function":3,"File":2,"Line":9},{"Function":5,"File":4,"Line":41})") +
           sample(30, "Running", R"({"Function":3,"File":2,"Line":9})") +
           sample(40, "Running", "") + sample(50, "Running", "7, {"));
  CHECK(t.problems.empty());
  CHECK(sampled(t) ==
        "10 tokenize (train.py) at /w/train.py(40): tokenize (Python), 20 tokenize (train.py) at "
        "/w/train.py(41): tokenize (Python), 30 forward (linear.py) (Python)");
  CHECK(t.ranges.size() == 0);
  CHECK(t.frames.size() == 0);
}

TEST_CASE("host watch: waits for the GIL are distinguished from the program's ranges") {
  const gh::Trace t =
      read(named("(1, 'k'), (2, 'Holding GIL'), (3, 'Waiting for GIL'), (4, 'step 1')") + kernel +
           marks +
           into("NVTX_EVENTS",
                "(5, NULL, 75, 'GIL Trace', NULL, (42<<24)+7, NULL), (10, 90, 59, NULL, 4, "
                "(42<<24)+7, NULL), (20, 40, 59, NULL, 3, (42<<24)+7, NULL), (15, 40, 59, NULL, "
                "2, (42<<24)+8, NULL), (40, 60, 59, NULL, 2, (42<<24)+7, NULL)"));
  // A thread's wait for it is something it does; holding it is not.
  REQUIRE(t.ranges.size() == 2);
  CHECK(t.names[t.ranges.name[0]] == "step 1");
  CHECK(t.names[t.ranges.name[1]] == "Waiting for GIL");
  const gh::PythonLock& lock = t.python_lock;
  CHECK(lock.start == std::vector<gh::Ns>{15, 20, 40});
  CHECK(lock.end == std::vector<gh::Ns>{40, 40, 60});
  CHECK(lock.holds == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(t.threads[lock.thread[0]].tid == 8);
}

TEST_CASE("host watch: library calls and directive regions are ranges of their thread") {
  const gh::Trace t = read(
      named("(1, 'k'), (2, 'cublasGemmEx_v2'), (3, 'MPI_Allreduce'), (4, 'acc_compute_construct'), "
            "(5, '/home/me/src/solver.c'), (6, 'Parallel')") +
      kernel + "CREATE TABLE CUBLAS_EVENTS (start, end, eventClass, globalTid, nameId);" +
      into("CUBLAS_EVENTS", "(10, 20, 1, (42<<24)+7, 2)") +
      "CREATE TABLE MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId, commHandle);" +
      into("MPI_COLLECTIVES_EVENTS", "(30, 40, (42<<24)+7, 3, 1), (150, NULL, (42<<24)+7, 3, 1)") +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH (start, end, globalTid, nameId, srcFile, "
      "lineNo);" +
      into("CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "(50, 60, (42<<24)+7, 4, 5, 41)") +
      "CREATE TABLE OPENMP_EVENT_KIND_PARALLEL (start, end, globalTid, nameId);" +
      into("OPENMP_EVENT_KIND_PARALLEL", "(70, 80, (42<<24)+7, 6)"));
  CHECK(t.problems.empty());
  std::vector<std::string> texts;
  for (Row r = 0; r < t.ranges.size(); ++r)
    texts.push_back(
        fmt::format("{}-{} {}", t.ranges.start[r], t.ranges.end[r], t.names[t.ranges.name[r]]));
  CHECK(fmt::format("{}", fmt::join(texts, ", ")) ==
        "10-20 cublasGemmEx, 30-40 MPI_Allreduce, 50-60 acc_compute_construct (solver.c:41), "
        "70-80 Parallel, 150-200 MPI_Allreduce");
}

TEST_CASE("environment: only known variables with values of the expected form are read") {
  std::string rows = "('CAPTURE_EVENT_TYPE', 'Cuda')";
  for (int i = 0; i < 50; ++i)
    rows +=
        fmt::format(", ('PROCESS_0:ENVIRONMENT_VARIABLE', 'SERVICE_{}_TOKEN=\"hidden-{}\"')", i, i);
  rows +=
      ", ('PROCESS_0:ENVIRONMENT_VARIABLE', 'CUDA_LAUNCH_BLOCKING=\"1\"'), "
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'NCCL_P2P_DISABLE=hidden-password'), "
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'OMP_NUM_THREADS=4 hidden'), "
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'MY_CUDA_LAUNCH_BLOCKING=1'), "
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'NCCL_IB_DISABLE'), "
      "('SOMETHING_ELSE', 'TORCH_DISTRIBUTED_DEBUG=DETAIL')";
  const gh::Trace t =
      read(named("(1, 'k')") + kernel + "CREATE TABLE META_DATA_CAPTURE (name, value);" +
           into("META_DATA_CAPTURE", rows));
  const std::map<std::string, std::string> expected{
      {"CUDA_LAUNCH_BLOCKING", "1"}, {"NCCL_P2P_DISABLE", "set"}, {"OMP_NUM_THREADS", "set"}};
  CHECK(t.environment == expected);
  for (gh::NameId n = 0; n < t.names.size(); ++n) CHECK(!contains(t.names[n], "hidden"));
}

TEST_CASE("environment: it is found among the strings of old exports, and in no other text") {
  // HOME=/root NUL NVIDIA_TF32_OVERRIDE=0 NUL
  const std::string block =
      "CAST(X'484F4D453D2F726F6F7400"
      "4E56494449415F544633325F4F564552524944453D3000' AS TEXT)";
  CHECK(read(named("(1, 'k'), (2, " + block + ")") + kernel).environment ==
        std::map<std::string, std::string>{{"NVIDIA_TF32_OVERRIDE", "0"}});
  CHECK(read(named("(1, 'CUDA_LAUNCH_BLOCKING=1')") + kernel).environment.empty());
}
