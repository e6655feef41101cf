-- Sentences, each after a space, for the end of a message: what the profiler recorded about the
-- launching thread during this idle time, if it sampled stacks or traced context switches or
-- Python's lock. "" for reports without these.
local constants = {
  letters = 60, -- of a function's name
  matters = 10, -- what takes less than this part of the time deserves no sentence
}

local function matters(part, whole) return whole > 0 and part >= whole // constants.matters end

local function percent(part, whole) return string.format("%.0f %%", 100 * part / whole) end

-- "The launching thread was in 'tokenize (train.py)' in 113 of its 155 samples there, most often at
-- train.py(40)."
local function sampled(work)
  if work.samples == 0 then return "" end
  local in_one = 2 * work.in_name >= work.samples or work.name == work.module
  local in_module = not in_one and 2 * work.in_module >= work.samples
  return string.format(
    " The launching thread was %sin %s'`%s`' in %d of its %d samples there%s.",
    (in_one or in_module) and "" or "most often ",
    in_module and "code of " or "",
    (in_module and work.module or work.name):short(constants.letters),
    in_module and work.in_module or work.in_name,
    work.samples,
    work.line and not in_module and ", most often at " .. work.line:split(": ")[1] or ""
  )
end

local function locked(work)
  if not matters(work.lock_ns, work.total_ns) then return "" end
  return string.format(
    " For %s of that time the launching thread waited for Python's global lock%s.",
    percent(work.lock_ns, work.total_ns),
    work.holder and ", held by thread '" .. work.holder .. "'" or ""
  )
end

local function off_the_cpu(trace, work)
  if not matters(work.held_off_ns, work.scheduled_ns) then return "" end
  return string.format(
    " For %s of that time the launching thread was off the CPU%s%s.",
    percent(work.held_off_ns, work.scheduled_ns),
    trace:available "os_calls" and ", outside of any waiting call" or ", preempted or waiting",
    2 * work.taken_ns > work.held_off_ns and ", mostly while other recorded threads used it"
      or ""
  )
end

local function waited(work)
  if not matters(work.waited_ns, work.scheduled_ns) or not work.waker then return "" end
  return string.format(
    " For %s of that time the launching thread waited, and '`%s`' was running before most waits \z
      ended.",
    percent(work.waited_ns, work.scheduled_ns),
    work.waker
  )
end

return function(trace, idle)
  local work = idle:thread_work()
  if not work then return "" end
  return sampled(work) .. locked(work) .. off_the_cpu(trace, work) .. waited(work)
end
