#include "rules/literal_trace.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "read/environment.hpp"
#include "rules/literal_row.hpp"
#include "rules/sandbox.hpp"
#include "trace/first_pages.hpp"

namespace gh {
namespace {

// Limits that no handwritten trace reaches, but a malicious test may.
constexpr std::size_t most_events = 250'000;
constexpr int most_repeats = 1000;
constexpr double longest_period_us = 1e12;  // 11 days
constexpr std::int64_t largest_bytes = std::int64_t{1} << 50;
constexpr std::uint32_t most_blocks = 1U << 31;
constexpr std::uint8_t most_registers = 255;
constexpr std::uint32_t most_shared_bytes = 1U << 20;
constexpr std::uint16_t most_threads_in_block = 1024, most_rank = 63, most_result = 9999,
                        most_ranks = 65535, most_cpu = 1023;
constexpr std::size_t most_threads = 1000, most_streams = 1000;
// The cost of reading a row in addition to the Lua code: about 0.3 us.
constexpr std::int64_t instructions_per_row = 30;

// The enumerator with that name, up to `last`.
template <class E>
E named(const std::string& name, E last, const std::string& where) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    names.emplace_back(name_of(static_cast<E>(i)));
    if (names.back() == name) return static_cast<E>(i);
  }
  throw Error(fmt::format("{}: '{}' is not one of {}{}", where, name, fmt::join(names, ", "),
                          did_you_mean(name, names)));
}

OpKind kind_of(const LiteralRow& r) {
  if (r.has("kernel")) return OpKind::kernel;
  if (r.has("copy")) return OpKind::copy;
  return r.has("graph") ? OpKind::graph : OpKind::set;
}

const char* launch_of(OpKind kind) {
  switch (kind) {
    case OpKind::kernel: return "cudaLaunchKernel";
    case OpKind::copy: return "cudaMemcpyAsync";
    case OpKind::set: return "cudaMemsetAsync";
    default: return "cudaGraphLaunch";
  }
}

// Builds a trace from the table at `index`, with one function for each kind of row.
class Builder {
 public:
  explicit Builder(const LuaTable& table) : table_(table) {}

  Trace build() {
    trace_.path = "literal trace";
    trace_.format = "literal";
    trace_.producer = "literal";
    trace_.schema = "literal";
    trace_.processes.push_back({1, "python3"});
    table_.only({"device", "repeats", "ops", "calls", "ranges", "os_calls", "gpu_faults",
                 "cpu_faults", "memory_use", "samples", "cpu_stretches", "host_samples",
                 "python_lock", "environment", "diagnostics", "not_collected", "measured_step"});
    device();
    environment();
    const Repeats repeats = read_repeats();
    for (round_ = 0; round_ < repeats.times; ++round_) {
      shift_ = round_ * repeats.every_ns;
      events();
    }
    sources();
    trace_.measured_step = {
        static_cast<Ns>(
            std::clamp(table_.number("measured_step").value_or(0), 0.0, longest_period_us) * 1000),
        "the trace"};
    trace_.seal();
    trace_.lost = find_lost_work(trace_);
    add_waits_for_first_pages(trace_);
    return std::move(trace_);
  }

 private:
  struct Repeats {
    int times = 1;
    Ns every_ns = 0;
  };
  using Read = void (Builder::*)(const LiteralRow&);

  void device() {
    Device d{0, "NVIDIA H200", 132, 9, 0, 3, std::int64_t{141} << 30, 4.8e12, 1.98e9};
    if (table_.push("device") == LUA_TTABLE) {
      const LiteralRow r(
          table_.lua(), -1, "'device'",
          {"name", "sm_count", "compute", "memory_gib", "clock_mhz", "copy_engines"});
      d.name = r.text("name", d.name);
      d.sm_count = r.count("sm_count", d.sm_count, 10'000);
      d.copy_engines = static_cast<int>(r.count("copy_engines", d.copy_engines, 100));
      const double compute = std::clamp(r.number("compute", 9.0), 0.0, 100.0);
      d.compute_major = static_cast<int>(compute);
      d.compute_minor = static_cast<int>(std::lround((compute - d.compute_major) * 10));
      d.memory_bytes =
          static_cast<std::int64_t>(std::clamp(r.number("memory_gib", 141), 0.0, 1e6) * (1 << 30));
      d.clock_hz = 1e6 * r.number("clock_mhz", 1980);
    }
    lua_pop(table_.lua(), 1);
    trace_.devices.push_back(d);
  }

  Repeats read_repeats() const {
    Repeats repeats;
    if (table_.push("repeats") == LUA_TTABLE) {
      const LiteralRow r(table_.lua(), -1, "'repeats'", {"times", "every"});
      repeats.times = std::max(1, r.count("times", 1, most_repeats));
      repeats.every_ns =
          static_cast<Ns>(std::clamp(r.number("every", 0), 0.0, longest_period_us) * 1000);
    }
    lua_pop(table_.lua(), 1);
    return repeats;
  }

  void events() {
    each("ops",
         {"kernel", "copy",  "set",   "graph",     "stream",   "bytes",    "blocks",  "threads",
          "from",   "to",    "cause", "address",   "launched", "in_graph", "thread",  "rank",
          "gpu",    "group", "ranks", "registers", "shared",   "order",    "blocks_x"},
         &Builder::op);
    each("calls", {"thread", "rank", "result"}, &Builder::call);
    each("ranges", {"thread", "rank", "bytes"}, &Builder::range);
    each("os_calls", {"thread", "rank"}, &Builder::os_call);
    each("gpu_faults", {"address", "count"}, &Builder::gpu_fault);
    each("cpu_faults", {"address"}, &Builder::cpu_fault);
    each("samples", {"period"}, &Builder::sample);
    each("memory_use", {"bytes"}, &Builder::memory_use);
    each("cpu_stretches", {"thread", "rank", "cpu"}, &Builder::cpu_stretch);
    each("host_samples", {"thread", "rank", "module", "line", "python"}, &Builder::host_sample);
    each("python_lock", {"thread", "rank", "holds"}, &Builder::python_lock);
  }

  void each(const char* key, const std::vector<std::string>& fields, Read read) {
    std::size_t position = 0;
    const auto take = [&](int index) {
      if (++events_ > most_events)
        throw Error(fmt::format("a literal trace has more than {} events", most_events));
      lua_spend(table_.lua(), instructions_per_row);
      (this->*read)(
          LiteralRow(table_.lua(), index, fmt::format("{}[{}]", key, ++position), fields));
    };
    const int type = table_.push(key);
    if (type != LUA_TNIL && type != LUA_TTABLE)
      throw Error(fmt::format("'{}' must be a list", key));
    if (type == LUA_TTABLE) LuaTable(table_.lua(), -1, key).each(take, most_events);
    lua_pop(table_.lua(), 1);
  }

  void op(const LiteralRow& r) {
    const Span s = span(r);
    const OpKind kind = kind_of(r);
    const bool is_kernel = kind == OpKind::kernel;
    const CopyKind copied =
        kind == OpKind::copy ? named(r.text("copy", ""), CopyKind::other, "copy") : CopyKind::none;
    const bool migrated = is_unified(copied);
    const std::uint32_t correlation = migrated || r.is_false("launched") ? 0 : ++correlation_;
    const auto stream_id = migrated ? -1 : static_cast<std::int64_t>(r.number("stream", 7));
    const char* from = copied == CopyKind::h2d ? "pinned" : "device";
    const char* to = copied == CopyKind::d2h ? "pinned" : "device";
    Ops& ops = trace_.ops;
    ops.start.push_back(s.start);
    ops.end.push_back(s.end);
    ops.kind.push_back(kind);
    ops.copy.push_back(copied);
    ops.correlation.push_back(correlation);
    ops.bytes.push_back(r.count("bytes", 0, largest_bytes));
    ops.stream.push_back(stream(r, stream_id));
    ops.name.push_back(trace_.names.intern(r.text("kernel", "")));
    ops.blocks.push_back(r.count("blocks", is_kernel ? 1024 : 0, most_blocks));
    ops.blocks_x.push_back(r.count("blocks_x", ops.blocks.back(), most_blocks));
    ops.threads.push_back(r.count("threads", is_kernel ? 256 : 0, most_threads_in_block));
    ops.registers.push_back(r.count("registers", is_kernel ? 32 : 0, most_registers));
    ops.shared_bytes.push_back(r.count("shared", 0, most_shared_bytes));
    ops.source.push_back(named(r.text("from", from), MemoryKind::unknown, "from"));
    ops.target.push_back(named(r.text("to", to), MemoryKind::unknown, "to"));
    ops.cause.push_back(named(r.text("cause", ""), MigrationCause::access_counter, "cause"));
    ops.address.push_back(r.count("address", 0, largest_bytes));
    ops.in_graph.push_back(r.is_true("in_graph"));
    group(r);
    complete_rows(ops);
    if (correlation != 0) launch(r, s.start, launch_of(kind), correlation);
  }

  void group(const LiteralRow& r) {
    Ops& ops = trace_.ops;
    if (!r.has("group") && !r.has("ranks")) return;
    ops.group.resize(ops.size() - 1, no_group);
    const Group of{trace_.names.intern(r.text("group", "")),
                   static_cast<std::uint32_t>(r.count("ranks", 2, most_ranks))};
    const auto it = std::find(trace_.groups.begin(), trace_.groups.end(), of);
    ops.group.push_back(static_cast<std::uint32_t>(it - trace_.groups.begin()));
    if (it == trace_.groups.end()) trace_.groups.push_back(of);
  }

  // The call that launched an operation: 5 us long and 10 us before it, unless the row gives it.
  void launch(const LiteralRow& r, Ns op_start, const char* name, std::uint32_t correlation) {
    Span s{op_start - 10'000, op_start - 5'000};
    if (const auto launched = r.span("launched"))
      s = {launched->start + shift_, launched->end + shift_};
    add_call(s, name, thread(r), correlation);
  }

  void call(const LiteralRow& r) {
    add_call(span(r), r.text_at(3), thread(r), 0);
    trace_.calls.result.back() = static_cast<std::uint16_t>(r.count("result", 0, most_result));
  }

  void add_call(Span s, const std::string& name, std::uint16_t thread, std::uint32_t correlation) {
    trace_.calls.start.push_back(s.start);
    trace_.calls.end.push_back(s.end);
    trace_.calls.name.push_back(trace_.names.intern(name));
    trace_.calls.thread.push_back(thread);
    trace_.calls.correlation.push_back(correlation);
    trace_.calls.result.push_back(0);
  }

  // Adds a row: its times, its thread, what `rest` adds, and zeros in all other columns.
  template <class Events, class Rest>
  void add(Events& events, const LiteralRow& r, Rest rest) {
    if constexpr (requires { events.end; }) {
      const Span s = span(r);
      events.start.push_back(s.start);
      events.end.push_back(s.end);
    } else {
      events.start.push_back(r.time(1) + shift_);
    }
    rest(events);
    if constexpr (requires { events.thread; }) events.thread.push_back(thread(r));
    complete_rows(events);
  }

  NameId name(const std::string& text) { return trace_.names.intern(text); }

  void range(const LiteralRow& r) {
    std::string text = r.text_at(3);
    if (const std::size_t at = text.find("{n}"); at != std::string::npos)
      text.replace(at, 3, std::to_string(round_ + 1));
    add(trace_.ranges, r, [&](Ranges& ranges) {
      ranges.name.push_back(name(text));
      ranges.bytes.push_back(r.count("bytes", 0, largest_bytes));
      ranges.nest.push_back(1);
    });
  }

  void os_call(const LiteralRow& r) {
    add(trace_.os_calls, r, [&](OsCalls& calls) { calls.name.push_back(name(r.text_at(3))); });
  }

  void gpu_fault(const LiteralRow& r) {
    add(trace_.gpu_faults, r, [&](GpuFaults& faults) {
      faults.address.push_back(r.count("address", 0, largest_bytes));
      faults.count.push_back(r.count("count", 1, largest_bytes));
    });
  }

  void cpu_fault(const LiteralRow& r) {
    add(trace_.cpu_faults, r,
        [&](CpuFaults& faults) { faults.address.push_back(r.count("address", 0, largest_bytes)); });
  }

  void sample(const LiteralRow& r) {
    add(trace_.samples, r, [&](Samples& samples) {
      samples.period.push_back(
          static_cast<Ns>(1000 * std::clamp(r.number("period", 0), 0.0, 1e12)));
      samples.metric.push_back(name(r.text_at(2)));
      samples.value.push_back(r.number_at(3));
    });
  }

  void memory_use(const LiteralRow& r) {
    add(trace_.memory_use, r, [&](MemoryUse& use) {
      // Negative where memory is freed.
      use.bytes.push_back(static_cast<std::int64_t>(r.number("bytes", 0)));
      use.kind.push_back(MemoryKind::device);
    });
  }

  void cpu_stretch(const LiteralRow& r) {
    add(trace_.cpu_stretches, r,
        [&](CpuStretches& stretches) { stretches.cpu.push_back(r.count("cpu", 0, most_cpu)); });
  }

  void host_sample(const LiteralRow& r) {
    add(trace_.host_samples, r, [&](HostSamples& samples) {
      samples.function.push_back(name(r.text_at(2)));
      samples.module.push_back(name(r.text("module", "")));
      samples.line.push_back(name(r.text("line", "")));
      samples.is_python.push_back(r.is_true("python"));
    });
  }

  void python_lock(const LiteralRow& r) {
    add(trace_.python_lock, r, [&](PythonLock& lock) {
      const bool holds = r.is_true("holds");
      lock.name.push_back(name(holds ? "Holding GIL" : "Waiting for GIL"));
      lock.holds.push_back(holds);
    });
  }

  void environment() {
    if (table_.push("environment") == LUA_TTABLE) {
      const LuaTable variables(table_.lua(), -1, "'environment'");
      variables.only(known_variables());
      for (const std::string& name : variables.names())
        trace_.environment[name] = variables.text(name.c_str());
    }
    lua_pop(table_.lua(), 1);
  }

  Span span(const LiteralRow& r) const {
    const Span s{r.time(1) + shift_, r.time(2) + shift_};
    if (s.end < s.start) throw Error("an event ends before it starts");
    return s;
  }

  // A rank uses the GPU with its number, unless the row names another that its process uses.
  std::uint16_t gpu(const LiteralRow& r, std::uint16_t rank) {
    const std::uint16_t gpu = r.count("gpu", rank, most_rank);
    add_devices(gpu);
    return gpu;
  }

  void add_devices(std::uint16_t last) {
    while (trace_.devices.size() <= last) {
      trace_.devices.push_back(trace_.devices.front());
      trace_.devices.back().ordinal = static_cast<int>(trace_.devices.size()) - 1;
    }
  }

  // Each rank is a process with its own GPU.
  std::uint16_t rank(const LiteralRow& r) {
    const std::uint16_t rank = r.count("rank", 0, most_rank);
    while (trace_.processes.size() <= rank)
      trace_.processes.push_back(
          {static_cast<std::int64_t>(trace_.processes.size()) + 1, "python3"});
    add_devices(rank);
    return rank;
  }

  std::uint16_t thread(const LiteralRow& r) {
    const std::string name = r.text("thread", "main");
    const std::uint16_t process = rank(r);
    const auto [known, is_new] =
        threads_.emplace(std::pair(process, name), static_cast<std::uint16_t>(threads_.size()));
    if (!is_new) return known->second;
    if (threads_.size() > most_threads)
      throw Error(fmt::format("a literal trace has more than {} threads", most_threads));
    trace_.threads.push_back({process, known->second + std::int64_t{1}, name});
    return known->second;
  }

  std::uint32_t stream(const LiteralRow& r, std::int64_t id) {
    const std::uint16_t own = rank(r), on = gpu(r, own);
    const auto [known, is_new] =
        streams_.emplace(std::tuple(own, on, id), static_cast<std::uint32_t>(streams_.size()));
    if (!is_new) return known->second;
    if (streams_.size() > most_streams)
      throw Error(fmt::format("a literal trace has more than {} streams", most_streams));
    static constexpr std::array<const char*, 4> orders{"", "legacy", "blocking", "apart"};
    const std::string order = r.text("order", "");
    const auto at = std::find(orders.begin(), orders.end(), order);
    if (at == orders.end())
      throw Error(fmt::format("order: '{}' is not legacy, blocking or apart", order));
    trace_.streams.push_back({on, own, id, static_cast<StreamOrder>(at - orders.begin())});
    return known->second;
  }

  // Everything was recorded except for what the table says.
  void sources() {
    for (Availability& a : trace_.sources)
      a = {Collected::nothing_happened, "recorded, and none occurred", ""};
    for (const std::string& text : table_.texts("diagnostics"))
      trace_.diagnostics.push_back({2, text});
    for (const std::string& source : table_.texts("not_collected"))
      trace_.availability(source_named(source)) = {Collected::not_collected, "not recorded",
                                                   "--record-them"};
    const std::vector<OpKind>& kinds = trace_.ops.kind;
    if (std::find(kinds.begin(), kinds.end(), OpKind::graph) != kinds.end())
      trace_.availability(Source::graph_nodes) = {Collected::not_collected,
                                                  "CUDA graphs were traced as a whole",
                                                  "--cuda-graph-trace=node"};
  }

  static Source source_named(const std::string& name) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i)
      if (name == name_of(static_cast<Source>(i))) return static_cast<Source>(i);
    throw Error(fmt::format("not_collected: there is no source '{}'", name));
  }

  const LuaTable& table_;
  Trace trace_;
  std::map<std::pair<std::uint16_t, std::string>, std::uint16_t> threads_;  // by process and name
  // By process, device and id.
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::int64_t>, std::uint32_t> streams_;
  std::size_t events_ = 0;
  int round_ = 0;  // of `repeats`
  Ns shift_ = 0;   // of the round
  std::uint32_t correlation_ = 0;
};

}  // namespace

SandboxLimits literal_limits() {
  SandboxLimits limits;
  limits.text_bytes = 256u << 20;
  return limits;
}

Trace trace_from_lua(const LuaTable& table) { return Builder(table).build(); }

std::string_view literal_trace_example() {
  return R"lua({ device = { name = "NVIDIA H200", sm_count = 132, compute = 9.0, memory_gib = 141, clock_mhz = 1980, copy_engines = 3 },
  repeats = { times = 6, every = 1000 },      -- everything below again, later each time; {n} in a range's name counts from 1
  ops = { { 10, 110, kernel = "sm80_xmma_gemm_...", blocks = 132, stream = 7, launched = { 0, 5 }, thread = "main" },   -- blocks_x = 132, threads = 256, registers = 32, shared = 0 (bytes)
          { 120, 200, copy = "h2d", bytes = 1048576, from = "pinned" },   -- or to = "pageable", cause = "fault", address = 4096
          { 210, 215, set = true }, { 220, 230, graph = true },
          { 300, 350, kernel = "ncclDevKernel_AllReduce_...", stream = 8, rank = 1, group = "dp [0, 1]", ranks = 2 },   -- rank: another process
          { 300, 350, kernel = "gemm", gpu = 1 },   -- on another GPU of the same process
          { 360, 370, kernel = "k", stream = 9, order = "blocking" } },   -- how CUDA orders the stream: legacy, blocking, apart
  calls = { { 20, 25, "cudaStreamSynchronize", thread = "main", result = 0 } },
  ranges = { { 0, 900, "step {n}" } }, os_calls = { { 300, 400, "read" } },
  gpu_faults = { { 5, 9, address = 0, count = 3 } }, cpu_faults = { { 5, address = 0 } }, memory_use = { { 0, bytes = 1e9 } },
  samples = { { 5, "SMs Active [Throughput %]", 80 } },   -- period = 100: from a monitor, an average over the 100 us before
  cpu_stretches = { { 0, 300, thread = "main", cpu = 2 } },   -- when a thread was on a CPU
  host_samples = { { 5, "tokenize (train.py)", thread = "main", module = "train.py", line = "train.py(40): tokenize", python = true } },
  python_lock = { { 5, 9, thread = "main" }, { 0, 9, thread = "loader", holds = true } },   -- waiting for it, or holding it
  environment = { CUDA_LAUNCH_BLOCKING = "1" },
  measured_step = 800,   -- how long a step takes without the profiler
  diagnostics = { "text" }, not_collected = { "gpu_faults" } }
)lua";
}

Trace trace_from_text(std::string_view lua_text) {
  LuaSandbox sandbox(literal_limits());
  sandbox.load(lua_text, "trace");
  Trace trace;
  sandbox.run([&](lua_State* lua) { trace = trace_from_lua(LuaTable(lua, 1, "the trace")); });
  return trace;
}

}  // namespace gh
