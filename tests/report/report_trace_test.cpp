// A report as a trace, to be looked at beside the recording.
#include <algorithm>
#include <map>

#include "support/program.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

TEST_CASE("trace: evidence, steps and account stand on the time axis of the report") {
  for (const char* name : {"starved.sqlite", "eager.pt.trace.json", "ddp.sqlite"}) {
    CAPTURE(name);
    const TempDir dir;
    const Json report = report_of(
        advise(std::string(name) + " --format json --output trace=" + quoted(dir / "t.json")));
    const Json trace = Json::parse(read_file(dir / "t.json"));
    // Times as text: in a double nanoseconds since 1970 would be lost.
    const std::string text = read_file(dir / "t.json");
    std::vector<std::string> original;
    if (std::string(name).ends_with(".json")) {
      const Json all = Json::parse(read_file(std::string(GH_FIXTURES "/") + name));
      for (const Json& e : all["traceEvents"])
        if (e.value("cat", "") == "kernel") original.push_back(e["ts"].dump());
    }
    std::size_t evidence = 0, steps = 0, on_kernels = 0, spans = 0;
    std::map<std::string, double> account_ms;
    for (const Json& e : trace["traceEvents"]) {
      if (e["ph"] == "C")
        for (const auto& [cause, ms] : e["args"].items()) account_ms[cause] += ms.get<double>();
      if (e["ph"] != "X") continue;
      if (e["pid"] == 4'000'000'000) {
        ++spans;
        on_kernels += std::any_of(original.begin(), original.end(), [&](const std::string& ts) {
          return std::abs(std::stod(ts) - e["ts"].get<double>()) < 0.001;
        });
      }
      steps += e["name"].get<std::string>().starts_with("step ");
    }
    for (const Json& f : report["findings"]) evidence += f["evidence"].size();
    CHECK(spans == evidence);
    CHECK(spans > 0);
    CHECK(steps == report["steps"]["count"]);
    for (const Json& line : report["account"])
      CHECK(account_ms[line["cause"]] == doctest::Approx(line["ns"].get<double>() / 1e6));
    if (!original.empty())
      CHECK(on_kernels > 0);
    else
      CHECK(contains(
          text,
          "\"ts\":" +
              std::to_string(report["findings"][0]["evidence"][0]["start_ns"].get<std::int64_t>() /
                             1000) +
              "."));
  }
  CHECK(contains(advise("good.sqlite starved.sqlite --output trace=x").err, "takes one report"));
}
