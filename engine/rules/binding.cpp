#include "rules/binding.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "analysis/flops.hpp"
#include "analysis/metrics.hpp"
#include "analysis/ranks.hpp"
#include "base/text.hpp"
#include "rules/sandbox.hpp"
#include "trace/metric_names.hpp"

namespace gh {
namespace {

constexpr const char* selection_type = "gh.selection";
constexpr const char* trace_type = "gh.trace";
constexpr const char* context_key = "gh.context";

enum class Kind { ops, calls, ranges, os_calls, gpu_faults, idle, steps, chains };

// A run of operations on one stream, from `chains` or `runs`.
struct Chain {
  Span span;
  Row first;
};

struct Rows {
  Kind kind = Kind::ops;
  RowSet rows;  // of the trace; for idle, steps and chains, of the lists below
  std::shared_ptr<const std::vector<Chain>> chains;  // of Kind::chains

  std::size_t bytes() const {
    return sizeof(Rows) + rows.bytes() + (chains ? chains->size() * sizeof(Chain) : 0);
  }
};

// Selections that a rule may hold at one time. Lua's collector does not see this memory, so it is
// counted here.
constexpr std::size_t most_held_bytes = 400'000'000, first_collection_bytes = 8'000'000;

struct Context {
  const Analysis& a;
  const Facts& facts;
  const RowsInSteps& in_steps;
  struct Ref {
    std::size_t device, index;
  };
  std::vector<std::size_t> idle_until, steps_until;  // by analysed device: rows up to and with it
  std::vector<std::size_t>
      device_slot;  // by device of the trace: position in Analysis::devices, or npos
  std::vector<std::size_t> stream_slot;  // the same by stream
  Span hull;
  std::size_t held_bytes = 0, collect_at = first_collection_bytes;

  explicit Context(const ApiHost& host)
      : a(host.analysis),
        facts(host.facts),
        in_steps(host.in_steps),
        device_slot(a.trace.devices.size(), std::string::npos),
        hull(a.hull()) {
    for (std::size_t d = 0; d < a.devices.size(); ++d) {
      device_slot[a.devices[d].device] = d;
      idle_until.push_back(idle_rows() + a.account.devices[d].idle.size());
      steps_until.push_back(step_rows() + a.devices[d].steps.size());
    }
    for (const Stream& s : a.trace.streams) stream_slot.push_back(device_slot[s.device]);
  }
  std::size_t idle_rows() const { return idle_until.empty() ? 0 : idle_until.back(); }
  std::size_t step_rows() const { return steps_until.empty() ? 0 : steps_until.back(); }
  // Which device's a row is, and its place there: a report has few devices, and most have one.
  static Ref place(const std::vector<std::size_t>& until, Row r) {
    std::size_t device = 0;
    while (until[device] <= r) ++device;
    return {device, r - (device > 0 ? until[device - 1] : 0)};
  }
  const Idle& idle_of(Row r) const {
    const Ref at = place(idle_until, r);
    return a.account.devices[at.device].idle[at.index];
  }
  const Step& step_of(Row r) const {
    const Ref at = place(steps_until, r);
    return a.devices[at.device].steps[at.index];
  }
};

Context& context(lua_State* lua) {
  lua_getfield(lua, LUA_REGISTRYINDEX, context_key);
  auto* c = static_cast<Context*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *c;
}

Rows& selection(lua_State* lua, int index) {
  return *static_cast<Rows*>(luaL_checkudata(lua, index, selection_type));
}

void push(lua_State* lua, Rows&& rows) {
  lua_charge(lua, static_cast<std::int64_t>(rows.rows.size() / 4));
  Context& c = context(lua);
  if (c.held_bytes + rows.bytes() >
      c.collect_at) {  // what the rule has let go of is counted until then
    lua_gc(lua, LUA_GCCOLLECT);
    c.collect_at = std::max(first_collection_bytes, 2 * c.held_bytes);
  }
  if (c.held_bytes + rows.bytes() > most_held_bytes)
    throw Error("the rule holds too many selections at one time");
  c.held_bytes += rows.bytes();
  void* memory = lua_newuserdatauv(lua, sizeof(Rows), 0);
  new (memory) Rows(std::move(rows));
  luaL_setmetatable(lua, selection_type);
}

void push(lua_State* lua, std::string_view text) { lua_pushlstring(lua, text.data(), text.size()); }
void push(lua_State* lua, double number) {
  if (number == std::floor(number) && std::abs(number) < 9e15)
    lua_pushinteger(lua, static_cast<lua_Integer>(number));
  else
    lua_pushnumber(lua, number);
}

// --- Rows of any kind seen alike
// ---------------------------------------------------------------------------------------------

Span span_of(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.a.trace;
  switch (s.kind) {
    case Kind::ops: return t.span_of(r);
    case Kind::calls: return {t.calls.start[r], t.calls.end[r]};
    case Kind::ranges: return {t.ranges.start[r], t.ranges.end[r]};
    case Kind::os_calls: return {t.os_calls.start[r], t.os_calls.end[r]};
    case Kind::gpu_faults: return {t.gpu_faults.start[r], t.gpu_faults.end[r]};
    case Kind::idle: return c.idle_of(r).span;
    case Kind::steps: return c.step_of(r).span;
    case Kind::chains: return (*s.chains)[r].span;
  }
  return {};
}

// The position of the row's device in Analysis::devices; npos for what the host does.
std::size_t slot_of(const Context& c, const Rows& s, Row r) {
  switch (s.kind) {
    case Kind::ops: return c.stream_slot[c.a.trace.ops.stream[r]];
    case Kind::gpu_faults: return c.device_slot[c.a.trace.gpu_faults.device[r]];
    case Kind::idle: return Context::place(c.idle_until, r).device;
    case Kind::steps: return Context::place(c.steps_until, r).device;
    case Kind::chains: return c.device_slot[c.a.trace.device_of((*s.chains)[r].first)];
    default: return std::string::npos;
  }
}

std::uint16_t thread_of(const Context& c, const Rows& s, Row r) {
  switch (s.kind) {
    case Kind::calls: return c.a.trace.calls.thread[r];
    case Kind::ranges: return c.a.trace.ranges.thread[r];
    case Kind::os_calls: return c.a.trace.os_calls.thread[r];
    case Kind::idle: return c.idle_of(r).thread;
    default: return no_index;
  }
}

const std::string& name_of_row(const Context& c, const Rows& s, Row r) {
  static const std::string none;
  const Trace& t = c.a.trace;
  switch (s.kind) {
    case Kind::ops: return t.names[t.ops.name[r]];
    case Kind::calls: return t.names[t.calls.name[r]];
    case Kind::ranges: return t.names[t.ranges.name[r]];
    case Kind::os_calls: return t.names[t.os_calls.name[r]];
    default: return none;
  }
}

enum class Field {
  name,
  class_,
  kind,
  direction,
  from,
  to,
  cause,
  thread,
  start_ns,
  end_ns,
  duration_ns,
  bytes,
  blocks,
  threads,
  stream,
  device,
  count,
  number
};

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> all{"name",        "class", "kind",   "direction", "from",
                                            "to",          "cause", "thread", "start_ns",  "end_ns",
                                            "duration_ns", "bytes", "blocks", "threads",   "stream",
                                            "device",      "count", "number"};
  return all;
}

Field field_named(const std::string& name) {
  const auto it = std::find(field_names().begin(), field_names().end(), name);
  if (it == field_names().end())
    throw Error(fmt::format("there is no field '{}'{}", printable(name),
                            did_you_mean(name, field_names())));
  return static_cast<Field>(it - field_names().begin());
}

constexpr std::uint32_t no_text = std::numeric_limits<std::uint32_t>::max();

// A small number that stands for the text of a row's field: rows with the same number have the same
// text. no_text where there is none.
std::uint32_t text_key(const Context& c, const Rows& s, Row r, Field field) {
  const Trace& t = c.a.trace;
  if (field == Field::thread) return thread_of(c, s, r) == no_index ? no_text : thread_of(c, s, r);
  switch (s.kind) {
    case Kind::ops: {
      const bool kernel = t.ops.kind[r] == OpKind::kernel;
      switch (field) {
        case Field::name: return t.ops.name[r];
        case Field::class_: return kernel ? c.a.names.kernel[t.ops.name[r]] : no_text;
        case Field::kind: return static_cast<std::uint32_t>(t.ops.kind[r]);
        case Field::direction: return static_cast<std::uint32_t>(t.ops.copy[r]);
        case Field::from: return kernel ? no_text : static_cast<std::uint32_t>(t.ops.source[r]);
        case Field::to: return kernel ? no_text : static_cast<std::uint32_t>(t.ops.target[r]);
        case Field::cause: return static_cast<std::uint32_t>(t.ops.cause[r]);
        default: return no_text;
      }
    }
    case Kind::calls:
      return field == Field::name     ? t.calls.name[r]
             : field == Field::class_ ? static_cast<std::uint32_t>(c.a.names.call[t.calls.name[r]])
                                      : no_text;
    case Kind::ranges: return field == Field::name ? t.ranges.name[r] : no_text;
    case Kind::os_calls: return field == Field::name ? t.os_calls.name[r] : no_text;
    case Kind::idle:
      if (field == Field::name)
        return c.idle_of(r).call == no_row ? no_text : t.calls.name[c.idle_of(r).call];
      return field == Field::cause ? static_cast<std::uint32_t>(c.idle_of(r).cause) : no_text;
    default: return no_text;
  }
}

// The text that such a number stands for.
std::string key_text(const Context& c, Kind kind, Field field, std::uint32_t key) {
  if (key == no_text) return "";
  switch (field) {
    case Field::name: return c.a.trace.names[key];
    case Field::thread: return c.a.trace.thread_label(static_cast<std::uint16_t>(key));
    case Field::class_:
      return kind == Kind::ops ? c.a.classes.kernel_classes()[key]
                               : name_of(static_cast<CallClass>(key));
    case Field::kind: return name_of(static_cast<OpKind>(key));
    case Field::direction: return name_of(static_cast<CopyKind>(key));
    case Field::from:
    case Field::to: return name_of(static_cast<MemoryKind>(key));
    case Field::cause:
      return kind == Kind::idle ? name_of(static_cast<IdleCause>(key))
                                : name_of(static_cast<MigrationCause>(key));
    default: return "";
  }
}

std::string text_field(const Context& c, const Rows& s, Row r, Field field) {
  return key_text(c, s.kind, field, text_key(c, s, r, field));
}

std::optional<double> number_field(const Context& c, const Rows& s, Row r, Field field) {
  const Trace& t = c.a.trace;
  const bool op = s.kind == Kind::ops;
  switch (field) {
    case Field::start_ns: return static_cast<double>(span_of(c, s, r).start);
    case Field::end_ns: return static_cast<double>(span_of(c, s, r).end);
    case Field::duration_ns: return static_cast<double>(span_of(c, s, r).length());
    case Field::bytes:
      return op ? std::optional<double>(static_cast<double>(t.ops.bytes[r]))
             : s.kind == Kind::ranges
                 ? std::optional<double>(static_cast<double>(t.ranges.bytes[r]))
                 : std::nullopt;
    case Field::blocks: return op ? std::optional<double>(t.ops.blocks[r]) : std::nullopt;
    case Field::threads: return op ? std::optional<double>(t.ops.threads[r]) : std::nullopt;
    case Field::stream:
      return op ? std::optional<double>(static_cast<double>(t.streams[t.ops.stream[r]].id))
                : std::nullopt;
    case Field::number:
      return s.kind == Kind::steps ? std::optional<double>(static_cast<double>(c.step_of(r).number))
                                   : std::nullopt;
    case Field::count:
      return s.kind == Kind::gpu_faults
                 ? std::optional<double>(static_cast<double>(t.gpu_faults.count[r]))
                 : std::nullopt;
    case Field::device: {
      const std::size_t slot = slot_of(c, s, r);
      return slot == std::string::npos
                 ? std::nullopt
                 : std::optional<double>(t.devices[c.a.devices[slot].device].ordinal);
    }
    default: return std::nullopt;
  }
}

Field checked_field(lua_State* lua, int index) { return field_named(luaL_checkstring(lua, index)); }

// --- Filters
// -----------------------------------------------------------------------------------------------------------------

std::vector<std::string> strings_at(lua_State* lua, int index, const std::string& key) {
  std::vector<std::string> out;
  if (lua_type(lua, index) == LUA_TSTRING) return {lua_tostring(lua, index)};
  if (!lua_istable(lua, index))
    throw Error(fmt::format("filter '{}' takes a string or a list of strings", key));
  for (lua_Integer i = 1; lua_rawgeti(lua, index, i) != LUA_TNIL; ++i) {
    if (lua_type(lua, -1) != LUA_TSTRING)
      throw Error(fmt::format("filter '{}' takes a string or a list of strings", key));
    out.emplace_back(lua_tostring(lua, -1));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return out;
}

using Test = std::function<bool(const Context&, const Rows&, Row)>;

// Whether small numbers in a column stand for texts that pass.
template <class Value>
Test column_test(const std::vector<Value>& column, std::size_t values,
                 const std::function<bool(std::size_t)>& passes) {
  std::vector<std::uint8_t> answers(values);
  for (std::size_t v = 0; v < values; ++v) answers[v] = passes(v);
  return [&column, answers = std::move(answers)](const Context&, const Rows&, Row r) {
    return answers[static_cast<std::size_t>(column[r])] != 0;
  };
}

// Globs are tried once for each distinct text, not for each row.
Test text_test(Field field, const std::vector<std::string>& globs) {
  auto answers = std::make_shared<std::vector<std::int8_t>>();  // by text_key, no_text first
  return [field, globs, answers](const Context& c, const Rows& s, Row r) {
    const std::uint32_t key = text_key(c, s, r, field);
    const std::size_t at = key == no_text ? 0 : key + std::size_t{1};
    if (at >= answers->size()) answers->resize(at + 1, -1);
    std::int8_t& answer = (*answers)[at];
    if (answer < 0) {
      const std::string text = key_text(c, s.kind, field, key);
      answer = std::any_of(globs.begin(), globs.end(),
                           [&](const std::string& g) { return glob_match(g, text); });
    }
    return answer == 1;
  };
}

// What rows have to pass. Name, class and kind are what nearly every filter of millions of rows
// asks for: they are answered once for each name that comes, and looked up.
class Filter {
 public:
  Filter(const Context& c, Kind kind)
      : kind_(kind), row_kinds_(kind == Kind::ops ? c.a.trace.ops.kind.data() : nullptr) {
    const Trace& t = c.a.trace;
    row_names_ = kind == Kind::ops        ? t.ops.name.data()
                 : kind == Kind::calls    ? t.calls.name.data()
                 : kind == Kind::ranges   ? t.ranges.name.data()
                 : kind == Kind::os_calls ? t.os_calls.name.data()
                                          : nullptr;
  }
  void push_back(Test test) { tests_.push_back(std::move(test)); }
  void none() { none_ = true; }
  void text(const Context& c, Field field, const std::vector<std::string>& globs) {
    const auto any = [&](const std::string& text) {
      return std::any_of(globs.begin(), globs.end(),
                         [&](const std::string& g) { return glob_match(g, text); });
    };
    const auto by_name = [&](std::function<bool(NameId)> passes) {
      if (names_.empty()) names_.assign(c.a.trace.names.size(), not_asked);
      name_tests_.push_back(std::move(passes));
    };
    // Whether each of `count` numbers stands for a text that passes.
    const auto answers = [&](std::size_t count, auto text_of) {
      std::vector<std::uint8_t> passes(count);
      for (std::size_t k = 0; k < count; ++k) passes[k] = any(text_of(k));
      return passes;
    };
    if (kind_ == Kind::ops && field == Field::kind) {
      for (std::size_t k = 0; k < kinds_.size(); ++k)
        kinds_[k] = kinds_[k] && any(name_of(static_cast<OpKind>(k)));
    } else if (row_names_ && field == Field::name) {
      by_name([&names = c.a.trace.names, globs](NameId n) {
        return std::any_of(globs.begin(), globs.end(),
                           [&](const std::string& g) { return glob_match(g, names[n]); });
      });
    } else if (kind_ == Kind::ops && field == Field::class_) {
      by_name([&of = c.a.names.kernel,
               passes = answers(c.a.classes.kernel_classes().size(), [&](std::size_t k) {
                 return c.a.classes.kernel_classes()[k];
               })](NameId n) { return passes[of[n]] != 0; });
      if (!any("")) kinds_ = {kinds_[0], false, false, false};  // only kernels have a class
    } else if (kind_ == Kind::calls && field == Field::class_) {
      by_name([&of = c.a.names.call,
               passes = answers(static_cast<std::size_t>(CallClass::event) + 1, [&](std::size_t k) {
                 return name_of(static_cast<CallClass>(k));
               })](NameId n) { return passes[static_cast<std::size_t>(of[n])] != 0; });
    } else if (kind_ == Kind::idle && field == Field::cause) {
      for (std::size_t k = 0; k < causes_.size(); ++k)
        causes_[k] = causes_[k] && any(name_of(static_cast<IdleCause>(k)));
      all_causes_ = false;
    } else if (kind_ == Kind::ops && field == Field::direction) {
      push_back(column_test(c.a.trace.ops.copy, static_cast<std::size_t>(CopyKind::other) + 1,
                            [&](std::size_t k) { return any(name_of(static_cast<CopyKind>(k))); }));
    } else if (const std::vector<std::uint16_t>* threads =
                   kind_ == Kind::calls      ? &c.a.trace.calls.thread
                   : kind_ == Kind::ranges   ? &c.a.trace.ranges.thread
                   : kind_ == Kind::os_calls ? &c.a.trace.os_calls.thread
                                             : nullptr;
               threads && field == Field::thread) {
      push_back(column_test(*threads, c.a.trace.threads.size(), [&](std::size_t t) {
        return any(c.a.trace.thread_label(static_cast<std::uint16_t>(t)));
      }));
    } else {
      push_back(text_test(field, globs));
    }
  }
  // The rows of `all` that pass. Each of the quick questions has a loop of its own.
  RowSet of(const Context& c, const Rows& all) const {
    if (none_) return {};
    const auto rows = [&](auto quick) {
      if (tests_.empty()) return all.rows.where(quick);
      return all.rows.where([&](Row r) {
        return quick(r) && std::all_of(tests_.begin(), tests_.end(),
                                       [&](const Test& t) { return t(c, all, r); });
      });
    };
    const auto by_kind = [this, kinds = kinds_](Row r) {
      return kinds[static_cast<std::size_t>(row_kinds_[r])];
    };
    const auto by_name = [this](Row r) { return passes_by_name(row_names_[r]); };
    const bool any_kind = std::find(kinds_.begin(), kinds_.end(), false) == kinds_.end();
    if (!all_causes_)
      return rows([this, causes = c.a.account.idle_causes.data()](Row r) {
        return causes_[static_cast<std::size_t>(causes[r])];
      });
    if (!any_kind && !names_.empty()) return rows([&](Row r) { return by_kind(r) && by_name(r); });
    if (!any_kind) return rows(by_kind);
    if (!names_.empty()) return rows(by_name);
    return tests_.empty() ? all.rows : rows([](Row) { return true; });
  }

 private:
  static constexpr std::int8_t not_asked = -1;
  bool passes_by_name(NameId n) const {
    std::int8_t& answer = names_[n];
    if (answer == not_asked)
      answer = std::all_of(name_tests_.begin(), name_tests_.end(),
                           [n](const auto& passes) { return passes(n); });
    return answer != 0;
  }

  Kind kind_;
  bool none_ = false;
  const OpKind* row_kinds_;                            // of operations
  const NameId* row_names_;                            // of what has names
  std::array<bool, 4> kinds_{true, true, true, true};  // by OpKind
  std::vector<std::function<bool(NameId)>> name_tests_;
  mutable std::vector<std::int8_t>
      names_;  // by NameId: their answer, once a row has asked; empty where there are none
  bool all_causes_ = true;
  std::array<bool, static_cast<std::size_t>(IdleCause::unknown) + 1> causes_ = [] {
    std::array<bool, static_cast<std::size_t>(IdleCause::unknown) + 1> all;
    all.fill(true);
    return all;
  }();
  std::vector<Test> tests_;
};

Filter parse_filter(lua_State* lua, int index, Kind kind) {
  Filter tests(context(lua), kind);
  if (lua_isnoneornil(lua, index)) return tests;
  luaL_checktype(lua, index, LUA_TTABLE);
  static const std::vector<std::string> keys{
      "name",      "class",      "kind",       "direction",  "from",     "to",      "cause",
      "thread",    "memory",     "device",     "phase",      "min_ns",   "max_ns",  "min_bytes",
      "max_bytes", "min_blocks", "max_blocks", "in_graph",   "inferred", "drained", "migrating",
      "after",     "before",     "inside",     "launched_in"};
  std::vector<std::string>
      given;  // sorted: Lua's own order differs from run to run, and so would errors
  for (lua_pushnil(lua); lua_next(lua, index); lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING)
      throw Error("a filter is a table of names and values: { class = \"gemm_*\" }");
    given.emplace_back(lua_tostring(lua, -2));
  }
  std::sort(given.begin(), given.end());
  for (const std::string& key : given) {
    lua_getfield(lua, index, key.c_str());
    const int value = lua_gettop(lua);
    const auto number = [&] { return luaL_checknumber(lua, value); };
    if (key == "min_ns")
      tests.push_back([n = number()](const Context& c, const Rows& s, Row r) {
        return static_cast<double>(span_of(c, s, r).length()) >= n;
      });
    else if (key == "max_ns")
      tests.push_back([n = number()](const Context& c, const Rows& s, Row r) {
        return static_cast<double>(span_of(c, s, r).length()) <= n;
      });
    else if (key == "min_bytes")
      tests.push_back([n = number()](const Context& c, const Rows& s, Row r) {
        return number_field(c, s, r, Field::bytes).value_or(0) >= n;
      });
    else if (key == "max_bytes")
      tests.push_back([n = number()](const Context& c, const Rows& s, Row r) {
        return number_field(c, s, r, Field::bytes).value_or(0) <= n;
      });
    else if (key == "min_blocks")
      tests.push_back([n = number()](const Context& c, const Rows& s, Row r) {
        return number_field(c, s, r, Field::blocks).value_or(0) >= n;
      });
    else if (key == "max_blocks")
      tests.push_back([n = number()](const Context& c, const Rows& s, Row r) {
        return number_field(c, s, r, Field::blocks).value_or(0) <= n;
      });
    else if (key == "device") {
      const double n = number();
      const Analysis& a = context(lua).a;
      const bool on_device = kind != Kind::calls && kind != Kind::ranges && kind != Kind::os_calls;
      const bool the_only_one =
          std::all_of(a.devices.begin(), a.devices.end(),
                      [&](const DeviceSteps& d) { return a.trace.devices[d.device].ordinal == n; });
      if (!on_device || !the_only_one)
        tests.push_back([n](const Context& c, const Rows& s, Row r) {
          return number_field(c, s, r, Field::device).value_or(-1) == n;
        });
    } else if (key == "phase") {
      const std::vector<std::string> wanted = strings_at(lua, value, key);
      std::vector<std::string> names;
      std::uint8_t bits = 0;
      for (std::size_t p = 0; p < static_cast<std::size_t>(Phase::count); ++p) {
        names.emplace_back(name_of(static_cast<Phase>(p)));
        if (std::find(wanted.begin(), wanted.end(), names.back()) != wanted.end())
          bits |= static_cast<std::uint8_t>(1 << p);
      }
      for (const std::string& w : wanted)
        if (std::find(names.begin(), names.end(), w) == names.end())
          throw Error(
              fmt::format("there is no phase '{}'{}", printable(w), did_you_mean(w, names)));
      tests.push_back([bits](const Context& c, const Rows& s, Row r) {
        return s.kind == Kind::ranges && (c.a.names.phases[c.a.trace.ranges.name[r]] & bits) != 0;
      });
    } else if (key == "in_graph")
      tests.push_back(
          [want = lua_toboolean(lua, value) != 0](const Context& c, const Rows& s, Row r) {
            return s.kind == Kind::ops && (c.a.trace.ops.in_graph[r] != 0) == want;
          });
    else if (key == "drained")
      tests.push_back(
          [want = lua_toboolean(lua, value) != 0](const Context& c, const Rows& s, Row r) {
            return s.kind == Kind::idle && c.idle_of(r).drained == want;
          });
    else if (key == "inferred")
      tests.push_back(
          [want = lua_toboolean(lua, value) != 0](const Context& c, const Rows& s, Row r) {
            return s.kind == Kind::idle && c.idle_of(r).inferred == want;
          });
    else if (key == "migrating") {
      const Trace& t = context(lua).a.trace;
      lua_charge(lua, static_cast<std::int64_t>(t.ops.size()));
      std::vector<Span> moved;  // of addresses, not of time
      for (Row r = 0; r < t.ops.size(); ++r)
        if (const std::int64_t at = t.ops.address_of(r); at != 0)
          moved.push_back({at, at + t.ops.bytes[r]});
      auto set = std::make_shared<const Spans>(united(std::move(moved)));
      tests.push_back([set, want = lua_toboolean(lua, value) != 0](const Context& c, const Rows& s,
                                                                   Row r) {
        const std::int64_t at = s.kind == Kind::gpu_faults ? c.a.trace.gpu_faults.address[r] : 0;
        return (overlap(*set, Span{at, at + 1}) > 0) == want;
      });
    } else if (key == "memory") {
      const Test from = text_test(Field::from, strings_at(lua, value, key)),
                 to = text_test(Field::to, strings_at(lua, value, key));
      tests.push_back([from, to](const Context& c, const Rows& s, Row r) {
        return from(c, s, r) || to(c, s, r);
      });
    } else if (key == "after" || key == "before") {
      const Rows& ops = selection(lua, value);
      if (ops.kind != Kind::ops)
        throw Error(fmt::format("filter '{}' takes a selection of operations", key));
      if (kind != Kind::idle || ops.rows.empty()) {
        tests.none();
      } else {
        const std::size_t all = context(lua).a.trace.ops.size();
        lua_charge(lua, static_cast<std::int64_t>(all / 64));
        tests.push_back([wanted = std::make_shared<const RowBits>(ops.rows, all),
                         before = key == "before"](const Context& c, const Rows&, Row r) {
          const Row op = before ? c.idle_of(r).next : c.idle_of(r).previous;
          return op != no_row && wanted->holds(op);
        });
      }
    } else if (key == "inside") {
      const Rows& other = selection(lua, value);
      lua_charge(lua, static_cast<std::int64_t>(other.rows.size()));
      std::vector<Span> spans;
      spans.reserve(other.rows.size());
      other.rows.each([&](Row r) { spans.push_back(span_of(context(lua), other, r)); });
      auto set = std::make_shared<const Spans>(united(std::move(spans)));
      tests.push_back([set](const Context& c, const Rows& s, Row r) {
        return overlap(*set, span_of(c, s, r)) == span_of(c, s, r).length();
      });
    } else if (key == "launched_in") {
      const Rows& ranges = selection(lua, value);
      if (ranges.kind != Kind::ranges && ranges.kind != Kind::calls)
        throw Error("filter 'launched_in' takes a selection of ranges or calls");
      lua_charge(lua, static_cast<std::int64_t>(ranges.rows.size()));
      std::map<std::uint16_t, std::vector<Span>>
          raw;  // by process: backward launches from a thread of its own
      const Context& c = context(lua);
      ranges.rows.each([&](Row r) {
        raw[c.a.trace.threads[thread_of(c, ranges, r)].process].push_back(span_of(c, ranges, r));
      });
      auto sets = std::make_shared<std::map<std::uint16_t, Spans>>();
      for (auto& [process, spans] : raw) (*sets)[process] = united(std::move(spans));
      tests.push_back([sets](const Context& c, const Rows& s, Row r) {
        if (s.kind != Kind::ops) return false;
        const Row call = c.a.trace.ops.call[r];
        const auto set = sets->find(c.a.trace.process_of(r));
        if (call == no_row || set == sets->end()) return false;
        const Ns at = c.a.trace.calls.start[call];
        return overlap(set->second, Span{at, at + 1}) > 0;
      });
    } else if (std::find(keys.begin(), keys.end(), key) != keys.end())
      tests.text(context(lua), field_named(key), strings_at(lua, value, key));
    else
      throw Error(
          fmt::format("there is no filter '{}'{}", printable(key), did_you_mean(key, keys)));
    lua_settop(lua, value - 1);
  }
  return tests;
}

Rows filtered(const Context& c, const Rows& all, const Filter& passes) {
  return {all.kind, passes.of(c, all), all.chains};
}

// --- Sets of time
// ------------------------------------------------------------------------------------------------------------

// Calls take(slot, span) with every row's time. What is asked of millions of rows is asked of one
// kind.
template <class Take>
void each_span(const Context& c, const Rows& s, Take take) {
  const Trace& t = c.a.trace;
  if (s.kind == Kind::ops)
    s.rows.each([&](Row r) {
      take(c.stream_slot[t.ops.stream[r]], Span{t.ops.start[r], t.ops.end[r]});
    });
  else if (s.kind == Kind::idle)
    s.rows.each([&](Row r) {
      const Context::Ref at = Context::place(c.idle_until, r);
      take(at.device, c.a.account.devices[at.device].idle[at.index].span);
    });
  else if (s.kind == Kind::calls)
    s.rows.each([&](Row r) { take(std::string::npos, Span{t.calls.start[r], t.calls.end[r]}); });
  else
    s.rows.each([&](Row r) { take(slot_of(c, s, r), span_of(c, s, r)); });
}

// A set of time that is asked about one span after the other, in order of their starts.
class Cursor {
 public:
  explicit Cursor(const Spans& set) : set_(&set) {}
  Ns overlap(Span span) {
    const Spans& set = *set_;
    while (at_ < set.size() && set[at_].end <= span.start) ++at_;
    Ns sum = 0;
    for (std::size_t i = at_; i < set.size() && set[i].start < span.end; ++i)
      sum += std::min(set[i].end, span.end) - std::max(set[i].start, span.start);
    return sum;
  }

 private:
  const Spans* set_;
  std::size_t at_ = 0;
};

// The time of a selection within the steps: one set for each device, or for the host as a whole.
// `near`: of a device's rows only those that touch this time on it.
std::map<std::size_t, Spans> time_of(const Context& c, const Rows& s,
                                     const std::map<std::size_t, Spans>* near = nullptr) {
  struct Raw {
    std::vector<Span> spans;
    std::optional<Cursor> near;
  };
  std::map<std::size_t, Raw> raw;
  std::size_t slot = std::string::npos;
  Raw* of_slot = nullptr;  // rows of one device follow each other, as a rule
  const bool in_order = s.kind != Kind::chains && s.kind != Kind::steps;
  each_span(c, s, [&](std::size_t next, Span span) {
    if (!of_slot || next != slot) {
      const auto [it, added] = raw.try_emplace(slot = next);
      of_slot = &it->second;
      static const Spans nothing;
      if (added && near && in_order && slot != std::string::npos)
        of_slot->near.emplace(near->contains(slot) ? near->at(slot) : nothing);
    }
    if (!of_slot->near || of_slot->near->overlap(span) > 0) of_slot->spans.push_back(span);
  });
  std::map<std::size_t, Spans> sets;
  for (auto& [device, of_device] : raw) {
    std::vector<Span>& all = of_device.spans;
    const Spans window =
        device == std::string::npos ? Spans{c.hull} : c.a.account.devices[device].window;
    if (window.size() == 1)  // as nearly always: no second copy of what may be millions of spans
      for (Span& span : all)
        span = {std::max(span.start, window[0].start), std::min(span.end, window[0].end)};
    sets[device] = united(std::move(all));
    if (window.size() != 1) sets[device] = intersection(sets[device], window);
  }
  return sets;
}

// Calls take(slot, span) with the parts of time_of, each device's in order, without holding them.
// False, and nothing is taken, where rows do not come in order of time.
template <class Take>
bool stream_time(const Context& c, const Rows& s, Take take) {
  if (s.kind == Kind::chains || s.kind == Kind::steps) return false;
  const std::size_t host = c.a.devices.size();
  std::vector<Span> windows(host + 1, Span{0, 0}), last(host + 1, Span{0, 0});
  windows[host] = c.hull;
  for (std::size_t d = 0; d < host; ++d) {
    const Spans& window = c.a.account.devices[d].window;
    if (window.size() > 1) return false;
    if (!window.empty()) windows[d] = window.front();
  }
  const auto slot_name = [&](std::size_t slot) { return slot == host ? std::string::npos : slot; };
  each_span(c, s, [&](std::size_t device, Span span) {
    const std::size_t slot = std::min(device, host);
    span = {std::max(span.start, windows[slot].start), std::min(span.end, windows[slot].end)};
    if (span.start >= span.end) return;
    Span& open = last[slot];
    if (open.start < open.end && span.start <= open.end) {
      open.end = std::max(open.end, span.end);
      return;
    }
    if (open.start < open.end) take(slot_name(slot), open);
    open = span;
  });
  for (std::size_t slot = 0; slot <= host; ++slot)
    if (last[slot].start < last[slot].end) take(slot_name(slot), last[slot]);
  return true;
}

// The time of a selection on every device.
double total_time(const Context& c, const Rows& s) {
  Ns sum = 0;
  if (!stream_time(c, s, [&](std::size_t, Span span) { sum += span.length(); }))
    for (const auto& [slot, set] : time_of(c, s)) sum += total(set);
  return static_cast<double>(sum);
}

const Spans& set_for(const std::map<std::size_t, Spans>& sets, std::size_t slot) {
  static const Spans none;
  if (const auto it = sets.find(slot); it != sets.end()) return it->second;
  // What the host does concerns every device.
  if (const auto it = sets.find(std::string::npos); it != sets.end()) return it->second;
  return none;
}

// --- Evidence
// ----------------------------------------------------------------------------------------------------------------

// The innermost of ranges or frames that the thread was in for at least such a share of the span.
// They nest, so of those it is the last to begin.
template <class Events>
Row innermost(const Events& events, std::uint16_t thread, Span span, double share) {
  const auto upto =
      std::lower_bound(events.start.begin(), events.start.end(), span.end) - events.start.begin();
  std::size_t looked = 0;
  for (auto r = static_cast<Row>(upto); r-- > 0 && looked < 100'000; ++looked)
    if (events.thread[r] == thread && static_cast<double>(std::min(events.end[r], span.end) -
                                                          std::max(events.start[r], span.start)) >=
                                          share * static_cast<double>(span.length()))
      return r;
  return no_row;
}

// What the launching thread did while the GPU idled: the range and the line of the program it was
// in, and the OS calls that took longest.
std::string host_note(const Context& c, const Idle& idle) {
  if (idle.thread == no_index) return "";
  const Trace& t = c.a.trace;
  std::string note;
  if (const Row range = innermost(t.ranges, idle.thread, idle.span, 1); range != no_row)
    note = fmt::format("in range '{}'", shortened(t.names[t.ranges.name[range]], 60));
  if (const Row frame = innermost(t.frames, idle.thread, idle.span, 0.5); frame != no_row)
    note += fmt::format("{}{}", note.empty() ? "in " : ", ",
                        shortened(t.names[t.frames.name[frame]], 60));
  std::map<std::string, std::pair<Ns, int>> os;
  const auto spent_in = [&](Row r) {
    auto& [ns, n] = os[t.names[t.os_calls.name[r]]];
    ns +=
        std::min(t.os_calls.end[r], idle.span.end) - std::max(t.os_calls.start[r], idle.span.start);
    ++n;
  };
  const auto first = static_cast<Row>(
      std::lower_bound(t.os_calls.start.begin(), t.os_calls.start.end(), idle.span.start) -
      t.os_calls.start.begin());
  for (Row r = first; r < t.os_calls.size() && t.os_calls.start[r] < idle.span.end; ++r)
    if (t.os_calls.thread[r] == idle.thread) spent_in(r);
  // The host runs ahead of the GPU: it may have begun to wait before. Of one thread only the last
  // call before can last until then.
  for (Row r = first, looked = 0; r-- > 0 && looked < 100'000; ++looked)
    if (t.os_calls.thread[r] == idle.thread) {
      if (t.os_calls.end[r] > idle.span.start) spent_in(r);
      break;
    }
  const auto longest = std::max_element(os.begin(), os.end(), [](const auto& x, const auto& y) {
    return x.second.first < y.second.first;
  });
  if (longest != os.end())
    note += fmt::format("{}{} {} call{} took {} of it", note.empty() ? "" : ", ",
                        longest->second.second, longest->first,
                        longest->second.second == 1 ? "" : "s", duration(longest->second.first));
  return note;
}

// The line of the program that the innermost of ranges or frames around a moment names, of those on
// wanted threads.
template <class Events, class Wanted>
SourceLine line_in(const Context& c, const Events& events, Ns at, Wanted wanted) {
  const auto upto =
      std::upper_bound(events.start.begin(), events.start.end(), at) - events.start.begin();
  std::size_t looked = 0;
  for (auto r = static_cast<Row>(upto); r-- > 0 && looked < 100'000; ++looked) {
    if (events.end[r] < at || !wanted(events.thread[r])) continue;
    if (const auto it = c.a.names.sources.find(events.name[r]); it != c.a.names.sources.end())
      return it->second;
  }
  return {};
}

// The forward operator of the backward one that a thread is in: its row of Trace::forwards.
Row forward_of(const Trace& t, std::uint16_t thread, Ns at) {
  const auto upto = std::upper_bound(t.forwards.start.begin(), t.forwards.start.end(), at) -
                    t.forwards.start.begin();
  std::size_t looked = 0;
  for (auto f = static_cast<Row>(upto); f-- > 0 && looked < 100'000; ++looked) {
    if (t.forwards.thread[f] != thread) continue;
    // Backward operators follow each other on their thread: either the last one lasts, or none
    // does.
    const auto same =
        std::equal_range(t.ranges.start.begin(), t.ranges.start.end(), t.forwards.start[f]);
    for (auto r = static_cast<Row>(same.first - t.ranges.start.begin());
         r < static_cast<Row>(same.second - t.ranges.start.begin()); ++r)
      if (t.ranges.thread[r] == thread && t.ranges.end[r] >= at) return f;
    return no_row;
  }
  return no_row;
}

// The line of the program at which a thread was: that of its Python frames, of its ranges, of the
// forward operator whose backward it computes; else of another thread of the process, since
// backward runs on a thread of its own while the one that called it waits.
SourceLine source_around(const Context& c, std::uint16_t thread, Ns at) {
  const Trace& t = c.a.trace;
  if (c.a.names.sources.empty() || thread == no_index) return {};
  const auto same = [thread](std::uint16_t other) { return other == thread; };
  if (SourceLine line = line_in(c, t.frames, at, same); line.line > 0) return line;
  if (SourceLine line = line_in(c, t.ranges, at, same); line.line > 0) return line;
  if (const Row f = forward_of(t, thread, at); f != no_row)
    if (SourceLine line =
            line_in(c, t.frames, t.forwards.forward_start[f],
                    [&](std::uint16_t other) { return other == t.forwards.forward_thread[f]; });
        line.line > 0)
      return line;
  const auto beside = [&](std::uint16_t other) {
    return t.threads[other].process == t.threads[thread].process;
  };
  if (SourceLine line = line_in(c, t.frames, at, beside); line.line > 0) return line;
  return line_in(c, t.ranges, at, beside);
}

// The line at which the host was for most of an idle time, as host_note names it; else where it
// made the call that it was in, or the one that ended it.
SourceLine source_of_idle(const Context& c, const Idle& idle) {
  const Trace& t = c.a.trace;
  if (const Row frame =
          idle.thread == no_index ? no_row : innermost(t.frames, idle.thread, idle.span, 0.5);
      frame != no_row)
    if (const auto it = c.a.names.sources.find(t.frames.name[frame]); it != c.a.names.sources.end())
      return it->second;
  const Row call = idle.call != no_row   ? idle.call
                   : idle.next != no_row ? t.ops.call[idle.next]
                                         : no_row;
  return call != no_row && t.frames.size() > 0
             ? source_around(c, t.calls.thread[call], t.calls.start[call])
             : source_around(c, idle.thread, idle.span.start);
}

Evidence evidence_of(const Context& c, const Rows& s, Row r, const std::string& note) {
  const Trace& t = c.a.trace;
  Evidence e;
  e.span = span_of(c, s, r);
  if (const std::size_t slot = slot_of(c, s, r); slot != std::string::npos)
    e.device = t.devices[c.a.devices[slot].device].ordinal;
  const Row op = s.kind == Kind::ops ? r : s.kind == Kind::chains ? (*s.chains)[r].first : no_row;
  if (op != no_row) e.stream = t.streams[t.ops.stream[op]].id;
  e.thread = c.a.trace.thread_label(thread_of(c, s, r));
  e.name = name_of_row(c, s, r);
  if (s.kind == Kind::idle) {
    const Idle& idle = c.idle_of(r);
    e.name = fmt::format("idle: {}", name_of(idle.cause));
    e.note = host_note(c, idle);
    if (idle.call != no_row)
      e.note = fmt::format("{}{}{}", t.names[t.calls.name[idle.call]], e.note.empty() ? "" : ", ",
                           e.note);
  }
  if (s.kind == Kind::steps) e.name = fmt::format("step {}", c.step_of(r).number);
  if (s.kind == Kind::gpu_faults) {
    e.name = "GPU page faults";
    e.note =
        fmt::format("{} fault{}", t.gpu_faults.count[r], t.gpu_faults.count[r] == 1 ? "" : "s");
  }
  if (s.kind == Kind::chains) e.name = shortened(t.names[t.ops.name[op]], 120);
  if (s.kind == Kind::ops && t.ops.kind[r] != OpKind::kernel) {
    e.name = t.ops.kind[r] == OpKind::copy  ? fmt::format("copy {}", name_of(t.ops.copy[r]))
             : t.ops.kind[r] == OpKind::set ? "memset"
                                            : "graph";
    if (t.ops.kind[r] == OpKind::copy) {
      const double seconds = static_cast<double>(e.span.length()) / 1e9;
      e.note = bytes_text(static_cast<double>(t.ops.bytes[r]));
      if (seconds > 0)
        e.note +=
            fmt::format(" at {:.1f} GB/s", static_cast<double>(t.ops.bytes[r]) / seconds / 1e9);
      const MemoryKind host_end =
          t.ops.copy[r] == CopyKind::h2d ? t.ops.source[r] : t.ops.target[r];
      if (host_end == MemoryKind::pageable || host_end == MemoryKind::pinned)
        e.note += fmt::format(", {} host memory", name_of(host_end));
      if (t.ops.cause[r] != MigrationCause::none)
        e.note += fmt::format(", by {}", name_of(t.ops.cause[r]));
    }
  }
  if (!note.empty()) e.note += (e.note.empty() ? "" : "; ") + note;
  const Row launch = op != no_row ? t.ops.call[op] : no_row;
  if (s.kind == Kind::idle)
    e.source = source_of_idle(c, c.idle_of(r));
  else
    e.source = launch != no_row ? source_around(c, t.calls.thread[launch], t.calls.start[launch])
                                : source_around(c, thread_of(c, s, r), e.span.start);
  return e;
}

// --- trace:
// ------------------------------------------------------------------------------------------------------------------

int trace_fact(lua_State* lua) {
  const FactValue& v = context(lua).facts.value(luaL_checkstring(lua, 2));
  if (const auto* number = std::get_if<double>(&v))
    push(lua, *number);
  else if (const auto* text = std::get_if<std::string>(&v))
    push(lua, *text);
  else {
    lua_pushnil(lua);
    push(lua, std::get<Unknown>(v).reason);
    return 2;
  }
  return 1;
}

int trace_available(lua_State* lua) {
  const Context& c = context(lua);
  const std::string wanted = luaL_checkstring(lua, 2);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i) {
    names.emplace_back(name_of(static_cast<Source>(i)));
    if (names.back() != wanted) continue;
    const Availability& have = c.a.trace.sources[i];
    lua_pushboolean(lua, have.known());
    push(lua, have.reason);
    push(lua, have.record_with);
    return 3;
  }
  throw Error(
      fmt::format("there is no source '{}'{}", printable(wanted), did_you_mean(wanted, names)));
}

// The rows that pass the filter at index 2 of the stack.
int select(lua_State* lua, Kind kind, const RowSet& all) {
  lua_charge(lua, static_cast<std::int64_t>(all.size() / 4));
  const Filter passes = parse_filter(lua, 2, kind);
  push(lua, filtered(context(lua), Rows{kind, all, {}}, passes));
  return 1;
}

int trace_ops(lua_State* lua) { return select(lua, Kind::ops, context(lua).in_steps.ops); }
int trace_calls(lua_State* lua) { return select(lua, Kind::calls, context(lua).in_steps.calls); }
int trace_ranges(lua_State* lua) { return select(lua, Kind::ranges, context(lua).in_steps.ranges); }
int trace_os_calls(lua_State* lua) {
  return select(lua, Kind::os_calls, context(lua).in_steps.os_calls);
}
int trace_gpu_faults(lua_State* lua) {
  return select(lua, Kind::gpu_faults, context(lua).in_steps.gpu_faults);
}
int trace_idle(lua_State* lua) { return select(lua, Kind::idle, context(lua).in_steps.idle); }
int trace_steps(lua_State* lua) { return select(lua, Kind::steps, context(lua).in_steps.steps); }

int trace_threads(lua_State* lua) {
  const Context& c = context(lua);
  const std::string glob = luaL_checkstring(lua, 2);
  std::set<std::uint16_t> processes;
  for (const DeviceSteps& d : c.a.devices) processes.insert(d.process);
  lua_Integer n = 0;
  for (const Thread& t : c.a.trace.threads)
    n += processes.contains(t.process) && glob_match(glob, t.name);
  lua_pushinteger(lua, n);
  return 1;
}

int trace_diagnostics(lua_State* lua) {
  const Context& c = context(lua);
  const std::string glob = luaL_checkstring(lua, 2);
  const auto least = static_cast<int>(luaL_optinteger(lua, 3, 2));
  lua_newtable(lua);
  lua_Integer n = 0;
  for (const Diagnostic& d : c.a.trace.diagnostics)
    if (d.severity >= least && glob_match(glob, d.text)) {
      push(lua, shortened(d.text, 300));
      lua_rawseti(lua, -2, ++n);
    }
  return 1;
}

int trace_problems(lua_State* lua) {
  lua_newtable(lua);
  lua_Integer n = 0;
  for (const std::string& p : context(lua).a.trace.problems) {
    push(lua, p);
    lua_rawseti(lua, -2, ++n);
  }
  return 1;
}

// The table of named arguments at index 2.
lua_Number option(lua_State* lua, const char* key, lua_Number otherwise) {
  if (!lua_istable(lua, 2)) return otherwise;
  lua_getfield(lua, 2, key);
  const lua_Number n = luaL_optnumber(lua, -1, otherwise);
  lua_pop(lua, 1);
  return n;
}

// A whole number among them, 0 to `most`.
std::size_t option_count(lua_State* lua, const char* key, std::size_t otherwise, std::size_t most) {
  const lua_Number n = option(lua, key, static_cast<lua_Number>(otherwise));
  return n >= 0 ? static_cast<std::size_t>(std::min(n, static_cast<lua_Number>(most))) : 0;
}

constexpr std::size_t most_bytes = std::size_t{1} << 50;

int trace_round_trips(lua_State* lua) {
  const Context& c = context(lua);
  const auto least = static_cast<std::int64_t>(option_count(lua, "min_bytes", 1 << 20, most_bytes));
  lua_charge(lua, static_cast<std::int64_t>(c.in_steps.copies.size() + c.a.trace.ops.size() / 64));
  RowBits found(c.a.trace.ops.size());
  lua_Integer pairs = 0;
  const Ops& ops = c.a.trace.ops;
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<Row>>
      away;  // on the host, by device and size
  c.in_steps.copies.each([&](Row op) {
    if (ops.bytes[op] < least || ops.end[op] == ops.start[op]) return;
    auto& candidates = away[{c.stream_slot[ops.stream[op]], ops.bytes[op]}];
    if (ops.copy[op] == CopyKind::d2h) candidates.push_back(op);
    if (ops.copy[op] != CopyKind::h2d || candidates.empty() ||
        ops.end[candidates.back()] > ops.start[op])
      return;
    found.add(candidates.back());
    found.add(op);
    candidates.pop_back();
    ++pairs;
  });
  lua_pushinteger(lua, pairs);
  push(lua, Rows{Kind::ops, std::move(found).set(), {}});
  lua_insert(lua, -2);
  return 2;
}

// Whether what comes bit by bit are the micro-batches of gradient accumulation rather than layers:
// a loss is computed after nearly every one of them. `uploads` are of one step, in order.
bool micro_batches(const Context& c, const std::vector<Row>& uploads) {
  const Ops& ops = c.a.trace.ops;
  const std::vector<Row>& all =
      c.a.devices[c.device_slot[c.a.trace.device_of(uploads.front())]].ops;
  std::size_t bursts = 0, with_loss = 0;
  bool computed = false, loss = false;  // since the last upload
  auto next = std::lower_bound(all.begin(), all.end(), ops.start[uploads.front()],
                               [&](Row op, Ns at) { return ops.start[op] < at; });
  const auto finish = [&] {
    bursts += computed;
    with_loss += loss;
    computed = loss = false;
  };
  for (const Row upload : uploads) {
    for (; next != all.end() && ops.start[*next] < ops.start[upload]; ++next)
      if (ops.kind[*next] == OpKind::kernel) {
        computed = true;
        loss = loss || c.a.kernel_class(*next) == "softmax_loss";
      }
    finish();
  }
  return 4 * with_loss >= 3 * bursts && bursts > 0;
}

int trace_streamed_uploads(lua_State* lua) {
  const Context& c = context(lua);
  const auto least = static_cast<std::int64_t>(option_count(lua, "min_bytes", 1 << 20, most_bytes));
  const std::size_t per_step = option_count(lua, "min_per_step", 4, most_bytes);
  lua_charge(lua, static_cast<std::int64_t>(c.a.trace.ops.size() / 4));
  RowBits found(c.a.trace.ops.size());
  for (const DeviceSteps& device : c.a.devices) {
    const Ops& ops = c.a.trace.ops;
    std::size_t at = 0;
    for (const Step& step : device.steps) {
      std::vector<Row> uploads;
      std::size_t bursts =
          0;  // uploads with no kernel between them: the tensors of one layer, or of one batch
      bool computed = true;  // since the last upload
      while (at < device.ops.size() && ops.start[device.ops[at]] < step.span.start) ++at;
      for (; at < device.ops.size() && ops.start[device.ops[at]] < step.span.end; ++at) {
        const Row op = device.ops[at];
        if (ops.kind[op] == OpKind::kernel) computed = true;
        if (ops.copy[op] != CopyKind::h2d || ops.bytes[op] < least) continue;
        bursts += computed;
        computed = false;
        uploads.push_back(op);
      }
      if (bursts >= per_step && !micro_batches(c, uploads))
        for (const Row op : uploads) found.add(op);
    }
  }
  push(lua, Rows{Kind::ops, std::move(found).set(), {}});
  return 1;
}

// The named selection in the table of arguments, or nothing.
const Rows* option_rows(lua_State* lua, int table, const char* key) {
  lua_getfield(lua, table, key);
  const Rows* rows = lua_isnil(lua, -1) ? nullptr : &selection(lua, -1);
  lua_pop(lua, 1);  // the table keeps it alive
  if (rows && rows->kind != Kind::ops)
    throw Error(fmt::format("'{}' takes a selection of operations", key));
  return rows;
}

int trace_chains(lua_State* lua) {
  constexpr std::size_t most_required = 16;
  const Context& c = context(lua);
  luaL_checktype(lua, 2, LUA_TTABLE);
  const Rows* centre = option_rows(lua, 2, "centre");
  const Rows* edge = option_rows(lua, 2, "edge");
  const Rows* through = option_rows(lua, 2, "through");
  if (!centre || !edge || !through) throw Error("chains needs 'centre', 'edge' and 'through'");
  const std::size_t most = option_count(lua, "most", 14, 1000),
                    edges_a_side = option_count(lua, "edges", 1, 1000);
  const Trace& t = c.a.trace;
  lua_charge(lua, static_cast<std::int64_t>(t.ops.size() / 16));
  const RowBits centres(centre->rows, t.ops.size()), edged(edge->rows, t.ops.size()),
      passable(through->rows.plus(centre->rows), t.ops.size());
  RowBits used(t.ops.size());
  std::vector<RowBits> required;  // each chain needs one of each
  lua_getfield(lua, 2, "with");
  if (lua_istable(lua, -1))
    for (lua_Integer i = 1; lua_rawgeti(lua, -1, i) != LUA_TNIL; ++i) {
      const Rows& one_of = selection(lua, -1);
      if (one_of.kind != Kind::ops) throw Error("'with' takes selections of operations");
      if (required.size() == most_required)
        throw Error(fmt::format("'with' takes at most {} selections", most_required));
      required.emplace_back(one_of.rows, t.ops.size());
      lua_pop(lua, 1);
    }
  lua_settop(lua, 2);
  if (centre->rows.empty()) {
    for (const Kind kind : {Kind::chains, Kind::ops, Kind::ops}) push(lua, Rows{kind, {}, {}});
    return 3;
  }
  lua_charge(lua, static_cast<std::int64_t>(t.ops.size() / 2));

  auto found = std::make_shared<std::vector<Chain>>();
  RowBits edges(t.ops.size());
  std::vector<Row> before, after, edges_before, edges_after, all;
  for (const std::vector<Row>& ops : c.in_steps.by_stream())
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!centres.holds(ops[i]) || used.holds(ops[i])) continue;
      const auto walk = [&](std::ptrdiff_t step, std::vector<Row>& passed, std::vector<Row>& met) {
        passed.clear();
        met.clear();
        std::size_t walked = 0;
        for (auto j = static_cast<std::ptrdiff_t>(i) + step;
             j >= 0 && j < static_cast<std::ptrdiff_t>(ops.size()) && walked <= most;
             j += step, ++walked) {
          const Row op = ops[static_cast<std::size_t>(j)];
          if (edged.holds(op)) {
            met.push_back(op);
            if (met.size() == edges_a_side) break;
          } else if (!met.empty())
            break;  // edges of one side stand next to each other
          else if (passable.holds(op))
            passed.push_back(op);
          else {
            met.clear();
            break;
          }  // something that does not belong there
        }
        return !met.empty();
      };
      if (!walk(-1, before, edges_before) || !walk(1, after, edges_after)) continue;
      all.assign(before.rbegin(), before.rend());
      all.push_back(ops[i]);
      all.insert(all.end(), after.begin(), after.end());
      const bool complete = std::all_of(required.begin(), required.end(), [&](const RowBits& r) {
        return std::any_of(all.begin(), all.end(), [&](Row op) { return r.holds(op); });
      });
      if (!complete) continue;
      for (const Row op : all) used.add(op);
      for (const Row op : edges_before) edges.add(op);
      for (const Row op : edges_after) edges.add(op);
      found->push_back({{t.ops.start[all.front()], t.ops.end[all.back()]}, ops[i]});
    }
  push(lua, Rows{Kind::chains, RowSet::all(found->size()), found});
  push(lua, Rows{Kind::ops, std::move(used).set(), {}});
  push(lua, Rows{Kind::ops, std::move(edges).set(), {}});
  return 3;
}

int trace_runs(lua_State* lua) {
  const Context& c = context(lua);
  luaL_checktype(lua, 2, LUA_TTABLE);
  const Rows* of = option_rows(lua, 2, "of");
  if (!of) throw Error("runs needs 'of', a selection of operations");
  const std::size_t least = std::max<std::size_t>(1, option_count(lua, "least", 3, most_bytes));
  const Trace& t = c.a.trace;
  lua_charge(lua, static_cast<std::int64_t>(t.ops.size() / 2));
  const RowBits wanted(of->rows, t.ops.size());
  auto found = std::make_shared<std::vector<Chain>>();
  RowBits inner(t.ops.size()), longest(t.ops.size());
  std::vector<Row> run;  // that is being gathered
  const auto finish = [&] {
    if (run.size() >= least) {
      found->push_back({{t.ops.start[run.front()], t.ops.end[run.back()]}, run.front()});
      for (const Row op : run) inner.add(op);
      longest.add(*std::max_element(run.begin(), run.end(), [&](Row a, Row b) {
        return t.span_of(a).length() < t.span_of(b).length();
      }));
    }
    run.clear();
  };
  for (const std::vector<Row>& ops : c.in_steps.by_stream()) {
    for (const Row op : ops) {
      if (wanted.holds(op))
        run.push_back(op);
      else if (!is_unified(t.ops.copy[op]))
        finish();
    }
    finish();
  }
  push(lua, Rows{Kind::chains, RowSet::all(found->size()), found});
  push(lua, Rows{Kind::ops, std::move(inner).set(), {}});
  push(lua, Rows{Kind::ops, std::move(longest).set(), {}});
  return 3;
}

// Whether a sample lies within the steps of its device.
bool sampled_in_steps(const Context& c, Row r) {
  const std::size_t slot = c.device_slot[c.a.trace.samples.device[r]];
  return slot != std::string::npos && gh::sampled_in_steps(c.a, slot, r);
}

int not_sampled(lua_State* lua, const std::string& glob) {
  const Availability& have = context(lua).a.trace.availability(Source::samples);
  lua_pushnil(lua);
  push(lua, have.known()
                ? fmt::format("no metric '{}' was sampled within the steps", printable(glob))
                : have.reason);
  push(lua, have.record_with);
  return 3;
}

int trace_metric(lua_State* lua) {
  const Context& c = context(lua);
  const std::string glob = luaL_checkstring(lua, 2);
  const Samples& s = c.a.trace.samples;
  lua_charge(lua, static_cast<std::int64_t>(s.size() / 4));
  std::map<NameId, bool> matches;
  std::vector<double> values;
  Ns period = 0;
  for (Row r = 0; r < s.size(); ++r) {
    const auto [it, first] = matches.emplace(s.metric[r], false);
    if (first) it->second = is_metric(glob, c.a.trace.names[s.metric[r]]);
    if (it->second && sampled_in_steps(c, r)) {
      values.push_back(s.value[r]);
      period = std::max(period, s.period[r]);
    }
  }
  if (values.empty()) return not_sampled(lua, glob);
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double v : values) sum += v;
  lua_newtable(lua);
  const auto field = [&](const char* key, double v) {
    push(lua, v);
    lua_setfield(lua, -2, key);
  };
  field("count", static_cast<double>(values.size()));
  field("mean", sum / static_cast<double>(values.size()));
  field("median", values[values.size() / 2]);
  field("least", values.front());
  field("most", values.back());
  field("period_ns", static_cast<double>(period));
  return 1;
}

int trace_sampled_fraction(lua_State* lua) {
  const Context& c = context(lua);
  luaL_checktype(lua, 2, LUA_TTABLE);
  struct Bound {
    std::string glob;
    double least, most;
  };
  std::vector<Bound> bounds;
  for (lua_Integer i = 1; lua_rawgeti(lua, 2, i) != LUA_TNIL; ++i, lua_pop(lua, 1)) {
    if (!lua_istable(lua, -1))
      throw Error("sampled_fraction takes a list of { metric, least, most }");
    const auto bound = [&](const char* key, double otherwise) {
      lua_getfield(lua, -1, key);
      const double n = luaL_optnumber(lua, -1, otherwise);
      lua_pop(lua, 1);
      return n;
    };
    lua_getfield(lua, -1, "metric");
    const std::string glob = luaL_checkstring(lua, -1);
    lua_pop(lua, 1);
    bounds.push_back({glob, bound("least", -std::numeric_limits<double>::infinity()),
                      bound("most", std::numeric_limits<double>::infinity())});
  }
  lua_settop(lua, 2);
  const Samples& s = c.a.trace.samples;
  lua_charge(lua, static_cast<std::int64_t>(s.size() / 2));
  std::map<NameId, std::vector<bool>> matches;
  struct Moment {
    std::size_t known = 0;
    bool met = true;
  };
  std::map<std::pair<std::uint16_t, Ns>, Moment> moments;
  for (Row r = 0; r < s.size(); ++r) {
    auto [it, first] = matches.emplace(s.metric[r], std::vector<bool>());
    if (first)
      for (const Bound& b : bounds)
        it->second.push_back(is_metric(b.glob, c.a.trace.names[s.metric[r]]));
    for (std::size_t b = 0; b < bounds.size(); ++b)
      if (it->second[b] && sampled_in_steps(c, r)) {
        Moment& m = moments[{s.device[r], s.start[r]}];
        ++m.known;
        m.met = m.met && s.value[r] >= bounds[b].least && s.value[r] <= bounds[b].most;
      }
  }
  double met = 0, all = 0;
  for (const auto& [at, m] : moments)
    if (m.known == bounds.size()) {
      met += m.met;
      ++all;
    }
  if (all == 0) return not_sampled(lua, bounds.empty() ? "" : bounds.front().glob);
  push(lua, met / all);
  return 1;
}

// Leaves of each device's collectives of one name those that all have. False where they cannot be
// matched.
bool keep_common(const Trace& t, std::vector<std::vector<Row>>& by_device) {
  const std::vector<Row>& reference = by_device.front();
  if (std::all_of(by_device.begin(), by_device.end(),
                  [&](const auto& rows) { return rows.size() == reference.size(); }))
    return true;
  const auto ends = [&](const std::vector<Row>& rows) {
    std::vector<Ns> list;
    for (const Row r : rows) list.push_back(t.ops.end[r]);
    return list;
  };
  const std::vector<Ns> first = ends(reference);
  std::vector<std::ptrdiff_t> offsets;
  std::ptrdiff_t from = 0, to = static_cast<std::ptrdiff_t>(reference.size());
  for (const auto& rows : by_device) {
    const auto n =
        &rows == &reference ? std::optional<std::ptrdiff_t>(0) : matching(first, ends(rows), 0);
    if (!n) return false;
    offsets.push_back(*n);
    from = std::max(from, -*n);
    to = std::min(to, static_cast<std::ptrdiff_t>(rows.size()) - *n);
  }
  if (from >= to) return false;
  for (std::size_t d = 0; d < by_device.size(); ++d)
    by_device[d] = std::vector<Row>(by_device[d].begin() + from + offsets[d],
                                    by_device[d].begin() + to + offsets[d]);
  // One in the middle that only some have would pair all that follow it wrongly: then they do not
  // run together.
  std::size_t together = 0;
  const std::size_t n = by_device.front().size();
  for (std::size_t i = 0; i < n; ++i) {
    Ns last_start = t.ops.start[by_device[0][i]], first_end = t.ops.end[by_device[0][i]];
    for (const auto& rows : by_device) {
      last_start = std::max(last_start, t.ops.start[rows[i]]);
      first_end = std::min(first_end, t.ops.end[rows[i]]);
    }
    together += last_start < first_end;
  }
  return 20 * together >= 19 * n;
}

int trace_late_devices(lua_State* lua) {
  const Context& c = context(lua);
  const Trace& t = c.a.trace;
  if (c.a.devices.size() < 2 || !t.clocks_aligned) {
    lua_newtable(lua);
    return 1;
  }
  // The n-th collective of a name on one device is the n-th of that name on every other: they are
  // one collective. Messages from one to another are none, and have the same name for all pairs.
  std::map<NameId, std::vector<std::vector<Row>>> collectives;  // by name, by device
  std::vector<Spans> computing(c.a.devices.size());             // beside which a wait costs nothing
  for (std::size_t d = 0; d < c.a.devices.size(); ++d) {
    std::vector<Span> spans;
    for (const Row op : c.a.devices[d].ops) {
      if (c.a.kernel_class(op) != "collective") {
        if (t.ops.kind[op] != OpKind::copy) spans.push_back(t.span_of(op));
      } else if (t.names[t.ops.name[op]].find("SendRecv") == std::string::npos) {
        auto& by_device = collectives[t.ops.name[op]];
        by_device.resize(c.a.devices.size());
        by_device[d].push_back(op);
      }
    }
    computing[d] = united(std::move(spans));
  }
  lua_charge(lua, static_cast<std::int64_t>(t.ops.size() / 2));
  struct Late {
    Ns ns = 0, exposed = 0;
    lua_Integer count = 0;
    std::vector<Row> own, waited;
  };
  std::vector<Late> late(c.a.devices.size());
  for (const auto& [name, by_device] : collectives) {
    // Ranks recorded apart may have a few more before the others' first, or after their last.
    std::vector<std::vector<Row>> same = by_device;
    if (!keep_common(t, same)) continue;  // which belongs to which cannot be told
    const std::size_t n = same.front().size();
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t last = 0, first_out = 0;
      for (std::size_t d = 1; d < same.size(); ++d) {
        if (t.ops.start[same[d][i]] > t.ops.start[same[last][i]]) last = d;
        if (t.ops.end[same[d][i]] < t.ops.end[same[first_out][i]]) first_out = d;
      }
      const Row own = same[last][i];
      if (t.ops.end[same[first_out][i]] <= t.ops.start[own])
        continue;  // it did not wait: of another group, or the root of a broadcast
      if (overlap(c.a.account.devices[last].window, t.span_of(own)) == 0) continue;
      std::vector<Ns> waits, exposed;
      for (std::size_t d = 0; d < same.size(); ++d) {
        if (d == last) continue;
        const Span wait{t.ops.start[same[d][i]], t.ops.start[own]};
        waits.push_back(wait.length());
        exposed.push_back(wait.length() - overlap(computing[d], wait));
        late[last].waited.push_back(same[d][i]);
      }
      late[last].ns += median(std::move(waits));
      late[last].exposed += median(std::move(exposed));
      ++late[last].count;
      late[last].own.push_back(own);
    }
  }
  std::vector<std::size_t> order(late.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return late[a].ns > late[b].ns; });
  lua_newtable(lua);
  lua_Integer n = 0;
  for (const std::size_t d : order) {
    if (late[d].count == 0) continue;
    std::sort(late[d].own.begin(), late[d].own.end());
    std::sort(late[d].waited.begin(), late[d].waited.end());
    lua_newtable(lua);
    push(lua, static_cast<double>(t.devices[c.a.devices[d].device].ordinal));
    lua_setfield(lua, -2, "device");
    push(lua, static_cast<double>(late[d].ns));
    lua_setfield(lua, -2, "late_ns");
    push(lua, static_cast<double>(late[d].exposed));
    lua_setfield(lua, -2, "exposed_ns");
    lua_pushinteger(lua, late[d].count);
    lua_setfield(lua, -2, "count");
    push(lua, Rows{Kind::ops, RowSet(std::move(late[d].own)), {}});
    lua_setfield(lua, -2, "own");
    push(lua, Rows{Kind::ops, RowSet(std::move(late[d].waited)), {}});
    lua_setfield(lua, -2, "waited");
    lua_rawseti(lua, -2, ++n);
  }
  return 1;
}

// --- selection:
// --------------------------------------------------------------------------------------------------------------

int selection_where(lua_State* lua) {
  const Rows& s = selection(lua, 1);
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size() / 4));
  push(lua, filtered(context(lua), s, parse_filter(lua, 2, s.kind)));
  return 1;
}

int selection_beside(lua_State* lua) {
  const Context& c = context(lua);
  const Trace& t = c.a.trace;
  const Rows &s = selection(lua, 1), &other = selection(lua, 2);
  if (s.kind != Kind::ops || other.kind != Kind::ops)
    throw Error("'beside' is asked of operations, about operations");
  lua_charge(lua, static_cast<std::int64_t>(t.ops.size() / 2));
  const RowBits own(s.rows, t.ops.size()), neighbours(other.rows, t.ops.size());
  RowBits found(t.ops.size());
  std::vector<Row> run;  // the row of own operations that goes on
  for (const std::vector<Row>& ops : c.in_steps.by_stream()) {
    bool after = false;  // whether it began at a neighbour
    const auto finish = [&](bool at_neighbour) {
      if (after || at_neighbour)
        for (const Row op : run) found.add(op);
      run.clear();
      after = at_neighbour;
    };
    for (const Row op : ops) {
      if (neighbours.holds(op))
        finish(true);
      else if (own.holds(op))
        run.push_back(op);
      else if (t.ops.kind[op] != OpKind::set)
        finish(false);  // a product's workspace is cleared right before it
    }
    finish(false);
  }
  push(lua, Rows{Kind::ops, std::move(found).set(), {}});
  return 1;
}

int selection_calls(lua_State* lua) {
  const Trace& t = context(lua).a.trace;
  const Rows& s = selection(lua, 1);
  if (s.kind != Kind::ops) throw Error("only operations are launched by calls");
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size() / 4 + t.calls.size() / 64));
  RowBits calls(t.calls.size());
  s.rows.each([&](Row op) {
    if (const Row call = t.ops.call[op]; call != no_row) calls.add(call);
  });
  push(lua, Rows{Kind::calls, std::move(calls).set(), {}});
  return 1;
}

int selection_count(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(selection(lua, 1).rows.size()));
  return 1;
}

int selection_sum(lua_State* lua) {
  const Context& c = context(lua);
  const Rows& s = selection(lua, 1);
  const Field field = checked_field(lua, 2);
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size() / 4));
  double sum = 0;
  s.rows.each([&](Row r) {
    const std::optional<double> v = number_field(c, s, r, field);
    if (!v)
      throw Error(fmt::format("'{}' cannot be summed here",
                              field_names()[static_cast<std::size_t>(field)]));
    sum += *v;
  });
  push(lua, sum);
  return 1;
}

int selection_union_ns(lua_State* lua) {
  const Rows& s = selection(lua, 1);
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size()));
  push(lua, total_time(context(lua), s));
  return 1;
}

// `combined` without holding the time of the larger selection, which may be millions of spans.
// Nothing where that cannot be.
std::optional<double> combined_by_stream(const Context& c, const Rows& a, const Rows& b,
                                         bool common) {
  constexpr std::size_t host = std::string::npos;
  const bool many_devices = c.a.devices.size() > 1;
  if (c.a.devices.size() < c.a.trace.devices.size() || (!common && many_devices))
    return std::nullopt;
  const bool hold_first = a.rows.size() <= b.rows.size();
  const auto held = time_of(c, hold_first ? a : b);
  std::vector<std::vector<Cursor>> cursors(c.a.devices.size() +
                                           1);  // by slot of what streams, the host last
  for (std::size_t slot = 0; slot < cursors.size(); ++slot)
    for (const auto& [other, set] : held)  // what the host does concerns every device
      if (other == slot || other == host || slot + 1 == cursors.size())
        cursors[slot].emplace_back(set);
  Ns streamed = 0, both = 0;
  const bool done = stream_time(c, hold_first ? b : a, [&](std::size_t slot, Span span) {
    streamed += span.length();
    for (Cursor& cursor : cursors[std::min(slot, cursors.size() - 1)]) both += cursor.overlap(span);
  });
  if (!done) return std::nullopt;
  if (common) return static_cast<double>(both);
  Ns first = streamed;
  if (hold_first) {
    first = 0;
    for (const auto& [slot, set] : held) first += total(set);
  }
  return static_cast<double>(first - both);
}

int combined(lua_State* lua, bool common) {
  const Context& c = context(lua);
  const Rows &a = selection(lua, 1), &b = selection(lua, 2);
  lua_charge(lua, static_cast<std::int64_t>(a.rows.size() + b.rows.size()));
  if (const auto streamed = combined_by_stream(c, a, b, common)) {
    push(lua, *streamed);
    return 1;
  }
  const auto sets = time_of(c, a), others = time_of(c, b);
  double sum = 0;
  for (const auto& [slot, set] : sets) {
    if (slot == std::string::npos &&
        !others.contains(slot)) {  // the host against devices: with each of them, or beside none
      std::vector<Span> all;
      for (const auto& [device, other] : others) {
        if (common) sum += static_cast<double>(overlap(set, other));
        all.insert(all.end(), other.begin(), other.end());
      }
      if (!common) sum += static_cast<double>(total(difference(set, united(std::move(all)))));
      continue;
    }
    const Ns both = overlap(set, set_for(others, slot));
    sum += static_cast<double>(common ? both : total(set) - both);
  }
  push(lua, sum);
  return 1;
}
int selection_overlap_ns(lua_State* lua) { return combined(lua, true); }
int selection_exposed_ns(lua_State* lua) { return combined(lua, false); }

int selection_own_ns(lua_State* lua) {
  const Context& c = context(lua);
  const Trace& t = c.a.trace;
  const Rows& s = selection(lua, 1);
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size() + t.gpu_faults.size()));
  const std::vector<Spans>& stalls = c.in_steps.stalls();
  if (std::all_of(stalls.begin(), stalls.end(),
                  [](const Spans& of_device) { return of_device.empty(); })) {
    push(lua, total_time(c, s));
    return 1;
  }
  double sum = 0;
  for (const auto& [slot, set] : time_of(c, s))
    sum += static_cast<double>(total(set) -
                               (slot == std::string::npos ? 0 : overlap(set, stalls[slot])));
  push(lua, sum);
  return 1;
}

int selection_exposed(lua_State* lua) {
  const Context& c = context(lua);
  const Rows &a = selection(lua, 1), &b = selection(lua, 2);
  const double least = luaL_checknumber(lua, 3);
  lua_charge(lua, static_cast<std::int64_t>(a.rows.size() + b.rows.size()));
  const auto own = time_of(c, a), others = a.rows.empty() ? own : time_of(c, b, &own);
  push(lua, Rows{a.kind, a.rows.where([&](Row r) {
                   const Span span = span_of(c, a, r);
                   return static_cast<double>(span.length() -
                                              overlap(set_for(others, slot_of(c, a, r)), span)) >=
                          least * static_cast<double>(span.length());
                 }),
                 a.chains});
  return 1;
}

int merged(lua_State* lua, bool keep) {
  const Rows &a = selection(lua, 1), &b = selection(lua, 2);
  if (a.kind != b.kind || a.chains != b.chains)
    throw Error("these selections are of different kinds");
  lua_charge(lua, static_cast<std::int64_t>(a.rows.size() + b.rows.size()));
  push(lua, Rows{a.kind, keep ? a.rows.plus(b.rows) : a.rows.minus(b.rows), a.chains});
  return 1;
}
int selection_plus(lua_State* lua) { return merged(lua, true); }
int selection_minus(lua_State* lua) { return merged(lua, false); }

int selection_group(lua_State* lua) {
  const Context& c = context(lua);
  const Rows& s = selection(lua, 1);
  const Field field = checked_field(lua, 2);
  const auto most =
      static_cast<std::size_t>(std::clamp<lua_Integer>(luaL_optinteger(lua, 3, 20), 0, 1000));
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size()));
  struct Group {
    std::string key;
    Ns ns = 0;
    std::size_t count = 0;
    std::vector<Row> rows;
  };
  std::deque<Group> groups;
  std::map<std::string, Group*> by_name;
  std::map<double, Group*> by_number;
  std::pair<double, Group*> last{0, nullptr};  // rows of one number follow each other, as a rule
  std::vector<Group*> by_text;                 // by text_key
  const auto named = [&](std::string name) {
    Group*& g = by_name[name];
    if (!g) g = &groups.emplace_back(Group{std::move(name), 0, 0, {}});
    return g;
  };
  const auto group_of = [&](Row r) {
    const std::uint32_t key = text_key(c, s, r, field);
    if (key != no_text) {
      if (key >= by_text.size()) by_text.resize(key + std::size_t{1});
      return by_text[key] ? by_text[key] : by_text[key] = named(key_text(c, s.kind, field, key));
    }
    const double number = number_field(c, s, r, field).value_or(0);
    if (last.second && last.first == number) return last.second;
    Group*& g = by_number[number];
    if (!g) g = named(fmt::format("{:.0f}", number));
    last = {number, g};
    return g;
  };
  s.rows.each([&](Row r) {
    Group& g = *group_of(r);
    g.ns += span_of(c, s, r).length();
    ++g.count;
  });
  std::vector<Group*> order;
  for (const auto& [name, group] : by_name) order.push_back(group);
  std::stable_sort(order.begin(), order.end(),
                   [](const Group* x, const Group* y) { return x->ns > y->ns; });
  order.resize(std::min(order.size(), most));
  if (groups.size() > 1) {
    for (Group* g : order) g->rows.reserve(g->count);
    s.rows.each([&](Row r) {
      if (Group& g = *group_of(r); g.rows.capacity() > 0) g.rows.push_back(r);
    });
  }
  lua_newtable(lua);
  for (std::size_t i = 0; i < order.size(); ++i) {
    lua_newtable(lua);
    push(lua, order[i]->key);
    lua_setfield(lua, -2, "key");
    push(lua, static_cast<double>(order[i]->count));
    lua_setfield(lua, -2, "count");
    push(lua, static_cast<double>(order[i]->ns));
    lua_setfield(lua, -2, "sum_ns");
    push(lua,
         Rows{s.kind, groups.size() == 1 ? s.rows : RowSet(std::move(order[i]->rows)), s.chains});
    lua_setfield(lua, -2, "rows");
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  return 1;
}

// The product in whose range or operator each operation was launched, the innermost one: its row of
// Trace::ranges, or no_row.
std::vector<Row> ranges_of_products(const Context& c, const std::vector<Row>& ops,
                                    const std::map<NameId, Product>& named) {
  const Trace& t = c.a.trace;
  std::map<std::uint16_t, std::vector<Row>> by_thread;
  for (Row r = 0; r < t.ranges.size(); ++r)
    if (named.contains(t.ranges.name[r])) by_thread[t.ranges.thread[r]].push_back(r);
  std::vector<Row> found(ops.size(), no_row);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Row call = t.ops.call[ops[i]];
    if (call == no_row) continue;
    const std::vector<Row>& ranges = by_thread[t.calls.thread[call]];
    const Ns at = t.calls.start[call];
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), at, [&](Ns moment, Row r) {
      return moment < t.ranges.start[r];
    });
    // Products hold no other products: only the last one to begin can last.
    if (after != ranges.begin() && t.ranges.end[*(after - 1)] >= at) found[i] = *(after - 1);
  }
  return found;
}

int selection_products(lua_State* lua) {
  const Context& c = context(lua);
  const Trace& t = c.a.trace;
  const Rows& s = selection(lua, 1);
  if (s.kind != Kind::ops) throw Error("'products' is asked of operations");
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size() + t.ranges.size() / 4));
  std::map<NameId, Product> named;
  std::vector<bool> seen(t.names.size());
  for (const NameId name : t.ranges.name) {
    if (seen[name]) continue;
    seen[name] = true;
    if (const auto p = product_of_range(t.names[name])) named.emplace(name, *p);
  }
  struct Group {
    NameId name;
    int element_bytes;
    Ns ns = 0;
    std::vector<Row> rows;
  };
  std::map<std::pair<NameId, int>, Group> groups;
  if (!named.empty()) {
    const std::vector<Row> ops = s.rows.list(), ranges = ranges_of_products(c, ops, named);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ranges[i] == no_row) continue;
      const std::string& tier = c.a.kernel_class(ops[i]);
      const int bytes = tier == "gemm_half" ? 2 : tier == "gemm_fp8" || tier == "gemm_int8" ? 1 : 4;
      Group& g = groups
                     .try_emplace({t.ranges.name[ranges[i]], bytes},
                                  Group{t.ranges.name[ranges[i]], bytes, 0, {}})
                     .first->second;
      g.ns += t.span_of(ops[i]).length();
      g.rows.push_back(ops[i]);
    }
  }
  std::vector<Group*> order;
  for (auto& [key, group] : groups) order.push_back(&group);
  using Key = std::tuple<Ns, const std::string&, int>;
  std::sort(order.begin(), order.end(), [&](const Group* x, const Group* y) {
    return Key(-x->ns, t.names[x->name], x->element_bytes) <
           Key(-y->ns, t.names[y->name], y->element_bytes);
  });
  lua_newtable(lua);
  for (std::size_t i = 0; i < order.size() && i < 1000; ++i) {
    const Product& p = named.at(order[i]->name);
    double odd = 0;
    const std::optional<bool> aligned = is_aligned(p, order[i]->element_bytes, &odd);
    lua_newtable(lua);
    const auto field = [lua](const char* key, double v) {
      push(lua, v);
      lua_setfield(lua, -2, key);
    };
    field("m", p.m);
    field("n", p.n);
    field("k", p.k);
    field("count", static_cast<double>(order[i]->rows.size()));
    field("sum_ns", static_cast<double>(order[i]->ns));
    if (aligned) {
      lua_pushboolean(lua, *aligned);
      lua_setfield(lua, -2, "aligned");
    }
    if (aligned == false) field("odd", odd);
    push(lua, Rows{Kind::ops, RowSet(std::move(order[i]->rows)), {}});
    lua_setfield(lua, -2, "rows");
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  return 1;
}

// The rows with the largest value of a field, ties by time, so that the order is total.
std::vector<Row> largest(const Context& c, const Rows& s, std::size_t n, Field field) {
  std::vector<std::pair<double, Row>> best;  // a heap, the least of them on top
  s.rows.each([&](Row r) {
    const std::pair own(-number_field(c, s, r, field).value_or(0), r);
    if (best.size() == n && (n == 0 || !(own < best.front()))) return;
    if (best.size() == n) {
      std::pop_heap(best.begin(), best.end());
      best.pop_back();
    }
    best.push_back(own);
    std::push_heap(best.begin(), best.end());
  });
  std::sort_heap(best.begin(), best.end());
  std::vector<Row> rows;
  for (const auto& [value, row] : best) rows.push_back(row);
  return rows;
}

int selection_top(lua_State* lua) {
  const Context& c = context(lua);
  const Rows& s = selection(lua, 1);
  const auto n =
      static_cast<std::size_t>(std::clamp<lua_Integer>(luaL_checkinteger(lua, 2), 0, 1000));
  const Field field = lua_isnoneornil(lua, 3) ? Field::duration_ns : checked_field(lua, 3);
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size()));
  lua_newtable(lua);
  lua_Integer i = 0;
  for (const Row r : largest(c, s, n, field)) {
    lua_newtable(lua);
    for (const std::string& name : field_names()) {
      const Field f = field_named(name);
      if (const auto number = number_field(c, s, r, f)) {
        push(lua, *number);
        lua_setfield(lua, -2, name.c_str());
      } else if (const std::string text = text_field(c, s, r, f); !text.empty()) {
        push(lua, text);
        lua_setfield(lua, -2, name.c_str());
      }
    }
    lua_rawseti(lua, -2, ++i);
  }
  return 1;
}

int selection_median(lua_State* lua) {
  const Context& c = context(lua);
  const Rows& s = selection(lua, 1);
  const Field field = checked_field(lua, 2);
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size()));
  if (s.rows.empty()) {
    lua_pushnil(lua);
    return 1;
  }
  std::vector<Ns> values;
  values.reserve(s.rows.size());
  s.rows.each(
      [&](Row r) { values.push_back(static_cast<Ns>(number_field(c, s, r, field).value_or(0))); });
  push(lua, static_cast<double>(median(std::move(values))));
  return 1;
}

int selection_evidence(lua_State* lua) {
  const Context& c = context(lua);
  const Rows& s = selection(lua, 1);
  lua_Integer most = 5;
  std::string note;
  if (lua_istable(lua, 2)) {
    lua_getfield(lua, 2, "most");
    most = luaL_optinteger(lua, -1, 5);
    lua_getfield(lua, 2, "note");
    note = luaL_optstring(lua, -1, "");
    lua_settop(lua, 2);
  }
  lua_charge(lua, static_cast<std::int64_t>(s.rows.size()));
  lua_newtable(lua);
  lua_Integer i = 0;
  for (const Row r : largest(c, s, static_cast<std::size_t>(std::clamp<lua_Integer>(most, 0, 100)),
                             Field::duration_ns)) {
    const Evidence e = evidence_of(c, s, r, note);
    lua_newtable(lua);
    const auto number = [&](const char* key, std::int64_t v) {
      lua_pushinteger(lua, v);
      lua_setfield(lua, -2, key);
    };
    const auto text = [&](const char* key, const std::string& v) {
      push(lua, v);
      lua_setfield(lua, -2, key);
    };
    number("start_ns", e.span.start);
    number("end_ns", e.span.end);
    number("device", e.device);
    number("stream", e.stream);
    text("thread", e.thread);
    text("name", e.name);
    text("note", e.note);
    if (e.source.line > 0) {
      text("file", e.source.file);
      number("line", e.source.line);
    }
    lua_rawseti(lua, -2, ++i);
  }
  return 1;
}

// --- The table
// ---------------------------------------------------------------------------------------------------------------

struct Entry {
  ApiEntry doc;
  lua_CFunction function;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{
      {{"trace:fact", "(name) -> value | nil, reason",
        "The value of a fact (`gh-advise facts` lists them): a number in its unit, or text; nil "
        "and the reason where it is unknown."},
       lua_verb<trace_fact>},
      {{"trace:available", "(source) -> known, reason, record_with",
        "Whether a source (kernels, copies, unified_copies, calls, ranges, os_calls, gpu_faults, "
        "cpu_faults, memory_use, samples, graph_nodes) was recorded, why not, and the `nsys "
        "profile` options that record it."},
       lua_verb<trace_available>},
      {{"trace:ops", "(filter?) -> selection",
        "GPU operations that overlap the analysed steps. Fields: kind (kernel, copy, set, graph), "
        "class (of kernels), name, direction (h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d), "
        "from and to (pageable, pinned, device, managed), cause (of migrations), bytes, blocks, "
        "threads, stream, device."},
       lua_verb<trace_ops>},
      {{"trace:calls", "(filter?) -> selection",
        "CUDA calls of the host during the steps, of the processes that launched them. Fields: "
        "name, class (sync, allocation, copy_sync, copy, graph_launch, launch, compilation, event, "
        "other), thread."},
       lua_verb<trace_calls>},
      {{"trace:ranges", "(filter?) -> selection",
        "NVTX ranges that overlap the steps. Fields: name, thread, bytes (of a collective's "
        "message, where NCCL says). `phase` keeps those of a phase: loader, optimizer, checkpoint, "
        "evaluation, garbage_collection."},
       lua_verb<trace_ranges>},
      {{"trace:os_calls", "(filter?) -> selection",
        "OS-runtime calls during the steps. Fields: name, thread."},
       lua_verb<trace_os_calls>},
      {{"trace:gpu_faults", "(filter?) -> selection",
        "Page faults of the GPU on unified memory. Fields: count, device. `migrating = true` keeps "
        "those on pages that also migrate."},
       lua_verb<trace_gpu_faults>},
      {{"trace:idle", "(filter?) -> selection",
        "Time in which a device did nothing, in pieces of one cause each (input, sync, launch, "
        "allocation, compilation, dependency, unknown). `name` is the call that the host was in. "
        "`after` and `before` keep those next to operations of a selection; `inferred` tells input "
        "that no range names; `drained` tells what came after the host had let the GPU run dry by "
        "waiting for it, until it got ahead again."},
       lua_verb<trace_idle>},
      {{"trace:steps", "(filter?) -> selection",
        "The training steps; none where the whole window stands in for them. Fields: number, "
        "device."},
       lua_verb<trace_steps>},
      {{"trace:threads", "(glob) -> count",
        "How many threads of the training processes have a name like this."},
       lua_verb<trace_threads>},
      {{"trace:diagnostics", "(glob, least_severity = 2) -> list of texts",
        "Messages of the profiler about its own recording."},
       lua_verb<trace_diagnostics>},
      {{"trace:problems", "() -> list of texts", "What had to be left out on reading the report."},
       lua_verb<trace_problems>},
      {{"trace:round_trips", "({ min_bytes = 1 MiB }?) -> selection, pairs",
        "Copies to the host of which the same number of bytes came back later, and those that "
        "brought them back."},
       lua_verb<trace_round_trips>},
      {{"trace:streamed_uploads", "({ min_bytes = 1 MiB, min_per_step = 4 }?) -> selection",
        "Copies from the host that come bit by bit within a step, in at least so many bursts with "
        "kernels between them: weights fetched layer by layer. A batch is one burst."},
       lua_verb<trace_streamed_uploads>},
      {{"trace:chains",
        "({ centre, edge, through, with?, most = 14, edges = 1 }) -> chains, inner, edges",
        "Runs of operations on one stream around each operation of `centre`, over operations of "
        "`through` only, up to one of `edge` on either side within `most`. `with` lists selections "
        "of which each run has to hold one. Returns the runs, all operations in them, and the "
        "edges."},
       lua_verb<trace_chains>},
      {{"trace:runs", "({ of, least = 3 }) -> runs, inner, longest",
        "Uninterrupted runs, on one stream, of at least so many operations of a selection; all "
        "operations in them; and the longest of each."},
       lua_verb<trace_runs>},
      {{"trace:metric",
        "(metric) -> { count, mean, median, least, most, period_ns } | nil, reason, record_with",
        "The samples of a GPU metric within the steps, by a glob over names or as an activity that "
        "sources name differently: sm_active, sm_occupancy, tensor_active (schemas/metrics.toml). "
        "period_ns: over how long a monitor averages; 0 of the profiler's own samples."},
       lua_verb<trace_metric>},
      {{"trace:sampled_fraction",
        "({ { metric = glob or activity, least?, most? }, ... }) -> fraction | nil, reason, "
        "record_with",
        "The share of sampled moments within the steps at which every metric lies within its "
        "bounds."},
       lua_verb<trace_sampled_fraction>},
      {{"trace:late_devices", "() -> list of { device, late_ns, exposed_ns, count, own, waited }",
        "For each device, the worst first: how long the others waited in collectives that it "
        "entered last (the median of the others), how much of that with nothing computed beside "
        "it, how many those were, its own collectives, of which nothing is waiting, and the "
        "others'."},
       lua_verb<trace_late_devices>},
      {{"selection:where", "(filter) -> selection",
        "The rows that pass every test of the filter: name, class, kind, direction, from, to, "
        "memory (either end), cause, thread take a glob or a list of globs; device, min_ns, "
        "max_ns, min_bytes, max_bytes, min_blocks, max_blocks a number; phase a name or several; "
        "in_graph, inferred, drained, migrating a truth value; after, before, inside (wholly "
        "within its rows' time), launched_in (by a call within these ranges) a selection."},
       lua_verb<selection_where>},
      {{"selection:beside", "(other) -> selection",
        "The operations that stand next to one of the other's on their stream, with nothing but "
        "such operations and memsets between: the casts before a product."},
       lua_verb<selection_beside>},
      {{"selection:calls", "() -> selection", "The CUDA calls that launched these operations."},
       lua_verb<selection_calls>},
      {{"selection:count", "() -> number", "How many rows there are."}, lua_verb<selection_count>},
      {{"selection:sum", "(field) -> number",
        "The sum of a field over the rows. Durations that overlap count twice: see union_ns."},
       lua_verb<selection_sum>},
      {{"selection:median", "(field) -> number | nil", "The median of a field; nil of no rows."},
       lua_verb<selection_median>},
      {{"selection:union_ns", "() -> ns",
        "The time covered by at least one row, within the steps, summed over devices."},
       lua_verb<selection_union_ns>},
      {{"selection:overlap_ns", "(other) -> ns",
        "The time covered by rows of both, on the same device (the host concerns all)."},
       lua_verb<selection_overlap_ns>},
      {{"selection:exposed_ns", "(other) -> ns",
        "The time covered by these rows and by none of the other's."},
       lua_verb<selection_exposed_ns>},
      {{"selection:own_ns", "() -> ns",
        "As union_ns, without the time in which the device waits for page faults or migrations of "
        "unified memory: what the rows themselves take."},
       lua_verb<selection_own_ns>},
      {{"selection:exposed", "(other, fraction) -> selection",
        "The rows of which at least this fraction runs with none of the other's on the same "
        "device."},
       lua_verb<selection_exposed>},
      {{"selection:plus", "(other) -> selection", "The rows of either."}, lua_verb<selection_plus>},
      {{"selection:minus", "(other) -> selection", "The rows that the other has not."},
       lua_verb<selection_minus>},
      {{"selection:group", "(field, most = 20) -> list of { key, count, sum_ns, rows }",
        "Rows by the value of a field, the group with the longest summed time first."},
       lua_verb<selection_group>},
      {{"selection:products", "() -> list of { m, n, k, aligned, odd, count, sum_ns, rows }",
        "The matrix products that these operations compute, where the range or operator that "
        "launched them carries shapes (PyTorch's record_shapes), the longest first. aligned: "
        "whether rows of operands and result begin at multiples of 16 bytes; nil where the shapes "
        "do not tell. odd: the extent in elements that is to blame."},
       lua_verb<selection_products>},
      {{"selection:top", "(n, field = \"duration_ns\") -> list of rows",
        "The n rows with the largest value, each as a table of its fields."},
       lua_verb<selection_top>},
      {{"string.glob", "(text, pattern) -> boolean",
        "Whether the whole text matches: * any run, ? any byte, the rest literally. Text has it as "
        "a method: name:glob \"nccl*\"."},
       nullptr},
      {{"string.split", "(text, separator) -> list",
        "The parts between plain separators of 1 to 64 bytes."},
       nullptr},
      {{"string.starts_with", "(text, prefix) -> boolean", "Whether the text begins so."}, nullptr},
      {{"pairs", "",
        "Visits keys in order: numbers ascending, then strings; a key of another type is an "
        "error."},
       nullptr},
      {{"next", "", "In the same order as pairs."}, nullptr},
      {{"table.sort", "", "Is stable; without a comparison it sorts numbers and strings."},
       nullptr},
      {{"tostring", "", "Prints \"table\" and \"function\", never an address."}, nullptr},
      {{"getmetatable", "", "Answers for tables only."}, nullptr},
      {{"setmetatable", "", "Refuses __gc."}, nullptr},
      {{"pcall", "", "Catches errors, but not the end of a limit."}, nullptr},
      {{"xpcall", "", "The same; its handler runs after the call has unwound."}, nullptr},
      {{"string.format", "", "As Lua's; %p is refused."}, nullptr},
      {{"string.rep", "", "As Lua's; texts are at most 1 MiB long."}, nullptr},
      {{"assert error ipairs rawequal rawget rawlen select tonumber type", "", "As Lua's."},
       nullptr},
      {{"math.abs math.acos math.asin math.atan math.ceil math.cos math.deg math.exp math.floor "
        "math.fmod math.huge math.log math.max math.maxinteger math.min math.mininteger math.modf "
        "math.pi math.rad math.sin math.sqrt math.tan math.tointeger math.type math.ult",
        "", "As Lua's; there is no random."},
       nullptr},
      {{"string.byte string.char string.len string.lower string.reverse string.sub string.upper",
        "",
        "As Lua's; find, match, gmatch and gsub are missing, since a pattern can run for hours: "
        "use string.glob and string.split."},
       nullptr},
      {{"table.concat table.insert table.pack table.remove table.unpack", "", "As Lua's."},
       nullptr},
      {{"selection:evidence", "({ most = 5, note = \"\" }?) -> list",
        "The longest rows as evidence for a finding, the worst first."},
       lua_verb<selection_evidence>},
  };
  return all;
}

int collect_selection(lua_State* lua) {
  auto* rows = static_cast<Rows*>(lua_touserdata(lua, 1));
  context(lua).held_bytes -= rows->bytes();
  rows->~Rows();
  return 0;
}
int collect_context(lua_State* lua) {
  static_cast<Context*>(lua_touserdata(lua, 1))->~Context();
  return 0;
}

void make_type(lua_State* lua, const char* type, const char* prefix, lua_CFunction collect) {
  luaL_newmetatable(lua, type);
  lua_newtable(lua);
  for (const Entry& e : entries())
    if (std::string_view(e.doc.name).starts_with(prefix)) {
      lua_pushcfunction(lua, e.function);
      lua_setfield(lua, -2, e.doc.name + std::char_traits<char>::length(prefix));
    }
  lua_setfield(lua, -2, "__index");
  if (collect) {
    lua_pushcfunction(lua, collect);
    lua_setfield(lua, -2, "__gc");
  }
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 1);
}

// The rows of events of the host that touch `hull`, of the processes that are analysed.
template <class Events>
RowSet host_rows(const Analysis& a, const Events& events, Span hull) {
  std::vector<std::uint8_t> wanted(a.trace.threads.size());
  for (std::size_t t = 0; t < wanted.size(); ++t)
    wanted[t] = std::any_of(a.devices.begin(), a.devices.end(), [&](const DeviceSteps& d) {
      return d.process == a.trace.threads[t].process;
    });
  const auto end = static_cast<std::size_t>(
      std::lower_bound(events.start.begin(), events.start.end(), hull.end) - events.start.begin());
  return RowSet::all(end).where(
      [&](Row r) { return events.end[r] > hull.start && wanted[events.thread[r]] != 0; });
}

}  // namespace

RowsInSteps::RowsInSteps(const Analysis& a) : a_(a) {
  const Trace& t = a.trace;
  const Span hull = a.hull();
  std::size_t idle_rows = 0;
  RowBits in_steps(t.ops.size()), training((static_cast<std::size_t>(a.step_count())));
  Row step = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Spans& window = a.account.devices[d].window;
    idle_rows += a.account.devices[d].idle.size();
    for (std::size_t k = 0; k < a.devices[d].steps.size(); ++k, ++step)
      if (a.devices[d].source != StepSource::none) training.add(step);
    // Where steps leave gaps what takes no time belongs to none of them.
    a.each_op_in_steps(d, [&](Row op) {
      if (window.size() == 1 || t.ops.start[op] < t.ops.end[op]) in_steps.add(op);
    });
  }
  std::vector<const Spans*> windows(t.devices.size());
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    windows[a.devices[d].device] = &a.account.devices[d].window;
  ops = std::move(in_steps).set();
  steps = std::move(training).set();
  idle = RowSet::all(idle_rows);
  copies = ops.where([&](Row op) { return t.ops.kind[op] == OpKind::copy; });
  calls = host_rows(a, t.calls, hull);
  ranges = host_rows(a, t.ranges, hull);
  os_calls = host_rows(a, t.os_calls, hull);
  gpu_faults = RowSet::all(t.gpu_faults.size()).where([&](Row r) {
    const Spans* window = windows[t.gpu_faults.device[r]];
    return window && overlap(*window, Span{t.gpu_faults.start[r], t.gpu_faults.end[r]}) > 0;
  });
}

// What fails half-way is begun anew by the next that asks.
const std::vector<Spans>& RowsInSteps::stalls() const {
  std::call_once(stalls_found_, [&] {
    const Trace& t = a_.trace;
    std::vector<std::vector<Span>> of_device(t.devices.size());
    std::vector<Spans> found;
    for (Row r = 0; r < t.gpu_faults.size(); ++r)
      of_device[t.gpu_faults.device[r]].push_back({t.gpu_faults.start[r], t.gpu_faults.end[r]});
    for (const DeviceSteps& d : a_.devices) {
      for (const Row op : d.ops)
        if (is_unified(t.ops.copy[op])) of_device[d.device].push_back(t.span_of(op));
      found.push_back(united(std::move(of_device[d.device])));
    }
    stalls_.swap(found);
  });
  return stalls_;
}

const std::vector<std::vector<Row>>& RowsInSteps::by_stream() const {
  std::call_once(by_stream_found_, [&] {
    std::vector<std::size_t> counts(a_.trace.streams.size());
    for (const DeviceSteps& d : a_.devices)
      for (const Row op : d.ops) ++counts[a_.trace.ops.stream[op]];
    std::vector<std::vector<Row>> found(counts.size());
    for (std::size_t s = 0; s < counts.size(); ++s) found[s].reserve(counts[s]);
    for (const DeviceSteps& d : a_.devices)
      for (const Row op : d.ops) found[a_.trace.ops.stream[op]].push_back(op);
    by_stream_.swap(found);
  });
  return by_stream_;
}

const std::vector<ApiEntry>& api_entries() {
  static const std::vector<ApiEntry> docs = [] {
    std::vector<ApiEntry> list;
    for (const Entry& e : entries()) list.push_back(e.doc);
    return list;
  }();
  return docs;
}

void push_trace(lua_State* lua, const ApiHost& host) {
  make_type(lua, selection_type, "selection:", collect_selection);
  make_type(lua, trace_type, "trace:", nullptr);
  void* memory = lua_newuserdatauv(lua, sizeof(Context), 0);
  new (memory) Context(host);
  lua_newtable(lua);
  lua_pushcfunction(lua, collect_context);
  lua_setfield(lua, -2, "__gc");
  lua_setmetatable(lua, -2);
  lua_setfield(lua, LUA_REGISTRYINDEX, context_key);
  lua_newuserdatauv(lua, 0, 0);
  luaL_setmetatable(lua, trace_type);
}

const std::vector<ChangeVerb>& change_verbs() {
  static const std::vector<ChangeVerb> verbs{
      {"remove",
       "Operations that are gone, with the calls that launched them and the host's work for "
       "those."},
      {"scale",
       "Operations that take `by` of their recorded time. Of two changes that scale the same one, "
       "the smaller factor counts."},
      {"shorten",
       "Operations that lose the time in which they overlap `stalls`, a selection or a list of "
       "them: kernels without their page faults."},
      {"fuse",
       "Operations of which every uninterrupted run on a stream becomes one kernel; it takes `by` "
       "of the longest of them."},
      {"graph",
       "Operations that follow each other `gap_ns` apart with no launch of their own, as in a CUDA "
       "graph or a loop in one kernel."},
      {"overlap",
       "Operations that queue on a stream of their own; nothing waits for them within the step."},
      {"unblock", "Calls that no longer wait for the GPU."},
      {"drop", "Calls that are gone, with the host's work for them."},
      {"pause",
       "Host time that takes `by` of what it took (0 by default): that in ranges or calls of the "
       "operating system, the whole pause between two CUDA calls in which idle time lies, or what "
       "the host spends waiting for operations."},
  };
  return verbs;
}

Changes to_changes(lua_State* lua, int index) {
  Changes changes;
  if (lua_isnil(lua, index)) return changes;
  if (!lua_istable(lua, index))
    throw Error("'change' has to be a list, such as { { remove = operations } }");
  const Context& c = context(lua);
  const Trace& t = c.a.trace;
  std::vector<std::string> verbs;
  for (const ChangeVerb& v : change_verbs()) verbs.emplace_back(v.name);
  const int top = lua_gettop(lua);
  for (lua_Integer i = 1; i <= 100 && lua_rawgeti(lua, index, i) == LUA_TTABLE;
       ++i, lua_settop(lua, top)) {
    const int part = lua_gettop(lua);
    std::vector<std::string> keys;
    for (lua_pushnil(lua); lua_next(lua, part); lua_pop(lua, 1))
      if (lua_type(lua, -2) == LUA_TSTRING) keys.emplace_back(lua_tostring(lua, -2));
    const auto verb = std::find_if(verbs.begin(), verbs.end(), [&](const std::string& v) {
      return std::find(keys.begin(), keys.end(), v) != keys.end();
    });
    for (const std::string& key : keys)
      if (std::find(verbs.begin(), verbs.end(), key) == verbs.end() && key != "by" &&
          key != "least" && key != "most" && key != "gap_ns" && key != "stalls")
        throw Error(fmt::format("a change has an unknown key '{}'{}", printable(key),
                                did_you_mean(key, verbs)));
    if (verb == verbs.end())
      throw Error(
          fmt::format("a change is one of {}, each of a selection", fmt::join(verbs, ", ")));
    const auto field = [&](const char* key) {
      lua_pushstring(lua, key);
      lua_rawget(lua, part);
      return lua_gettop(lua);
    };
    Change change;
    change.kind = static_cast<Change::Kind>(verb - verbs.begin());
    const Rows& rows = selection(lua, field(verb->c_str()));
    const auto number = [&](const char* key, double otherwise) {
      const double n = luaL_optnumber(lua, field(key), otherwise);
      return std::isfinite(n)
                 ? std::max(n, 0.0)
                 : throw Error(fmt::format("'{}' of a change is not a finite number", key));
    };
    const double by = number("by", change.kind == Change::Kind::pause ? 0 : 1);
    change.factor = {by, std::min(by, number("least", by)), std::max(by, number("most", by))};
    change.gap_ns = static_cast<Ns>(number("gap_ns", 0));
    const bool calls = change.kind == Change::Kind::unblock || change.kind == Change::Kind::drop;
    if (change.kind == Change::Kind::pause) {
      if (rows.kind == Kind::calls || rows.kind == Kind::steps)
        throw Error(
            "'pause' takes ranges, idle time, calls of the operating system or what the host waits "
            "for");
      change.host.reserve(rows.rows.size());
      rows.rows.each([&](Row r) {
        change.host.push_back(
            {thread_of(c, rows, r), span_of(c, rows, r), rows.kind == Kind::idle});
      });
    } else if (rows.kind != (calls ? Kind::calls : Kind::ops)) {
      throw Error(
          fmt::format("'{}' takes a selection of {}", *verb, calls ? "calls" : "operations"));
    } else {
      change.rows = rows.rows.list();
    }
    if (change.kind == Change::Kind::shorten) {
      std::map<std::size_t, std::vector<Span>> raw;
      const int given = field("stalls");
      const auto add = [&](const Rows& s) {
        for (const auto& [slot, spans] : time_of(c, s))
          raw[slot].insert(raw[slot].end(), spans.begin(), spans.end());
      };
      if (lua_istable(lua, given))
        for (lua_Integer k = 1; lua_rawgeti(lua, given, k) != LUA_TNIL; ++k)
          add(selection(lua, lua_gettop(lua)));
      else
        add(selection(lua, given));
      std::map<std::size_t, Spans> stalls;
      for (auto& [slot, spans] : raw) stalls[slot] = united(std::move(spans));
      for (const Row r : change.rows)
        change.cut_ns.push_back(overlap(set_for(stalls, slot_of(c, rows, r)), t.span_of(r)));
    }
    lua_charge(lua, static_cast<std::int64_t>(rows.rows.size()));
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Evidence> to_evidence(lua_State* lua, int index) {
  std::vector<Evidence> list;
  if (lua_isnil(lua, index)) return list;
  if (!lua_istable(lua, index))
    throw Error("'evidence' has to be a list, as selection:evidence returns it");
  const int top = lua_gettop(lua);
  for (lua_Integer i = 1; i <= 100 && lua_rawgeti(lua, index, i) == LUA_TTABLE; ++i) {
    const auto number = [&](const char* key) {
      lua_pushstring(lua, key);
      lua_rawget(lua, -2);
      int is_number = 0;
      const lua_Integer v = lua_tointegerx(lua, -1, &is_number);
      lua_pop(lua, 1);
      return is_number ? static_cast<std::int64_t>(v) : std::int64_t{-1};
    };
    const auto text = [&](const char* key) {
      lua_pushstring(lua, key);
      lua_rawget(lua, -2);
      std::size_t n = 0;
      const char* s = lua_type(lua, -1) == LUA_TSTRING ? lua_tolstring(lua, -1, &n) : nullptr;
      std::string v = s ? printable(std::string_view(s, n)) : "";
      lua_pop(lua, 1);
      return v;
    };
    Evidence e;
    e.span = {number("start_ns"), number("end_ns")};
    if (e.span.end < e.span.start) throw Error("evidence has to end after it starts");
    e.device = number("device");
    e.stream = number("stream");
    e.thread = text("thread");
    e.name = text("name");
    e.note = text("note");
    e.source = {text("file"),
                static_cast<int>(std::clamp<std::int64_t>(number("line"), 0, 1 << 30))};
    list.push_back(std::move(e));
    lua_settop(lua, top);
  }
  lua_settop(lua, top);
  return list;
}

}  // namespace gh
