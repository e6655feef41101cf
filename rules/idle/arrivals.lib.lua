-- The idle time whose end is no work of the program's: its launching thread waited for another
-- thread, and that one was asleep or waited for the outside, as for the next request or a timer,
-- until the wait was over. A thread that works before it lets the launching one go on is none, nor
-- is one that polls: each of its sleeps is shorter than the wait. Training asks for its own input,
-- and a thread that launches work is no client.
local constants = {
  part = 0.9, -- of the wait, through which the other sleeps in one call; it wakes up in the rest
  min_ns = 100000, -- shorter waits are no time in which a service is idle
}
-- Not those that wait for a process or thread to end, which works, nor for a pipe, as of a loader.
local asleep = { "*nanosleep", "sleep", "usleep", "epoll_*wait*", "accept", "accept4" }

local function calls(selection)
  local found = {}
  selection:keep({ "start_ns", "end_ns", "thread" }, function(row)
    found[#found + 1] = { start = row.start_ns, till = row.end_ns, thread = row.thread }
    return false
  end)
  return found
end

return function(trace, pauses)
  local none = pauses:minus(pauses)
  if trace:is "training" then return none end
  local sleeps = calls(trace:os_calls { name = asleep, min_ns = constants.min_ns })
  if #sleeps == 0 then return none end
  table.sort(sleeps, function(a, b) return a.till < b.till end)
  local first = 1
  local threads, launches = {}, {} -- a filter takes no more than 200
  for _, thread in ipairs(pauses:group("thread", 200)) do
    threads[#threads + 1] = thread.key
    launches[thread.key] = true
  end
  local waits =
    trace:os_calls { does = "wait_thread", min_ns = constants.min_ns, thread = threads }
  local ended = waits:keep({ "start_ns", "end_ns", "thread" }, function(wait)
    local least = constants.part * (wait.end_ns - wait.start_ns)
    while first > 1 and sleeps[first - 1].till > wait.start_ns do
      first = first - 1
    end
    while sleeps[first] and sleeps[first].till <= wait.start_ns do
      first = first + 1
    end
    local i = first
    while sleeps[i] and sleeps[i].till <= wait.end_ns do
      local slept = sleeps[i].till - math.max(sleeps[i].start, wait.start_ns)
      if not launches[sleeps[i].thread] and slept >= least then return true end
      i = i + 1
    end
    return false
  end)
  if ended:count() == 0 then return none end
  return pauses:keep(
    { "duration_ns", waited = ended },
    function(pause) return 2 * pause.waited > pause.duration_ns end
  )
end
