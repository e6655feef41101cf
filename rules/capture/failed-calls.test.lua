local function calls(list, more)
  local trace = { ops = { { 100, 200, kernel = "stencil" } }, calls = list }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

return {
  {
    name = "launches that fail lead",
    trace = calls {
      { 10, 20, "cudaLaunchKernel", result = 222 },
      { 30, 40, "cudaLaunchKernel", result = 222 },
    },
    expect = {
      {
        severity = "error",
        subject = "cudaLaunchKernel: cudaErrorUnsupportedPtxVersion",
        message = "cudaLaunchKernel returned cudaErrorUnsupportedPtxVersion (the PTX was made by \z
          a compiler that is newer than the driver), 2 times: what it was meant to launch never \z
          ran.",
      },
    },
  },
  {
    name = "what is still called once the driver is gone has not failed",
    trace = calls {
      { 300, 310, "cuCtxSynchronize", result = 201 },
      { 310, 320, "cudaMemPoolTrimTo", result = 4 },
    },
    expect = "clean",
  },
  {
    name = "work that never ran has failed, also to the end",
    trace = calls {
      { 300, 310, "cudaLaunchKernel", result = 709 },
      { 310, 320, "cudaMalloc", result = 4 },
    },
    expect = { { subject = "cudaLaunchKernel*" }, { subject = "cudaMalloc*" } },
  },
  {
    name = "but it has while the process still works",
    trace = calls { { 10, 20, "cuCtxSynchronize", result = 201 } },
    expect = { { severity = "note", message = "cuCtxSynchronize returned error 201, once*" } },
  },
  {
    name = "so does an error after which nothing works",
    trace = calls { { 300, 310, "cudaFree", result = 700 } },
    expect = {
      {
        severity = "error",
        message = "cudaFree returned cudaErrorIllegalAddress*once: after that*",
      },
    },
  },
  {
    name = "and any failure of a program without GPU work",
    trace = { calls = { { 0, 10, "cudaMalloc", result = 2 } } },
    expect = {
      {
        severity = "error",
        message = "*(out of memory), once, and the GPU did no work at all.",
      },
    },
  },
  {
    name = "a failed allocation is a warning",
    trace = calls { { 10, 20, "cudaMalloc", result = 2 } },
    expect = {
      {
        severity = "warning",
        title = "cudaMalloc fails once",
        message = "cudaMalloc returned cudaErrorMemoryAllocation (out of memory), once.",
      },
    },
  },
  {
    name = "another failure is a note",
    trace = calls { { 10, 20, "cudaStreamCreate", result = 7777 } },
    expect = { { severity = "note", message = "cudaStreamCreate returned error 7777, once." } },
  },
  {
    name = "answers are no failures",
    trace = calls {
      { 10, 20, "cudaEventQuery", result = 600 },
      { 30, 40, "cudaDeviceEnablePeerAccess", result = 704 },
      { 50, 60, "cuGetProcAddress", result = 500 },
    },
    expect = "clean",
  },
  {
    name = "is silent where all succeeds",
    trace = calls { { 10, 20, "cudaMalloc" } },
    expect = "clean",
  },
  {
    name = "needs calls",
    trace = calls({}, { not_collected = { "calls" } }),
    expect = "not checked",
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "eager: event queries", fixture = "eager", expect = "clean" },
}
