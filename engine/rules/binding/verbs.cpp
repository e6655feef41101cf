// The table of what rules can call: each verb's name, its signature and documentation, the function
// that answers, and what it charges for before it begins. Documentation, editor stubs and what Lua
// finds are made of it. A verb charges by itself for what it cannot know beforehand, and every
// selection that goes to Lua costs by its rows (push_rows).
//
// A new verb is a function in one of the files below verbs/, a line in verbs.hpp, and a row here.
#include "rules/binding/verbs.hpp"

#include <string_view>

namespace gh {
namespace binding {
namespace {

struct Verb {
  const char *name, *signature, *doc;  // as in ApiEntry
  lua_CFunction function = nullptr;    // null of what the sandbox has, not the trace
};

constexpr Verb verbs[] = {
    {"trace:fact", "(name) -> value | nil, reason",
     "The value of a fact (`gh-advise facts` lists them): a number in its unit, or text; nil "
     "and the reason where it is unknown.",
     verb<fact>},
    {"trace:available", "(source) -> known, reason, record_with",
     "Whether a source (kernels, copies, unified_copies, calls, ranges, os_calls, gpu_faults, "
     "cpu_faults, memory_use, samples, graph_nodes, cpu_stretches, host_samples, python_lock) was "
     "recorded, why not, and the options of its profiler that record it.",
     verb<available>},
    {"trace:ops", "(filter?) -> selection",
     "GPU operations that overlap the analysed steps. Fields: kind (kernel, copy, set, graph), "
     "class (of kernels), name, direction (h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d), "
     "from and to (pageable, pinned, device, managed), cause (of migrations), bytes, blocks, "
     "threads, stream, device.",
     verb<ops>},
    {"trace:calls", "(filter?) -> selection",
     "CUDA calls of the host during the steps, of the processes that launched them. Fields: "
     "name, class (sync, allocation, copy_sync, copy, graph_launch, launch, compilation, "
     "loading, function, event, other), thread.",
     verb<calls>},
    {"trace:ranges", "(filter?) -> selection",
     "NVTX ranges that overlap the steps. Fields: name, thread, bytes (of a collective's "
     "message, where NCCL says). `phase` keeps those of a phase: loader, optimizer, checkpoint, "
     "evaluation, garbage_collection.",
     verb<ranges>},
    {"trace:os_calls", "(filter?) -> selection",
     "OS-runtime calls during the steps. Fields: name, thread.", verb<os_calls>},
    {"trace:gpu_faults", "(filter?) -> selection",
     "Page faults of the GPU on unified memory. Fields: count, device. `migrating = true` keeps "
     "those on pages that also migrate.",
     verb<gpu_faults>},
    {"trace:idle", "(filter?) -> selection",
     "Time in which a device did nothing, in pieces of one cause each (input, sync, launch, "
     "allocation, compilation, loading, faults, failed, launch_latency, dependency, unknown). "
     "`name` is "
     "the call that the host was in, or had waited in where `drained`: what came after a wait, of "
     "no more than it took, until the host got ahead again. `doing` is what the host did for most "
     "of it, by its innermost name (a call, an operator, a range), `within` the program's own "
     "range around that, `next` the kernel that ended it. `after` and `before` keep those next to "
     "operations of a selection; "
     "`inferred` tells input that no range names.",
     verb<idle>},
    {"trace:steps", "(filter?) -> selection",
     "The steps, whatever a step is (fact unit.name); none where the whole window stands in for "
     "them. Fields: number, "
     "device.",
     verb<steps>},
    {"trace:threads", "(glob) -> count",
     "How many threads of the processes that launch have a name like this.", verb<thread_count>},
    {"trace:diagnostics", "(glob, least_severity = 2) -> list of texts",
     "Messages of the profiler about its own recording.", verb<diagnostics>},
    {"trace:failed_calls", "() -> list of { call, class, result, means, fatal, count, rows }",
     "CUDA calls that returned an error, by name and result, in the order in which they first "
     "occur; of the whole recording. Results that are answers (not ready) are none "
     "(schemas/calls.toml). After a fatal one all later calls of the process fail.",
     verb<failed_calls>},
    {"trace:environment", "(name) -> value | nil",
     "The value of a variable of the program's environment: of those in schemas/environment.toml, "
     "the only ones that are read. \"set\" of a value that is none of the usual ones; nil where "
     "the report does not hold the variable.",
     verb<environment>},
    {"trace:found", "() -> list of { rule, subject, severity, share }",
     "What other rules have found, for rules that come `after_others`; an error in others.",
     verb<found>},
    {"trace:asked", "(rule) -> boolean",
     "Whether that rule is asked on this report as well, or this one is asked alone, as in its "
     "test. For rules that come `after_others`.",
     verb<asked>},
    {"trace:problems", "() -> list of texts", "What had to be left out on reading the report.",
     verb<problems>},
    {"trace:is", "(kind) -> boolean",
     "Whether the program is known to be of a kind: \"pytorch\", \"training\", \"python\" "
     "(schemas/programs.toml). For what it has to be said, see trace:words.",
     verb<is_kind>},
    {"trace:words", "({ kind = text, ... }) -> text | nil",
     "The text that fits the program, of a table by kind as a finding's `advice` may have; nil "
     "where none does. `nsys` and `torch_profiler` are kinds as well: the tool that recorded the "
     "report, whose options are the ones to name.",
     verb<words>},
    {"trace:round_trips", "({ min_bytes = 1 MiB }?) -> selection, pairs",
     "Copies to the host of which the same number of bytes came back later, and those that "
     "brought them back.",
     verb<round_trips, Cost{.ops = 64, .copies = 1}>},
    {"trace:streamed_uploads", "({ min_bytes = 1 MiB, min_per_step = 4 }?) -> selection",
     "Copies from the host that come bit by bit within a step, in at least so many bursts with "
     "kernels between them: weights fetched layer by layer. A batch is one burst.",
     verb<streamed_uploads, Cost{.ops = 4}>},
    {"trace:chains",
     "({ centre, edge, through, with?, most = 14, edges = 1 }) -> chains, inner, edges",
     "Runs of operations on one stream around each operation of `centre`, over operations of "
     "`through` only, up to one of `edge` on either side within `most`. `with` lists selections "
     "of which each run has to hold one. Returns the runs, all operations in them, and the "
     "edges.",
     verb<chains, Cost{.ops = 16}>},
    {"trace:runs", "({ of, least = 3 }) -> runs, inner, longest",
     "Uninterrupted runs, on one stream, of at least so many operations of a selection; all "
     "operations in them; and the longest of each.",
     verb<runs, Cost{.ops = 2}>},
    {"trace:metric",
     "(metric) -> { count, mean, median, least, most, period_ns } | nil, reason, record_with",
     "The samples of a GPU metric within the steps, by a glob over names or as an activity that "
     "sources name differently: sm_active, sm_occupancy, tensor_active (schemas/metrics.toml). "
     "period_ns: over how long a monitor averages; 0 of the profiler's own samples.",
     verb<metric, Cost{.samples = 4}>},
    {"trace:sampled_fraction",
     "({ { metric = glob or activity, least?, most? }, ... }) -> fraction | nil, reason, "
     "record_with",
     "The share of sampled moments within the steps at which every metric lies within its "
     "bounds.",
     verb<sampled_fraction, Cost{.samples = 2}>},
    {"trace:late_devices", "() -> list of { device, late_ns, exposed_ns, count, own, waited }",
     "For each device, the worst first: how long the others waited in collectives that it "
     "entered last (the median of the others), how much of that with nothing computed beside "
     "it, how many those were, its own collectives, of which nothing is waiting, and the "
     "others'.",
     verb<late_devices>},
    {"selection:where", "(filter) -> selection",
     "The rows that pass every test of the filter: name, class, kind, direction, from, to, "
     "memory (either end), cause, thread take a glob or a list of globs; device, min_ns, "
     "max_ns, min_bytes, max_bytes, min_blocks, max_blocks a number; phase a name or several; "
     "in_graph, inferred, drained, migrating a truth value; after, before, inside (wholly "
     "within its rows' time), launched_in (by a call within these ranges) a selection.",
     verb<where, Cost{.rows = 4}>},
    {"selection:beside", "(other) -> selection",
     "The operations that stand next to one of the other's on their stream, with nothing but "
     "such operations and memsets between: the casts before a product.",
     verb<beside, Cost{.ops = 2}>},
    {"selection:calls", "() -> selection", "The CUDA calls that launched these operations.",
     verb<calls_of, Cost{.rows = 4, .calls = 64}>},
    {"selection:count", "() -> number", "How many rows there are.", verb<count>},
    {"selection:sum", "(field) -> number",
     "The sum of a field over the rows. Durations that overlap count twice: see union_ns.",
     verb<sum, Cost{.rows = 4}>},
    {"selection:median", "(field) -> number | nil", "The median of a field; nil of no rows.",
     verb<median, Cost{.rows = 1}>},
    {"selection:union_ns", "() -> ns",
     "The time covered by at least one row, within the steps, summed over devices.",
     verb<union_ns, Cost{.rows = 1}>},
    {"selection:overlap_ns", "(other) -> ns",
     "The time covered by rows of both, on the same device (the host concerns all).",
     verb<overlap_ns, Cost{.rows = 1}>},
    {"selection:exposed_ns", "(other) -> ns",
     "The time covered by these rows and by none of the other's.",
     verb<exposed_ns, Cost{.rows = 1}>},
    {"selection:own_ns", "() -> ns",
     "As union_ns, without the time in which the device waits for page faults or migrations of "
     "unified memory: what the rows themselves take.",
     verb<own_ns, Cost{.rows = 1, .gpu_faults = 1}>},
    {"selection:exposed", "(other, fraction) -> selection",
     "The rows of which at least this fraction runs with none of the other's on the same "
     "device.",
     verb<exposed, Cost{.rows = 1}>},
    {"selection:quarters", "() -> number",
     "In how many quarters of the analysed work, counted in kernels, rows begin that take a tenth "
     "of what all take: what goes on all through a recording without steps is in three or four, "
     "its start, however long, in the first.",
     verb<quarters, Cost{.rows = 1, .ops = 1}>},
    {"selection:plus", "(other) -> selection", "The rows of either.", verb<plus, Cost{.rows = 1}>},
    {"selection:minus", "(other) -> selection", "The rows that the other has not.",
     verb<minus, Cost{.rows = 1}>},
    {"selection:group", "(field, most = 20) -> list of { key, count, sum_ns, rows }",
     "Rows by the value of a field, the group with the longest summed time first.",
     verb<group, Cost{.rows = 1}>},
    {"selection:host", "() -> text",
     "Sentences, each after a space, for the end of a message: what the profiler saw of the "
     "launching thread during this idle time, where it sampled stacks or traced context switches "
     "or Python's lock. \"\" of reports without these.",
     verb<host, Cost{.rows = 1}>},
    {"selection:products", "() -> list of { m, n, k, aligned, odd, count, sum_ns, rows }",
     "The matrix products that these operations compute, where the range or operator that "
     "launched them carries shapes (PyTorch's record_shapes), the longest first. aligned: "
     "whether rows of operands and result begin at multiples of 16 bytes; nil where the shapes "
     "do not tell. odd: the extent in elements that is to blame.",
     verb<products, Cost{.rows = 1, .ranges = 4}>},
    {"selection:top", "(n, field = \"duration_ns\") -> list of rows",
     "The n rows with the largest value, each as a table of its fields.",
     verb<top, Cost{.rows = 1}>},
    {"string.glob", "(text, pattern) -> boolean",
     "Whether the whole text matches: * any run, ? any byte, the rest literally. Text has it as "
     "a method: name:glob \"nccl*\"."},
    {"string.split", "(text, separator) -> list",
     "The parts between plain separators of 1 to 64 bytes."},
    {"string.starts_with", "(text, prefix) -> boolean", "Whether the text begins so."},
    {"pairs", "",
     "Visits keys in order: numbers ascending, then strings; a key of another type is an "
     "error."},
    {"next", "", "In the same order as pairs."},
    {"table.sort", "", "Is stable; without a comparison it sorts numbers and strings."},
    {"tostring", "", "Prints \"table\" and \"function\", never an address."},
    {"getmetatable", "", "Answers for tables only."},
    {"setmetatable", "",
     "Refuses __gc, __mode, and a __call that is no function. Takes a copy of the metatable: what "
     "is "
     "written to it later has no effect."},
    {"pcall", "", "Catches errors, but not the end of a limit."},
    {"xpcall", "", "The same; its handler runs after the call has unwound."},
    {"string.format", "", "As Lua's; %p is refused."},
    {"string.rep", "", "As Lua's; texts are at most 1 MiB long."},
    {"assert error ipairs rawequal rawget rawlen select tonumber type", "", "As Lua's."},
    {"math.abs math.acos math.asin math.atan math.ceil math.cos math.deg math.exp math.floor "
     "math.fmod math.huge math.log math.max math.maxinteger math.min math.mininteger math.modf "
     "math.pi math.rad math.sin math.sqrt math.tan math.tointeger math.type math.ult",
     "", "As Lua's; there is no random."},
    {"string.byte string.char string.len string.lower string.reverse string.sub string.upper", "",
     "As Lua's; find, match, gmatch and gsub are missing, since a pattern can run for hours: "
     "use string.glob and string.split."},
    {"table.concat table.insert table.pack table.remove table.unpack", "",
     "As Lua's; they refuse tables whose metatable has __index, __newindex or __len."},
    {"selection:evidence", "({ most = 5, note = \"\" }?) -> list",
     "The longest rows as evidence for a finding, the worst first.",
     verb<evidence, Cost{.rows = 1}>},
};

// The metatable of a type: the verbs whose names begin with `prefix`.
void make_type(lua_State* lua, const char* type, std::string_view prefix, lua_CFunction collect) {
  luaL_newmetatable(lua, type);
  lua_newtable(lua);
  for (const Verb& v : verbs) {
    if (!std::string_view(v.name).starts_with(prefix)) continue;
    lua_pushcfunction(lua, v.function);
    lua_setfield(lua, -2, v.name + prefix.size());
  }
  lua_setfield(lua, -2, "__index");
  if (collect) {
    lua_pushcfunction(lua, collect);
    lua_setfield(lua, -2, "__gc");
  }
  set_flag(lua, "__metatable", false);
  lua_pop(lua, 1);
}

}  // namespace
}  // namespace binding

const std::vector<ApiEntry>& api_entries() {
  static const std::vector<ApiEntry> entries = [] {
    std::vector<ApiEntry> list;
    for (const binding::Verb& v : binding::verbs) list.push_back({v.name, v.signature, v.doc});
    return list;
  }();
  return entries;
}

void push_trace(lua_State* lua, const ApiHost& host) {
  binding::make_type(lua, binding::selection_type, "selection:", binding::collect_rows);
  binding::make_type(lua, binding::trace_type, "trace:", nullptr);
  binding::make_context(lua, host);
  lua_newuserdatauv(lua, 0, 0);
  luaL_setmetatable(lua, binding::trace_type);
}

}  // namespace gh
