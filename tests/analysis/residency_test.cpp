#include "analysis/residency.hpp"

#include <doctest/doctest.h>

#include "support/support.hpp"

using namespace gh;

namespace {

SmLimits sm_of(int major, int minor) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  return Classes().sm_limits(device).value();
}

Residency held(const LaunchShape& launch, const SmLimits& sm) {
  return residency_of(launch, sm).value();
}

}  // namespace

TEST_CASE("residency: the resource that is used up first limits the blocks of an SM") {
  const SmLimits hopper = sm_of(9, 0);
  CHECK(held({1000, 256, 32, 0}, hopper).blocks == 8);
  CHECK(held({1000, 256, 32, 0}, hopper).occupancy == 1.0);
  CHECK(std::string(held({1000, 256, 32, 0}, hopper).limit) == "threads");
  CHECK(held({1000, 32, 16, 0}, hopper).blocks == 32);
  CHECK(held({1000, 32, 16, 0}, hopper).occupancy == 0.5);
  CHECK(std::string(held({1000, 32, 16, 0}, hopper).limit) == "blocks");
  // 255 registers become 256 of 32 lanes: two warps a scheduler.
  CHECK(held({1000, 256, 255, 0}, hopper).blocks == 1);
  CHECK(std::string(held({1000, 256, 255, 0}, hopper).limit) == "registers");
  // 100 KiB plus the driver's own share: two of them in 228 KiB.
  CHECK(held({1000, 256, 32, 102400}, hopper).blocks == 2);
  CHECK(std::string(held({1000, 256, 32, 102400}, hopper).limit) == "shared memory");
  CHECK(held({1000, 16, 16, 0}, sm_of(8, 6)).blocks == 16);
}

TEST_CASE("residency: missing or impossible input gives no answer") {
  const SmLimits hopper = sm_of(9, 0);
  CHECK_FALSE(residency_of({1000, 256, 0, 0}, hopper));     // registers are missing
  CHECK_FALSE(residency_of({1000, 1024, 255, 0}, hopper));  // could not have been launched
  Device unknown;
  unknown.compute_major = 3;
  CHECK_FALSE(Classes().sm_limits(unknown));
}

TEST_CASE("residency: a grid's lanes are those of its blocks, at most one SM's per block") {
  CHECK(lanes_of({132, 1024, 32, 0}) == 132 * 128);
  CHECK(lanes_of({132, 32, 32, 0}) == 132 * 32);
  CHECK(lanes_of({1, 1, 32, 0}) == 1);
}

TEST_CASE("library kernels are not the program's own") {
  const Classes classes;
  for (const char* library :
       {"void at::native::vectorized_elementwise_kernel<4, float>(int)",
        "nvjet_sm90_tst_64x8_64x16", "void cub::DeviceReduceKernel<int>(int)",
        "ampere_sgemm_128x64_nn", "triton_poi_fused_add_0",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void regular_fft<1024u>(kernel_arguments_t<unsigned int>)", "loop_add_fusion",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_kernel"}) {
    CAPTURE(library);
    CHECK(classes.is_library_kernel(library));
  }
  for (const char* own : {"Fan2(float *, float *, int)", "void solver::relax<float>(float *, int)",
                          "main_53_gpu", "nvkernel_solve_F1L210_2", "matmul(float *, float *)",
                          "add_arrays_(CuDeviceArray<Int64, 3, 1>)", "<unnamed>::step(float *)"}) {
    CAPTURE(own);
    CHECK_FALSE(classes.is_library_kernel(own));
  }
}

TEST_CASE("recorded kernels have registers and shared memory") {
  const Analysis a = analysed(recorded("good"));
  std::size_t with_registers = 0, with_shared = 0, kernels = 0;
  for (Row op = 0; op < a.trace.ops.size(); ++op) {
    if (a.trace.ops.kind[op] != OpKind::kernel) continue;
    ++kernels;
    with_registers += a.trace.ops.registers_of(op) > 0;
    with_shared += a.trace.ops.shared_bytes_of(op) > 0;
  }
  CHECK(with_registers == kernels);
  CHECK(with_shared > 0);
  CHECK(with_shared < kernels);
}
