-- What to do first about a result; others are told by what they mean.
local remedies = {
  cudaErrorMemoryAllocation = "Ask for less memory (a smaller batch or problem), give back what is no longer used, or see with nvidia-smi who else holds memory of this GPU.",
  cudaErrorUnsupportedPtxVersion = "Update the driver, or build with a CUDA toolkit that is no newer than it; code for this very GPU (nvcc -gencode arch=compute_XY,code=sm_XY) needs no PTX to be compiled at all.",
  cudaErrorInvalidPtx = "Build code for this very GPU: nvcc -gencode arch=compute_XY,code=sm_XY.",
  cudaErrorNoKernelImageForDevice = "Build for this GPU as well: nvcc -gencode arch=compute_XY,code=sm_XY, or install a build of the library that knows it.",
  cudaErrorInvalidDeviceFunction = "Build for this GPU as well: nvcc -gencode arch=compute_XY,code=sm_XY, or install a build of the library that knows it.",
  cudaErrorIllegalAddress = "compute-sanitizer PROGRAM names the kernel, the line and the address.",
  cudaErrorMisalignedAddress = "compute-sanitizer PROGRAM names the kernel, the line and the address.",
  cudaErrorLaunchFailure = "compute-sanitizer PROGRAM names the kernel and the line.",
  cudaErrorLaunchOutOfResources = "Launch with fewer threads in a block, or bound the registers of the kernel (__launch_bounds__).",
  cudaErrorInsufficientDriver = "Update the driver, or install a runtime that is no newer than it.",
}

return {
  id = "failed-calls",
  category = "capture",
  title = "CUDA calls fail",
  since = "0.2",
  warning_at = 2,  -- never by what it is worth
  needs = { "calls" },
  options = {},
  messages = {
    fatal = "{call} returned {result}{means}, {times}: from then on the GPU does nothing for this process.",
    launches = "{call} returned {result}{means}, {times}: what it was to launch never ran.",
    nothing = "{call} returned {result}{means}, {times}, and the GPU did no work at all.",
    others = "{call} returned {result}{means}, {times}.",
  },
  doc = {
    what = "Reads what every CUDA call returned. A call that cannot launch, an error after which nothing works, and any failure in a program that then does no work on the GPU put the recording itself in doubt and come first; a failed allocation is a warning; others are notes. Results that are answers (not ready, peer access already enabled, not found, ...) are left out (schemas/calls.toml).",
    why = "A program that does not look at what calls return goes on as if nothing had happened: it is fast, and computes nothing.",
    fix = "Mend the first failure: those after it often follow from it. Look at the result of every call, and at cudaGetLastError() after each launch.",
    wrong = "Libraries try what a device may not support, and go on another way; a caching allocator that finds no memory gives back what it keeps and tries again.",
  },
  evaluate = function(trace)
    if trace:is "torch_profiler" then
      return nil, "this profiler does not record what calls return; Nsight Systems does"
    end
    local worked = trace:fact "device.count" > 0
    local findings = {}
    for _, failed in ipairs(trace:failed_calls()) do
      local launch = failed.class == "launch" or failed.class == "graph_launch"
      local message = failed.fatal and "fatal" or launch and "launches" or not worked and "nothing" or "others"
      local severity = message ~= "others" and "error" or failed.class == "allocation" and "warning" or "note"
      findings[#findings + 1] = {
        subject = failed.call .. ": " .. failed.result,
        message = message,
        severity = severity,
        voids = severity == "error",
        data = { call = failed.call, result = failed.result, means = failed.means ~= "" and " (" .. failed.means .. ")" or "", times = failed.count == 1 and "once" or string.format("%d times", failed.count) },
        advice = { remedies[failed.result] or string.format("Find where %s is called with what it cannot do, and look at what every call returns.", failed.call) },
        evidence = failed.rows:evidence { most = 3 },
      }
      if #findings == 20 then break end  -- more of them say no more
    end
    if not worked and #findings == 0 then return nil, "no GPU work was recorded, and no call failed" end
    return findings
  end,
}
