return {
  id = "clock-throttle",
  category = "compute",
  title = "The GPU's clock falls while it works",
  since = "0.1",
  needs = { "samples" },
  options = {
    drop = { default = 0.10, unit = "fraction", doc = "How far under its own highest sampled clock the GPU is." },
    share = { default = 0.20, unit = "fraction", doc = "Share of the samples with busy SMs at which it is so far under, from which it counts." },
    far = { default = 0.15, unit = "fraction", doc = "How far the highest sampled clock may stay under the highest that the GPU can run at, before a note says so. Dense products at the rated power stay somewhat under as well." },
    at_limit = { default = 0.95, unit = "fraction", doc = "Share of the power limit from which on, in the median, the limit is what lowers the clock. The driver steers the draw to just under the limit and reports it averaged over a second." },
    sms_active = { default = 60, unit = "count", doc = "SMs active from which the GPU is busy, in percent." },
  },
  messages = {
    slow = "In {share:fraction} of the samples in which the SMs are busy, their clock is {drop:fraction} or more under its own maximum of {most} MHz; it falls to {least} MHz. On average over busy samples it is {lost:fraction} under.{power}",
    held = "The clock of the SMs never rises above {most} MHz, {under:fraction} under this GPU's {able} MHz: it does not fall, it is held.{power}",
  },
  doc = {
    what = "Reads the sampled clock of the SMs while they are busy and compares it with the highest that was sampled. Where it is steady, compares that with what the GPU can run at, for a note. With DCGM's power beside the recording (--dcgm) it says whether the power limit is what lowers it.",
    why = "A GPU that reaches its power or temperature limit lowers its clock, and everything that computes takes longer by as much. Dense products reach the power limit first.",
    fix = "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE says which limit it is. Power: raise the cap where it was lowered (nvidia-smi -pl); temperature: airflow, a lower room or neighbours that work less. Compare GPUs of one machine: a single slow one holds up every collective.",
    wrong = "A clock may be locked on purpose, for measurements. Long dense products run below the highest clock on a healthy GPU at its rated power. What is bound by memory hardly loses by it.",
  },
  evaluate = function(trace, options)
    local clock, reason, record_with = trace:metric "sm_clock"
    if clock == nil then return nil, reason, record_with end
    local function busy_below(fraction)
      return trace:sampled_fraction { { metric = "sm_clock", most = fraction * clock.most }, { metric = "sm_active", least = options.sms_active } }
    end
    local busy, none, how = busy_below(1)
    if busy == nil then return nil, none, how end
    local slow = busy_below(1 - options.drop)
    -- Some reports have the clock in Hz, whatever the metric's name says.
    local mhz = clock.most > 1e6 and 1e6 or 1
    local function mega(value) return string.format("%.0f", value) end
    if busy == 0 then return {} end
    -- What the GPU draws against what it may, where a monitor sampled both within the steps.
    local draw, limit = trace:metric "power", trace:metric "power_limit"
    local known = draw ~= nil and limit ~= nil and limit.median > 0
    local at_limit = known and draw.median >= options.at_limit * limit.median
    local power = known and string.format(" It draws %.0f W of the %.0f W that it may.", draw.median, limit.median) or ""
    local function watts(metrics)
      if known then metrics[#metrics + 1] = { name = "power draw, median", value = draw.median, unit = "W", threshold = options.at_limit * limit.median } end
      return metrics
    end
    local function which(advice)
      if at_limit then return { "The power limit lowers the clock: see whether somebody lowered the cap (nvidia-smi -q -d POWER against the default limit; nvidia-smi -pl raises it). At the default limit only less work or cooler silicon helps: fewer wasted products, lower precision.", advice[#advice] } end
      if known then return { "It is not the power limit. Temperature: nvidia-smi -q -d TEMPERATURE,PERFORMANCE during the run; else application clocks (nvidia-smi -rac)." } end
      return advice
    end
    if slow == 0 or slow / busy < options.share then
      -- A clock that is held low all the time does not fall.
      local able = (trace:fact "device.clock_hz" or 0) / 1e6
      local under = able > 0 and 1 - clock.most / mhz / able or 0
      if under <= options.far then return {} end
      return { {
        subject = "clock",
        message = "held",
        data = { power = power, most = mega(clock.most / mhz), able = mega(able), under = under },
        recoverable_ns = under * busy * trace:total_ns(),
        at_most = "note",
        confidence = "medium",
        metrics = watts { { name = "highest sampled clock under the GPU's own", value = under, unit = "fraction", threshold = options.far } },
        advice = which { "Ask what holds it: nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE during the run. A locked clock: nvidia-smi -rgc; application clocks: nvidia-smi -rac; a lowered power cap: nvidia-smi -pl." },
      } }
    end
    -- The mean drop, from how many samples are below each twentieth of the clock.
    local lost = 0
    for twentieth = 1, 19 do lost = lost + busy_below(1 - twentieth / 20) / 20 end
    return { {
      subject = "clock",
      message = "slow",
      data = { power = power, share = slow / busy, drop = options.drop, most = mega(clock.most / mhz), least = mega(clock.least / mhz), lost = lost / busy },
      recoverable_ns = lost * trace:total_ns(),
      at_most = "warning",
      confidence = at_limit and "high" or "medium",
      metrics = watts { { name = "busy samples with a low clock", value = slow / busy, unit = "fraction", threshold = options.share } },
      advice = which {
        "Ask which limit it is: nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE during the run (or DCGM's fields for clock throttle reasons).",
        "Power: see whether somebody lowered the cap (nvidia-smi -q -d POWER against the default limit). Temperature: cooling. Neither: application clocks (nvidia-smi -rac).",
      },
    } }
  end,
}
