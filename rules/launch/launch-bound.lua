local constants = {
  kernels = 40, -- those of most time, whose sizes are looked at
  cell = 28, -- kernels on either side of a cell's tanh, at most
  gates = 3, -- of a recurrent cell, at least: a gated convolution has two
  cells = 8, -- a step, from which they are steps of a sequence and not a few layers
}

-- The idle time of devices whose next launch was still to come, less the time of allocations:
-- without
-- them the host would be ahead by what they took (alloc-churn). Only those of threads that launch
-- on
-- the same device count: allocations of a loader's thread hold no launch up.
local function without_allocations(trace, launching)
  local allocations = trace:calls { class = "allocation" }
  if allocations:count() == 0 then return launching:union_ns() end
  local threads_of = {} -- by device
  for _, device in ipairs(trace:idle():group("device", 1000)) do
    threads_of[device.key] = device.rows:group("thread", 200) -- a filter takes no more
  end
  local idle, allocating_ns = 0, {} -- by the threads, which devices mostly have in common
  for _, device in ipairs(launching:group("device", 1000)) do
    local threads = {}
    for _, thread in ipairs(threads_of[device.key]) do
      threads[#threads + 1] = thread.key
    end
    table.sort(threads)
    local all = table.concat(threads, "\n")
    allocating_ns[all] = allocating_ns[all]
      or allocations:where({ thread = threads }):union_ns()
    idle = idle + math.max(0, device.rows:union_ns() - allocating_ns[all])
  end
  return idle
end

-- The kernel of most time that gets more and more blocks from step to step; nil if none does. No
-- chance makes all changes of a size rise.
local function growing_kernel(trace, rising)
  if trace:fact "steps.found" ~= 1 then return nil end
  for _, named in ipairs(trace:ops({ kind = "kernel" }):group("name", constants.kernels)) do
    -- What most of its launches have in common does not grow.
    local common = named.rows:group("blocks", 1)[1]
    local sizes = 2 * common.count <= named.count
      and require "growth"(trace, named.rows, "blocks")
    if sizes and sizes.rising >= rising and sizes.last > sizes.first then
      return { name = named.key, first = sizes.first, last = sizes.last }
    end
  end
end

-- How often a recurrent cell is launched by itself: PyTorch's cells, and cells written out, which
-- take three gates or more through sigmoid and tanh between two products. cuDNN's loop over a whole
-- sequence has kernels of its own.
local function cells_of(trace)
  local cells =
    trace:ops { kind = "kernel", name = { "*lstm_cell_forward*", "*gru_cell_forward*" } }
  local pointwise = trace:ops { class = "pointwise" }
  local tanh, sigmoid =
    pointwise:where { name = "*tanh_kernel*" }, pointwise:where { name = "*sigmoid_kernel*" }
  local gates = tanh:plus(sigmoid)
  if tanh:count() == 0 or sigmoid:count() == 0 then return cells:count() end
  local chains, inner = trace:chains {
    centre = tanh,
    edge = trace:ops { class = { "gemm_*", "gemv" } },
    through = pointwise:plus(trace:ops { class = "reduction" }),
    most = constants.cell,
    edges = 2,
    with = { sigmoid },
  }
  local of_chains = inner:count() - inner:minus(gates):count()
  local written = of_chains >= constants.gates * chains:count() and chains:count() or 0
  return cells:count() + written
end

-- How often a step small data is uploaded, work is launched and more is uploaded; 0 where results
-- are read back in between: what comes next may depend on them.
local function sends_of(trace, reads, most_bytes)
  local small = trace:ops { kind = "copy", direction = "h2d", max_bytes = most_bytes }
  if small:count() == 0 then return 0 end
  local turns =
    trace:match { small, trace:ops { kind = "kernel" }, by = "thread", skip = "others" }
  local count = 2 * reads:count() < turns.count and turns.count or 0
  return count / trace:fact "steps.count"
end

return {
  id = "launch-bound",
  category = "launch",
  title = "The GPU waits for the host to launch its work",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time in which the next launch was still \z
        to come while the host issued one after the other. TensorRT-LLM's analysis warns at 10 %, \z
        XProf at 3 % and 15 %.",
    },
    growing = {
      default = 0.8,
      unit = "fraction",
      doc = "Share of the changes of a kernel's number of blocks, over up to 32 pieces of the \z
        recording, that have to rise for it to grow from step to step: by chance it is a half.",
    },
    least = {
      default = 30,
      unit = "count",
      doc = "Fewer launches in the whole recording do not make a loop that the host could be too \z
        slow for.",
    },
    pause_ns = {
      default = 1000000,
      unit = "ns",
      doc = "A single launch that takes longer does something else, such as waiting for a lock.",
    },
    reads = {
      default = 3,
      unit = "count",
      doc = "Results a step that the host waits for, from which no graph can span the step: one \z
        or two are the loss and a norm, at the end of a step.",
    },
    piece = {
      default = 30,
      unit = "count",
      doc = "Launches from one such result to the next, up to which no graph can span a step with \z
        fewer results either: the step is then one turn of a loop that asks the GPU each time.",
    },
    turn = {
      default = 10,
      unit = "count",
      doc = "Launches from one small upload to the next, up to which the uploads pace the work, \z
        and such uploads a step, at least. Chosen: a batch has fewer inputs, and a layer more \z
        launches.",
    },
    read_bytes = {
      default = 65536,
      unit = "bytes",
      doc = "Larger copies are tensors, not results.",
    },
    graph_gap_ns = {
      default = 700,
      unit = "ns",
      doc = "The gap that remains between two kernels of a CUDA graph. Measured on an H200: 0.45 \z
        to 0.98 us.",
    },
    each = {
      default = 0.9,
      unit = "count",
      doc = "Such results a step from which a step is such a turn: all but those with nothing \z
        left to do.",
    },
    most_larger = {
      default = 64,
      unit = "count",
      doc = "How many times as large a batch the advice asks for at most. Chosen: beyond, other \z
        limits come first.",
    },
    room = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the device's memory in use, up to which the advice says that memory allows \z
        it.",
    },
  },
  factors = {
    elementwise = {
      by = 1,
      least = 0.5,
      most = 1,
      doc = "Time of elementwise kernels and reductions, if a compiler that captures graphs also \z
        fuses them.",
      source = "Chosen: whether they are fused, and how many, is unknown; two that are become one.",
    },
  },
  messages = {
    eager = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) because the next \z
      launch has not been issued yet: {launches:# launch|# launches} {a_step}, one every \z
      {pace:ns}, for operations that take {kernel:ns} on average.{asked}",
    graphs = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) because the next \z
      launch has not been issued yet, although most of its work is in CUDA graphs: the host's \z
      work between the graphs takes longer than they do.{asked}",
  },
  headlines = {
    eager = "The host launches too slowly: {launches:# launch|# launches} {a_step}",
    graphs = "The host is too slow between CUDA graphs",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle because the host, busy launching, had not \z
      issued the next operation when the previous one ended. Pauses of more than a millisecond \z
      are left out, and so are first launches that load code (first-use) and time that the host \z
      lost before by waiting or allocating. A result that is read back and waited for ends a \z
      graph, and what is launched with different grids after it (data-dependent-sync) fits into \z
      none.",
    why = "An eager framework takes 5 to 50 us from one launch to the next. Shorter kernels leave \z
      the GPU waiting, and a faster GPU then changes nothing.",
    fix = 'Launch less often: `torch.compile(mode="reduce-overhead")` records the step into CUDA \z
      graphs and fuses kernels; `torch.cuda.make_graphed_callables` or `torch.cuda.CUDAGraph` \z
      where it cannot be used; Transformers and NeMo have switches for both. Or give each kernel \z
      more to do: a larger micro-batch, fused optimizer and attention. A graph holds one size and \z
      one order of launches: a growing cache needs a fixed size first, a recurrent network one \z
      call for the whole sequence.',
    wrong = "The profiler itself makes calls slower: a step that is just GPU-bound without it may \z
      look launch-bound in the recording. Compare with the step time without the profiler.",
  },
  advice = {
    {
      when = "graphs",
      vllm = "Capture the whole step in one graph{.}: `cudagraph_mode` `FULL_AND_PIECEWISE` in \z
        `--compilation-config`, with an attention backend that can be captured.",
      pytorch = {
        training = "Capture more of the step in the graphs{.}: `zero_grad`, clipping and the \z
          optimizer (`capturable=True`) as well (`torch.cuda.CUDAGraph` around the whole step, \z
          see the PyTorch notes on CUDA graphs).",
        cuda = "Capture more in the graphs{.}: `torch.cuda.CUDAGraph` around a whole iteration \z
          (see the PyTorch notes on CUDA graphs).",
      },
      jax = "Run several iterations in one call{.}: `jax.lax.scan` or `jax.lax.fori_loop` under \z
        `jax.jit`.",
      cuda = "Capture more in each graph{.}: several iterations at once, with a loop inside \z
        (conditional nodes) if their number depends on data.",
    },
    {
      when = { "eager", "growing" },
      transformers = {
        tokens = "Fix the key-value cache's size, then capture CUDA graphs{.}: '`{grows}`' grows \z
          from {from} to {to} blocks here, and a graph holds one size. \z
          `cache_implementation=\"static\"` of `generate()`, or a `StaticCache` for the longest \z
          sequence, in which each token is written in place.",
      },
      pytorch = {
        tokens = "Fix the key-value cache's size, then capture CUDA graphs{.}: '`{grows}`' grows \z
          from {from} to {to} blocks here, and a graph holds one size. Allocate the cache for the \z
          longest sequence instead of joining (`torch.cat`), write each token in place \z
          (`index_copy_`), and mask what is not filled yet.",
        cuda = "Keep sizes fixed, then capture CUDA graphs{.}: '`{grows}`' grows from {from} to \z
          {to} blocks here, and a graph holds one size. Allocate for the largest, write in place, \z
          and mask what is not filled yet; or capture a graph for each of a few sizes.",
      },
      cuda = "Keep sizes fixed, then capture CUDA graphs{.}: '`{grows}`' grows from {from} to \z
        {to} blocks here, and a graph holds one size. Or capture a graph for each of a few sizes.",
    },
    {
      when = { "eager", "sends" },
      pytorch = "Send small uploads together{.}: {sends} {a_step} come one by one, each before a \z
        few kernels, as in a loop that makes a tensor for each sample. Collect them in one tensor \z
        on the host, copy it once, and do the loop's work in one call (an index, `scatter_`, a \z
        mask). Then what is left can be captured in CUDA graphs.",
      cuda = "Send small uploads together{.}: {sends} {a_step} come one by one, each before a few \z
        kernels. Collect them in one buffer, copy it once, and let one kernel do the work of all; \z
        or pass values as kernel arguments. Then what is left can be captured in CUDA graphs.",
    },
    {
      when = { "eager", "recurrent" },
      pytorch = "Give whole sequences to one call{.}: a recurrent cell is launched by itself \z
        {cells}. `torch.nn.LSTM`, `GRU` and `RNN` run all time steps in cuDNN. Where an input is \z
        the output before it (a decoder), multiply what is known of all time steps in one product \z
        before the loop, and compile what is left of a step.",
    },
    {
      when = { "eager", "boxes" },
      pytorch = "Suppress the boxes of all classes at once{.}: non-maximum suppression runs \z
        {suppressions} times {a_step}, with all that is launched around it, as in a loop over \z
        classes or images. One `torchvision.ops.batched_nms` takes them all, with an index for \z
        each image and class.",
    },
    {
      when = { "eager", "decided" },
      unless = "boxes",
      pytorch = "Make shapes known in advance{.}: {results} read back while the host waits, and \z
        what comes next is launched with different grids each time, which no CUDA graph can hold.",
      cuda = "Remove the read-backs{.}: {results} read back while the host waits, and no CUDA \z
        graph can be captured across one, nor hold what is launched with different grids each \z
        time.",
    },
    {
      when = { "eager", "read_backs" },
      "Remove the read-backs, then capture CUDA graphs{.}: {results} read back while the host \z
        waits, and no CUDA graph can be captured across one.",
    },
    {
      when = "eager",
      unless = { "decided", "sends" },
      megatron = "Capture the step in CUDA graphs{.}: `--enable-cuda-graph`.",
      nemo = "Capture the step in CUDA graphs{.}: `enable_cuda_graph` of the model's \z
        configuration.",
      vllm = "Decode with CUDA graphs{.}: without `--enforce-eager`, and with `--max-num-seqs` \z
        within the captured sizes.",
      sglang = "Decode with CUDA graphs{.}: without `--disable-cuda-graph`, and \z
        `--cuda-graph-max-bs` as large as the batches.",
      tensorrt_llm = "Decode with CUDA graphs{.}: `cuda_graph_config`, with `max_batch_size` as \z
        large as the batches and `enable_padding`.",
      trainer = 'Capture the step in CUDA graphs{.}: `torch_compile=True` with \z
        `torch_compile_mode="reduce-overhead"`.',
      transformers = {
        tokens = 'Capture decoding in CUDA graphs{.}: a static cache for `generate()` \z
          (`cache_implementation="static"`) and `torch.compile(mode="reduce-overhead")`.',
      },
      pytorch = {
        tokens = 'Capture decoding in CUDA graphs{.}: `torch.compile(mode="reduce-overhead")` \z
          with a cache of fixed size (`generate()`: `cache_implementation="static"`); \z
          `torch.cuda.CUDAGraph` where that cannot be used. It must contain no synchronization \z
          (PyTorch notes, CUDA semantics).',
        training = 'Capture the work in CUDA graphs{.}: `torch.compile(mode="reduce-overhead")` \z
          of the model, which fuses kernels as well, and of a function that calls \z
          `optimizer.step()`; or `torch.cuda.CUDAGraph` around the whole step, with \z
          `capturable=True`. All need fixed shapes and no synchronization inside (PyTorch notes, \z
          CUDA semantics).',
        cuda = 'Capture the work in CUDA graphs{.}: `torch.compile(mode="reduce-overhead")`, \z
          which fuses kernels as well; `torch.cuda.make_graphed_callables` where that cannot be \z
          used. Both need fixed shapes and no synchronization inside (PyTorch notes, CUDA \z
          semantics).',
      },
      jax = "Put the whole iteration under one `jax.jit`{.}: and several into one call \z
        (`jax.lax.scan`). `XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUSTOM_CALL` \z
        records them into CUDA graphs.",
      tensorflow = "Compile the whole iteration{.}: `tf.function(jit_compile=True)` around it.",
      tensorrt = "Capture enqueueV3 in a CUDA graph{.}: `cudaStreamBeginCapture`, once for each \z
        shape. Fewer profiles and larger builder batch sizes help as well.",
      cupy = "Capture the loop's body in a CUDA graph{.}: `stream.begin_capture()` and \z
        `end_capture()`. And fuse elementwise operations (`cupy.fuse`).",
      numba = "Put more into each kernel{.}: merge operations that follow each other on the same \z
        data.",
      julia = "Capture the loop's body in a CUDA graph{.}: `CUDA.@captured`. Or put more into \z
        each kernel.",
      directives = "Put more into each parallel region{.}: collapse, fewer and larger kernels. \z
        And queue them without waiting (OpenACC: async; OpenMP: nowait).",
      kokkos = "Capture the loop's body in a graph{.}: `Kokkos::Experimental::Graph`. Or fuse \z
        `parallel_for` loops.",
      cuda = "Capture the loop's body in a CUDA graph{.}: `cudaStreamBeginCapture`, \z
        `cudaStreamEndCapture` and `cudaGraphInstantiate`, and launch that. Or put more into each \z
        kernel.",
    },
    {
      when = { "eager", "differs" },
      unless = { "decided", "growing" },
      cuda = "What differs fits into no graph{.}: {differing} {a_step} are launched in some steps \z
        and not in others, and a graph repeats the choice that was made while it was captured. \z
        Decide on the device, or leave that part out.",
    },
    {
      unless = "sends",
      training = "Or give each launch more to do{.}: a micro-batch {larger} times as large keeps \z
        the GPU busy for as long as the host takes.{room}",
      inference = "Or give each launch more to do{.}: a batch {larger} times as large keeps the \z
        GPU busy for as long as the host takes.{room}",
      cuda = "Or give each launch more to do{.}: a problem {larger} times as large keeps the GPU \z
        busy for as long as the host takes.{room}",
    },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local launching =
      trace:idle { cause = { "launch", "launch_latency" }, max_ns = options.pause_ns }
    -- Pauses inside a graph that is still being launched come from tracing it node by node.
    local nodes = trace:ops { in_graph = true }
    launching = launching:minus(launching:where { after = nodes, before = nodes })
    local idle = without_allocations(trace, launching)
    local share = idle / total
    local launches =
      trace:calls { class = { "launch", "graph_launch", "copy", "copy_sync" } }:count()
    local blocking = (trace:environment "CUDA_LAUNCH_BLOCKING" or "0") ~= "0"
    if idle <= 0 or share < options.share or launches < options.least then return {} end
    -- Ranks launch at the same time; one thread that drives several devices launches for one after
    -- the other.
    local driven = #launching:group("thread")[1].rows:group "device"

    local operations = trace:ops { kind = { "kernel", "copy", "set", "graph" } }
    local reads, _, deciding, changing = trace:read_backs()
    local decided = trace:fact "steps.found" == 1 and deciding:count() >= 2 * steps
    local barred = (decided and deciding or reads)
      :where { max_bytes = options.read_bytes }
      :count() / steps
    local cut = barred >= options.reads
      or (barred >= options.each and launches <= options.piece * barred * steps)
    local sent = sends_of(trace, reads, options.read_bytes)
    local sends = trace:fact "steps.found" == 1
      and sent >= options.turn
      and launches <= options.turn * sent * steps
    local grows = growing_kernel(trace, options.growing)
    local cells = cells_of(trace)
    local in_graphs = nodes:count() + operations:where { kind = "graph" }:count()
    local mostly_graphs = in_graphs > operations:count() / 2
    -- The share if recording added what it usually does. With a measured step, idle time is already
    -- what is left beside the GPU's work. Where the step can be replayed, that settles it.
    local added = trace:fact "capture.overhead_fraction"
    local recorded = trace:fact "steps.total_ns"
    local recorded_share = launching:recorded_ns() / recorded
    local unprofiled = added and share
      or recorded_share
        - launches * trace:fact "capture.launch_ns" / recorded
        - (trace:fact "capture.recording_fraction" or 0)
    local little = unprofiled < options.share
    local suppressing = require "suppressing"(trace):count()
    local asked, sentence = require "until_asked"(trace, idle)
    local peak, memory = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local change = {
      {
        graph = operations:minus(nodes):minus(decided and changing or nodes),
        gap_ns = options.graph_gap_ns,
      },
      {
        scale = operations:where { class = { "pointwise", "reduction" } },
        factor = factors.elementwise,
      },
    }
    if sends then
      change[3] = {
        unblock = trace:host_waits { on = { "upload" }, max_bytes = options.read_bytes },
      }
    end
    local results = math.floor(barred + 0.5) > 1
        and string.format("%.0f results %s are", barred, trace:fact "unit.per")
      or "one result " .. trace:fact "unit.per" .. " is"
    return {
      {
        subject = "launches",
        message = mostly_graphs and "graphs" or "eager",
        data = {
          idle = idle / steps,
          share = share,
          launches = math.floor(launches / steps + 0.5),
          pace = total / driven / math.max(launches, 1),
          kernel = operations:sum "duration_ns" / math.max(operations:count(), 1),
          results = results,
          sends = string.format("%.0f", sent),
          asked = sentence,
          suppressions = string.format("%.0f", suppressing / steps),
          grows = grows and grows.name:short() or "",
          from = grows and string.format("%.0f", grows.first) or "",
          to = grows and string.format("%.0f", grows.last) or "",
          cells = string.format("%.0f times %s", cells / steps, trace:fact "unit.per"),
          differing = string.format("%.0f operations", changing:count() / steps),
          larger = string.format(
            "%.0f",
            math.max(2, math.ceil(1 / math.max(1 - share, 1 / options.most_larger)))
          ),
          room = peak and memory and peak < options.room * memory and string.format(
            " Memory allows it: %.1f of %.0f GiB are in use.",
            peak / 2 ^ 30,
            memory / 2 ^ 30
          ) or "",
        },
        doubt = little
            and "The profiler's own overhead may explain it: measure the step without the \z
              profiler first (--measured-step)."
          or nil,
        about = true,
        cited_ns = idle,
        severity = asked and "note" or nil,
        -- In graphs short gaps between the kernels remain.
        recoverable_ns = not asked and math.max(
          0,
          math.min(
            little and unprofiled * total or idle,
            mostly_graphs and idle or idle - operations:count() * options.graph_gap_ns
          )
        ) or nil,
        -- What is launched differently each time fits into no graph.
        change = not asked and change or nil,
        uncertain = not asked
            and "whether elementwise kernels are fused as well, and how many, is unknown"
          or nil,
        metrics = {
          {
            name = "idle while launching",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        follows_from = (decided or cut) and "data-dependent-sync"
          or blocking and "harmful-environment"
          or trace:ops { name = "triton_*" }:count() > 0 and "graph-breaks"
          or nil,
        evidence = launching:evidence { most = 5 },
        seen = {
          decided = cut and decided,
          boxes = decided and suppressing >= 2 * steps,
          read_backs = cut and not decided,
          growing = grows ~= nil,
          recurrent = trace:fact "steps.found" == 1 and cells >= constants.cells * steps,
          sends = sends,
          differs = changing:count() >= steps,
        },
      },
    }
  end,
}
