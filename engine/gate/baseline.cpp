#include "gate/baseline.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "gate/capture_json.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

constexpr const char* kind = "gh-advise baseline";
constexpr int schema_version = 2;

// A baseline may come from anybody. One of two hundred captures has some four million values, at
// most seven levels deep.
constexpr JsonLimits limits{.levels = 16, .values = 4'000'000};

// ---- each part of a capture; a new field goes into the schema as well

constexpr std::array collected_names{"recorded", "nothing_happened", "not_recorded", "unknown"};

using SourceNames = std::map<std::string, std::string>;

SourceNames source_names(const std::map<std::string, Collected>& sources) {
  SourceNames names;
  for (const auto& [source, state] : sources)
    names[source] = collected_names[static_cast<std::size_t>(state)];
  return names;
}

std::map<std::string, Collected> sources_named(const SourceNames& names) {
  std::map<std::string, Collected> sources;
  for (const auto& [source, name] : names) {
    const auto it = std::find(collected_names.begin(), collected_names.end(), name);
    if (it == collected_names.end()) throw Error(fmt::format("'{}' is unknown", name));
    sources[source] = static_cast<Collected>(it - collected_names.begin());
  }
  return sources;
}

constexpr auto grid_fields = [](auto& json, auto& grid) {
  json("kernel", grid.kernel);
  json("class", grid.kernel_class);
  json("blocks", grid.blocks, counts);
  json("count_per_step", grid.count_per_step, counts);
};

constexpr auto program_fields = [](auto& json, auto& program) {
  json("shown", program.shown);
  json("graphs", program.graphs, counts);
  json("kernels", program.kernels, counts);
  json("attention_blocks", program.attention_blocks, counts);
  json("written_out_blocks", program.written_out_blocks, counts);
  json("gemms", program.gemms, counts);
  json("flops", program.flops, Limits{.most = 1e30});
  json("grids", program.grids, grid_fields);
};

constexpr auto kernel_fields = [](auto& json, auto& kernel) {
  json("name", kernel.name);
  json("class", kernel.kernel_class);
  json("count_per_step", kernel.count_per_step, counts);
  json("ns_per_step", kernel.ns_per_step);
};

constexpr auto path_use_fields = [](auto& json, auto& use) {
  json("kind", use.kind, PathItem::Kind::rest);
  json("name", use.name);
  json("step_ns", use.step_ns);
};

constexpr auto kept_finding_fields = [](auto& json, auto& finding) {
  json.name("rule", finding.rule);
  json.name("category", finding.category);
  json("title", finding.title);
  json("severity", finding.severity, Severity::error);
  json("message", finding.message);
  json("subject", finding.subject);
  json("recoverable_ns", finding.recoverable_ns);
  json("recoverable_fraction", finding.recoverable_fraction, shares);
  // What it saves alone is not kept.
  if constexpr (reads<decltype(json)>) {
    finding.alone_ns = finding.recoverable_ns;
    finding.alone_fraction = finding.recoverable_fraction;
  }
  saving_field(json, "recoverable_range_ns", finding, finding.recoverable_ns);
  json.either("recoverable_is", finding.about, "about", "at_most");
  json("advice", finding.advice);
  json("voids", finding.voids);
  json("fingerprint", finding.fingerprint);
};

constexpr auto outcome_fields = [](auto& json, auto& outcome) {
  json("state", outcome.state, RuleOutcome::State::failed);
  json("version", outcome.version);
  json("warns_from", outcome.warns_from, Limits{.most = 1e30, .real = true});
  if (json.has("reason", !outcome.reason.empty())) json("reason", outcome.reason);
};

constexpr auto capture_fields = [](auto& json, auto& capture) {
  json("path", capture.path);
  json("format", capture.format);
  json("producer", capture.producer);
  json("devices", capture.devices);
  json("selection", capture.selection);
  json("unit", capture.unit);
  json.through("sources", capture.sources, source_names, sources_named);
  json("problems", capture.problems);
  if (json.has("doubts", !capture.doubts.empty())) json("doubts", capture.doubts);
  json("program", capture.program, program_fields);
  json("step_ns", capture.step_ns);
  json("cause_ns", capture.cause_ns);
  json("facts", capture.facts, fact_fields);
  // Older baselines have none.
  if (json.has("waits")) json("waits", capture.waits, path_use_fields);
  if (json.has("slowest_gpu_ns", !capture.slowest_gpu_ns.empty()))
    json("slowest_gpu_ns", capture.slowest_gpu_ns);
  json("kernels", capture.kernels, kernel_fields);
  json("findings", capture.findings, kept_finding_fields);
  json("rules", capture.rules, outcome_fields);
  json("settings", capture.settings);
};

// Comparisons rely on this.
void check(const Capture& capture) {
  for (const std::vector<Ns>& steps : {capture.step_ns, capture.slowest_gpu_ns}) {
    if (steps.size() > most_steps) throw Error("it has too many steps");
    if (std::any_of(steps.begin(), steps.end(), [](Ns ns) { return ns < 1; }))
      throw Error("a step takes no time");
  }
  for (const auto& [cause, ns] : capture.cause_ns)
    if (ns.size() != capture.step_ns.size())
      throw Error(fmt::format("'{}' of the account is not as long as the steps", cause));
  if (capture.settings.empty()) throw Error("it does not say which settings it was made with");
}

// ---- the file

// A message of the JSON library without the number in front.
std::string_view without_number(std::string_view what) {
  const std::size_t end = what.find("] ");
  return end == what.npos ? what : what.substr(end + 2);
}

Error damaged(const std::string& shown_path, std::string_view why) {
  return Error(
      fmt::format("{}: is not an intact baseline: {}; make it again with `gh-advise baseline`",
                  shown_path, printable(why)));
}

struct OfAnotherVersion : Error {
  using Error::Error;
};

// What to type to make it again, from the reports that it was made of.
std::string remake_command(const Json& json, const std::string& path) {
  constexpr std::size_t most_named = 4;
  std::string reports;
  const Json captures = json.value("captures", Json::array());
  for (std::size_t i = 0; i < std::min(captures.size(), most_named); ++i)
    if (captures[i].is_object() && captures[i].contains("path") && captures[i]["path"].is_string())
      reports += shell_word(printable(captures[i]["path"].get<std::string>())) + ' ';
  if (captures.size() > most_named) reports += "... ";
  return fmt::format("`gh-advise baseline {}-o {}`", reports, shell_word(printable(path)));
}

// Why it cannot be read by this version, or "".
std::string other_version(const Json& json, const std::string& path) {
  const Json &schema = json.at("schema_version"), &analysis = json.at("analysis_version");
  if (schema == schema_version && analysis == analysis_version) return "";
  const bool older = schema < schema_version || analysis < analysis_version,
             named = json.contains("generator") && json["generator"].is_string();
  return fmt::format(
      "was made by {} gh-advise ({}), which stored other data than gh-advise {}, or found other "
      "units; record the base branch and make it again with {}",
      older ? "an older" : "another",
      named ? printable(json["generator"].get<std::string>()) : "unknown", GH_ADVISE_VERSION,
      remake_command(json, path));
}

// With sorted keys and without the digest, which is made of this.
std::string content_of(const Json& baseline) {
  nlohmann::json in_order = baseline;
  in_order.erase("digest");
  return in_order.dump();
}

constexpr auto baseline_fields = [](auto& json, auto& captures) {
  json("captures", captures, capture_fields);
};

}  // namespace

std::string baseline_digest(const Json& baseline) { return digest(content_of(baseline)); }

std::string render_baseline(const std::vector<Capture>& captures) {
  FieldWriter writer;
  writer.json = {{"kind", kind},
                 {"schema_version", schema_version},
                 {"analysis_version", analysis_version},
                 {"generator", generator()}};
  baseline_fields(writer, captures);
  writer.json["digest"] = baseline_digest(writer.json);
  return writer.json.dump(1) + '\n';
}

bool is_baseline(const std::filesystem::path& path) {
  // A trace is JSON as well, of any size.
  if (std::error_code ec; !std::filesystem::is_regular_file(path, ec) ||
                          std::filesystem::file_size(path, ec) > most_file_bytes) {
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  if (!(file >> first) || first != '{') return false;
  return read_text(path).find(fmt::format("\"{}\"", kind)) != std::string::npos;
}

std::vector<Capture> read_baseline(const std::filesystem::path& path) {
  const std::string shown_path = printable(path.string());
  try {
    const Json json = parsed_json(read_text(path), limits);
    if (!json.is_object() || json.value("kind", "") != kind) {
      throw Error("it does not have the kind of one");
    }
    if (const std::string other = other_version(json, path.string()); !other.empty()) {
      throw OfAnotherVersion(fmt::format("{}: {}", shown_path, other));
    }
    const std::string content = content_of(json);
    if (json.at("digest") != digest(content)) {
      throw Error("it was edited or merged since it was written: its digest does not match");
    }
    std::vector<Capture> captures;
    read_json(content, [&](const FieldReader& reader) { baseline_fields(reader, captures); });
    if (captures.empty()) throw Error("it holds no capture");
    std::for_each(captures.begin(), captures.end(), check);
    return captures;
  } catch (const OfAnotherVersion&) {
    throw;
  } catch (const Json::exception& e) {
    throw damaged(shown_path, without_number(e.what()));
  } catch (const Error& e) {
    throw damaged(shown_path, e.what());
  }
}

}  // namespace gh
