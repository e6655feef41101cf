// Code and links in the sentences of a page.
#include "report/prose.hpp"

#include <set>

#include "support/program.hpp"

using namespace support;

namespace {

// The code in a sentence; what is worth copying has a "+" in front.
std::vector<std::string> code_in(const std::string& text) {
  std::vector<std::string> code;
  std::string whole;
  for (const gh::ProsePart& p : gh::prose_parts(text)) {
    whole += p.text;
    if (p.is_code) code.push_back((p.worth_copying ? "+" : "") + std::string(p.text));
  }
  std::string without_ticks = text;
  std::erase(without_ticks, '`');
  CHECK(whole == without_ticks);  // nothing is lost
  return code;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("prose: calls, names with dots or underscores, and assignments are code") {
  CHECK(code_in("Load in worker processes: DataLoader(num_workers=5) covers it; add "
                "persistent_workers=True, prefetch_factor=4 and pin_memory=True with .to(device, "
                "non_blocking=True).") ==
        List{"+DataLoader(num_workers=5)", "+persistent_workers=True", "+prefetch_factor=4",
             "+pin_memory=True", "+.to(device, non_blocking=True)"});
  CHECK(code_in("torch.compile fuses them: torch.compile(model), torch.autocast(\"cuda\", "
                "dtype=torch.bfloat16), gc.collect().") ==
        List{"torch.compile", "+torch.compile(model)",
             "+torch.autocast(\"cuda\", dtype=torch.bfloat16)", "gc.collect()"});
  CHECK(code_in("Set attn_implementation=\"sdpa\" (or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:"
                "True).") ==
        List{"+attn_implementation=\"sdpa\"", "+PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"});
  CHECK(code_in("XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUSTOM_CALL, then") ==
        List{"+XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUSTOM_CALL"});
  CHECK(
      code_in("x.at[a:b].set(...), weights[expert_of_token] and CUDA.math_mode!(CUDA.FAST_MATH)") ==
      List{"+x.at[a:b].set(...)", "+weights[expert_of_token]", "+CUDA.math_mode!(CUDA.FAST_MATH)"});
  CHECK(code_in("torch._foreach_* and Kokkos::deep_copy, BuilderFlag::kBF16") ==
        List{"torch._foreach_*", "Kokkos::deep_copy", "BuilderFlag::kBF16"});
  CHECK(code_in("solver::Fan2<float>(float *, int) takes 3 ms") ==
        List{"+solver::Fan2<float>(float *, int)"});
}

TEST_CASE("prose: commands and options are code with what they are given") {
  CHECK(code_in(
            "Record with: nsys profile --trace=cuda,nvtx,osrt --capture-range=cudaProfilerApi.") ==
        List{"+nsys profile --trace=cuda,nvtx,osrt --capture-range=cudaProfilerApi"});
  CHECK(code_in("Bind it: numactl --cpunodebind=N --membind=N python train.py.") ==
        List{"+numactl --cpunodebind=N --membind=N python train.py"});
  CHECK(code_in("Raise --num-workers 4, or compile with -gpu=managed; see nvidia-smi topo -m.") ==
        List{"+--num-workers 4", "+-gpu=managed", "+nvidia-smi topo -m"});
  CHECK(code_in("Use --bf16 for all.") == List{"--bf16"});
  CHECK(code_in("Ask ncu --kernel-name tone_map --launch-count 1 --section SpeedOfLight why.") ==
        List{"+ncu --kernel-name tone_map --launch-count 1 --section SpeedOfLight"});
  CHECK(code_in("Run `git bisect run ./check` or `make`.") ==
        List{"+git bisect run ./check", "make"});
}

TEST_CASE("prose: what looks like code but is none stays a sentence") {
  for (const char* text :
       {"The kernel(s) take 2.5 ms (71 %), e.g. on an H100, i.e. on Hopper.",
        "cuBLAS, cuDNN, PyTorch, vLLM and FlashAttention are libraries - not functions.",
        "A 1-to-4 split of 1.5 GiB at 3.4 TB/s; see gh-advise.toml and schemas/gpus.toml.",
        "Python (447) runs it; a pre-training job -- or two.", "f(unclosed"}) {
    INFO(std::string(text));
    CHECK(code_in(text).empty());
  }
  CHECK(gh::prose_html("an unclosed `tick") == "an unclosed `tick");
}

TEST_CASE("prose: CUDA functions and listed APIs are code, and names lead to documentation") {
  CHECK(code_in("cudaMemcpyAsync, ncclGroupStart, nvtxRangePush, cuModuleLoad and DataLoader") ==
        List{"cudaMemcpyAsync", "ncclGroupStart", "nvtxRangePush", "cuModuleLoad", "DataLoader"});
  const std::string html = gh::prose_html(
      "Use CUDA graphs: torch.compile(model); NCCL_DEBUG=INFO <b>tells</b> \"more\"");
  CHECK(contains(html, ">CUDA graphs</a>"));
  CHECK(contains(html,
                 "<code class=to-copy><a href=\"https://docs.pytorch.org/docs/stable/generated/"
                 "torch.compile.html\" target=_blank rel=\"noopener "
                 "noreferrer\">torch.compile</a>(model)</code>"));
  CHECK(contains(html,
                 "docs/env.html\" target=_blank rel=\"noopener noreferrer\">NCCL_DEBUG</a>=INFO"));
  CHECK(contains(html, "&lt;b&gt;tells&lt;/b&gt; &quot;more&quot;"));
  // Once a sentence, and nothing to copy where nobody would.
  const std::string twice = gh::prose_html("torch.compile, then torch.compile(model)", false);
  CHECK(twice.find("<a ") == twice.rfind("<a "));
  CHECK(!contains(twice, "class=to-copy"));
}

TEST_CASE("prose: links lead by https to pages of the projects themselves, each listed once") {
  static const std::set<std::string> hosts{
      "docs.pytorch.org", "docs.nvidia.com", "nvidia.github.io",        "docs.jax.dev",
      "huggingface.co",   "docs.cupy.dev",   "www.deepspeed.ai",        "lightning.ai",
      "docs.vllm.ai",     "docs.sglang.ai",  "www.tensorflow.org",      "cuda.juliagpu.org",
      "docs.python.org",  "github.com",      "deepspeed.readthedocs.io"};
  std::set<std::string> seen;
  const std::vector<std::string> addresses = gh::documentation_addresses();
  CHECK(addresses.size() > 80);
  for (const std::string& address : addresses) {
    INFO(address);
    REQUIRE(address.starts_with("https://"));
    CHECK(hosts.contains(address.substr(8, address.find('/', 8) - 8)));
    CHECK(seen.insert(address).second);
    CHECK(address.find_first_of("\"'<> ") == address.npos);
  }
}
