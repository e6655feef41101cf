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

  // Copies columns of one kind of event unchanged.
  template <class Events, class... Column>
  void plain(Events& to, Events Part::*of, Column... columns) {
    (add(
         to.*columns, [of, columns](Part& p) -> auto& { return p.*of.*columns; }, nullptr),
     ...);
  }
  // Copies a column of numbers.
  template <class Events, class Column, class Ids>
  void numbered(Events& to, Events Part::*of, Column column, Ids Meaning::*ids) {
    add(
        to.*column, [of, column](Part& p) -> auto& { return p.*of.*column; }, ids);
  }
  // Copies the columns of intervals of a thread's time.
  template <class Events>
  void stretches(Events& to, Events Part::*of) {
    plain(to, of, &Events::start, &Events::end);
    numbered(to, of, &Events::name, &Meaning::names);
    numbered(to, of, &Events::thread, &Meaning::threads);
  }
  // Copies events that consist of a single column.
  template <class Event>
  void whole(std::vector<Event>& to, std::vector<Event> Part::*of) {
    add(
        to, [of](Part& p) -> auto& { return p.*of; }, nullptr);
  }

  void copy() {
    in_parallel(jobs_.size(), [&](std::size_t i, std::size_t) { jobs_[i](); });
  }

 private:
  // `of` finds the column in a part; `ids`, unless null, says what its numbers mean.
  template <class Column, class Of, class Ids>
  void add(Column& to, Of of, Ids ids) {
    jobs_.push_back([this, &to, of, ids] { copy_column(to, of, ids); });
  }

  template <class Column, class Of, class Ids>
  void copy_column(Column& to, Of of, Ids ids) {
    std::size_t rows = 0;
    for (Table& table : tables_) {
      for (Part& part : table.parts) rows += of(part).size();
    }
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (Part& part : tables_[t].parts) {
        Column& from = of(part);
        if constexpr (!std::is_null_pointer_v<Ids>) {
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

// An optional column: if any part has it, all events need a value.
template <class Events, class Column>
void complete(std::deque<Table>& tables, Events Part::*of, Column column) {
  const bool any = std::any_of(tables.begin(), tables.end(), [&](const Table& table) {
    return std::any_of(table.parts.begin(), table.parts.end(),
                       [&](const Part& part) { return !(part.*of.*column).empty(); });
  });
  if (!any) return;
  for (Table& table : tables) {
    for (Part& part : table.parts) (part.*of.*column).resize((part.*of).size());
  }
}

}  // namespace

std::vector<Doubt> merge(std::deque<Table>& tables, Translator& translator, Trace& trace) {
  const Timed timed("read/merge");
  Columns columns(tables, translator, trace);
  complete(tables, &Part::ops, &Ops::address);
  complete(tables, &Part::ops, &Ops::registers);
  complete(tables, &Part::ops, &Ops::shared_bytes);
  complete(tables, &Part::ops, &Ops::blocks_x);
  complete(tables, &Part::calls, &Calls::result);

  columns.stretches(trace.calls, &Part::calls);
  columns.stretches(trace.ranges, &Part::ranges);
  columns.stretches(trace.frames, &Part::frames);
  columns.stretches(trace.os_calls, &Part::os_calls);
  columns.plain(trace.calls, &Part::calls, &Calls::correlation, &Calls::result);
  columns.plain(trace.ranges, &Part::ranges, &Ranges::bytes, &Ranges::nest);

  Switches switches;
  StackSamples stack_samples;
  StackFrames stack_frames;
  columns.plain(switches, &Part::switches, &Switches::start, &Switches::cpu, &Switches::in);
  columns.numbered(switches, &Part::switches, &Switches::thread, &Meaning::threads);
  columns.plain(stack_samples, &Part::stack_samples, &StackSamples::start, &StackSamples::id);
  columns.numbered(stack_samples, &Part::stack_samples, &StackSamples::thread, &Meaning::threads);
  columns.plain(stack_frames, &Part::stack_frames, &StackFrames::sample, &StackFrames::depth);
  columns.numbered(stack_frames, &Part::stack_frames, &StackFrames::symbol, &Meaning::names);
  columns.numbered(stack_frames, &Part::stack_frames, &StackFrames::module, &Meaning::names);
  columns.plain(trace.host_samples, &Part::host_samples, &HostSamples::start,
                &HostSamples::is_python);
  columns.numbered(trace.host_samples, &Part::host_samples, &HostSamples::thread,
                   &Meaning::threads);
  columns.numbered(trace.host_samples, &Part::host_samples, &HostSamples::function,
                   &Meaning::names);
  columns.numbered(trace.host_samples, &Part::host_samples, &HostSamples::module, &Meaning::names);
  columns.numbered(trace.host_samples, &Part::host_samples, &HostSamples::line, &Meaning::names);

  columns.plain(trace.ops, &Part::ops, &Ops::start, &Ops::end, &Ops::bytes, &Ops::correlation,
                &Ops::blocks, &Ops::threads, &Ops::kind, &Ops::copy, &Ops::source, &Ops::target,
                &Ops::cause, &Ops::address, &Ops::in_graph, &Ops::registers, &Ops::shared_bytes,
                &Ops::blocks_x);
  columns.numbered(trace.ops, &Part::ops, &Ops::stream, &Meaning::streams);
  columns.numbered(trace.ops, &Part::ops, &Ops::name, &Meaning::names);

  columns.plain(trace.syncs, &Part::syncs, &Syncs::start, &Syncs::end, &Syncs::correlation);
  columns.numbered(trace.syncs, &Part::syncs, &Syncs::stream, &Meaning::streams);

  columns.plain(trace.gpu_faults, &Part::gpu_faults, &GpuFaults::start, &GpuFaults::end,
                &GpuFaults::address, &GpuFaults::count);
  columns.numbered(trace.gpu_faults, &Part::gpu_faults, &GpuFaults::device, &Meaning::devices);

  columns.plain(trace.cpu_faults, &Part::cpu_faults, &CpuFaults::start, &CpuFaults::address);
  columns.numbered(trace.cpu_faults, &Part::cpu_faults, &CpuFaults::function, &Meaning::names);

  columns.plain(trace.memory_use, &Part::memory_use, &MemoryUse::start, &MemoryUse::bytes,
                &MemoryUse::kind, &MemoryUse::correlation);
  columns.numbered(trace.memory_use, &Part::memory_use, &MemoryUse::device, &Meaning::devices);

  columns.plain(trace.allocations, &Part::allocations, &Allocations::start, &Allocations::address,
                &Allocations::bytes, &Allocations::in_use, &Allocations::reserved,
                &Allocations::pool, &Allocations::thread, &Allocations::kind,
                &Allocations::correlation);
  columns.numbered(trace.allocations, &Part::allocations, &Allocations::device, &Meaning::devices);
  columns.numbered(trace.allocations, &Part::allocations, &Allocations::process,
                   &Meaning::processes);

  columns.whole(trace.profiler_overhead, &Part::overhead);
  columns.copy();
  join_switches(switches, trace.cpu_stretches);
  name_samples(stack_samples, stack_frames, trace);
  std::vector<Doubt> doubts = doubts_of_names(trace);
  take_python_lock(trace);
  return doubts;
}

}  // namespace gh::nsys
