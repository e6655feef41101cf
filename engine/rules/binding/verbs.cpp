// The table of what rules can call: each verb's name, signature and documentation, the function
// that runs, and what it charges in advance. Documentation, editor stubs and the Lua API are
// generated from it. A verb itself charges for work that it cannot know in advance, and every
// selection that is returned to Lua costs by its rows (push_rows).
//
// To add a verb, add a function to one of the files below verbs/, a line to verbs.hpp, and a row
// here.
#include "rules/binding/verbs.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <string_view>

#include "base/suggest.hpp"

namespace gh {
namespace binding {
namespace {

constexpr const char* trace_key = "gh.the_trace";  // in Lua's registry: what rules call `trace`

struct Verb {
  const char *name, *signature, *doc;  // see ApiEntry
  // Null for functions of the sandbox rather than of the trace, and for verbs that the library of
  // their name implements: a function of `trace` and the verb's own arguments.
  lua_CFunction function = nullptr;
  // Of a verb that will go, what to use instead. It works as before, and a note says so to whoever
  // has written a rule with it.
  const char* deprecated = nullptr;
};

constexpr Verb verbs[] = {
    {"trace:fact", "(name) -> value | nil, reason",
     "The value of a fact (`gh-advise facts` lists them): a number in its unit, or text; nil and "
     "the reason if it is unknown.",
     verb<fact>},
    {"trace:total_ns", "() -> ns",
     "All steps on all devices together, or the window, without what the profiler adds: the total "
     "for shares in messages.",
     verb<total_ns>},
    {"trace:available", "(source) -> known, reason, record_with",
     "Whether a source (kernels, copies, unified_copies, calls, ranges, os_calls, gpu_faults, "
     "cpu_faults, memory_use, samples, graph_nodes, cpu_stretches, host_samples, python_lock) was "
     "recorded; if not, why, and the profiler options that record it.",
     verb<available>},
    {"trace:ops", "(filter?) -> selection",
     "GPU operations that overlap the analyzed steps. Fields: kind (kernel, copy, set, graph), "
     "class (of kernels), name, direction (h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d), from "
     "and to (pageable, pinned, device, managed), cause (of migrations), bytes, blocks, blocks_x "
     "(along the grid's x extent), threads, registers (per thread) and shared_bytes (per block), "
     "stream, device, thread (that launched it); for collectives also collective (all-reduce, "
     "reduce-scatter, all-gather, all-to-all, broadcast, send and receive, another kind) and, if "
     "the report names it, group (the process group, with its ranks) and ranks (how many).",
     verb<ops>},
    {"trace:calls", "(filter?) -> selection",
     "CUDA calls of the host during the steps, from the processes whose steps they are. Fields: "
     "name, class (sync, allocation, copy_sync, copy, graph_launch, launch, compilation, loading, "
     "function, event, other), thread.",
     verb<calls>},
    {"trace:ranges", "(filter?) -> selection",
     "NVTX ranges that overlap the steps. Fields: name, thread, bytes (of a collective's message, "
     "if NCCL records it). `phase` keeps those of a phase: loader, optimizer, checkpoint, "
     "evaluation, garbage_collection.",
     verb<ranges>},
    {"trace:os_calls", "(filter?) -> selection",
     "OS-runtime calls during the steps. Fields: name, thread.", verb<os_calls>},
    {"trace:gpu_faults", "(filter?) -> selection",
     "GPU page faults on unified memory. Fields: count, device. `migrating = true` keeps those on "
     "pages that also migrate.",
     verb<gpu_faults>},
    {"trace:idle", "(filter?) -> selection",
     "Time in which a device did nothing, in pieces with one cause each (input, sync, launch, "
     "allocation, compilation, loading, faults, failed, launch_latency, dependency, unknown). "
     "`name` is the call that the host was in. With `drained` it is an earlier wait: the piece is "
     "time after the wait, up to its length, until the host got ahead again. `doing` is what the "
     "host did for most of the piece, by its innermost name (a call, an operator, a range), "
     "`within` the program's own range around that, `next` the kernel that ended it. `stretch` "
     "classifies host time whose cause is unknown (offload, phase, optimizer, compiler, lock, "
     "preempted, waits, launching, works, unnamed; also lock for inferred input): each piece "
     "belongs to one class only. `after` and `before` keep pieces next to operations of a "
     "selection; `inferred` marks input that no range names.",
     verb<idle>},
    {"trace:steps", "(filter?) -> selection",
     "The steps, whatever a step is (fact unit.name); empty if the whole window stands in for "
     "them. Fields: number, device.",
     verb<steps>},
    {"trace:threads", "(glob) -> count",
     "How many threads of the launching processes have a matching name.", verb<thread_count>},
    {"trace:diagnostics", "(glob, least_severity = 2) -> list of texts",
     "Messages of the profiler about its own recording.", verb<diagnostics>},
    {"trace:failed_calls", "() -> list of { call, class, result, means, fatal, count, rows }",
     "CUDA calls of the whole recording that returned an error, by name and result, in order of "
     "first occurrence. Results that are answers (not ready) do not count (schemas/calls.toml). "
     "After a fatal error all later calls of the process fail.",
     verb<failed_calls>},
    {"trace:environment", "(name) -> value | nil",
     "The value of an environment variable of the program, one of those in "
     "schemas/environment.toml; no others are read. \"set\" for an unusual value; nil if the "
     "report does not contain the variable.",
     verb<environment>},
    {"trace:found", "() -> list of { rule, subject, severity, share }",
     "What other rules found, for rules that run `after_others`; an error in others.", verb<found>},
    {"trace:asked", "(rule) -> boolean",
     "Whether that rule also runs on this report; also true if this rule runs alone, as in its "
     "test. For rules that run `after_others`.",
     verb<asked>},
    {"trace:problems", "() -> list of texts", "What could not be read from the report.",
     verb<problems>},
    {"trace:is", "(kind) -> boolean",
     "Whether the program is known to be of a kind: \"pytorch\", \"training\", \"python\" "
     "(schemas/programs.toml). To choose words by kind, see trace:words.",
     verb<is_kind>},
    {"trace:words", "({ kind = text, ... }) -> text | nil",
     "The text that fits the program, from a table by kind as in a finding's `advice`; nil if none "
     "does. `nsys` and `torch_profiler` are kinds too: the tool that recorded the report, whose "
     "options a message should name.",
     verb<words>},
    {"trace:round_trips", "({ min_bytes = 1 MiB }?) -> selection, pairs",
     "Copies to the host after which the same number of bytes came back, and the copies that "
     "brought them back.",
     verb<round_trips, Cost{.ops = 64, .copies = 1}>},
    {"trace:streamed_uploads", "({ min_bytes = 1 MiB, min_per_step = 4 }?) -> selection",
     "Copies from the host that come piece by piece within a step, in at least `min_per_step` "
     "bursts with kernels in between: weights fetched layer by layer. A batch is one burst.",
     verb<streamed_uploads, Cost{.ops = 4}>},
    {"trace:read_backs", "() -> copies, waits, deciding, changing",
     "Copies to the host that it waited for before it launched more GPU work in the step, and the "
     "calls that waited. `deciding`: those of the copies after which the GPU gets different work "
     "than in other steps (other kernels, grids or sizes) although the step begins the same; "
     "`changing`: all operations that do not occur equally often in every step. Both are empty if "
     "fewer than three steps can be compared, or with fewer than two copies a step.",
     verb<read_backs, Cost{.ops = 4, .calls = 4}>},
    {"trace:residency", "({ min_bytes = 1 MiB }?) -> untouched, touched, gap_ns",
     "Data that goes to the host and back to the same device at least five times: copies to the "
     "host, together with the uploads of the same size that follow. `untouched`: those uploaded "
     "again so soon that the host cannot have changed them (50 GB/s); `touched`: the others; "
     "`gap_ns`: the median time in between, without other copies, for the untouched size with the "
     "longest. Leaves out sizes that are copied on several streams in turn, and the first uploads "
     "and last downloads if not every step has a round trip.",
     verb<residency, Cost{.ops = 64, .copies = 1}>},
    {"trace:relayed", "({ min_bytes = 1 MiB }?) -> downloads, uploads",
     "Copies to the host whose data goes to another device of the same process next, and the "
     "copies that take it there. Leaves out sizes that a device both sends and receives, since "
     "they may be its own.",
     verb<relayed, Cost{.ops = 64, .copies = 1}>},
    {"trace:match",
     "({ element, ..., by = \"stream\", skip? }) -> { element, ..., count, sequences }",
     "Sequences of operations, one right after the other on a stream (or `by = \"device\"`, in "
     "order of start; or `by = \"thread\"`, in order of launch). An element is a selection, or "
     "`{ of = selection, least = 1, most }`, and stands for a run of its operations, as long as it "
     "is; \"end\", as the last, means that nothing follows. Passes over the operations of `skip`; "
     "with `skip = \"others\"` over all that no element names. Returns, by the element's place, "
     "the operations that it took in all sequences; how many sequences there are; and the "
     "sequences themselves, for verbs that take rows. No operation is in two.",
     verb<match, Cost{.ops = 2}>},
    {"trace:chains",
     "({ centre, edge, through, with?, most = 14, edges = 1 }) -> chains, inner, edges",
     "Runs of operations on one stream around each operation of `centre`, passing only operations "
     "of `through`, up to an operation of `edge` on either side within `most`. Each run has to "
     "contain one operation of each selection in `with`. Returns the runs, all operations in them, "
     "and the edges.",
     verb<chains, Cost{.ops = 16}>},
    {"trace:runs", "({ of, least = 3 }) -> runs, inner, longest",
     "Uninterrupted runs of at least `least` operations of a selection on one stream; all "
     "operations in them; and the longest operation of each.",
     verb<runs, Cost{.ops = 2}>},
    {"trace:repeated", "({ within, of, least = 8 }) -> selection",
     "Kernels of the selection `within` that repeat those of `of`: sequences of at least `least` "
     "on a stream, at least half of them different, with the same names, blocks and threads as a "
     "sequence of `of`.",
     verb<repeated, Cost{.ops = 2}>},
    {"trace:metric",
     "(metric) -> { count, mean, median, least, most, period_ns } | nil, reason, record_with",
     "The samples of a GPU metric within the steps, by a glob over names or as an activity that "
     "sources name differently: sm_active, sm_occupancy, tensor_active (schemas/metrics.toml). "
     "period_ns: the time over which a monitor averages; 0 for the profiler's own samples.",
     verb<metric, Cost{.samples = 4}>},
    {"trace:sampled_fraction",
     "({ { metric = glob or activity, least?, most? }, ... }) -> fraction | nil, reason, "
     "record_with",
     "The share of sampled moments within the steps at which every metric is within its bounds.",
     verb<sampled_fraction, Cost{.samples = 2}>},
    {"trace:late_devices", "() -> list of { device, late_ns, exposed_ns, count, own, waited }",
     "For each device, the worst first: how long the others waited in collectives that it entered "
     "last (the median of the others), how much of that with no compute at the same time, how many "
     "collectives those were, its own operations in them, which did not wait, and the others'.",
     verb<late_devices>},
    {"trace:devices_in_turn", "() -> list of { devices, busy_ns, together_ns, idle, copies }",
     "For each process that uses several GPUs: how many; how long they were busy in total, and for "
     "how long two or more were busy at once; their idle time during nearly all of which another "
     "one works; and the copies between them.",
     verb<devices_in_turn, Cost{.ops = 2}>},
    {"trace:stream_turns", "() -> list of { legacy, events, count, wait_ns, first, second }",
     "Pairs of streams whose kernels take turns although both had been launched and would fit on "
     "the GPU together: how often one began right when one of the other stream ended, the total "
     "time by which they could have begun earlier, and the kernels of both streams (`first` takes "
     "the most time). `legacy`: one is the legacy default stream, which CUDA orders against the "
     "other; `events`: how often the stream had been made to wait for an event since its previous "
     "launch (cudaStreamWaitEvent). Other pairs have neither.",
     verb<stream_turns, Cost{.ops = 1}>},
    {"selection:where", "(filter) -> selection",
     "The rows that pass every test of the filter: name, class, kind, direction, from, to, "
     "memory (either end), cause, stretch, thread, collective, group take a glob or a list of "
     "globs; device, min_ns, max_ns, min_bytes, max_bytes, min_blocks, max_blocks a number; phase "
     "a name or several; in_graph, own (a kernel of the program, not of a library or framework), "
     "inferred, drained, migrating a boolean; after, before, inside (wholly within its rows' "
     "time, on the same device), launched_in (by a call within these ranges) a selection.",
     verb<where, Cost{.rows = 4}>},
    {"selection:alike", "(other, fields, least = 1) -> selection",
     "The rows with whose values of these fields the other has at least `least` rows: gathers:alike"
     "(gathers, { \"device\", \"step\", \"stream\" }, 2) are those that are not alone on their "
     "stream in their step.",
     verb<alike>},
    {"selection:pair", "(other, fields) -> selection, others",
     "The rows to each of which belongs one of the other's with the same values of these fields, "
     "in order of time; and these others. Without `bytes` among the fields they pair by number.",
     verb<pair>},
    {"selection:phases", "(marks, most = 64) -> { before, phase, ... }",
     "The rows of each step by phase: those that begin before the first of the step's marks on "
     "their device, then by its place those from each mark to the next; the last of `most` takes "
     "the rest. Leaves out steps without a mark.",
     verb<phases, Cost{.rows = 1}>},
    {"selection:gaps", "(fields) -> selection",
     "The time between operations, or pieces of idle time, with equal values of these fields: from "
     "the end of one, and of all before it, to the start of the next.",
     verb<gaps>},
    {"selection:ahead_of", "(other, fields) -> selection",
     "The time by which each operation begins ahead of the other's with equal values of these "
     "fields, the first of several.",
     verb<ahead_of>},
    {"selection:last", "(fields) -> selection",
     "Of the rows with equal values of these fields the one that begins last: collectives:last { "
     "\"meeting\" } are those for which the other ranks waited.",
     verb<last>},
    {"selection:ops", "() -> selection",
     "The operation that each stands for: the one after a gap, the first of a sequence or run, the "
     "centre of a chain.",
     verb<ops_of, Cost{.rows = 4, .ops = 64}>},
    {"selection:keep", "(columns, test) -> selection",
     "The rows for which test(row) is true. A row is a table of the columns: fields by name, and "
     "for `column = selection` the time of the row in which one of that selection runs on its "
     "device: gaps:keep({ \"op_ns\", busy = kernels }, function(gap) return gap.busy > gap.op_ns "
     "end). Rows come in order of time, gaps and the like stream by stream. Costs about 10 "
     "instructions a row and column, and what the test takes.",
     verb<keep>},
    {"selection:beside", "(other) -> selection",
     "The operations next to one of the other's on their stream, with only such operations and "
     "memsets in between: the casts before a product.",
     verb<beside, Cost{.ops = 2}>},
    {"selection:first_of_steps", "(share) -> selection",
     "The operations that come first in their step, up to a share of them: of what each of four "
     "micro-batches does, a quarter belongs to the first.",
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
    {"selection:count", "() -> number", "The number of rows.", verb<count>},
    {"selection:sum", "(field) -> number",
     "The sum of a field over the rows. Durations that overlap count twice: see union_ns.",
     verb<sum, Cost{.rows = 4}>},
    {"selection:median", "(field) -> number | nil", "The median of a field; nil without rows.",
     verb<median, Cost{.rows = 1}>},
    {"selection:growth", "(field) -> { rising, first, last } | nil",
     "Whether a field grows from row to row. Cuts the selection into up to 32 pieces, in order of "
     "time, and compares their medians: `rising` is the share of changes that rise, `first` and "
     "`last` are medians. A half is chance; a value that resets now and then still mostly rises. "
     "If fewer than half of the medians differ from the one before, the share is relative to that "
     "half, so that a single change is no growth. nil with fewer than 32 rows.",
     verb<growth, Cost{.rows = 1}>},
    {"selection:union_ns", "() -> ns",
     "The time covered by at least one row, within the steps, summed over devices. In this and the "
     "next two, idle time counts as it is without the profiler.",
     verb<union_ns, Cost{.rows = 1}>},
    {"selection:recorded_ns", "() -> ns",
     "Like union_ns, but including what the profiler added: for use with facts, which describe the "
     "recording.",
     verb<recorded_ns, Cost{.rows = 1}>},
    {"selection:overlap_ns", "(other) -> ns",
     "The time covered by rows of both, on the same device (host time counts for all devices).",
     verb<overlap_ns, Cost{.rows = 1}>},
    {"selection:exposed_ns", "(other) -> ns",
     "The time covered by these rows and by none of the other's.",
     verb<exposed_ns, Cost{.rows = 1}>},
    {"selection:own_ns", "() -> ns",
     "Like union_ns, without the time in which the device waits for page faults or migrations of "
     "unified memory: what the rows themselves take.",
     verb<own_ns, Cost{.rows = 1, .gpu_faults = 1}>},
    {"selection:exposed", "(other, fraction) -> selection",
     "The rows that spend at least this fraction of their time with none of the other's running on "
     "the same device.",
     verb<exposed, Cost{.rows = 1}>},
    {"selection:quarters", "() -> number",
     "In how many quarters of the analyzed work, counted in kernels, rows begin that take a tenth "
     "of the time of all: three or four for something that goes on throughout a recording without "
     "steps, one for its start, however long.",
     verb<quarters, Cost{.rows = 1, .ops = 1}>},
    {"selection:throughout", "() -> boolean",
     "Whether such rows begin in three quarters or more, see selection:quarters: without steps, "
     "what does not may be the program's start.",
     verb<throughout, Cost{.rows = 1, .ops = 1}>},
    {"selection:plus", "(other) -> selection", "The rows of either.", verb<plus, Cost{.rows = 1}>},
    {"selection:minus", "(other) -> selection", "The rows that are not in the other.",
     verb<minus, Cost{.rows = 1}>},
    {"selection:group", "(field, most = 20) -> list of { key, count, sum_ns, rows }",
     "Rows by the value of a field, the group with the longest summed time first.",
     verb<group, Cost{.rows = 1}>},
    {"selection:doing", "(share) -> name, within, ns | nil",
     "What the host did for most of this idle time, if that takes at least the given share of it; "
     "the program's own range around that, or \"\"; and for how long.",
     verb<doing, Cost{.rows = 1}>},
    {"selection:host", "() -> text",
     "Sentences, each after a space, for the end of a message: what the profiler recorded about "
     "the launching thread during this idle time, if it sampled stacks or traced context switches "
     "or Python's lock. \"\" for reports without these.",
     verb<host, Cost{.rows = 1}>},
    {"selection:products",
     "() -> list of { m, n, k, element_bytes, aligned, odd, count, sum_ns, rows }",
     "The matrix products that these operations compute, if the range or operator that launched "
     "them has shapes (PyTorch's record_shapes), the longest first. aligned: whether rows of "
     "operands and result begin at multiples of 16 bytes; nil if the shapes do not show it. odd: "
     "the extent in elements that is to blame.",
     verb<products, Cost{.rows = 1, .ranges = 4}>},
    {"selection:launch_shapes",
     "(most = 20) -> list of { name, blocks, threads, registers, shared_bytes, blocks_a_sm, "
     "occupancy, limit, waves, count, sum_ns, short_ns, long_ns, rows }",
     "Kernels by name and launch shape, the longest summed time first. blocks_a_sm: how many "
     "blocks fit on an SM at once; occupancy: their warps over the most that fit; limit: what is "
     "used up then (threads, blocks, registers, shared memory); waves: how many times over the "
     "grid fills the GPU. nil if neither the report nor schemas/gpus.toml has the numbers. A tenth "
     "of the kernels take short_ns or less, a tenth long_ns or more.",
     verb<launch_shapes, Cost{.rows = 1}>},
    {"selection:empty_sm_ns", "(full) -> ns",
     "The time of these kernels, weighted at each moment by the share of the SMs that all running "
     "kernels together leave empty: by blocks, and by threads if a block has too few for the four "
     "schedulers of an SM. Kernels of `full` and whole graphs fill the GPU whatever their grid. "
     "Time in which the device waits for pages of unified memory does not count.",
     verb<empty_sm_ns, Cost{.ops = 1, .gpu_faults = 1}>},
    {"selection:operators", "() -> list of { name, count, sum_ns }",
     "The innermost ranges or operators in which these operations were launched, the longest "
     "summed time first; at most 20. Ranges as long as a step do not count.",
     verb<operators, Cost{.rows = 1, .ranges = 4}>},
    {"selection:shapes", "() -> list of { name, sizes, count, sum_ns }",
     "The operators among these ranges that have recorded operand shapes (PyTorch's "
     "record_shapes), by name and shapes, the longest first. sizes[i] is the shape of operand i, "
     "{} for one that is not a tensor.",
     verb<shapes, Cost{.rows = 1}>},
    {"selection:top", "(n, field = \"duration_ns\") -> list of rows",
     "The n rows with the largest value, each as a table of the fields that it has (see Fields of "
     "rows), with `rows`, a selection of that row alone: trace:ops { launched_in = "
     "ranges:top(1)[1].rows }.",
     verb<top, Cost{.rows = 1}>},
    {"string.glob", "(text, pattern) -> boolean",
     "Whether the whole text matches: * matches any run, ? any byte, the rest literally. Also a "
     "method of text: name:glob \"nccl*\"."},
    {"string.short", "(text, most = 60) -> text",
     "The text in at most so many letters, for messages: a longer one has ... in its middle."},
    {"string.split", "(text, separator) -> list",
     "The parts between plain separators of 1 to 64 bytes."},
    {"string.starts_with", "(text, prefix) -> boolean", "Whether the text begins with the prefix."},
    {"pairs", "",
     "Visits keys in order: numbers ascending, then strings; a key of another type is an error."},
    {"next", "", "In the same order as pairs."},
    {"table.sort", "", "Is stable; without a comparison it sorts numbers and strings."},
    {"tostring", "", "Prints \"table\" and \"function\", never an address."},
    {"getmetatable", "", "Works for tables only."},
    {"setmetatable", "",
     "Rejects __gc, __mode, and a __call that is not a function. Takes a copy of the metatable, so "
     "later changes to it have no effect."},
    {"pcall", "", "Catches errors, but not exhausted limits."},
    {"xpcall", "", "The same; its handler runs after the call has unwound."},
    {"string.format", "", "Like Lua's; %p is rejected."},
    {"string.rep", "", "Like Lua's; texts are at most 1 MiB long."},
    {"require", "(name) -> function",
     "One of the program's libraries, which its own rules share: see below. There are no others."},
    {"assert error ipairs rawequal rawget rawlen select tonumber type", "", "Like Lua's."},
    {"math.abs math.acos math.asin math.atan math.ceil math.cos math.deg math.exp math.floor "
     "math.fmod math.huge math.log math.max math.maxinteger math.min math.mininteger math.modf "
     "math.pi math.rad math.sin math.sqrt math.tan math.tointeger math.type math.ult",
     "", "Like Lua's; there is no random."},
    {"string.byte string.char string.len string.lower string.reverse string.sub string.upper", "",
     "Like Lua's; find, match, gmatch and gsub are missing, since a pattern can run for hours: use "
     "string.glob and string.split."},
    {"table.concat table.insert table.pack table.remove table.unpack", "",
     "Like Lua's; they reject tables whose metatable has __index, __newindex or __len."},
    {"selection:evidence", "({ most = 5, note = \"\" }?) -> list",
     "The longest rows as evidence for a finding, the worst first.",
     verb<evidence, Cost{.rows = 1}>},
    {"trace:reduced_gradients", "() -> { phases, early, last, copies, bytes }", "As the library.",
     nullptr, "use require \"reduced_gradients\""},
    {"trace:gathered_weights", "() -> { steps, all, late, held_up, again, scattered, bytes }",
     "As the library.", nullptr, "use require \"gathered_weights\""},
    {"trace:broadcast_buffers", "() -> broadcasts, copies", "As the library.", nullptr,
     "use require \"broadcast_buffers\""},
    {"selection:kept_for", "(readers) -> selection, rest_ns", "As the library.", nullptr,
     "use require \"kept_for\""},
    {"selection:amid", "(other) -> selection", "As the library.", nullptr, "use require \"amid\""},
    {"selection:waits", "() -> list of { device, wait_ns, together, rows }", "As the library.",
     nullptr, "use require \"waits\""},
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

// A verb that a library implements. Upvalues: the library, and whether the verb belongs to `trace`.
int call_library(lua_State* lua) {
  charge(lua, 1);
  luaL_checkstack(lua, LUA_MINSTACK, nullptr);
  lua_require(lua, lua_tostring(lua, lua_upvalueindex(1)));
  lua_insert(lua, 1);
  if (lua_toboolean(lua, lua_upvalueindex(2)) == 0) {
    lua_getfield(lua, LUA_REGISTRYINDEX, trace_key);
    lua_insert(lua, 2);
  }
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

// The metatable of a type: the verbs whose names begin with `prefix`.
void make_type(lua_State* lua, const char* type, const char* prefix, lua_CFunction collect) {
  luaL_newmetatable(lua, type);
  lua_newtable(lua);
  for (const Verb& v : verbs) {
    if (!std::string_view(v.name).starts_with(prefix)) continue;
    const char* name = v.name + std::string_view(prefix).size();
    if (v.function) {
      lua_pushcfunction(lua, v.function);
    } else {
      lua_pushstring(lua, name);
      lua_pushboolean(lua, type == trace_type);
      lua_pushcclosure(lua, lua_verb<call_library>, 2);
    }
    lua_setfield(lua, -2, name);
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
    for (const binding::Verb& v : binding::verbs)
      list.push_back({v.name, v.signature, v.doc, v.deprecated});
    return list;
  }();
  return entries;
}

std::vector<std::string> deprecations(const std::string& rule_source) {
  std::vector<std::string> notes;
  for (const ApiEntry& verb : api_entries()) {
    const std::string_view call = verb.deprecated ? std::strchr(verb.name, ':') : "";
    for (std::size_t at = 0;
         !call.empty() && (at = rule_source.find(call, at)) != std::string::npos;
         at += call.size()) {
      const unsigned char next = rule_source.c_str()[at + call.size()];
      if (next == '_' || std::isalnum(next) != 0) continue;  // a longer name
      notes.push_back(fmt::format("{} is deprecated and will go: {}", verb.name, verb.deprecated));
      break;
    }
  }
  return notes;
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
  lua_pushvalue(lua, -1);
  lua_setfield(lua, LUA_REGISTRYINDEX, binding::trace_key);
}

}  // namespace gh
