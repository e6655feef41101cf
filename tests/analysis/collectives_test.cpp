// What collectives do, from the operator around their launch, or else from their kernel.
#include "analysis/collectives.hpp"

#include <doctest/doctest.h>

#include "rules/literal_trace.hpp"

using namespace gh;

namespace {

// One collective with such a kernel, launched within such ranges; `more` is added to the trace.
CollectiveKind kind_of(const std::string& kernel, const std::string& ranges = "",
                       std::int64_t* bytes = nullptr) {
  const Analysis a(
      trace_from_text("return { ops = { { 0, 10, kernel = 'gemm' }, { 20, 40, kernel "
                      "= '" +
                      kernel + "', launched = { 5, 8 } } }, ranges = { " + ranges + " } }"),
      Classes(), {});
  const CollectiveKinds kinds(a);
  CHECK(kinds.kind(0) == CollectiveKind::none);
  if (bytes) *bytes = kinds.bytes(1);
  return kinds.kind(1);
}

}  // namespace

TEST_CASE("collectives: a kernel's name shows what it does") {
  CHECK(kind_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL") == CollectiveKind::all_reduce);
  CHECK(kind_of("ncclDevKernel_AllGather_RING_LL") == CollectiveKind::all_gather);
  CHECK(kind_of("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL") == CollectiveKind::reduce_scatter);
  CHECK(kind_of("ncclKernel_Broadcast_RING_LL_Sum_int8_t") == CollectiveKind::broadcast);
  CHECK(kind_of("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)") == CollectiveKind::message);
  CHECK(kind_of("void vendor::ep::internode::dispatch<false, 8>(int4*)") ==
        CollectiveKind::all_to_all);
  CHECK(kind_of("ncclDevKernel_Generic") == CollectiveKind::other);
}

TEST_CASE("collectives: the operator around the launch takes precedence") {
  const std::string kernel = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t";
  CHECK(kind_of(kernel, "{ 0, 9, 'c10d::alltoall_base_' }") == CollectiveKind::all_to_all);
  CHECK(kind_of(kernel, "{ 0, 9, 'nccl:all_reduce' }") == CollectiveKind::all_reduce);
  CHECK(kind_of(kernel, "{ 0, 9, 'nccl:send 0->1' }") == CollectiveKind::message);
  // One that had ended, and one that is no operator's.
  CHECK(kind_of(kernel, "{ 0, 4, 'nccl:all_reduce' }") == CollectiveKind::message);
  CHECK(kind_of(kernel, "{ 0, 9, 'my all_reduce' }") == CollectiveKind::message);
  // Two each way in one kernel.
  CHECK(kind_of(kernel,
                "{ 0, 1, 'ncclSend' }, { 1, 2, 'ncclSend' }, { 2, 3, 'ncclRecv' }, { 3, "
                "4, 'ncclRecv' }") == CollectiveKind::all_to_all);
  CHECK(kind_of(kernel, "{ 0, 1, 'ncclSend' }, { 2, 3, 'ncclRecv' }") == CollectiveKind::message);
}

TEST_CASE("collectives: the range around the launch gives the size") {
  std::int64_t bytes = 0;
  kind_of("ncclDevKernel_AllGather_RING_LL", "{ 4, 9, 'ncclAllGather', bytes = 4096 }", &bytes);
  CHECK(bytes == 4096);
  kind_of("ncclDevKernel_AllGather_RING_LL", "{ 1, 4, 'ncclAllGather', bytes = 4096 }", &bytes);
  CHECK(bytes == 0);
}
