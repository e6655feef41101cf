// Facts: named values with units, the same for rules, the facts command and budgets.
#include "analysis/facts.hpp"

#include <set>

#include "analysis/analysis.hpp"
#include "support/traces.hpp"

using namespace gh;

namespace {

// An analysis and its facts, which refer to it.
struct Known {
  Analysis analysis;
  Facts facts;
  explicit Known(Trace trace) : analysis(std::move(trace), Classes(), {}), facts(analysis) {}
  double number(const std::string& name) const {
    const FactValue& v = facts.value(name);
    CAPTURE(name);
    REQUIRE(std::holds_alternative<double>(v));
    return std::get<double>(v);
  }
  std::string text(const std::string& name) const {
    const FactValue& v = facts.value(name);
    CAPTURE(name);
    REQUIRE(std::holds_alternative<std::string>(v));
    return std::get<std::string>(v);
  }
  // Why there is no value; "" if there is one.
  std::string unknown(const std::string& name) const {
    const auto* u = std::get_if<Unknown>(&facts.value(name));
    return u ? u->reason : "";
  }
};

Known known(const std::string& name) { return Known(support::recorded(name)); }

}  // namespace

TEST_CASE("facts: every fact has a unique name, a unit, a text and a value or a reason") {
  const Known k(trace_from_text("return {}"));
  std::set<std::string> names;
  for (const Fact& f : k.facts.all()) {
    CAPTURE(f.name);
    CHECK(names.insert(f.name).second);
    CHECK(f.name.find('.') != std::string::npos);
    CHECK(f.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos);
    CHECK(f.doc.size() > 5);
    CHECK(f.doc.ends_with('.'));
    CHECK(std::string(name_of(f.unit)) != "");
    if (f.name.ends_with("_ns") || f.name.ends_with(".ns")) CHECK(f.unit == Unit::ns);
    if (f.name.ends_with("_fraction")) CHECK(f.unit == Unit::fraction);
    if (f.name.ends_with("_bytes")) CHECK(f.unit == Unit::bytes);
    if (f.name.ends_with("bytes_per_s")) CHECK(f.unit == Unit::bytes_per_s);
    if (f.name.ends_with("flops_per_s")) CHECK(f.unit == Unit::flops_per_s);
    const FactValue& v = k.facts.value(f.name);
    if (const auto* u = std::get_if<Unknown>(&v))
      CHECK_FALSE(u->reason.empty());
    else
      CHECK(std::holds_alternative<std::string>(v) == (f.unit == Unit::text));
    CHECK_FALSE(shown(v, f.unit).empty());
  }
  CHECK(k.facts.names().size() == names.size());
}

TEST_CASE("facts: values of every recording have their unit and are sane") {
  for (const auto& path : support::few_with_sanitizers(support::recordings())) {
    CAPTURE(path.string());
    const Known k(read_nsys(path));
    for (const Fact& f : k.facts.all()) {
      CAPTURE(f.name);
      const FactValue& v = k.facts.value(f.name);
      if (const auto* u = std::get_if<Unknown>(&v))
        CHECK_FALSE(u->reason.empty());
      else
        CHECK(std::holds_alternative<std::string>(v) == (f.unit == Unit::text));
      if (const auto* n = std::get_if<double>(&v)) {
        CHECK(*n >= 0);
        if (f.unit == Unit::fraction) CHECK(*n <= 1.0 + 1e-9);
      }
    }
    CHECK(k.number("steps.total_ns") == static_cast<double>(k.analysis.total_ns()));
    const std::string device = k.text("device.name");
    CHECK((device == "NVIDIA H200" || device == "NVIDIA H100 80GB HBM3"));
    CHECK(k.number("steps.found") == 1);
  }
}

TEST_CASE("facts: recordings have the values that were measured on them") {
  const Known starved = known("starved");
  CHECK(starved.number("device.compute_capability") == doctest::Approx(9.0));
  CHECK(starved.number("device.sm_count") == 132);
  CHECK(starved.number("device.clock_hz") == 1.98e9);
  CHECK(starved.number("device.tensor_cores") == 1);
  CHECK(starved.number("device.count") == 1);
  CHECK(starved.number("step.median_ns") == doctest::Approx(160.3e6).epsilon(0.1));
  CHECK(starved.number("gpu.busy_fraction") < 0.35);
  CHECK(starved.number("loader.range_ns_per_step") > 80e6);
  CHECK(starved.number("gpu.longest_idle_ns") > 80e6);
  CHECK(starved.number("step.shortest_ns") <= starved.number("step.median_ns"));
  CHECK(starved.number("step.longest_ns") >= starved.number("step.mean_ns"));

  const Known good = known("good");
  CHECK(good.number("step.median_ns") == doctest::Approx(46.4e6).epsilon(0.1));
  CHECK(good.number("gpu.busy_fraction") > 0.9);
  CHECK(good.number("um.copies_per_step") == 0);

  const Known ddp = known("ddp");
  CHECK(ddp.number("device.count") == 2);
  CHECK(ddp.number("steps.count") == 10);

  CHECK(known("um-umtouch-full").number("um.copies_per_step") > 100);
  CHECK(known("um").number("um.gpu_faults_per_step") > 100);
  CHECK(known("offload").number("copies.d2h_bytes_per_step") > 1e9);
  const Known metrics = known("gpumetrics");
  CHECK(metrics.number("samples.sm_active_fraction") > 0.3);
  CHECK(metrics.number("samples.tensor_active_fraction") <
        metrics.number("samples.sm_active_fraction"));
  CHECK_FALSE(good.unknown("samples.sm_active_fraction").empty());
}

TEST_CASE("facts: micro-batches are counted if they repeat in a step") {
  CHECK(known("two-sync-each").number("unit.micro_batches") == 4);
  CHECK(known("ddp").unknown("unit.micro_batches").find("micro-batches") != std::string::npos);
}

TEST_CASE("facts: a literal trace has the values that can be counted by hand") {
  const Known k(trace_from_text(
      R"(return { repeats = { times = 5, every = 1000 }, ranges = { { 0, 900, "step {n}" }, { 0, 50, "data loader" } },
    ops = { { 100, 110, copy = "h2d", bytes = 1000 }, { 110, 510, kernel = "a" }, { 510, 610, kernel = "b" }, { 600, 620, copy = "d2h", bytes = 4 } } })"));
  CHECK(k.number("steps.count") == 4);
  CHECK(k.number("steps.total_ns") == 4e6);
  CHECK(k.number("step.median_ns") == 1e6);
  CHECK(k.number("gpu.busy_fraction") == doctest::Approx(0.52));
  CHECK(k.number("gpu.longest_idle_ns") == 480'000);
  CHECK(k.number("kernels.per_step") == doctest::Approx(2));
  CHECK(k.number("kernels.mean_ns") == doctest::Approx(250'000));
  CHECK(k.number("copies.h2d_bytes_per_step") == doctest::Approx(1000));
  CHECK(k.number("copies.d2h_bytes_per_step") == doctest::Approx(4));
  CHECK(k.number("copies.h2d_bytes_per_s") == doctest::Approx(1e8));
  CHECK(k.number("loader.range_ns_per_step") == doctest::Approx(50'000).epsilon(0.3));
  CHECK(k.number("capture.unlaunched_fraction") == 0);
  CHECK(k.number("capture.problems") == 0);
  CHECK(support::contains(k.text("steps.source"), "step #"));
  CHECK(k.number("device.memory_bytes") == 141.0 * (1 << 30));
}

TEST_CASE("facts: peak memory is the largest sum allocated at one time") {
  const Known k(trace_from_text(
      R"(return { memory_use = { { 0, bytes = 1000 }, { 10, bytes = 500 }, { 20, bytes = -700 }, { 30, bytes = 600 } }, ops = { { 0, 40, kernel = "a" } } })"));
  CHECK(k.number("memory.peak_bytes") == 1500);
}

TEST_CASE("facts: an unknown value says why") {
  const Known k(trace_from_text(
      R"(return { ops = { { 0, 40, kernel = "a" } }, not_collected = { "copies", "gpu_faults", "samples" } })"));
  CHECK(support::contains(k.unknown("copies.h2d_bytes_per_step"), "not recorded"));
  CHECK(support::contains(k.unknown("um.gpu_faults_per_step"), "not recorded"));
  CHECK(support::contains(k.unknown("samples.sm_active_fraction"), "not recorded"));
  CHECK(support::contains(k.unknown("loader.range_ns_per_step"), "no range"));
  CHECK(shown(k.facts.value("copies.h2d_bytes_per_step"), Unit::bytes).starts_with("unknown ("));
  CHECK(k.unknown("gpu.busy_fraction").empty());
  CHECK(k.number("steps.found") == 0);

  const Known nothing(trace_from_text("return {}"));
  CHECK(support::contains(nothing.unknown("device.name"), "no GPU"));
  CHECK(support::contains(nothing.unknown("gpu.busy_fraction"), "no GPU"));
  CHECK(nothing.number("device.count") == 0);
}

TEST_CASE("facts: rates of an unlisted GPU, or of one without tensor cores, are unknown") {
  const Known old(trace_from_text(
      R"(return { device = { name = "Tesla P100-PCIE-16GB", compute = 6.0, sm_count = 56 }, ops = { { 0, 40, kernel = "a" } } })"));
  CHECK(old.number("device.tensor_cores") == 0);
  CHECK_FALSE(old.unknown("device.tf32_flops_per_s").empty());
  const Known strange(trace_from_text(
      R"(return { device = { name = "Some GPU", compute = 0, sm_count = 0, clock_mhz = 0 }, ops = { { 0, 40, kernel = "a" } } })"));
  CHECK_FALSE(strange.unknown("device.sm_count").empty());
  CHECK_FALSE(strange.unknown("device.clock_hz").empty());
  CHECK_FALSE(strange.unknown("device.fp32_flops_per_s").empty());
  CHECK_FALSE(strange.unknown("device.tensor_cores").empty());
}

TEST_CASE("facts: an unknown name is answered with a similar fact") {
  const Known k(trace_from_text("return {}"));
  try {
    k.facts.value("step.medain_ns");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(support::contains(e.what(), "step.medain_ns"));
    CHECK(support::contains(e.what(), "step.median_ns"));
  }
  CHECK_THROWS_AS(k.facts.value(""), Error);
}

TEST_CASE("facts: values are formatted for people") {
  CHECK(support::contains(shown(160.3e6, Unit::ns), "160.3 ms"));
  CHECK(support::contains(shown(0.71, Unit::fraction), "71"));
  CHECK(shown(std::string("text"), Unit::text) == "text");
  CHECK(shown(Unknown{"why"}, Unit::ns) == "unknown (why)");
}

TEST_CASE(
    "facts: a block that changes direction twice thrashes; one that moves in pieces does not") {
  const auto thrashed = [](const std::string& more) {
    return Known(trace_from_text(
                     "return { ops = { { 0, 900, kernel = 'k' }, { 10, 20, copy = 'um_h2d', bytes "
                     "= 4096, address = 65536, cause = 'fault' }, { 30, 40, copy = 'um_h2d', bytes "
                     "= 61440, address = 69632, cause = 'speculative' }, { 50, 60, copy = "
                     "'um_d2h', bytes = 65536, address = 65536, cause = 'fault' }" +
                     more + " } }"))
        .number("um.thrashed_fraction");
  };
  CHECK(thrashed("") == 0);
  CHECK(thrashed(
            ", { 70, 80, copy = 'um_h2d', bytes = 65536, address = 65536, cause = 'fault' }") == 1);
}
