-- Tokens, forty if not said otherwise, of 200 us: a product, and a concatenation that takes first
-- `first` us and `more` us longer with each token; after every
-- `length` tokens a new sequence begins.
local cat = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<...>"
local function tokens(first, more, length, extra, count)
  local ops, ranges = {}, {}
  for i = 0, (count or 40) - 1 do
    local at = 200 * i
    ops[#ops + 1] = { at + 10, at + 60, kernel = "gemv_kernel", launched = { at + 2, at + 5 } }
    ops[#ops + 1] = {
      at + 60,
      at + 60 + first + more * (i % (length or 1000)),
      kernel = cat,
      launched = { at + 6, at + 9 },
    }
    ranges[#ranges + 1] = { at + 1, at + 195, "token " .. (i + 1) }
  end
  local trace = { ops = ops, ranges = ranges }
  for key, value in pairs(extra or {}) do
    trace[key] = value
  end
  return trace
end

-- Concatenations of `first` us in the first half of forty tokens of 200 us, of `second` us in the
-- other.
local function twice(first, second)
  local ops = {}
  for i = 0, 39 do
    ops[#ops + 1] = {
      200 * i + 10,
      200 * i + 60,
      kernel = "gemv_kernel",
      launched = { 200 * i + 2, 200 * i + 5 },
    }
    ops[#ops + 1] = {
      200 * i + 60,
      200 * i + 60 + (i < 20 and first or second),
      kernel = cat,
      launched = { 200 * i + 6, 200 * i + 9 },
    }
  end
  return ops
end

-- Ten tokens of 1 ms: products of `products` us, `count` concatenations of 200 us each, `more` on
-- the stream, and attention.
local function kept(products, count, more)
  local ops, at =
    {
      {
        10,
        10 + products,
        kernel = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
        launched = { 2, 4 },
      },
    }, 10 + products
  for i = 1, count do
    ops[#ops + 1] = { at, at + 200, kernel = cat, launched = { 4 + i, 5 + i } }
    at = at + 200
  end
  for _, op in ipairs(more or {}) do
    op[1], op[2], op.launched = at, at + 5, { 10, 11 }
    ops[#ops + 1] = op
    at = at + 5
  end
  ops[#ops + 1] =
    { at, at + 50, kernel = "void pytorch_flash::flash_fwd_kernel<...>", launched = { 12, 13 } }
  return {
    repeats = { times = 10, every = 1000 },
    ranges = { { 0, 990, "step {n}" } },
    ops = ops,
  }
end

-- Ten tokens of 1 ms: a product of `product` us, then for each of two layers copies of keys and
-- values, `copies` of 100 us, and attention: a product, a softmax and a product.
local function repeated(product, copies, more)
  more = more or {}
  local copy =
    "void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<at::nativ\z
      e::direct_copy_kernel_cuda(at::TensorIteratorBase &)>>(int)"
  local gemv = "void internal::gemvx::kernel<int, int, __nv_bfloat16>(int)"
  local ops, at = {}, 10
  local function op(name, us)
    ops[#ops + 1] = { at, at + us, kernel = name, launched = { at - 8, at - 6 } }
    at = at + us
  end
  op("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", product)
  for _ = 1, 2 do
    for _ = 1, copies do
      op(copy, 100)
    end
    for _, name in ipairs(more) do
      op(name, 5)
    end
    op(gemv, 30)
    op(
      "void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<float, float>(float *)",
      5
    )
    if more.late then op(copy, 100) end
    op(gemv, 30)
  end
  return {
    repeats = { times = 10, every = 1000 },
    ranges = { { 0, 990, "step {n}" } },
    ops = ops,
  }
end

return {
  {
    name = "fires on keys and values that are repeated for attention",
    trace = repeated(100, 2),
    expect = {
      {
        severity = "error",
        subject = "kept keys and values",
        message = "4 copies a step right before attention take 400.0 us *",
        advice = "Let attention read the cache as it is*",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "also where each is copied right before its product",
    trace = repeated(100, 1, { late = true }),
    expect = { { severity = "error", message = "4 copies a step right before attention *" } },
  },
  {
    name = "is silent where the products before may have computed them",
    trace = repeated(450, 2),
    expect = "clean",
  },
  { name = "is silent about a single copy", trace = repeated(50, 1), expect = "clean" },
  {
    name = "is silent about copies that another kernel follows before attention",
    trace = repeated(50, 2, { "void rotary_kernel<float>(float *)" }),
    expect = "clean",
  },
  {
    name = "fires on what is kept and joined before attention, though it grows by little",
    trace = kept(100, 2),
    expect = {
      {
        severity = "error",
        subject = "growing cache",
        message = "Concatenations right before attention, 2 a step, take 400.0 us of each 1.00 ms \z
          step (40 %), and all other work except attention takes 100.0 us: *",
        worth = { 0.38, 0.41 },
      },
    },
  },
  {
    name = "is silent where products can have computed what is joined",
    trace = kept(420, 2),
    expect = "clean",
  },
  {
    name = "is silent where queries are joined as well",
    trace = kept(100, 3),
    expect = "clean",
  },
  {
    name = "is silent where what is joined is rotated before attention",
    trace = kept(
      100,
      2,
      { { kernel = "void at::native::vectorized_elementwise_kernel<4, ...>" } }
    ),
    expect = "clean",
  },
  {
    name = "is silent where memory is cleared between and one is joined",
    trace = kept(100, 1, { { set = true } }),
    expect = "clean",
  },
  {
    name = "fires where memory is cleared between",
    trace = kept(100, 2, { { set = true } }),
    expect = { { message = "Concatenations right before attention, 2 a step*" } },
  },

  {
    name = "fires on concatenations that take longer and longer",
    trace = tokens(20, 2),
    expect = {
      {
        severity = "error",
        subject = "growing cache",
        message = "1 concatenation a * takes longer and longer, 2* us at first and 9* us in the \z
          end*",
        worth = { 0.2, 0.4 },
      },
    },
  },
  {
    name = "fires where sequences begin again",
    trace = tokens(20, 2, 48, nil, 160),
    expect = { { severity = "error" } },
  },

  {
    name = "is silent about concatenations that take equally long",
    trace = tokens(40, 0),
    expect = "clean",
  },
  {
    name = "is silent where their length changes once",
    trace = tokens(30, 2, nil, { ops = twice(30, 33) }),
    expect = "clean",
  },
  { name = "is silent about short ones", trace = tokens(1, 0.05), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = tokens(20, 2),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "is silent without any",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    expect = "clean",
  },

  {
    name = "needs kernels",
    trace = tokens(20, 2, 40, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good: rotary embeddings are joined", fixture = "good", expect = "clean" },
  { name = "cat at each step alike", fixture = "launchbound", expect = "clean" },
}
