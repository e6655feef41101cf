return {
  id = "clock-throttle",
  category = "compute",
  title = "The GPU's clock falls while it works",
  since = "0.1",
  needs = { "samples" },
  options = {
    drop = { default = 0.10, unit = "fraction", doc = "How far under its own highest sampled clock the GPU is." },
    share = { default = 0.20, unit = "fraction", doc = "Share of the samples with busy SMs at which it is so far under, from which it counts." },
    sms_active = { default = 60, unit = "count", doc = "SMs active from which the GPU is busy, in percent." },
  },
  messages = {
    slow = "In {share:fraction} of the samples in which the SMs are busy, their clock is {drop:fraction} or more under its own maximum of {most} MHz; it falls to {least} MHz. On average over busy samples it is {lost:fraction} under.",
  },
  doc = {
    what = "Reads the sampled clock of the SMs while they are busy and compares it with the highest that was sampled.",
    why = "A GPU that reaches its power or temperature limit lowers its clock, and everything that computes takes longer by as much. Dense products reach the power limit first.",
    fix = "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE says which limit it is. Power: raise the cap where it was lowered (nvidia-smi -pl); temperature: airflow, a lower room or neighbours that work less. Compare GPUs of one machine: a single slow one holds up every collective.",
    wrong = "Long dense products run below the highest clock on a healthy GPU at its rated power. What is bound by memory hardly loses by it.",
  },
  evaluate = function(trace, options)
    local clock, reason, record_with = trace:metric "GPC Clock Frequency*"
    if clock == nil then return nil, reason, record_with end
    local function busy_below(fraction)
      return trace:sampled_fraction { { metric = "GPC Clock Frequency*", most = fraction * clock.most }, { metric = "SMs Active*", least = options.sms_active } }
    end
    local busy, none, how = busy_below(1)
    if busy == nil then return nil, none, how end
    local slow = busy_below(1 - options.drop)
    if busy == 0 or slow == 0 or slow / busy < options.share then return {} end
    -- The mean drop, from how many samples are below each twentieth of the clock.
    local lost = 0
    for twentieth = 1, 19 do lost = lost + busy_below(1 - twentieth / 20) / 20 end
    -- Some reports have the clock in Hz, whatever the metric's name says.
    local mhz = clock.most > 1e6 and 1e6 or 1
    return { {
      subject = "clock",
      message = "slow",
      data = { share = slow / busy, drop = options.drop, most = string.format("%.0f", clock.most / mhz), least = string.format("%.0f", clock.least / mhz), lost = lost / busy },
      recoverable_ns = lost * trace:fact "steps.total_ns",
      at_most = "warning",
      confidence = "medium",
      metrics = { { name = "busy samples with a low clock", value = slow / busy, unit = "fraction", threshold = options.share } },
      advice = {
        "Ask which limit it is: nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE during the run (or DCGM's fields for clock throttle reasons).",
        "Power: see whether somebody lowered the cap (nvidia-smi -q -d POWER against the default limit). Temperature: cooling. Neither: application clocks (nvidia-smi -rac).",
      },
    } }
  end,
}
