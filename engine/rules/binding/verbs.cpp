// The table of what rules can call: each verb's name, its signature and documentation, the function
// that answers, and what it charges for before it begins. Documentation, editor stubs and what Lua
// finds are made of it. A verb charges by itself for what it cannot know beforehand, and every
// selection that goes to Lua costs by its rows (push_rows).
//
// A new verb is a function in one of the files below verbs/, a line in verbs.hpp, and a row here.
#include "rules/binding/verbs.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/suggest.hpp"

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
    {"trace:total_ns", "() -> ns",
     "All steps on all devices together, or the window, without what the profiler adds: what the "
     "shares that a rule tells are of.",
     verb<total_ns>},
    {"trace:available", "(source) -> known, reason, record_with",
     "Whether a source (kernels, copies, unified_copies, calls, ranges, os_calls, gpu_faults, "
     "cpu_faults, memory_use, samples, graph_nodes, cpu_stretches, host_samples, python_lock) was "
     "recorded, why not, and the options of its profiler that record it.",
     verb<available>},
    {"trace:ops", "(filter?) -> selection",
     "GPU operations that overlap the analysed steps. Fields: kind (kernel, copy, set, graph), "
     "class (of kernels), name, direction (h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d), "
     "from and to (pageable, pinned, device, managed), cause (of migrations), bytes, blocks, "
     "blocks_x (along the first extent of the grid), threads, registers (of a thread) and "
     "shared_bytes (of a block), stream, device, thread (that launched it); of collectives also "
     "collective (all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, send and "
     "receive, another kind) and, where the report tells, group (the process group, with its "
     "ranks) and ranks (how many they are).",
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
     "range around that, `next` the kernel that ended it. `stretch` is whose business a stretch of "
     "the host's is, of cause unknown (offload, phase, optimizer, compiler, lock, preempted, "
     "waits, "
     "launching, works, unnamed; also lock of inferred input): each is one thing only. `after` and "
     "`before` keep those next to "
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
    {"trace:read_backs", "() -> copies, waits, deciding, changing",
     "Copies to the host for which it waited before it gave the GPU more to do within the step, "
     "and "
     "the calls that waited. `deciding`: those of the copies after which the GPU is given other "
     "work than in other steps (other kernels, grids or sizes), though the step begins alike; "
     "`changing`: all operations that do not come equally often in every step. Both are empty "
     "where fewer than three steps can be compared, or fewer than two copies come a step.",
     verb<read_backs, Cost{.ops = 4, .calls = 4}>},
    {"trace:residency", "({ min_bytes = 1 MiB }?) -> untouched, touched, gap_ns",
     "Data that comes back to the host only to go up again, at least five times: copies to the "
     "host with those of as many bytes to the same device that follow. Untouched are those that go "
     "up so soon that the host cannot have changed them (50 GB/s); touched the others; gap_ns is "
     "the median time between, without that in other copies, of the untouched that took longest. "
     "Sizes that go over several streams in turn are left out, and so are the first uploads and "
     "the last downloads where not every step has a turn.",
     verb<residency, Cost{.ops = 64, .copies = 1}>},
    {"trace:relayed", "({ min_bytes = 1 MiB }?) -> downloads, uploads",
     "Copies to the host that go up to another device of the same process next, and those that "
     "take them there. Sizes that a device both sends and gets are left out: they may be its own.",
     verb<relayed, Cost{.ops = 64, .copies = 1}>},
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
    {"trace:repeated", "({ within, of, least = 8 }) -> selection",
     "Kernels of the selection `within` that do once more what those of `of` do: sequences of at "
     "least so many on a stream, at least half of them different, with the names, blocks and "
     "threads of a sequence of `of`.",
     verb<repeated, Cost{.ops = 2}>},
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
    {"trace:reduced_gradients", "() -> { phases, early, last, copies, bytes }",
     "The all-reduces and reduce-scatters of the backward phases of steps in which each of them "
     "reduces the same: `phases`, how many a step has, as a rule; `early`, those of all phases but "
     "the last, and `bytes`, what they reduce (0 where it is not told); `last`, those of the last; "
     "`copies`, what moved the early ones' data into buffers and back. Losses tell phases apart, "
     "and an optimizer ends a step. Fewer than two phases: `early` is empty.",
     verb<reduced_gradients, Cost{.ops = 2, .ranges = 8}>},
    {"trace:gathered_weights", "() -> { steps, all, late, held_up, again, scattered, bytes }",
     "All-gathers of weights that are spread over ranks, of `steps` in which blocks are gathered "
     "one after the other before anything is scattered: `all` of them; `late`, those that began "
     "only when the work before them had ended, although the gather before was done well before "
     "(the optimizer in between aside), and `held_up`, the reduce-scatters between that work and a "
     "late gather, which the next block could have hidden; `again`, those of backward that gather "
     "what was gathered "
     "before it; `scattered`, the reduce-scatters; and `bytes`, what one step gathers before "
     "backward, with all ranks' parts (0 where it is not told).",
     verb<gathered_weights, Cost{.ops = 2, .ranges = 8}>},
    {"trace:broadcast_buffers", "() -> broadcasts, copies",
     "Broadcasts in steps before their loss, and the copies on the device that follow them with no "
     "other work between: buffers that were sent together are put back one by one.",
     verb<broadcast_buffers, Cost{.ops = 2, .ranges = 8}>},
    {"trace:devices_in_turn", "() -> list of { devices, busy_ns, together_ns, idle, copies }",
     "For each process that drives several GPUs: how many; how long they were busy, summed, and "
     "for how long two or more were at once; their idle time of which another one of them works "
     "for nearly all; and the copies between them.",
     verb<devices_in_turn, Cost{.ops = 2}>},
    {"trace:stream_turns", "() -> list of { legacy, events, count, wait_ns, first, second }",
     "Pairs of streams of which kernels take turns although both had been launched and would fit "
     "on the GPU together: how often one began right when one of the other's had ended, how "
     "long it could have begun earlier, summed, and the kernels of both, of the `first` the most "
     "time. `legacy`: one is the legacy default stream, which CUDA orders against the other; "
     "`events`: how often the stream had been told to wait for an event since its launch before "
     "(cudaStreamWaitEvent). Other pairs have neither.",
     verb<stream_turns, Cost{.ops = 1}>},
    {"selection:waits", "() -> list of { device, wait_ns, together, rows }",
     "Of messages and collectives whose members are all in the report, by device: how long "
     "those of the selection waited with nothing computed beside them until the last member had "
     "come, and which did. `together`: how many devices meet each other, directly or through "
     "others.",
     verb<waits, Cost{.rows = 1, .ops = 1}>},
    {"selection:where", "(filter) -> selection",
     "The rows that pass every test of the filter: name, class, kind, direction, from, to, "
     "memory (either end), cause, stretch, thread, collective, group take a glob or a list of "
     "globs; device, min_ns, max_ns, min_bytes, max_bytes, min_blocks, max_blocks a number; phase "
     "a name or several; in_graph, own (a kernel of the program's, of no library or framework), "
     "inferred, drained, migrating a truth value; after, before, inside (wholly within its rows' "
     "time), launched_in (by a call within these ranges) a selection.",
     verb<where, Cost{.rows = 4}>},
    {"selection:beside", "(other) -> selection",
     "The operations that stand next to one of the other's on their stream, with nothing but "
     "such operations and memsets between: the casts before a product.",
     verb<beside, Cost{.ops = 2}>},
    {"selection:kept_for", "(readers) -> selection, rest_ns",
     "Of concatenations those of keys and values that had been kept: two in a row right before "
     "each "
     "of the readers (fused attention), which together take as long as all operations but these "
     "and the readers, or longer. In that time nothing can have computed what they join. "
     "Empty where that is not so; rest_ns is what those other operations take.",
     verb<kept_for, Cost{.ops = 2}>},
    {"selection:amid", "(other) -> selection",
     "The operations or idle times of a device that lie in a loop of the other's: between two that "
     "follow each other, no more than ten times the median distance apart.",
     verb<amid, Cost{.rows = 2}>},
    {"selection:first_of_steps", "(share) -> selection",
     "The operations that come first in their step, so large a share of them: of what each of four "
     "micro-batches does, a quarter is the first one's.",
     verb<first_of_steps, Cost{.rows = 4}>},
    {"selection:containing", "(other) -> selection",
     "The rows within whose time a row of the other lies, in the same process: the ranges in which "
     "the host waits, the steps with a page fault. Operations lie in the range or call that "
     "launched them, wherever they ran.",
     verb<containing, Cost{.rows = 1}>},
    {"selection:without", "(other) -> selection",
     "The rows within whose time no row of the other lies: the ranges that launch nothing, the "
     "steps without a checkpoint. All but those of selection:containing.",
     verb<without, Cost{.rows = 1}>},
    {"selection:at", "(i) -> selection",
     "The i-th row alone, in order of time; -1 is the last. Idle time and steps come device by "
     "device. Empty if there is no such row.",
     verb<at, Cost{.rows = 64}>},
    {"selection:calls", "() -> selection", "The CUDA calls that launched these operations.",
     verb<calls_of, Cost{.rows = 4, .calls = 64}>},
    {"selection:count", "() -> number", "How many rows there are.", verb<count>},
    {"selection:sum", "(field) -> number",
     "The sum of a field over the rows. Durations that overlap count twice: see union_ns.",
     verb<sum, Cost{.rows = 4}>},
    {"selection:median", "(field) -> number | nil", "The median of a field; nil of no rows.",
     verb<median, Cost{.rows = 1}>},
    {"selection:growth", "(field) -> { rising, first, last } | nil",
     "Whether a field grows from row to row. The selection is cut into up to 32 pieces, in order "
     "of time, and their medians are compared: the share of changes that rise, and the first and "
     "the last median. A half is chance; what starts anew now and then still rises mostly. Where "
     "fewer than half of the medians differ from the one before, the share is of that half, so "
     "that one change is no growth. nil of fewer than 32 rows.",
     verb<growth, Cost{.rows = 1}>},
    {"selection:union_ns", "() -> ns",
     "The time covered by at least one row, within the steps, summed over devices. In this and the "
     "next two, idle time counts as it is without the profiler.",
     verb<union_ns, Cost{.rows = 1}>},
    {"selection:recorded_ns", "() -> ns",
     "As union_ns, with what the profiler added: beside facts, which are of the recording.",
     verb<recorded_ns, Cost{.rows = 1}>},
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
    {"selection:doing", "(share) -> name, within, ns | nil",
     "What the host did for most of this idle time, where that takes at least such a share of it; "
     "the program's own range around that, or \"\"; and how long it did.",
     verb<doing, Cost{.rows = 1}>},
    {"selection:host", "() -> text",
     "Sentences, each after a space, for the end of a message: what the profiler saw of the "
     "launching thread during this idle time, where it sampled stacks or traced context switches "
     "or Python's lock. \"\" of reports without these.",
     verb<host, Cost{.rows = 1}>},
    {"selection:products",
     "() -> list of { m, n, k, element_bytes, aligned, odd, count, sum_ns, rows }",
     "The matrix products that these operations compute, where the range or operator that "
     "launched them carries shapes (PyTorch's record_shapes), the longest first. aligned: "
     "whether rows of operands and result begin at multiples of 16 bytes; nil where the shapes "
     "do not tell. odd: the extent in elements that is to blame.",
     verb<products, Cost{.rows = 1, .ranges = 4}>},
    {"selection:launch_shapes",
     "(most = 20) -> list of { name, blocks, threads, registers, shared_bytes, blocks_a_sm, "
     "occupancy, limit, waves, count, sum_ns, short_ns, long_ns, rows }",
     "Kernels by name and how they were launched, the longest summed time first. blocks_a_sm: how "
     "many blocks an SM holds at once; occupancy: their warps, of those that fit; limit: what is "
     "used up then (threads, blocks, registers, shared memory); waves: how often the grid fills "
     "the GPU. nil where the report or schemas/gpus.toml does not tell. A tenth of them takes "
     "short_ns or less, a tenth long_ns or more.",
     verb<launch_shapes, Cost{.rows = 1}>},
    {"selection:empty_sm_ns", "(full) -> ns",
     "The time of these kernels, each moment times the share of the SMs that all kernels running "
     "at it leave empty: by blocks, and by threads where a block has too few for the four "
     "schedulers of an SM. Kernels of `full` and whole graphs fill the GPU whatever their grid. "
     "Time in which the device waits for pages of unified memory does not count.",
     verb<empty_sm_ns, Cost{.ops = 1, .gpu_faults = 1}>},
    {"selection:operators", "() -> list of { name, count, sum_ns }",
     "The innermost ranges, or operators, in which these operations were launched, the one with "
     "the "
     "longest summed time first; at most 20. Ranges as long as a step are none.",
     verb<operators, Cost{.rows = 1, .ranges = 4}>},
    {"selection:shapes", "() -> list of { name, sizes, count, sum_ns }",
     "The operators among these ranges whose shapes of operands were recorded (PyTorch's "
     "record_shapes), by name and shapes, the longest first. sizes[i] is the shape of operand i, "
     "{} "
     "of what is no tensor.",
     verb<shapes, Cost{.rows = 1}>},
    {"selection:top", "(n, field = \"duration_ns\") -> list of rows",
     "The n rows with the largest value, each as a table of the fields that it has (see Fields of "
     "rows), with `rows`, a selection of that row alone: trace:ops { launched_in = "
     "ranges:top(1)[1].rows }.",
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

// Names a verb that does not exist, with a suggestion. The upvalue is the prefix: "trace:".
int no_such_verb(lua_State* lua) {
  charge(lua, 64);
  const std::string prefix = lua_tostring(lua, lua_upvalueindex(1));
  const std::string name = lua_type(lua, 2) == LUA_TSTRING ? checked_text(lua, 2) : "";
  std::vector<std::string> names;
  for (const Verb& v : verbs)
    if (std::string_view(v.name).starts_with(prefix)) names.push_back(v.name + prefix.size());
  throw Error(fmt::format("{} has no verb '{}'{}", prefix.substr(0, prefix.size() - 1), name,
                          did_you_mean(name, names)));
}

// The metatable of a type: the verbs whose names begin with `prefix`.
void make_type(lua_State* lua, const char* type, const char* prefix, lua_CFunction collect) {
  luaL_newmetatable(lua, type);
  lua_newtable(lua);
  for (const Verb& v : verbs) {
    if (!std::string_view(v.name).starts_with(prefix)) continue;
    lua_pushcfunction(lua, v.function);
    lua_setfield(lua, -2, v.name + std::string_view(prefix).size());
  }
  lua_newtable(lua);
  lua_pushstring(lua, prefix);
  lua_pushcclosure(lua, lua_verb<no_such_verb>, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
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

const std::vector<FieldDoc>& field_docs() {
  static const std::vector<FieldDoc> docs = [] {
    std::vector<FieldDoc> list;
    for (const binding::FieldSpec& f : binding::fields)
      list.push_back({f.name, f.number != nullptr, f.rows, f.doc});
    return list;
  }();
  return docs;
}

void push_trace(lua_State* lua, const ApiHost& host) {
  binding::make_type(lua, binding::selection_type, "selection:", binding::collect_rows);
  binding::make_type(lua, binding::trace_type, "trace:", nullptr);
  binding::make_context(lua, host);
  lua_newuserdatauv(lua, 0, 0);
  luaL_setmetatable(lua, binding::trace_type);
}

}  // namespace gh
