-- Results that have separate advice.
local known = {
  "cudaErrorMemoryAllocation",
  "cudaErrorUnsupportedPtxVersion",
  "cudaErrorInvalidPtx",
  "cudaErrorNoKernelImageForDevice",
  "cudaErrorInvalidDeviceFunction",
  "cudaErrorIllegalAddress",
  "cudaErrorMisalignedAddress",
  "cudaErrorLaunchFailure",
  "cudaErrorLaunchOutOfResources",
  "cudaErrorInsufficientDriver",
}

return {
  id = "failed-calls",
  category = "capture",
  title = "CUDA calls fail",
  since = "0.2",
  warning_at = 2, -- never by what it is worth
  needs = { "calls" },
  options = {
    most = {
      default = 20,
      unit = "count",
      doc = "How many calls with different results are reported at most. Chosen: later failures \z
        mostly follow from the first.",
    },
  },
  messages = {
    fatal = "`{call}` returned `{result}`{means}, {times}: after that the GPU does nothing for \z
      this process.",
    launches = "`{call}` returned `{result}`{means}, {times}: what it was meant to launch never \z
      ran.",
    nothing = "`{call}` returned `{result}`{means}, {times}, and the GPU did no work at all.",
    others = "`{call}` returned `{result}`{means}, {times}.",
  },
  headlines = {
    fatal = "{call} fails, and the GPU does nothing after it",
    launches = "{call} fails: its work never ran",
    nothing = "{call} fails, and the GPU did no work",
    others = "{call} fails {times}",
  },
  doc = {
    what = "Reads what every CUDA call returned. A call that cannot launch, an error after which \z
      nothing works, and any failure in a program that then does no GPU work make the recording \z
      itself doubtful and come first; a failed allocation is a warning; others are notes. Results \z
      that are answers (not ready, peer access already enabled, not found, ...) are left out \z
      (schemas/calls.toml).",
    why = "A program that ignores what calls return carries on after a failure: it is fast, and \z
      computes nothing.",
    fix = "Fix the first failure: later ones often follow from it. Check the result of every \z
      call, and `cudaGetLastError()` after each launch.",
    wrong = "Libraries try what a device may not support and fall back; a caching allocator that \z
      finds no memory releases what it keeps and tries again.",
  },
  advice = {
    -- What to do first about each result; the advice on other results names the call.
    {
      when = "cudaErrorMemoryAllocation",
      "Use less memory{.}: a smaller batch or problem. Free what is no longer used, and check \z
        with nvidia-smi which other process holds memory of this GPU.",
    },
    {
      when = "cudaErrorUnsupportedPtxVersion",
      "Update the driver, or build with an older CUDA toolkit{.}: one no newer than the driver. \z
        Code built for this GPU (`nvcc -gencode arch=compute_XY,code=sm_XY`) needs no PTX to be \z
        compiled at all.",
    },
    {
      when = "cudaErrorInvalidPtx",
      "Build code for this GPU{.}: `nvcc -gencode arch=compute_XY,code=sm_XY`.",
    },
    {
      when = "cudaErrorNoKernelImageForDevice",
      "Build for this GPU as well{.}: `nvcc -gencode arch=compute_XY,code=sm_XY`, or install a \z
        build of the library that supports it.",
    },
    {
      when = "cudaErrorInvalidDeviceFunction",
      "Build for this GPU as well{.}: `nvcc -gencode arch=compute_XY,code=sm_XY`, or install a \z
        build of the library that supports it.",
    },
    {
      when = "cudaErrorIllegalAddress",
      "Run `compute-sanitizer PROGRAM`{.}: it names the kernel, the line and the address.",
    },
    {
      when = "cudaErrorMisalignedAddress",
      "Run `compute-sanitizer PROGRAM`{.}: it names the kernel, the line and the address.",
    },
    {
      when = "cudaErrorLaunchFailure",
      "Run `compute-sanitizer PROGRAM`{.}: it names the kernel and the line.",
    },
    {
      when = "cudaErrorLaunchOutOfResources",
      "Launch fewer threads per block{.}. Or limit the kernel's registers (`__launch_bounds__`).",
    },
    {
      when = "cudaErrorInsufficientDriver",
      "Update the driver{.}. Or install a CUDA runtime that is no newer than the driver.",
    },
    { unless = known, "Find out why `{call}` fails{.}: check what every call returns." },
  },
  evaluate = function(trace, options)
    if trace:is "torch_profiler" then
      return nil, "this profiler does not record what calls return; Nsight Systems does"
    end
    local worked = trace:fact "device.count" > 0
    local findings = {}
    for _, failed in ipairs(trace:failed_calls()) do
      local launch = failed.class == "launch" or failed.class == "graph_launch"
      local message = failed.fatal and "fatal"
        or launch and "launches"
        or not worked and "nothing"
        or "others"
      local severity = message ~= "others" and "error"
        or failed.class == "allocation" and "warning"
        or "note"
      findings[#findings + 1] = {
        subject = failed.call .. ": " .. failed.result,
        message = message,
        severity = severity,
        voids = severity == "error",
        data = {
          call = failed.call,
          result = failed.result,
          means = failed.means ~= "" and " (" .. failed.means .. ")" or "",
          times = failed.count == 1 and "once" or string.format("%d times", failed.count),
        },
        seen = { [failed.result] = true },
        evidence = failed.rows:evidence { most = 3 },
      }
      if #findings == options.most then break end
    end
    if not worked and #findings == 0 then
      return nil, "no GPU work was recorded, and no call failed"
    end
    return findings
  end,
}
