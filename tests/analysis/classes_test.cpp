// What names mean: kernels, calls, ranges and GPUs of the tables in schemas/, and a team's
// additions.
#include "analysis/classes.hpp"

#include <doctest/doctest.h>
#include <toml++/toml.h>

#include <fstream>

#include "analysis/analysis.hpp"
#include "rules/literal_trace.hpp"

using gh::CallClass;
using gh::Classes;

namespace {

const Classes& own() {
  static const Classes classes;
  return classes;
}

std::string kernel_class(const Classes& classes, std::string_view name) {
  return classes.name_of(classes.kernel_class(name));
}

gh::Device device(const char* name, int sm_count, int major, int minor, double clock_hz = 1.98e9) {
  gh::Device d;
  d.name = name;
  d.sm_count = sm_count;
  d.compute_major = major;
  d.compute_minor = minor;
  d.clock_hz = clock_hz;
  return d;
}

}  // namespace

TEST_CASE("classes: every kernel name has the class that kernel_names.tsv gives it") {
  std::ifstream file(GH_SOURCE_DIR "/tests/analysis/kernel_names.tsv");
  REQUIRE(file);
  int names = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (line.empty() || line[0] == '#') continue;
    REQUIRE_MESSAGE(tab != line.npos, line);
    CAPTURE(line);
    CHECK(kernel_class(own(), std::string_view(line).substr(tab + 1)) == line.substr(0, tab));
    ++names;
  }
  CHECK(names > 200);
  CHECK(kernel_class(own(), "") == "other");
  CHECK(own().kernel_classes().back() == "other");
}

TEST_CASE("classes: a call's class says what it does to its thread") {
  const std::vector<std::pair<CallClass, std::vector<const char*>>> table{
      {CallClass::sync,
       {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
        "cuCtxSynchronize", "cuStreamSynchronize"}},
      {CallClass::allocation,
       {"cudaMalloc", "cudaFree", "cudaMallocManaged", "cudaHostAlloc", "cudaFreeHost",
        "cudaMallocAsync", "cudaFreeAsync", "cuMemAlloc", "cuMemCreate", "cuMemMap",
        "cudaMemPoolTrimTo"}},
      {CallClass::copy_sync,
       {"cudaMemcpy", "cudaMemcpy2D", "cuMemcpyHtoD", "cuMemcpyDtoH", "cudaMemset", "cuMemsetD8"}},
      {CallClass::copy,
       {"cudaMemcpyAsync", "cuMemcpyHtoDAsync", "cudaMemsetAsync", "cuMemsetD32Async",
        "cudaMemPrefetchAsync", "cudaMemcpyPeerAsync"}},
      {CallClass::launch,
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx",
        "cudaLaunchCooperativeKernel"}},
      {CallClass::graph_launch, {"cudaGraphLaunch", "cuGraphLaunch"}},
      {CallClass::compilation, {"nvrtcCompileProgram", "cuLinkComplete", "cudaGraphInstantiate"}},
      {CallClass::loading, {"cuModuleLoadData", "cuLibraryLoadData", "cuModuleGetFunction"}},
      {CallClass::function,
       {"cudaFuncGetAttributes", "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "cuKernelGetAttribute"}},
      {CallClass::event,
       {"cudaEventRecord", "cudaStreamWaitEvent", "cuEventRecord", "cudaEventQuery"}},
      {CallClass::other, {"cudaGetDevice", "cudaStreamIsCapturing", ""}},
  };
  for (const auto& [expected, names] : table)
    for (const char* name : names) {
      CAPTURE(name);
      CHECK(std::string(name_of(own().call_class(name))) == name_of(expected));
    }
}

TEST_CASE("classes: loader ranges of the frameworks are recognized, similar names are not") {
  for (const char* name : {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                           "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__, seq = 0",
                           "[pl][profile][_TrainingEpochLoop].train_dataloader_next",
                           "[pl][profile][_TrainingEpochLoop]._next",
                           "batch-generator",
                           "batch_generator",
                           "data",
                           "dataloader",
                           "data_loading",
                           "Data Loading",
                           "load_batch",
                           "fetch_batch",
                           "get_batch",
                           "next batch",
                           "fetch next data",
                           "data_iterator",
                           "data wait",
                           "input_pipeline",
                           "read_samples",
                           "loader"}) {
    CAPTURE(name);
    CHECK(own().is_phase(gh::Phase::loader, name));
  }
  for (const char* name : {"batch_to_device", "load batch h2d", "batch_norm",
                           "DistributedDataParallel.forward", "data_parallel", "forward",
                           "aten::embedding", "optimizer.step", "step 12", "database", ""}) {
    CAPTURE(name);
    CHECK_FALSE(own().is_phase(gh::Phase::loader, name));
  }
}

TEST_CASE("classes: step ranges of the frameworks are found from the outside in") {
  using At = Classes::StepPattern::At;
  const auto first = [&](std::string_view name) -> const Classes::StepPattern* {
    const std::vector<std::size_t> called = own().steps_called(name);
    return called.empty() || called.front() == own().steps().size()
               ? nullptr
               : &own().steps()[called.front()];
  };
  for (const char* name :
       {"ProfilerStep#12", "step 3", "Step_3", "iteration 7", "train_step 4", "training step #5",
        "global_step=6", "iter 9", "batch 3", "train_batch 2", "batch_idx 4",
        "training_step, op_id = 12", "[pl][profile]run_training_batch", "train_step", "step",
        "micro_batch"}) {
    CAPTURE(name);
    REQUIRE(first(name));
    CHECK(first(name)->at == At::whole);
  }
  for (const char* name :
       {"Optimizer.step#AdamW.step", "DeepSpeedEngine.step", "optimizer_step", "optimizer"}) {
    CAPTURE(name);
    if (std::string_view(name) == "optimizer")
      CHECK_FALSE(first(name));
    else {
      REQUIRE(first(name));
      CHECK(first(name)->at == At::end);
    }
  }
  REQUIRE(first("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"));
  CHECK(first("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")->at == At::start);
  for (const char* name : {"forward", "backward", "aten::mm", "steps", "stepper 3"}) {
    CAPTURE(name);
    CHECK_FALSE(first(name));
  }
  for (const char* name : {"warmup 2", "warm-up step 3", "epoch 1", "Epoch: 2", "layer 3",
                           "layers 12", "block 4", "eval step 2", "validation 3"}) {
    CAPTURE(name);
    CHECK(own().is_no_step(name));
  }
  CHECK_FALSE(own().is_no_step("step 12"));
}

TEST_CASE("classes: ranges that enclose a pass of training are told by their names") {
  using gh::PassRange;
  const auto check = [](PassRange pass, std::initializer_list<const char*> ranges) {
    for (const char* range : ranges) CHECK_MESSAGE(own().pass_of_range(range) == pass, range);
  };
  check(PassRange::forward, {"forward", "Forward pass", "fwd", "forward-compute", "model.forward",
                             "model_fwd", "DeepSpeedEngine.forward"});
  check(PassRange::backward,
        {"backward", "bwd_step", "backward-compute", "loss.backward", "DeepSpeedEngine.backward",
         "[pl][profile][Strategy]DDPStrategy.backward"});
  check(PassRange::both, {"forward_backward", "forward-backward-func", "forwardbackward"});
  check(PassRange::none, {"forward hooks", "TransformerLayer.forward", "MmBackward0",
                          "feed forward", "backward_prefetch", "step 3", ""});
}

TEST_CASE("classes: a name that alone marks a step, whatever others there are") {
  for (const char* step : {"step 12", "ProfilerStep#3", "train_iter 7", "iteration=4", "batch 9",
                           "micro_batch 2", "[pl][profile]run_training_batch"})
    CHECK_MESSAGE(own().is_step(step), step);
  for (const char* other : {"warm-up step 3", "epoch 2", "layer 3", "block 3", "validation step 4",
                            "Optimizer.step#AdamW.step", "optimizer step",
                            "enumerate(DataLoader)#_Iter.__next__", "encoder"})
    CHECK_MESSAGE(!own().is_step(other), other);
}

TEST_CASE("classes: some ranges of frameworks are operators, and one operator is a region") {
  for (const char* op : {"ncclAllReduce", "record_param_comms", "triton_red_fused_add_mul_3",
                         "## Call CompiledFxGraph fshg0x ##", "PythonSubclass", "detach", "detach_",
                         "CompiledFunction", "CompiledFunctionBackward"})
    CHECK_MESSAGE(own().is_operator_range(op), op);
  for (const char* other : {"detach the graph", "encoder", "triton_kernels", "my nccl phase"})
    CHECK_MESSAGE(!own().is_operator_range(other), other);
  CHECK(own().is_region("Torch-Compiled Region: 0/0"));
  CHECK_FALSE(own().is_region("TorchDynamo Cache Lookup"));
}

TEST_CASE("classes: a module's path is taken from its range, without what wrappers add") {
  const auto check = [](const char* range, const char* path) {
    CAPTURE(range);
    CHECK(own().module_of_range(range) == path);
  };
  check("model.layers.3.self_attn", "model.layers.3.self_attn");
  check("module.blocks.0._orig_mod.mlp", "blocks.0.mlp");
  check("_fsdp_wrapped_module._checkpoint_wrapped_module.head.0", "head.0");
  check("module_list.0", "module_list.0");  // a part only, not a part of one
  check("nn.Module: Linear_11", "Linear_11");
  check("[pl][module]torch.nn.modules.linear.Linear: net.blocks.0", "net.blocks.0");
  check("FSDP::post_backward_reduce (blocks.3)", "blocks.3");
  check("{'Module': 'model.layers.3', 'TrainableParams': {}}", "model.layers.3");
  for (const char* none :
       {"encoder", "3.14", "model.", ".model", "Model.forward", "a b.c", "train.py(40): step",
        "FSDP::pre_forward", "blocks..3", "x.3a", "torch::autograd::AccumulateGrad", ""})
    check(none, "");
}

TEST_CASE("classes: a team says how its ranges name modules") {
  Classes classes;
  classes.extend(toml::parse("[ranges]\nmodule = ['^run (.*)$', '^nn.Module: (L)inear']"),
                 "gh-advise.toml");
  CHECK(classes.module_of_range("run module.Encoder.0") == "Encoder.0");
  CHECK(classes.module_of_range("nn.Module: Linear_3") == "L");  // before the built-in ones
  CHECK(classes.module_of_range("nn.Module: Norm_3") == "Norm_3");
  CHECK(own().module_of_range("run Encoder.0").empty());
  CHECK_THROWS_WITH_AS(classes.extend(toml::parse("[ranges]\nmodule = ['^run .*$']"), "team.toml"),
                       doctest::Contains("team.toml: '^run .*$' needs one pair of parentheses"),
                       gh::Error);
}

TEST_CASE("classes: a GPU's rates follow from its name") {
  for (const char* sms : {"1e300", "-1e300", "nan", "inf"}) {
    Classes odd;
    odd.extend(toml::parse(std::string("[[gpu]]\nname = 'odd'\nmatch = 'odd'\nfp32_tflops = "
                                       "1.0\nsm_count = ") +
                           sms),
               "odd.toml");
    CHECK(odd.peaks(device("odd", 132, 9, 0)).known);
  }
  const gh::GpuPeaks h200 = own().peaks(device("NVIDIA H200", 132, 9, 0));
  CHECK(h200.known);
  CHECK(h200.has_tensor_cores);
  CHECK_FALSE(h200.coherent);
  CHECK(h200.half == doctest::Approx(989.5e12));
  CHECK(h200.host_link_bytes_per_s == doctest::Approx(55e9));
  CHECK(h200.source == "schemas/gpus.toml: H200");

  const gh::GpuPeaks gh200 = own().peaks(device("NVIDIA GH200 480GB", 132, 9, 0));
  CHECK(gh200.coherent);
  CHECK(gh200.host_link_bytes_per_s == doctest::Approx(400e9));
  CHECK(own().peaks(device("GH200 144G HBM3e", 132, 9, 0)).source ==
        "schemas/gpus.toml: GH200 144GB HBM3e");
  CHECK(own().peaks(device("NVIDIA GB200", 152, 10, 0)).coherent);
  CHECK_FALSE(own().peaks(device("NVIDIA B200", 148, 10, 0)).coherent);
  CHECK(own().peaks(device("NVIDIA H100 PCIe", 114, 9, 0)).half <
        own().peaks(device("NVIDIA H100 80GB HBM3", 132, 9, 0)).half);
  CHECK(own().peaks(device("NVIDIA A100-SXM4-80GB", 108, 8, 0)).tf32 == doctest::Approx(156e12));

  const gh::GpuPeaks v100 = own().peaks(device("Tesla V100-SXM2-32GB", 80, 7, 0));
  CHECK(v100.has_tensor_cores);
  CHECK(v100.tf32 == 0);
  const gh::GpuPeaks rtx = own().peaks(device("NVIDIA GeForce RTX 3090", 82, 8, 6));
  CHECK(rtx.tf32 == doctest::Approx(rtx.fp32));
  CHECK_FALSE(own().peaks(device("NVIDIA GeForce GTX 1660", 22, 7, 5)).has_tensor_cores);
}

TEST_CASE("classes: a slice of a GPU has part of its rates") {
  const gh::GpuPeaks whole = own().peaks(device("NVIDIA H100 80GB HBM3", 132, 9, 0)),
                     slice = own().peaks(device("NVIDIA H100 80GB HBM3 MIG 2g.20gb", 32, 9, 0));
  CHECK(slice.half == doctest::Approx(whole.half * 32 / 132));
  CHECK(slice.fp32 == doctest::Approx(whole.fp32 * 32 / 132));
  CHECK(own().peaks(device("NVIDIA H100 80GB HBM3", 130, 9, 0)).half ==
        whole.half);  // a few SMs fewer is the same board
}

TEST_CASE("classes: an unknown GPU's rates follow from its architecture, SMs and clock") {
  const gh::GpuPeaks p = own().peaks(device("NVIDIA H500 Imaginary", 100, 9, 0, 2e9));
  CHECK(p.known);
  CHECK(p.half == doctest::Approx(100 * 2e9 * 4096));
  CHECK(p.source == "architecture, SMs and clock");
  // A laptop GPU has a desktop GPU's name, but neither its SMs nor its rates.
  CHECK(own().peaks(device("NVIDIA GeForce RTX 4090 Laptop GPU", 76, 8, 9, 2e9)).source ==
        "architecture, SMs and clock");
  CHECK_FALSE(own().peaks(device("NVIDIA Next", 200, 99, 0)).known);
  CHECK(own()
            .peaks(device("NVIDIA Next", 200, 99, 0))
            .has_tensor_cores);  // nearly every NVIDIA GPU since Volta
  CHECK_FALSE(own().peaks(device("", 0, 0, 0)).known);
  CHECK_FALSE(own().peaks(device("", 0, 0, 0)).has_tensor_cores);
  // Profilers also report compute capability 9.0 for an MI250, which is not a Hopper.
  const gh::GpuPeaks amd = own().peaks(device("AMD Instinct MI250X", 110, 9, 0));
  CHECK_FALSE(amd.known);
  CHECK_FALSE(amd.has_tensor_cores);
  CHECK(amd.half == 0);
}

TEST_CASE("classes: the program knows every class of its own table, in one order") {
  using gh::KernelClass;
  const auto count = static_cast<std::size_t>(KernelClass::own);
  CHECK(own().kernel_classes().size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto c = static_cast<KernelClass>(i);
    CAPTURE(own().name_of(c));
    CHECK(gh::traits_of(c).name == own().name_of(c));
    CHECK(gh::kernel_class_named(own().name_of(c)) == c);
    CHECK(own().is_product(c) == gh::traits_of(c).is_product);
  }
  CHECK(own().kernel_class("ncclDevKernel_AllReduce") == KernelClass::collective);
  CHECK(own().kernel_class("") == KernelClass::other);
  CHECK_FALSE(own().is_product(KernelClass::none));
}

TEST_CASE("classes: those that only a team names count as work, each for itself") {
  using gh::KernelClass;
  Classes classes;
  classes.extend(toml::parse(R"(
    [[kernel_class]]
    class = "solver"
    match = ["^solve"]
    [[kernel_class]]
    class = "gemm_ours"
    match = ["^our_product"]
    [[kernel_class]]
    class = "norm"
    match = ["^our_norm"]
  )"),
                 "gh-advise.toml");
  const KernelClass solver = classes.kernel_class("solve_box"),
                    product = classes.kernel_class("our_product");
  CHECK(solver >= KernelClass::own);
  CHECK(product >= KernelClass::own);
  CHECK(solver != product);
  CHECK(classes.name_of(solver) == "solver");
  CHECK(classes.kernel_class("our_norm") == KernelClass::norm);
  CHECK(classes.kernel_class("something") == KernelClass::other);
  CHECK_FALSE(classes.is_product(solver));
  CHECK(classes.is_product(product));  // as its name says
  CHECK(gh::traits_of(solver).limit == gh::Limit::custom_kernels);

  const gh::Analysis a(gh::trace_from_text(R"(return { ops = {
    { 0, 10, kernel = "solve_box" }, { 10, 30, kernel = "our_product" },
    { 30, 70, kernel = "our_norm" }, { 70, 150, kernel = "ncclDevKernel_AllReduce" } } })"),
                       classes, {});
  CHECK(a.account.total_ns("compute.solver") == 10'000);
  CHECK(a.account.total_ns("compute.gemm_ours") == 20'000);
  CHECK(a.account.total_ns(KernelClass::norm) == 40'000);
  CHECK(a.account.total_ns(gh::Cause::Of::communication) == 80'000);
  CHECK(a.class_of(0) == solver);
  CHECK(a.kernel_class(1) == "gemm_ours");
  CHECK(a.is_collective(3));
}

TEST_CASE("classes: a cause of the account is what its name says") {
  using gh::Cause;
  const gh::Analysis a(gh::trace_from_text("return { ops = { { 0, 10, kernel = 'k' } } }"),
                       Classes(), {});
  for (std::size_t c = 0; c < a.account.causes.size(); ++c) {
    CAPTURE(a.account.causes[c]);
    CHECK(a.account.kinds[c] == Cause(a.account.causes[c]));
    CHECK(a.account.kinds[c].of != Cause::Of::unknown);
    CHECK(a.account.kinds[c].computes() == a.account.causes[c].starts_with("compute."));
    CHECK(a.account.kinds[c].is_idle() == a.account.causes[c].starts_with("idle."));
  }
  using gh::IdleCause;
  CHECK(Cause(std::string("idle.sync")) == IdleCause::sync);
  CHECK(Cause(std::string("compute.gemm_half")) == gh::KernelClass::gemm_half);
  CHECK(Cause(std::string("compute.ours")).kernels == gh::KernelClass::own);
  CHECK(Cause(std::string("compute.gemm_ours")).products);
  CHECK(Cause(std::string("of a newer version")).of == Cause::Of::unknown);
  CHECK(gh::cause_label("compute.gemm_half") == "compute: GEMM, half precision");
  CHECK(gh::cause_label("compute.our_solver") == "compute: our solver");
  CHECK(gh::cause_label("compute.graph") == "compute: CUDA graphs as a whole");
  CHECK(gh::cause_label("idle.launch_latency") == "idle: launch latency");
  CHECK(gh::cause_label("idle.failed") == "idle: failed calls");
  CHECK(gh::cause_label("um_stall") == "unified-memory stall");
  CHECK(gh::cause_label("of_newer") == "of newer");
}

TEST_CASE("classes: one table says what OS calls do") {
  using gh::OsCallDoes;
  const auto does = [](const char* call) {
    std::string all;
    for (std::size_t d = 0; d < static_cast<std::size_t>(OsCallDoes::count); ++d)
      all += own().does(static_cast<OsCallDoes>(d), call) ? '1' : '0';
    return all;
  };
  // wait, sleep, wait_thread, wait_lock, poll_lock, wake, read, write, make_thread
  CHECK(does("pthread_create") == "000000001");
  CHECK(does("poll") == "100000000");
  CHECK(does("pthread_cond_timedwait") == "101110000");
  CHECK(does("pthread_cond_wait") == "101000000");
  CHECK(does("futex") == "101100000");
  CHECK(does("pthread_mutex_lock") == "000100000");
  CHECK(does("pthread_cond_signal") == "000001000");
  CHECK(does("sem_wait") == "101000000");
  CHECK(does("sem_post") == "000000000");
  CHECK(does("clock_nanosleep") == "010000000");
  CHECK(does("recvmsg") == "100000000");
  CHECK(does("pread64") == "000000100");
  CHECK(does("file access") == "000000100");
  CHECK(does("fwrite") == "000000010");
  CHECK(does("mmap") == "000000000");
}

TEST_CASE("classes: what frameworks mean by the names of ranges and threads") {
  using gh::Form;
  for (const char* backward :
       {"AddmmBackward0", "MmBackward", "AddmmBackward0, seq = 12, op_id = 3",
        "torch::autograd::AccumulateGrad", "autograd::engine::evaluate_function: MmBackward0"})
    CHECK_MESSAGE(own().is(Form::backward_function, backward), backward);
  for (const char* other : {"backward", "aten::mm", "ours::AddBackward0", "AddBackward0 of ours",
                            "aten::mm, seq = 12, MmBackward0"})
    CHECK_MESSAGE(!own().is(Form::backward_function, other), other);
  CHECK(own().evaluated_operator("autograd::engine::evaluate_function: MmBackward0") ==
        "MmBackward0");
  CHECK(own().evaluated_operator("MmBackward0") == "");
  CHECK(own().is(Form::backward_thread, "pt_autograd_0"));
  CHECK(own().is(Form::module_class, "nn.Module: Linear_3"));
  CHECK(own().is(Form::module_begins, "FSDP::pre_forward (layers.0)"));
  CHECK(own().is(Form::module_ends, "FSDP::post_forward (layers.0)"));
  CHECK(own().is(Form::module_backward, "FSDP::post_backward_reduce (layers.0)"));
  CHECK_FALSE(own().is(Form::module_backward, "backward"));
}

TEST_CASE("classes: a team's tables take precedence over the built-in ones") {
  Classes classes;
  classes.extend(toml::parse(R"(
    [[kernel_class]]
    class = "attention_fused"
    match = ["^our_box"]
    except = ["naive"]
    [[kernel_class]]
    class = "solver"
    match = ["^nccl.*Ours"]
    [[gpu]]
    match = '\bH200\b'
    name = "our H200, capped"
    sm_count = 132
    fp32_tflops = 10.0
    half_tflops = 100.0
    [ranges]
    step = ["^turn \\d+"]
    loader = ["^feed the beast"]
  )"),
                 "gh-advise.toml");
  CHECK(kernel_class(own(), "our_box_kernel") == "other");
  CHECK(kernel_class(classes, "our_box_kernel") == "attention_fused");
  CHECK(kernel_class(classes, "our_box_naive_sgemm") ==
        "gemm_cuda_core");  // the next entry still applies
  CHECK(kernel_class(classes, "ncclDevKernelOurs") == "solver");
  CHECK(kernel_class(classes, "ncclDevKernel_AllReduce") == "collective");
  CHECK(classes.peaks(device("NVIDIA H200", 132, 9, 0)).half == doctest::Approx(100e12));
  CHECK(classes.peaks(device("NVIDIA H200", 132, 9, 0)).source ==
        "gh-advise.toml: our H200, capped");
  CHECK(classes.peaks(device("NVIDIA H100 80GB HBM3", 132, 9, 0)).half ==
        doctest::Approx(989.5e12));
  CHECK(classes.steps_called("turn 12") == std::vector<std::size_t>{0});
  CHECK(classes.steps().size() == own().steps().size() + 1);
  CHECK(classes.is_phase(gh::Phase::loader, "feed the beast"));
  CHECK(classes.is_phase(gh::Phase::loader, "dataloader"));
  CHECK_FALSE(own().is_phase(gh::Phase::loader, "feed the beast"));
  for (const char* wrong :
       {"[ranges]\nloader = ['(']", "[ranges]\nstep = ['(']",
        "[[kernel_class]]\nclass = 'x'\nmatch = ['(']", "[[gpu]]\nname = 'x'\nmatch = ['(']"})
    CHECK_THROWS_WITH_AS(classes.extend(toml::parse(wrong), "gh-advise.toml"),
                         doctest::Contains("gh-advise.toml: '(' is not"), gh::Error);
}

TEST_CASE("classes: results of CUDA calls have names, and some are answers rather than failures") {
  const gh::Classes& classes = own();
  CHECK(classes.call_result(2).name == "cudaErrorMemoryAllocation");
  CHECK(classes.call_result(2).means == "out of memory");
  CHECK_FALSE(classes.call_result(2).fatal);
  CHECK(classes.call_result(700).fatal);
  CHECK(classes.call_result(7777).name == "error 7777");
  CHECK(classes.is_expected("cudaEventQuery", 600));
  CHECK(classes.is_expected("cuGetProcAddress", 500));
  CHECK(classes.is_expected("cudaGetLastError", 700));
  CHECK_FALSE(classes.is_expected("cudaLaunchKernel", 600));
  CHECK_FALSE(classes.is_expected("cudaMalloc", 2));
  CHECK(classes.is_expected("cuCtxSynchronize", 201, true));
  CHECK_FALSE(classes.is_expected("cuCtxSynchronize", 201));
  CHECK_FALSE(classes.is_expected("cudaDeviceSynchronize", 700, true));
}
