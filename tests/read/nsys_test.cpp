// Importing Nsight Systems exports. In 343 exports of 34 versions we found fifteen things that a
// reader must handle; each has a test with the smallest database that shows it. The last test reads
// every shipped recording.
#include "read/nsys.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <tuple>

#include "analysis/facts.hpp"
#include "read/sqlite.hpp"
#include "support/support.hpp"

using namespace std::string_literals;
using gh::Collected;
using gh::CopyKind;
using gh::MemoryKind;
using gh::MigrationCause;
using gh::OpKind;
using gh::Row;
using gh::Source;
using support::contains;

namespace {

// Tables with the columns that most tests fill. The global id of process 42 is 42<<24, and that of
// its thread 7 is (42<<24)+7.
const std::string strings = "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);";
const std::string kernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
    "globalPid, demangledName);";
const std::string copies =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
    "globalPid, bytes, copyKind, srcKind, dstKind, migrationCause, virtualAddress);";
const std::string sets =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, "
    "globalPid, bytes, memKind);";
const std::string graphs =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, "
    "globalPid, graphId, graphExecId);";
const std::string calls =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);";
const std::string syncs =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId, "
    "correlationId, globalPid, syncType, eventId);";
const std::string ranges =
    "CREATE TABLE NVTX_EVENTS (start, end, eventType, text TEXT, textId, globalTid);";
const std::string os_calls = "CREATE TABLE OSRT_API (start, end, globalTid, nameId);";
const std::string memory =
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, bytes, memKind, "
    "memoryOperationType);";
const std::string samples =
    "CREATE TABLE GPU_METRICS (rawTimestamp, timestamp, typeId, metricId, value);";
const std::string metric_names =
    "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName);";
const std::string gpus =
    "CREATE TABLE TARGET_INFO_GPU (id, cuDevice, name, smCount, totalMemory, memoryBandwidth, "
    "clockRate, computeMajor, computeMinor);";
const std::string capture = "CREATE TABLE META_DATA_CAPTURE (name, value);";
const std::string diagnostics = "CREATE TABLE DIAGNOSTIC_EVENT (timestamp, severity, text);";

std::string into(const std::string& table, const std::string& values) {
  return "INSERT INTO " + table + " VALUES " + values + ";";
}
std::string named(const std::string& values) { return strings + into("StringIds", values); }
std::string kernel_rows(const std::string& values) {
  return kernels + into("CUPTI_ACTIVITY_KIND_KERNEL", values);
}
std::string copy_rows(const std::string& values) {
  return copies + into("CUPTI_ACTIVITY_KIND_MEMCPY", values);
}
std::string call_rows(const std::string& values) {
  return calls + into("CUPTI_ACTIVITY_KIND_RUNTIME", values);
}
std::string range_rows(const std::string& values) { return ranges + into("NVTX_EVENTS", values); }
std::string gpu_rows(const std::string& values) { return gpus + into("TARGET_INFO_GPU", values); }
std::string captured(const std::string& values) {
  return capture + into("META_DATA_CAPTURE", values);
}
const std::string one_kernel = kernel_rows("(10, 20, 0, 7, 1, 42<<24, 1)");

gh::Trace read(const std::string& sql) {
  const support::TempDir dir;
  return gh::read_nsys(support::run_sql(dir / "report.sqlite", sql));
}

// What --python-backtrace=cuda writes at a call.
std::string backtrace(const std::string& start, const std::string& frames) {
  return "INSERT INTO NVTX_EVENTS VALUES (" + start +
         R"(, NULL, 34, NULL, NULL, (42<<24)+7, '{"Python Backtrace on CUDA":{"Thread state":"Running","Frames":[)" +
         frames + "]}}');";
}

// A column as text, which doctest shows if it differs.
template <class T>
std::string list(const std::vector<T>& column) {
  return fmt::format("{}", fmt::join(column, " "));
}

template <class E>
std::string kinds(const std::vector<E>& column) {
  std::vector<std::string> names;
  for (const E e : column) names.push_back(*gh::name_of(e) ? gh::name_of(e) : "none");
  return list(names);
}

std::string names(const gh::Trace& t, const std::vector<gh::NameId>& column) {
  std::vector<std::string> texts;
  for (const gh::NameId id : column) texts.push_back(t.names[id]);
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Everything in a trace, for comparing traces and searching one. Uses names of things, not the
// numbers assigned while reading.
std::string dump(const gh::Trace& t) {
  std::string out = fmt::format("{} {} {}\ncapture {} {}\n", t.format, t.producer, t.schema,
                                t.capture_start, t.capture_end);
  const auto line = [&](const auto&... values) {
    out += fmt::format("{}\n", fmt::join(std::tuple(values...), " "));
  };
  const auto device = [&](std::uint16_t d) {
    const gh::Device& x = t.devices[d];
    return fmt::format("{} {} {} {}.{} {} {} {}", x.ordinal, x.name, x.sm_count, x.compute_major,
                       x.compute_minor, x.memory_bytes, x.memory_bytes_per_s, x.clock_hz);
  };
  const auto process = [&](std::uint16_t p) {
    return fmt::format("{} {}", t.processes[p].pid, t.processes[p].name);
  };
  const auto thread = [&](std::uint16_t h) {
    return fmt::format("{} {} of {}", t.threads[h].tid, t.threads[h].name,
                       process(t.threads[h].process));
  };
  const auto stream = [&](std::uint16_t s) {
    return fmt::format("{} of {} on {}", t.streams[s].id, process(t.streams[s].process),
                       device(t.streams[s].device));
  };
  const auto& o = t.ops;
  for (Row r = 0; r < o.size(); ++r)
    line("op", o.start[r], o.end[r], o.bytes[r], stream(o.stream[r]), t.names[o.name[r]],
         o.correlation[r], o.call[r], o.blocks[r], o.threads[r], gh::name_of(o.kind[r]),
         gh::name_of(o.copy[r]), gh::name_of(o.source[r]), gh::name_of(o.target[r]),
         gh::name_of(o.cause[r]), o.address_of(r), o.in_graph[r]);
  for (Row r = 0; r < t.calls.size(); ++r)
    line("call", t.calls.start[r], t.calls.end[r], t.names[t.calls.name[r]], t.calls.correlation[r],
         thread(t.calls.thread[r]));
  for (Row r = 0; r < t.ranges.size(); ++r)
    line("range", t.ranges.start[r], t.ranges.end[r], t.names[t.ranges.name[r]],
         thread(t.ranges.thread[r]), t.ranges.bytes[r]);
  for (Row r = 0; r < t.os_calls.size(); ++r)
    line("os call", t.os_calls.start[r], t.os_calls.end[r], t.names[t.os_calls.name[r]],
         thread(t.os_calls.thread[r]));
  for (Row r = 0; r < t.syncs.size(); ++r)
    line("sync", t.syncs.start[r], t.syncs.end[r], t.syncs.correlation[r],
         stream(t.syncs.stream[r]), t.syncs.call[r]);
  for (Row r = 0; r < t.gpu_faults.size(); ++r)
    line("gpu fault", t.gpu_faults.start[r], t.gpu_faults.end[r], t.gpu_faults.address[r],
         t.gpu_faults.count[r], device(t.gpu_faults.device[r]));
  for (Row r = 0; r < t.cpu_faults.size(); ++r)
    line("cpu fault", t.cpu_faults.start[r], t.cpu_faults.address[r],
         t.names[t.cpu_faults.function[r]]);
  for (Row r = 0; r < t.memory_use.size(); ++r)
    line("memory", t.memory_use.start[r], t.memory_use.bytes[r], device(t.memory_use.device[r]),
         gh::name_of(t.memory_use.kind[r]));
  for (Row r = 0; r < t.samples.size(); ++r)
    line("sample", t.samples.start[r], t.names[t.samples.metric[r]], t.samples.value[r],
         device(t.samples.device[r]));
  for (const gh::Span s : gh::united(t.profiler_overhead)) line("overhead", s.start, s.end);
  for (std::size_t s = 0; s < t.sources.size(); ++s)
    line("source", gh::name_of(static_cast<Source>(s)), static_cast<int>(t.sources[s].state),
         t.sources[s].reason, t.sources[s].record_with);
  for (const auto& d : t.diagnostics) line("diagnostic", d.severity, d.text);
  for (const auto& p : t.problems) line("problem", p);
  return out;
}

double fact(const gh::Analysis& analysis, const std::string& name) {
  const gh::FactValue value = gh::Facts(analysis).value(name);
  const double* number = std::get_if<double>(&value);
  return number ? *number : -1;  // no fact is negative
}

}  // namespace

TEST_CASE("nsys: Python's backtrace at a CUDA call names the program's line") {
  const std::string sql =
      named(
          "(1, 'cudaLaunchKernel_v7000'), (2, "
          "'/opt/lib/python3.12/site-packages/torch/nn/functional.py'), (3, 'model/head.py'), (4, "
          "'linear'), (5, '&lt;module&gt;'), (6, 'train.py')") +
      call_rows(
          "(10, 20, (42<<24)+7, 1, 1), (30, 40, (42<<24)+7, 2, 1), (50, 60, (42<<24)+7, 3, 1)") +
      "CREATE TABLE NVTX_EVENTS (start, end, eventType, text TEXT, textId, globalTid, jsonText "
      "TEXT);" +
      backtrace(
          "10",
          R"({"Function":4,"File":2,"Line":98},{"Function":4,"File":3,"Line":12},{"Function":5,"File":6,"Line":3})") +
      backtrace("30", R"({"Function":5,"File":6,"Line":7})") +
      // Stacks only in packages, and damaged ones, give nothing.
      backtrace("50", R"({"Function":4,"File":2,"Line":98})") +
      backtrace("50", R"(7, {"File":"x"}, {"File":99,"Line":1})") + backtrace("50", "{");
  const gh::Trace t = read(sql);
  CHECK(t.problems.empty());
  REQUIRE(t.frames.size() == 2);
  CHECK(t.names[t.frames.name[0]] == "model/head.py(12): linear");
  CHECK(t.names[t.frames.name[1]] == "train.py(7): <module>");
  CHECK(t.frames.start == std::vector<gh::Ns>{10, 30});
  CHECK(t.frames.end == t.frames.start);
  CHECK(t.frames.thread[0] == t.calls.thread[0]);
  CHECK(t.ranges.size() == 0);
}

TEST_CASE(
    "nsys: 1. tables are lazy, so absent, empty and not recorded are three different things") {
  const std::string cuda = captured("('CAPTURE_EVENT_TYPE', 'Cuda')"),
                    nvtx = captured("('CAPTURE_EVENT_TYPE', 'NvtxEvents')");
  const std::string launch = named(
      "(1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaStreamSynchronize')");
  const auto said = [](int severity, const std::string& text) {
    return diagnostics + into("DIAGNOSTIC_EVENT", fmt::format("(0, {}, '{}')", severity, text));
  };
  const auto limited = [](const std::string& tables) {
    return "CREATE TABLE META_DATA_EXPORT (name, value);" +
           into("META_DATA_EXPORT", "('EXPORT_PARAM_TABLES_TO_EXPORT', '" + tables + "')");
  };
  struct Case {
    const char* what;
    std::string sql;
    Source source;
    Collected state;
    const char* reason;
  };
  const Case cases[] = {
      {"no table, and the export tells nothing", strings, Source::kernels, Collected::unknown,
       "does not say"},
      {"an empty table, and the export tells nothing", strings + kernels, Source::kernels,
       Collected::unknown, "does not say"},
      {"an empty META_DATA_CAPTURE tells nothing", strings + capture, Source::kernels,
       Collected::unknown, "does not say"},
      {"no table, recorded", strings + cuda, Source::kernels, Collected::nothing_happened,
       "none occurred"},
      {"an empty table, recorded", strings + kernels + cuda, Source::kernels,
       Collected::nothing_happened, "none occurred"},
      {"no table, not recorded", strings + nvtx, Source::kernels, Collected::not_collected,
       "not recorded"},
      {"an empty table, not recorded", strings + kernels + nvtx, Source::kernels,
       Collected::not_collected, "not recorded"},
      {"rows are rows, whatever is said", strings + one_kernel + nvtx, Source::kernels,
       Collected::yes, ""},
      {"recording failed",
       strings + cuda + said(2, "No CUDA events collected. Does the process use CUDA?"),
       Source::kernels, Collected::not_collected, "No CUDA events collected"},
      {"mere information",
       strings + cuda + said(1, "No CUDA events collected. Does the process use CUDA?"),
       Source::kernels, Collected::nothing_happened, ""},
      {"recording failed in another process than the one that has rows",
       strings + one_kernel + cuda + said(2, "No CUDA events collected."), Source::copies,
       Collected::nothing_happened, ""},
      {"blind to unified memory only",
       strings + one_kernel + cuda +
           said(3, "CUDA device 0: Unified Memory cannot be traced on devices that ..."),
       Source::unified_copies, Collected::not_collected, "cannot be traced"},
      {"blind to unified memory only",
       strings + one_kernel + cuda +
           said(3, "CUDA device 0: Unified Memory cannot be traced on devices that ..."),
       Source::copies, Collected::nothing_happened, ""},
      {"no calls, recorded", strings + cuda, Source::calls, Collected::nothing_happened, ""},
      {"ranges", strings + nvtx, Source::ranges, Collected::nothing_happened, ""},
      {"ranges", strings + cuda, Source::ranges, Collected::not_collected, ""},
      {"marks are no ranges", strings + nvtx + range_rows("(1, NULL, 34, 'mark', NULL, 0)"),
       Source::ranges, Collected::nothing_happened, ""},
      {"OS calls", strings + captured("('CAPTURE_EVENT_TYPE', 'OSRuntime')"), Source::os_calls,
       Collected::nothing_happened, ""},
      {"OS calls",
       strings + captured("('CAPTURE_EVENT_TYPE', 'OSRuntime')") +
           said(2, "OS runtime libraries profiling might have not been started correctly."),
       Source::os_calls, Collected::not_collected, "OS runtime"},
      {"GPU faults", strings + captured("('PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS', 'true')"),
       Source::gpu_faults, Collected::nothing_happened, ""},
      {"GPU faults", strings + captured("('PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS', 'false')"),
       Source::gpu_faults, Collected::not_collected, ""},
      {"CPU faults", strings + captured("('PROCESS_0:COLLECT_UVM_CPU_PAGE_FAULTS', 'true')"),
       Source::cpu_faults, Collected::nothing_happened, ""},
      {"CPU faults", strings + captured("('PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS', 'true')"),
       Source::cpu_faults, Collected::not_collected, ""},
      {"memory", strings + captured("('PROCESS_0:COLLECT_GPU_MEMORY_USAGE', 'true')"),
       Source::memory_use, Collected::nothing_happened, ""},
      {"samples", strings + captured("('GPU_METRICS_OPTIONS:GPU_0:ID', '0')"), Source::samples,
       Collected::nothing_happened, ""},
      {"samples", strings + cuda, Source::samples, Collected::not_collected, ""},
      // Whatever was launched must have run: missing rows do not prove that nothing happened.
      {"a launch without a kernel", launch + cuda + call_rows("(1, 2, 7, 1, 1)"), Source::kernels,
       Collected::not_collected, "cudaLaunchKernel was called"},
      {"a copy call without a copy", launch + cuda + call_rows("(1, 2, 7, 1, 2)"), Source::copies,
       Collected::not_collected, "cudaMemcpyAsync was called"},
      {"a call that does neither", launch + cuda + call_rows("(1, 2, 7, 1, 3)"), Source::kernels,
       Collected::nothing_happened, ""},
      // `nsys export --tables` leaves out tables that were recorded.
      {"a table that was not exported", strings + cuda + limited("StringIds,META*"), Source::copies,
       Collected::unknown, "only other tables"},
      {"a table that was exported and is empty",
       strings + copies + cuda + limited("StringIds,CUPTI*"), Source::copies,
       Collected::nothing_happened, ""},
      {"all tables were exported", strings + cuda + limited(""), Source::copies,
       Collected::nothing_happened, ""},
      // An unreadable table is not an empty one.
      {"no column that we need",
       strings + cuda + "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (begin, finish);", Source::copies,
       Collected::unknown, "could not be read"},
      {"no row that makes sense",
       strings + cuda + copy_rows("('a', 'b', 0, 7, 1, 0, 1, 1, 1, 1, 0, 0)"), Source::copies,
       Collected::unknown, "could not be read"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const gh::Trace t = read(c.sql);
    const gh::Availability& a = t.availability(c.source);
    CAPTURE(gh::name_of(c.source));
    CHECK(static_cast<int>(a.state) == static_cast<int>(c.state));
    CHECK(a.known() == (c.state == Collected::yes || c.state == Collected::nothing_happened));
    CHECK_MESSAGE(contains(a.reason, c.reason), a.reason);
    CHECK(a.reason.empty() == (c.state == Collected::yes));
    CHECK(contains(a.record_with, "--"));
  }
}

TEST_CASE("nsys: 1. tables are lazy, so any of them may be missing") {
  // Each table has a row. Leave out one at a time; the rest reads as before.
  const std::string gpu_faults =
      "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start, end, globalPid, deviceId, address, "
      "numberOfPageFaults);" +
      into("CUDA_UM_GPU_PAGE_FAULT_EVENTS", "(1, 2, 0, 0, 0, 1)");
  const std::string all[] = {
      named("(1, 'x')"),
      one_kernel,
      copy_rows("(10, 20, 0, 7, 1, 0, 1, 1, 1, 2, 0, 0)"),
      sets + into("CUPTI_ACTIVITY_KIND_MEMSET", "(10, 20, 0, 7, 1, 0, 1, 2)"),
      graphs + into("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "(10, 20, 0, 7, 1, 0, 1, 1)"),
      call_rows("(1, 2, 7, 1, 1)"),
      range_rows("(1, 2, 59, 'r', NULL, 7)"),
      os_calls + into("OSRT_API", "(1, 2, 7, 1)"),
      syncs + into("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "(1, 2, 0, 7, 1, 0, 3, 0)"),
      memory + into("CUDA_GPU_MEMORY_USAGE_EVENTS", "(1, 0, 0, 1, 2, 0)"),
      gpu_faults,
      "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start, address, CpuInstruction);" +
          into("CUDA_UM_CPU_PAGE_FAULT_EVENTS", "(1, 1, 1)"),
      samples + metric_names +
          into("TARGET_INFO_GPU_METRICS", "(0, 0, '', 1, 'SMs Active [Throughput %]')") +
          into("GPU_METRICS", "(1, 1, 0, 1, 1)"),
      "CREATE TABLE PROFILER_OVERHEAD (start, end);" + into("PROFILER_OVERHEAD", "(1, 2)"),
      gpu_rows("(0, 0, 'G', 1, 1, 1, 1, 9, 0)"),
      captured("('CAPTURE_EVENT_TYPE', 'Cuda')"),
      diagnostics + into("DIAGNOSTIC_EVENT", "(1, 2, 'd')"),
      "CREATE TABLE ThreadNames (nameId, globalTid);" + into("ThreadNames", "(1, 7)"),
      "CREATE TABLE PROCESSES (globalPid, name);" + into("PROCESSES", "(0, 'p')"),
      "CREATE TABLE META_DATA_EXPORT (name, value);" +
          into("META_DATA_EXPORT", "('EXPORT_SCHEMA_VERSION', '3.20.3')")};
  const auto rows = [](const gh::Trace& t) {
    return t.ops.size() + t.calls.size() + t.ranges.size() + t.os_calls.size() + t.syncs.size() +
           t.memory_use.size() + t.gpu_faults.size() + t.cpu_faults.size() + t.samples.size() +
           t.profiler_overhead.size();
  };
  constexpr std::size_t events = 13;
  for (std::size_t left_out = 0; left_out <= std::size(all); ++left_out) {
    std::string sql;
    for (std::size_t i = 0; i < std::size(all); ++i)
      if (i != left_out) sql += all[i];
    const gh::Trace t = read(sql);
    CAPTURE(left_out);
    CHECK(t.problems.empty());
    CHECK(rows(t) == events - (left_out >= 1 && left_out <= events));
  }
  // Names whose table is missing become empty.
  const gh::Trace nameless = read(kernel_rows("(1, 2, 0, 0, 0, 0, 5), (2, 3, 0, 0, 0, 0, 6)"));
  CHECK(names(nameless, nameless.ops.name) == ", ");
}

TEST_CASE(
    "nsys: 2. the version is in one of two tables or missing, and columns are found by name") {
  const auto version = [](const std::string& table, const std::string& product,
                          const std::string& schema) {
    return "CREATE TABLE " + table + " (name, value);" +
           into(table,
                "('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'), ('EXPORT_PRODUCT_VERSION', '" +
                    product +
                    "'), ('EXPORT_SCHEMA_VERSION_MAJOR', '3'), ('EXPORT_SCHEMA_VERSION', '" +
                    schema + "')");
  };
  const std::tuple<std::string, const char*, const char*> cases[] = {
      {version("META_DATA_EXPORT", "2025.3.2.0", "3.20.3"), "Nsight Systems 2025.3.2.0", "3.20.3"},
      {version("EXPORT_META_DATA", "2022.1.3.3", "2.9.1"), "Nsight Systems 2022.1.3.3", "2.9.1"},
      {"", "Nsight Systems (version not recorded)", "unknown"},
      {"CREATE TABLE EXPORT_META_DATA (key, val);", "Nsight Systems (version not recorded)",
       "unknown"},
  };
  for (const auto& [sql, producer, schema] : cases) {
    const gh::Trace t = read(named("(1, 'k')") + one_kernel + sql);
    CHECK(t.producer == producer);
    CHECK(t.schema == schema);
    // Neither the version tables nor the ENUM_ tables of 3.0.0 and later are needed to read the
    // rest.
    CHECK(names(t, t.ops.name) == "k");
  }

  SUBCASE("columns added by a user, and another order") {
    const gh::Trace t =
        read("CREATE TABLE StringIds (note TEXT, value TEXT, id INTEGER PRIMARY KEY);" +
             into("StringIds", "('mine', 'k', 1)") +
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (duration, \"start time\", demangledName, "
             "globalPid, correlationId, streamId, deviceId, \"end\", start, registersPerThread);" +
             into("CUPTI_ACTIVITY_KIND_KERNEL", "(999, 'x', 1, 42<<24, 5, 7, 0, 20, 10, 32)"));
    CHECK(t.problems.empty());
    CHECK(list(t.ops.start) == "10");
    CHECK(list(t.ops.end) == "20");
    CHECK(list(t.ops.correlation) == "5");
    CHECK(t.streams.at(t.ops.stream.at(0)).id == 7);
    CHECK(names(t, t.ops.name) == "k");
  }
  SUBCASE("times since 1970, from nsys export --ts-normalize") {
    const gh::Trace t =
        read(kernel_rows("(1795000000000000010, 1795000000000000020, 0, 7, 0, 0, NULL)"));
    CHECK(t.problems.empty());
    CHECK(list(t.ops.start) == "1795000000000000010");
  }
}

TEST_CASE("nsys: 3. row order does not matter") {
  SUBCASE("rows in any order read the same, including ties") {
    const std::vector<std::string> kernel{
        "(10, 20, 0, 7, 1, 42<<24, 1)", "(10, 20, 0, 8, 2, 42<<24, 2)",
        "(5, 30, 1, 7, 3, 42<<24, 2)", "(10, 25, 0, 7, 4, 42<<24, 1)"};
    const std::vector<std::string> call{"(1, 2, (42<<24)+7, 1, 3)", "(1, 3, (42<<24)+7, 2, 3)",
                                        "(1, 2, (42<<24)+9, 3, 4)", "(0, 1, (42<<24)+7, 4, 3)"};
    const std::vector<std::string> range{
        "(0, 9, 59, 'b', NULL, (42<<24)+9)", "(0, 9, 59, 'a', NULL, (42<<24)+9)",
        "(0, 9, 59, 'a', NULL, (42<<24)+7)", "(0, 50, 59, 'z', NULL, (42<<24)+7)"};
    const std::vector<std::string> use{"(0, 0, 0, 10, 2, 0)", "(0, 0, 1, 20, 2, 0)",
                                       "(0, 0, 0, 5, 2, 0)", "(0, 0, 0, 10, 2, 1)"};
    const std::vector<std::string> said{"(30, 2, 'last')", "(-5, 3, 'first')", "(10, 2, 'second')",
                                        "(10, 2, 'third')"};
    const auto report = [&](const std::vector<std::size_t>& order) {
      const auto rows = [&](const std::vector<std::string>& all) {
        std::vector<std::string> chosen;
        for (const std::size_t i : order) chosen.push_back(all[i]);
        return fmt::format("{}", fmt::join(chosen, ", "));
      };
      return read(named("(1, 'k1'), (2, 'k2'), (3, 'cudaLaunchKernel'), (4, 'cuLaunchKernel')") +
                  kernel_rows(rows(kernel)) + call_rows(rows(call)) + range_rows(rows(range)) +
                  memory + into("CUDA_GPU_MEMORY_USAGE_EVENTS", rows(use)) + diagnostics +
                  into("DIAGNOSTIC_EVENT", rows(said)));
    };
    const gh::Trace t = report({0, 1, 2, 3});
    CHECK(list(t.ops.start) == "5 10 10 10");
    CHECK(list(t.ops.end) == "30 25 20 20");  // enclosing rows come first
    CHECK(names(t, t.ranges.name) == "z, a, a, b");
    CHECK(t.diagnostics.at(0).text == "first");
    std::vector<std::size_t> order{0, 1, 2, 3};
    while (std::next_permutation(order.begin(), order.end())) CHECK(dump(report(order)) == dump(t));
  }
  SUBCASE("so do shuffled recordings") {
    for (const char* name : {"ddp", "um", "gpumetrics", "compile-graphs"}) {
      CAPTURE(name);
      const support::TempDir dir;
      const std::filesystem::path original =
                                      std::filesystem::path(GH_FIXTURES) / (name + ".sqlite"s),
                                  shuffled = dir / "shuffled.sqlite";
      std::filesystem::copy_file(original, shuffled);
      for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL",
                                "CUPTI_ACTIVITY_KIND_MEMCPY",
                                "CUPTI_ACTIVITY_KIND_MEMSET",
                                "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                "CUPTI_ACTIVITY_KIND_RUNTIME",
                                "NVTX_EVENTS",
                                "OSRT_API",
                                "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
                                "GPU_METRICS",
                                "TARGET_INFO_GPU_METRICS",
                                "PROFILER_OVERHEAD",
                                "TARGET_INFO_GPU",
                                "TARGET_INFO_CUDA_DEVICE",
                                "TARGET_INFO_CUDA_STREAM",
                                "ThreadNames",
                                "PROCESSES",
                                "DIAGNOSTIC_EVENT",
                                "META_DATA_CAPTURE",
                                "META_DATA_EXPORT"}) {
        if (!gh::Database(shuffled).has_table(table)) continue;
        support::run_sql(
            shuffled,
            fmt::format(
                "CREATE TEMP TABLE t AS SELECT * FROM {0} ORDER BY rowid * 7919 % 10007, rowid "
                "DESC; DELETE FROM {0}; INSERT INTO {0} SELECT * FROM t; DROP TABLE t",
                table));
      }
      const std::string before = dump(gh::read_nsys(original)),
                        after = dump(gh::read_nsys(shuffled));
      CHECK(before.size() > 10'000);
      CHECK((before == after));  // not shown if they differ: it would be megabytes
    }
  }
}

TEST_CASE("nsys: 4. a correlation id is unique only within its process") {
  // Two ranks use the same ids. Rank 43's kernel 3 has no call, although 42 has a call 3;
  // correlations 0 and NULL match nothing.
  const gh::Trace t = read(
      named("(1, 'k42'), (2, 'k43'), (3, 'cudaLaunchKernel')") +
      kernel_rows("(10, 20, 0, 7, 1, 42<<24, 1), (11, 20, 1, 7, 1, 43<<24, 2), (30, 40, 0, 7, 2, "
                  "42<<24, 1), (31, 40, 1, 7, 2, 43<<24, 2), (51, 60, 1, 7, 3, 43<<24, 2), (61, "
                  "70, 0, 7, 0, 42<<24, 1), (71, 80, 0, 7, NULL, 42<<24, 1)") +
      call_rows(
          "(1, 2, (42<<24)+42, 1, 3), (3, 4, (43<<24)+99, 1, 3), (5, 6, (43<<24)+43, 2, 3), (7, 8, "
          "(42<<24)+42, 2, 3), (9, 10, (42<<24)+42, 3, 3), (90, 91, (42<<24)+42, 0, 3)"));
  REQUIRE(t.ops.size() == 7);  // not one more for every call with the same number
  CHECK(list(t.ops.call) == fmt::format("0 1 3 2 {0} {0} {0}", gh::no_row));
  for (Row op = 0; op < 4; ++op)
    CHECK(t.threads[t.calls.thread[t.ops.call[op]]].process == t.process_of(op));
  CHECK(t.processes.at(t.process_of(0)).pid == 42);
  CHECK(t.processes.at(t.process_of(1)).pid == 43);
  CHECK(t.threads.at(t.calls.thread[1]).tid == 99);

  SUBCASE("the bits above the process id are also part of the key") {
    const std::string machine = "(281474976710656 + (42<<24)";
    const gh::Trace u = read(named("(3, 'cudaLaunchKernel')") +
                             kernel_rows("(10, 20, 0, 7, 1, " + machine + "), NULL)") +
                             call_rows("(1, 2, " + machine + " + 5), 1, 3)"));
    CHECK(list(u.ops.call) == "0");
    CHECK(u.processes.at(0).pid == 42);
  }
  SUBCASE("of two calls with one number, the outer one launched") {  // the driver's call within the
                                                                     // runtime's
    const gh::Trace u = read(named("(1, 'cuLaunchKernel'), (2, 'cudaLaunchKernel_v7000')") +
                             kernel_rows("(10, 20, 0, 7, 5, 0, NULL)") +
                             call_rows("(2, 3, 7, 5, 1), (1, 4, 7, 5, 2)"));
    CHECK(u.names[u.calls.name[u.ops.call.at(0)]] == "cudaLaunchKernel");
  }
  SUBCASE("numbers far apart") {  // too far for an array
    const gh::Trace u = read(named("(3, 'cudaLaunchKernel')") +
                             kernel_rows("(10, 20, 0, 7, 1, 0, NULL), (30, 40, 0, 7, 4000000000, "
                                         "0, NULL), (50, 60, 0, 7, 77, 0, NULL)") +
                             call_rows("(1, 2, 7, 1, 3), (3, 4, 7, 4000000000, 3)"));
    CHECK(list(u.ops.call) == fmt::format("0 1 {}", gh::no_row));
  }
}

TEST_CASE("nsys: 5. CUDA graphs traced as a whole have their own table") {
  const std::string launch =
      named("(1, 'cudaGraphLaunch_v10000'), (2, 'k')") + call_rows("(1, 2, (42<<24)+7, 1, 1)");
  SUBCASE("and KERNEL may not exist") {
    const gh::Trace t =
        read(launch + graphs +
             into("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "(10, 20, 0, 7, 1, 42<<24, 3, 4)"));
    REQUIRE(t.ops.size() == 1);
    CHECK(t.ops.kind[0] == OpKind::graph);
    CHECK(t.ops.call[0] == 0);
    CHECK(t.availability(Source::kernels).state == Collected::yes);
    CHECK(t.availability(Source::graph_nodes).state == Collected::not_collected);
    CHECK(contains(t.availability(Source::graph_nodes).reason, "as a whole"));
    CHECK(contains(t.availability(Source::graph_nodes).record_with, "--cuda-graph-trace=node"));
  }
  SUBCASE("or per node") {
    const gh::Trace t =
        read(launch +
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, "
             "correlationId, globalPid, demangledName, graphNodeId);" +
             into("CUPTI_ACTIVITY_KIND_KERNEL",
                  "(10, 20, 0, 7, 1, 42<<24, 2, 5), (20, 30, 0, 7, 1, 42<<24, 2, 6), (40, 50, 0, "
                  "7, 9, 42<<24, 2, NULL), (60, 70, 0, 7, 9, 42<<24, 2, 0)"));
    CHECK(fmt::format("{}", fmt::join(t.ops.in_graph, " ")) == "1 1 0 0");
    CHECK(t.ops.call.at(1) == 0);  // nodes share their graph's launch
    CHECK(t.availability(Source::graph_nodes).known());
  }
  SUBCASE("the GPU is busy with kernels, copies, memsets and graphs, counted once") {
    const gh::Analysis a(
        read(launch + kernel_rows("(0, 10, 0, 7, 0, 42<<24, 2)") +
             copy_rows("(5, 20, 0, 7, 0, 42<<24, 1, 1, 1, 2, 0, 0)") + sets +
             into("CUPTI_ACTIVITY_KIND_MEMSET", "(30, 40, 0, 7, 0, 42<<24, 64, 2)") + graphs +
             into("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "(38, 50, 0, 8, 1, 42<<24, 3, 4)")),
        gh::Classes(), {});
    CHECK(kinds(a.trace.ops.kind) == "kernel copy set graph");
    CHECK(fact(a, "gpu.busy_fraction") == doctest::Approx(0.8));
  }
  SUBCASE("CUDA_GRAPH_EVENTS, whose meaning changed, is ignored") {
    const std::string graph =
        graphs + into("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "(10, 20, 0, 7, 1, 42<<24, 3, 4)");
    const std::string events =
        "CREATE TABLE CUDA_GRAPH_EVENTS (start, end, eventClass, globalTid, nameId, graphId, "
        "originalGraphId, graphExecId);" +
        into("CUDA_GRAPH_EVENTS", "(11, 9000, 0, 7, 1, 3, NULL, 4)");
    CHECK(dump(read(launch + graph + events)) == dump(read(launch + graph)));
  }
}

TEST_CASE(
    "nsys: 6. NVTX ranges have text or textId and five types of events, and ends may be missing or "
    "wrong") {
  const gh::Trace t = read(
      named("(5, 'registered')") + kernel_rows("(50, 100, 0, 7, 0, 42<<24, 5)") +
      range_rows(
          "(10, 20, 59, 'pushed', NULL, (42<<24)+7), (12, 18, 60, NULL, 5, (42<<24)+8), (15, NULL, "
          "34, 'mark', NULL, (42<<24)+7), (-5000000000, NULL, 75, 'NCCL', 5, (42<<24)+7),"
          "(11, NULL, 39, 'thread', NULL, (42<<24)+7), (-4000000000, -1, 76, 'NCCL', NULL, 0), "
          "(16, NULL, 59, 'still open', NULL, (42<<24)+7), (-3, 5, 59, 'before', NULL, (42<<24)+7),"
          "(30, 25, 59, 'backwards', NULL, (42<<24)+7), (31, 31, 59, 'empty', NULL, (42<<24)+7), "
          "(40, 41, 59, NULL, NULL, (42<<24)+7)"));
  CHECK(names(t, t.ranges.name) == "before, pushed, registered, still open, empty, ");
  CHECK(list(t.ranges.start) == "-3 10 12 16 31 40");
  CHECK(list(t.ranges.end) == "5 20 18 100 31 41");  // open ranges end with the recording
  CHECK(t.threads.at(t.ranges.thread[2]).tid == 8);
  CHECK(t.capture_start == -3);  // not the domain's row, seconds before the window
  CHECK(t.capture_end == 100);
  REQUIRE(t.problems.size() == 1);
  CHECK(contains(t.problems[0], "skipped 1 invalid row of table NVTX_EVENTS"));
  CHECK(t.availability(Source::ranges).state == Collected::yes);

  SUBCASE("all ranges may be open") {
    const gh::Trace u =
        read(range_rows("(10, NULL, 59, 'open', NULL, 7), (20, NULL, 60, 'open too', NULL, 7)"));
    CHECK(list(u.ranges.end) == "20 20");
  }
  SUBCASE("without types, a row with an end is a range") {
    const gh::Trace u = read("CREATE TABLE NVTX_EVENTS (start, end, text, globalTid);" +
                             into("NVTX_EVENTS", "(1, 2, 'range', 7), (1, NULL, 'mark', 7)"));
    CHECK(names(u, u.ranges.name) == "range");
  }
}

TEST_CASE("nsys: 7. API names lose their ABI suffixes, and the two APIs share a table") {
  const std::pair<const char*, const char*> cases[] = {
      {"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
      {"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"},
      {"cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"},
      {"cuMemcpyDtoHAsync_v2_ptsz", "cuMemcpyDtoHAsync"},
      {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"},
      {"cudaMemcpy_ptds_v7000", "cudaMemcpy"},
      {"cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC"},
      {"cuLaunchKernel", "cuLaunchKernel"},
      {"cuDevicePrimaryCtxSetFlags_v11000", "cuDevicePrimaryCtxSetFlags"},
      {"cudaStreamCreate_version", "cudaStreamCreate_version"},
      {"cuda_v", "cuda_v"},
  };
  for (const auto& [recorded, expected] : cases) {
    const gh::Trace t = read(named("(1, '"s + recorded + "')") + call_rows("(1, 2, 7, 1, 1)"));
    CHECK(names(t, t.calls.name) == expected);
  }
  // Only names of CUDA calls have suffixes.
  const gh::Trace t = read(named("(1, 'flash_attention_v2'), (2, 'sem_wait_v1')") + one_kernel +
                           range_rows("(1, 2, 59, 'model_v2', NULL, 7)") + os_calls +
                           into("OSRT_API", "(1, 2, 7, 2)"));
  CHECK(names(t, {t.ops.name.at(0), t.ranges.name.at(0), t.os_calls.name.at(0)}) ==
        "flash_attention_v2, model_v2, sem_wait_v1");

  const gh::Classes classes;
  const gh::Trace mixed = read(
      named("(1, 'cuLaunchKernel'), (2, 'cudaMemcpyAsync_v3020')") +
      call_rows("(1, 2, 7, 1, 1), (3, 4, 7, 2, 2)") +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (start, end, globalTid, correlationId, nameId);" +
      into("CUPTI_ACTIVITY_KIND_DRIVER",
           "(5, 6, 7, 3, 1)"));  // some tools that write the same tables keep them apart
  CHECK(names(mixed, mixed.calls.name) == "cuLaunchKernel, cudaMemcpyAsync, cuLaunchKernel");
  CHECK(classes.call_class(mixed.names[mixed.calls.name[0]]) == gh::CallClass::launch);
  CHECK(classes.call_class(mixed.names[mixed.calls.name[1]]) == gh::CallClass::copy);
}

TEST_CASE("nsys: 8. copies have a kind, the memory at either end, and why a page moved") {
  const auto column_of = [](const std::string& column, const std::vector<std::string>& values) {
    std::string rows;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::map<std::string, std::string> row{
          {"copyKind", "1"}, {"srcKind", "0"}, {"dstKind", "2"}, {"migrationCause", "NULL"}};
      row[column] = values[i];
      rows += fmt::format("{}({}, {}, 0, 7, 0, 0, 64, {}, {}, {}, {}, 0)", i ? ", " : "", i, i,
                          row["copyKind"], row["srcKind"], row["dstKind"], row["migrationCause"]);
    }
    return read(copy_rows(rows)).ops;
  };
  CHECK(kinds(column_of("copyKind", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11",
                                     "12", "13", "14", "NULL", "-1"})
                  .copy) ==
        "other h2d d2h h2d d2h d2d d2d d2d d2d h2h p2p um_h2d um_d2h um_d2d other other other");
  const std::vector<std::string> memory_kinds{"0", "1", "2", "3", "4", "5", "6", "7", "99", "NULL"};
  const std::string memory_names =
      "pageable pinned device array managed device managed unknown unknown unknown";
  CHECK(kinds(column_of("srcKind", memory_kinds).source) == memory_names);
  CHECK(kinds(column_of("dstKind", memory_kinds).target) == memory_names);
  CHECK(kinds(column_of("migrationCause", {"0", "1", "2", "3", "4", "5", "6", "NULL"}).cause) ==
        "none prefetch fault speculative eviction access_counter none none");

  SUBCASE("unified memory copies have no stream and no call, whatever the columns say") {
    const gh::Trace t =
        read(named("(1, 'cudaLaunchKernel')") + call_rows("(1, 2, (42<<24)+7, 5, 1)") +
             copy_rows("(10, 20, 0, 7, 5, 42<<24, 4096, 11, 7, 7, 2, 140737488355328), (30, 40, 0, "
                       "4294967295, NULL, 42<<24, 4096, 12, 7, 7, 4, 140737488355328), (50, 60, 0, "
                       "7, 5, 42<<24, 64, 1, 1, 2, NULL, 4096)"));
    CHECK(list(t.ops.call) == fmt::format("{0} {0} 0", gh::no_row));
    CHECK(t.ops.stream[0] == t.ops.stream[1]);
    CHECK(t.ops.stream[0] != t.ops.stream[2]);
    CHECK(t.streams.at(t.ops.stream[2]).id == 7);
    CHECK(list(t.ops.address) == "140737488355328 140737488355328 0");
    CHECK(list(t.ops.bytes) == "4096 4096 64");
    CHECK(kinds(t.ops.cause) == "fault eviction none");
    CHECK(t.availability(Source::unified_copies).state == Collected::yes);
  }
  SUBCASE("they are not mistaken for copies, nor copies for them") {
    CHECK(read(copy_rows("(1, 2, 0, 0, 0, 0, 64, 11, 7, 7, 2, 0)"))
              .availability(Source::copies)
              .state == Collected::unknown);
    CHECK(read(copy_rows("(1, 2, 0, 0, 0, 0, 64, 1, 1, 2, 0, 0)"))
              .availability(Source::unified_copies)
              .state == Collected::unknown);
  }
  SUBCASE("memsets have a size and a target") {
    const gh::Trace t =
        read(sets + into("CUPTI_ACTIVITY_KIND_MEMSET", "(1, 2, 0, 7, 0, 0, 4096, 2)"));
    CHECK(t.ops.kind.at(0) == OpKind::set);
    CHECK(t.ops.bytes.at(0) == 4096);
    CHECK(t.ops.target.at(0) == MemoryKind::device);
  }
}

TEST_CASE("nsys: 9. GPU and CPU page faults are read") {
  const gh::Trace t =
      read(named("(3, 'at::native::copy_kernel')") + one_kernel +
           "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start, end, globalPid, deviceId, address, "
           "numberOfPageFaults, faultAccessType);" +
           into("CUDA_UM_GPU_PAGE_FAULT_EVENTS",
                "(30, 40, 42<<24, 1, 131072, 12, 1), (10, 15, 42<<24, 0, 65536, 3, 2)") +
           "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start, globalPid, address, "
           "originalFaultPc, CpuInstruction, module);" +
           into("CUDA_UM_CPU_PAGE_FAULT_EVENTS",
                "(25, 42<<24, 8192, 1, 3, 4), (12, 42<<24, 4096, 1, NULL, NULL)"));
  CHECK(t.problems.empty());
  CHECK(list(t.gpu_faults.start) == "10 30");
  CHECK(list(t.gpu_faults.end) == "15 40");
  CHECK(list(t.gpu_faults.address) == "65536 131072");
  CHECK(list(t.gpu_faults.count) == "3 12");
  CHECK(t.devices.at(t.gpu_faults.device[0]).ordinal == 0);
  CHECK(t.devices.at(t.gpu_faults.device[1]).ordinal == 1);
  CHECK(list(t.cpu_faults.start) == "12 25");
  CHECK(list(t.cpu_faults.address) == "4096 8192");
  CHECK(names(t, t.cpu_faults.function) == ", at::native::copy_kernel");
  CHECK(t.availability(Source::gpu_faults).state == Collected::yes);
  CHECK(t.availability(Source::cpu_faults).state == Collected::yes);
}

TEST_CASE(
    "nsys: 10. a call's name says what a synchronization waits for; the recorded type does not") {
  // As 2025.3 writes them: type 2 (stream wait event) for cudaStreamSynchronize, 1 (event
  // synchronize) for cudaEventQuery.
  const gh::Trace t =
      read(named("(1, 'cudaStreamSynchronize_v3020'), (2, 'cudaEventQuery_v3020'), (3, "
                 "'cudaStreamWaitEvent_v3020'), (4, 'cudaEventSynchronize_v3020'), (5, "
                 "'cuCtxSynchronize')") +
           call_rows("(10, 20, (42<<24)+7, 1, 1), (30, 31, (42<<24)+7, 2, 2), (40, 41, (42<<24)+7, "
                     "3, 3), (50, 60, (42<<24)+7, 4, 4), (70, 80, (42<<24)+7, 5, 5)") +
           syncs +
           into("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                "(71, 79, 0, 4294967295, 5, 42<<24, 4, 0), (11, 19, 0, 7, 1, 42<<24, 2, "
                "4294967295), (30, 31, 0, 7, 2, 42<<24, 1, 6), (40, 41, 0, 7, 3, 42<<24, 2, 6), "
                "(51, 59, 0, 7, 4, 42<<24, 1, 6), (90, 95, 0, 7, 5, 43<<24, 3, 0)"));
  const gh::Classes classes;
  std::string found;
  for (Row s = 0; s < t.syncs.size(); ++s)
    found += t.syncs.call[s] == gh::no_row
                 ? "-"
                 : gh::name_of(classes.call_class(t.names[t.calls.name[t.syncs.call[s]]])) + " "s;
  CHECK(found == "sync event event sync sync -");  // the last belongs to another process
  CHECK(list(t.syncs.start) == "11 30 40 51 71 90");
  CHECK(t.streams.at(t.syncs.stream[0]).id == 7);
}

TEST_CASE("nsys: 11. the GPU is known from what the report says about it") {
  const auto device_of = [](const std::string& sql) {
    const gh::Trace t = read(named("(1, 'k')") + sql);
    return t.devices.at(t.device_of(0));
  };
  SUBCASE("the report does not describe it") {
    const gh::Device d = device_of(kernel_rows("(10, 20, 3, 7, 1, 42<<24, 1)"));
    CHECK(d.ordinal == 3);
    CHECK(d.name == "");
    CHECK(d.sm_count == 0);
  }
  SUBCASE("its id is not the CUDA ordinal, and the first row is not the GPU that ran") {
    const gh::Device d = device_of(
        one_kernel + gpu_rows("(3, 2, 'A40', 84, 1, 1, 1, 8, 6), (2, 3, 'A40', 84, 1, 1, 1, 8, 6), "
                              "(1, 0, 'A100', 108, 42505273344, 1555200000000, 1410000000, 8, 0), "
                              "(0, 1, 'A100 of others', 108, 1, 1, 1, 8, 0)"));
    CHECK(d.name == "A100");
    CHECK(d.ordinal == 0);
    CHECK(d.sm_count == 108);
    CHECK(d.memory_bytes == 42505273344);
    CHECK(d.memory_bytes_per_s == 1555.2e9);
    CHECK(d.clock_hz == 1.41e9);
    CHECK(d.compute_major == 8);
    CHECK(d.compute_minor == 0);
  }
  SUBCASE("GPUs without SMs are not CUDA GPUs, although they have an ordinal") {
    CHECK(device_of(one_kernel +
                    gpu_rows("(0, 0, 'RTX 5000', 76, 1, 1, 1, 8, 9), (1, 0, 'Iris', 0, 0, 0, 0, 0, "
                             "0), (2, 0, 'Basic Render Driver', 0, 0, 0, 0, 0, 0)"))
              .name == "RTX 5000");
    CHECK(device_of(
              one_kernel +
              gpu_rows("(1, 0, 'Iris', 0, 0, 0, 0, 0, 0), (0, 0, 'RTX 5000', 76, 1, 1, 1, 8, 9)"))
              .name == "RTX 5000");
  }
  const std::string cuda_device = "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);";
  SUBCASE("TARGET_INFO_CUDA_DEVICE says what a process means by an ordinal") {
    const std::string two =
        gpu_rows("(0, 0, 'first', 132, 1, 1, 1, 9, 0), (1, 1, 'second', 132, 1, 1, 1, 9, 0)") +
        cuda_device;
    CHECK(device_of(one_kernel + two +
                    into("TARGET_INFO_CUDA_DEVICE", "(1, 0, 42), (0, 1, 42), (0, 0, 43)"))
              .name == "second");
    CHECK(device_of(one_kernel + two + into("TARGET_INFO_CUDA_DEVICE", "(1, 0, 41)")).name ==
          "first");  // another process's view
  }
  SUBCASE("ranks that all call their GPU device 0 have different GPUs, distinguished by id") {
    const gh::Trace t = read(
        named("(1, 'k')") +
        kernel_rows("(10, 20, 0, 7, 1, 42<<24, 1), (11, 21, 0, 7, 1, 43<<24, 1), (30, 40, 0, 7, 2, "
                    "42<<24, 1)") +
        gpu_rows(
            "(2, 2, 'H200 of 42', 132, 1, 1, 1, 9, 0), (5, 5, 'H200 of 43', 132, 1, 1, 1, 9, 0)") +
        cuda_device + into("TARGET_INFO_CUDA_DEVICE", "(2, 0, 42), (5, 0, 43)"));
    REQUIRE(t.devices.size() == 2);
    CHECK(t.device_of(0) == t.device_of(2));
    CHECK(t.devices.at(t.device_of(0)).name == "H200 of 42");
    CHECK(t.devices.at(t.device_of(0)).ordinal == 2);
    CHECK(t.devices.at(t.device_of(1)).name == "H200 of 43");
    CHECK(t.devices.at(t.device_of(1)).ordinal == 5);
  }
  SUBCASE("TARGET_INFO_CUDA_STREAM says how CUDA orders a stream") {
    const auto order = [&](const std::string& rows) {
      const gh::Trace t = read(
          one_kernel +
          "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId, processId, contextId, priority, flag);" +
          into("TARGET_INFO_CUDA_STREAM", rows));
      return t.streams.at(0).order;
    };
    CHECK(order("(7, 42, 1, 0, 3)") == gh::StreamOrder::legacy);
    CHECK(order("(7, 42, 1, 0, 1)") == gh::StreamOrder::blocking);
    CHECK(order("(7, 42, 1, 0, 2)") == gh::StreamOrder::apart);
    CHECK(order("(8, 42, 1, 0, 2)") == gh::StreamOrder::unknown);
    CHECK(order("(7, 42, 1, 0, 2), (7, 42, 2, 0, 1)") == gh::StreamOrder::unknown);
    CHECK(order("(7, 42, 1, 0, 9)") == gh::StreamOrder::unknown);
  }
  SUBCASE("before 2022 the specifications were in another table, in other units") {
    const gh::Device d = device_of(
        one_kernel + "CREATE TABLE TARGET_INFO_GPU (deviceId, name, isDiscrete);" +
        into("TARGET_INFO_GPU", "(0, 'NVIDIA GeForce RTX 3080', 1)") +
        "CREATE TABLE TARGET_INFO_CUDA_GPU (name, globalMemoryBandwidth, globalMemorySize, "
        "coreClockRate, numMultiprocessors, computeCapabilityMajor, computeCapabilityMinor, "
        "deviceId, pid, numMemcpyEngines);" +
        into("TARGET_INFO_CUDA_GPU",
             "('NVIDIA GeForce RTX 3080', 760080000, 10495524864, 1740000, 68, 8, 6, 0, 42, 2)"));
    CHECK(d.name == "NVIDIA GeForce RTX 3080");
    CHECK(d.sm_count == 68);
    CHECK(d.memory_bytes == 10495524864);
    CHECK(d.memory_bytes_per_s == doctest::Approx(760.08e9));
    CHECK(d.clock_hz == doctest::Approx(1.74e9));
    CHECK(d.compute_major == 8);
    CHECK(d.compute_minor == 6);
    CHECK(d.copy_engines == 2);
  }
}

TEST_CASE("nsys: 12. GPU metrics are found by name, because their ids change") {
  // Two GPUs whose metrics are numbered differently. The low byte of the type is the GPU's id in
  // the report, not its ordinal.
  const std::string sm = "SMs Active [Throughput %]", dram = "DRAM Read Bandwidth [Throughput %]";
  const gh::Trace t =
      read(named("(1, 'k')") +
           kernel_rows("(0, 1000, 0, 7, 0, 42<<24, 1), (0, 1000, 1, 7, 0, 42<<24, 1)") +
           gpu_rows("(0, 1, 'id 0', 132, 1, 1, 1, 9, 0), (1, 0, 'id 1', 132, 1, 1, 1, 9, 0)") +
           metric_names +
           into("TARGET_INFO_GPU_METRICS", "(256, 0, '', 3, '" + sm + "'), (256, 0, '', 4, '" +
                                               dram + "'), (257, 0, '', 3, '" + dram +
                                               "'), (257, 0, '', 4, '" + sm + "')") +
           samples +
           into("GPU_METRICS",
                "(999, 20, 256, 3, 50), (999, 10, 257, 3, 10), (999, 10, 257, 4, 70), (999, 10, "
                "256, 3, 30.0), (999, 10, 256, 4, 20)"));
  CHECK(t.problems.empty());
  std::string found;
  for (Row r = 0; r < t.samples.size(); ++r)
    found +=
        fmt::format("{} {} {} {}; ", t.samples.start[r], t.devices.at(t.samples.device[r]).name,
                    t.names[t.samples.metric[r]].substr(0, 4), t.samples.value[r]);
  CHECK(found ==
        "10 id 1 DRAM 10; 10 id 1 SMs  70; 10 id 0 DRAM 20; 10 id 0 SMs  30; 20 id 0 SMs  50; ");
  CHECK(fact(gh::Analysis(t, gh::Classes(), {}), "samples.sm_active_fraction") ==
        doctest::Approx(0.5));  // from 30, 50 and 70 %
  CHECK(t.availability(Source::samples).state == Collected::yes);

  SUBCASE("a sample whose metric has no name is skipped, and the report says so") {
    const gh::Trace u = read(strings + captured("('GPU_METRICS_OPTIONS:GPU_0:ID', '0')") + samples +
                             into("GPU_METRICS", "(1, 1, 0, 3, 50)"));
    CHECK(u.samples.size() == 0);
    CHECK(contains(u.problems.at(0), "1 GPU metric sample"));
    CHECK(!u.availability(Source::samples).known());
  }
  SUBCASE("a GPU that was sampled but did nothing gets no other GPU's number") {
    const gh::Trace u =
        read(named("(1, 'k')") + one_kernel +
             gpu_rows("(0, 0, 'idle', 132, 1, 1, 1, 9, 0), (3, 3, 'busy', 132, 1, 1, 1, 9, 0)") +
             "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);" +
             into("TARGET_INFO_CUDA_DEVICE", "(3, 0, 42)") + metric_names +
             into("TARGET_INFO_GPU_METRICS",
                  "(256, 0, '', 3, '" + sm + "'), (259, 0, '', 3, '" + sm + "')") +
             samples + into("GPU_METRICS", "(1, 1, 256, 3, 1), (1, 1, 259, 3, 99)"));
    REQUIRE(u.devices.size() == 2);
    CHECK(u.devices[u.device_of(0)].name == "busy");
    CHECK(u.devices[u.device_of(0)].ordinal != u.devices[1 - u.device_of(0)].ordinal);
    CHECK(u.samples.value.at(0) + u.samples.value.at(1) == 100);
  }
}

TEST_CASE("nsys: 13. text that is not UTF-8 becomes valid text") {
  // A lone 0xFF, a terminal escape, a new line; as text and as bytes.
  const std::string text = "CAST(X'41FF1B5B33316D0A42' AS TEXT)", shown = "A\uFFFD [31m B";
  const gh::Trace t =
      read(strings + into("StringIds", "(1, " + text + "), (2, X'41FF')") + one_kernel +
           call_rows("(1, 2, (42<<24)+7, 1, 1)") +
           "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid);" +
           into("NVTX_EVENTS", "(1, 9, 59, " + text +
                                   ", NULL, (42<<24)+7), (2, 8, 59, X'41FF', NULL, (42<<24)+7), "
                                   "(3, 7, 59, NULL, 2, (42<<24)+7)") +
           gpu_rows("(0, 0, " + text + ", 1, 1, 1, 1, 9, 0)") +
           "CREATE TABLE ThreadNames (nameId, globalTid);" +
           into("ThreadNames", "(1, (42<<24)+7)") + "CREATE TABLE PROCESSES (globalPid, name);" +
           into("PROCESSES", "(42<<24, '/opt/' || " + text + ")") + diagnostics +
           into("DIAGNOSTIC_EVENT", "(1, 2, " + text + ")") +
           "CREATE TABLE META_DATA_EXPORT (name, value);" +
           into("META_DATA_EXPORT", "('EXPORT_SCHEMA_VERSION', " + text +
                                        "), ('EXPORT_PRODUCT_VERSION', " + text + ")"));
  CHECK(t.problems.empty());
  CHECK(names(t, t.ops.name) == shown);
  CHECK(names(t, t.calls.name) == shown);
  CHECK(names(t, t.ranges.name) == shown + ", A\uFFFD, A\uFFFD");
  CHECK(t.devices.at(0).name == shown);
  CHECK(t.threads.at(0).name == shown);
  CHECK(t.processes.at(0).name == shown);
  CHECK(t.diagnostics.at(0).text == shown);
  CHECK(t.schema == shown);
  CHECK(t.producer == "Nsight Systems " + shown);
}

TEST_CASE("nsys: 6. NCCL's message sizes are in the JSON of a range") {
  const gh::Trace t = read(
      "CREATE TABLE NVTX_EVENTS (start, end, eventType, text TEXT, textId, globalTid, jsonText);" +
      into("NVTX_EVENTS",
           "(1, 2, 59, 'ncclAllReduce', NULL, 7, '{\"NCCL communicator ID\": 5, \"Message size "
           "[bytes]\": 1048576}'), (3, 4, 59, 'ncclBroadcast', NULL, 7, '{\"Message size "
           "[bytes]\":\"64\"}'),"
           "(5, 6, 59, 'ncclAllGather', NULL, 7, '{\"Message size [bytes]\": -1'), (7, 8, 59, "
           "'forward', NULL, 7, NULL)"));
  CHECK(list(t.ranges.bytes) == "1048576 64 0 0");
}

TEST_CASE("nsys: 7. graphs launched without any GPU work were lost, not absent") {
  const gh::Trace t =
      read(named("(1, 'cudaGraphLaunch_v10000'), (2, 'k')") +
           kernel_rows("(10, 20, 0, 7, 1, 42<<24, 2)") + call_rows("(1, 2, (42<<24)+7, 5, 1)"));
  CHECK(t.availability(Source::graph_nodes).state == Collected::not_collected);
  CHECK(t.availability(Source::kernels).state == Collected::not_collected);
  CHECK(t.problems.size() == 1);
}

TEST_CASE("nsys: a table without row ids is read like any other") {
  CHECK(list(read("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end, "
                  "deviceId, streamId, correlationId, globalPid, demangledName) WITHOUT ROWID;" +
                  into("CUPTI_ACTIVITY_KIND_KERNEL", "(10, 20, 0, 7, 1, 42<<24, 1)"))
                 .ops.start) == "10");
}

TEST_CASE("nsys: 13. the environment of the profiled process is not revealed") {
  // It may contain secrets. It is in four places, and a damaged id (kernel 9, range 9) must not
  // reveal it either.
  const std::string environment =
      "CAST(X'"
      "484F4D453D2F726F6F7400"
      "544F4B454E3D534543524554"
      "00' AS TEXT)";  // HOME=/root NUL TOKEN=SECRET NUL
  const gh::Trace t = read(
      strings + into("StringIds", "(1, 'k'), (9, " + environment + "), (10, 'pid_42_environ')") +
      kernel_rows("(10, 20, 0, 7, 1, 42<<24, 1), (30, 40, 0, 7, 1, 42<<24, 9)") +
      range_rows("(1, 2, 59, NULL, 9, (42<<24)+7)") +
      "CREATE TABLE ProcessStreams (globalPid, filenameId, contentId);" +
      into("ProcessStreams", "(42<<24, 10, 9)") +
      "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid, devStateName, name, nameEnum, value);" +
      into("TARGET_INFO_SYSTEM_ENV",
           "(0, 'Local (CLI)', 'EnvironmentVariables', 1, 'TOKEN=SECRET')") +
      captured("('CAPTURE_EVENT_TYPE', 'Cuda'), ('PROCESS_0:ENVIRONMENT', 'TOKEN=SECRET'), "
               "('PROCESS_0:ENV:COLLECT_TOKEN', 'SECRET'), ('PROCESS_0:COMMAND', 'python "
               "--token=SECRET')") +
      "CREATE TABLE PROCESSES (globalPid, name);" +
      into("PROCESSES", "(42<<24, '/usr/bin/python train.py --token=SECRET')"));
  CHECK(!contains(dump(t), "SECRET"));
  CHECK(!contains(dump(t), "HOME"));
  CHECK(!contains(dump(t), "environ"));
  CHECK(names(t, t.ops.name) == "k, ");
  CHECK(t.processes.at(0).name == "python");  // the program's arguments may contain secrets too
}

TEST_CASE("nsys: 14. blocking calls of host threads, and memory in use, are read") {
  const std::string files =
      "CREATE TABLE OSRT_FILE_ACCESS_EVENTS (fileAccessId, threadId, startedAt, endedAt, "
      "eventType, apiCallId, bytesProcessed);";
  SUBCASE("OS calls, and file accesses, which have different columns") {
    // A file access has its thread without the process, which another row of that thread gives.
    const gh::Trace t =
        read(named("(1, 'pthread_cond_wait'), (2, 'poll'), (3, 'fopen')") + os_calls +
             into("OSRT_API", "(30, 40, (42<<24)+8, 2), (10, 20, (42<<24)+7, 1)") + files +
             into("OSRT_FILE_ACCESS_EVENTS", "(0, 8, 50, 60, 1, 3, 0), (1, 99, 70, 80, 1, 3, 0)") +
             "CREATE TABLE OSRT_CALLCHAINS (id, symbol);" +
             "CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);" +
             into("SCHED_EVENTS", "(1, 0, 1, 7)"));
    CHECK(t.problems.empty());
    CHECK(names(t, t.os_calls.name) == "pthread_cond_wait, poll, file access, file access");
    CHECK(list(t.os_calls.start) == "10 30 50 70");
    CHECK(list(t.os_calls.end) == "20 40 60 80");
    CHECK(t.os_calls.thread[1] == t.os_calls.thread[2]);
    CHECK(t.processes.at(t.threads.at(t.os_calls.thread[2]).process).pid == 42);
    CHECK(t.threads.at(t.os_calls.thread[3]).tid ==
          99);  // seen nowhere else: a thread of an unknown process
    CHECK(t.availability(Source::os_calls).state == Collected::yes);
  }
  SUBCASE("threads of a machine whose id sets the sign bit") {
    const gh::Trace t =
        read(named("(1, 'poll')") + os_calls +
             into("OSRT_API", "(10, 20, (-9223372036854775807 - 1) + (42<<24) + 7, 1)"));
    CHECK(t.threads.at(0).tid == 7);
    CHECK(t.processes.at(0).pid == 42);
  }
  SUBCASE("allocations from before the window, and frees of unknown memory") {
    const gh::Trace t =
        read(named("(1, 'k')") + one_kernel + memory +
             into("CUDA_GPU_MEMORY_USAGE_EVENTS",
                  "(30, 42<<24, 0, 400, 2, 1), (12, 42<<24, 0, 50, 2, 0), (0, 42<<24, 0, 100, 2, "
                  "0), (40, 42<<24, 0, 120, 4, 0), (50, 42<<24, 0, 9999, 1, 0)"));
    CHECK(list(t.memory_use.start) == "0 12 30 40 50");
    CHECK(list(t.memory_use.bytes) == "100 50 -400 120 9999");
    CHECK(kinds(t.memory_use.kind) == "device device device managed pinned");
    CHECK(t.capture_start == 10);  // the snapshot is not an event of the window
    CHECK(fact(gh::Analysis(t, gh::Classes(), {}), "memory.peak_bytes") == 150);
  }
  SUBCASE("the blocks of memory, their calls' threads, and pools") {
    const std::string blocks =
        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, address, bytes, "
        "memKind, memoryOperationType, correlationId, localMemoryPoolAddress, "
        "localMemoryPoolSize, localMemoryPoolUtilizedSize);";
    const gh::Trace t = read(named("(1, 'k'), (3, 'cudaMalloc')") + one_kernel + calls +
                             into("CUPTI_ACTIVITY_KIND_RUNTIME",
                                  "(28, 31, (42<<24)+7, 9, 3), (28, 31, (43<<24)+8, 9, 3)") +
                             blocks +
                             into("CUDA_GPU_MEMORY_USAGE_EVENTS",
                                  "(30, 42<<24, 0, 4096, 100, 2, 0, 9, NULL, NULL, NULL), "
                                  "(30, 43<<24, 0, 4096, 60, 2, 0, 9, 0, 0, 0), "
                                  // Older than the recording: in the order of their calls.
                                  "(0, 42<<24, 0, 512, 20, 2, 0, 3, 77, 1024, 20), "
                                  "(0, 42<<24, 0, 512, 20, 2, 1, 2, 77, 1024, 20), "
                                  "(0, 42<<24, 0, 512, 20, 2, 0, 1, 77, 1024, 20), "
                                  "(40, 42<<24, 0, 512, 20, 2, 1, 0, 77, -5, 0), "
                                  "(50, 42<<24, 0, 0, 20, 1, 0, 0, 0, 0, 0), "
                                  "(60, 42<<24, 0, 8, 0, 1, 0, 0, 0, 0, 0), "
                                  "(70, 42<<24, 0, 'x', 5, 1, 0, 0, 0, 0, 0)"));
    const gh::Allocations& a = t.allocations;
    CHECK(a.by == gh::Allocator::cuda);
    CHECK(list(a.start) == "0 0 0 30 30 40");
    CHECK(list(a.address) == "512 512 512 4096 4096 512");
    CHECK(list(a.bytes) == "20 -20 20 100 60 -20");
    CHECK(list(a.correlation) == "1 2 3 9 9 0");
    CHECK(list(a.pool) == "77 77 77 0 0 77");
    CHECK(list(a.reserved) == "1024 1024 1024 -1 -1 0");
    CHECK(list(a.in_use) == "-1 -1 -1 -1 -1 -1");
    CHECK(t.processes.at(a.process[3]).pid == 42);
    CHECK(t.processes.at(a.process[4]).pid == 43);
    CHECK(t.threads.at(a.thread[3]).tid == 7);
    CHECK(t.threads.at(a.thread[4]).tid == 8);
    CHECK(a.thread[0] == gh::no_index);  // no call in the report
    CHECK(a.thread[5] == gh::no_index);
    CHECK(kinds(a.kind) == "device device device device device device");
    CHECK(t.memory_use.size() == 8);
    CHECK(t.problems.size() == 1);  // the address that is a text
  }
  SUBCASE("blocks without addresses are none") {
    const gh::Trace t = read(named("(1, 'k')") + one_kernel + memory +
                             into("CUDA_GPU_MEMORY_USAGE_EVENTS", "(30, 42<<24, 0, 400, 2, 1)"));
    CHECK(t.memory_use.size() == 1);
    CHECK(t.allocations.size() == 0);
  }
}

TEST_CASE("nsys: 15. columns that not all versions have may be missing") {
  // A table with the columns of several versions; the event is always the same.
  struct Version {
    const char* since;
    std::string table, columns, values;
  };
  SUBCASE("kernels") {
    const std::string before =
                          "start, end, deviceId, contextId, streamId, correlationId, globalPid, "
                          "demangledName, shortName, ",
                      values = "10, 20, 0, 1, 7, 5, 42<<24, 1, 2, ";
    const std::string grid = "gridX, gridY, gridZ, blockX, blockY, blockZ",
                      sizes = "3, 2, 1, 128, 2, 1";
    for (const auto& [columns, row] :
         {std::pair(before + grid, values + sizes),
          std::pair(before + "mangledName, launchType, " + grid, values + "3, 1, " + sizes),
          std::pair("greenContextId, " + before + "mangledName, " + grid + ", graphNodeId",
                    "NULL, " + values + "3, " + sizes + ", NULL"),
          std::pair(
              "greenContextId, " + before + grid + ", clusterX, clusterY, clusterZ, graphNodeId",
              "NULL, " + values + sizes + ", 2, 1, 1, NULL")}) {
      CAPTURE(columns);
      const gh::Trace t = read(named("(1, 'void k<float>()'), (2, 'k'), (3, '_Z1k')") +
                               "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" + columns + ");" +
                               into("CUPTI_ACTIVITY_KIND_KERNEL", "(" + row + ")"));
      REQUIRE(t.ops.size() == 1);
      CHECK(names(t, t.ops.name) == "void k<float>()");
      CHECK(t.ops.correlation[0] == 5);
      CHECK(t.ops.blocks[0] == 6);
      CHECK(t.ops.blocks_x_of(0) == 3);
      CHECK(t.ops.threads[0] == 256);
      CHECK(t.ops.in_graph[0] == 0);
    }
    // Without a demangled name the short one is used.
    const gh::Trace t = read(named("(2, 'k')") +
                             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, shortName);" +
                             into("CUPTI_ACTIVITY_KIND_KERNEL", "(1, 2, 2)"));
    CHECK(names(t, t.ops.name) == "k");
    // And without any there is none: not the string that happens to have id 0.
    const gh::Trace u =
        read(named("(0, '[Unknown]')") + "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end);" +
             into("CUPTI_ACTIVITY_KIND_KERNEL", "(1, 2)"));
    CHECK(names(u, u.ops.name) == "");
  }
  SUBCASE("copies") {
    const std::string before =
                          "start, end, deviceId, streamId, correlationId, globalPid, bytes, "
                          "copyKind, srcKind, dstKind, migrationCause",
                      values = "10, 20, 0, 7, 5, 42<<24, 4096, 11, 7, 7, 2";
    for (const auto& [columns, row, address] :
         {std::tuple(before, values, 0),
          std::tuple(before + ", virtualAddress", values + ", 65536", 65536),
          std::tuple("greenContextId, " + before + ", graphNodeId, virtualAddress, copyCount",
                     "NULL, " + values + ", NULL, 65536, 3", 65536)}) {
      CAPTURE(columns);
      const gh::Trace t = read("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (" + columns + ");" +
                               into("CUPTI_ACTIVITY_KIND_MEMCPY", "(" + row + ")"));
      REQUIRE(t.ops.size() == 1);
      CHECK(t.ops.bytes[0] == 4096);
      CHECK(t.ops.copy[0] == CopyKind::um_h2d);
      CHECK(t.ops.cause[0] == MigrationCause::fault);
      CHECK(t.ops.address_of(0) == address);
    }
  }
  SUBCASE("synchronizations and events") {
    for (const auto& [columns, row] :
         {std::pair("start, end, deviceId, streamId, correlationId, globalPid, syncType, eventId",
                    "10, 20, 0, 7, 5, 42<<24, 3, 0"),
          std::pair("start, end, deviceId, greenContextId, streamId, correlationId, globalPid, "
                    "deprecatedSyncType, syncType, eventId, eventSyncId",
                    "10, 20, 0, NULL, 7, 5, 42<<24, 1, 3, 0, NULL")}) {
      const gh::Trace t =
          read(named("(1, 'cudaStreamSynchronize')") + call_rows("(9, 21, (42<<24)+7, 5, 1)") +
               "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ("s + columns + ");" +
               into("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "("s + row + ")") +
               "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, contextId, streamId, "
               "correlationId, globalPid, eventId, eventSyncId);" +
               into("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "(0, 1, 7, 5, 42<<24, 0, 1)"));
      REQUIRE(t.syncs.size() == 1);
      CHECK(t.syncs.call[0] == 0);
      CHECK(t.streams.at(t.syncs.stream[0]).id == 7);
    }
  }
  SUBCASE("the profiler's overhead") {  // 3.24.0 and later have both tables
    const std::string old =
        "CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId, returnValue);" +
        into("PROFILER_OVERHEAD", "(10, 20, 7, 1, 0)");
    const std::string added =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, eventClass, globalTid, "
        "correlationId, nameId, overheadType);" +
        into("CUPTI_ACTIVITY_KIND_OVERHEAD", "(15, 30, 103, 7, 126, 1, 7)");
    CHECK(gh::united(read(strings + old).profiler_overhead) == gh::Spans{{10, 20}});
    CHECK(gh::united(read(strings + added).profiler_overhead) == gh::Spans{{15, 30}});
    CHECK(gh::united(read(strings + old + added).profiler_overhead) == gh::Spans{{10, 30}});
  }
}

TEST_CASE("nsys: every shipped recording is read completely") {
  const auto sorted = [](const auto& events) {
    return std::is_sorted(events.start.begin(), events.start.end());
  };
  CHECK(support::recordings().size() >= 20);
  for (const std::filesystem::path& path : support::few_with_sanitizers(support::recordings())) {
    CAPTURE(path.filename().string());
    const gh::Trace t = gh::read_nsys(path);
    CHECK(t.producer == "Nsight Systems 2025.3.2.0");
    CHECK(t.schema == "3.20.3");
    CHECK(fmt::format("{}", fmt::join(t.problems, "; ")) == "");
    CHECK((sorted(t.ops) && sorted(t.calls) && sorted(t.ranges) && sorted(t.os_calls) &&
           sorted(t.syncs) && sorted(t.gpu_faults) && sorted(t.cpu_faults) &&
           sorted(t.memory_use) && sorted(t.samples)));
    CHECK(t.ops.size() > 100);
    CHECK(t.capture_start < t.capture_end);
    Row orphans = 0, strangers = 0,
        early = 0;  // kernels without a call, with another process's call, or that ran before their
                    // call
    for (Row op = 0; op < t.ops.size(); ++op) {
      if (t.ops.kind[op] != OpKind::kernel && t.ops.kind[op] != OpKind::graph) continue;
      const Row call = t.ops.call[op];
      orphans += call == gh::no_row;
      if (call == gh::no_row) continue;
      strangers += t.threads[t.calls.thread[call]].process != t.process_of(op);
      early += t.ops.start[op] < t.calls.start[call];
    }
    CHECK(orphans == 0);
    CHECK(strangers == 0);
    CHECK(early == 0);
    for (const gh::Device& d : t.devices)
      CHECK((contains(d.name, "H200") || contains(d.name, "H100")));
    for (const Source s : {Source::kernels, Source::calls, Source::ranges})
      CHECK(t.availability(s).state == Collected::yes);
  }
}
