local constants = {
  steps = 20, -- in which the clock below its highest is counted
  most_mhz = 1000000, -- no GPU comes near: a larger number is in Hz
}

return {
  id = "clock-throttle",
  category = "compute",
  title = "The GPU's clock falls while it works",
  since = "0.1",
  needs = { "samples" },
  options = {
    drop = {
      default = 0.10,
      unit = "fraction",
      doc = "How far below its own highest sampled clock the GPU has to be.",
    },
    share = {
      default = 0.20,
      unit = "fraction",
      doc = "Share of the samples with busy SMs that are so far below, from which it is reported.",
    },
    far = {
      default = 0.15,
      unit = "fraction",
      doc = "How far the highest sampled clock may stay below the highest that the GPU can run \z
        at, before a note says so. Dense matrix products at the rated power stay somewhat below \z
        as well.",
    },
    at_limit = {
      default = 0.95,
      unit = "fraction",
      doc = "Share of the power limit from which the median draw means that the limit lowers the \z
        clock. The driver keeps the draw just under the limit and reports it averaged over a \z
        second.",
    },
    sms_active = {
      default = 60,
      unit = "count",
      doc = "Percentage of active SMs from which the GPU is busy.",
    },
  },
  messages = {
    slow = "In {share:fraction} of the samples with busy SMs, the clock is {drop:fraction} or \z
      more below its own maximum of {most} MHz; it falls to {least} MHz. On average over busy \z
      samples it is {lost:fraction} below.{power}",
    held = "The SM clock never rises above {most} MHz, {under:fraction} below this GPU's {able} \z
      MHz: it does not fall, it is held there.{power}",
  },
  headlines = {
    slow = "The GPU's clock falls to {least} MHz while it works",
    held = "The GPU's clock is held at {most} MHz",
  },
  doc = {
    what = "Reads the sampled clock of the SMs while they are busy and compares it with the \z
      highest sampled one. If it is steady, compares that with what the GPU can run at, for a \z
      note. With DCGM's power samples for the recording (`--dcgm`) it says whether the power \z
      limit lowers the clock.",
    why = "A GPU that reaches its power or temperature limit lowers its clock, and all \z
      computation takes longer by as much. Dense matrix products reach the power limit first.",
    fix = "`nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE` shows which limit it is. Power: raise \z
      the cap if it was lowered (`nvidia-smi -pl`); temperature: airflow, a cooler room or less \z
      busy neighbors. Compare the GPUs of one machine: a single slow one holds up every \z
      collective.",
    wrong = "A clock may be locked on purpose, for measurements. Long dense matrix products run \z
      below the highest clock on a healthy GPU at its rated power. Memory-bound kernels hardly \z
      slow down.",
  },
  advice = {
    {
      when = "at_limit",
      "Check whether the power cap was lowered{.}: the power limit lowers the clock (`nvidia-smi \z
        -q -d POWER` shows the default limit; `nvidia-smi -pl` raises the cap). At the default \z
        limit only less work or better cooling helps: fewer wasted matrix products, lower \z
        precision.",
    },
    {
      when = "below_limit",
      "Check temperature and application clocks{.}: it is not the power limit. Run `nvidia-smi -q \z
        -d TEMPERATURE,PERFORMANCE` meanwhile; `nvidia-smi -rac` resets application clocks.",
    },
    {
      when = "held",
      unless = "below_limit",
      "Find out what holds the clock{.}: `nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE` \z
        during the run. A locked clock: `nvidia-smi -rgc`; application clocks: `nvidia-smi -rac`; \z
        a lowered power cap: `nvidia-smi -pl`.",
    },
    {
      when = "slow",
      unless = { "at_limit", "below_limit" },
      "Find out which limit lowers the clock{.}: `nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE` \z
        during the run (or DCGM's fields for clock throttle reasons).",
    },
    {
      when = "slow",
      unless = "below_limit",
      "Power{.}: check whether the cap was lowered (`nvidia-smi -q -d POWER` shows the default \z
        limit). Temperature: improve cooling. Neither: application clocks (`nvidia-smi -rac`).",
    },
  },
  evaluate = function(trace, options)
    local clock, reason, record_with = trace:metric "sm_clock"
    if clock == nil then return nil, reason, record_with end
    local function busy_below(fraction)
      return trace:sampled_fraction {
        { metric = "sm_clock", most = fraction * clock.most },
        { metric = "sm_active", least = options.sms_active },
      }
    end
    local busy, none, how = busy_below(1)
    if busy == nil then return nil, none, how end
    local slow = busy_below(1 - options.drop)
    -- Some reports have the clock in Hz, whatever the metric's name says.
    local mhz = clock.most > constants.most_mhz and 1e6 or 1
    local function mega(value) return string.format("%.0f", value) end
    if busy == 0 then return {} end
    -- What the GPU draws against its limit, if a monitor sampled both within the steps.
    local draw, limit = trace:metric "power", trace:metric "power_limit"
    local known = draw ~= nil and limit ~= nil and limit.median > 0
    local at_limit = known and draw.median >= options.at_limit * limit.median
    local power = known
        and string.format(" It draws %.0f of at most %.0f W.", draw.median, limit.median)
      or ""
    local function watts(metrics)
      if known then
        metrics[#metrics + 1] = {
          name = "power draw, median",
          value = draw.median,
          unit = "W",
          threshold = options.at_limit * limit.median,
        }
      end
      return metrics
    end
    local seen = { at_limit = at_limit, below_limit = known and not at_limit }
    if slow == 0 or slow / busy < options.share then
      -- A clock that is held low all the time does not fall.
      local able = (trace:fact "device.clock_hz" or 0) / 1e6
      local under = able > 0 and 1 - clock.most / mhz / able or 0
      if under <= options.far then return {} end
      return {
        {
          subject = "clock",
          message = "held",
          data = {
            power = power,
            most = mega(clock.most / mhz),
            able = mega(able),
            under = under,
          },
          recoverable_ns = under * busy * trace:total_ns(),
          at_most = "note",
          confidence = "medium",
          metrics = watts {
            {
              name = "highest sampled clock under the GPU's own",
              value = under,
              unit = "fraction",
              threshold = options.far,
            },
          },
          seen = seen,
        },
      }
    end
    -- The mean drop, from the number of samples below each part of the clock.
    local lost = 0
    for step = 1, constants.steps - 1 do
      lost = lost + busy_below(1 - step / constants.steps) / constants.steps
    end
    return {
      {
        subject = "clock",
        message = "slow",
        data = {
          power = power,
          share = slow / busy,
          drop = options.drop,
          most = mega(clock.most / mhz),
          least = mega(clock.least / mhz),
          lost = lost / busy,
        },
        recoverable_ns = lost * trace:total_ns(),
        at_most = "warning",
        confidence = at_limit and "high" or "medium",
        metrics = watts {
          {
            name = "busy samples with a low clock",
            value = slow / busy,
            unit = "fraction",
            threshold = options.share,
          },
        },
        seen = seen,
      },
    }
  end,
}
