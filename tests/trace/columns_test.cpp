// Columns: declared completely, and carried along by everything that moves rows. The values of a
// row differ from those of any other in every column, so that a column that stays behind, or comes
// along with the wrong numbers, is seen.
#include "trace/columns.hpp"

#include <doctest/doctest.h>

#include <set>

#include "analysis/analysis.hpp"
#include "analysis/ranks.hpp"
#include "read/nsys/merge.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

constexpr std::size_t rows = 4;
const std::string text_of_row = "ABCD";

// What a column holds in a row of a trace that has a thing of every kind for each row.
template <class Column, class Value>
Value value_of(Column column, std::size_t row, Value) {
  // Later rows come first, so that sealing has to move all of them.
  if (column.contents == Contents::time) return static_cast<Value>(100 * (rows - row));
  if (column.contents == Contents::name) return static_cast<Value>(row + 1);
  return static_cast<Value>(row);
}

template <class Events>
void fill(Events& events) {
  each_column(
      [](auto column, auto& values) {
        if constexpr (is_recorded(column.contents))
          for (std::size_t row = 0; row < rows; ++row)
            values.push_back(value_of(column, row, column.none));
      },
      events);
}

// Every kind of event has `rows` rows; optional columns are in use.
Trace full_trace(const std::string& prefix) {
  Trace t;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto n = static_cast<std::uint16_t>(row);
    const std::string text = prefix + text_of_row[row];
    t.names.intern(text);
    t.devices.push_back({n, text});
    t.processes.push_back({n, text});
    t.threads.push_back({n, n, text});
    t.streams.push_back({n, n, n});
    t.groups.push_back({static_cast<NameId>(row + 1), 2});
  }
  each_table([](auto& events) { fill(events); }, t);
  return t;
}

// Calls `check(events, columns)` for rows `first` on, which hold those of a full trace in reverse.
template <class Check>
void each_value(Trace& t, std::size_t first, Check check) {
  each_table(
      [&](auto& events) {
        std::size_t number = 0;  // of the column, for messages
        each_column(
            [&](auto column, auto& values) {
              CAPTURE(++number);
              if constexpr (is_recorded(column.contents)) {
                REQUIRE(values.size() == events.size());
                for (std::size_t i = 0; i < rows; ++i)
                  check(column, values[first + i], rows - 1 - i);
              }
            },
            events);
      },
      t);
}

}  // namespace

TEST_CASE("columns: every one is declared once") {
  Trace t;
  each_table(
      [](auto& events) {
        std::set<const void*> columns;
        std::size_t declared = 0;
        each_column(
            [&](auto, auto& values) {
              columns.insert(&values);
              ++declared;
            },
            events);
        CHECK(columns.size() == declared);
      },
      t);
}

TEST_CASE("columns: sealing moves every column of every kind of event") {
  Trace t = full_trace("");
  t.seal();
  each_value(t, 0, [](auto column, auto value, std::size_t row) {
    CHECK(value == value_of(column, row, value));
  });
  // Found by the correlation and the stream's process, both the row's number; 0 is none.
  for (Row i = 0; i < rows; ++i) {
    CHECK(t.ops.call[i] == (i + 1 == rows ? no_row : i));
    CHECK(t.syncs.call[i] == (i + 1 == rows ? no_row : i));
  }
}

TEST_CASE("columns: joining ranks renumbers what refers to one, and keeps the rest") {
  std::vector<Trace> ranks;
  ranks.push_back(full_trace("first "));
  ranks.push_back(full_trace("second "));
  constexpr Ns apart = 10'000;
  for (Trace& rank : ranks) rank.seal();
  ranks[0].epoch_ns = 1;
  ranks[1].epoch_ns = 1 + apart;
  Trace all = join_ranks(std::move(ranks), Classes());
  const auto moved = [&](auto column, auto value, std::size_t row) {
    const auto of_rank = value_of(column, row, value);
    if constexpr (column.contents == Contents::value)
      return value == of_rank;
    else if constexpr (column.contents == Contents::time)
      return value == of_rank + apart;
    else if constexpr (column.contents == Contents::name)
      return all.names[value] == "second " + text_of_row.substr(row, 1);
    else
      return value == of_rank + rows;
  };
  each_value(all, 0, [](auto column, auto value, std::size_t row) {
    CHECK(value == value_of(column, row, value));
  });
  each_value(all, rows,
             [&](auto column, auto value, std::size_t row) { CHECK(moved(column, value, row)); });
  for (std::size_t g = 0; g < rows; ++g)
    CHECK(all.names[all.groups[rows + g].name] == "second " + text_of_row.substr(g, 1));
}

TEST_CASE("columns: a rank without an optional column has its neutral value") {
  for (const std::size_t without : {0u, 1u}) {
    std::vector<Trace> ranks;
    ranks.push_back(full_trace("first "));
    ranks.push_back(full_trace("second "));
    each_table(
        [](auto& events) {
          each_column(
              [](auto column, auto& values) {
                if (column.optional) values.clear();
              },
              events);
        },
        ranks[without]);
    for (Trace& rank : ranks) rank.seal();
    ranks[0].epoch_ns = 1;
    ranks[1].epoch_ns = 10'001;
    Trace all = join_ranks(std::move(ranks), Classes());
    each_value(all, without * rows, [](auto column, auto value, std::size_t) {
      if (column.optional) CHECK(value == column.none);
    });
  }
}

TEST_CASE("columns: merging the parts of a file translates every column") {
  const Database db(support::fixture("starved.sqlite"));
  Trace t;
  nsys::Translator translator(db, t);
  const nsys::RowKind kind{"kernel", nullptr};
  const auto key_of = [](std::size_t row) {
    const auto n = static_cast<std::int64_t>(row + 1);
    return nsys::StreamKey{n << 24, n, n};
  };
  std::deque<nsys::Table> tables(1);
  tables[0].kind = &kind;
  tables[0].numbers.resize(2);
  for (std::size_t worker = 0; worker < 2; ++worker) {
    nsys::Numbers& numbers = tables[0].numbers[worker];
    if (worker == 1) {  // its numbers mean something else
      numbers.names({-1, "other"});
      numbers.threads(77);
      numbers.streams({78 << 24, 78, 78});
    }
    nsys::Part& part = tables[0].parts.emplace_back();
    part.worker = worker;
    part.numbers = &numbers;
    const auto fill_part = [&](auto& events) {
      each_column(
          [&](auto column, auto& values) {
            using Value = decltype(column.none);
            for (std::size_t row = 0; row < rows && is_recorded(column.contents); ++row) {
              if (column.contents == Contents::name)
                values.push_back(
                    static_cast<Value>(numbers.names({-1, text_of_row.substr(row, 1)})));
              else if (column.contents == Contents::thread)
                values.push_back(
                    static_cast<Value>(numbers.threads(static_cast<std::int64_t>(row + 1))));
              else if (column.contents == Contents::stream || column.contents == Contents::device ||
                       column.contents == Contents::process)
                values.push_back(static_cast<Value>(numbers.streams(key_of(row))));
              else
                values.push_back(value_of(column, row, column.none));
            }
          },
          events);
    };
    fill_part(part.ops), fill_part(part.calls), fill_part(part.ranges), fill_part(part.frames);
    fill_part(part.os_calls), fill_part(part.host_samples), fill_part(part.syncs);
    fill_part(part.gpu_faults), fill_part(part.cpu_faults), fill_part(part.memory_use);
    fill_part(part.allocations);
  }
  nsys::merge(tables, translator, t);
  const auto check = [&](auto& events) {
    REQUIRE(events.size() == 2 * rows);
    each_column(
        [&](auto column, auto& values) {
          if constexpr (is_recorded(column.contents)) {
            REQUIRE(values.size() == 2 * rows);
            for (std::size_t i = 0; i < 2 * rows; ++i) {
              const std::size_t row = i % rows, at = static_cast<std::size_t>(values[i]);
              const nsys::StreamKey key = key_of(row);
              switch (column.contents) {
                case Contents::name:
                  CHECK(t.names[static_cast<NameId>(at)] == text_of_row.substr(row, 1));
                  break;
                case Contents::thread:
                  CHECK(t.threads[at].tid == static_cast<std::int64_t>(row + 1));
                  break;
                case Contents::stream: CHECK(t.streams[at].id == key.stream); break;
                case Contents::device: CHECK(t.devices[at].ordinal == key.device); break;
                case Contents::process: CHECK(t.processes[at].pid == key.process >> 24); break;
                default: CHECK(values[i] == value_of(column, row, values[i]));
              }
            }
          }
        },
        events);
  };
  check(t.ops), check(t.calls), check(t.ranges), check(t.frames), check(t.os_calls);
  check(t.host_samples), check(t.syncs), check(t.gpu_faults), check(t.cpu_faults);
  check(t.memory_use), check(t.allocations);
}

TEST_CASE("columns: replayed steps keep what does not depend on time") {
  Trace t = trace_from_text(R"(return { repeats = { times = 6, every = 1000 },
    ranges = { { 0, 999, "step {n}" } }, calls = { { 30, 942, "cudaStreamSynchronize" } },
    ops = { { 20, 520, kernel = "product", launched = { 10, 15 }, group = "all" },
            { 521, 921, kernel = "small", launched = { 16, 21 } } } })");
  // Columns in which any value will do.
  const auto is_free = [&](const void* column) {
    const std::set<const void*> bound{&t.ops.kind, &t.ops.copy, &t.ops.correlation,
                                      &t.ops.in_graph};
    return !bound.contains(column);
  };
  each_column(
      [&](auto column, auto& values) {
        if (column.contents != Contents::value || !is_free(&values)) return;
        values.resize(t.ops.size());
        for (std::size_t row = 0; row < values.size(); ++row)
          values[row] = value_of(column, row, values[row]);
      },
      t.ops);
  const Analysis analysis(std::move(t), Classes(), {});
  const Replay replay(analysis);
  REQUIRE(replay.gives_trace());
  const Trace after = replay.trace_after({}).trace;
  REQUIRE(after.ops.size() > 4);
  each_column(
      [&](auto column, const auto& values, const auto& recorded) {
        REQUIRE(values.size() == (recorded.empty() ? 0 : after.ops.size()));
        if (column.contents == Contents::time || !is_recorded(column.contents)) return;
        // `blocks` holds the row's number.
        for (std::size_t row = 0; row < values.size(); ++row)
          CHECK(values[row] == recorded[after.ops.blocks[row]]);
      },
      after.ops, analysis.trace.ops);
}
