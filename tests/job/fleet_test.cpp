// Combining the digests of a job's ranks.
#include "job/fleet.hpp"

#include "read/read.hpp"
#include "report/report.hpp"
#include "support/jobs.hpp"
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

gh::Fleet fleet_of(std::vector<gh::Digest> digests) {
  static const std::vector<gh::Rule> rules = gh::own_rules();
  return gh::make_fleet(std::move(digests),
                        &*std::find_if(rules.begin(), rules.end(),
                                       [](const gh::Rule& r) { return r.id == "rank-straggler"; }),
                        {}, "2026-01-01");
}

const gh::FleetFinding* finding(const gh::Fleet& fleet, const std::string& rule) {
  const auto it = std::find_if(fleet.findings.begin(), fleet.findings.end(),
                               [&](const gh::FleetFinding& f) { return f.finding.rule == rule; });
  return it == fleet.findings.end() ? nullptr : &*it;
}

std::string error_of(const std::vector<gh::Digest>& digests) {
  return support::error_of([&] { fleet_of(digests); });
}

// The only problem that does not stop the others.
std::string left_out(const std::vector<gh::Digest>& digests) {
  const gh::Fleet fleet = fleet_of(digests);
  CHECK(fleet.ranks.size() + 1 == digests.size());
  REQUIRE(fleet.left_out.size() == 1);
  return fleet.left_out.front();
}

}  // namespace

TEST_CASE("fleet: an unreadable digest is reported, with what is wrong") {
  const TempDir dir;
  const std::string good = gh::pack_digest(straggling());
  write_file(dir / "good.digest", good);
  const std::string json = gh::unpack_digest(dir / "good.digest");
  const auto error = [&](const std::string& bytes) {
    const Ran ran = advise("fleet " + quoted(write_file(dir / "bad", bytes)));
    CHECK(ran.status == 2);
    CHECK(ran.out == "");
    CHECK(lines_of(ran.err).size() == 1);
    return ran.err;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    text.replace(at, from.size(), to);
    write_file(dir / "j", text);
    return shell("gzip -c " + quoted(dir / "j") + " > " + quoted(dir / "j.gz")).status == 0
               ? read_file(dir / "j.gz")
               : "";
  };
  CHECK(contains(error(""), "is not an intact digest: it is not compressed with gzip"));
  CHECK(contains(error("hello"),
                 "is not an intact digest: it is not compressed with gzip; create it again with "
                 "`gh-advise digest`"));
  CHECK(contains(error(good.substr(0, good.size() / 2)), "it is cut off or was changed"));
  std::string flipped = good;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
  CHECK(contains(error(flipped), "is not an intact digest"));
  CHECK(contains(error(with("gh-advise digest", "gh-advise baseline")), "it is some other JSON"));
  CHECK(contains(error(with("\"analysis_version\":3", "\"analysis_version\":4")),
                 "was made by gh-advise 0.1.0"));
  CHECK(contains(error(with("\"mean_ns\":", "\"mean_ns\":-")), "is out of range"));
  CHECK(contains(error(with("\"mean_ns\":", "\"mean_ns\":0,\"was\":")), "its step takes no time"));
  CHECK(contains(error(with("\"rank\":null", "\"rank\":10000000")), "is out of range"));
  CHECK(contains(advise("fleet starved.sqlite").err,
                 "starved.sqlite: is a report, not a digest; run `gh-advise digest` on it first"));
  CHECK(contains(error(with("\"start_ns\":[", "\"start_ns\":[1,")), "have different lengths"));
  CHECK(contains(error(with("\"account\"", "\"count\"")), "account"));
  CHECK(contains(advise("fleet " + quoted(dir / "missing")).err, "missing"));
  fs::create_directory(dir / "empty");
  CHECK(contains(advise("fleet " + quoted(dir / "empty")).err, "contains no *.digest"));
  // A damaged digest does not stop the others, but the job cannot pass.
  write_file(dir / "bad", "hello");
  const Ran ran =
      advise("fleet " + quoted(dir / "good.digest") + " " + quoted(dir / "bad") + " --format json");
  CHECK(ran.status == 2);
  CHECK(json_of(ran)["unreadable"].size() == 1);
  CHECK(contains(advise("fleet " + quoted(dir / "good.digest") + " " + quoted(dir / "bad")).out,
                 "left out: "));
  CHECK(json_of(ran)["ranks"].size() == 2);
}

TEST_CASE("fleet: duplicate, missing and foreign ranks are reported") {
  std::vector<gh::Digest> four = job(4);
  std::vector<gh::Digest> twice = four;
  twice[3].ranks[0].rank = 1;
  CHECK(left_out(twice) ==
        "3.digest: is rank 1, but so is 1.digest, which was used; give each rank once");
  CHECK(fleet_of(twice).missing == std::vector<std::int64_t>{3});
  std::vector<gh::Digest> other = four;
  other[2].world_size = 8;
  CHECK(
      left_out(other) ==
      "2.digest: is not from the same job as most others, such as 0.digest: one says that the job "
      "has 4 ranks, the other 8; give the digests of one job");
  other[0].world_size = 8;
  CHECK(error_of(other) ==
        "0.digest and 1.digest are not from the same job: one says that the job has 8 ranks, the "
        "other 4; give the digests of one job");
  other = four;
  for (gh::Digest& d : other) d.epoch_ns = 1'000'000'000'000'000'000 - d.ranks[0].window.start;
  CHECK(error_of(other) == "");
  other[1].epoch_ns += 3'600'000'000'000;
  // If collectives match, the clock is wrong.
  const gh::Fleet off = fleet_of(other);
  REQUIRE(!off.notes.empty());
  CHECK(contains(off.notes[0],
                 "3600 s apart although their collectives match, so one machine's clock is wrong"));
  for (gh::Digest& d : other) d.ranks[0].collectives = {};
  CHECK(contains(error_of(other),
                 "are not from the same job, because their steps begin 3600 s apart"));
  // This holds whichever digest comes first.
  other[0].ranks[0].unit = gh::window_unit;
  CHECK(contains(error_of(other),
                 "are not from the same job, because their steps begin 3600 s apart"));
  other = four;
  for (gh::Digest& d : other) d.world_size = 3;
  CHECK(contains(left_out(other), "3.digest: is rank 3, but says that its job has 3 ranks"));
  other = {four[0], four[1]};
  for (gh::Digest& d : other) d.world_size = 0;
  other[1].ranks[0].rank = 9'999'999;
  const gh::Fleet far = fleet_of(other);
  CHECK(far.missing.size() == 10'000);
  CHECK(contains(far.notes[0], "9999998 of 10000000 ranks are missing"));
  four[0].node = "";
  CHECK(gh::fleet_count_text(fleet_of(four)) == "4 ranks");
  four[0].node = "n0";
  other = four;
  other[2].format = "PyTorch profiler trace";
  CHECK(contains(left_out(other), "2.digest: is not from the same job"));
  CHECK(contains(left_out(other), "they come from different profilers"));
  other = four;
  other[2].ranks[0].rank.reset();
  CHECK(contains(left_out(other),
                 "2.digest: does not know its rank, but others do; create it again with `gh-advise "
                 "digest --first-rank N`, or move that report out of the folder"));
  other[1].ranks[0].rank.reset();
  CHECK(contains(error_of(other), "1.digest: does not know its rank, but others do"));
  other = four;
  for (gh::Digest& d : other) {
    d.ranks[0].rank.reset();
    d.world_size = 0;
  }
  CHECK_FALSE(fleet_of(other).numbered);
  other[2].report = other[1].report;
  other[2].epoch_ns = other[1].epoch_ns;
  CHECK(contains(left_out(other), "2.digest: is from the same report as 1.digest"));

  std::vector<gh::Digest> fewer = job(20);
  fewer.erase(fewer.begin() + 10, fewer.begin() + 13);
  const gh::Fleet fleet = fleet_of(fewer);
  CHECK(fleet.missing == std::vector<std::int64_t>{10, 11, 12});
  CHECK(fleet.world_size == 20);
  REQUIRE(fleet.notes.size() == 1);
  CHECK(contains(fleet.notes[0], "3 of 20 ranks are missing (10-12)"));
  CHECK(contains(gh::render_fleet_text(fleet, {}), "17 of 20 ranks on 3 nodes"));
}

TEST_CASE("fleet: the recorded straggler is as late as in its report, whatever the clocks") {
  const gh::Fleet two = fleet_of({straggling()});
  REQUIRE(two.stragglers == std::vector<std::int64_t>{1});
  const auto report =
      report_of(advise("ddp-straggler.sqlite --format json --select rank-straggler"));
  const double told = report["findings"][0]["recoverable_ns"].get<double>();
  CHECK(two.ranks[1].late_ns == doctest::Approx(told).epsilon(0.05));
  CHECK(two.ranks[0].wait_ns == doctest::Approx(told).epsilon(0.05));
  CHECK(two.ranks[1].wait_ns < 0.01 * told);
  CHECK(two.slowest == 1);

  // The same among 32 ranks with different clocks, one of which is a day ahead of the first.
  std::vector<gh::Digest> many = job(32);
  make_late(many[13]);
  const gh::Fleet fleet = fleet_of(many);
  CHECK(fleet.groups == 1);
  REQUIRE(fleet.stragglers == std::vector<std::int64_t>{13});
  CHECK(fleet.ranks[13].late_ns == doctest::Approx(told).epsilon(0.05));
  CHECK(fleet.ranks[13].last_fraction > 0.9);
  CHECK(fleet.slowest == 13);
  const gh::FleetFinding* late = finding(fleet, "rank-straggler");
  REQUIRE(late);
  CHECK(late->finding.severity == gh::Severity::error);
  CHECK(contains(late->finding.message, "rank 13, on node n1, which comes"));
  CHECK(contains(late->finding.message, "idle for no visible reason"));
  CHECK(fleet.nodes[1].late == 1);

  // A whole node.
  for (std::size_t r = 8; r < 16; ++r)
    if (r != 13) make_late(many[r]);
  const gh::Fleet node = fleet_of(many);
  CHECK(node.stragglers.size() == 8);
  CHECK(contains(finding(node, "rank-straggler")->finding.message,
                 "ranks 8-15, all ranks of node n1,"));
  CHECK(node.nodes[1].late == 8);
}

TEST_CASE("fleet: ranks whose collectives do not match are not compared") {
  std::vector<gh::Digest> digests = job(4);
  for (std::size_t i = 0; i < digests.size(); ++i)
    for (std::string& name : digests[i].ranks[0].collectives.names) name += std::to_string(i);
  const gh::Fleet fleet = fleet_of(digests);
  CHECK(fleet.groups == 0);
  CHECK(fleet.stragglers.empty());
  CHECK(fleet.rules.at("rank-straggler").state == gh::RuleOutcome::State::not_checked);
  CHECK(contains(gh::render_fleet_text(fleet, {}),
                 "Unknown: the ranks' collectives could not be matched"));
  // With two pipeline stages, late ranks are found within each.
  std::vector<gh::Digest> stages = job(8);
  for (std::size_t i = 4; i < 8; ++i)
    for (std::string& name : stages[i].ranks[0].collectives.names) name += "2";
  make_late(stages[6]);
  for (std::string& name : stages[6].ranks[0].collectives.names) name += "2";
  const gh::Fleet two = fleet_of(stages);
  CHECK(two.groups == 2);
  CHECK(two.stragglers == std::vector<std::int64_t>{6});
}

TEST_CASE(
    "fleet: a finding on many ranks is reported once, with the account over ranks and what its fix "
    "is worth to the job") {
  std::vector<gh::Digest> digests = job(16);
  // Every rank takes 30 ms, one takes 36 ms; nobody waits in the collectives compared here.
  gh::Finding loader;
  loader.rule = "data-loader-starvation";
  loader.category = "input";
  loader.title = "The GPU waits";
  loader.message = "It waits.";
  loader.subject = "loader";
  loader.severity = gh::Severity::error;
  loader.fingerprint = gh::fingerprint(loader);
  loader.advice = {"Load."};
  for (gh::Digest& d : digests) {
    gh::RankDigest& r = d.ranks[0];
    r.mean_step_ns = 30e6;
    r.collectives = {};
    r.findings.clear();
    r.account.clear();
    r.account["compute.gemm_half"] = {20e6, {}, {}};
    r.account["idle.input"] = {10e6, {}, {}};
  }
  digests[3].ranks[0].mean_step_ns = 36e6;
  digests[3].ranks[0].account["idle.input"].ns_per_step = 16e6;
  loader.recoverable_ns = 12'000'000;
  digests[3].ranks[0].findings = {loader};
  loader.recoverable_ns = 8'000'000;
  digests[5].ranks[0].findings = {loader};
  const gh::Fleet fleet = fleet_of(digests);
  CHECK(fleet.step_ns == 36e6);
  CHECK(fleet.slowest == 3);
  REQUIRE(fleet.findings.size() == 1);
  const gh::FleetFinding& f = fleet.findings[0];
  CHECK(f.ranks == std::vector<std::int64_t>{3, 5});
  CHECK(f.looked == 16);
  CHECK(f.worst == 3);
  CHECK(contains(f.finding.message, "On 2 of 16 ranks (3, 5); rank 3: It waits."));
  // Saving its 12 ms helps only until the next slowest rank's 30 ms.
  CHECK(f.finding.recoverable_ns == 6'000'000);
  CHECK_FALSE(f.finding.about);
  CHECK(f.finding.severity == gh::Severity::warning);
  REQUIRE(fleet.plan.size() == 1);
  CHECK(fleet.plan[0].least_step_ns == 30e6);
  CHECK(fleet.causes == std::vector<std::string>{"compute.gemm_half", "idle.input"});
  CHECK(fleet.account[1].middle == 10'000'000);
  CHECK(fleet.account[1].most == 16'000'000);
  REQUIRE(fleet.unlike.size() == 2);
  CHECK(fleet.unlike[0].what == "idle: input: 16.0 ms a step, the others 10.0 ms a step");
  CHECK(fleet.unlike[0].ranks == std::vector<std::int64_t>{3});
  // On ranks other than the slowest, it is worth nothing to the job.
  digests[3].ranks[0].findings.clear();
  const gh::Fleet none = fleet_of(digests);
  CHECK(none.findings[0].finding.recoverable_ns == 0);
  CHECK(none.findings[0].finding.severity == gh::Severity::note);
  CHECK(none.plan.empty());
}

TEST_CASE("fleet: a rank with another GPU, other kernels or another number of steps stands out") {
  std::vector<gh::Digest> digests = job(12);
  digests[4].ranks[0].devices = {"NVIDIA A100"};
  digests[5].ranks[0].facts["kernels.per_step"].value = 100;
  digests[6].ranks[0].step_count = 3;
  std::string all;
  for (const gh::Unlike& u : fleet_of(digests).unlike)
    all += gh::ranks_text(u.ranks) + " " + u.what + "\n";
  CHECK(contains(all, "4 GPU: NVIDIA A100, the others NVIDIA H200"));
  CHECK(contains(all, "5 kernels a step: 100, the others"));
  CHECK(contains(all, "6 steps recorded: 3, the others 9"));
  CHECK(lines_of(all).size() == 3);
}

TEST_CASE("fleet: if there are equally many of two kinds of ranks, neither stands out") {
  std::vector<gh::Digest> digests = job(4);
  for (std::size_t r = 0; r < 4; ++r) digests[r].ranks[0].devices = {r < 2 ? "A" : "B"};
  gh::Fleet fleet = fleet_of(digests);
  REQUIRE(fleet.unlike.size() == 1);
  CHECK(fleet.unlike[0].what == "GPU differs: A on ranks 0-1, B on ranks 2-3");
  for (std::size_t r = 0; r < 4; ++r) digests[r].ranks[0].devices = {r == 0 ? "A" : "B"};
  digests.push_back(job(5)[4]);
  digests[4].world_size = 0;
  digests[4].ranks[0].devices = {"C"};
  for (gh::Digest& d : digests) d.world_size = 5;
  fleet = fleet_of(digests);
  REQUIRE(fleet.unlike.size() == 2);
  CHECK(fleet.unlike[0].what == "GPU: A, most B");
}

TEST_CASE("fleet: nothing is claimed about missing ranks") {
  std::vector<gh::Digest> digests = job(4);
  digests.pop_back();
  gh::Finding slow;
  slow.rule = "slow-collective";
  slow.category = "comm";
  slow.title = "Slow";
  slow.subject = "all-reduce";
  slow.severity = gh::Severity::error;
  slow.recoverable_ns = 20'000'000;
  slow.fingerprint = gh::fingerprint(slow);
  for (gh::Digest& d : digests) {
    d.ranks[0].findings = {slow};
    d.ranks[0].rules["slow-collective"] = {};
  }
  digests[1].ranks[0].rules["slow-collective"] = {gh::RuleOutcome::State::not_recorded, "it lacks",
                                                  "1", 0};
  digests[2].ranks[0].rules["launch-bound"] = {gh::RuleOutcome::State::not_checked,
                                               "the report holds only one rank, so", "1", 0};
  for (std::size_t ranks : {3, 1}) {
    digests.resize(ranks);
    for (gh::Digest& d : digests) d.world_size = ranks == 1 ? 0 : 4;
    const gh::Fleet fleet = fleet_of(digests);
    CHECK(finding(fleet, "slow-collective")->finding.severity == gh::Severity::note);
    CHECK(std::none_of(fleet.plan.begin(), fleet.plan.end(),
                       [](const gh::FleetFix& f) { return f.rule == "slow-collective"; }));
    CHECK(contains(gh::fleet_step_text(fleet), "; how long ranks wait for each other is unknown"));
    if (ranks == 1)
      CHECK(contains(gh::fleet_waits_text(fleet), "Unknown: the other ranks' digests are missing"));
    else
      CHECK(contains(gh::fleet_waits_text(fleet),
                     "The middle one of the ranks that have a digest waits"));
    if (ranks == 3)
      CHECK(contains(finding(fleet, "slow-collective")->finding.message,
                     "Its rule could not be checked on 1 rank."));
    if (ranks == 3)
      CHECK(contains(fleet.rules.at("launch-bound").reason,
                     "needs all ranks in one report; each digest contains only one"));
  }
}

TEST_CASE(
    "fleet: a rank with unmatched collectives is not checked, and of two equal fixes the cause "
    "comes first") {
  std::vector<gh::Digest> digests = job(4);
  for (std::string& name : digests[3].ranks[0].collectives.names) name += "3";
  CHECK(fleet_of(digests).rules.at("rank-straggler").reason ==
        "not on 1 of 4 ranks, whose collectives match no other rank's");
  digests = job(4);
  gh::Finding effect;
  effect.rule = "gpu-idle";
  effect.category = "idle";
  effect.subject = "a";
  effect.recoverable_ns = 10'000'100;
  effect.follows_from = "host-sync";
  effect.fingerprint = gh::fingerprint(effect);
  gh::Finding cause = effect;
  cause.rule = "host-sync";
  cause.recoverable_ns = 10'000'000;
  cause.follows_from = "";
  cause.fingerprint = gh::fingerprint(cause);
  for (gh::Digest& d : digests) {
    d.ranks[0].collectives = {};
    d.ranks[0].findings = {effect, cause};
  }
  const gh::Fleet fleet = fleet_of(digests);
  REQUIRE(!fleet.plan.empty());
  CHECK(fleet.plan[0].rule == "host-sync");
}

TEST_CASE("fleet: CI output includes a cause that takes time on only one of two ranks") {
  std::vector<gh::Digest> digests = job(2);
  digests[1].ranks[0].account["idle.input"] = {digests[1].ranks[0].mean_step_ns / 2, {}, {}};
  digests[0].ranks[0].account.erase("idle.input");
  const auto account =
      gh::fleet_ci_result(fleet_of(digests), {}, "job", std::nullopt).reports[0].account;
  CHECK(std::any_of(account.begin(), account.end(), [](const auto& share) {
    return share.first == "idle: input" && share.second > 0.2;
  }));
}

TEST_CASE("fleet: a duplicate rank is reported in every format, and such a job never passes") {
  const TempDir dir;
  std::vector<gh::Digest> digests = job(4);
  digests[3].ranks[0].rank = 1;
  for (const gh::Digest& d : digests) write_file(dir / (d.path), gh::pack_digest(d));
  for (const char* format : {"text", "json", "markdown", "sarif", "github", "junit", "html"}) {
    INFO(format);
    const Ran ran = advise(std::string("fleet . --format ") + format, {"", dir / ""});
    CHECK(ran.status == 2);
    CHECK(contains(ran.out, "3.digest"));
    CHECK(contains(ran.err, "3.digest: is rank 1, but so is "));
  }
}

TEST_CASE("fleet: every format can be written from a folder of digests") {
  const TempDir dir;
  std::vector<gh::Digest> digests = job(12);
  make_late(digests[7]);
  for (const gh::Digest& d : digests) write_file(dir / (d.path), gh::pack_digest(d));
  const std::string folder = quoted(dir / "");
  const Ran text = advise("fleet " + folder);
  CHECK_MESSAGE(text.status == 0, text.err);
  CHECK(contains(text.out, "12 ranks on 2 nodes"));
  CHECK(contains(text.out, "rank 7 on n0:"));
  CHECK(contains(text.out, "no less than"));
  const Ran json = advise("fleet " + folder + " --format json");
  CHECK(verdict("schemas/fleet.schema.json", json_of(json)) == "valid");
  const auto document = json_of(json);
  CHECK(document["heat_map"]["ns_per_step"].size() == 12);
  CHECK(document["heat_map"]["ns_per_step"][0].size() == document["heat_map"]["causes"].size());
  CHECK(document["stragglers"] == nlohmann::ordered_json{7});
  CHECK(contains(advise("fleet " + folder + " --format markdown").out, "`rank-straggler`"));
  CHECK(json_of(advise("fleet " + folder + " --format sarif"))["runs"][0]["results"].size() ==
        document["findings"].size());
  CHECK(contains(advise("fleet " + folder + " --format github").out, "::error"));
  const Ran failing = advise("fleet " + folder + " --format junit --fail-on error");
  CHECK(failing.status == 1);
  CHECK(contains(failing.out, "<failure type=\"rank-straggler\""));
  CHECK(advise("fleet " + folder + " --ignore comm,idle --fail-on error").status == 0);
  CHECK_FALSE(contains(advise("fleet " + folder + " --ignore comm").out, "rank-straggler"));
  const std::string page = advise("fleet " + folder + " --format html").out;
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(contains(page,
                 "<title>rank 7 on n0: idle: unknown, 21.1 ms a step</title>"));  // of the map of
                                                                                  // ranks by cause
  CHECK(contains(page, "<title>rank 7 on n0 comes 19."));
  CHECK(contains(page, "no less than"));
  fs::remove(dir / "3.digest");
  const Ran missing = advise("fleet " + folder + " --fail-on error");
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "1 of 12 ranks are missing (3), so --fail-on cannot judge the job"));
  write_file(dir / "gh-advise.toml",
             "[[suppress]]\nrule = \"rank-straggler\"\nreason = \"known\"\n");
  const Ran suppressed =
      advise("fleet " + folder + " --format json --config " + quoted(dir / "gh-advise.toml"));
  CHECK(json_of(suppressed)["suppressed"].size() == 1);
  CHECK(verdict("schemas/fleet.schema.json", json_of(suppressed)) == "valid");
}

TEST_CASE("fleet: the page for thousands of ranks fits in an e-mail and escapes foreign text") {
  gh::Fleet fleet = fleet_of(job(9));
  std::vector<gh::FleetRank> ranks;
  for (std::int64_t r = 0; r < 4096; ++r) {
    ranks.push_back(fleet.ranks[static_cast<std::size_t>(r % 9)]);
    ranks.back().rank = r;
    ranks.back().node = "<b>n&" + std::to_string(r / 8);
    for (std::size_t c = 0; c < ranks.back().cause_ns.size(); ++c)
      ranks.back().cause_ns[c] *= 1 + (r * 7919 % 97) / 10.0;  // no two alike
    if (r % 3 == 0) fleet.stragglers.push_back(r);
  }
  fleet.ranks = std::move(ranks);
  for (gh::Quartiles& q : fleet.account) q.most *= 11;
  const std::string page = gh::render_fleet_html(fleet, {"<i>x.digest</i>: is no digest"});
  CHECK(page.size() < 2'000'000);
  CHECK_FALSE(contains(page, "<b>n"));
  CHECK_FALSE(contains(page, "<i>x"));
  CHECK(contains(page, "&lt;b&gt;n&amp;"));
}

TEST_CASE("fleet: every format uses the unit's name, and lists ranks with another unit") {
  std::vector<gh::Digest> digests = job(12);
  make_late(digests[3]);
  for (gh::Digest& d : digests) d.ranks[0].unit = "token";
  digests[5].ranks[0].unit = "request";
  const gh::Fleet fleet = fleet_of(digests);
  CHECK(fleet.unit.name == "token");
  const std::string text = gh::render_fleet_text(fleet, {}, {}),
                    page = gh::render_fleet_html(fleet, {});
  for (const std::string words : {"The job's token takes ", "Where a token goes, over ranks",
                                  " of each token for the last one", " late a token",
                                  "rank 5: unit: request, the others token"})
    CHECK_MESSAGE(contains(text, words), words);
  for (const std::string words : {"Late a token", "Where a token goes, over ranks", "Of the token"})
    CHECK_MESSAGE(contains(page, words), words);
  CHECK_FALSE(contains(text, "The job's step"));
  CHECK(contains(gh::render_fleet_json(fleet, {}), "\"unit\": \"token\""));
}
