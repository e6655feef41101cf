// What kind of program a report is from, by the names in it.
#include "analysis/program_kind.hpp"

#include <fmt/format.h>

#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

// A program that launches each kernel once, in a process of that name.
ProgramKind launching(const std::vector<std::string>& kernels,
                      const std::string& process = "python3",
                      const std::vector<std::string>& ranges = {}) {
  std::string rows, range_rows;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    rows += fmt::format("{{ {}, {}, kernel = [==[{}]==] }},", 20 * i + 20, 20 * i + 30, kernels[i]);
  for (const std::string& r : ranges) range_rows += fmt::format("{{ 0, 9, [==[{}]==] }},", r);
  Trace trace = trace_from_text(
      fmt::format("return {{ ops = {{ {} }}, ranges = {{ {} }} }}", rows, range_rows));
  trace.processes.front().name = process;
  return analysed(std::move(trace)).program;
}

const char* const elementwise = "void at::native::vectorized_elementwise_kernel<4, x>(int, T2, T3)";
const char* const product = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_cublas";

std::string framework(const ProgramKind& p) { return p.framework ? p.framework->key : ""; }
std::string task(const ProgramKind& p) { return p.task ? p.task->key : ""; }

}  // namespace

TEST_CASE("kind: a framework is recognized by the kernels that it launches") {
  const std::vector<std::pair<std::string, std::string>> known{
      {elementwise, "pytorch"},
      {"loop_add_fusion", "jax"},
      {"input_reduce_fusion_3", "jax"},
      {"cupy_add__float32_float32_float32", "cupy"},
      {"__main__::relax[abi:v2,cw51cXTLSUwv1sDUaKthqa](Array<float, 1>)", "numba"},
      {"add_arrays_(CuDeviceArray<Int64, (int)3, (int)1>)", "julia"},
      {"nvkernel_solve_F1L204_2", "openmp"},
      {"__omp_offloading_fd00_1234_main_l20", "openmp"},
      {"kmeans_235_gpu", "openacc"},
      {"main_53_gpu__red", "openacc"},
      {"__pgi_uacc_cuda_fill_42_gpu", "directives"},
      {"void Kokkos::Impl::cuda_parallel_launch_local_memory<F>(F)", "kokkos"},
      {"void tensorflow::functor::SwapDimension1And2InTensor3<float>(int)", "tensorflow"},
      {"generatedNativePointwise", "tensorrt"},
      {"__myl_Fc_0x1234", "tensorrt"},
      {"void mul_mat_vec_q<(ggml_type)2, 1>(void const*, void const*)", "ggml"},
  };
  for (const auto& [kernel, key] : known) {
    INFO(kernel);
    CHECK(framework(launching({kernel})) == key);
  }
}

TEST_CASE("kind: the framework that launches most wins, and a special case over a broader kind") {
  CHECK(framework(launching({elementwise, "cupy_add", "cupy_copy"})) == "cupy");
  CHECK(framework(launching({elementwise, elementwise, "cupy_copy"})) == "pytorch");
  const std::string fill = "__pgi_uacc_cuda_fill_44_gpu";
  CHECK(framework(launching({fill, fill, "nvkernel_matmult_F1L115_7"})) == "openmp");
}

TEST_CASE("kind: a compiled program is CUDA C++, and one run by an interpreter is unknown") {
  const std::string own = "saxpy(double *, double *, double, int)";
  const ProgramKind p = launching({own}, "solver");
  REQUIRE(p.framework);
  CHECK(p.framework->name == "CUDA C++");
  CHECK(contains(p.framework->evidence, "saxpy"));
  CHECK(p.kinds == std::vector<std::string>{"nsys", "cuda"});
  CHECK(framework(launching({own}, "python3.11")) == "");
  CHECK(framework(launching({"nvjet_tst_gemm"}, "solver")) == "");
  CHECK(launching({own}, "python3.11").is("python"));
}

TEST_CASE("kind: only a program that computes gradients is training") {
  CHECK(task(launching({elementwise, product})) == "inference");
  CHECK(task(launching({elementwise})) == "");  // no sign of a model
  CHECK(task(launching({elementwise, product, "void at::native::softmax_warp_backward<f>(x)"})) ==
        "training");
  CHECK(task(launching({elementwise, product}, "python3", {"Optimizer.step#SGD.step"})) ==
        "training");
  CHECK(task(launching({elementwise, product}, "python3", {"MulBackward0"})) == "training");
  CHECK(task(launching({"sweep(float *)"}, "solver", {"backward"})) == "");
  CHECK(task(launching({"void backward_substitution(float *)"}, "solver")) == "");
  CHECK(task(launching({"layernorm_backward_kernel(float *)"}, "train_gpt2")) == "training");
}

TEST_CASE("kind: runners are recognized by their ranges and processes, with what they imply") {
  const ProgramKind trainer =
      launching({elementwise, product}, "python3",
                {"[Strategy]DDPStrategy.training_step", "DistributedDataParallel.forward"});
  REQUIRE(trainer.runners.size() == 2);
  CHECK(trainer.described() == "PyTorch, Lightning, DDP, training");
  CHECK(trainer.kinds == std::vector<std::string>{"nsys", "lightning", "ddp", "training", "pytorch",
                                                  "python", "cuda"});
  const ProgramKind server = launching({product}, "sglang::scheduler");
  CHECK(server.described() == "PyTorch, SGLang, token inference");
  CHECK(server.is("inference"));
  CHECK(launching({elementwise}, "python3", {"Optimizer.step#SGD.step"}).optimizer == "SGD");
}

TEST_CASE("kind: an agent acting in an environment is reinforcement learning, a kind of training") {
  for (const char* range : {"rollout", "env.step", "ppo_update", "collect_rollouts",
                            "stable_baselines3/ppo/ppo.py(180): train", "verl/workers/actor.py"}) {
    INFO(range);
    const ProgramKind p = launching({elementwise, product}, "python3", {range});
    CHECK(task(p) == "rl");
    CHECK(p.is("training"));
  }
  // Words that other programs use too.
  for (const char* range : {"environment setup", "stepper", "policy", "generate_batch"}) {
    INFO(range);
    CHECK(task(launching({elementwise, product}, "python3", {range})) == "inference");
  }
}

TEST_CASE("kind: physics and molecular codes are solvers") {
  for (const char* kernel :
       {"void amrex::launch_global<128, f>(f)", "hypre_CSRMatvec", "pme_spread_kernel",
        "void LAMMPS_NS::PairLJCutKokkos<Kokkos::Cuda>::operator()(int) const"}) {
    INFO(kernel);
    CHECK(task(launching({kernel}, "simulate")) == "solver");
  }
}

TEST_CASE("kind: all recordings but two are PyTorch, nearly all train, and both have evidence") {
  for (const std::string& name : few_with_sanitizers(recording_names())) {
    INFO(name);
    const ProgramKind p = analysed(recorded(name)).program;
    if (name == "layers-cuda" || name == "layers-jax") {
      CHECK(framework(p) == (name == "layers-cuda" ? "cuda" : "jax"));
      continue;
    }
    CHECK(framework(p) == "pytorch");
    const bool infers = name == "two-experts" || name == "two-tensor-parallel";
    CHECK(task(p) == (infers ? "inference" : "training"));
    REQUIRE(p.task);
    CHECK_FALSE(p.task->evidence.empty());
    CHECK(p.kinds.front() == "nsys");
  }
}
