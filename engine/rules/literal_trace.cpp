#include "rules/literal_trace.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

// One row of a list: positional numbers first, then named fields.
class Entry {
 public:
  Entry(lua_State* lua, std::string where, std::vector<std::string> keys)
      : lua_(lua), index_(lua_gettop(lua)), where_(std::move(where)) {
    if (!lua_istable(lua, index_)) throw Error(fmt::format("{} has to be a table", where_));
    for (lua_pushnil(lua); lua_next(lua, index_); lua_pop(lua, 1)) {
      if (lua_type(lua, -2) == LUA_TNUMBER) continue;
      const std::string key = lua_tostring(lua, -2);
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        throw Error(
            fmt::format("{} has an unknown field '{}'{}", where_, key, did_you_mean(key, keys)));
    }
  }

  Ns time(int position) const {
    lua_rawgeti(lua_, index_, position);
    const bool number = lua_type(lua_, -1) == LUA_TNUMBER;
    const double us = lua_tonumber(lua_, -1);
    lua_pop(lua_, 1);
    if (!number || std::abs(us) > 1e12)
      throw Error(fmt::format("{} needs a time in microseconds at position {}", where_, position));
    return static_cast<Ns>(std::llround(us * 1000));
  }
  std::string text_at(int position) const {
    lua_rawgeti(lua_, index_, position);
    const std::string s =
        lua_type(lua_, -1) == LUA_TSTRING
            ? lua_tostring(lua_, -1)
            : throw Error(fmt::format("{} needs a name at position {}", where_, position));
    lua_pop(lua_, 1);
    return s;
  }
  double number_at(int position) const {
    lua_rawgeti(lua_, index_, position);
    if (lua_type(lua_, -1) != LUA_TNUMBER)
      throw Error(fmt::format("{} needs a number at position {}", where_, position));
    const double n = lua_tonumber(lua_, -1);
    lua_pop(lua_, 1);
    return n;
  }
  bool has(const char* key) const {
    const bool there = lua_getfield(lua_, index_, key) != LUA_TNIL;
    lua_pop(lua_, 1);
    return there;
  }
  bool is_false(const char* key) const {
    lua_getfield(lua_, index_, key);
    const bool no = lua_isboolean(lua_, -1) && !lua_toboolean(lua_, -1);
    lua_pop(lua_, 1);
    return no;
  }
  bool is_true(const char* key) const {
    lua_getfield(lua_, index_, key);
    const bool yes = lua_toboolean(lua_, -1) != 0;
    lua_pop(lua_, 1);
    return yes;
  }
  std::string text(const char* key, const std::string& otherwise) const {
    const int type = lua_getfield(lua_, index_, key);
    const std::string s = type == LUA_TSTRING ? lua_tostring(lua_, -1) : otherwise;
    lua_pop(lua_, 1);
    return s;
  }
  double number(const char* key, double otherwise) const {
    const int type = lua_getfield(lua_, index_, key);
    const double n = type == LUA_TNUMBER ? lua_tonumber(lua_, -1) : otherwise;
    lua_pop(lua_, 1);
    return n;
  }
  std::optional<Span> span(const char* key) const {
    std::optional<Span> s;
    if (lua_getfield(lua_, index_, key) == LUA_TTABLE) {
      const Entry inner(lua_, fmt::format("'{}' of {}", key, where_), {});
      s = Span{inner.time(1), inner.time(2)};
    }
    lua_pop(lua_, 1);
    return s;
  }

 private:
  lua_State* lua_;
  int index_;
  std::string where_;
};

template <class E>
E named(const std::string& name, E last, const std::string& where) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    names.emplace_back(name_of(static_cast<E>(i)));
    if (names.back() == name) return static_cast<E>(i);
  }
  throw Error(fmt::format("{}: '{}' is none of {}{}", where, name, fmt::join(names, ", "),
                          did_you_mean(name, names)));
}

class Builder {
 public:
  Builder(lua_State* lua, int index) : lua_(lua), index_(lua_absindex(lua, index)) {}

  Trace build() {
    trace_.path = "literal trace";
    trace_.format = "literal";
    trace_.producer = "literal";
    trace_.schema = "literal";
    trace_.processes.push_back({1, "python3"});
    lua_pushvalue(lua_, index_);
    const Entry all(lua_, "the trace",
                    {"device", "repeats", "ops", "calls", "ranges", "os_calls", "gpu_faults",
                     "memory_use", "samples", "diagnostics", "not_collected"});
    lua_pop(lua_, 1);
    device();
    int times = 1;
    Ns every = 0;
    if (lua_getfield(lua_, index_, "repeats") == LUA_TTABLE) {
      const Entry r(lua_, "'repeats'", {"times", "every"});
      times = static_cast<int>(std::clamp(r.number("times", 1), 1.0, 1000.0));
      every = static_cast<Ns>(r.number("every", 0) * 1000);
    }
    lua_pop(lua_, 1);
    for (int i = 0; i < times; ++i) {
      round_ = i;
      shift_ = i * every;
      events();
    }
    sources();
    trace_.seal();
    return std::move(trace_);
  }

 private:
  template <class Each>
  void list(const char* key, const std::vector<std::string>& fields, Each each) {
    const int type = lua_getfield(lua_, index_, key);
    if (type != LUA_TNIL && type != LUA_TTABLE)
      throw Error(fmt::format("'{}' has to be a list", key));
    if (type == LUA_TTABLE)
      for (lua_Integer i = 1; lua_rawgeti(lua_, -1, i) != LUA_TNIL; ++i) {
        each(Entry(lua_, fmt::format("{}[{}]", key, i), fields));
        lua_pop(lua_, 1);
      }
    lua_settop(lua_, lua_gettop(lua_) - (type == LUA_TTABLE ? 2 : 1));
  }

  void device() {
    Device d{0, "NVIDIA H200", 132, 9, 0, std::int64_t{141} << 30, 4.8e12, 1.98e9};
    if (lua_getfield(lua_, index_, "device") == LUA_TTABLE) {
      const Entry r(lua_, "'device'", {"name", "sm_count", "compute", "memory_gib", "clock_mhz"});
      d.name = r.text("name", d.name);
      d.sm_count = static_cast<int>(r.number("sm_count", d.sm_count));
      const double compute = r.number("compute", 9.0);
      d.compute_major = static_cast<int>(compute);
      d.compute_minor = static_cast<int>(std::lround((compute - d.compute_major) * 10));
      d.memory_bytes = static_cast<std::int64_t>(r.number("memory_gib", 141) * (1 << 30));
      d.clock_hz = 1e6 * r.number("clock_mhz", 1980);
    }
    lua_pop(lua_, 1);
    trace_.devices.push_back(d);
  }

  // Each rank is a process with a GPU of its own.
  std::uint16_t rank(const Entry& r) {
    const auto rank = static_cast<std::uint16_t>(std::clamp(r.number("rank", 0), 0.0, 63.0));
    while (trace_.processes.size() <= rank)
      trace_.processes.push_back(
          {static_cast<std::int64_t>(trace_.processes.size()) + 1, "python3"});
    while (trace_.devices.size() <= rank) {
      trace_.devices.push_back(trace_.devices.front());
      trace_.devices.back().ordinal = static_cast<int>(trace_.devices.size()) - 1;
    }
    return rank;
  }

  std::uint16_t thread(const Entry& r) {
    const std::string name = r.text("thread", "main");
    const std::uint16_t process = rank(r);
    const auto it =
        std::find_if(trace_.threads.begin(), trace_.threads.end(),
                     [&](const Thread& t) { return t.process == process && t.name == name; });
    if (it != trace_.threads.end()) return static_cast<std::uint16_t>(it - trace_.threads.begin());
    trace_.threads.push_back({process, static_cast<std::int64_t>(trace_.threads.size()) + 1, name});
    return static_cast<std::uint16_t>(trace_.threads.size() - 1);
  }

  std::uint32_t stream(const Entry& r, std::int64_t id) {
    const std::uint16_t own = rank(r);
    const auto it = std::find_if(trace_.streams.begin(), trace_.streams.end(),
                                 [&](const Stream& s) { return s.process == own && s.id == id; });
    if (it != trace_.streams.end()) return static_cast<std::uint32_t>(it - trace_.streams.begin());
    trace_.streams.push_back({own, own, id});
    return static_cast<std::uint32_t>(trace_.streams.size() - 1);
  }

  Span span(const Entry& r) const {
    const Span s{r.time(1) + shift_, r.time(2) + shift_};
    if (s.end < s.start) throw Error("an event ends before it starts");
    return s;
  }

  void call(Span s, const std::string& name, std::uint16_t t, std::uint32_t correlation) {
    trace_.calls.start.push_back(s.start);
    trace_.calls.end.push_back(s.end);
    trace_.calls.name.push_back(trace_.names.intern(name));
    trace_.calls.thread.push_back(t);
    trace_.calls.correlation.push_back(correlation);
  }

  void events() {
    list("ops",
         {"kernel", "copy", "set", "graph", "stream", "bytes", "blocks", "threads", "from", "to",
          "cause", "address", "launched", "in_graph", "thread", "rank"},
         [&](const Entry& r) {
           const Span s = span(r);
           Ops& ops = trace_.ops;
           const OpKind kind = r.has("kernel")  ? OpKind::kernel
                               : r.has("copy")  ? OpKind::copy
                               : r.has("graph") ? OpKind::graph
                                                : OpKind::set;
           const CopyKind copied = kind == OpKind::copy
                                       ? named(r.text("copy", ""), CopyKind::other, "copy")
                                       : CopyKind::none;
           const bool host_source = copied == CopyKind::h2d, host_target = copied == CopyKind::d2h;
           const std::uint32_t correlation =
               is_unified(copied) || r.is_false("launched") ? 0 : ++correlation_;
           ops.start.push_back(s.start);
           ops.end.push_back(s.end);
           ops.kind.push_back(kind);
           ops.copy.push_back(copied);
           ops.correlation.push_back(correlation);
           ops.bytes.push_back(static_cast<std::int64_t>(r.number("bytes", 0)));
           ops.stream.push_back(stream(
               r, is_unified(copied) ? -1 : static_cast<std::int64_t>(r.number("stream", 7))));
           ops.name.push_back(trace_.names.intern(r.text("kernel", "")));
           ops.blocks.push_back(
               static_cast<std::uint32_t>(r.number("blocks", kind == OpKind::kernel ? 1024 : 0)));
           ops.threads.push_back(
               static_cast<std::uint16_t>(r.number("threads", kind == OpKind::kernel ? 256 : 0)));
           ops.source.push_back(named(r.text("from", host_source ? "pinned" : "device"),
                                      MemoryKind::unknown, "from"));
           ops.target.push_back(
               named(r.text("to", host_target ? "pinned" : "device"), MemoryKind::unknown, "to"));
           ops.cause.push_back(named(r.text("cause", ""), MigrationCause::access_counter, "cause"));
           ops.address.push_back(static_cast<std::int64_t>(r.number("address", 0)));
           ops.in_graph.push_back(r.is_true("in_graph"));
           if (correlation == 0) return;
           Span launched = r.span("launched")
                               .value_or(Span{s.start - shift_ - 10'000, s.start - shift_ - 5'000});
           launched.start += shift_;
           launched.end += shift_;
           call(launched,
                kind == OpKind::kernel ? "cudaLaunchKernel"
                : kind == OpKind::copy ? "cudaMemcpyAsync"
                : kind == OpKind::set  ? "cudaMemsetAsync"
                                       : "cudaGraphLaunch",
                thread(r), correlation);
         });
    list("calls", {"thread", "rank"},
         [&](const Entry& r) { call(span(r), r.text_at(3), thread(r), 0); });
    list("ranges", {"thread", "rank", "bytes"}, [&](const Entry& r) {
      std::string name = r.text_at(3);
      if (const std::size_t at = name.find("{n}"); at != std::string::npos)
        name.replace(at, 3, std::to_string(round_ + 1));
      const Span s = span(r);
      trace_.ranges.start.push_back(s.start);
      trace_.ranges.end.push_back(s.end);
      trace_.ranges.name.push_back(trace_.names.intern(name));
      trace_.ranges.thread.push_back(thread(r));
      trace_.ranges.bytes.push_back(static_cast<std::int64_t>(r.number("bytes", 0)));
    });
    list("os_calls", {"thread", "rank"}, [&](const Entry& r) {
      const Span s = span(r);
      trace_.os_calls.start.push_back(s.start);
      trace_.os_calls.end.push_back(s.end);
      trace_.os_calls.name.push_back(trace_.names.intern(r.text_at(3)));
      trace_.os_calls.thread.push_back(thread(r));
    });
    list("gpu_faults", {"address", "count"}, [&](const Entry& r) {
      const Span s = span(r);
      trace_.gpu_faults.start.push_back(s.start);
      trace_.gpu_faults.end.push_back(s.end);
      trace_.gpu_faults.device.push_back(0);
      trace_.gpu_faults.address.push_back(static_cast<std::int64_t>(r.number("address", 0)));
      trace_.gpu_faults.count.push_back(static_cast<std::int64_t>(r.number("count", 1)));
    });
    list("samples", {"period"}, [&](const Entry& r) {
      trace_.samples.start.push_back(r.time(1) + shift_);
      trace_.samples.period.push_back(
          static_cast<Ns>(1000 * std::clamp(r.number("period", 0), 0.0, 1e12)));
      trace_.samples.metric.push_back(trace_.names.intern(r.text_at(2)));
      trace_.samples.value.push_back(r.number_at(3));
      trace_.samples.device.push_back(0);
    });
    list("memory_use", {"bytes"}, [&](const Entry& r) {
      trace_.memory_use.start.push_back(r.time(1) + shift_);
      trace_.memory_use.bytes.push_back(static_cast<std::int64_t>(r.number("bytes", 0)));
      trace_.memory_use.device.push_back(0);
      trace_.memory_use.kind.push_back(MemoryKind::device);
    });
  }

  void sources() {
    for (Availability& a : trace_.sources)
      a = {Collected::nothing_happened, "recorded, and none occurred", ""};
    const auto texts = [&](const char* key, auto each) {
      if (lua_getfield(lua_, index_, key) == LUA_TTABLE)
        for (lua_Integer i = 1; lua_rawgeti(lua_, -1, i) == LUA_TSTRING; ++i) {
          each(std::string(lua_tostring(lua_, -1)));
          lua_pop(lua_, 1);
        }
      lua_settop(lua_, lua_gettop(lua_));
    };
    texts("diagnostics", [&](const std::string& t) { trace_.diagnostics.push_back({2, t}); });
    texts("not_collected", [&](const std::string& t) {
      for (std::size_t i = 0; i < trace_.sources.size(); ++i)
        if (t == name_of(static_cast<Source>(i))) {
          trace_.sources[i] = {Collected::not_collected, "the recording was made without them",
                               "--record-them"};
          return;
        }
      throw Error(fmt::format("not_collected: there is no source '{}'", t));
    });
    const bool graphs = std::find(trace_.ops.kind.begin(), trace_.ops.kind.end(), OpKind::graph) !=
                        trace_.ops.kind.end();
    if (graphs)
      trace_.availability(Source::graph_nodes) = {Collected::not_collected,
                                                  "CUDA graphs were traced as a whole",
                                                  "--cuda-graph-trace=node"};
  }

  lua_State* lua_;
  int index_;
  Trace trace_;
  int round_ = 0;
  Ns shift_ = 0;
  std::uint32_t correlation_ = 0;
};

}  // namespace

Trace trace_from_lua(lua_State* lua, int index) {
  const int top = lua_gettop(lua);
  Trace trace = Builder(lua, index).build();
  lua_settop(lua, top);
  return trace;
}

std::string_view literal_trace_example() {
  return R"({ device = { name = "NVIDIA H200", sm_count = 132, compute = 9.0, memory_gib = 141, clock_mhz = 1980 },
  repeats = { times = 6, every = 1000 },      -- everything below again, later each time; {n} in a range's name counts from 1
  ops = { { 10, 110, kernel = "sm80_xmma_gemm_...", blocks = 132, stream = 7, launched = { 0, 5 }, thread = "main" },
          { 120, 200, copy = "h2d", bytes = 1048576, from = "pinned" },   -- or to = "pageable", cause = "fault", address = 4096
          { 210, 215, set = true }, { 220, 230, graph = true } },
  calls = { { 20, 25, "cudaStreamSynchronize", thread = "main" } },
  ranges = { { 0, 900, "step {n}" } }, os_calls = { { 300, 400, "read" } },
  gpu_faults = { { 5, 9, address = 0, count = 3 } }, memory_use = { { 0, bytes = 1e9 } },
  samples = { { 5, "SMs Active [Throughput %]", 80 } },   -- period = 100: a monitor's, an average over so long before
  diagnostics = { "text" }, not_collected = { "gpu_faults" } }
)";
}

Trace trace_from_text(std::string_view lua_text) {
  LuaSandbox sandbox;
  sandbox.load(lua_text, "trace");
  return trace_from_lua(sandbox.state(), -1);
}

}  // namespace gh
