// Several files of one job: found, put side by side on one clock, and judged together.
#include "analysis/ranks.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <random>

#include "analysis/analysis.hpp"
#include "read/job_files.hpp"
#include "read/kineto.hpp"
#include "read/nsys.hpp"
#include "support/program.hpp"

namespace {

using support::contains;
using support::TempDir;
namespace fs = std::filesystem;
using Files = std::vector<std::vector<std::string>>;

fs::path rank_file(int rank) {
  return support::fixture("ddp.rank" + std::to_string(rank) + ".pt.trace.json");
}

// The recorded rank with its times shifted, as on a machine whose clock is ahead, and without its
// last kernels.
std::string moved(int rank, double ahead_us, const std::string& name = "") {
  nlohmann::ordered_json all = nlohmann::ordered_json::parse(support::read_file(rank_file(rank)));
  for (auto& e : all["traceEvents"]) {
    if (e.contains("ts")) e["ts"] = e["ts"].get<double>() + ahead_us;
    if (!name.empty() && e.value("cat", "") == "kernel" &&
        e["name"].get<std::string>().find("nccl") == 0)
      e["name"] = name;
  }
  return all.dump();
}

gh::Trace ranks_of(const std::vector<fs::path>& files) {
  std::vector<gh::Trace> traces;
  for (const fs::path& f : files) traces.push_back(gh::read_kineto(f));
  return gh::join_ranks(std::move(traces), gh::Classes());
}

// Median delay of the second rank's last collectives after the first rank's.
gh::Ns apart(const gh::Trace& t) {
  std::vector<std::vector<gh::Ns>> ends(2);
  for (gh::Row op = 0; op < t.ops.size(); ++op)
    if (t.names[t.ops.name[op]].find("AllReduce") != std::string::npos)
      ends[t.device_of(op)].push_back(t.ops.end[op]);
  std::vector<gh::Ns> differences;
  for (std::size_t i = 1; i <= 40; ++i)
    differences.push_back(std::abs(ends[1][ends[1].size() - i] - ends[0][ends[0].size() - i]));
  return gh::median(differences);
}

}  // namespace

TEST_CASE("ranks: files of one job are found by their contents or their names") {
  const TempDir dir;
  const auto trace = [&](const std::string& name, int rank, int world,
                         const std::string& first = "5000000") {
    return support::write_file(
               dir / name,
               R"({"distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) +
                   R"(, "world_size": )" + std::to_string(world) +
                   R"(, "pg_config": []}, "baseTimeNanoseconds": 1000000000, "traceEvents": [{"ph": "X", "ts": )" +
                   first + ".5}]}")
        .string();
  };
  fs::create_directory(dir / "other");
  const std::string a = trace("host_1.json", 0, 2), b = trace("host_2.json", 1, 2),
                    later = trace("host_3.json", 1, 2, "500000000"),
                    again = trace("host_4.json", 0, 2), wide = trace("host_5.json", 1, 4),
                    elsewhere = trace("other/host_6.json", 1, 2);
  CHECK(gh::find_jobs({a, b}) == Files{{a, b}});
  CHECK(gh::find_jobs({b, again}) == Files{{b, again}});
  CHECK(gh::find_jobs({a, again, b}) == Files{{a, b}, {again}});  // rank 0 twice: two recordings
  CHECK(gh::find_jobs({a, later}) == Files{{a}, {later}});
  CHECK(gh::find_jobs({a, wide}) == Files{{a}, {wide}});
  CHECK(gh::find_jobs({a, elsewhere}) == Files{{a}, {elsewhere}});
  const std::string r0 = (dir / "run_rank0.sqlite").string(),
                    r1 = (dir / "run_rank1.sqlite").string(),
                    q1 = (dir / "walk_rank1.sqlite").string(), none = (dir / "run.sqlite").string();
  CHECK(gh::find_jobs({r0, r1}) == Files{{r0, r1}});
  CHECK(gh::find_jobs({r0, q1, none, none}) == Files{{r0}, {q1}, {none}, {none}});
  // Compressed files too.
  CHECK(support::shell("gzip host_1.json host_2.json", {"", dir / ""}).status == 0);
  CHECK(gh::find_jobs({a + ".gz", b + ".gz"}) == Files{{a + ".gz", b + ".gz"}});
}

TEST_CASE("ranks: files of one job stand side by side on one clock") {
  const TempDir dir;
  const gh::Trace both = ranks_of({rank_file(0), rank_file(1)});
  const gh::Trace zero = gh::read_kineto(rank_file(0)), one = gh::read_kineto(rank_file(1));
  CHECK(both.ops.size() == zero.ops.size() + one.ops.size());
  CHECK(both.ranges.size() == zero.ranges.size() + one.ranges.size());
  const auto estimated = [](const gh::Trace& t) {
    return std::count_if(t.ops.occupancy.begin(), t.ops.occupancy.end(),
                         [](std::uint8_t percent) { return percent != gh::no_occupancy; });
  };
  CHECK(both.ops.occupancy.size() == both.ops.size());
  CHECK(estimated(both) == estimated(zero) + estimated(one));
  CHECK(both.devices.size() == 2);
  CHECK(both.processes.size() == 2);
  CHECK(both.clocks_aligned);
  CHECK(contains(both.path, "ddp.rank0.pt.trace.json and 1 more rank of the same job"));
  CHECK(apart(both) < 20'000);
  // Launches are matched per process, even if both count correlation ids from the same start.
  const auto launched = [](const gh::Trace& t) {
    return std::count_if(t.ops.call.begin(), t.ops.call.end(),
                         [](gh::Row c) { return c != gh::no_row; });
  };
  CHECK(launched(both) == launched(zero) + launched(one));
  for (gh::Row op = 0; op < both.ops.size(); ++op)
    if (both.ops.call[op] != gh::no_row)
      CHECK(both.threads[both.calls.thread[both.ops.call[op]]].process == both.process_of(op));
  // Clocks that differ by less than a second, and a rank that begins earlier, do not matter. (The
  // fixture's rank 1 has one more collective.)
  for (const double ahead : {-300.0, 2'000.0}) {
    CAPTURE(ahead);
    const gh::Trace shifted =
        ranks_of({rank_file(0), support::write_file(dir / "shifted", moved(1, ahead))});
    CHECK(shifted.clocks_aligned);
    CHECK(apart(shifted) < 20'000);
  }
  // Each rank has the same steps as alone.
  const gh::Analysis joint(ranks_of({rank_file(0), rank_file(1)}), gh::Classes(), {}),
      alone(gh::read_kineto(rank_file(1)), gh::Classes(), {});
  REQUIRE(joint.devices.size() == 2);
  CHECK(joint.devices[1].steps.size() == alone.devices[0].steps.size());
  CHECK(joint.account.devices[1].step_ns == alone.account.devices[0].step_ns);
}

TEST_CASE("ranks: files whose clocks cannot be aligned are judged separately") {
  const TempDir dir;
  const fs::path other = support::write_file(
      dir / "other", moved(1, 0, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)"));
  const gh::Trace t = ranks_of({rank_file(0), other});
  CHECK_FALSE(t.clocks_aligned);
  support::write_file(dir / "r.rank0.json", support::read_file(rank_file(0)));
  support::write_file(dir / "r.rank1.json", support::read_file(other));
  const support::Ran ran =
      support::advise("r.rank0.json r.rank1.json -v --select comm", {"COLUMNS=160", dir / ""});
  CHECK(ran.status == 0);
  CHECK(contains(ran.out,
                 "Not checked: rank-straggler: the ranks' collectives could not be matched"));
}

TEST_CASE(
    "ranks: devices that every rank calls 0 get the rank's number, and what one rank lacks the job "
    "lacks") {
  const TempDir dir;
  gh::Trace a, b;
  a.devices.emplace_back();
  b.devices.emplace_back();
  a.availability(gh::Source::copies).state = gh::Collected::yes;
  b.availability(gh::Source::copies) = {gh::Collected::not_collected, "left out", "--x"};
  b.problems = {"odd"};
  b.path = "b";
  a.seal();
  b.seal();
  const gh::Trace t = gh::join_ranks({a, b}, gh::Classes());
  CHECK(t.devices[0].ordinal == 0);
  CHECK(t.devices[1].ordinal == 1);
  CHECK(t.availability(gh::Source::copies).reason == "left out");
  CHECK(t.problems == std::vector<std::string>{"b: odd"});
}

TEST_CASE("ranks: collectives are matched only if one way clearly fits") {
  const auto ms = [](std::vector<double> times) {
    std::vector<gh::Ns> ns;
    for (const double t : times) ns.push_back(static_cast<gh::Ns>(t * 1e6));
    return ns;
  };
  const std::vector<gh::Ns> ends = ms({1, 2.5, 3.1, 7, 9});
  CHECK(gh::matching(ends, ms({1.01, 2.51, 3.11, 7.01, 9.01}), 0) == 0);
  CHECK(gh::matching(ends, ms({0.2, 1.01, 2.51, 3.11, 7.01, 9.01}), 0) == 1);
  CHECK(gh::matching(ends, ms({2.51, 3.11, 7.01, 9.01, 9.9}), 0) == -1);
  CHECK(gh::matching(ends, ms({50.2, 51.01, 52.51, 53.11, 57.01, 59.01}), std::nullopt) ==
        1);  // whatever the clocks say
  CHECK_FALSE(gh::matching(ends, ms({1, 2}), 0));
  const std::vector<gh::Ns> even = ms({1, 2, 3, 4, 5, 6});
  CHECK(gh::matching(even, ms({2.1, 3.1, 4.1, 5.1, 6.1}), 0) == -1);  // the clocks decide
  CHECK_FALSE(gh::matching(even, ms({2.1, 3.1, 4.1, 5.1, 6.1}), std::nullopt));
  CHECK_FALSE(gh::matching(even, ms({1.5, 2.5, 3.5, 4.5}), 0));
}

TEST_CASE("ranks: a late rank is found in two files as in one report") {
  // Rank 1 sleeps before every step. Nsight Systems recorded both ranks; here the report is cut
  // into two files by process.
  const TempDir dir;
  const fs::path whole = fs::path(GH_FIXTURES) / "ddp-straggler.sqlite";
  for (int rank = 0; rank < 2; ++rank) {
    const fs::path file = dir / ("run.rank" + std::to_string(rank) + ".sqlite");
    fs::copy_file(whole, file);
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    const std::string device = std::to_string(rank), ahead = rank == 0 ? "0" : "7000000";
    // A separate table renumbers the rows.
    const auto kept = [](const std::string& table, const std::string& process) {
      return "CREATE TABLE kept AS SELECT * FROM " + table + " WHERE " + process +
             " IN (SELECT p FROM keep); DROP TABLE " + table + "; ALTER TABLE kept RENAME TO " +
             table + ";";
    };
    std::string sql =
        "CREATE TEMP TABLE keep AS SELECT DISTINCT globalPid AS p FROM "
        "CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = " +
        device + ";";
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                              "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"})
      sql += kept(table, "globalPid") + "UPDATE " + table + " SET start = start + " + ahead +
             ", end = end + " + ahead + ";";
    for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API"})
      sql += kept(table, "(globalTid & ~0xFFFFFF)") + "UPDATE " + table + " SET start = start + " +
             ahead + ", end = end + " + ahead + ";";
    support::run_sql(file, sql);
  }
  const auto of = [](const nlohmann::ordered_json& report) {
    std::string found;
    for (const auto& f : report["findings"])
      if (f["rule"] == "rank-straggler")
        found += f["severity"].get<std::string>() + f["subject"].get<std::string>();
    return found;
  };
  const auto job = support::report_of(
      support::advise("run.rank0.sqlite run.rank1.sqlite --format json", {"", dir / ""}));
  CHECK(of(job) == of(support::report_of(support::advise("ddp-straggler.sqlite --format json"))));
  // What delays that rank is reported too, with the same gain.
  CHECK(of(job) == "errordevice 1");
  CHECK(job["devices"].size() == 2);
}
