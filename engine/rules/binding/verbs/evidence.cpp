// Rows as a finding shows them: tables that rule code hands on, and what is read back of them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "rules/binding/host_side.hpp"
#include "rules/binding/largest.hpp"
#include "rules/binding/verbs.hpp"

namespace gh {
namespace binding {
namespace {

constexpr std::size_t most_evidence = 100;  // of one finding

// --- What evidence says of a row

// What a copy moved, how fast, from where, and why.
std::string copy_note(const Ops& ops, Row op) {
  const auto bytes = static_cast<double>(ops.bytes[op]);
  const double seconds = static_cast<double>(ops.end[op] - ops.start[op]) / 1e9;
  std::string note = bytes_text(bytes);
  if (seconds > 0) note += fmt::format(" at {:.1f} GB/s", bytes / seconds / 1e9);
  const MemoryKind host_end = ops.copy[op] == CopyKind::h2d ? ops.source[op] : ops.target[op];
  if (host_end == MemoryKind::pageable || host_end == MemoryKind::pinned) {
    note += fmt::format(", {} host memory", name_of(host_end));
  }
  if (ops.cause[op] != MigrationCause::none) {
    note += fmt::format(", by {}", name_of(ops.cause[op]));
  }
  return note;
}

void describe_op(const Trace& t, Row op, Evidence& e) {
  switch (t.ops.kind[op]) {
    case OpKind::kernel: e.name = t.names[t.ops.name[op]]; break;
    case OpKind::copy:
      e.name = fmt::format("copy {}", name_of(t.ops.copy[op]));
      e.note = copy_note(t.ops, op);
      break;
    case OpKind::set: e.name = "memset"; break;
    case OpKind::graph: e.name = "graph"; break;
  }
}

void describe_idle(const Context& c, const Idle& idle, Evidence& e) {
  const Trace& t = c.trace();
  e.name = fmt::format("idle: {}", name_of(idle.cause));
  e.note = host_note(c, idle);
  if (idle.call == no_row) return;
  const std::string& call = t.names[t.calls.name[idle.call]];
  e.note = e.note.empty() ? call : call + ", " + e.note;
}

// What it is called, and what happened in it.
void describe(const Context& c, const Rows& s, Row r, Evidence& e) {
  const Trace& t = c.trace();
  switch (s.kind) {
    case Kind::ops: describe_op(t, r, e); break;
    case Kind::calls: e.name = t.names[t.calls.name[r]]; break;
    case Kind::ranges: e.name = t.names[t.ranges.name[r]]; break;
    case Kind::os_calls: e.name = t.names[t.os_calls.name[r]]; break;
    case Kind::gpu_faults: {
      const std::int64_t count = t.gpu_faults.count[r];
      e.name = "GPU page faults";
      e.note = fmt::format("{} fault{}", count, count == 1 ? "" : "s");
      break;
    }
    case Kind::idle: describe_idle(c, c.idle_of(r), e); break;
    case Kind::steps: e.name = fmt::format("step {}", c.step_of(r).number); break;
    case Kind::chains: e.name = shortened(t.names[t.ops.name[(*s.chains)[r].op]], 120); break;
  }
}

// The operation that a row is, or that stands for it; no_row of what is none.
Row op_of(const Rows& s, Row r) {
  switch (s.kind) {
    case Kind::ops: return r;
    case Kind::chains: return (*s.chains)[r].op;
    default: return no_row;
  }
}

SourceLine source_of(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.trace();
  if (s.kind == Kind::idle) return source_of_idle(c, c.idle_of(r));
  const Row op = op_of(s, r);
  const Row launch = op == no_row ? no_row : t.ops.call[op];
  if (launch == no_row) return source_around(c, thread_of(c, s, r), span_of(c, s, r).start);
  return source_around(c, t.calls.thread[launch], t.calls.start[launch]);
}

Evidence evidence_of(const Context& c, const Rows& s, Row r, const std::string& note) {
  const Trace& t = c.trace();
  Evidence e;
  e.span = span_of(c, s, r);
  if (const std::size_t slot = slot_of(c, s, r); slot != no_slot) e.device = c.ordinal(slot);
  if (const Row op = op_of(s, r); op != no_row) e.stream = t.streams[t.ops.stream[op]].id;
  e.thread = t.thread_label(thread_of(c, s, r));
  describe(c, s, r, e);
  if (!note.empty()) e.note += (e.note.empty() ? "" : "; ") + note;
  e.source = source_of(c, s, r);
  return e;
}

// --- As a Lua table, and back

void push_evidence(lua_State* lua, const Evidence& e) {
  lua_newtable(lua);
  set_integer(lua, "start_ns", e.span.start);
  set_integer(lua, "end_ns", e.span.end);
  set_integer(lua, "device", e.device);
  set_integer(lua, "stream", e.stream);
  set_text(lua, "thread", e.thread);
  set_text(lua, "name", e.name);
  set_text(lua, "note", e.note);
  if (e.source.line > 0) {
    set_text(lua, "file", e.source.file);
    set_integer(lua, "line", e.source.line);
  }
}

// Fields of the table on top of the stack, without calling anything of the rule's.

std::int64_t integer_in(lua_State* lua, const char* key) {
  lua_pushstring(lua, key);
  lua_rawget(lua, -2);
  int is_integer = 0;
  const lua_Integer value = lua_tointegerx(lua, -1, &is_integer);
  lua_pop(lua, 1);
  return is_integer ? value : -1;
}

std::string text_in(lua_State* lua, const char* key) {
  lua_pushstring(lua, key);
  lua_rawget(lua, -2);
  std::string text;
  if (lua_type(lua, -1) == LUA_TSTRING) {
    std::size_t length = 0;
    const char* bytes = lua_tolstring(lua, -1, &length);
    text = printable(std::string_view(bytes, length));
  }
  lua_pop(lua, 1);
  return text;
}

Evidence evidence_on_top(lua_State* lua) {
  Evidence e;
  e.span = {integer_in(lua, "start_ns"), integer_in(lua, "end_ns")};
  if (e.span.end < e.span.start) throw Error("evidence has to end after it starts");
  e.device = integer_in(lua, "device");
  e.stream = integer_in(lua, "stream");
  e.thread = text_in(lua, "thread");
  e.name = text_in(lua, "name");
  e.note = text_in(lua, "note");
  const std::int64_t line = std::clamp<std::int64_t>(integer_in(lua, "line"), 0, 1 << 30);
  e.source = {text_in(lua, "file"), static_cast<int>(line)};
  return e;
}

}  // namespace

int evidence(lua_State* lua, const Context& c, const Rows& asked) {
  std::size_t most = 5;
  std::string note;
  if (lua_istable(lua, 2)) {
    lua_getfield(lua, 2, "most");
    most = optional_count(lua, -1, most, most_evidence);
    lua_getfield(lua, 2, "note");
    note = luaL_optstring(lua, -1, "");
    lua_settop(lua, 2);
  }
  NewList list(lua);
  for (const Row r : largest(c, asked, most, Field::duration_ns)) {
    push_evidence(lua, evidence_of(c, asked, r, note));
    list.append();
  }
  return 1;
}

}  // namespace binding

std::vector<Evidence> to_evidence(lua_State* lua, int index) {
  std::vector<Evidence> list;
  if (lua_isnil(lua, index)) return list;
  if (!lua_istable(lua, index)) {
    throw Error("'evidence' has to be a list, as selection:evidence returns it");
  }
  binding::each_table(lua, index, binding::most_evidence,
                      [&] { list.push_back(binding::evidence_on_top(lua)); });
  return list;
}

}  // namespace gh
