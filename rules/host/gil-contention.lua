return {
  id = "gil-contention",
  category = "host",
  title = "The launching thread waits for Python's lock",
  since = "0.3",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time in which the launching thread waits \z
        for Python's lock while another thread of the process runs.",
    },
  },
  messages = {
    recorded = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the \z
      launching thread waits for Python's lock.{host}{once}",
    woken = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the \z
      launching thread waits in '`{doing}`', in pieces no longer than Python's switch interval, \z
      until another thread of the process that was in no operating-system call wakes it. Threads \z
      that share Python's lock behave like this.{host}{once}",
    inferred = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the \z
      launching thread waits in '`{doing}`', in pieces no longer than Python's switch interval, \z
      and another thread of the process runs all the while. A thread that waits for Python's lock \z
      behaves like this.{host}{once}",
  },
  headlines = {
    recorded = "The launching thread waits for Python's lock",
    woken = "The launching thread probably waits for Python's lock",
    inferred = "The launching thread probably waits for Python's lock",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work waits \z
      for Python's global lock. Nsight Systems can record that (`--trace=python-gil`). Otherwise \z
      the rule infers it: the thread waits in `pthread_cond_timedwait`, a futex or a mutex, in \z
      pieces of at most 6 ms, and another thread of the process is on a CPU for four fifths of \z
      that time. Without context switches, that thread must be in no operating-system call that \z
      long, and must wake the waiting one from `pthread_cond_timedwait`; if none of this shows, \z
      other ways to wait for the lock cannot be ruled out.",
    why = "Only one thread of a Python process runs Python at a time, and it hands the lock over \z
      after 5 ms, or when it waits. A thread that computes in Python next to the launching one \z
      takes half of its time, in pieces of 5 ms.",
    fix = "Move what the other thread does to a separate process (multiprocessing, `DataLoader` \z
      workers), or into code that releases the lock (NumPy, PyTorch, a C extension). A shorter \z
      `sys.setswitchinterval` makes the pieces shorter. Python 3.13 and later can be built \z
      without the lock.",
    wrong = "Threads that wait for each other on purpose, through a lock of the program, look the \z
      same if Python's lock itself was not recorded.",
  },
  advice = {
    {
      pytorch = "Move the other thread's work to a separate process{.}: multiprocessing or \z
        `DataLoader` workers. Or move it into code that releases the lock (NumPy, PyTorch, a C \z
        extension).",
      cuda = "Move the other thread's work to a separate process{.}: multiprocessing. Or move it \z
        into code that releases the lock (NumPy, a C extension).",
    },
    "If it has to stay a thread{.}: `sys.setswitchinterval(0.0005)` makes it release the lock ten \z
      times as often.",
  },
  evaluate = function(trace, options)
    if not trace:is "python" and not trace:available "python_lock" then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local pauses = trace:idle { stretch = "lock" }
    local idle = pauses:union_ns()
    local share = idle / total
    local known, _, record_with = trace:available "python_lock"
    if idle == 0 or share < options.share then
      if known or (trace:available "cpu_stretches" and trace:available "os_calls") then
        return {}
      end
      return nil, "neither Python's lock nor context switches were recorded", record_with
    end
    local doing = require "doing"(trace, pauses)
    known = (trace:fact "host.python_lock_fraction" or 0) > 0
    local at_most, once = require "start_or_end"(trace, pauses)
    return {
      {
        subject = "lock",
        message = known and "recorded"
          or trace:available "cpu_stretches" and "inferred"
          or "woken",
        data = {
          idle = idle / steps,
          share = share,
          doing = doing or "a lock",
          host = require "host"(trace, pauses),
          once = once,
        },
        recoverable_ns = idle,
        change = { { pause = pauses } },
        at_most = at_most,
        confidence = known and "high" or "medium",
        metrics = {
          {
            name = "idle while the launching thread waits for Python's lock",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = pauses:evidence { most = 5 },
      },
    }
  end,
}
