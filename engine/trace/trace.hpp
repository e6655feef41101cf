// The canonical model of a recorded run, which every importer fills and every analysis reads.
//
// Each kind of event is a struct of integer columns; row i of a kind is element i of each column.
// Times are nanoseconds on the report's time axis. Names are interned: a row holds a NameId.
// `Trace::seal` sorts every kind by start and joins operations to the calls that launched them;
// after that nothing changes.
//
// This is the main header of trace/. The others are:
//   columns.hpp       how the columns of an event are declared
//   row_set.hpp       selections of rows, as rules make them
//   metric_names.hpp  what each tool calls the GPU metrics that it samples
//   sort_rows.hpp     sorting rows on all threads
//   call_index.hpp    the call that launched an operation
//   lost_work.hpp     the calls whose operations are missing
//   first_pages.hpp   kernels that wait for their first page of unified memory
//   seal.cpp          Trace::seal
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/spans.hpp"
#include "trace/columns.hpp"
#include "trace/lost_work.hpp"

namespace gh {

using NameId = std::uint32_t;
using Row = std::uint32_t;
inline constexpr Row no_row = std::numeric_limits<Row>::max();
/// The end of a range that is still open; `seal` replaces it.
inline constexpr Ns open_end = std::numeric_limits<Ns>::max();
inline constexpr std::uint16_t no_index = std::numeric_limits<std::uint16_t>::max();

/// Interned strings. All are printable: valid UTF-8 without control characters. Id 0 is "".
class Names {
 public:
  Names() { intern(""); }
  Names(const Names& other) {
    for (const std::string* text : other.texts_) intern(*text);
  }
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;
  NameId intern(std::string_view text);
  NameId find(const std::string& text) const;  ///< 0 if there is no such name
  const std::string& operator[](NameId id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, NameId> ids_;
  std::vector<const std::string*> texts_;  // keys of ids_, whose addresses are stable
};

enum class OpKind : std::uint8_t { kernel, copy, set, graph };
enum class CopyKind : std::uint8_t { none, h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d, other };
enum class MemoryKind : std::uint8_t { pageable, pinned, device, array, managed, unknown };
enum class MigrationCause : std::uint8_t {
  none,
  prefetch,
  fault,
  speculative,
  eviction,
  access_counter
};

const char* name_of(OpKind);
const char* name_of(CopyKind);
const char* name_of(MemoryKind);
const char* name_of(MigrationCause);
inline bool is_unified(CopyKind k) {
  return k == CopyKind::um_h2d || k == CopyKind::um_d2h || k == CopyKind::um_d2d;
}

/// Whether a copy leaves the device's memory, as far as the report says.
inline bool crosses_link(CopyKind k) { return k != CopyKind::none && k != CopyKind::d2d; }

inline constexpr std::uint8_t no_occupancy = 255;
inline constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

/// Who takes part in a collective, according to the program.
struct Group {
  NameId name = 0;          ///< the process group's, with its ranks
  std::uint32_t ranks = 0;  ///< how many take part; two in a point-to-point message
  bool operator==(const Group&) const = default;
};

/// Work on a GPU: kernels, copies (including unified memory migrations), memsets, and graphs traced
/// as a whole.
struct Ops {
  std::vector<Ns> start, end;
  std::vector<std::int64_t> bytes;         ///< moved or set; 0 for kernels and graphs
  std::vector<std::uint32_t> stream;       ///< index into Trace::streams
  std::vector<NameId> name;                ///< kernels: the demangled name; otherwise ""
  std::vector<std::uint32_t> correlation;  ///< 0 if the report has none
  std::vector<Row> call;                   ///< the call that launched it, or no_row
  std::vector<std::uint32_t> blocks;       ///< kernels: thread blocks in the grid; otherwise 0
  std::vector<std::uint16_t> threads;      ///< kernels: threads in a block; otherwise 0
  std::vector<OpKind> kind;
  std::vector<CopyKind> copy;
  std::vector<MemoryKind> source, target;
  std::vector<MigrationCause> cause;
  /// Migrations: virtual address of the memory that moved; otherwise 0. Empty if nothing migrates;
  /// read it through `address_of`.
  std::vector<std::int64_t> address;
  std::vector<std::uint8_t> in_graph;  ///< 1 if traced as a node of a CUDA graph
  /// Kernels: achieved occupancy as estimated by the profiler, in percent, or no_occupancy. Empty
  /// if the profiler never estimates it.
  std::vector<std::uint8_t> occupancy;
  /// Kernels: registers per thread and shared memory per block (static and dynamic); otherwise 0.
  /// Empty if the report has neither; read them through `registers_of` and `shared_bytes_of`.
  std::vector<std::uint8_t> registers;
  std::vector<std::uint32_t> shared_bytes;
  /// Kernels: the grid's first dimension (`blocks` is the product of all three). Empty if the
  /// report does not contain it; read it through `blocks_x_of`.
  std::vector<std::uint32_t> blocks_x;
  /// Collectives: index into Trace::groups, or no_group. Empty if the report has none.
  std::vector<std::uint32_t> group;

  std::size_t size() const { return start.size(); }
  std::int64_t address_of(Row op) const { return address.empty() ? 0 : address[op]; }
  std::uint32_t blocks_x_of(Row op) const { return blocks_x.empty() ? 0 : blocks_x[op]; }
  std::uint8_t registers_of(Row op) const { return registers.empty() ? 0 : registers[op]; }
  std::uint32_t shared_bytes_of(Row op) const {
    return shared_bytes.empty() ? 0 : shared_bytes[op];
  }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Ops::start, &Ops::end);
    list(is::stream, &Ops::stream);
    list(is::value, &Ops::correlation, &Ops::kind, &Ops::copy);
    list(is::name, &Ops::name);
    list.optional(is::value, &Ops::address);
    list(is::value, &Ops::bytes, &Ops::cause, &Ops::blocks, &Ops::threads, &Ops::in_graph);
    list.with_none(is::value, &Ops::source, MemoryKind::unknown);
    list.with_none(is::value, &Ops::target, MemoryKind::unknown);
    list.optional(is::value, &Ops::registers);
    list.optional(is::value, &Ops::shared_bytes);
    list.optional(is::value, &Ops::blocks_x);
    list.optional(is::value, &Ops::occupancy, no_occupancy);
    list.optional(is::group_or_none, &Ops::group, no_group);
    list(is::joined, &Ops::call);
  }
};

/// CUDA runtime and driver calls of the host.
struct Calls {
  std::vector<Ns> start, end;
  std::vector<NameId> name;  ///< without version suffixes: cudaLaunchKernel
  std::vector<std::uint32_t> correlation;
  std::vector<std::uint16_t> thread;  ///< index into Trace::threads
  /// Return value; 0 is success. Empty if no call failed or the profiler does not record it; read
  /// it through `result_of`.
  std::vector<std::uint16_t> result;
  std::size_t size() const { return start.size(); }
  std::uint16_t result_of(Row call) const { return result.empty() ? 0 : result[call]; }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Calls::start, &Calls::end);
    list(is::thread, &Calls::thread);
    list(is::value, &Calls::correlation);
    list(is::name, &Calls::name);
    list.optional(is::value, &Calls::result);
  }
};

/// Values of Ranges::nest for entries that are not the program's own ranges: library calls, and
/// operators if the profiler distinguishes them from annotations.
inline constexpr std::uint8_t nest_of_library_calls = 255, nest_of_operators = 254;

/// NVTX push/pop and start/end ranges, or a profiler's annotations and operators. A range still
/// open at the end of the recording ends there.
struct Ranges {
  std::vector<Ns> start, end;
  std::vector<NameId> name;
  std::vector<std::uint16_t> thread;
  std::vector<std::int64_t> bytes;  ///< of a collective's message, if recorded; otherwise 0
  /// Ranges of the same thread and nest never overlap partly: they are the push/pop ranges of one
  /// NVTX domain. Ranges of nest 0 may overlap anything.
  std::vector<std::uint8_t> nest;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Ranges::start, &Ranges::end);
    list(is::thread, &Ranges::thread);
    list(is::name, &Ranges::name);
    list(is::value, &Ranges::bytes, &Ranges::nest);
  }
};

/// The program's Python functions and modules, if the profiler recorded stacks, without those of
/// Python and PyTorch themselves.
struct Frames {
  std::vector<Ns> start, end;
  std::vector<NameId> name;  ///< "train.py(40): train_step"
  std::vector<std::uint16_t> thread;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Frames::start, &Frames::end);
    list(is::thread, &Frames::thread);
    list(is::name, &Frames::name);
  }
};

/// Links a backward operator to its forward operator, for the module and the line of it: backward
/// runs on threads that have neither.
struct Forwards {
  std::vector<Ns> start;  ///< of the backward operator
  std::vector<std::uint16_t> thread;
  std::vector<Ns> forward_start;
  std::vector<std::uint16_t> forward_thread;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Forwards::start);
    list(is::thread, &Forwards::thread);
    list(is::time, &Forwards::forward_start);
    list(is::thread, &Forwards::forward_thread);
  }
};

/// OS runtime calls in which a host thread blocked or did I/O (poll, read, pthread_cond_wait, ...).
struct OsCalls {
  std::vector<Ns> start, end;
  std::vector<NameId> name;
  std::vector<std::uint16_t> thread;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &OsCalls::start, &OsCalls::end);
    list(is::thread, &OsCalls::thread);
    list(is::name, &OsCalls::name);
  }
};

/// Intervals in which a host thread was on a CPU, if context switches were traced. A thread's
/// intervals do not overlap; between two of them it was on no CPU.
struct CpuStretches {
  std::vector<Ns> start, end;
  std::vector<std::uint16_t> thread;  ///< index into Trace::threads
  std::vector<std::uint16_t> cpu;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &CpuStretches::start, &CpuStretches::end);
    list(is::thread, &CpuStretches::thread);
    list(is::value, &CpuStretches::cpu);
  }
};

/// Moments at which the profiler sampled what a host thread was doing: its native stack while it
/// ran, its Python stack in any case.
struct HostSamples {
  std::vector<Ns> start;
  std::vector<std::uint16_t> thread;
  std::vector<NameId> function;  ///< "tokenize (train.py)", "float_fill (numpy.random._common)"
  std::vector<NameId> module;    ///< "train.py", "numpy.random._common"
  std::vector<NameId> line;      ///< of Python: "train.py(40): tokenize"; otherwise ""
  std::vector<std::uint8_t> is_python;  ///< 1 for a Python stack, 0 for a native one
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &HostSamples::start);
    list(is::thread, &HostSamples::thread);
    list(is::name, &HostSamples::line, &HostSamples::function, &HostSamples::module);
    list(is::value, &HostSamples::is_python);
  }
};

/// Time in which a thread waited for Python's global interpreter lock (GIL) or held it.
struct PythonLock {
  std::vector<Ns> start, end;
  std::vector<NameId> name;  ///< "Waiting for GIL", "Holding GIL"
  std::vector<std::uint16_t> thread;
  std::vector<std::uint8_t> holds;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &PythonLock::start, &PythonLock::end);
    list(is::thread, &PythonLock::thread);
    list(is::value, &PythonLock::holds);
    list(is::name, &PythonLock::name);
  }
};

/// Synchronizations as the profiler wrote them. The recorded type is not reliable: classify by the
/// call's name.
struct Syncs {
  std::vector<Ns> start, end;
  std::vector<std::uint32_t> correlation;
  std::vector<std::uint32_t> stream;  ///< index into Trace::streams
  std::vector<Row> call;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Syncs::start, &Syncs::end);
    list(is::stream, &Syncs::stream);
    list(is::value, &Syncs::correlation);
    list(is::joined, &Syncs::call);
  }
};

/// GPU page faults of unified memory; `end` is when they had been handled.
struct GpuFaults {
  std::vector<Ns> start, end;
  std::vector<std::int64_t> address, count;
  std::vector<std::uint16_t> device;  ///< index into Trace::devices
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &GpuFaults::start, &GpuFaults::end);
    list(is::device, &GpuFaults::device);
    list(is::value, &GpuFaults::address, &GpuFaults::count);
  }
};

/// CPU page faults of unified memory, and the function that faulted.
struct CpuFaults {
  std::vector<Ns> start;
  std::vector<std::int64_t> address;
  std::vector<NameId> function;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &CpuFaults::start);
    list(is::value, &CpuFaults::address);
    list(is::name, &CpuFaults::function);
  }
};

/// Device memory allocated (+) and freed (-). Rows at or before 0 are allocations from before the
/// recording.
struct MemoryUse {
  std::vector<Ns> start;
  std::vector<std::int64_t> bytes;  ///< negative when freed
  std::vector<std::uint16_t> device;
  std::vector<MemoryKind> kind;
  std::vector<std::uint32_t> correlation;  ///< of the call, often before the recording; or 0
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &MemoryUse::start);
    list(is::device, &MemoryUse::device);
    list(is::value, &MemoryUse::kind, &MemoryUse::bytes, &MemoryUse::correlation);
  }
};

/// Who hands out blocks of memory.
enum class Allocator : std::uint8_t {
  cuda,  ///< CUDA itself: cudaMalloc and its like; blocks of a framework's allocator are unseen
  framework,  ///< PyTorch's caching allocator, which takes its memory from CUDA in larger pieces
};

/// Blocks of GPU memory handed out (+) and taken back (-). MemoryUse, in contrast, counts what CUDA
/// gave to the program, whatever became of it.
struct Allocations {
  Allocator by = Allocator::cuda;  ///< of all rows
  /// CUDA's at or before 0: handed out before the recording.
  std::vector<Ns> start;
  std::vector<std::int64_t> address;
  std::vector<std::int64_t> bytes;  ///< negative when taken back
  /// What the framework had handed out of this device's memory right after this, and what it (or
  /// CUDA's pool) had reserved to hand out. Negative if the report does not say.
  std::vector<std::int64_t> in_use, reserved;
  std::vector<std::int64_t> pool;  ///< address of CUDA's pool that the block is part of, or 0
  std::vector<std::uint16_t> device, process;
  std::vector<std::uint16_t> thread;  ///< `seal` finds it by the call if it is no_index
  std::vector<MemoryKind> kind;
  std::vector<std::uint32_t> correlation;  ///< of the call, often before the recording; or 0
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Allocations::start);
    list(is::device, &Allocations::device);
    list(is::process, &Allocations::process);
    list(is::value, &Allocations::correlation, &Allocations::address, &Allocations::bytes,
         &Allocations::in_use, &Allocations::reserved, &Allocations::pool, &Allocations::kind);
    list.with_none(is::thread_or_none, &Allocations::thread, no_index);
  }
};

/// Samples of GPU metrics.
struct Samples {
  std::vector<Ns> start;
  /// A monitor's sample is an average over this much time before it; 0 for the profiler's samples.
  std::vector<Ns> period;
  std::vector<NameId> metric;
  std::vector<double> value;  ///< percent, or the unit in the metric's name
  std::vector<std::uint16_t> device;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Samples::start);
    list(is::device, &Samples::device);
    list(is::name, &Samples::metric);
    list(is::value, &Samples::value, &Samples::period);
  }
};

/// A monitor's mean over its whole file, if nothing shows which samples lie within the steps.
struct UnalignedMean {
  std::string metric;  ///< as in Samples
  std::uint16_t device = 0;
  double mean = 0;  ///< percent
  std::size_t count = 0;
};

/// GPU metrics from outside the report: a GPU monitor's file.
struct Monitor {
  std::string path;       ///< "" without one
  std::string time_base;  ///< whether its samples are aligned to the report, or why not
  std::vector<UnalignedMean> unaligned;  ///< set if they are not
};

/// A GPU that ran something. What the report does not say is 0, and an unknown name is "".
struct Device {
  int ordinal = 0;  ///< what the user calls it: its id in the report, or else the CUDA ordinal
  std::string name;
  int sm_count = 0;
  int compute_major = 0, compute_minor = 0;
  int copy_engines = 0;  ///< with one, uploads and downloads take turns
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  double clock_hz = 0;
};

struct Process {
  std::int64_t pid = 0;
  std::string name;
};
struct Thread {
  std::uint16_t process = 0;
  std::int64_t tid = 0;
  std::string name;
};
/// How CUDA orders a stream's work relative to others without events.
enum class StreamOrder : std::uint8_t {
  unknown,
  legacy,    ///< the legacy default stream: waits for all blocking ones, and they for it
  blocking,  ///< created by cudaStreamCreate
  apart,     ///< created with cudaStreamNonBlocking: waits for none
};
struct Stream {
  std::uint16_t device = 0, process = 0;
  std::int64_t id = 0;
  StreamOrder order = StreamOrder::unknown;
};

/// What a report may contain; an analysis checks it before it treats absence as a fact.
enum class Source : std::uint8_t {
  kernels,
  copies,
  unified_copies,
  calls,
  ranges,
  os_calls,
  gpu_faults,
  cpu_faults,
  memory_use,
  samples,
  graph_nodes,
  cpu_stretches,
  host_samples,
  python_lock,
  count
};
/// The name that rules, facts and configurations use: "samples".
const char* name_of(Source);
/// The name that people read in messages: "GPU metrics".
const char* shown_name_of(Source);

/// Whether a source was recorded. `not_collected`: the recording left it out. `unknown`: nothing
/// says so either way.
enum class Collected : std::uint8_t { yes, nothing_happened, not_collected, unknown };

struct Availability {
  Collected state = Collected::unknown;
  std::string reason;  ///< shown to the user if the state is not `yes`
  /// The `nsys profile` options or the torch.profiler call that would record it.
  std::string record_with;
  /// There are rows, or the recording would have contained any that occurred.
  bool known() const { return state == Collected::yes || state == Collected::nothing_happened; }
};

/// A message from the profiler about its own recording.
struct Diagnostic {
  int severity = 0;
  std::string text;
};

/// How long a step takes without the profiler, given by the user or by a file next to a report.
struct MeasuredStep {
  Ns ns = 0;         ///< 0 if nobody measured it
  std::string from;  ///< shown to the user: "--measured-step", "run.measured.json, 10 steps"
  std::string unit = "step";  ///< what was measured: "step" for any repetition, "token"
  Ns recorded_ns = 0;         ///< the same unit in the recording; 0 if unknown
};

/// All kinds of events of a trace.
struct Tables {
  Ops ops;
  Calls calls;
  Ranges ranges;
  Frames frames;
  Forwards forwards;
  OsCalls os_calls;
  CpuStretches cpu_stretches;
  HostSamples host_samples;
  PythonLock python_lock;
  Syncs syncs;
  GpuFaults gpu_faults;
  CpuFaults cpu_faults;
  MemoryUse memory_use;
  Allocations allocations;
  Samples samples;
};

/// Calls `visit(table, more...)` for every kind of event.
template <class Visit, class... More>
void each_table(Visit visit, Tables& tables, More&... more) {
  const auto all = [&](auto... table) {
    static_assert((sizeof(tables.*table) + ...) == sizeof(Tables), "this must visit every table");
    const auto one = [&](auto at) { visit(tables.*at, more.*at...); };
    (one(table), ...);
  };
  all(&Tables::ops, &Tables::calls, &Tables::ranges, &Tables::frames, &Tables::forwards,
      &Tables::os_calls, &Tables::cpu_stretches, &Tables::host_samples, &Tables::python_lock,
      &Tables::syncs, &Tables::gpu_faults, &Tables::cpu_faults, &Tables::memory_use,
      &Tables::allocations, &Tables::samples);
}

struct Trace : Tables {
  // Where the recording comes from.
  std::string path, format, producer, schema;
  std::string host;                        ///< the machine on which it was recorded, "" if unknown
  std::string ranges_are = "NVTX ranges";  ///< what `ranges` are called in such reports
  Names names;
  std::vector<Device> devices;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Stream> streams;
  std::vector<Group> groups;

  Monitor monitor;
  std::map<NameId, NameId> kernel_sources;  ///< by a kernel's name: the file of the compiler's code
  std::vector<Span> profiler_overhead;      ///< host time that the profiler reports as its own
  /// Host time, over all processes, that recording operators, memory and frames usually costs.
  Ns recording_ns = 0;
  MeasuredStep measured_step;
  Ns capture_start = 0, capture_end = 0;  ///< first and last event
  Ns epoch_ns = 0;             ///< the date of time 0 in nanoseconds since 1970; 0 if unknown
  Ns origin_ns = 0;            ///< time 0 on the file's own axis
  bool clocks_aligned = true;  ///< false: several ranks whose clocks may differ

  std::array<Availability, static_cast<std::size_t>(Source::count)> sources;
  /// How many environment variables of the profiled program the report contains. Except for those
  /// in `environment`, their names and values are not read.
  std::int64_t environment_variables = 0;
  /// Variables that change how CUDA and its libraries work (schemas/environment.toml), with their
  /// values; "set" if a value does not have the expected form.
  std::map<std::string, std::string> environment;
  std::vector<Diagnostic> diagnostics;
  /// What had to be skipped while reading. Shown to the user; may invalidate a result.
  std::vector<std::string> problems;
  /// The problems in which the report contradicts itself: nothing in it may be called clean.
  std::vector<std::string> doubts;
  void doubt(const std::string& why) {
    problems.push_back(why);
    doubts.push_back(why);
  }

  LostWork lost;  ///< what the profiler lost of the work on GPUs

  const Availability& availability(Source s) const { return sources[static_cast<std::size_t>(s)]; }
  Availability& availability(Source s) { return sources[static_cast<std::size_t>(s)]; }

  /// The number of rows that a source recorded; 0 for graph_nodes, which are kernels.
  std::size_t rows_of(Source s) const;

  std::uint16_t device_of(Row op) const { return streams[ops.stream[op]].device; }
  std::uint16_t process_of(Row op) const { return streams[ops.stream[op]].process; }
  /// Who takes part in a collective, or null if the report does not say.
  const Group* group_of(Row op) const {
    return ops.group.empty() || ops.group[op] == no_group ? nullptr : &groups[ops.group[op]];
  }
  Span span_of(Row op) const { return {ops.start[op], ops.end[op]}; }
  std::string thread_label(std::uint16_t thread) const;  ///< "python3 (447)"; "" for no_index

  /// Sorts every kind of event by start (ties: longer first, then by their columns as declared, so
  /// that the order is total) and joins operations, synchronizations and allocations to calls by
  /// process and correlation.
  void seal();
};

}  // namespace gh
