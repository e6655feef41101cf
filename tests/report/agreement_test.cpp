// What several documents show of a report is the same in all of them, to the digit: `layers`,
// `top`, the page, the path, JSON, and what a gate and a job's digest keep. A share is looked up in
// each by what it is of; so a new document joins by a list of what it shows. That Python shows what
// the JSON says is checked in tests/package/python_test.py.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>

#include "advise.hpp"
#include "analysis/tables/labels.hpp"
#include "gate/capture.hpp"
#include "job/digest.hpp"
#include "read/read.hpp"
#include "report/report.hpp"
#include "report/tables.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace support;
using nlohmann::json;

namespace {

std::vector<std::filesystem::path> shipped_reports() {
  std::vector<std::filesystem::path> all = recordings();
  for (const auto& more : {unmarked_recordings(), torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  return few_with_sanitizers(all);
}

// By what it is of: its share as it is shown.
using Shares = std::map<std::string, std::string>;

std::string shown(double part, double whole) { return whole > 0 ? gh::percent(part / whole) : ""; }

// Every share that both show is the same in both. Returns how many those are.
std::size_t check_agree(const std::string& what, const Shares& one, const Shares& other) {
  std::size_t both = 0;
  for (const auto& [of, share] : one)
    if (const auto it = other.find(of); it != other.end()) {
      ++both;
      CHECK_MESSAGE(it->second == share, what, ", ", of);
    }
  return both;
}

std::string text_of(const json& value) { return value.is_null() ? "" : value.get<std::string>(); }

json top_json(const gh::Analysis& a, const gh::Replay* replay, gh::By by) {
  gh::TableOptions options;
  options.by = by;
  return json::parse(gh::render_top_json({gh::tables_of(a, replay, options)}, {}))["reports"][0];
}
json layers_json(const gh::Analysis& a, const gh::Replay* replay, gh::By by) {
  gh::TableOptions options = gh::layers_options();
  options.by = by;
  return json::parse(gh::render_layers_json({gh::tables_of(a, replay, options)}, {}))["reports"][0];
}

// A share of all rows of a table of `top`; of kernels of one label together, as `layers` has them.
Shares of_top(const json& top, const std::string& name, const char* share, bool labelled = false) {
  std::map<std::string, double> sums;
  for (const json& table : top["tables"])
    if (table["table"] == name)
      for (const json& row : table["rows"])
        if (!row[share].is_null()) {
          const std::string of = text_of(row["name"]);
          sums[labelled ? gh::kernel_label(of) : of] += row[share].get<double>();
        }
  Shares shares;
  for (const auto& [of, sum] : sums) shares[of] = gh::percent(sum);
  return shares;
}

// The same of `layers`, by path.
Shares of_layers(const json& layers, const char* part, const char* whole) {
  Shares shares;
  for (const json& row : layers["rows"])
    if (!row[part].is_null() && row["launches"] > 0)
      shares[text_of(row["path"])] = shown(row[part], layers[whole]);
  return shares;
}

// Ranges that are named by the path of the layer that they are: "blocks.#.attn".
Shares counted(const Shares& layers) {
  Shares shares;
  std::set<std::string> twice;
  for (const auto& [path, share] : layers) {
    std::string name = path;
    std::replace(name.begin(), name.end(), '*', '#');
    name = gh::without_numbers(name);
    if (!shares.emplace(name, share).second) twice.insert(name);
  }
  for (const std::string& name : twice) shares.erase(name);
  return shares;
}

// Of a rank's digest: the time of the analyzed steps by cause, and the step.
Shares of_digest(const gh::RankDigest& rank) {
  Shares shares{{"step", fmt::format("{:.0f}", rank.mean_step_ns)}};
  for (const auto& [cause, share] : rank.account)
    shares[cause] = shown(share.ns_per_step, rank.mean_step_ns);
  return shares;
}

// The data of the page's tree: name of the block in which a block lies, time, GPU work.
json tree_of(const std::string& page) {
  const std::string open = "id=layers-icicle data-tree=\"";
  const std::size_t from = page.find(open);
  if (from == page.npos) return nullptr;
  std::string text =
      page.substr(from + open.size(), page.find('"', from + open.size()) - from - open.size());
  for (const auto& [entity, character] :
       {std::pair("&quot;", "\""), {"&#39;", "'"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
    for (std::size_t at = 0; (at = text.find(entity, at)) != text.npos; ++at)
      text.replace(at, std::string_view(entity).size(), character);
  return json::parse(text);
}

// By path: the times of a mean step that the page's tree draws.
std::map<std::string, std::pair<gh::Ns, gh::Ns>> drawn(const json& tree) {
  std::map<std::string, std::pair<gh::Ns, gh::Ns>> times;
  std::vector<std::string> paths;
  for (const json& node : tree["nodes"]) {
    const std::size_t parent =
        node[0].get<std::int64_t>() < 0 ? paths.size() : node[0].get<std::size_t>();
    std::string name = text_of(node[1]);
    if (const std::size_t at = name.rfind(" ("); at != name.npos && name.ends_with(')'))
      name = name.substr(0, at);  // how many layers are one block
    paths.push_back(parent < paths.size() && !paths[parent].empty() ? paths[parent] + "." + name
                                                                    : name);
    if (node[11] == 0) times[paths.back()] = {node[2].get<gh::Ns>(), node[10].get<gh::Ns>()};
  }
  return times;
}

}  // namespace

TEST_CASE("every report: layers, top, page, path, JSON and gate show the same shares") {
  std::size_t modules = 0, ranges = 0, classes = 0, causes = 0, kernels = 0, blocks = 0,
              digests = 0;
  for (const std::filesystem::path& path : shipped_reports()) {
    const std::string name = path.filename().string();
    INFO(name);
    gh::Request request;
    request.files = {path.string()};
    request.rules = gh::own_rules();
    const gh::Advice advice = gh::advise(request);
    const gh::Analysis& a = *advice.analysis;
    const gh::Report& r = advice.report;
    if (a.total_ns() == 0) continue;
    const gh::Replay* replay = r.replay.get();
    const json by_name = top_json(a, replay, gh::By::name),
               by_module = layers_json(a, replay, gh::By::module),
               report = json::parse(gh::render_json(a, r));

    // The step.
    CHECK(by_name["window_ns"] == by_module["total_ns"]);
    CHECK(by_name["path_ns"] == by_module["path_ns"]);
    CHECK(by_name["steps"] == by_module["steps"]);
    CHECK(by_module["total_ns"].get<gh::Ns>() / std::max<gh::Ns>(a.step_count(), 1) ==
          a.recorded_step_ns());

    // Modules and ranges.
    const json top_modules = top_json(a, replay, gh::By::module);
    const Shares work = of_layers(by_module, "device_ns", "total_ns"),
                 on_path = of_layers(by_module, "path_ns", "path_ns");
    // Rows of one name side by side, such as two classes, have one path only by chance.
    Shares of_modules, path_of_modules;
    std::set<std::string> twice;
    for (const json& table : top_modules["tables"])
      for (const json& row : table["rows"]) {
        const std::string of = text_of(row["name"]);
        if (of_modules.contains(of)) twice.insert(of);
        of_modules[of] = gh::percent(row["device_fraction"].get<double>());
      }
    modules += check_agree("modules, work", of_modules, work);
    ranges +=
        check_agree("ranges, work", of_top(by_name, "ranges", "device_fraction"), counted(work));
    check_agree("ranges, path", of_top(by_name, "ranges", "path_fraction"), counted(on_path));

    // However work is told apart, it is the same work.
    const auto sum_of = [](const json& top) {
      double sum = 0;
      for (const json& table : top["tables"])
        if (table["table"] == "work" || table["table"] == "kernels" || table["table"] == "copies")
          for (const json& row : table["rows"]) sum += row["device_fraction"].get<double>();
      return sum;
    };
    const double all = sum_of(by_name);
    for (const gh::By by : {gh::By::kind, gh::By::range, gh::By::op, gh::By::line, gh::By::kernel,
                            gh::By::stream, gh::By::rank})
      CHECK_MESSAGE(sum_of(top_json(a, replay, by)) == doctest::Approx(all), gh::name_of(by));
    const auto same_groups = [&](gh::By by) {
      const json top = top_json(a, replay, by), layers = layers_json(a, replay, by);
      const std::size_t both =
          check_agree(gh::name_of(by) + ", work", of_top(top, "work", "device_fraction"),
                      of_layers(layers, "device_ns", "total_ns"));
      check_agree(gh::name_of(by) + ", path", of_top(top, "work", "path_fraction"),
                  of_layers(layers, "path_ns", "path_ns"));
      return both;
    };
    for (const gh::By by : {gh::By::range, gh::By::op, gh::By::line, gh::By::stream})
      CHECK_MESSAGE(same_groups(by) > 0, gh::name_of(by));

    // Kernels, also those that a gate keeps.
    const json by_kernel = layers_json(a, replay, gh::By::kernel);
    for (const auto& [share, part, whole] : {std::tuple("device_fraction", "device_ns", "total_ns"),
                                             std::tuple("path_fraction", "path_ns", "path_ns")})
      kernels +=
          check_agree(fmt::format("kernels, {}", share), of_top(by_name, "kernels", share, true),
                      of_layers(by_kernel, part, whole));
    const auto steps = static_cast<double>(std::max<std::int64_t>(a.step_count(), 1));
    Shares kept;
    for (const gh::KernelUse& use : gh::capture_of(a, *advice.facts, r, {}, {}).kernels)
      kept[use.name] = shown(use.ns_per_step * steps, static_cast<double>(a.total_ns()));
    check_agree("kernels, gate", of_top(by_name, "kernels", "device_fraction"), kept);

    // Classes: of the path and of the work. The report's step is one without the profiler, of which
    // the GPU's recorded work is another share: Path and StepTime say which.
    same_groups(gh::By::kind);
    // The path of two runs is told by cause alone: each of them has parts of its own.
    const bool has_parts = !by_name["path_ns"].is_null();
    if (replay) CHECK(has_parts == (replay->reason().empty() && replay->runs().size() == 1));
    if (replay && has_parts && !report["path"].is_null()) {
      const gh::Path& waited = replay->path();
      const double of_step =
          waited.gpu_of_step * static_cast<double>(waited.total_ns) / waited.step_ns();
      Shares of_path, of_work;
      for (const json& item : report["path"]["items"])
        if (item["kind"] == "compute" && item["name"] != "device_copy")
          of_path[text_of(item["name"])] = gh::percent(item["fraction"].get<double>());
      const json by_class = top_json(a, replay, gh::By::kind);
      for (const json& table : by_class["tables"])
        if (table["table"] == "work")
          for (const json& row : table["rows"])
            of_work[text_of(row["name"])] =
                gh::percent(of_step * row["path_fraction"].get<double>());
      classes += check_agree("classes, path", of_work, of_path);
    }

    // Causes: rows without a parent add up to the account.
    std::map<std::string, gh::Ns> sums;
    for (const json& row : by_module["rows"])
      if (row["parent"].is_null())
        for (const auto& [cause, ns] : row["causes_ns"].items()) sums[cause] += ns.get<gh::Ns>();
    Shares in_layers, in_account;
    for (const auto& [cause, ns] : sums)
      if (!cause.starts_with("idle."))
        in_layers[cause] = gh::percent(r.step.of(a, gh::Cause(cause)) * static_cast<double>(ns) /
                                       r.step.total_ns(a));
    for (const json& line : report["account"])
      in_account[text_of(line["cause"])] = gh::percent(line["fraction"].get<double>());
    causes += check_agree("causes", in_layers, in_account);

    // A digest keeps the account as it was recorded, of each rank.
    const gh::Digest digest = gh::make_digest(
        [&](std::optional<int> rank) {
          gh::Selection selection;
          selection.rank = rank;
          return gh::Analysis(gh::read_report(path), gh::Classes(), selection);
        },
        path.string(), {}, {}, {});
    if (digest.ranks.size() == 1) {
      Shares recorded{{"step", fmt::format("{:.0f}", static_cast<double>(a.total_ns()) / steps)}};
      for (const json& line : report["account"])
        recorded[text_of(line["cause"])] =
            shown(line["ns"].get<double>(), static_cast<double>(a.total_ns()));
      digests += check_agree("causes, digest", of_digest(digest.ranks.front()), recorded);
    }

    // The page draws the layers, and lists kernels and ranges as `top` does.
    const std::string page = gh::render_html(a, r, {});
    if (const json tree = tree_of(page); !tree.is_null()) {
      CHECK(tree["total"] == std::llround(by_module["total_ns"].get<double>() / steps));
      const auto times = drawn(tree);
      for (const json& row : by_module["rows"])
        if (const auto it = times.find(text_of(row["path"]));
            it != times.end() && row["launches"] > 0) {
          ++blocks;
          CHECK(it->second.first == std::llround(row["total_ns"].get<double>() / steps));
          CHECK(it->second.second == std::llround(row["device_ns"].get<double>() / steps));
        }
    }
  }
  if (sanitized) return;  // they take a few recordings, which may show little
  CHECK(modules > 300);
  CHECK(ranges > 100);
  CHECK(classes > 100);
  CHECK(causes > 100);
  CHECK(kernels > 500);
  CHECK(blocks > 200);
  CHECK(digests > 300);
}

TEST_CASE("top leads backward to the blocks that it is of, as layers does") {
  const gh::Analysis a = analysed(recorded("layers-blocks-seq"));
  const gh::Replay replay(a);
  const json work = top_json(a, &replay, gh::By::range)["tables"][0]["rows"];
  double in_no_range = 0, in_blocks = 0;
  for (const json& row : work) {
    if (row["name"].is_null()) in_no_range += row["device_fraction"].get<double>();
    if (text_of(row["name"]).starts_with("blocks.*"))
      in_blocks += row["device_fraction"].get<double>();
  }
  CHECK(in_no_range < 0.1);
  CHECK(in_blocks > 0.75);
}
