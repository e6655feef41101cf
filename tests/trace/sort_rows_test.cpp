// Compares parallel sorting and joining with simple sequential versions, on random input with fixed
// seeds.
#include "trace/sort_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

using gh::Row;

namespace {

std::vector<Row> stably_sorted(const std::vector<int>& keys) {
  std::vector<Row> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Row a, Row b) { return keys[a] < keys[b]; });
  return order;
}

// Runs the work with several numbers of threads.
template <class Work>
void by_threads(Work work) {
  for (const unsigned threads : {1u, 3u, 8u}) {
    gh::use_threads(threads);
    work();
  }
  gh::use_threads(0);
}

}  // namespace

TEST_CASE("sort_rows: sorting is stable for any number of threads and any chunk size") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  std::vector<std::pair<std::string, std::vector<int>>> inputs{{"no rows", {}}, {"one row", {5}}};
  for (const std::size_t rows : {2u, 64u, 65u, 500u}) {
    std::vector<int> rising(rows), ties(rows), interleaved(rows), nested(rows), late(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      rising[i] = static_cast<int>(i / 2);
      ties[i] = below(4);
      interleaved[i] = static_cast<int>(i % (rows / 5 + 1));  // a few tables, each in order
      nested[i] = static_cast<int>(i / 3 * 3 + 2 - i % 3);    // rows after the ones they enclose
      late[i] = i + 1 == rows ? 0 : static_cast<int>(i);      // the last row belongs first
    }
    std::vector<int> falling(rising.rbegin(), rising.rend());
    for (auto& [name, keys] :
         std::vector<std::pair<std::string, std::vector<int>>>{{"rising", rising},
                                                               {"falling", falling},
                                                               {"ties", ties},
                                                               {"interleaved", interleaved},
                                                               {"nested", nested},
                                                               {"late", late}})
      inputs.emplace_back(name + ", " + std::to_string(rows) + " rows", keys);
  }
  by_threads([&] {
    for (const auto& [name, keys] : inputs)
      for (const std::size_t chunk : {1u, 2u, 7u, 64u, 1u << 16}) {
        CAPTURE(name);
        CAPTURE(chunk);
        const gh::RowOrder order = gh::sorted_rows(
            keys.size(), [&keys = keys](Row a, Row b) { return keys[a] < keys[b]; }, chunk);
        const std::vector<Row> expected = stably_sorted(keys);
        CHECK((order == nullptr) == std::is_sorted(keys.begin(), keys.end()));
        if (order) CHECK(std::vector<Row>(order.get(), order.get() + keys.size()) == expected);
      }
  });
}

TEST_CASE("sort_rows: columns of every width are sorted, and empty ones stay empty") {
  const std::size_t rows = 2 * gh::rows_a_chunk + 11;
  std::mt19937 random(8);
  std::vector<int> keys(rows);
  for (int& key : keys) key = static_cast<int>(random() % 1000);
  const std::vector<Row> expected = stably_sorted(keys);
  by_threads([&] {
    gh::Ops ops;
    for (std::size_t i = 0; i < rows; ++i) {
      ops.start.push_back(static_cast<std::int64_t>(i) << 32);
      ops.in_graph.push_back(static_cast<std::uint8_t>(keys[i]));
    }
    gh::sort_rows(ops, [&](Row a, Row b) { return keys[a] < keys[b]; });
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < rows; ++i)
      wrong += ops.start[i] != static_cast<std::int64_t>(expected[i]) << 32 ||
               ops.in_graph[i] != static_cast<std::uint8_t>(keys[expected[i]]);
    CHECK((wrong == 0 && ops.address.empty()));
  });
}

TEST_CASE(
    "sort_rows: operations find the first call with their process and correlation, dense or "
    "sparse") {
  for (const std::uint32_t apart :
       {1u, 5u, 40'000u}) {  // correlations: the process of one thread has them so far apart, that
                             // of the other has all of them
    CAPTURE(apart);
    by_threads([&] {
      gh::Trace t;
      t.devices.resize(1);
      t.processes = {{1, "a"}, {2, "b"}};
      t.threads = {{0, 1, ""}, {1, 2, ""}};
      t.streams = {{0, 0, 7}, {0, 1, 7}};
      std::mt19937 random(9);
      for (Row i = 0; i < 150'000; ++i) {
        const auto who = static_cast<std::uint16_t>(i % 2);
        const std::uint32_t apart_here = who == 0 ? apart : 1;
        const std::uint32_t correlation =
            i % 50 == 0
                ? 0
                : apart_here * (i % 7 == 0 ? i / 2 - std::min(i / 2, 3u)
                                           : i / 2);  // some have none, some that of another
        t.calls.start.push_back(10 * i);
        t.calls.end.push_back(10 * i + 5);
        t.calls.name.push_back(0);
        t.calls.thread.push_back(who);
        t.calls.correlation.push_back(correlation);
        gh::Ops& o = t.ops;
        o.start.push_back(10 * i + random() % 5000);
        o.end.push_back(o.start.back() + 3);
        o.bytes.push_back(0);
        o.stream.push_back(who);
        o.name.push_back(0);
        o.correlation.push_back(i % 11 == 0 ? apart_here * (i / 2) + 1
                                            : apart_here * (i / 2));  // some that nobody may have
        o.blocks.push_back(1);
        o.threads.push_back(1);
        o.kind.push_back(gh::OpKind::kernel);
        o.copy.push_back(gh::CopyKind::none);
        o.source.push_back(gh::MemoryKind::unknown);
        o.target.push_back(gh::MemoryKind::unknown);
        o.cause.push_back(gh::MigrationCause::none);
        o.in_graph.push_back(0);
      }
      t.seal();
      std::map<std::pair<std::uint16_t, std::uint32_t>, Row> first;
      for (Row row = 0; row < t.calls.size(); ++row)
        if (t.calls.correlation[row] != 0)
          first.try_emplace({t.threads[t.calls.thread[row]].process, t.calls.correlation[row]},
                            row);
      std::size_t wrong = 0, found = 0;
      for (Row op = 0; op < t.ops.size(); ++op) {
        const auto it = first.find({t.process_of(op), t.ops.correlation[op]});
        wrong += t.ops.call[op] != (it == first.end() ? gh::no_row : it->second);
        found += it != first.end();
      }
      CHECK(wrong == 0);
      CHECK(found > 100'000);
      CHECK(t.capture_end == *std::max_element(t.ops.end.begin(), t.ops.end.end()));
    });
  }
}
