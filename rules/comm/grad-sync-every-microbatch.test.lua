-- Six steps of 10 ms on two ranks: `passes` micro-batches, each with a forward pass, a loss, and a
-- backward pass that reduces two buckets
-- of 25 MiB next to or after its products; an optimizer at the end.
local gemm, loss, reduce =
  "nvjet_tst_gemm",
  "nll_loss_forward_reduce_cuda_kernel_2d",
  "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
local update = "multi_tensor_apply_kernel<FusedAdamMathFunctor>"
local bucket = 26214400

local function steps(passes, more)
  more = more or {}
  local ops, ranges = {}, { { 0, 9990, "step {n}" } }
  for rank = 0, 1 do
    local function op(from, to, kernel, stream, launched)
      ops[#ops + 1] = {
        from,
        to,
        kernel = kernel,
        stream = stream,
        blocks = stream == 8 and 24 or 132,
        launched = launched,
        rank = rank,
      }
    end
    local length = 9000 // passes
    for m = 0, passes - 1 do
      local at = 20 + m * length
      op(at, at + 0.3 * length, gemm, 7, { 1 + m, 1.5 + m })
      if more.forward then
        op(at + 0.3 * length, at + 0.33 * length, more.forward, 8, { 1.5 + m, 1.6 + m })
      end
      if more.loss ~= false then
        op(at + 0.35 * length, at + 0.36 * length, loss, 7, { 1.6 + m, 1.7 + m })
      end
      op(at + 0.36 * length, at + 0.7 * length, gemm, 7, { 1.7 + m, 1.8 + m })
      for b = 0, 1 do
        if not more.last_only or m == passes - 1 then
          local from = at + (0.7 + 0.14 * b) * length
          local launched = 1.8 + m + 0.05 * b
          op(
            from,
            from + 0.14 * length,
            more.kernel or reduce,
            8,
            { launched, launched + 0.02 }
          )
          if more.sizes ~= false then
            ranges[#ranges + 1] = {
              launched - 0.005,
              launched + 0.025,
              "ncclAllReduce",
              bytes = more.sizes and more.sizes[m + 1] or bucket,
              rank = rank,
            }
          end
        end
      end
      if more.update_each then
        op(at + 0.98 * length, at + 0.99 * length, update, 7, { 1.95 + m, 1.97 + m })
      end
    end
    op(9500, 9990, update, 7, { 30, 31 })
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = ranges,
    ops = ops,
    not_collected = more.not_collected,
  }
end

-- The host bounds two passes of 5 ms: of each, 1 ms goes to the events around a reduction that is
-- hidden.
local function host_bound()
  local ops, calls = {}, {}
  for pass = 0, 1 do
    local at = 5000 * pass
    local function op(from, to, kernel, stream)
      ops[#ops + 1] = {
        at + from,
        at + to,
        kernel = kernel,
        stream = stream,
        launched = { at + from - 10, at + from - 5 },
      }
    end
    op(50, 60, loss, 7)
    op(1200, 1900, reduce, 8)
    op(1800, 4900, gemm, 7)
    calls[#calls + 1] = { at + 100, at + 600, "cudaEventRecord" }
    calls[#calls + 1] = { at + 1250, at + 1750, "cudaStreamWaitEvent" }
    for i = 0, 13 do
      calls[#calls + 1] = { at + 1900 + 200 * i, at + 2090 + 200 * i, "cudaGetDevice" }
    end
  end
  ops[#ops + 1] = { 9910, 9990, kernel = update, stream = 7, launched = { 9900, 9905 } }
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}" } },
    ops = ops,
    calls = calls,
  }
end

return {
  {
    name = "counts what the host does around a reduction",
    trace = host_bound(),
    replay = true,
    expect = { { severity = "warning", worth = { 0.1, 0.12 } } },
  },
  {
    name = "fires on two micro-batches that both reduce",
    trace = steps(2),
    expect = {
      {
        severity = "warning",
        subject = "gradients of micro-batches",
        message = "Each of 2 backward passes a step reduces the same gradients (50 MiB each): all \z
          but the last take 1.26 ms of each 10.0 ms step (13 %)*",
        confidence = "high",
      },
    },
  },
  {
    name = "fires on eight",
    trace = steps(8),
    expect = { { severity = "error", message = "Each of 8 backward passes*" } },
  },
  {
    name = "is less sure where no range tells sizes",
    trace = steps(4, { sizes = false }),
    expect = {
      {
        severity = "warning",
        message = "Each of 4 backward passes a step reduces the same gradients: all but*",
        confidence = "medium",
      },
    },
  },
  {
    name = "fires on gradients that are scattered, as FSDP does",
    trace = steps(4, { kernel = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL" }),
    expect = { { severity = "warning" } },
  },

  { name = "is silent about one backward pass", trace = steps(1), expect = "clean" },
  {
    name = "is silent where only the last micro-batch reduces",
    trace = steps(4, { last_only = true }),
    expect = "clean",
  },
  {
    name = "is silent about steps between which an optimizer runs",
    trace = steps(4, { update_each = true }),
    expect = "clean",
  },
  {
    name = "is silent about passes that reduce different gradients",
    trace = steps(2, { sizes = { bucket, bucket / 2 } }),
    expect = "clean",
  },
  {
    name = "is silent about tensor parallelism, which reduces in forward as well",
    trace = steps(4, { forward = reduce }),
    expect = "clean",
  },
  {
    name = "is silent where no loss tells passes apart",
    trace = steps(4, { loss = false }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(2),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "is silent without collectives",
    trace = {
      repeats = { times = 6, every = 1000 },
      ranges = { { 0, 990, "step {n}" } },
      ops = { { 20, 980, kernel = gemm } },
    },
    expect = "clean",
  },

  {
    name = "cannot tell micro-batches from steps without steps",
    trace = { ops = { { 20, 900, kernel = gemm }, { 900, 990, kernel = reduce, stream = 8 } } },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(2, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "two-sync-each: measured 32.7 ms, and 26.7 with no_sync",
    fixture = "two-sync-each",
    expect = {
      { severity = "warning", message = "Each of 4 backward passes*", worth = { 0.08, 0.16 } },
    },
  },
  { name = "ddp: one pass a step", fixture = "ddp", expect = "clean" },
  {
    name = "two-fsdp-no-prefetch: one pass a step",
    fixture = "two-fsdp-no-prefetch",
    expect = "clean",
  },
  {
    name = "two-tensor-parallel: no gradients",
    fixture = "two-tensor-parallel",
    expect = "clean",
  },
  {
    name = "ddp-small-collectives: many, but once",
    fixture = "ddp-small-collectives",
    expect = "clean",
  },
}
