-- Six steps of 10 ms with ten samples each, of which the first `slow` are at `clock`, the rest at
-- 1980.
local function steps(slow, clock, more)
  more = more or {}
  local samples = {}
  for i = 0, 9 do
    local low = i < slow
    if not more.no_clock then
      samples[#samples + 1] = {
        i * 1000 + 500,
        "GPC Clock Frequency [MHz]",
        (low and clock or 1980) * (more.unit or 1),
      }
    end
    if more.power then
      samples[#samples + 1] = { i * 1000 + 500, "DCGM_FI_DEV_POWER_USAGE", more.power }
      samples[#samples + 1] = { i * 1000 + 500, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", 700 }
    end
    samples[#samples + 1] =
      { i * 1000 + 500, "SMs Active [Throughput %]", low and more.sms or 95 }
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    samples = samples,
    not_collected = more.not_collected,
    device = more.device,
    ops = { { 20, 10000, kernel = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT" } },
  }
end

return {
  -- Half of the samples at 70 % of the clock.
  {
    name = "warns where the clock falls by a third for half of the time",
    trace = steps(5, 1386),
    expect = {
      {
        severity = "warning",
        subject = "clock",
        confidence = "medium",
        message = "In 50 % of the samples*10 % or more below its own maximum of 1980 MHz; it \z
          falls to 1386 MHz*",
        worth = { 0.12, 0.16 },
      },
    },
  },
  {
    name = "reads a clock in Hz",
    trace = steps(5, 1386, { unit = 1e6 }),
    expect = {
      {
        severity = "warning",
        message = "*maximum of 1980 MHz; it falls to 1386 MHz*",
        worth = { 0.12, 0.16 },
      },
    },
  },
  {
    name = "says that it is the power limit",
    trace = steps(5, 1386, { power = 692 }),
    expect = {
      {
        severity = "warning",
        confidence = "high",
        message = "*It draws 692 of at most 700 W.",
      },
    },
  },
  {
    name = "says that it is not",
    trace = steps(5, 1386, { power = 400 }),
    expect = {
      {
        severity = "warning",
        confidence = "medium",
        message = "*It draws 400 of at most 700 W.",
      },
    },
  },
  {
    name = "takes the team's own share of the limit",
    trace = steps(5, 1386, { power = 400 }),
    options = { at_limit = 0.5 },
    expect = { { severity = "warning", confidence = "high" } },
  },
  {
    name = "does not blame power where the clock holds",
    trace = steps(0, 0, { power = 699 }),
    expect = "clean",
  },
  {
    name = "is never an error: products run at less",
    trace = steps(9, 500),
    expect = { { severity = "warning" } },
  },
  {
    name = "notes little",
    trace = steps(3, 1700),
    expect = { { severity = "note", worth = { 0.02, 0.05 } } },
  },
  {
    name = "fires by the team's own drop",
    trace = steps(5, 1900),
    options = { drop = 0.02 },
    expect = { { severity = "note" } },
  },

  {
    name = "notes a clock that is held at 600 MHz",
    trace = steps(10, 600),
    expect = {
      {
        severity = "note",
        subject = "clock",
        confidence = "medium",
        message = "*never rises above 600 MHz, 70 % below this GPU's 1980 MHz*",
        worth = { 0.6, 0.71 },
      },
    },
  },
  {
    name = "and one in Hz",
    trace = steps(10, 600, { unit = 1e6 }),
    expect = { { severity = "note", message = "*above 600 MHz*" } },
  },
  { name = "allows a tenth under", trace = steps(10, 1755), expect = "clean" },
  {
    name = "allows the team's own",
    trace = steps(10, 600),
    options = { far = 0.8 },
    expect = "clean",
  },
  {
    name = "does not say where the GPU's own clock is unknown",
    trace = steps(10, 600, { device = { name = "Some GPU", clock_mhz = 0 } }),
    expect = "clean",
  },
  {
    name = "says nothing of an idle GPU's clock",
    trace = steps(10, 600, { sms = 5 }),
    expect = "clean",
  },

  { name = "is silent about a steady clock", trace = steps(0, 0), expect = "clean" },
  { name = "is silent about 5 % under", trace = steps(5, 1881), expect = "clean" },
  { name = "is silent about a single dip", trace = steps(1, 1000), expect = "clean" },
  {
    name = "is silent where the GPU is idle meanwhile",
    trace = steps(5, 1000, { sms = 5 }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own share",
    trace = steps(5, 1386),
    options = { share = 0.6 },
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps(0, 0),
    options = { share = 0, sms_active = 100 },
    expect = "clean",
  },

  {
    name = "needs the clock",
    trace = steps(5, 1386, { no_clock = true }),
    expect = "not checked",
  },
  {
    name = "needs samples",
    trace = steps(5, 1386, { not_collected = { "samples" } }),
    expect = "not checked",
  },

  { name = "gpumetrics: at its clock", fixture = "gpumetrics", expect = "clean" },
  { name = "good: not sampled", fixture = "good", expect = "not checked" },
  { name = "eager: not sampled", fixture = "eager", expect = "not checked" },
  { name = "compile-graphs: not sampled", fixture = "compile-graphs", expect = "not checked" },
  { name = "um: not sampled", fixture = "um", expect = "not checked" },
}
