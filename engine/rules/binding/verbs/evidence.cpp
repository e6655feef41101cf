// Rows as shown by a finding: tables that rule code passes on, and reading them back.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/segments.hpp"
#include "base/text.hpp"
#include "rules/binding/host_side.hpp"
#include "rules/binding/largest.hpp"
#include "rules/binding/verbs.hpp"

namespace gh {
namespace binding {
namespace {

constexpr std::size_t usual_evidence = 5, most_evidence = 100;  // of one finding

// --- What evidence says about a row

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
  e.name = cause_label(cause_name(idle.cause));
  e.note = host_note(c, idle);
  if (idle.call == no_row) return;
  const std::string& call = t.names[t.calls.name[idle.call]];
  e.note = e.note.empty() ? call : call + ", " + e.note;
}

// The row's name, and what happened in it.
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
    case Kind::steps:
      e.name = fmt::format("{} {}", c.analysis.words().noun, c.step_of(r).number);
      break;
    case Kind::chains: e.name = shortened(t.names[t.ops.name[(*s.chains)[r].op]], 120); break;
  }
}

// The operation that a row is or that represents it; no_row if there is none.
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

Evidence evidence_of_idle(const Context& c, const Idle& idle, std::size_t slot) {
  Evidence e;
  e.span = idle.span;
  e.device = c.ordinal(slot);
  e.thread = c.trace().thread_label(idle.thread);
  describe_idle(c, idle, e);
  e.source = source_of_idle(c, idle);
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

// -1 if absent.
std::int64_t integer_in(const LuaTable& table, const char* key) {
  table.push(key);
  int is_integer = 0;
  const lua_Integer value = lua_tointegerx(table.lua(), -1, &is_integer);
  lua_pop(table.lua(), 1);
  return is_integer ? value : -1;
}

Evidence evidence_in(const LuaTable& table) {
  Evidence e;
  e.span = {integer_in(table, "start_ns"), integer_in(table, "end_ns")};
  if (e.span.end < e.span.start) throw Error("evidence must end after it starts");
  e.device = integer_in(table, "device");
  e.stream = integer_in(table, "stream");
  e.thread = table.text("thread", false);
  e.name = table.text("name", false);
  e.note = table.text("note", false);
  const std::int64_t line = std::clamp<std::int64_t>(integer_in(table, "line"), 0, 1 << 30);
  e.source = {table.text("file", false), static_cast<int>(line)};
  return e;
}

int evidence(lua_State* lua, const Context& c, const Rows& asked) {
  const auto with = named_arguments(lua, 2, "evidence", {"most", "note"});
  const std::size_t most =
      with ? with->count("most", usual_evidence, most_evidence) : usual_evidence;
  const std::string note = with ? with->text("note", false) : "";
  NewList list(lua);
  for (const Row r : largest(c, asked, most, Field::duration_ns)) {
    push_evidence(lua, evidence_of(c, asked, r, note));
    list.append();
  }
  return 1;
}

int outside_idle(lua_State* lua, const Context& c) {
  const double least_fraction = luaL_optnumber(lua, 2, 0);
  NewList list(lua);
  if (c.analysis.remade || fraction_outside(c.analysis) < least_fraction) return 1;
  charge(lua, c.trace().ops.size());
  const Segments& segments = c.analysis.segments();
  const auto recorded = static_cast<double>(std::max<Ns>(segments.device_ns(), 1));
  for (const Segment& segment : segments.list) {
    if (segment.kind == Segment::Kind::start_up) continue;
    for (const auto& [idle, slot] : segment.long_idle) {
      charge(lua, 10);
      const Trace& t = c.trace();
      const HostWork::Doing doing =
          c.in_steps.host_work().during(idle, c.analysis.devices[slot].process);
      const auto ns = static_cast<double>(idle.span.length());
      lua_newtable(lua);
      set_text(lua, "where", label_of(c.analysis, segment));
      set_text(lua, "cause", name_of(idle.cause));
      set_number(lua, "duration_ns", ns);
      set_number(lua, "fraction", ns / recorded);
      set_text(lua, "doing", t.names[doing.name]);
      set_text(lua, "within", t.names[doing.within]);
      set_integer(lua, "device", c.ordinal(slot));
      push_evidence(lua, evidence_of_idle(c, idle, slot));
      lua_setfield(lua, -2, "evidence");
      list.append();
    }
  }
  return 1;
}

constexpr Verb evidence_table[] = {
    {"trace:outside_idle", verb<outside_idle>},
    {"selection:evidence", verb<evidence, Cost{.rows = 1}>},
};

}  // namespace

const Verbs evidence_verbs = evidence_table;

}  // namespace binding

std::vector<Evidence> to_evidence(const LuaTable& finding) {
  std::vector<Evidence> list;
  finding.each("evidence", [&](int index) {
    if (list.size() == binding::most_evidence) return;  // the worst come first
    list.push_back(binding::evidence_in(LuaTable(finding.lua(), index, "evidence of a finding")));
  });
  return list;
}

}  // namespace gh
