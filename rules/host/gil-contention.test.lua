-- Six steps of 10 ms: between two kernels the launching thread waits for 4 ms, in `call`, in
-- pieces of `piece` us.
local function steps(call, piece, more)
  local os_calls = {}
  for at = 2020, 6000 - piece, piece do
    os_calls[#os_calls + 1] = { at, at + piece, call, thread = "main" }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    os_calls = os_calls,
    ops = {
      {
        20,
        2000,
        kernel = "at::native::elementwise_kernel",
        launched = { 5, 10 },
        thread = "main",
      },
      {
        6020,
        9990,
        kernel = "at::native::elementwise_kernel",
        launched = { 6010, 6015 },
        thread = "main",
      },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local python = { { 0, 9900, "step {n}" }, { 0, 50, "aten::mm" } }
-- When the launching thread and another were on a CPU.
local function runs(from, to)
  return {
    { 0, 2020, thread = "main" },
    { 6005, 9990, thread = "main" },
    { from, to, thread = "worker", cpu = 1 },
  }
end
local lock =
  { { 2020, 6000, thread = "main" }, { 2010, 6000, thread = "worker", holds = true } }
-- Forty kernels that nothing repeats: before three of them, from the one numbered `first` on, the
-- launching thread waits for the lock for 4 ms.
local function three_waits(first)
  local trace, at = { ops = {}, python_lock = {} }, 0
  for i = 1, 40 do
    local wait = i >= first and i < first + 3 and 4000 or 0
    if wait > 0 then
      local held = trace.python_lock
      held[#held + 1] = { at + 20, at + wait, thread = "main" }
      held[#held + 1] = { at + 10, at + wait, thread = "worker", holds = true }
    end
    at = at + wait
    trace.ops[i] = {
      at + 20,
      at + 1000,
      kernel = "at::native::elementwise_kernel_" .. i,
      launched = { at + 5, at + 10 },
      thread = "main",
    }
    at = at + 1000
  end
  return trace
end
-- What the worker calls: it wakes the launching thread at the end; `more` besides.
local function woken(more)
  local calls = steps("pthread_cond_timedwait", 1990).os_calls
  calls[#calls + 1] = { 5990, 5995, "pthread_cond_signal", thread = "worker" }
  calls[#calls + 1] = more
  return calls
end

return {
  {
    name = "fires on the lock, where it was recorded, and says who held it",
    trace = steps("pthread_cond_timedwait", 1990, { python_lock = lock }),
    expect = {
      {
        severity = "error",
        subject = "lock",
        confidence = "high",
        worth = { 0.35, 0.42 },
        message = "The GPU is idle for 4.0* ms of each 10.0 ms step (40 %) while the launching \z
          thread waits for Python's lock.*held by thread 'worker*",
      },
    },
  },
  {
    name = "goes by its share without steps where it comes late only",
    trace = three_waits(37),
    expect = { { severity = "error", message = "*held by thread 'worker*" } },
  },
  {
    name = "is a note where it may be the start",
    trace = three_waits(1),
    expect = { { severity = "note", message = "* so it may be the program's start or end." } },
  },
  {
    name = "fires on waits in pieces next to a thread that runs",
    trace = steps(
      "pthread_cond_timedwait",
      1990,
      { ranges = python, cpu_stretches = runs(2000, 6000) }
    ),
    expect = {
      {
        severity = "error",
        subject = "lock",
        confidence = "medium",
        message = "*in 'pthread_cond_timedwait', in pieces*",
      },
    },
  },
  {
    name = "is silent where no other thread runs",
    trace = steps(
      "pthread_cond_timedwait",
      1990,
      { ranges = python, cpu_stretches = runs(8000, 9000) }
    ),
    expect = "clean",
  },
  {
    name = "is silent where the other thread runs for a part of it",
    trace = steps(
      "pthread_cond_timedwait",
      1990,
      { ranges = python, cpu_stretches = runs(2000, 4000) }
    ),
    expect = "clean",
  },
  {
    name = "is silent about a wait without an end, as for autograd's thread",
    trace = steps(
      "pthread_cond_wait",
      1990,
      { ranges = python, cpu_stretches = runs(2000, 6000) }
    ),
    expect = "clean",
  },
  {
    name = "is silent about loader processes, whose threads are not of this one",
    trace = steps("poll", 1990, { ranges = python, cpu_stretches = runs(2000, 6000) }),
    expect = "clean",
  },
  {
    name = "is silent below its share",
    trace = steps("pthread_cond_timedwait", 1990, { python_lock = lock }),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "fires without switches where a thread that is in no call wakes the launching one",
    trace = steps("pthread_cond_timedwait", 1990, {
      ranges = python,
      os_calls = woken(),
      not_collected = { "cpu_stretches", "python_lock" },
    }),
    expect = {
      {
        severity = "error",
        subject = "lock",
        confidence = "medium",
        message = "*until another thread of the process that was in no operating-system call \z
          wakes it*",
      },
    },
  },
  {
    name = "cannot judge a thread that waits itself before it wakes the launching one",
    trace = steps("pthread_cond_timedwait", 1990, {
      ranges = python,
      os_calls = woken { 2500, 5980, "read", thread = "worker" },
      not_collected = { "cpu_stretches", "python_lock" },
    }),
    expect = "not checked",
  },
  {
    name = "cannot tell without switches",
    trace = steps(
      "pthread_cond_timedwait",
      1990,
      { ranges = python, not_collected = { "cpu_stretches", "python_lock" } }
    ),
    expect = "not checked",
  },
  { name = "good", fixture = "good", expect = "not checked" },
}
