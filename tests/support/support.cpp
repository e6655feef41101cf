#include "support/support.hpp"

#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace support {

namespace {

std::vector<fs::path> fixtures_that_end_with(std::string_view end) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(GH_FIXTURES))
    if (entry.path().string().ends_with(end)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "gh-advise-test-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

fs::path run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* db = nullptr;
  char* message = nullptr;
  sqlite3_open(path.c_str(), &db);
  const int rc = sqlite3_exec(db, ("BEGIN;" + sql + ";COMMIT").c_str(), nullptr, nullptr, &message);
  const std::string why = message ? message : "";
  sqlite3_free(message);
  sqlite3_close(db);
  if (rc != SQLITE_OK) throw std::runtime_error("SQL of the test: " + why);
  return path;
}

std::vector<std::string> tables_of(const fs::path& database) {
  sqlite3* db = nullptr;
  sqlite3_stmt* query = nullptr;
  sqlite3_open(database.c_str(), &db);
  sqlite3_prepare_v2(
      db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", -1,
      &query, nullptr);
  std::vector<std::string> names;
  while (sqlite3_step(query) == SQLITE_ROW)
    names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(query, 0)));
  sqlite3_finalize(query);
  sqlite3_close(db);
  return names;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path fixture(const std::string& name) {
  return fs::path(GH_FIXTURES) / (contains(name, ".") ? name : name + ".sqlite");
}

namespace {

bool is_marked(const fs::path& path) {
  static const std::set<std::string> without{"attention-efficient",
                                             "attention-math",
                                             "beat",
                                             "cpu-optimizer",
                                             "cpuadam",
                                             "cu-alloc-async-trim",
                                             "cu-condition-variable",
                                             "cu-data-dependent-sync",
                                             "cu-dependency-stall",
                                             "cu-dependency-stall-legacy",
                                             "cu-dependency-stall-lookalike",
                                             "cu-frames-allocated",
                                             "cu-frames-pooled",
                                             "cu-hot-kernel",
                                             "cu-low-sm-fill",
                                             "cu-low-sm-fill-lookalike",
                                             "cu-own-product",
                                             "cu-own-product-lookalike",
                                             "cu-resident-data",
                                             "cu-resident-data-lookalike",
                                             "data-dependent-sync",
                                             "data-dependent-sync-lookalike",
                                             "decode-bandwidth",
                                             "decode-launch",
                                             "device-copies",
                                             "devicemap",
                                             "expert-gather",
                                             "expert-gather-lookalike",
                                             "fp8-cast-overhead",
                                             "gather-scatter",
                                             "gil-contention",
                                             "gil-contention-lookalike",
                                             "graph-breaks",
                                             "hftrainer",
                                             "kv-concat",
                                             "launch-blocking",
                                             "layout-conversion",
                                             "layout-conversion-lookalike",
                                             "loss-head",
                                             "low-sm-fill",
                                             "moe",
                                             "no-caching",
                                             "nvtx-encoder-forward",
                                             "nvtx-lm-forward",
                                             "padding-lookalike",
                                             "padding-waste",
                                             "products",
                                             "recompile",
                                             "recompute",
                                             "recompute-lookalike",
                                             "recompute-with-headroom",
                                             "repeated-casts",
                                             "resident-data",
                                             "resident-data-lookalike",
                                             "rl",
                                             "rlenv",
                                             "tiles",
                                             "um-stencil",
                                             "um-stencil-device",
                                             "unfused-mlp",
                                             "unit-accumulation",
                                             "unit-augmented-beside",
                                             "unit-collected",
                                             "unit-continuous-batching",
                                             "unit-fsdp-layers",
                                             "unit-fsdp-layers-marked",
                                             "unit-idle-tail",
                                             "unit-now-and-then",
                                             "unit-pauses-at-random",
                                             "unit-queue-runs-dry",
                                             "unit-size-sweep",
                                             "unit-train-then-generate",
                                             "unit-trained-beside-a-process",
                                             "unit-trained-beside-tokens",
                                             "unit-validated-epochs",
                                             "wait-asyncio",
                                             "wait-data-parallel",
                                             "wait-event-query-spin",
                                             "wait-gil-fight",
                                             "wait-numpy-beside-lookalike",
                                             "wait-own-thread-lookalike",
                                             "wait-prefetcher-thread",
                                             "wait-queue-between-threads",
                                             "wait-shared-memory-barrier",
                                             "wait-steady-work-lookalike",
                                             "wait-varied-work-lookalike"};
  return !without.contains(path.stem().string());
}

}  // namespace

std::vector<fs::path> recordings() {
  std::vector<fs::path> paths = fixtures_that_end_with(".sqlite");
  std::erase_if(paths, [](const fs::path& p) { return !is_marked(p); });
  return paths;
}

std::vector<fs::path> unmarked_recordings() {
  std::vector<fs::path> paths = fixtures_that_end_with(".sqlite");
  std::erase_if(paths, is_marked);
  return paths;
}

std::vector<std::string> recording_names() {
  std::vector<std::string> names;
  for (const fs::path& path : recordings()) names.push_back(path.stem().string());
  return names;
}

std::vector<fs::path> torch_traces() { return fixtures_that_end_with(".pt.trace.json"); }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool any_contains(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return contains(text, part); });
}

std::string on_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || (!out.empty() && out.back() != ' ')) out += space ? ' ' : c;
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

}  // namespace support
