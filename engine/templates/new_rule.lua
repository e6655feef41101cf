return {
  id = "{{id}}",
  category = "{{category}}",
  title = "Copies from the host keep the GPU waiting", -- one line of the catalogue
  since = "0.1",
  needs = { "copies" },                             -- without these in the report the rule is not checked
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Share of the step from which such copies count. Say where the number comes from." },
  },
  messages = {
    main = "{count:# copy from the host takes|# copies from the host take} {time:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {                                     -- the finding's title: what is wrong in this recording
    main = "The GPU waits for {count:# copy|# copies} from the host {a_step}",
  },
  doc = {
    what = "Adds up the copies from the host while no kernel runs.",
    why = "The GPU computes nothing meanwhile.",
    fix = "Say which switch to set, and to what.",
    wrong = "Say when an engineer would wave this away.",
  },
  advice = {                                        -- the first fix first; `when` and `unless` say what must be seen
    "Say what to do first{.}: in a few words, then how, with code between `backticks`.",
  },
  evaluate = function(trace, options)
    local copies = trace:ops { direction = "h2d" }
    local time = copies:exposed_ns(trace:ops { kind = { "kernel", "graph" } })
    local share = time / trace:total_ns()
    if time == 0 or share < options.share then return {} end  -- clean
    return { {
      subject = "copies from the host",             -- no times, no counts: it identifies the finding
      message = "main",
      data = { count = copies:count() // trace:fact "steps.count", time = time / trace:fact "steps.count", share = share },
      recoverable_ns = time,                        -- over all steps; it decides the severity
      confidence = "medium",
      metrics = { { name = "exposed copies", value = share, unit = "fraction", threshold = options.share } },
      evidence = copies:evidence { most = 3 },
    } }
  end,
}
