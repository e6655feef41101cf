-- Six ranges of 1 ms make five steps: a step lasts from the end of one to the end of the next. Times are in microseconds.
local function steps(ops)
  return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, "step {n}" } }, ops = ops }
end

return {
  { name = "fires when a copy keeps the GPU waiting", trace = steps { { 20, 320, copy = "h2d", bytes = 1048576 }, { 320, 980, kernel = "gemm" } },
    expect = { { severity = "error", title = "The GPU waits for 1 copy*", message = "1 copy from the host takes 300.0 us*", worth = { 0.29, 0.31 } } } },
  { name = "is silent when a kernel hides the copy", trace = steps { { 20, 980, kernel = "gemm" }, { 100, 400, copy = "h2d", bytes = 1048576, stream = 8 } },
    expect = "clean" },
  { name = "needs copies", trace = { ops = { { 20, 980, kernel = "gemm" } }, not_collected = { "copies" } }, expect = "not checked" },
}
