---@meta
-- What rules can call, for editors that read LuaLS annotations. Made from schemas/api.toml.

---@class gh.Trace
local trace = {}

---@class gh.Selection
local selection = {}

--- The value of a fact (`gh-advise facts` lists them): a number in its unit, or text; nil and the reason if it is unknown.
--- (name) -> value | nil, reason
---@param name any
---@return any
function trace:fact(name) end

--- All steps on all devices together, or the window, without what the profiler adds: the total for shares in messages.
--- () -> ns
---@return any
function trace:total_ns() end

--- What these changes, a list as in a finding's `change`, save of all steps together (see total_ns), by replaying them without what the profiler adds; nil where the steps cannot be replayed.
--- (changes) -> ns | nil
---@param changes any
---@return any
function trace:saves_ns(changes) end

--- Whether a source (kernels, copies, unified_copies, calls, ranges, os_calls, gpu_faults, cpu_faults, memory_use, samples, graph_nodes, cpu_stretches, host_samples, python_lock) was recorded; if not, why, and the profiler options that record it.
--- (source) -> known, reason, record_with
---@param source any
---@return any
function trace:available(source) end

--- GPU operations that overlap the analyzed steps. Fields: kind (kernel, copy, set, graph), class (of kernels), name, direction (h2d, d2h, d2d, h2h, p2p, um_h2d, um_d2h, um_d2d), from and to (pageable, pinned, device, managed), cause (of migrations), bytes, blocks, blocks_x (along the grid's x extent), threads, registers (per thread) and shared_bytes (per block), stream, device, thread (that launched it); for collectives also collective (all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, send and receive, another kind) and, if the report names it, group (the process group, with its ranks) and ranks (how many).
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:ops(filter) end

--- CUDA calls of the host during the steps, from the processes whose steps they are. Fields: name, class (sync, allocation, copy_sync, copy, graph_launch, launch, compilation, loading, function, event, other), thread.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:calls(filter) end

--- NVTX ranges that overlap the steps. Fields: name, thread, bytes (of a collective's message, if NCCL records it). `phase` keeps those of a phase: loader, optimizer, checkpoint, evaluation, garbage_collection, compilation.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:ranges(filter) end

--- OS-runtime calls during the steps. Fields: name, thread. The filter `does` knows what they do to their thread (schemas/calls.toml).
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:os_calls(filter) end

--- GPU page faults on unified memory. Fields: count, device. `migrating = true` keeps those on pages that also migrate.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:gpu_faults(filter) end

--- Time in which a device did nothing, in pieces with one cause each (input, sync, launch, allocation, compilation, loading, faults, failed, launch_latency, dependency, unknown). `name` is the call that the host was in. With `drained` it is an earlier wait: the piece is time after the wait, up to its length, until the host got ahead again. `doing` is what the host did for most of the piece, by its innermost name (a call, an operator, a range), `within` the program's own range around that, `next` the kernel that ended it. `stretch` classifies host time whose cause is unknown (offload, phase, optimizer, compiler, lock, preempted, waits, launching, works, unnamed; also lock for inferred input): each piece belongs to one class only. `after` and `before` keep pieces next to operations of a selection; `inferred` marks input that no range names.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:idle(filter) end

--- Pauses outside of the steps, as recorded, that belong to no step and to no other loop, by device and in order: of each the longest piece with one cause, if that is longer than the mean step and lies between two operations of the device. Start-up, which ends where the GPU works as in the steps, and what follows a device's last operation are left out; so is everything if less than `least_fraction` of the recording lies outside of the steps, which costs little to find out. `where` is "before the steps" or "after the last step", with the unit's name; `cause`, `doing` and `within` are as of trace:idle; `fraction` is of the recording, on all devices; `evidence` is for a finding's list.
--- (least_fraction?) -> list of { where, cause, duration_ns, fraction, doing, within, device, evidence }
---@param least_fraction? any
---@return table
function trace:outside_idle(least_fraction) end

--- The steps, whatever a step is (fact unit.name); empty if the whole window stands in for them. Fields: number, device.
--- (filter?) -> selection
---@param filter? any
---@return gh.Selection
function trace:steps(filter) end

--- How many threads of the launching processes have a matching name, or, with `phase = "loader"`, that of a data loader's.
--- (glob or { phase }) -> count
---@param glob? any
---@return any
function trace:threads(glob) end

--- Messages of the profiler about its own recording.
--- (glob, least_severity = 2) -> list of texts
---@param glob any
---@param least_severity? any
---@return table
function trace:diagnostics(glob, least_severity) end

--- CUDA calls of the whole recording that returned an error, by name and result, in order of first occurrence. Results that are answers (not ready) do not count (schemas/calls.toml). After a fatal error all later calls of the process fail.
--- () -> list of { call, class, result, means, fatal, count, rows }
---@return table
function trace:failed_calls() end

--- What comes in each `every`-th step only (`nth` in words: "32nd"), such as a loader whose queue is empty, a checkpoint, a log or a validation, the costliest first: what such a step takes longer than the others (`extra_ns`, mean) and that spread over all steps (`cost_ns`, and its `share` of the mean step), as recorded; the cause of the account that most of it is, with its label; what the host does there, or the range that launches it, and the range around that ("" if nothing shows it); the `steps` that hold it. Long steps count that come at one distance from the first to the last, if chance would not do the same in one recording of fifty.
--- () -> list of { every, nth, extra_ns, cost_ns, share, cause, label, doing, within, steps }
---@return table
function trace:periodic_events() end

--- The value of an environment variable of the program, one of those in schemas/environment.toml; no others are read. "set" for an unusual value; nil if the report does not contain the variable.
--- (name) -> value | nil
---@param name any
---@return any
function trace:environment(name) end

--- What other rules found, for rules that run `after_others`; an error in others.
--- () -> list of { rule, subject, severity, share }
---@return table
function trace:found() end

--- Whether that rule also runs on this report; also true if this rule runs alone, as in its test. For rules that run `after_others`.
--- (rule) -> boolean
---@param rule any
---@return any
function trace:asked(rule) end

--- What could not be read from the report.
--- () -> list of texts
---@return table
function trace:problems() end

--- Whether the program is known to be of a kind: "pytorch", "training", "python" (schemas/programs.toml). To choose words by kind, see trace:words.
--- (kind) -> boolean
---@param kind any
---@return any
function trace:is(kind) end

--- The text that fits the program, from a table by kind as in a finding's `advice`; nil if none does. `nsys` and `torch_profiler` are kinds too: the tool that recorded the report, whose options a message should name.
--- ({ kind = text, ... }) -> text | nil
---@param arguments any
---@return any
function trace:words(arguments) end

--- Copies to the host after which the same number of bytes came back, and the copies that brought them back.
--- ({ min_bytes = 1 MiB }?) -> selection, pairs
---@param arguments? any
---@return gh.Selection
function trace:round_trips(arguments) end

--- Copies from the host that come piece by piece within a step, in at least `min_per_step` bursts with kernels in between: weights fetched layer by layer. A batch is one burst.
--- ({ min_bytes = 1 MiB, min_per_step = 4 }?) -> selection
---@param arguments? any
---@return gh.Selection
function trace:streamed_uploads(arguments) end

--- The calls in which the host waits for the GPU, and the copies that they wait for. Each call waits for one purpose, so that no two rules claim it: "work" (for what was launched before; nothing is read), "result" (a copy to the host, of any size), "decision" (one that decides what is launched next, or how much), "upload" (a copy to the GPU), "pageable" (a copy of more than 64 KiB through pageable memory), "managed" (a result in managed memory: pages go to the host before it launches again), "migration" (the same where more than 64 KiB go, without a prefetch), "offload" (see round_trips and streamed_uploads), "checkpoint" (while something is saved), "memory" (memory is given back). `on` is a list of these, `class` a list of classes of calls, as in a filter; without them: all. `max_bytes` keeps waits for copies of at most so many bytes.
--- ({ on?, class?, max_bytes? }) -> calls, copies
---@param arguments any
---@return any
function trace:host_waits(arguments) end

--- Copies to the host that it waited for before it launched more GPU work in the step, and the calls that waited. `deciding`: those of the copies after which the GPU gets different work than in other steps (other kernels, grids or sizes) although the step begins the same; `changing`: all operations that do not occur equally often in every step. Both are empty if fewer than three steps can be compared, or with fewer than two copies a step. `sized`: those that tell how much was selected, beside kernels that select or in operators that do (schemas/calls.toml).
--- () -> copies, waits, deciding, changing, sized
---@return any
function trace:read_backs() end

--- Sequences of operations, one right after the other on a stream (or `by = "device"`, in order of start; or `by = "thread"`, in order of launch). An element is a selection, or `{ of = selection, least = 1, most }`, and stands for a run of its operations, as long as it is; "end", as the last, means that nothing follows. Passes over the operations of `skip`; with `skip = "others"` over all that no element names. Returns, by the element's place, the operations that it took in all sequences; how many sequences there are; and the sequences themselves, for verbs that take rows. No operation is in two.
--- ({ element, ..., by = "stream", skip? }) -> { element, ..., count, sequences }
---@param arguments any
---@return any
function trace:match(arguments) end

--- Runs of operations on one stream around each operation of `centre`, passing only operations of `through`, up to an operation of `edge` on either side within `most`. Each run has to contain one operation of each selection in `with`. Returns the runs, all operations in them, and the edges.
--- ({ centre, edge, through, with?, most = 14, edges = 1 }) -> chains, inner, edges
---@param arguments any
---@return gh.Selection
function trace:chains(arguments) end

--- Uninterrupted runs of at least `least` operations of a selection on one stream; all operations in them; and the longest operation of each.
--- ({ of, least = 3 }) -> runs, inner, longest
---@param arguments any
---@return gh.Selection
function trace:runs(arguments) end

--- Kernels of the selection `within` that repeat those of `of`: sequences of at least `least` on a stream, at least half of them different, with the same names, blocks and threads as a sequence of `of`.
--- ({ within, of, least = 8 }) -> selection
---@param arguments any
---@return gh.Selection
function trace:repeated(arguments) end

--- The samples of a GPU metric within the steps, by a glob over names or as an activity that sources name differently: sm_active, sm_occupancy, tensor_active (schemas/metrics.toml). period_ns: the time over which a monitor averages; 0 for the profiler's own samples.
--- (metric) -> { count, mean, median, least, most, period_ns } | nil, reason, record_with
---@param metric any
---@return any
function trace:metric(metric) end

--- The share of sampled moments within the steps at which every metric is within its bounds.
--- ({ { metric = glob or activity, least?, most? }, ... }) -> fraction | nil, reason, record_with
---@param arguments any
---@return any
function trace:sampled_fraction(arguments) end

--- For each device, the worst first: how long the others waited in collectives that it entered last (the median of the others), how much of that with no compute at the same time, how many collectives those were, its own operations in them, which did not wait, and the others'.
--- () -> list of { device, late_ns, exposed_ns, count, own, waited }
---@return table
function trace:late_devices() end

--- For each process that uses several GPUs: how many; how long they were busy in total, and for how long two or more were busy at once; their idle time during nearly all of which another one works; and the copies between them.
--- () -> list of { devices, busy_ns, together_ns, idle, copies }
---@return table
function trace:devices_in_turn() end

--- Pairs of streams whose kernels take turns although both had been launched and would fit on the GPU together: how often one began right when one of the other stream ended, the total time by which they could have begun earlier, and the kernels of both streams (`first` takes the most time). `legacy`: one is the legacy default stream, which CUDA orders against the other; `events`: how often the stream had been made to wait for an event since its previous launch (cudaStreamWaitEvent). Other pairs have neither.
--- () -> list of { legacy, events, count, wait_ns, first, second }
---@return table
function trace:stream_turns() end

--- The rows that pass every test of the filter: name, class, kind, direction, from, to, memory (either end), cause, stretch, thread, collective, group take a glob or a list of globs; device, min_ns, max_ns, min_bytes, max_bytes, min_blocks, max_blocks a number; phase (of ranges) and does (of OS calls, and of what the host does in idle time: wait, sleep, wait_thread, wait_lock, poll_lock, wake, read, write, make_thread) a name or several; in_graph, own (a kernel of the program, not of a library or framework), inferred, drained, migrating a boolean; after, before, inside (wholly within its rows' time, on the same device), launched_in (by a call within these ranges) a selection.
--- (filter) -> selection
---@param filter any
---@return gh.Selection
function selection:where(filter) end

--- The rows with whose values of these fields the other has at least `least` rows: gathers:alike(gathers, { "device", "step", "stream" }, 2) are those that are not alone on their stream in their step.
--- (other, fields, least = 1) -> selection
---@param other any
---@param fields any
---@param least? any
---@return gh.Selection
function selection:alike(other, fields, least) end

--- The rows to each of which belongs one of the other's with the same values of these fields, in order of time; and these others. Without `bytes` among the fields they pair by number.
--- (other, fields) -> selection, others
---@param other any
---@param fields any
---@return gh.Selection
function selection:pair(other, fields) end

--- The rows of each step by phase: those that begin before the first of the step's marks on their device, then by its place those from each mark to the next; the last of `most` takes the rest. Leaves out steps without a mark.
--- (marks, most = 64) -> { before, phase, ... }
---@param marks any
---@param most? any
---@return any
function selection:phases(marks, most) end

--- The time between operations, or pieces of idle time, with equal values of these fields: from the end of one, and of all before it, to the start of the next.
--- (fields) -> selection
---@param fields any
---@return gh.Selection
function selection:gaps(fields) end

--- The time by which each operation begins ahead of the other's with equal values of these fields, the first of several.
--- (other, fields) -> selection
---@param other any
---@param fields any
---@return gh.Selection
function selection:ahead_of(other, fields) end

--- Of the rows with equal values of these fields the one that begins last: collectives:last { "meeting" } are those for which the other ranks waited.
--- (fields) -> selection
---@param fields any
---@return gh.Selection
function selection:last(fields) end

--- The operation that each stands for: the one after a gap, the first of a sequence or run, the centre of a chain.
--- () -> selection
---@return gh.Selection
function selection:ops() end

--- The rows for which test(row) is true. A row is a table of the columns: fields by name; for `column = selection` the time of the row in which one of that selection runs on its device: gaps:keep({ "op_ns", busy = kernels }, function(gap) return gap.busy > gap.op_ns end); for `column = { fields }` a number that only rows with equal values of these fields have in common. Rows come in order of time, gaps and the like stream by stream. Costs about 10 instructions a row and column, and what the test takes.
--- (columns, test) -> selection
---@param columns any
---@param test any
---@return gh.Selection
function selection:keep(columns, test) end

--- The operations next to one of the other's on their stream, with only such operations and memsets in between: the casts before a product.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:beside(other) end

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

--- The number of rows.
--- () -> number
---@return any
function selection:count() end

--- The sum of a field over the rows. Durations that overlap count twice: see union_ns.
--- (field) -> number
---@param field any
---@return any
function selection:sum(field) end

--- The median of a field; nil without rows.
--- (field) -> number | nil
---@param field any
---@return any
function selection:median(field) end

--- The time covered by at least one row, within the steps, summed over devices. In this and the next two, idle time counts as it is without the profiler.
--- () -> ns
---@return any
function selection:union_ns() end

--- Like union_ns, but including what the profiler added: for use with facts, which describe the recording.
--- () -> ns
---@return any
function selection:recorded_ns() end

--- The time covered by rows of both, on the same device (host time counts for all devices).
--- (other) -> ns
---@param other any
---@return any
function selection:overlap_ns(other) end

--- The time covered by these rows and by none of the other's.
--- (other) -> ns
---@param other any
---@return any
function selection:exposed_ns(other) end

--- Like union_ns, without the time in which the device waits for page faults or migrations of unified memory: what the rows themselves take.
--- () -> ns
---@return any
function selection:own_ns() end

--- The rows that spend at least this fraction of their time, half unless it is given, with none of the other's running on the same device.
--- (other, fraction?) -> selection
---@param other any
---@param fraction? any
---@return gh.Selection
function selection:exposed(other, fraction) end

--- Whether these rows may be no more than the program's start or end: what they take there, beyond what recurs, is more than half of their time. The start is the first of several steps; without steps it lasts until a quarter of the window has passed and a quarter of its kernels have begun, and the end comes when the last kernel has begun. What recurs takes as much at the start as in the other steps, or quarters, on average. False for no rows. `require "start_or_end"` has the words for it.
--- () -> boolean
---@return any
function selection:at_start_or_end() end

--- Whether rows that take a tenth of the time of all, or more, begin in at least three quarters of the analyzed work, counted in kernels. What comes late does not go on throughout, and is still no start: selection:at_start_or_end.
--- () -> boolean
---@return any
function selection:throughout() end

--- The rows of either.
--- (other) -> selection
---@param other any
---@return gh.Selection
function selection:plus(other) end

--- The rows that are not in the other.
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

--- What the profiler recorded about the launching thread during this idle time, in total_ns: the function `name` and the module in which most of its samples are (0 if too few to tell), how many, and the line with the most; with context switches traced (scheduled_ns), how long it waited in calls, for which thread mostly, was off the CPU outside of them, and while another recorded thread took it; and how long it waited for Python's lock, and who held it. nil if it sampled no stacks and traced neither context switches nor Python's lock.
--- () -> { samples, name, in_name, module, in_module, line, total_ns, scheduled_ns, waited_ns, waker, held_off_ns, taken_ns, lock_ns, holder } | nil
---@return any
function selection:thread_work() end

--- Whose time these calls, idle time or operations are, the owner of most first: the row of schemas/owners.toml that fits what the host was in or had just left (`key`, nil if none fits), and the `name` of that operator, function, range or library, "" if nothing shows it. Of more than 2000 rows about as many are asked, and `rows` are of those.
--- () -> list of { key, name, sum_ns, rows }
---@return table
function selection:owners() end

--- The matrix products that these operations compute, if the range or operator that launched them has shapes (PyTorch's record_shapes), the longest first. aligned: whether rows of operands and result begin at multiples of 16 bytes; nil if the shapes do not show it. odd: the extent in elements that is to blame.
--- () -> list of { m, n, k, element_bytes, aligned, odd, count, sum_ns, rows }
---@return table
function selection:products() end

--- Kernels by name and launch shape, the longest summed time first. blocks_a_sm: how many blocks fit on an SM at once; occupancy: their warps over the most that fit; limit: what is used up then (threads, blocks, registers, shared memory); waves: how many times over the grid fills the GPU. nil if neither the report nor schemas/gpus.toml has the numbers. A tenth of the kernels take short_ns or less, a tenth long_ns or more.
--- (most = 20) -> list of { name, blocks, threads, registers, shared_bytes, blocks_a_sm, occupancy, limit, waves, count, sum_ns, short_ns, long_ns, rows }
---@param most? any
---@return table
function selection:launch_shapes(most) end

--- The operations without each kernel that takes longer than all kernels of its name and launch shape, three or more, would take at their median. That is its first run, or what disturbed it, and no change to the kernel makes it shorter.
--- () -> selection
---@return gh.Selection
function selection:usual() end

--- The time of these kernels, weighted at each moment by the share of the SMs that all running kernels together leave empty: by blocks, and by threads if a block has too few for the four schedulers of an SM. Kernels of `full` and whole graphs fill the GPU whatever their grid. Time in which the device waits for pages of unified memory does not count.
--- (full) -> ns
---@param full any
---@return any
function selection:empty_sm_ns(full) end

--- The innermost ranges or operators in which these operations were launched, the longest summed time first; at most 20. Ranges as long as a step do not count.
--- () -> list of { name, count, sum_ns }
---@return table
function selection:operators() end

--- The n rows with the largest value, each as a table of the fields that it has (see Fields of rows), with `rows`, a selection of that row alone: trace:ops { launched_in = ranges:top(1)[1].rows }.
--- (n, field = "duration_ns") -> list of rows
---@param n any
---@param field? any
---@return table
function selection:top(n, field) end

--- Whether the whole text matches: * matches any run, ? any byte, the rest literally. Also a method of text: name:glob "nccl*".
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

--- Whether the text begins with the prefix.
--- (text, prefix) -> boolean
---@param text any
---@param prefix any
---@return any
function string.starts_with(text, prefix) end

--- One of the program's libraries, which its own rules share: see below. There are no others.
--- (name) -> function
---@param name any
---@return any
function require(name) end

--- The longest rows as evidence for a finding, the worst first.
--- ({ most = 5, note = "" }?) -> list
---@param arguments? any
---@return table
function selection:evidence(arguments) end

--- In how many quarters of the analyzed work, counted in kernels, rows begin that take a tenth of the time of all.
--- () -> number
---@deprecated use selection:at_start_or_end or selection:throughout
---@return any
function selection:quarters() end

--- As the library.
--- () -> { phases, early, last, copies, bytes }
---@deprecated use require "reduced_gradients"
---@return any
function trace:reduced_gradients() end

--- As the library.
--- () -> { steps, all, late, held_up, again, scattered, bytes }
---@deprecated use require "gathered_weights"
---@return any
function trace:gathered_weights() end

--- As the library.
--- () -> broadcasts, copies
---@deprecated use require "broadcast_buffers"
---@return any
function trace:broadcast_buffers() end

--- As the library.
--- (readers) -> selection, rest_ns
---@deprecated use require "kept_for"
---@param readers any
---@return gh.Selection
function selection:kept_for(readers) end

--- As the library.
--- (other) -> selection
---@deprecated use require "amid"
---@param other any
---@return gh.Selection
function selection:amid(other) end

--- As the library.
--- () -> list of { device, wait_ns, together, rows }
---@deprecated use require "waits"
---@return table
function selection:waits() end

--- As the library.
--- ({ min_bytes = 1 MiB }?) -> untouched, touched, gap_ns
---@deprecated use require "residency"
---@param arguments? any
---@return any
function trace:residency(arguments) end

--- As the library.
--- ({ min_bytes = 1 MiB }?) -> downloads, uploads
---@deprecated use require "relayed"
---@param arguments? any
---@return any
function trace:relayed(arguments) end

--- As the library.
--- (share) -> selection
---@deprecated use require "first_of_steps"
---@param share any
---@return gh.Selection
function selection:first_of_steps(share) end

--- As the library.
--- () -> list of { name, sizes, count, sum_ns }
---@deprecated use require "shapes"
---@return table
function selection:shapes() end

--- As the library.
--- (share) -> name, within, ns | nil
---@deprecated use require "doing"
---@param share any
---@return any
function selection:doing(share) end

--- As the library.
--- (field) -> { rising, first, last } | nil
---@deprecated use require "growth"
---@param field any
---@return any
function selection:growth(field) end

--- As the library.
--- () -> text
---@deprecated use require "host"
---@return any
function selection:host() end
