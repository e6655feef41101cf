// Reports that contradict themselves: no rule may call them clean.
#include "read/doubts.hpp"

#include <cmath>
#include <functional>
#include <optional>

#include "analysis/facts.hpp"
#include "read/read.hpp"
#include "rules/rules.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;
namespace fs = std::filesystem;

namespace {

// What rules say, and the report's problems: some show only in the steps.
struct Judged : Answers {
  std::vector<std::string> problems;
};

Judged judged(const fs::path& report) {
  const Analysis analysis(read_report(report), Classes(), {});
  const Facts facts(analysis);
  return {ask_rules(own_rules(), analysis, facts, {}, nullptr), analysis.trace.problems};
}

// A recording after running some SQL.
fs::path changed(const TempDir& dir, const std::string& name, const std::string& sql) {
  const fs::path copy = dir / "changed.sqlite";
  fs::copy_file(fixture(name), copy, fs::copy_options::overwrite_existing);
  fs::permissions(copy, fs::perms::owner_write, fs::perm_options::add);
  return run_sql(copy, sql);
}

// SQL that removes rows of a table and renumbers the others.
std::string without(const std::string& table, const std::string& rows) {
  return "CREATE TABLE t AS SELECT * FROM " + table + " WHERE NOT (" + rows + "); DROP TABLE " +
         table + "; ALTER TABLE t RENAME TO " + table + ";";
}

// A recorded PyTorch trace after changing each of its events.
fs::path changed_trace(const TempDir& dir, const std::string& name,
                       const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json trace = nlohmann::json::parse(read_file(fixture(name)));
  for (nlohmann::json& event : trace["traceEvents"]) change(event);
  return write_file(dir / "changed.json", trace.dump());
}

}  // namespace

TEST_CASE("doubts: no recording is doubted") {
  for (const fs::path& path : few_with_sanitizers(recordings())) {
    CAPTURE(path);
    const Trace t = read_report(path);
    CHECK(t.problems.empty());
    CHECK(t.lost.launched.empty());
  }
  for (const fs::path& path : few_with_sanitizers(unmarked_recordings())) {
    CAPTURE(path);
    CHECK(read_report(path).problems.empty());
  }
  for (const fs::path& path : few_with_sanitizers(torch_traces())) {
    CAPTURE(path);
    const Trace t = read_report(path);
    CHECK(t.problems.empty());
    CHECK(t.lost.launched.empty());
  }
}

TEST_CASE("doubts: unusual but honest reports are not doubted") {
  struct Case {
    const char *what, *name, *sql;
  };
  std::string trimmed =
      "CREATE TEMP TABLE cut AS SELECT (min(start) + max(start)) / 2 AS time FROM "
      "CUPTI_ACTIVITY_KIND_KERNEL;";
  std::string trimmed_anew = trimmed, shifted;
  for (const std::string table :
       {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS",
        "OSRT_API"}) {
    trimmed += "DELETE FROM " + table + " WHERE start < (SELECT time FROM cut);";
    trimmed_anew += without(table, "start < (SELECT time FROM cut)");
    shifted += "UPDATE " + table + " SET start = start - 150000000000, end = end - 150000000000;";
  }
  const Case cases[] = {
      // Kernels of a stream, each launched so that it may start before the previous one ends.
      {"programmatic dependent launch", "launchbound",
       "UPDATE StringIds SET value = 'cudaLaunchKernelExC_v11060' WHERE value LIKE "
       "'cudaLaunchKernel_%'; CREATE TEMP TABLE next AS SELECT rowid AS id, lead(start, 3) OVER w "
       "AS starts, lead(end, 3) OVER w AS ends FROM CUPTI_ACTIVITY_KIND_KERNEL WINDOW w AS "
       "(PARTITION BY streamId ORDER BY start); CREATE INDEX temp.by_id ON next (id); UPDATE "
       "CUPTI_ACTIVITY_KIND_KERNEL SET end = coalesce((SELECT ends FROM next WHERE id = "
       "CUPTI_ACTIVITY_KIND_KERNEL.rowid AND starts < end + 100000 AND NOT EXISTS (SELECT 1 FROM "
       "CUPTI_ACTIVITY_KIND_MEMCPY m WHERE m.start BETWEEN CUPTI_ACTIVITY_KIND_KERNEL.start AND "
       "ends) AND NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_MEMSET m WHERE m.start BETWEEN "
       "CUPTI_ACTIVITY_KIND_KERNEL.start AND ends)), end)"},
      {"the same, of launches that are not recorded so", "launchbound",
       "CREATE TEMP TABLE next AS SELECT rowid AS id, lead(end) OVER (PARTITION BY streamId ORDER "
       "BY start) AS ends FROM CUPTI_ACTIVITY_KIND_KERNEL; CREATE INDEX temp.by_id ON next (id); "
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = max(end, coalesce((SELECT ends - 1 FROM next "
       "WHERE id = CUPTI_ACTIVITY_KIND_KERNEL.rowid AND ends < end + 100000), end))"},
      {"ranges of a library across those of the program", "starved",
       "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, domainId, text) SELECT start + "
       "50000, end + 50000, 59, globalTid, 7, 'library' FROM NVTX_EVENTS WHERE eventType = 59"},
      {"ranges of an export without types", "starved",
       "CREATE TABLE t AS SELECT start, end + 3000000 AS end, textId, text, globalTid FROM "
       "NVTX_EVENTS "
       "WHERE eventType = 59; DROP TABLE NVTX_EVENTS; ALTER TABLE t RENAME TO NVTX_EVENTS"},
      {"ranges that end a moment before the call in them", "launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = coalesce((SELECT max(r.end) + 300 FROM "
       "NVTX_EVENTS r WHERE r.globalTid = CUPTI_ACTIVITY_KIND_RUNTIME.globalTid AND r.end BETWEEN "
       "CUPTI_ACTIVITY_KIND_RUNTIME.start AND CUPTI_ACTIVITY_KIND_RUNTIME.end + 100000), end) "
       "WHERE rowid IN (SELECT max(c.rowid) FROM CUPTI_ACTIVITY_KIND_RUNTIME c JOIN NVTX_EVENTS r "
       "ON c.globalTid = r.globalTid AND c.end <= r.end GROUP BY r.rowid LIMIT 5)"},
      {"launches that all failed", "launchbound", "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL"},
      {"a thread that ended before it was named", "launchbound",
       "DELETE FROM ThreadNames WHERE globalTid IN (SELECT globalTid FROM "
       "CUPTI_ACTIVITY_KIND_RUNTIME)"},
      {"the second half of a recording", "syncs-pageable", trimmed.c_str()},
      {"the same, numbered anew", "syncs-pageable", trimmed_anew.c_str()},
      {"the second half, of threads in a row", "starved", trimmed.c_str()},
      {"a part after all memory was allocated", "good",
       "DELETE FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE start < 1000000"},
      {"another GPU, for which kernels were compiled again", "starved",
       "INSERT INTO TARGET_INFO_GPU SELECT * FROM TARGET_INFO_GPU; UPDATE TARGET_INFO_GPU SET id = "
       "1 "
       "WHERE rowid = (SELECT max(rowid) FROM TARGET_INFO_GPU); UPDATE CUPTI_ACTIVITY_KIND_KERNEL "
       "SET deviceId = 1, contextId = 2, streamId = 1007, registersPerThread = registersPerThread "
       "+ "
       "8 WHERE rowid % 2 = 0"},
      {"times that were shifted below 0", "syncs-pageable", shifted.c_str()},
  };
  const TempDir dir;
  for (const Case& c : cases) {
    INFO(c.what);
    const Trace t = read_report(changed(dir, c.name, c.sql));
    CHECK(t.lost.launched.empty());
    for (const std::string& problem : t.problems) {
      CAPTURE(problem);
      CHECK(problem.empty());
    }
  }
}

TEST_CASE("doubts: a captured launch runs nothing yet, whichever thread launches") {
  const TempDir dir;
  // A graph is captured in three of six steps; backward runs on autograd's thread.
  const fs::path report = changed(
      dir, "launchbound",
      "INSERT INTO StringIds SELECT max(id) + 1, 'cudaStreamBeginCapture_v10000' FROM StringIds;"
      "INSERT INTO StringIds SELECT max(id) + 1, 'cudaStreamEndCapture_v10000' FROM StringIds;"
      "CREATE TEMP TABLE capture AS SELECT min(c.rowid) AS first, max(c.rowid) AS last, "
      "min(c.start) AS "
      "start, max(c.end) AS end FROM NVTX_EVENTS r JOIN CUPTI_ACTIVITY_KIND_RUNTIME c ON "
      "c.globalTid = r.globalTid AND c.start >= r.start AND c.end <= r.end WHERE r.text IN "
      "('step 1', 'step 3', 'step 5') GROUP BY r.rowid;"
      "CREATE TEMP TABLE captured AS SELECT c.correlationId AS id FROM CUPTI_ACTIVITY_KIND_RUNTIME "
      "c JOIN capture ON c.start >= capture.start AND c.end <= capture.end;"
      "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = (SELECT max(id) - 1 FROM StringIds) WHERE "
      "rowid IN (SELECT first FROM capture);"
      "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = (SELECT max(id) FROM StringIds) WHERE "
      "rowid IN (SELECT last FROM capture);" +
          without("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId IN (SELECT id FROM captured)") +
          without("CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId IN (SELECT id FROM captured)"));
  const Trace t = read_report(report);
  CHECK(t.ops.size() < recorded("launchbound").ops.size() * 2 / 3);
  CHECK(t.problems.empty());
  CHECK(t.lost.launched.empty());
}

TEST_CASE(
    "doubts: a runtime launch also counts for the driver call inside it, however busy other "
    "threads are") {
  const TempDir dir;
  std::string sql =
      "INSERT INTO StringIds SELECT max(id) + 1, 'cuLaunchKernel' FROM StringIds;"
      "CREATE TEMP TABLE launch AS SELECT c.* FROM CUPTI_ACTIVITY_KIND_RUNTIME c JOIN "
      "CUPTI_ACTIVITY_KIND_KERNEL k USING (correlationId) WHERE c.end > c.start + 200;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start + 100, end - 1, eventClass, globalTid, "
      "0, (SELECT max(id) FROM StringIds), 0, NULL FROM launch;";
  for (int busy = 1; busy <= 8; ++busy) {
    const std::string tid = "globalTid + " + std::to_string(1000 + busy);
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start + " + std::to_string(busy) +
           ", start + 90, eventClass, " + tid +
           ", 0, (SELECT id FROM StringIds WHERE value LIKE "
           "'cudaStreamIsCapturing%'), 0, NULL FROM launch;"
           "INSERT INTO ThreadNames SELECT nameId, priority, " +
           tid + " FROM ThreadNames;";
  }
  const Trace t = read_report(changed(dir, "launchbound", sql));
  CHECK(t.calls.size() > recorded("launchbound").calls.size() * 3);
  CHECK(t.problems.empty());
  CHECK(t.lost.launched.empty());
}

TEST_CASE("doubts: times that PyTorch rounded independently are not doubted" *
          slow_with_sanitizers) {
  const TempDir dir;
  for (const fs::path& path : torch_traces()) {
    CAPTURE(path);
    const fs::path rounded =
        changed_trace(dir, path.filename().string(), [](nlohmann::json& event) {
          for (const char* key : {"ts", "dur"}) {
            if (event.contains(key) && event[key].is_number()) {
              event[key] = std::floor(event[key].get<double>());
            }
          }
        });
    CHECK(read_report(rounded).problems.empty());
  }
}

TEST_CASE("doubts: what takes no time, in one microsecond, is not one that appears twice") {
  const TempDir dir;
  for (const std::string category : {"cpu_op", "kernel"}) {
    CAPTURE(category);
    nlohmann::json trace = nlohmann::json::parse(read_file(fixture("launchbound.pt.trace.json")));
    nlohmann::json twins = nlohmann::json::array();
    int met = 0;
    for (const nlohmann::json& event : trace["traceEvents"]) {
      if (event.value("cat", "") != category || ++met % 5 != 0) continue;
      nlohmann::json twin = event;
      twin["name"] = "aten::result_type";
      twin["dur"] = 0;
      for (int i = 0; i < 2; ++i) twins.push_back(twin);
    }
    for (nlohmann::json& twin : twins) trace["traceEvents"].push_back(twin);
    const Trace t = read_report(write_file(dir / "twins.json", trace.dump()));
    CHECK(t.problems.empty());
    CHECK(t.availability(Source::ranges).known());
    // Those that take time are.
    for (std::size_t i = trace["traceEvents"].size() - twins.size();
         i < trace["traceEvents"].size(); ++i)
      trace["traceEvents"][i]["dur"] = 0.5;
    CHECK(!read_report(write_file(dir / "twice.json", trace.dump())).problems.empty());
  }
}

TEST_CASE("doubts: a table without row ids is read as before") {
  const TempDir dir;
  for (const std::string table : {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"}) {
    CAPTURE(table);
    const std::size_t rows = recorded("starved").ops.size();
    // A key of one integer, and one of several columns.
    for (const char* key : {"number", "number, start"}) {
      const fs::path report = changed(
          dir, "starved",
          "CREATE TABLE t AS SELECT row_number() OVER () AS number, * FROM " + table +
              "; DROP TABLE " + table + "; CREATE TABLE " + table +
              (table == "NVTX_EVENTS"
                   ? " (number INTEGER, start INTEGER, end INTEGER, eventType INTEGER, textId "
                     "INTEGER, globalTid INTEGER, text TEXT, "
                   : " (number INTEGER, start INTEGER, end INTEGER, deviceId INTEGER, streamId "
                     "INTEGER, globalPid INTEGER, correlationId INTEGER, demangledName INTEGER, "
                     "shortName INTEGER, ") +
              "PRIMARY KEY (" + key + ")) WITHOUT ROWID; INSERT INTO " + table +
              (table == "NVTX_EVENTS"
                   ? " SELECT number, start, end, eventType, textId, globalTid, text FROM t"
                   : " SELECT number, start, end, deviceId, streamId, globalPid, correlationId, "
                     "demangledName, shortName FROM t") +
              "; DROP TABLE t");
      const Trace t = read_report(report);
      CHECK(t.problems.empty());
      CHECK(t.ops.size() == rows);
    }
  }
}

TEST_CASE("doubts: ranges from separate start and end calls may overlap") {
  const TempDir dir;
  const auto overlapping = [&](const std::string& type) {
    return read_report(changed(dir, "starved",
                               "UPDATE NVTX_EVENTS SET end = end + 3000000, eventType = " + type +
                                   " WHERE eventType = 59"))
        .availability(Source::ranges)
        .known();
  };
  CHECK(overlapping("60"));
  CHECK(!overlapping("59"));
}

TEST_CASE(
    "doubts: if an export contradicts itself, rules that found something in it do not call it "
    "clean" *
    slow_with_sanitizers) {
  struct Case {
    const char *name, *sql;
  };
  const std::string unallocated =
      without("CUPTI_ACTIVITY_KIND_RUNTIME",
              "nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cudaMalloc%' OR value LIKE "
              "'cudaFree%')");
  const Case cases[] = {
      {"launchbound", "DELETE FROM StringIds"},
      {"syncs-pageable", "DELETE FROM StringIds"},
      {"syncs-pageable", "DELETE FROM StringIds WHERE id % 2 = 0"},
      {"gpumetrics", "DELETE FROM StringIds WHERE id % 2 = 0"},
      {"launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start - 1000000000, end = end - 1000000000"},
      {"alloc-churn",
       "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = start - 100000000, end = end - 100000000"},
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start"},
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = start"},
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 0"},
      {"launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = end, end = start WHERE rowid % 2 = 0"},
      {"launchbound", "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 2 = 0"},
      {"launchbound",
       "CREATE TABLE t AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 2 = 0; DROP "
       "TABLE "
       "CUPTI_ACTIVITY_KIND_RUNTIME; ALTER TABLE t RENAME TO CUPTI_ACTIVITY_KIND_RUNTIME"},
      {"launchbound",
       "CREATE TABLE t AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 2 = 0; DROP TABLE "
       "CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE t RENAME TO CUPTI_ACTIVITY_KIND_KERNEL"},
      {"launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = gridX, gridX = demangledName"},
      {"syncs-pageable",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 0 WHERE rowid % 2 = 0"},
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = rowid"},
      {"launchbound",
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"},
      {"exposed-copy", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE rowid > 2"},
      {"gc-pause", "DELETE FROM NVTX_EVENTS"},
      {"syncs-pageable", "DELETE FROM NVTX_EVENTS WHERE rowid % 2 = 0"},
      {"syncs-pageable",
       "UPDATE NVTX_EVENTS SET start = start - 100000000000, end = end - 100000000000 WHERE rowid "
       "% 2 = 0"},
      {"syncs-pageable", "DELETE FROM NVTX_EVENTS WHERE rowid % 10 > 0"},
      {"launchbound", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 2 = 0"},
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + 12345"},
      // Damage to one kind of row only.
      {"launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET start = start + 300000000, end = end + 300000000"},
      {"starved",
       "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN (SELECT id FROM StringIds WHERE "
       "value LIKE 'cudaMemcpy%')"},
      {"launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = correlationId + 1000000"},
      {"um", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = correlationId + 1000000"},
      {"offload", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 0"},
      {"syncs-pageable",
       "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE end - start > (SELECT avg(end - start) FROM "
       "CUPTI_ACTIVITY_KIND_RUNTIME)"},
      {"launchbound",
       "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = (SELECT min(nameId) FROM "
       "CUPTI_ACTIVITY_KIND_RUNTIME)"},
      {"ddp-straggler",
       "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE shortName IN (SELECT id FROM StringIds WHERE "
       "value LIKE 'nccl%')"},
      {"starved", "UPDATE NVTX_EVENTS SET textId = NULL, text = NULL"},
      {"syncs-pageable", "UPDATE NVTX_EVENTS SET end = NULL"},
      {"syncs-pageable", "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE end - start > 1000000"},
      {"gc-pause", "UPDATE NVTX_EVENTS SET globalTid = globalTid + 1"},
      // The same value for all rows, or a different one for each.
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = rowid"},
      {"offload", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 8"},
      {"offload", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 1"},
      {"launchbound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = start + 1"},
      {"good",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET (demangledName, shortName) = (SELECT demangledName, "
       "shortName FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName WHERE value "
       "LIKE 'void %(%' LIMIT 1)"},
      {"alloc-churn", unallocated.c_str()},
      {"offload",
       "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = start + max(101, (end - start) / 100)"},
      {"lora", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = shortName"},
      // What belongs to a GPU but to no call.
      {"um", "UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET end = start"},
      {"um", "UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET start = start / 1000, end = end / 1000"},
      {"um",
       "UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET start = start + 10000000000, end = end + "
       "10000000000"},
      {"um", "UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET start = 0, end = 100"},
      {"um", "UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET end = start + (end - start) / 100"},
      {"um", "UPDATE CUDA_UM_GPU_PAGE_FAULT_EVENTS SET deviceId = 7"},
      {"um-umtouch-full", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = start WHERE copyKind > 10"},
      {"um-umtouch-full",
       "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = start + 10000000000, end = end + 10000000000 "
       "WHERE copyKind > 10"},
      {"um-umtouch-full", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 0 WHERE copyKind > 10"},
      {"um-umtouch-full", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET deviceId = 5 WHERE copyKind > 10"},
      {"gpumetrics", "UPDATE GPU_METRICS SET value = value * 1000"},
      {"gpumetrics", "UPDATE GPU_METRICS SET value = -value"},
      {"gpumetrics", "UPDATE GPU_METRICS SET timestamp = timestamp + 100000000000"},
  };
  const TempDir dir;
  for (const Case& c : cases) {
    const std::string sql = c.sql;
    CAPTURE(sql);
    const Judged report = judged(changed(dir, c.name, c.sql));
    CHECK(!report.problems.empty());
    CHECK(report.clean.empty());
  }
}

TEST_CASE("doubts: the reason says how many rows of how many are wrong, and how") {
  const TempDir dir;
  const Trace t =
      read_report(changed(dir, "launchbound", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start"));
  const Availability& kernels = t.availability(Source::kernels);
  CHECK(!kernels.known());
  CHECK(contains(kernels.reason, " of 5802 kernels take no time"));
}

TEST_CASE("doubts: with missing rows findings stay, and nothing is clean") {
  const TempDir dir;
  const Answers whole = judged(fixture("launchbound"));
  const Answers r = judged(
      changed(dir, "launchbound",
              "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 0 WHERE rowid % 10 = 0"));
  const auto found = [](const Answers& report, const char* rule) {
    return std::find_if(report.findings.begin(), report.findings.end(),
                        [&](const Said& f) { return f.rule == rule; });
  };
  REQUIRE(found(whole, "launch-bound") != whole.findings.end());
  CHECK(found(whole, "launch-bound")->confidence == "high");
  REQUIRE(found(r, "launch-bound") != r.findings.end());
  CHECK(found(r, "launch-bound")->confidence == "low");
  CHECK(found(r, "capture-quality")->confidence == "high");
  CHECK(!whole.clean.empty());
  CHECK(r.clean.empty());
  for (const std::string& rule : whole.clean) {
    CAPTURE(rule);
    const auto lacking = std::find_if(r.not_checked.begin(), r.not_checked.end(),
                                      [&](const NotChecked& n) { return n.rule == rule; });
    REQUIRE((lacking != r.not_checked.end() || found(r, rule.c_str()) != r.findings.end()));
    if (lacking != r.not_checked.end()) {
      CHECK(contains(lacking->reason, "40 of 400 sampled kernels"));
    }
  }
}

TEST_CASE("doubts: the tolerance for clocks hides nothing") {
  const TempDir dir;
  std::string later;
  for (const std::string table : {"KERNEL", "MEMCPY", "MEMSET"}) {
    later += "UPDATE CUPTI_ACTIVITY_KIND_" + table + " SET start = start + 8000, end = end + 8000;";
  }
  const Answers r = judged(changed(dir, "syncs-pageable", later));
  const auto sync = std::find_if(r.findings.begin(), r.findings.end(),
                                 [](const Said& f) { return f.rule == "host-sync"; });
  REQUIRE(sync != r.findings.end());
  CHECK(sync->severity_alone == Severity::warning);
}

TEST_CASE("doubts: the same for PyTorch traces" * slow_with_sanitizers) {
  const TempDir dir;
  const auto is = [](const nlohmann::json& event, const char* category) {
    return event.value("cat", "") == category;
  };
  const std::function<void(nlohmann::json&)> changes[] = {
      [&](nlohmann::json& e) {
        if (is(e, "kernel")) e["name"] = "";
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel")) e["dur"] = 0;
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel")) e["dur"] = e["dur"].get<double>() / 1000;
      },
      [&](nlohmann::json& e) {
        if (is(e, "cuda_runtime")) e["dur"] = 0.001;
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel")) e["ts"] = e["ts"].get<double>() - 1e6;
      },
      [&](nlohmann::json& e) {
        if (is(e, "cuda_runtime")) e["ts"] = e["ts"].get<double>() + 1e6;
      },
      [&, first = std::optional<double>()](nlohmann::json& e) mutable {
        if (!is(e, "cuda_runtime")) return;
        if (!first) first = e["ts"].get<double>() - 1e6;
        e["ts"] = *first;
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel")) e["args"]["correlation"] = 999999999;
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel") && e["args"]["correlation"].get<int>() % 2 == 0) e = nullptr;
      },
  };
  const auto check = [&](const char* name, const std::function<void(nlohmann::json&)>& change) {
    const Judged report = judged(changed_trace(dir, name, change));
    CHECK(!report.problems.empty());
    CHECK(report.clean.empty());
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    CAPTURE(i);
    check("launchbound.pt.trace.json", changes[i]);
  }
  // A fetched value has arrived when the wait for it ends.
  check("syncs-pageable.pt.trace.json", [&](nlohmann::json& e) {
    if (is(e, "kernel") || is(e, "gpu_memcpy") || is(e, "gpu_memset")) {
      e["ts"] = e["ts"].get<double>() + 50;
    }
  });
}
