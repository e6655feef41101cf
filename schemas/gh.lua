---@meta
-- What rules can call, for editors that read LuaLS annotations. Made from the engine's own table of it.

---@class gh.Trace
local trace = {}

---@class gh.Selection
local selection = {}

--- The value of a fact (`gh-advise facts` lists them): a number in its unit, or text; nil and the reason where it is unknown.
--- (name) -> value | nil, reason
---@param name any
---@return any
function trace:fact(name) end

--- All steps on all devices together, or the window, without what the profiler adds: what the shares that a rule tells are of.
--- () -> ns
---@return any
function trace:total_ns() end

--- Whether a source (kernels, copies, unified_copies, calls, ranges, os_calls, gpu_faults, cpu_faults, memory_use, samples, graph_nodes, cpu_stretches, host_samples, python_lock) was recorded, why not, and the options of its profiler that record it.
--- (source) -> known, reason, record_with
---@param source any
---@return any
function trace:available(source) end

--- GPU operations that overlap the analysed steps. Fields: kind (kernel, copy, set, graph), class (of kernels), name, direction (h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d), from and to (pageable, pinned, device, managed), cause (of migrations), bytes, blocks, blocks_x (along the first extent of the grid), threads, registers (of a thread) and shared_bytes (of a block), stream, device, thread (that launched it); of collectives also collective (all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, send and receive, another kind) and, where the report tells, group (the process group, with its ranks) and ranks (how many they are).
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:ops(filter) end

--- CUDA calls of the host during the steps, of the processes that launched them. Fields: name, class (sync, allocation, copy_sync, copy, graph_launch, launch, compilation, loading, function, event, other), thread.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:calls(filter) end

--- NVTX ranges that overlap the steps. Fields: name, thread, bytes (of a collective's message, where NCCL says). `phase` keeps those of a phase: loader, optimizer, checkpoint, evaluation, garbage_collection.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:ranges(filter) end

--- OS-runtime calls during the steps. Fields: name, thread.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:os_calls(filter) end

--- Page faults of the GPU on unified memory. Fields: count, device. `migrating = true` keeps those on pages that also migrate.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:gpu_faults(filter) end

--- Time in which a device did nothing, in pieces of one cause each (input, sync, launch, allocation, compilation, loading, faults, failed, launch_latency, dependency, unknown). `name` is the call that the host was in, or had waited in where `drained`: what came after a wait, of no more than it took, until the host got ahead again. `doing` is what the host did for most of it, by its innermost name (a call, an operator, a range), `within` the program's own range around that, `next` the kernel that ended it. `stretch` is whose business a stretch of the host's is, of cause unknown (offload, phase, optimizer, compiler, lock, preempted, waits, launching, works, unnamed; also lock of inferred input): each is one thing only. `after` and `before` keep those next to operations of a selection; `inferred` tells input that no range names.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:idle(filter) end

--- The steps, whatever a step is (fact unit.name); none where the whole window stands in for them. Fields: number, device.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:steps(filter) end

--- How many threads of the processes that launch have a name like this.
--- (glob) -> count
---@param glob any
---@return any
function trace:threads(glob) end

--- Messages of the profiler about its own recording.
--- (glob, least_severity = 2) -> list of texts
---@param glob any
---@param least_severity? any
---@return table
function trace:diagnostics(glob, least_severity) end

--- CUDA calls that returned an error, by name and result, in the order in which they first occur; of the whole recording. Results that are answers (not ready) are none (schemas/calls.toml). After a fatal one all later calls of the process fail.
--- () -> list of { call, class, result, means, fatal, count, rows }
---@return table
function trace:failed_calls() end

--- The value of a variable of the program's environment: of those in schemas/environment.toml, the only ones that are read. "set" of a value that is none of the usual ones; nil where the report does not hold the variable.
--- (name) -> value | nil
---@param name any
---@return any
function trace:environment(name) end

--- What other rules have found, for rules that come `after_others`; an error in others.
--- () -> list of { rule, subject, severity, share }
---@return table
function trace:found() end

--- Whether that rule is asked on this report as well, or this one is asked alone, as in its test. For rules that come `after_others`.
--- (rule) -> boolean
---@param rule any
---@return any
function trace:asked(rule) end

--- What had to be left out on reading the report.
--- () -> list of texts
---@return table
function trace:problems() end

--- Whether the program is known to be of a kind: "pytorch", "training", "python" (schemas/programs.toml). For what it has to be said, see trace:words.
--- (kind) -> boolean
---@param kind any
---@return any
function trace:is(kind) end

--- The text that fits the program, of a table by kind as a finding's `advice` may have; nil where none does. `nsys` and `torch_profiler` are kinds as well: the tool that recorded the report, whose options are the ones to name.
--- ({ kind = text, ... }) -> text | nil
---@param arguments any
---@return any
function trace:words(arguments) end

--- Copies to the host of which the same number of bytes came back later, and those that brought them back.
--- ({ min_bytes = 1 MiB }?) -> selection, pairs
---@param arguments? any
---@return gh.Selection
function trace:round_trips(arguments) end

--- Copies from the host that come bit by bit within a step, in at least so many bursts with kernels between them: weights fetched layer by layer. A batch is one burst.
--- ({ min_bytes = 1 MiB, min_per_step = 4 }?) -> selection
---@param arguments? any
---@return gh.Selection
function trace:streamed_uploads(arguments) end

--- Copies to the host for which it waited before it gave the GPU more to do within the step, and the calls that waited. `deciding`: those of the copies after which the GPU is given other work than in other steps (other kernels, grids or sizes), though the step begins alike; `changing`: all operations that do not come equally often in every step. Both are empty where fewer than three steps can be compared, or fewer than two copies come a step.
--- () -> copies, waits, deciding, changing
---@return any
function trace:read_backs() end

--- Data that comes back to the host only to go up again, at least five times: copies to the host with those of as many bytes to the same device that follow. Untouched are those that go up so soon that the host cannot have changed them (50 GB/s); touched the others; gap_ns is the median time between, without that in other copies, of the untouched that took longest. Sizes that go over several streams in turn are left out, and so are the first uploads and the last downloads where not every step has a turn.
--- ({ min_bytes = 1 MiB }?) -> untouched, touched, gap_ns
---@param arguments? any
---@return any
function trace:residency(arguments) end

--- Copies to the host that go up to another device of the same process next, and those that take them there. Sizes that a device both sends and gets are left out: they may be its own.
--- ({ min_bytes = 1 MiB }?) -> downloads, uploads
---@param arguments? any
---@return any
function trace:relayed(arguments) end

--- Runs of operations on one stream around each operation of `centre`, over operations of `through` only, up to one of `edge` on either side within `most`. `with` lists selections of which each run has to hold one. Returns the runs, all operations in them, and the edges.
--- ({ centre, edge, through, with?, most = 14, edges = 1 }) -> chains, inner, edges
---@param arguments any
---@return gh.Selection
function trace:chains(arguments) end

--- Uninterrupted runs, on one stream, of at least so many operations of a selection; all operations in them; and the longest of each.
--- ({ of, least = 3 }) -> runs, inner, longest
---@param arguments any
---@return gh.Selection
function trace:runs(arguments) end

--- Kernels of the selection `within` that do once more what those of `of` do: sequences of at least so many on a stream, at least half of them different, with the names, blocks and threads of a sequence of `of`.
--- ({ within, of, least = 8 }) -> selection
---@param arguments any
---@return gh.Selection
function trace:repeated(arguments) end

--- The samples of a GPU metric within the steps, by a glob over names or as an activity that sources name differently: sm_active, sm_occupancy, tensor_active (schemas/metrics.toml). period_ns: over how long a monitor averages; 0 of the profiler's own samples.
--- (metric) -> { count, mean, median, least, most, period_ns } | nil, reason, record_with
---@param metric any
---@return any
function trace:metric(metric) end

--- The share of sampled moments within the steps at which every metric lies within its bounds.
--- ({ { metric = glob or activity, least?, most? }, ... }) -> fraction | nil, reason, record_with
---@param arguments any
---@return any
function trace:sampled_fraction(arguments) end

--- For each device, the worst first: how long the others waited in collectives that it entered last (the median of the others), how much of that with nothing computed beside it, how many those were, its own collectives, of which nothing is waiting, and the others'.
--- () -> list of { device, late_ns, exposed_ns, count, own, waited }
---@return table
function trace:late_devices() end

--- The all-reduces and reduce-scatters of the backward phases of steps in which each of them reduces the same: `phases`, how many a step has, as a rule; `early`, those of all phases but the last, and `bytes`, what they reduce (0 where it is not told); `last`, those of the last; `copies`, what moved the early ones' data into buffers and back. Losses tell phases apart, and an optimizer ends a step. Fewer than two phases: `early` is empty.
--- () -> { phases, early, last, copies, bytes }
---@return any
function trace:reduced_gradients() end

--- All-gathers of weights that are spread over ranks, of `steps` in which blocks are gathered one after the other before anything is scattered: `all` of them; `late`, those that began only when the work before them had ended, although the gather before was done well before (the optimizer in between aside), and `held_up`, the reduce-scatters between that work and a late gather, which the next block could have hidden; `again`, those of backward that gather what was gathered before it; `scattered`, the reduce-scatters; and `bytes`, what one step gathers before backward, with all ranks' parts (0 where it is not told).
--- () -> { steps, all, late, held_up, again, scattered, bytes }
---@return any
function trace:gathered_weights() end

--- Broadcasts in steps before their loss, and the copies on the device that follow them with no other work between: buffers that were sent together are put back one by one.
--- () -> broadcasts, copies
---@return any
function trace:broadcast_buffers() end

--- For each process that drives several GPUs: how many; how long they were busy, summed, and for how long two or more were at once; their idle time of which another one of them works for nearly all; and the copies between them.
--- () -> list of { devices, busy_ns, together_ns, idle, copies }
---@return table
function trace:devices_in_turn() end

--- Pairs of streams of which kernels take turns although both had been launched and would fit on the GPU together: how often one began right when one of the other's had ended, how long it could have begun earlier, summed, and the kernels of both, of the `first` the most time. `legacy`: one is the legacy default stream, which CUDA orders against the other; `events`: how often the stream had been told to wait for an event since its launch before (cudaStreamWaitEvent). Other pairs have neither.
--- () -> list of { legacy, events, count, wait_ns, first, second }
---@return table
function trace:stream_turns() end

--- Of messages and collectives whose members are all in the report, by device: how long those of the selection waited with nothing computed beside them until the last member had come, and which did. `together`: how many devices meet each other, directly or through others.
--- () -> list of { device, wait_ns, together, rows }
---@return table
function selection:waits() end

--- The rows that pass every test of the filter: name, class, kind, direction, from, to, memory (either end), cause, stretch, thread, collective, group take a glob or a list of globs; device, min_ns, max_ns, min_bytes, max_bytes, min_blocks, max_blocks a number; phase a name or several; in_graph, own (a kernel of the program's, of no library or framework), inferred, drained, migrating a truth value; after, before, inside (wholly within its rows' time), launched_in (by a call within these ranges) a selection.
--- (filter) -> selection
---@param filter any
---@return gh.Selection
function selection:where(filter) end

--- The operations that stand next to one of the other's on their stream, with nothing but such operations and memsets between: the casts before a product.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:beside(other) end

--- Of concatenations those of keys and values that had been kept: two in a row right before each of the readers (fused attention), which together take as long as all operations but these and the readers, or longer. In that time nothing can have computed what they join. Empty where that is not so; rest_ns is what those other operations take.
--- (readers) -> selection, rest_ns
---@param readers any
---@return gh.Selection
function selection:kept_for(readers) end

--- The operations or idle times of a device that lie in a loop of the other's: between two that follow each other, no more than ten times the median distance apart.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:amid(other) end

--- The operations that come first in their step, so large a share of them: of what each of four micro-batches does, a quarter is the first one's.
--- (share) -> selection
---@param share any
---@return gh.Selection
function selection:first_of_steps(share) end

--- The rows within whose time a row of the other lies, in the same process: the ranges in which the host waits, the steps with a page fault. Operations lie in the range or call that launched them, wherever they ran.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:containing(other) end

--- The rows within whose time no row of the other lies: the ranges that launch nothing, the steps without a checkpoint. All but those of selection:containing.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:without(other) end

--- The i-th row alone, in order of time; -1 is the last. Idle time and steps come device by device. Empty if there is no such row.
--- (i) -> selection
---@param i any
---@return gh.Selection
function selection:at(i) end

--- The CUDA calls that launched these operations.
--- () -> selection
---@return gh.Selection
function selection:calls() end

--- How many rows there are.
--- () -> number
---@return any
function selection:count() end

--- The sum of a field over the rows. Durations that overlap count twice: see union_ns.
--- (field) -> number
---@param field any
---@return any
function selection:sum(field) end

--- The median of a field; nil of no rows.
--- (field) -> number | nil
---@param field any
---@return any
function selection:median(field) end

--- Whether a field grows from row to row. The selection is cut into up to 32 pieces, in order of time, and their medians are compared: the share of changes that rise, and the first and the last median. A half is chance; what starts anew now and then still rises mostly. Where fewer than half of the medians differ from the one before, the share is of that half, so that one change is no growth. nil of fewer than 32 rows.
--- (field) -> { rising, first, last } | nil
---@param field any
---@return any
function selection:growth(field) end

--- The time covered by at least one row, within the steps, summed over devices. In this and the next two, idle time counts as it is without the profiler.
--- () -> ns
---@return any
function selection:union_ns() end

--- As union_ns, with what the profiler added: beside facts, which are of the recording.
--- () -> ns
---@return any
function selection:recorded_ns() end

--- The time covered by rows of both, on the same device (the host concerns all).
--- (other) -> ns
---@param other any
---@return any
function selection:overlap_ns(other) end

--- The time covered by these rows and by none of the other's.
--- (other) -> ns
---@param other any
---@return any
function selection:exposed_ns(other) end

--- As union_ns, without the time in which the device waits for page faults or migrations of unified memory: what the rows themselves take.
--- () -> ns
---@return any
function selection:own_ns() end

--- The rows of which at least this fraction runs with none of the other's on the same device.
--- (other, fraction) -> selection
---@param other any
---@param fraction any
---@return gh.Selection
function selection:exposed(other, fraction) end

--- In how many quarters of the analysed work, counted in kernels, rows begin that take a tenth of what all take: what goes on all through a recording without steps is in three or four, its start, however long, in the first.
--- () -> number
---@return any
function selection:quarters() end

--- The rows of either.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:plus(other) end

--- The rows that the other has not.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:minus(other) end

--- Rows by the value of a field, the group with the longest summed time first.
--- (field, most = 20) -> list of { key, count, sum_ns, rows }
---@param field any
---@param most? any
---@return table
function selection:group(field, most) end

--- What the host did for most of this idle time, where that takes at least such a share of it; the program's own range around that, or ""; and how long it did.
--- (share) -> name, within, ns | nil
---@param share any
---@return any
function selection:doing(share) end

--- Sentences, each after a space, for the end of a message: what the profiler saw of the launching thread during this idle time, where it sampled stacks or traced context switches or Python's lock. "" of reports without these.
--- () -> text
---@return any
function selection:host() end

--- The matrix products that these operations compute, where the range or operator that launched them carries shapes (PyTorch's record_shapes), the longest first. aligned: whether rows of operands and result begin at multiples of 16 bytes; nil where the shapes do not tell. odd: the extent in elements that is to blame.
--- () -> list of { m, n, k, element_bytes, aligned, odd, count, sum_ns, rows }
---@return table
function selection:products() end

--- Kernels by name and how they were launched, the longest summed time first. blocks_a_sm: how many blocks an SM holds at once; occupancy: their warps, of those that fit; limit: what is used up then (threads, blocks, registers, shared memory); waves: how often the grid fills the GPU. nil where the report or schemas/gpus.toml does not tell. A tenth of them takes short_ns or less, a tenth long_ns or more.
--- (most = 20) -> list of { name, blocks, threads, registers, shared_bytes, blocks_a_sm, occupancy, limit, waves, count, sum_ns, short_ns, long_ns, rows }
---@param most? any
---@return table
function selection:launch_shapes(most) end

--- The time of these kernels, each moment times the share of the SMs that all kernels running at it leave empty: by blocks, and by threads where a block has too few for the four schedulers of an SM. Kernels of `full` and whole graphs fill the GPU whatever their grid. Time in which the device waits for pages of unified memory does not count.
--- (full) -> ns
---@param full any
---@return any
function selection:empty_sm_ns(full) end

--- The innermost ranges, or operators, in which these operations were launched, the one with the longest summed time first; at most 20. Ranges as long as a step are none.
--- () -> list of { name, count, sum_ns }
---@return table
function selection:operators() end

--- The operators among these ranges whose shapes of operands were recorded (PyTorch's record_shapes), by name and shapes, the longest first. sizes[i] is the shape of operand i, {} of what is no tensor.
--- () -> list of { name, sizes, count, sum_ns }
---@return table
function selection:shapes() end

--- The n rows with the largest value, each as a table of the fields that it has (see Fields of rows), with `rows`, a selection of that row alone: trace:ops { launched_in = ranges:top(1)[1].rows }.
--- (n, field = "duration_ns") -> list of rows
---@param n any
---@param field? any
---@return table
function selection:top(n, field) end

--- Whether the whole text matches: * any run, ? any byte, the rest literally. Text has it as a method: name:glob "nccl*".
--- (text, pattern) -> boolean
---@param text any
---@param pattern any
---@return any
function string.glob(text, pattern) end

--- The text in at most so many letters, for messages: a longer one has ... in its middle.
--- (text, most = 60) -> text
---@param text any
---@param most? any
---@return any
function string.short(text, most) end

--- The parts between plain separators of 1 to 64 bytes.
--- (text, separator) -> list
---@param text any
---@param separator any
---@return table
function string.split(text, separator) end

--- Whether the text begins so.
--- (text, prefix) -> boolean
---@param text any
---@param prefix any
---@return any
function string.starts_with(text, prefix) end

--- The longest rows as evidence for a finding, the worst first.
--- ({ most = 5, note = "" }?) -> list
---@param arguments? any
---@return table
function selection:evidence(arguments) end
