return {
  id = "gil-contention",
  category = "host",
  title = "The launching thread waits for Python's lock, which another thread holds",
  since = "0.3",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Idle time in which the launching thread waits for Python's lock while another thread of the process runs, of the step, from which it counts." },
  },
  messages = {
    recorded = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the launching thread waits for Python's lock.{host}{start}",
    woken = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the launching thread waits in '{doing}', in pieces of no more than Python's switch interval, until another thread of the process wakes it that was in no call of the operating system meanwhile: as threads do that share Python's lock.{host}{start}",
    inferred = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the launching thread waits in '{doing}', in pieces of no more than Python's switch interval, and another thread of the process runs all the while: as a thread does that waits for Python's lock.{host}{start}",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work waits for Python's global lock. Nsight Systems can record that (--trace=python-gil). Otherwise it is told by what shows of it: the thread waits in pthread_cond_timedwait, a futex or a mutex, in pieces of at most 6 ms, and another thread of the process is on a CPU for four fifths of that. Where context switches were not recorded, that thread has to be in no call of the operating system so long, and to wake the waiting one from pthread_cond_timedwait: where nothing shows of this, other ways to wait for the lock cannot be ruled out.",
    why = "One thread of a Python process runs Python at a time, and gives the lock to another after 5 ms, or when it waits. A thread that computes in Python beside the one that launches takes half of its time, in pieces of 5 ms.",
    fix = "Move what the other thread does to a process of its own (multiprocessing, DataLoader workers), or into code that gives the lock back (NumPy, PyTorch, a C extension). A shorter sys.setswitchinterval makes the pieces shorter. Python 3.13 and later can be built without the lock.",
    wrong = "Threads that wait for each other on purpose, through a lock of the program's own, look alike where the lock itself was not recorded.",
  },
  evaluate = function(trace, options)
    if not trace:is "python" and not trace:available "python_lock" then
      return {}
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local pauses = trace:idle { stretch = "lock" }
    local idle = pauses:union_ns()
    local share = idle / total
    local known, _, record_with = trace:available "python_lock"
    if idle == 0 or share < options.share then
      if known or (trace:available "cpu_stretches" and trace:available "os_calls") then return {} end
      return nil, "neither Python's lock nor context switches were recorded", record_with
    end
    local doing = pauses:doing(0.5)
    known = (trace:fact "host.python_lock_fraction" or 0) > 0
    local once = trace:fact "steps.found" == 0 and pauses:quarters() < 3
    return { {
      subject = "lock",
      message = known and "recorded" or trace:available "cpu_stretches" and "inferred" or "woken",
      data = { idle = idle / steps, share = share, doing = doing or "a lock", host = pauses:host(), start = once and " It does not go on all through the recording: it may be the program's start." or "" },
      recoverable_ns = idle,
      change = { { pause = pauses } },
      at_most = once and "note" or nil,
      confidence = known and "high" or "medium",
      metrics = { { name = "idle while the launching thread waits for Python's lock", value = share, unit = "fraction", threshold = options.share } },
      evidence = pauses:evidence { most = 5 },
      advice = {
        {
          pytorch = "Move what the other thread does to a process of its own (multiprocessing, DataLoader workers), or into code that gives the lock back (NumPy, PyTorch, a C extension).",
          cuda = "Move what the other thread does to a process of its own (multiprocessing), or into code that gives the lock back (NumPy, a C extension).",
        },
        "Where it has to be a thread: sys.setswitchinterval(0.0005) has it give the lock back ten times as often.",
      },
    } }
  end,
}
