// Measures the loops that everything else consists of (google-benchmark): sets of time, and rows of
// a table.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "base/spans.hpp"
#include "read/sqlite.hpp"
#include "read/table_pages.hpp"

namespace {

using namespace gh;

// Spans like those of kernels: a few microseconds, small gaps, every fourth adjacent to the
// previous one.
std::vector<Span> kernels(std::int64_t n) {
  std::vector<Span> spans;
  Ns at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Ns length = 2000 + i * 7919 % 9000;
    spans.push_back({at, at + length});
    at += i % 4 == 0 ? length / 2 : length + 700;
  }
  return spans;
}

void scan_united(benchmark::State& state) {
  const std::vector<Span> spans = kernels(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(united(spans));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void scan_intersection(benchmark::State& state) {
  const Spans a = united(kernels(state.range(0))), b = united(kernels(state.range(0) / 2));
  for (auto _ : state) benchmark::DoNotOptimize(intersection(a, b));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void scan_overlap(benchmark::State& state) {
  const Spans a = united(kernels(state.range(0))), b = united(kernels(state.range(0) / 2));
  for (auto _ : state) benchmark::DoNotOptimize(overlap(a, b));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

const std::filesystem::path report = std::filesystem::path(GH_FIXTURES) / "starved.sqlite";
constexpr const char* table = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::array columns{"start", "end", "globalTid", "correlationId", "nameId"};

void rows_by_statement(benchmark::State& state) {
  const Database db(report);
  std::int64_t rows = 0, sum = 0;
  for (auto _ : state) {
    Query query(
        db, "SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME");
    for (; query.step(); ++rows)
      for (int c = 0; c < static_cast<int>(columns.size()); ++c) sum += query.integer(c);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(rows);
}

void rows_by_page(benchmark::State& state) {
  const Database db(report);
  const PageFile file(report);
  const TableLayout layout = *layout_of(db, table);
  const std::vector<std::uint32_t> leaves = file.leaves(layout.root);
  std::vector<int> wanted;
  for (const char* name : columns)
    for (std::size_t i = 0; i < layout.columns.size(); ++i)
      if (layout.columns[i].name == name) wanted.push_back(static_cast<int>(i));
  std::int64_t rows = 0, sum = 0;
  for (auto _ : state) {
    PageRows reader(file, layout, leaves, wanted);
    for (; reader.step(); ++rows)
      for (int c = 0; c < static_cast<int>(columns.size()); ++c) sum += reader.integer(c);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(rows);
}

BENCHMARK(scan_united)->Arg(1'000'000);
BENCHMARK(scan_intersection)->Arg(1'000'000);
BENCHMARK(scan_overlap)->Arg(1'000'000);
BENCHMARK(rows_by_statement);
BENCHMARK(rows_by_page);

}  // namespace

BENCHMARK_MAIN();
