-- Thirty-six steps of a kernel that its launch waits for, or does not.
local function loop(waits, more)
  local trace = {
    repeats = { times = 36, every = 1000 },
    ops = {
      { 20, 620, kernel = "nvjet_tst_gemm", launched = waits and { 5, 640 } or { 5, 10 } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function with(name, value, more)
  more = more or {}
  more.environment = { [name] = value }
  return more
end
local reduce = {
  { 20, 420, kernel = "nvjet_tst_gemm" },
  {
    430,
    900,
    kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)",
  },
}
local sgemm = { { 20, 900, kernel = "ampere_sgemm_128x64_nn" } }
-- PyTorch's operators around the launches, as far as they are needed to know it by.
local torch = { { 0, 15, "aten::mm" } }
local churn = { { 650, 750, "cudaMalloc" }, { 760, 900, "cudaFree" } }
-- A hundred kernels that nothing repeats; from the one numbered `first` on, twenty times memory is
-- allocated and freed between two.
local function window(first)
  local trace =
    with("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", { ops = {}, calls = {}, ranges = {} })
  for i = 1, 100 do
    local at = 1000 * i
    trace.ops[i] = { at + 20, at + 620, kernel = "part_" .. i, launched = { at + 5, at + 10 } }
    trace.ranges[i] = { at, at + 15, "aten::mm" }
    if i >= first and i < first + 20 then
      trace.calls[#trace.calls + 1] = { at + 650, at + 750, "cudaMalloc" }
      trace.calls[#trace.calls + 1] = { at + 760, at + 900, "cudaFree" }
    end
  end
  return trace
end

return {
  {
    name = "allocations in the loop without steps, though late only",
    trace = window(78),
    expect = { { subject = "PYTORCH_NO_CUDA_MEMORY_CACHING" } },
  },
  { name = "allocations at the start", trace = window(1), expect = "clean" },
  {
    name = "launches that wait",
    trace = loop(true, with("CUDA_LAUNCH_BLOCKING", "1")),
    expect = {
      {
        subject = "CUDA_LAUNCH_BLOCKING",
        title = "CUDA_LAUNCH_BLOCKING=1 makes every launch wait for its kernel",
        message = "CUDA_LAUNCH_BLOCKING=1 is set: each of 36 launches waits*(100 % of*",
      },
    },
  },
  {
    name = "launches that wait, replayed without",
    replay = true,
    trace = loop(true, with("CUDA_LAUNCH_BLOCKING", "1")),
    expect = { { worth = { 0.02, 0.4 } } },
  },
  {
    name = "set, but launches do not wait",
    trace = loop(false, with("CUDA_LAUNCH_BLOCKING", "1")),
    expect = "clean",
  },
  { name = "launches wait, but nothing says why", trace = loop(true), expect = "clean" },
  {
    name = "switched off",
    trace = loop(true, with("CUDA_LAUNCH_BLOCKING", "0")),
    expect = "clean",
  },
  {
    name = "a few launches are no loop",
    trace = loop(
      true,
      with("CUDA_LAUNCH_BLOCKING", "1", { repeats = { times = 6, every = 1000 } })
    ),
    expect = "clean",
  },
  {
    name = "no caching allocator, and allocations in the loop",
    trace = loop(
      false,
      with("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", { calls = churn, ranges = torch })
    ),
    expect = {
      {
        subject = "PYTORCH_NO_CUDA_MEMORY_CACHING",
        message = "*the driver allocates every tensor, * allocations and frees*",
      },
    },
  },
  {
    name = "no caching allocator, and no allocations",
    trace = loop(false, with("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", { ranges = torch })),
    expect = "clean",
  },
  {
    name = "allocations of a program that does not read PyTorch's variable",
    trace = loop(false, with("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", { calls = churn })),
    expect = "clean",
  },
  {
    name = "allocations, but nothing says why",
    trace = loop(false, { calls = churn }),
    expect = "clean",
  },
  {
    name = "TF32 is off and products run on CUDA cores",
    trace = loop(false, with("NVIDIA_TF32_OVERRIDE", "0", { ops = sgemm })),
    expect = {
      {
        subject = "NVIDIA_TF32_OVERRIDE",
        message = "NVIDIA_TF32_OVERRIDE=0 is set: matrix products run on CUDA cores for 8* %*",
      },
    },
  },
  {
    name = "TF32 is off and nothing would use it",
    trace = loop(false, with("NVIDIA_TF32_OVERRIDE", "0")),
    expect = "clean",
  },
  {
    name = "TF32 is on",
    trace = loop(false, with("NVIDIA_TF32_OVERRIDE", "1", { ops = sgemm })),
    expect = "clean",
  },
  {
    name = "through host memory",
    trace = loop(false, with("NCCL_P2P_DISABLE", "1", { ops = reduce })),
    expect = {
      {
        subject = "NCCL_P2P_DISABLE",
        severity = "warning",
        message = "NCCL_P2P_DISABLE=1 is set: GPUs of one machine exchange data through host \z
          memory*",
      },
    },
  },
  {
    name = "over sockets",
    trace = loop(false, with("NCCL_IB_DISABLE", "1", { ops = reduce })),
    expect = { { subject = "NCCL_IB_DISABLE", severity = "warning" } },
  },
  {
    name = "collectives that are checked",
    trace = loop(
      false,
      with("TORCH_DISTRIBUTED_DEBUG", "DETAIL", { ops = reduce, ranges = torch })
    ),
    expect = { { subject = "TORCH_DISTRIBUTED_DEBUG", severity = "warning" } },
  },
  {
    name = "collectives that only report",
    trace = loop(
      false,
      with("TORCH_DISTRIBUTED_DEBUG", "INFO", { ops = reduce, ranges = torch })
    ),
    expect = "clean",
  },
  {
    name = "collectives of a program that does not read PyTorch's variable",
    trace = loop(false, with("TORCH_DISTRIBUTED_DEBUG", "DETAIL", { ops = reduce })),
    expect = "clean",
  },
  {
    name = "no collectives",
    trace = loop(false, with("NCCL_P2P_DISABLE", "1")),
    expect = "clean",
  },
  {
    name = "one thread, and a host that the GPU waits for",
    trace = loop(
      false,
      with("OMP_NUM_THREADS", "1", { repeats = { times = 36, every = 5000 } })
    ),
    expect = {
      {
        subject = "OMP_NUM_THREADS",
        severity = "note",
        message = "OMP_NUM_THREADS=1 is set, and the GPU is idle for *",
      },
    },
  },
  {
    name = "one thread, and a GPU that works",
    trace = loop(
      false,
      with("OMP_NUM_THREADS", "1", { ops = { { 20, 990, kernel = "nvjet_tst_gemm" } } })
    ),
    expect = "clean",
  },
  {
    name = "several threads",
    trace = loop(
      false,
      with("OMP_NUM_THREADS", "8", { repeats = { times = 36, every = 5000 } })
    ),
    expect = "clean",
  },
  {
    name = "a value that is none of the usual ones",
    trace = loop(true, with("CUDA_LAUNCH_BLOCKING", "set")),
    expect = { { message = "CUDA_LAUNCH_BLOCKING is set: *" } },
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
}
