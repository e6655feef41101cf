#include "read/nsys/merge.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <type_traits>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "read/nsys/host_watch.hpp"

namespace gh::nsys {
namespace {

// What the numbers of one worker mean in the trace.
struct Meaning {
  std::vector<NameId> names;
  std::vector<std::uint16_t> threads, devices, processes;  // the last two: by stream
  std::vector<std::uint32_t> streams;
};

// What the numbers of a column mean; null if they mean themselves.
template <Contents contents>
constexpr auto ids_of() {
  if constexpr (contents == Contents::name)
    return &Meaning::names;
  else if constexpr (contents == Contents::thread)
    return &Meaning::threads;
  else if constexpr (contents == Contents::stream)
    return &Meaning::streams;
  else if constexpr (contents == Contents::device)
    return &Meaning::devices;
  else if constexpr (contents == Contents::process)
    return &Meaning::processes;
  else
    return nullptr;
}

// The numbers of all workers, in the order of each worker's numbers, and the keys behind them.
template <class Key>
struct Joined {
  Numbering<Key> numbering;
  std::vector<std::vector<std::uint32_t>> by_worker;

  void add(const std::vector<Key>& keys) {
    std::vector<std::uint32_t>& numbers = by_worker.emplace_back();
    for (const Key& key : keys) numbers.push_back(numbering(key));
  }
};

// By worker. Translates each key once for all workers that saw it.
std::vector<Meaning> meanings_of(Table& table, Translator& translator, const Trace& trace) {
  NameNumbering all_names;
  std::vector<std::vector<std::uint32_t>> name_numbers;
  Joined<std::int64_t> threads;
  Joined<StreamKey> streams;
  for (const Numbers& seen : table.numbers) {
    std::vector<std::uint32_t>& numbers = name_numbers.emplace_back();
    for (const FileName& key : seen.names.keys()) {
      numbers.push_back(all_names({key.id, key.text}));
    }
    threads.add(seen.threads.keys());
    streams.add(seen.streams.keys());
  }

  const std::string_view kind = table.kind->name;
  const std::vector<NameId> name_ids = kind == "call" || kind == "library_call"
                                           ? translator.call_names(all_names.keys())
                                           : translator.names(all_names.keys());
  const std::vector<std::uint16_t> thread_ids =
      kind == "file_access" ? translator.bare_threads(threads.numbering.keys())
                            : translator.threads(threads.numbering.keys());
  const std::vector<std::uint32_t> stream_ids = translator.streams(streams.numbering.keys());

  std::vector<Meaning> meanings(table.numbers.size());
  for (std::size_t w = 0; w < meanings.size(); ++w) {
    Meaning& meaning = meanings[w];
    for (const std::uint32_t n : name_numbers[w]) meaning.names.push_back(name_ids[n]);
    for (const std::uint32_t n : threads.by_worker[w]) meaning.threads.push_back(thread_ids[n]);
    for (const std::uint32_t n : streams.by_worker[w]) {
      meaning.streams.push_back(stream_ids[n]);
      meaning.devices.push_back(trace.streams[stream_ids[n]].device);
      meaning.processes.push_back(trace.streams[stream_ids[n]].process);
    }
  }
  table.numbers.clear();
  return meanings;
}

void add_problems(const Table& table, Trace& trace) {
  const std::vector<std::string>& problems =
      table.parts.front().problems;  // about columns, so the same in all parts
  for (const std::string& problem : problems) trace.doubt(problem);
  std::int64_t malformed = 0;
  for (const Part& part : table.parts) malformed += part.count.malformed;
  if (malformed) trace.problems.push_back(malformed_rows(table.name, malformed));
}

// Collects columns to copy, and copies them.
class Columns {
 public:
  Columns(std::deque<Table>& tables, Translator& translator, Trace& trace) : tables_(tables) {
    for (Table& table : tables) {
      meanings_.push_back(meanings_of(table, translator, trace));
      add_problems(table, trace);
    }
  }

  // Copies one kind of event.
  template <class Events>
  void events(Events& to, Events Part::*of) {
    each_column(
        [&](auto column, auto& values) {
          if constexpr (is_recorded(column.contents)) {
            if (column.optional) complete(of, column);
            add<column.contents>(values,
                                 [of, column](Part& p) -> auto& { return p.*of.*column.at; });
          }
        },
        to);
  }
  // Copies events that consist of a single column.
  template <class Event>
  void whole(std::vector<Event>& to, std::vector<Event> Part::*of) {
    add<Contents::value>(to, [of](Part& p) -> auto& { return p.*of; });
  }

  void copy() {
    in_parallel(jobs_.size(), [&](std::size_t i, std::size_t) { jobs_[i](); });
  }

 private:
  // An optional column: if any part has it, all events need a value.
  template <class Events, class Column>
  void complete(Events Part::*of, Column column) {
    const bool any = std::any_of(tables_.begin(), tables_.end(), [&](const Table& table) {
      return std::any_of(table.parts.begin(), table.parts.end(),
                         [&](const Part& part) { return !(part.*of.*column.at).empty(); });
    });
    if (!any) return;
    for (Table& table : tables_)
      for (Part& part : table.parts) (part.*of.*column.at).resize((part.*of).size(), column.none);
  }

  // `of` finds the column in a part.
  template <Contents contents, class Column, class Of>
  void add(Column& to, Of of) {
    jobs_.push_back([this, &to, of] { copy_column<contents>(to, of); });
  }

  template <Contents contents, class Column, class Of>
  void copy_column(Column& to, Of of) {
    std::size_t rows = 0;
    for (Table& table : tables_) {
      for (Part& part : table.parts) rows += of(part).size();
    }
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (Part& part : tables_[t].parts) {
        Column& from = of(part);
        if constexpr (constexpr auto ids = ids_of<contents>();
                      !std::is_null_pointer_v<decltype(ids)>) {
          const auto& meaning = meanings_[t][part.worker].*ids;
          for (auto& v : from) v = static_cast<typename Column::value_type>(meaning[v]);
        }
        if (from.size() == rows) {
          to.swap(from);
          return;
        }
        to.reserve(rows);
        to.insert(to.end(), from.begin(), from.end());
        Column().swap(from);
      }
    }
  }

  std::deque<Table>& tables_;
  std::vector<std::vector<Meaning>> meanings_;  // by table and worker
  std::vector<std::function<void()>> jobs_;     // one per column
};

// Replaces unknown names by "" and returns how many there were.
std::int64_t count_unknown(std::vector<NameId>& names) {
  std::int64_t n = 0;
  for (NameId& name : names) {
    if (name != unknown_name) continue;
    name = 0;
    ++n;
  }
  return n;
}

std::vector<Doubt> doubts_of_names(Trace& t) {
  // Kernels and CUDA calls always have names, and another check doubts those without.
  count_unknown(t.ops.name);
  count_unknown(t.calls.name);
  constexpr double most = 0.01;
  std::vector<Doubt> doubts;
  const auto add = [&](std::vector<NameId>& names, const char* what) {
    doubts.push_back({count_unknown(names), static_cast<std::int64_t>(names.size()), most, what});
  };
  add(t.ranges.name, "ranges have names that are missing from the report");
  add(t.os_calls.name, "OS runtime calls have names that are missing from the report");
  add(t.cpu_faults.function,
      "CPU page faults have function names that are missing from the report");
  return doubts;
}

}  // namespace

std::vector<Doubt> merge(std::deque<Table>& tables, Translator& translator, Trace& trace) {
  const Timed timed("read/merge");
  Columns columns(tables, translator, trace);
  columns.events(trace.ops, &Part::ops);
  columns.events(trace.calls, &Part::calls);
  columns.events(trace.ranges, &Part::ranges);
  columns.events(trace.frames, &Part::frames);
  columns.events(trace.os_calls, &Part::os_calls);
  columns.events(trace.host_samples, &Part::host_samples);
  columns.events(trace.syncs, &Part::syncs);
  columns.events(trace.gpu_faults, &Part::gpu_faults);
  columns.events(trace.cpu_faults, &Part::cpu_faults);
  columns.events(trace.memory_use, &Part::memory_use);
  columns.events(trace.allocations, &Part::allocations);
  Switches switches;
  StackSamples stack_samples;
  StackFrames stack_frames;
  columns.events(switches, &Part::switches);
  columns.events(stack_samples, &Part::stack_samples);
  columns.events(stack_frames, &Part::stack_frames);
  columns.whole(trace.profiler_overhead, &Part::overhead);
  columns.copy();
  join_switches(switches, trace.cpu_stretches);
  name_samples(stack_samples, stack_frames, trace);
  std::vector<Doubt> doubts = doubts_of_names(trace);
  take_python_lock(trace);
  return doubts;
}

}  // namespace gh::nsys
