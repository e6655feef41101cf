// `gh-advise top`.
#include <numeric>
#include <set>

#include "read/sqlite.hpp"
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

namespace {

Json table(const Json& top, const std::string& name) {
  for (const Json& t : top["tables"])
    if (t["table"] == name) return t;
  FAIL("no table ", name);
  return {};
}

Json row(const Json& table, const std::string& name) {
  for (const Json& r : table["rows"])
    if (r["name"] == name) return r;
  FAIL("no row ", name);
  return {};
}

Json top_of(const std::string& arguments) {
  const Ran ran = advise("top --format json " + arguments);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const Json reports = json_of(ran)["reports"];
  return reports.size() == 1 ? reports[0] : reports;
}

double shares(const Json& table, const char* share) {
  return std::accumulate(table["rows"].begin(), table["rows"].end(), 0.0,
                         [&](double sum, const Json& r) { return sum + r[share].get<double>(); });
}

}  // namespace

TEST_CASE(
    "top: kernels are what SQL says of those between the first step's begin and the last's end") {
  const Json kernels = table(top_of("starved.sqlite --only kernels"), "kernels");
  const gh::Database db(fixture("starved"));
  std::int64_t all = 0;
  for (const Json& r : kernels["rows"]) all += r["total_ns"].get<std::int64_t>();
  CHECK(all == kernels["total_ns"]);
  CHECK(kernels["rows_in_all"] == kernels["rows"].size());
  const Json& first = kernels["rows"][0];
  // All of one kernel's are no fewer than those within the steps, and each is as long as there.
  gh::Query q(db,
              "SELECT count(*), min(end - start), max(end - start) FROM "
              "CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON k.demangledName = s.id WHERE "
              "s.value = '" +
                  first["name"].get<std::string>() + "'");
  REQUIRE(q.step());
  CHECK(q.integer(0) >= first["count"].get<std::int64_t>());
  CHECK(q.integer(1) <= first["least_ns"].get<std::int64_t>());
  CHECK(q.integer(2) >= first["most_ns"].get<std::int64_t>());
  for (std::size_t i = 1; i < kernels["rows"].size(); ++i)
    CHECK(kernels["rows"][i - 1]["total_ns"] >= kernels["rows"][i]["total_ns"]);
}

TEST_CASE("top: however work is summed, it is the same work") {
  for (const char* report : {"starved.sqlite", "eager.pt.trace.json", "ddp.sqlite"}) {
    CAPTURE(report);
    const Json names = top_of(report);
    double all = shares(table(names, "kernels"), "device_fraction"),
           path = shares(table(names, "kernels"), "path_fraction");
    for (const Json& t : names["tables"]) {
      if (t["table"] != "copies") continue;
      all += shares(t, "device_fraction");
      path += shares(t, "path_fraction");
    }
    for (const char* by : {"class", "range", "op", "line", "kernel", "stream", "rank"}) {
      CAPTURE(by);
      const Json work = table(top_of(std::string(report) + " --by " + by), "work");
      CHECK(shares(work, "device_fraction") == doctest::Approx(all));
      // Of ranges, operators and lines it is also what the path waits for; some launch nothing.
      if (std::set<std::string>{"range", "op", "line"}.contains(by))
        CHECK(shares(work, "path_fraction") <= 1.000001);
      else
        CHECK(shares(work, "path_fraction") == doctest::Approx(path));
    }
    CHECK(path <= 1);
  }
}

TEST_CASE("top: a range has what was launched in it, also by the thread that backward runs on") {
  for (const char* report : {"eager.sqlite", "eager.pt.trace.json"}) {
    CAPTURE(report);
    const Json ranges = table(top_of(report), "ranges");
    const Json& step = ranges["rows"][0];  // the step itself
    CHECK(step["device_fraction"] > 0.9);
    CHECK(step["path_fraction"] > 0.9);
  }
  const Json work = table(top_of("eager.sqlite --by range"), "work");
  CHECK(row(work, "backward")["device_fraction"].get<double>() +
            row(work, "forward")["device_fraction"].get<double>() >
        0.9);
  const Json ops = table(top_of("eager.pt.trace.json --by op"), "work");
  CHECK(row(ops, "aten::mm")["class"] == nullptr);
  const Json of_trace = table(top_of("eager.pt.trace.json"), "ranges");
  for (const Json& r : of_trace["rows"])
    CHECK_MESSAGE(r["name"] != "detach", "an operator, though its name has no namespace");
}

TEST_CASE("top: what the loader's thread does is on the path, and copies that hide are not") {
  const Json starved = top_of("starved.sqlite");
  CHECK(row(table(starved, "ranges"), "dataloader")["path_fraction"] > 0.5);
  CHECK(table(top_of("starved.sqlite --sort path"), "ranges")["rows"][0]["path_fraction"] >=
        table(top_of("starved.sqlite --sort path"), "ranges")["rows"][1]["path_fraction"]);
  const Json calls = table(starved, "calls");
  CHECK(calls["rows"][0]["device_fraction"] == nullptr);
}

TEST_CASE("top: samples of the SMs tell how full each row keeps them, and nothing does without") {
  const Json all = top_of("gpumetrics.sqlite"), kernels = table(all, "kernels");
  double product = 0;
  for (const Json& r : kernels["rows"]) {
    const double share = r["sm_active_fraction"];
    CHECK(share >= 0);
    CHECK(share <= 1);
    if (contains(r["name"].get<std::string>(), "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"))
      product = share;
  }
  CHECK(product > 0.9);
  // While nothing runs no SM is active.
  const Json step = row(table(all, "ranges"), "step #");
  const Json facts = json_of(advise("facts gpumetrics.sqlite --format json"));
  double sampled = 0;
  for (const Json& f : facts["facts"])
    if (f["name"] == "samples.sm_active_fraction") sampled = f["value"];
  CHECK(step["sm_active_fraction"].get<double>() * step["device_fraction"].get<double>() ==
        doctest::Approx(sampled).epsilon(0.05));
  CHECK(row(table(top_of("starved.sqlite"), "ranges"), "step #")["sm_active_fraction"] == nullptr);
  CHECK(contains(advise("top gpumetrics.sqlite --by range").out, " OF PATH   SMS  NAME\n"));
}

TEST_CASE("top: ranges whose names count are one row, or each its own") {
  const Json one = table(top_of("starved.sqlite --only ranges"), "ranges"),
             each = table(top_of("starved.sqlite --only ranges --numbered"), "ranges");
  const Json step = row(one, "step #");
  CHECK(row(each, "step 5")["count"] == 1);
  std::int64_t total = 0, count = 0;
  for (const Json& r : each["rows"])
    if (r["name"].get<std::string>().starts_with("step ")) {
      total += r["total_ns"].get<std::int64_t>();
      count += r["count"].get<std::int64_t>();
    }
  CHECK(total == step["total_ns"]);
  CHECK(count == step["count"]);
}

TEST_CASE("top: text shows the most, and says what is left out") {
  const Ran ran = advise("top eager.sqlite --only kernels,calls --most 3");
  CHECK(ran.status == 0);
  CHECK(contains(ran.out, "\nKernels\n        TIME     COUNT       MEAN  OF GPU OF PATH  NAME\n"));
  CHECK(contains(ran.out, " more\n"));
  CHECK_FALSE(contains(ran.out, "Ranges"));
  CHECK(contains(ran.out, "TIME: the sum over 5 training steps, "));
  CHECK(contains(advise("top --only kernels eager.sqlite").out, "\nKernels\n"));
  const Json most = table(top_of("eager.sqlite --only kernels --most 3"), "kernels");
  CHECK(most["rows"].size() == 3);
  CHECK(most["rows_in_all"] > 3);
}

TEST_CASE(
    "top: one analysed step is not two, and kernels beside themselves are not more than all") {
  CHECK(
      contains(advise("top eager.sqlite --steps 2:2").out, "TIME: the sum over 1 training step, "));
  const Ran side_by_side = advise("cu-low-sm-fill-lookalike.sqlite");
  CHECK(contains(side_by_side.out, "100 % of the kernels' time, 99 % of the iteration"));
}

TEST_CASE("top: several reports, and parts of one") {
  const Json two = top_of("starved.sqlite good.sqlite --only kernels");
  REQUIRE(two.size() == 2);
  CHECK(two[1]["report"]["path"] == "good.sqlite");
  CHECK(top_of("starved.sqlite --steps 2:3")["steps"] == 2);
  CHECK(top_of("ddp.sqlite --rank 1 --by rank")["tables"][0]["rows"].size() == 1);
  const Ran one_bad = advise("top nowhere.sqlite good.sqlite --only copies");
  CHECK(one_bad.status == 2);
  CHECK(contains(one_bad.out, "\nCopies and memsets\n"));
  CHECK(contains(one_bad.err, "nowhere.sqlite: no such file"));
}

TEST_CASE("top: JSON keeps to its schema, CSV has a line for each row and starts no formula") {
  std::vector<Json> all;
  for (const char* arguments :
       {"starved.sqlite", "eager.pt.trace.json --by op", "ddp.sqlite --by rank",
        "compile-graphs.sqlite --by class", "um.sqlite --sort mean --most 2"})
    all.push_back(json_of(advise("top --format json " + std::string(arguments))));
  for (const std::string& v : verdicts("schemas/top.schema.json", all)) CHECK(v == "valid");
  Json one = all[0];
  one["errors"] = {"x.sqlite: no such file"};
  const auto broken_ones = broken(one);
  std::vector<Json> documents;
  for (const Broken& b : broken_ones) documents.push_back(b.document);
  const auto verdict = verdicts("schemas/top.schema.json", documents);
  for (std::size_t i = 0; i < verdict.size(); ++i)
    CHECK_MESSAGE(verdict[i] != "valid", broken_ones[i].how);

  const auto lines = lines_of(advise("top starved.sqlite --format csv --only kernels,calls").out);
  CHECK(lines.at(0).starts_with("report,table,name,class,count,total_ns"));
  std::size_t rows = 0;
  for (const Json& t : all[0]["reports"][0]["tables"])
    if (t["table"] == "kernels" || t["table"] == "calls") rows += t["rows"].size();
  CHECK(static_cast<std::size_t>(std::count_if(
            lines.begin(), lines.end(), [](const auto& l) { return !l.empty(); })) == rows + 1);
}

TEST_CASE("top: what is wrong is one line that says what to do") {
  CHECK(contains(error_line("top"), "REPORT is required"));
  CHECK(contains(error_line("top starved.sqlite --by nmae"), "--by: nmae not in {name,class,"));
  CHECK(contains(error_line("top starved.sqlite --sort size"), "--sort: size not in {time,"));
  CHECK(contains(error_line("top starved.sqlite --most 0"), "--most: "));
  CHECK(contains(error_line("top starved.sqlite --only kernles"),
                 "--only kernles: --by name has no such table (did you mean 'kernels'?)"));
  CHECK(contains(error_line("top starved.sqlite --by stream --only kernels"),
                 "--only kernels: --by stream has no such table; it has: work"));
  CHECK(contains(error_line("top starved.sqlite --format xml"), "--format: xml not in"));
  CHECK(contains(error_line("top starved.sqlite --range nothing"), "--range 'nothing': "));
}
