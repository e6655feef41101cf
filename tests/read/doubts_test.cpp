// Reports that contradict themselves: no rule may call them clean.
#include "read/doubts.hpp"

#include <functional>

#include "analysis/facts.hpp"
#include "read/read.hpp"
#include "rules/rules.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;
namespace fs = std::filesystem;

namespace {

Report judged(const fs::path& report) {
  const Analysis analysis(read_report(report), Classes(), {});
  const Facts facts(analysis);
  return ask_rules(own_rules(), analysis, facts, {}, nullptr);
}

bool is_clean(const Report& r, const std::string& rule) {
  return std::find(r.clean.begin(), r.clean.end(), rule) != r.clean.end();
}

// A recording after some SQL.
fs::path changed(const TempDir& dir, const std::string& name, const std::string& sql) {
  const fs::path copy = dir / "changed.sqlite";
  fs::copy_file(fixture(name), copy, fs::copy_options::overwrite_existing);
  fs::permissions(copy, fs::perms::owner_write, fs::perm_options::add);
  return run_sql(copy, sql);
}

// A recorded PyTorch trace after a change to each of its events.
fs::path changed_trace(const TempDir& dir, const std::string& name,
                       const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json trace = nlohmann::json::parse(read_file(fixture(name)));
  for (nlohmann::json& event : trace["traceEvents"]) change(event);
  return write_file(dir / "changed.json", trace.dump());
}

}  // namespace

TEST_CASE("doubts: no recording gives rise to any") {
  for (const fs::path& path : recordings()) {
    CAPTURE(path);
    CHECK(read_report(path).problems.empty());
  }
  for (const fs::path& path : torch_traces()) {
    CAPTURE(path);
    CHECK(read_report(path).problems.empty());
  }
}

TEST_CASE("doubts: ranges that are started and ended by calls of their own may overlap") {
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

TEST_CASE("doubts: what the rules found in an export is not clean where it contradicts itself") {
  struct Case {
    const char *name, *rule, *sql;
  };
  const std::string kernel = "CUPTI_ACTIVITY_KIND_KERNEL", call = "CUPTI_ACTIVITY_KIND_RUNTIME";
  const Case cases[] = {
      {"launchbound", "launch-bound", "DELETE FROM StringIds"},
      {"syncs-pageable", "host-sync", "DELETE FROM StringIds"},
      {"syncs-pageable", "host-sync", "DELETE FROM StringIds WHERE id % 2 = 0"},
      {"gpumetrics", "unfused-softmax", "DELETE FROM StringIds WHERE id % 2 = 0"},
      {"launchbound", "launch-bound",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start - 1000000000, end = end - 1000000000"},
      {"alloc-churn", "alloc-churn",
       "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = start - 100000000, end = end - 100000000"},
      {"launchbound", "launch-bound", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start"},
      {"launchbound", "launch-bound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = start"},
      {"launchbound", "launch-bound",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = end, end = start WHERE rowid % 2 = 0"},
      {"launchbound", "launch-bound",
       "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 2 = 0"},
      {"launchbound", "launch-bound",
       "CREATE TABLE t AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 2 = 0; DROP "
       "TABLE "
       "CUPTI_ACTIVITY_KIND_RUNTIME; ALTER TABLE t RENAME TO CUPTI_ACTIVITY_KIND_RUNTIME"},
      {"launchbound", "unfused-norm",
       "CREATE TABLE t AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 2 = 0; DROP TABLE "
       "CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE t RENAME TO CUPTI_ACTIVITY_KIND_KERNEL"},
      {"launchbound", "unfused-norm",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = gridX, gridX = demangledName"},
      {"syncs-pageable", "precision-headroom",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 0 WHERE rowid % 2 = 0"},
      {"launchbound", "launch-bound", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = rowid"},
      {"launchbound", "launch-bound",
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"},
      {"exposed-copy", "exposed-memcpy", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE rowid > 2"},
      {"gc-pause", "gc-pause", "DELETE FROM NVTX_EVENTS"},
  };
  const TempDir dir;
  for (const Case& c : cases) {
    INFO(c.name, ": ", c.sql);
    const fs::path report = changed(dir, c.name, c.sql);
    CHECK(!read_report(report).problems.empty());
    const Report r = judged(report);
    // Where the rule ran all the same, capture-quality says what is wrong with the report.
    CHECK((!is_clean(r, c.rule) || !is_clean(r, "capture-quality")));
  }
}

TEST_CASE("doubts: the reason says how many rows of how many, and what about them") {
  const TempDir dir;
  const Trace t =
      read_report(changed(dir, "launchbound", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start"));
  const Availability& kernels = t.availability(Source::kernels);
  CHECK(!kernels.known());
  CHECK(contains(kernels.reason, " of 5802 kernels take no time"));
}

TEST_CASE("doubts: of PyTorch's traces likewise") {
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
        if (is(e, "kernel")) e["ts"] = e["ts"].get<double>() - 1e6;
      },
      [&](nlohmann::json& e) {
        if (is(e, "cuda_runtime")) e["ts"] = e["ts"].get<double>() + 1e6;
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel")) e["args"]["correlation"] = 999999999;
      },
      [&](nlohmann::json& e) {
        if (is(e, "kernel") && e["args"]["correlation"].get<int>() % 2 == 0) e = nullptr;
      },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    CAPTURE(i);
    const fs::path report = changed_trace(dir, "launchbound.pt.trace.json", changes[i]);
    CHECK(!read_report(report).problems.empty());
    const Report r = judged(report);
    CHECK((!is_clean(r, "launch-bound") || !is_clean(r, "capture-quality")));
  }
}
