// Malicious Lua made from bytes: values of every type in every place, deep, long, cyclic, with
// metatables that raise errors, and with the words that rules use, so that most of it gets past the
// first check.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace fuzz {

/// What to choose next, from a fuzzer's bytes; zeros once they are used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool any() const { return at_ != end_; }
  /// 0 to count - 1.
  std::size_t below(std::size_t count) { return at_ == end_ ? 0 : *at_++ % count; }
  template <std::size_t count>
  const char* of(const char* const (&list)[count]) {
    return list[below(count)];
  }

 private:
  const std::uint8_t *at_, *end_;
};

/// A key of anything that is read from Lua.
inline const char* lua_key(Choices& c) {
  static constexpr const char* keys[] = {
      "message",    "data",         "subject",   "recoverable_ns", "confidence",
      "advice",     "metrics",      "evidence",  "severity",       "at_most",
      "voids",      "follows_from", "about",     "change",         "uncertain",
      "name",       "value",        "unit",      "threshold",      "start_ns",
      "end_ns",     "device",       "stream",    "thread",         "note",
      "file",       "line",         "remove",    "scale",          "shorten",
      "fuse",       "graph",        "overlap",   "unblock",        "drop",
      "pause",      "by",           "least",     "most",           "gap_ns",
      "stalls",     "share",        "class",     "kind",           "direction",
      "from",       "to",           "memory",    "cause",          "phase",
      "min_ns",     "max_ns",       "min_bytes", "min_blocks",     "in_graph",
      "inferred",   "drained",      "migrating", "after",          "before",
      "inside",     "launched_in",  "centre",    "edge",           "through",
      "with",       "edges",        "of",        "metric",         "min_per_step",
      "trace",      "fixture",      "options",   "expect",         "replay",
      "worth",      "ops",          "calls",     "ranges",         "os_calls",
      "gpu_faults", "memory_use",   "samples",   "diagnostics",    "not_collected",
      "repeats",    "times",        "every",     "kernel",         "copy",
      "set",        "blocks",       "threads",   "address",        "launched",
      "rank",       "bytes",        "count",     "period",         "sm_count",
      "compute",    "clock_mhz",    "__index",   "__len",          "__gc",
      "__close",    "__mode"};
  return c.of(keys);
}

inline std::string lua_value(Choices& c, int depth);

/// A selection of the trace.
inline std::string lua_selection(Choices& c) {
  static constexpr const char* selections[] = {"trace:ops {}",
                                               "trace:ops { kind = 'kernel' }",
                                               "trace:ops { kind = 'copy' }",
                                               "trace:calls {}",
                                               "trace:ranges {}",
                                               "trace:os_calls {}",
                                               "trace:gpu_faults {}",
                                               "trace:idle {}",
                                               "trace:steps()",
                                               "trace:ops { name = '*' }:calls()",
                                               "(trace:runs { of = trace:ops {}, least = 1 })",
                                               "trace:round_trips()",
                                               "trace:ops { kind = 'none' }"};
  return c.of(selections);
}

inline std::string lua_scalar(Choices& c) {
  static constexpr const char* scalars[] = {"nil",
                                            "true",
                                            "false",
                                            "0",
                                            "1",
                                            "-1",
                                            "0.5",
                                            "0/0",
                                            "1/0",
                                            "-1/0",
                                            "1e300",
                                            "-1e300",
                                            "math.maxinteger",
                                            "math.mininteger",
                                            "2^53",
                                            "1e9",
                                            "17",
                                            "1000",
                                            "''",
                                            "'x'",
                                            "'main'",
                                            "'*'",
                                            "'gemm_*'",
                                            "'warning'",
                                            "'high'",
                                            "'ns'",
                                            "'bytes'",
                                            "'h2d'",
                                            "'step {n}'",
                                            "'clean'",
                                            "'snapshot'",
                                            "'\\0'",
                                            "'a\\0b'",
                                            "'\\27[31m'",
                                            "'\\xFF\\xFE'",
                                            "'::error::'",
                                            "string.rep('x', 16384)",
                                            "string.rep('x', 16385)",
                                            "string.rep('{share}', 2000)",
                                            "string.rep('*a', 500)",
                                            "string.rep('x', 1000000)",
                                            "print",
                                            "pairs",
                                            "trace",
                                            "trace.ops",
                                            "function() error('boom') end",
                                            "function() while true do end end"};
  return c.of(scalars);
}

inline std::string lua_table(Choices& c, int depth) {
  std::string table = "{ ";
  for (std::size_t left = c.below(7); left > 0; --left) {
    switch (c.below(8)) {
      case 0: table += lua_value(c, depth - 1) + ", "; break;
      case 1:
        table += "[" + std::to_string(c.below(40)) + "] = " + lua_value(c, depth - 1) + ", ";
        break;
      case 2: table += "[true] = 1, "; break;
      default: table += "['" + std::string(lua_key(c)) + "'] = " + lua_value(c, depth - 1) + ", ";
    }
  }
  return table + "}";
}

/// Any value. The state has the functions of lua_prelude.
inline std::string lua_value(Choices& c, int depth) {
  if (depth <= 0) return lua_scalar(c);
  switch (c.below(12)) {
    case 0:
      return "many(" + lua_value(c, depth - 1) + ", " + std::to_string(c.below(256) * 8) + ")";
    case 1: return "deep(" + lua_value(c, depth - 1) + ", " + std::to_string(c.below(256)) + ")";
    case 2: return "cyclic(" + lua_table(c, depth - 1) + ")";
    case 3: return "raising(" + lua_table(c, depth - 1) + ")";
    case 4: return "giving(" + lua_table(c, depth - 1) + ", " + lua_value(c, depth - 1) + ")";
    case 5:
    case 6: return lua_selection(c);
    case 7:
    case 8: return lua_scalar(c);
    default: return lua_table(c, depth);
  }
}

/// What lua_value uses.
inline const char* lua_prelude() {
  return R"(
local function many(v, n) local t = {} for i = 1, n do t[i] = v end return t end
local function deep(v, n) for i = 1, n do v = { v } end return v end
local function cyclic(t) t[1] = t t.data = t return t end
local function raising(t)
  local function boom() error("boom") end
  return setmetatable(t, { __index = boom, __newindex = boom, __len = boom, __call = boom, __eq = boom, __tostring = boom, __name = "gh.selection" })
end
local function giving(t, v) return setmetatable(t, { __index = function() return v end, __len = function() return 1e9 end }) end
)";
}

/// A finding that is valid except for one part, or a list of anything.
inline std::string lua_findings(Choices& c) {
  std::string body;
  for (std::size_t left = 1 + c.below(3); left > 0; --left) {
    if (c.below(6) == 0) {
      body += lua_value(c, 3) + ", ";
      continue;
    }
    body +=
        "with({ message = 'main', data = { share = 0.1 }, subject = 'it', recoverable_ns = 1, "
        "advice = { 'Do it.' } }, { ";
    for (std::size_t changes = 1 + c.below(4); changes > 0; --changes) {
      body += "['" + std::string(lua_key(c)) + "'] = " + lua_value(c, 3) + ", ";
    }
    body += "}), ";
  }
  return body;
}

/// A rule with this `evaluate`.
inline std::string lua_rule(const std::string& evaluate) {
  return std::string(lua_prelude()) +
         R"(
local function with(t, changes) for k, v in next, changes do t[k] = v end return t end
return { id = "fuzzed", category = "tests", title = "Fuzzed", since = "0.1", messages = { main = "It takes {share}" },
  doc = { what = "a", why = "b", fix = "c", wrong = "d" },
  evaluate = function(trace, options) )" +
         evaluate + " end }";
}

}  // namespace fuzz
