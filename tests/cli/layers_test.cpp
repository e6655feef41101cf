// `gh-advise layers` and `gh-advise diff --layers`, on recordings; tests/report/layers_test.cpp has
// what rows say.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

namespace {

// Eight blocks, of which blocks.5 has a slow attention; its memory was recorded too.
const std::string decoder = "layers-blocks.pt.trace.json";
const std::string layers_schema = "schemas/layers.schema.json";

Json layers_json_of(const std::string& arguments) {
  const Ran ran = advise("layers --format json " + arguments);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const Json reports = json_of(ran)["reports"];
  return reports.size() == 1 ? reports[0] : reports;
}

Json layer_row(const Json& layers, const std::string& path) {
  for (const Json& r : layers["rows"])
    if (r["path"] == path) return r;
  FAIL("no row ", path);
  return {};
}

std::vector<std::string> layer_paths(const Json& layers) {
  std::vector<std::string> paths;
  for (const Json& r : layers["rows"])
    paths.push_back(r["path"].is_null() ? "" : r["path"].get<std::string>());
  return paths;
}

std::int64_t sum_of_ns(const Json& values) {
  std::int64_t sum = 0;
  for (const Json& value : values) sum += value.get<std::int64_t>();
  return sum;
}

// What holds of all rows of every report.
void check_layer_sums(const Json& layers) {
  std::int64_t total = 0, path = 0;
  const Json& rows = layers["rows"];
  std::vector<std::int64_t> within(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& r = rows[i];
    CAPTURE(r["path"].dump());
    const auto ns = r["total_ns"].get<std::int64_t>();
    if (r["parent"].is_null()) {
      total += ns;
      if (!r["path_ns"].is_null()) path += r["path_ns"].get<std::int64_t>();
    } else {
      REQUIRE(r["parent"] < i);
      within[r["parent"].get<std::size_t>()] += ns;
    }
    CHECK(r["busy_ns"].get<std::int64_t>() + r["idle_ns"].get<std::int64_t>() == ns);
    CHECK(r["forward_ns"].get<std::int64_t>() + r["backward_ns"].get<std::int64_t>() <= ns);
    CHECK(sum_of_ns(r["causes_ns"]) == ns);
    CHECK(sum_of_ns(r["by_device_ns"]) == ns);
    CHECK(r["by_device_ns"].size() == layers["devices"].size());
    std::int64_t members = 0;
    for (const Json& m : r["layers"]) members += m["total_ns"].get<std::int64_t>();
    CHECK((r["layers"].empty() || members == ns));
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(within[i] + rows[i]["own_ns"].get<std::int64_t>() ==
          rows[i]["total_ns"].get<std::int64_t>());
  CHECK(total == layers["total_ns"]);
  if (!layers["path_ns"].is_null()) CHECK(path == layers["path_ns"]);
}

// A copy of a recording, without any work on a GPU.
std::filesystem::path write_idle(const TempDir& dir) {
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "idle.sqlite");
  return run_sql(dir / "idle.sqlite",
                 "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; "
                 "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET");
}

}  // namespace

TEST_CASE("layers: both profilers show the same layers, and the odd one") {
  for (const std::string report : {"layers-blocks-seq.sqlite", "layers-blocks.pt.trace.json"}) {
    CAPTURE(report);
    const Json layers = layers_json_of(report), blocks = layer_row(layers, "blocks.*");
    CHECK(layers["unit"] == "training step");
    REQUIRE(blocks["layers"].size() == 8);
    for (int b = 0; b < 8; ++b) {
      CHECK(blocks["layers"][b]["path"] == fmt::format("blocks.{}", b));
      CHECK(blocks["layers"][b]["odd"] == (b == 5));
    }
    const Json attention = layer_row(layers, "blocks.*.attn");
    CHECK(attention["name"] == "attn");
    CHECK(attention["layers"][5]["odd"] == true);
    for (const char* part : {"mlp", "mlp.up", "attn.qkv"}) {
      const Json row = layer_row(layers, fmt::format("blocks.*.{}", part));
      for (const Json& m : row["layers"]) CHECK(m["odd"] == false);
      CHECK(row["bound_by"] == "compute");
      CHECK(row["attained_fraction"] > 0.8);
      CHECK(row["backward_ns"].get<double>() / row["forward_ns"].get<double>() ==
            doctest::Approx(2).epsilon(0.25));
    }
    const std::string text = advise("layers " + report).out;
    CHECK(contains(text, "  blocks.* (8)"));
    CHECK(contains(text, "blocks.5.attn: 4.9 times the others'"));
  }
}

TEST_CASE("layers: shares by module agree within two points between the profilers") {
  const Json nsys = layers_json_of("layers-blocks-seq.sqlite"),
             torch = layers_json_of("layers-blocks.pt.trace.json");
  const auto shares = [](const Json& layers) {
    std::map<std::string, double> by_path;
    for (const Json& r : layers["rows"])
      by_path[r["path"].is_null() ? "" : r["path"].get<std::string>()] =
          r["total_ns"].get<double>() / layers["total_ns"].get<double>();
    return by_path;
  };
  const std::map<std::string, double> one = shares(nsys), other = shares(torch);
  CHECK(one.size() >= 12);
  for (const auto& [path, share] : one) {
    CAPTURE(path);
    REQUIRE(other.contains(path));
    CHECK(std::abs(share - other.at(path)) < 0.02);
  }
}

TEST_CASE("layers: however work is told apart, it is the same work") {
  for (const std::string report :
       {"layers-blocks-seq.sqlite", "layers-lightning.pt.trace.json", "layers-jax.sqlite",
        "layers-cuda.sqlite", "compile-graphs.sqlite", "ddp.sqlite", "um.sqlite",
        "gil-contention.sqlite"}) {
    CAPTURE(report);
    std::int64_t launches = -1;
    for (const std::string by : {"module", "op", "line", "kernel"}) {
      CAPTURE(by);
      const Json layers = layers_json_of(report + " --by " + by);
      check_layer_sums(layers);
      CHECK(layers["by"] == by);
      std::int64_t sum = 0;
      for (const Json& r : layers["rows"])
        if (r["parent"].is_null()) sum += r["launches"].get<std::int64_t>();
      CHECK((launches < 0 || sum == launches));
      launches = sum;
    }
  }
}

TEST_CASE("layers: rows are sorted, counted, cut off and laid open as asked") {
  const Json whole = layers_json_of(decoder), outer = layers_json_of(decoder + " --depth 1"),
             most = layers_json_of(decoder + " --most 2"),
             each = layers_json_of(decoder + " --each --sort program");
  check_layer_sums(whole);
  for (const Json& r : outer["rows"]) CHECK(r["parent"] == nullptr);
  CHECK(layer_row(outer, "blocks.*")["total_ns"] == layer_row(whole, "blocks.*")["total_ns"]);
  CHECK(layer_paths(most) == std::vector<std::string>{"blocks.*", "blocks.*.attn"});
  CHECK(most["rows_in_all"] == whole["rows"].size());
  CHECK(contains(advise("layers --most 2 " + decoder).out, " smaller ones left out\n"));
  check_layer_sums(each);
  CHECK(layer_row(each, "blocks.5.attn")["total_ns"] >
        3 * layer_row(each, "blocks.4.attn")["total_ns"].get<std::int64_t>());
  const std::vector<std::string> paths = layer_paths(each);
  CHECK(std::find(paths.begin(), paths.end(), "blocks.7") != paths.end());
  CHECK(std::find(paths.begin(), paths.end(), "blocks.0") <
        std::find(paths.begin(), paths.end(), "blocks.7"));
  const std::map<std::string, std::string> fields{{"idle", "idle_ns"},
                                                  {"path", "path_ns"},
                                                  {"launches", "launches"},
                                                  {"flops", "flops"},
                                                  {"time", "total_ns"}};
  for (const auto& [sort, field] : fields) {
    CAPTURE(sort);
    const Json sorted = layers_json_of(decoder + " --by op --sort " + sort);
    for (std::size_t i = 1; i < sorted["rows"].size(); ++i)
      CHECK(sorted["rows"][i - 1][field] >= sorted["rows"][i][field]);
  }
}

TEST_CASE("layers: JSON keeps to its schema, which requires every field and allows no other") {
  std::vector<Json> all{json_of(advise("layers --format json " + decoder))};
  for (const std::string arguments :
       {"starved.sqlite", "layers-blocks-seq.sqlite --each", "eager.pt.trace.json --by op",
        "ddp.sqlite --by line", "compile.pt.trace.json --by kernel --most 9",
        "ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json", "um.sqlite --sort path --depth 1",
        "layers-jax.sqlite layers-cuda.sqlite", "tiles.sqlite", "starved.sqlite --steps 3"})
    all.push_back(json_of(advise("layers --format json " + arguments)));
  const TempDir dir;
  all.push_back(json_of(advise("layers --format json " + quoted(write_idle(dir)))));
  CHECK(all.back()["reports"][0]["rows"].empty());
  const Json comparison_read =
      json_of(advise("diff --layers layers-blocks.sqlite layers-blocks-seq.sqlite --format json"));
  all.push_back(comparison_read);
  const auto valid = verdicts(layers_schema, all);
  for (std::size_t i = 0; i < valid.size(); ++i)
    CHECK_MESSAGE(valid[i] == "valid", i, ": ", valid[i]);

  // Each with something in every list; one layer, one row and one moment are enough.
  Json one = all.front(), comparison = comparison_read;
  one["errors"] = {"x.sqlite: no such file"};
  Json& report = one["reports"][0];
  report["notes"] = {"Something could not be told apart."};
  for (Json* list : {&report["rows"], &report["rows"][0]["layers"], &report["memory"][0]["curve"],
                     &comparison["layers"]})
    list->erase(list->begin() + 1, list->end());
  CHECK(report["memory"][0]["room"].is_object());
  comparison["before"] = comparison["after"] = report;
  std::vector<Broken> all_broken = broken(one);
  for (Broken& b : broken(comparison)) all_broken.push_back(std::move(b));
  // Causes, classes and kinds without any bytes or time are left out.
  std::erase_if(all_broken, [](const Broken& b) {
    const std::array by_name{"causes_ns/", "classes_bytes/", "kinds_bytes/"};
    return b.how.starts_with("without") &&
           std::any_of(by_name.begin(), by_name.end(),
                       [&](const char* part) { return contains(b.how, part); });
  });
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, Json>>{{"/schema_version", 2},
                                                 {"/reports/0/by", "name"},
                                                 {"/reports/0/sort", "size"},
                                                 {"/reports/0/rows/0/parent", -1},
                                                 {"/reports/0/rows/0/total_ns", -1},
                                                 {"/reports/0/rows/0/path", ""},
                                                 {"/reports/0/rows/0/attained_fraction", 1.01},
                                                 {"/reports/0/rows/0/bound_by", "the weather"},
                                                 {"/reports/0/rows/0/causes_ns/idle.tea", 1},
                                                 {"/reports/0/memory/0/allocator", "arena"},
                                                 {"/reports/0/memory/0/live_bytes", -1},
                                                 {"/reports/0/memory/0/curve/0/at_ns", 0.5}})
    all_broken.push_back(with_value(one, pointer, value));
  all_broken.push_back(with_value(comparison, "/layers/0/before_ns", -1));
  all_broken.push_back(with_value(comparison, "/reports", one["reports"]));
  REQUIRE(all_broken.size() > 200);
  std::vector<Json> documents{one, comparison};
  for (const Broken& b : all_broken) documents.push_back(b.document);
  const auto verdict = verdicts(layers_schema, documents);
  CHECK(verdict[0] == "valid");
  CHECK(verdict[1] == "valid");
  for (std::size_t i = 0; i < all_broken.size(); ++i)
    CHECK_MESSAGE(verdict[i + 2] != "valid", "passes: ", all_broken[i].how);
}

TEST_CASE("layers: CSV has a line for each row") {
  const auto lines = lines_of(advise("layers --format csv " + decoder).out);
  CHECK(lines.at(0).starts_with("report,path,depth,layers,total_ns,"));
  CHECK(static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(),
                                               [](const std::string& l) { return !l.empty(); })) ==
        layers_json_of(decoder)["rows"].size() + 1);
  CHECK(any_contains(lines, decoder + "\",\"blocks.*.attn\",1,8,"));
}

TEST_CASE("layers: several reports, parts of one, and one without work on a GPU") {
  const Json two = layers_json_of("layers-cuda.sqlite layers-megatron.sqlite --depth 1");
  REQUIRE(two.size() == 2);
  CHECK(two[1]["report"]["path"] == "layers-megatron.sqlite");
  CHECK(layers_json_of("starved.sqlite --steps 2:3")["steps"] == 2);
  CHECK(layers_json_of("ddp.sqlite --rank 1")["devices"].size() == 1);
  // The ranks of a job make one report.
  CHECK(layers_json_of("ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json")["devices"].size() == 2);
  const Ran one_bad = advise("layers nowhere.sqlite layers-cuda.sqlite");
  CHECK(one_bad.status == 2);
  CHECK(contains(one_bad.out, "  layer * (12)"));
  CHECK(contains(one_bad.err, "nowhere.sqlite: no such file"));
  const Json with_error = json_of(advise("layers nowhere.sqlite layers-cuda.sqlite --format json"));
  CHECK(with_error["errors"].size() == 1);
  CHECK(with_error["reports"].size() == 1);
  const TempDir dir;
  const Ran idle = advise("layers " + quoted(write_idle(dir)));
  CHECK(idle.status == 0);
  CHECK(contains(idle.out, "Nothing to show: no work on a GPU was recorded.\n"));
}

TEST_CASE("layers: what is wrong is one line that says what to do") {
  CHECK(contains(error_line("layers"), "REPORT is required"));
  CHECK(contains(error_line("layers starved.sqlite --by modul"),
                 "--by: modul not in {class,module,"));
  CHECK(contains(error_line("layers starved.sqlite --sort size"), "--sort: size not in {time,"));
  CHECK(contains(error_line("layers starved.sqlite --depth 0"), "--depth: "));
  CHECK(contains(error_line("layers starved.sqlite --depth deep"), "--depth: "));
  CHECK(contains(error_line("layers starved.sqlite --most 0"), "--most: "));
  CHECK(contains(error_line("layers starved.sqlite --format html"), "--format: html not in"));
  CHECK(contains(error_line("layers starved.sqlite --range nothing"), "--range 'nothing': "));
  CHECK(contains(error_line("layers missing.sqlite"), "missing.sqlite: no such file"));
  const std::string no_path = error_line("layers starved.sqlite --steps 3 --sort path");
  CHECK(no_path.starts_with("starved.sqlite: --sort path: there is no path: "));
  CHECK(layers_json_of("starved.sqlite --steps 3")["path_ns"] == nullptr);
}

TEST_CASE("diff --layers: rows are joined by path, with the time of each in both") {
  const std::string arguments = "diff --layers layers-blocks.sqlite layers-blocks-seq.sqlite";
  const Ran ran = advise(arguments);
  CHECK(ran.status == 0);
  CHECK(ran.err == "");
  CHECK(contains(ran.out, "Before: layers-blocks.sqlite, 3 training steps of "));
  CHECK(contains(ran.out, "After: layers-blocks-seq.sqlite, 3 training steps of "));
  const Json json = json_of(advise(arguments + " --format json")),
             before = layers_json_of("layers-blocks.sqlite");
  CHECK(json["before"]["rows"] == before["rows"]);
  const auto steps = before["steps"].get<double>();
  for (const Json& change : json["layers"]) {
    if (change["before_ns"].is_null() || change["path"].is_null()) continue;
    CHECK(change["before_ns"].get<double>() ==
          doctest::Approx(layer_row(before, change["path"])["total_ns"].get<double>() / steps));
  }
  // What is there only once is new, or gone.
  const std::string text = advise("diff --layers layers-cuda.sqlite layers-blocks.sqlite").out;
  CHECK(contains(text, " new  blocks.*\n"));
  CHECK(contains(text, " gone  layer *\n"));
  // Two ranks of one job are two reports.
  CHECK(advise("diff --layers ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json").status == 0);
}

TEST_CASE("diff --layers: another unit is noted") {
  CHECK(advise("diff --layers layers-cuda.sqlite layers-blocks.sqlite").err ==
        "gh-advise: note: times are per step before and per training step after; --unit makes them "
        "comparable\n");
}

TEST_CASE("diff --layers: what it cannot compare is refused") {
  const TempDir dir;
  const How how{"", dir / ""};
  for (const char* name : {"before.sqlite", "after.sqlite", "runs/a.sqlite", "runs/b.sqlite"}) {
    std::filesystem::create_directories((dir / name).parent_path());
    std::filesystem::copy_file(GH_FIXTURES "/layers-cuda.sqlite", dir / name);
  }
  CHECK(advise("baseline before.sqlite -o base.json", how).status == 0);
  CHECK(error_line("diff --layers base.json after.sqlite", how) ==
        "base.json: is a baseline, which holds no layers; --layers compares reports");
  for (const std::string format : {"html", "markdown"})
    CHECK(error_line("diff --layers before.sqlite after.sqlite --format " + format, how) ==
          "--layers: there is no " + format + " of it, only text and json");
  CHECK(contains(error_line("diff --layers before.sqlite after.sqlite --output x.md", how),
                 "--layers: there is no markdown of it"));
  CHECK_FALSE(std::filesystem::exists(dir / "x.md"));
  CHECK(contains(error_line("diff --layers before.sqlite after.sqlite --select comm", how),
                 "leave out --select and --ignore"));
  CHECK(contains(error_line("diff --layers before.sqlite after.sqlite --measured-step "
                            "before.sqlite=1ms",
                            how),
                 "leave out --measured-step"));
  CHECK(contains(error_line("diff --layers before.sqlite missing.sqlite", how),
                 "missing.sqlite: no such file"));
  CHECK(error_line("diff --layers before.sqlite runs", how) ==
        "runs: holds 2 reports; --layers compares one with one");
  std::filesystem::remove(dir / "runs/b.sqlite");
  CHECK(advise("diff --layers before.sqlite runs", how).status == 0);
  write_idle(dir);
  CHECK(error_line("diff --layers before.sqlite idle.sqlite", how) ==
        "idle.sqlite: has no layers: no work on a GPU was recorded");
}
