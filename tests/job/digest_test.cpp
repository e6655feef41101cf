// What a digest keeps of a report.
#include "job/digest.hpp"

#include "read/read.hpp"
#include "report/report.hpp"
#include "support/jobs.hpp"
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE(
    "digest: for every recording it is small, matches its schema, and survives writing and "
    "reading" *
    slow_with_sanitizers) {
  const TempDir dir;
  std::vector<fs::path> reports = recordings();
  const std::vector<fs::path> traces = torch_traces();
  reports.insert(reports.end(), traces.begin(), traces.end());
  std::vector<nlohmann::ordered_json> documents;
  for (const fs::path& report : reports) {
    CAPTURE(report.string());
    const gh::Digest digest = digest_of(report);
    const std::string packed = gh::pack_digest(digest);
    CHECK(packed.size() < 40'000);
    const fs::path file = write_file(dir / "d", packed);
    CHECK(gh::pack_digest(gh::read_digest(file)) == packed);
    documents.push_back(nlohmann::ordered_json::parse(gh::unpack_digest(file)));
  }
  const auto verdict = verdicts("schemas/digest.schema.json", documents);
  for (std::size_t i = 0; i < verdict.size(); ++i)
    CHECK_MESSAGE(verdict[i] == "valid", reports[i].string());
}

TEST_CASE("digest: it stays small however long the report is") {
  gh::Digest d = straggling();
  // As many of each as possible, with lengths that do not repeat.
  std::uint64_t random = 1;
  const auto next = [&] {
    return static_cast<gh::Ns>((random = random * 6364136223846793005 + 1442695040888963407) >> 40);
  };
  d.ranks.resize(1);
  gh::RankDigest& r = d.ranks[0];
  r.sample_ns.clear();
  for (std::size_t i = 0; i < gh::most_sampled_steps; ++i) r.sample_ns.push_back(next());
  for (int cause = 0; cause < 40; ++cause) {
    gh::CauseShare& share = r.account["cause" + std::to_string(cause)];
    share.sample_ns.clear();
  }
  for (auto& [cause, share] : r.account) {
    share.sample_ns.clear();
    for (std::size_t i = 0; i < gh::most_sampled_steps; ++i) share.sample_ns.push_back(next());
  }
  r.collectives.first.clear();
  for (gh::Ns at = 0; r.collectives.first.size() < gh::most_collectives; at += next())
    r.collectives.first.push_back({0, at, at + next(), {}});
  std::sort(r.collectives.first.begin(), r.collectives.first.end(),
            [](const gh::Collective& a, const gh::Collective& b) { return a.end < b.end; });
  const gh::Finding f = r.findings.front();
  for (int i = 0; i < 60; ++i) {
    r.findings.push_back(f);
    r.findings.back().message += std::to_string(next());
  }
  CHECK(gh::pack_digest(d).size() < 300'000);
}

TEST_CASE("digest: it says which rank, job and node it is from") {
  const TempDir dir;
  const auto digest = [&](const std::string& arguments) {
    const Ran ran = advise("digest " + arguments + " -o " + quoted(dir / "d"));
    CHECK_MESSAGE(ran.status == 0, ran.err);
    CHECK(ran.out == "");
    return gh::read_digest(dir / "d");
  };
  const gh::Digest two = digest("ddp-straggler.sqlite");
  REQUIRE(two.ranks.size() == 2);
  CHECK(two.node == "");
  const fs::path named = dir / "named.sqlite";
  fs::copy_file(GH_FIXTURES "/ddp-straggler.sqlite", named);
  run_sql(named,
          "CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (globalVid, devStateName, name, "
          "nameEnum, value); DROP TABLE TARGET_INFO_SYSTEM_ENV; CREATE TABLE "
          "TARGET_INFO_SYSTEM_ENV (name, value); INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES "
          "('DeviceEnvironment', 'TOKEN=hush'), ('Hostname', 'node17');");
  CHECK(digest(quoted(named)).node == "node17");
  CHECK_FALSE(contains(gh::unpack_digest(dir / "d"), "hush"));
  CHECK_FALSE(two.ranks[0].rank);
  CHECK(two.ranks[1].local_rank == 1);
  CHECK(two.ranks[0].findings.size() !=
        two.ranks[1].findings.size());  // each is evaluated on its own
  const gh::Digest told = digest("ddp-straggler.sqlite --first-rank 8 --node rack3-n1");
  CHECK(*told.ranks[1].rank == 9);
  CHECK(told.node == "rack3-n1");
  const gh::Digest trace = digest("ddp.rank1.pt.trace.json");
  CHECK(*trace.ranks.at(0).rank == 1);
  CHECK(trace.world_size == 2);
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "run.rank17.sqlite");
  CHECK(*digest(quoted(dir / "run.rank17.sqlite")).ranks.at(0).rank == 17);
  fs::copy_file(GH_FIXTURES "/good.pt.trace.json",
                dir / "gpu-node7_4711.1795253173902.pt.trace.json");
  CHECK(digest(quoted(dir / "gpu-node7_4711.1795253173902.pt.trace.json")).node == "gpu-node7");
  // It contains nothing of the report's environment.
  CHECK(advise("digest starved.sqlite -o " + quoted(dir / "d")).status == 0);
  CHECK_FALSE(contains(gh::unpack_digest(dir / "d"), "LD_LIBRARY_PATH"));
  const Ran none = advise("digest missing.sqlite -o " + quoted(dir / "none"));
  CHECK(none.status == 2);
  CHECK_FALSE(fs::exists(dir / "none"));
}
