// Which modules, ranges, operator, line and pass each launch comes from.
#include <fmt/format.h>

#include <functional>

#include "analysis/structure/structure.hpp"
#include "support/layered.hpp"
#include "support/script.hpp"

using support::Layered;
using support::Script;

namespace {

// A launch within ranges, the outermost first.
void launch_in(Script& s, const std::string& kernel, std::vector<std::string> ranges) {
  if (ranges.empty()) return s.launch(kernel);
  const std::string outermost = ranges.front();
  ranges.erase(ranges.begin());
  s.range(outermost, [&] { launch_in(s, kernel, ranges); });
}

// Where a launch in these ranges lies.
std::string path_in(const std::vector<std::string>& ranges) {
  Script s;
  launch_in(s, "k", ranges);
  return Layered(s.nsys()).path("k");
}

std::string place_in(const std::vector<std::string>& ranges) {
  Script s;
  launch_in(s, "k", ranges);
  return Layered(s.nsys()).place("k");
}

// What the profilers agree on, each in turn.
void on_both(const Script& s, const std::function<void(const Layered&)>& check) {
  SUBCASE("Nsight Systems") { check(Layered(s.nsys())); }
  SUBCASE("PyTorch's profiler") { check(Layered(s.torch())); }
}

// An operator of a module, which launches one kernel.
void run_module(Script& s, const std::string& module, const std::string& op, int sequence,
                const std::string& kernel) {
  s.range(module, [&] { s.op(op, sequence, [&] { s.launch(kernel); }); });
}

std::string thunk(const std::string& name, const std::string& hlo_op) {
  return "Thunk:#" + (name.empty() ? "" : "name=" + name + ",") + "hlo_op=" + hlo_op +
         ",unique_hlo_op_id=1#";
}

}  // namespace

TEST_CASE("program layers: a module's path wins over the ranges around it") {
  Script s;
  launch_in(s, "k", {"fit", "Encoder", "model.blocks.3.attn"});
  const Layered l(s.nsys());
  CHECK(l.path("k") == "model.blocks.3.attn");
  CHECK(l.layers.stem_path(l.origin("k").layer) == "model.blocks.*.attn");
  const gh::Layer &attn = l.layer("k"), &block = l.layers[attn.parent];
  CHECK(attn.name == "attn");
  CHECK(attn.stem.empty());
  CHECK(attn.depth == 3);
  CHECK(block.name == "blocks.3");
  CHECK(block.stem == "blocks.*");
  CHECK_FALSE(block.is_class);
  // It is the same module wherever it is called.
  CHECK(path_in({"model.blocks.3", "shared.norm"}) == "shared.norm");
}

TEST_CASE("program layers: frameworks name modules in their own ways, and wrappers add parts") {
  for (const auto& [range, path] : std::vector<std::pair<std::string, std::string>>{
           {"_orig_mod.module.blocks.3._checkpoint_wrapped_module.attn", "blocks.3.attn"},
           {"_fsdp_wrapped_module.encoder._forward_module.layer.11.mlp", "encoder.layer.11.mlp"},
           {"[pl][module]torch.nn.modules.linear.Linear: net.blocks.0", "net.blocks.0"},
           {"[pl][module]__main__.Net: _orig_mod.net.blocks.0", "net.blocks.0"},
           {"FSDP::all_gather (blocks.3)", "blocks.3"},
           {"FSDP::all_gather_copy_out (_orig_mod.blocks.3.mlp)", "blocks.3.mlp"},
           {"{'Module': 'model.layers.3.mlp', 'TrainableParams': {'weight': [8, 8]}}",
            "model.layers.3.mlp"},
           {"{'Module': 'lm_head'}", "lm_head"}}) {
    CAPTURE(range);
    CHECK(path_in({"step 1", range}) == path);
  }
}

TEST_CASE("program layers: FSDP's forward lies between its two ranges") {
  Script s;
  const auto forward = [&](const std::string& module, const std::string& kernel) {
    s.range("FSDP::pre_forward (" + module + ")", [&] { s.launch("gather " + kernel); });
    s.launch(kernel);
    s.range("FSDP::post_forward (" + module + ")", [&] { s.launch("free " + kernel); });
  };
  forward("blocks.0", "first");
  s.launch("between");
  forward("blocks.1", "second");
  s.launch("behind");
  s.range("FSDP::pre_forward (blocks.2)", [&] { s.launch("third"); });
  s.launch("cut off");
  const Layered l(s.nsys());
  for (const char* kernel : {"gather first", "first", "free first"})
    CHECK(l.place(kernel) == "forward of blocks.0");
  CHECK(l.place("second") == "forward of blocks.1");
  CHECK(l.path("between").empty());
  CHECK(l.path("behind").empty());
  // Where the recording lacks the second range, the module ends with the first.
  CHECK(l.path("third") == "blocks.2");
  CHECK(l.path("cut off").empty());
}

TEST_CASE("program layers: FSDP's second range ends one forward only") {
  Script s;
  s.range("FSDP::pre_forward (blocks.0)", [&] { s.launch("gather"); });
  s.range("FSDP::post_forward (blocks.0)", [&] { s.launch("free"); });
  s.launch("between");
  s.range("FSDP::post_forward (blocks.0)", [&] { s.launch("without a first"); });
  const Layered l(s.nsys());
  CHECK(l.path("between").empty());
  CHECK(l.path("without a first") == "blocks.0");
}

TEST_CASE("program layers: FSDP's ranges of backward are backward, whatever is around them") {
  Script s;
  s.range("FSDP::pre_forward (blocks.0)", [&] { s.launch("gather"); });
  s.on("autograd", [&] {
    s.range("FSDP::pre_backward (blocks.0)", [&] { s.launch("gather again"); });
    s.range("FSDP::post_backward_reduce (blocks.0)", [&] { s.launch("reduce"); });
  });
  const Layered l(s.nsys());
  CHECK(l.place("gather") == "forward of blocks.0");
  CHECK(l.place("gather again") == "backward of blocks.0");
  CHECK(l.place("reduce") == "backward of blocks.0");
}

TEST_CASE(
    "program layers: a range around modules is a layer for its own launches, not around theirs") {
  Script s;
  s.range("training loop", [&] {
    s.range("net.fc", [&] { s.launch("module's"); });
    s.launch("loop's");
    s.range("loss", [&] { s.launch("loss's"); });
  });
  const Layered l(s.nsys());
  CHECK(l.path("module's") == "net.fc");
  CHECK(l.path("loop's") == "training loop");
  CHECK(l.path("loss's") == "loss");
}

TEST_CASE("program layers: ranges that name no module lie one in the other") {
  CHECK(path_in({"encoder", "attention"}) == "encoder.attention");
  Script s;
  s.range("encoder", [&] { s.range("attention", [&] { s.launch("first"); }); });
  s.range("decoder", [&] {
    s.range("attention", [&] { s.launch("second"); });
    s.launch("own");
  });
  s.launch("in none");
  const Layered l(s.nsys());
  CHECK(l.path("first") == "encoder.attention");
  CHECK(l.path("second") == "decoder.attention");
  CHECK(l.path("own") == "decoder");
  CHECK(l.origin("in none").layer == gh::outside);
  CHECK(l.pass("own") == "other");
  CHECK(l.layers.any());
}

TEST_CASE("program layers: a range that occurs several times within another counts its layers") {
  Script s;
  s.steps(2, [&] {
    s.range("forward", [&] {
      for (int i = 0; i < 3; ++i)
        s.range("TransformerLayer.forward", [&] {
          s.range("attention", [&] { s.launch("attention"); });
          s.range("mlp", [&] { s.launch("mlp"); });
        });
      s.range("head", [&] { s.launch("head"); });
    });
  });
  const Layered l(s.nsys());
  for (std::size_t step = 0; step < 2; ++step)
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(l.path("attention", 3 * step + i) ==
            fmt::format("TransformerLayer.forward {}.attention", i));
      CHECK(l.path("mlp", 3 * step + i) == fmt::format("TransformerLayer.forward {}.mlp", i));
    }
  const gh::LayerId third = l.layer("mlp", 2).parent;
  CHECK(l.layers[third].stem == "TransformerLayer.forward *");
  // The same layers in each step.
  CHECK(l.layer("mlp", 5).parent == third);
  CHECK(l.path("head", 0) == "head");
  CHECK(l.path("head", 1) == "head");
  CHECK(l.layer("head", 1).stem.empty());
}

TEST_CASE("program layers: a number counts if something divides it from the name") {
  for (const auto& [name, stem] :
       std::vector<std::pair<std::string, std::string>>{{"layer 3", "layer *"},
                                                        {"block_3", "block_*"},
                                                        {"h-3", "h-*"},
                                                        {"stage:3", "stage:*"},
                                                        {"layer[3]", "layer[*]"},
                                                        {"Layer (12)", "Layer (*)"},
                                                        {"conv1", ""},
                                                        {"h2d", ""},
                                                        {"3", ""},
                                                        {"layer 3 again", ""}}) {
    CAPTURE(name);
    Script s;
    launch_in(s, "k", {name});
    const Layered l(s.nsys());
    CHECK(l.layer("k").name == name);
    CHECK(l.layer("k").stem == stem);
  }
  // What counts by itself is not counted again.
  Script s;
  s.range("encoder", [&] {
    for (int i = 0; i < 2; ++i) s.range("layer 3", [&] { s.launch("k"); });
  });
  CHECK(Layered(s.nsys()).path("k", 1) == "encoder.layer 3");
}

TEST_CASE("program layers: ranges of steps and passes are no layers, but tell the pass") {
  CHECK(place_in({"step 1", "forward", "encoder"}) == "forward of encoder");
  CHECK(place_in({"step 1", "encoder", "forward"}) == "forward of encoder");
  CHECK(place_in({"ProfilerStep#3", "backward-compute"}) == "backward of ");
  CHECK(place_in({"train_iter 7", "fwd", "layer 2"}) == "forward of layer 2");
  CHECK(place_in({"DeepSpeedEngine.backward"}) == "backward of ");
  CHECK(place_in({"[pl][profile][Strategy]SingleDeviceStrategy.backward"}) == "backward of ");
  CHECK(place_in({"forward_backward", "encoder"}) == "other of encoder");
  CHECK(place_in({"forward_backward", "backward", "encoder"}) == "backward of encoder");
  CHECK(place_in({"optimizer"}) == "other of optimizer");
  CHECK(place_in({"backward hooks"}) == "other of backward hooks");
  // A module runs forward unless something says otherwise.
  CHECK(place_in({"net.fc"}) == "forward of net.fc");
  CHECK(place_in({"backward", "net.fc"}) == "backward of net.fc");
}

TEST_CASE("program layers: a range that names a pass after a dot is no module") {
  CHECK(place_in({"model.forward", "encoder"}) == "forward of encoder");
  CHECK(place_in({"loss.backward"}) == "backward of ");
}

TEST_CASE("program layers: the optimizer's range is no module that runs forward") {
  CHECK(place_in({"optimizer.step"}) == "other of optimizer.step");
}

TEST_CASE("program layers: what the steps were found by is no layer, whatever it is called") {
  Script s;
  for (int i = 1; i <= 5; ++i)
    s.range(fmt::format("update {}", i), [&] { s.range("encoder", [&] { s.launch("k"); }); });
  const Layered l(s.nsys());
  REQUIRE(l.analysis.devices.front().described == "NVTX ranges 'update #'");
  CHECK(l.path("k", 3) == "encoder");
}

TEST_CASE("program layers: a step that begins within a range does not end it") {
  // Lightning calls PyTorch's profiler in the middle of its optimizer's range.
  const Layered l(gh::trace_from_text(R"(return {
    ranges = { { 0, 100, 'Optimizer.step#AdamW.step' }, { 10, 20, 'net.fc' }, { 50, 150, 'ProfilerStep#3' } },
    ops = { { 30, 130, kernel = 'fc', launched = { 15, 16 } }, { 130, 230, kernel = 'adam', launched = { 80, 81 } },
      { 230, 330, kernel = 'behind', launched = { 120, 121 } } } })"));
  CHECK(l.path("fc") == "net.fc");
  CHECK(l.path("adam") == "Optimizer.step#AdamW.step");
  CHECK(l.path("behind").empty());
}

TEST_CASE("program layers: a range that is longer than two steps is none") {
  Script s;
  s.range("whole run", [&] {
    s.steps(5, [&] {
      s.range("encoder", [&] { s.launch("k"); });
      s.wait(100);
    });
  });
  s.range("after it", [&] { s.launch("end"); });
  const Layered l(s.nsys());
  CHECK(l.path("k", 3) == "encoder");
  CHECK(l.path("end") == "after it");
}

TEST_CASE("program layers: where nothing repeats, no range is too long") {
  Script s;
  s.range("load weights", [&] {
    s.wait(10'000);
    s.launch("upload");
  });
  s.range("decode", [&] { s.launch("decode"); });
  const Layered l(s.nsys());
  REQUIRE_FALSE(l.analysis.has_steps());
  CHECK(l.path("upload") == "load weights");
  CHECK(l.path("decode") == "decode");
}

TEST_CASE("program layers: an operator is no layer") {
  for (const char* op :
       {"aten::mm, seq = 5, op_id = 7", "aten::mm", "MmBackward0", "ncclAllReduce",
        "record_param_comms", "triton_poi_fused_add_0", "## Call CompiledFxGraph fshg ##", "detach",
        "CompiledFunction", "MyFunction, seq = 12, op_id = 8"}) {
    CAPTURE(op);
    CHECK(path_in({"net.fc", op}) == "net.fc");
    CHECK(path_in({op}).empty());
  }
  Script s;
  s.range("net.fc", [&] { s.op("a function of the program", [&] { s.launch("k"); }); });
  CHECK(Layered(s.torch()).path("k") == "net.fc");
}

TEST_CASE("program layers: a compiled region is one, and what it runs is its operators") {
  Script s;
  s.range("net.fc", [&] {
    s.op("Torch-Compiled Region: 0/0", [&] {
      s.op("CompiledFunction",
           [&] { s.op("triton_poi_fused_add_0", [&] { s.launch("triton_poi_fused_add_0"); }); });
    });
  });
  on_both(s, [](const Layered& l) {
    CHECK(l.layer("triton_poi_fused_add_0").name == "Torch-Compiled Region: 0/0");
    CHECK(l.operator_of("triton_poi_fused_add_0") == "triton_poi_fused_add_0");
  });
}

TEST_CASE("program layers: PyTorch's modules named by class lie one in the other") {
  Script s;
  s.frame("train.py(9): step", [&] {
    s.frame("nn.Module: Decoder_0", [&] {
      s.frame("model.py(7): forward", [&] {
        s.frame("nn.Module: Block_5",
                [&] { s.frame("nn.Module: Linear_11", [&] { s.launch("k"); }); });
        s.launch("own");
      });
    });
    s.launch("outside");
  });
  const Layered l(s.torch());
  CHECK(l.path("k") == "Decoder_0.Block_5.Linear_11");
  CHECK(l.layer("k").is_class);
  CHECK(l.layer("k").stem == "Linear_*");
  CHECK(l.place("own") == "forward of Decoder_0");
  CHECK(l.path("outside").empty());
  CHECK(l.pass("outside") == "other");
}

TEST_CASE("program layers: where ranges name modules by path, their classes add nothing") {
  Script s;
  s.frame("nn.Module: Decoder_0", [&] {
    s.range("net.fc", [&] { s.frame("nn.Module: Linear_0", [&] { s.launch("k"); }); });
  });
  CHECK(Layered(s.torch()).path("k") == "net.fc");
}

TEST_CASE("program layers: backward belongs to the module whose forward it is the backward of") {
  Script s;
  s.range("forward", [&] {
    run_module(s, "blocks.0", "aten::addmm", 5, "first forward");
    run_module(s, "blocks.1", "aten::mm", 6, "second forward");
  });
  s.range("backward", [&] {
    s.on("autograd", [&] {
      s.backward("MmBackward0", 6, [&] { s.op("aten::mm", [&] { s.launch("second"); }); });
      s.backward("AddmmBackward0", 5, [&] { s.op("aten::mm", [&] { s.launch("first"); }); });
    });
  });
  on_both(s, [](const Layered& l) {
    CHECK(l.place("first forward") == "forward of blocks.0");
    CHECK(l.place("first") == "backward of blocks.0");
    CHECK(l.place("second") == "backward of blocks.1");
    // It counts as work of the operator that it is the backward of.
    CHECK(l.operator_of("first") == "aten::addmm");
  });
}

TEST_CASE("program layers: a gradient that is added up follows the function before it") {
  Script s;
  s.range("forward", [&] { run_module(s, "blocks.0", "aten::mm", 5, "forward"); });
  s.range("backward", [&] {
    s.on("autograd", [&] {
      s.backward("MmBackward0", 5, [&] { s.launch("gradient"); });
      s.backward("torch::autograd::AccumulateGrad",
                 [&] { s.op("aten::add_", [&] { s.launch("sum"); }); });
    });
  });
  on_both(s, [](const Layered& l) {
    CHECK(l.place("sum") == "backward of blocks.0");
    CHECK(l.operator_of("sum") == "torch::autograd::AccumulateGrad");
  });
}

TEST_CASE("program layers: what autograd does around a function of backward is that function's") {
  Script s;
  s.range("forward", [&] { run_module(s, "blocks.0", "aten::mm", 5, "forward"); });
  s.on("autograd", [&] {
    s.op("autograd::engine::evaluate_function: MmBackward0", [&] {
      s.op("MmBackward0", 5, [&] { s.launch("gradient"); });
      s.op("aten::add", [&] { s.launch("two gradients"); });
    });
  });
  const Layered l(s.nsys());
  CHECK(l.place("two gradients") == "backward of blocks.0");
}

TEST_CASE("program layers: a range within a function of backward is no layer") {
  Script s;
  run_module(s, "blocks.0", "aten::mm", 5, "forward");
  s.on("autograd", [&] {
    s.backward("MmBackward0", 5, [&] { s.range("my hook", [&] { s.launch("gradient"); }); });
  });
  on_both(s, [](const Layered& l) { CHECK(l.place("gradient") == "backward of blocks.0"); });
}

TEST_CASE("program layers: operators that backward runs have numbers of their own") {
  Script s;
  run_module(s, "blocks.0", "aten::mm", 5, "first");
  run_module(s, "blocks.1", "aten::mul", 6, "second");
  s.on("autograd", [&] {
    s.backward("MulBackward0", 6, [&] { s.op("aten::mul", 5, [&] { s.launch("gradient 1"); }); });
    s.backward("MmBackward0", 5, [&] { s.launch("gradient 0"); });
  });
  const Layered l(s.nsys());
  CHECK(l.place("gradient 1") == "backward of blocks.1");
  CHECK(l.place("gradient 0") == "backward of blocks.0");
}

TEST_CASE("program layers: a function of backward is called without what autograd calls it by") {
  Script s;
  s.op("autograd::engine::evaluate_function: FooBackward0", [&] { s.launch("gradient"); });
  on_both(s, [](const Layered& l) {
    CHECK(l.operator_of("gradient") == "FooBackward0");
    CHECK(l.place("gradient") == "backward of ");
  });
}

TEST_CASE("program layers: without a way to its forward, backward lies in no layer") {
  Script s;
  s.range("forward", [&] { s.range("net.fc", [&] { s.launch("forward"); }); });
  s.range("backward", [&] { s.on("autograd", [&] { s.launch("backward"); }); });
  s.range("optimizer", [&] { s.launch("optimizer"); });
  on_both(s, [](const Layered& l) {
    CHECK(l.place("forward") == "forward of net.fc");
    CHECK(l.place("backward") == "backward of ");
    CHECK(l.place("optimizer") == "other of optimizer");
  });
}

TEST_CASE("program layers: a thread without ranges works for the one with which it shares work") {
  Script s;
  s.range("encoder", [&] {
    s.launch("own");
    s.on("helper", [&] { s.launch("helper's"); });
    s.on("stranger", 1, [&] { s.launch("another process's"); });
  });
  const Layered l(s.nsys());
  CHECK(l.path("helper's") == "encoder");
  CHECK(l.path("another process's").empty());
}

TEST_CASE("program layers: what backward computes again stays backward of its module") {
  Script s;
  s.range("forward", [&] {
    s.range("blocks.0", [&] {
      s.op("CheckpointFunction", 5, [&] { s.range("blocks.0.mlp", [&] { s.launch("once"); }); });
    });
  });
  s.range("backward", [&] {
    s.on("autograd", [&] {
      s.backward("CheckpointFunctionBackward", 5, [&] {
        run_module(s, "blocks.0.mlp", "aten::mm", 90, "again");
        s.backward("MmBackward0", 90, [&] { s.launch("gradient"); });
        s.launch("around");
      });
    });
  });
  const Layered l(s.nsys());
  CHECK(l.place("once") == "forward of blocks.0.mlp");
  CHECK(l.place("again") == "backward of blocks.0.mlp");
  CHECK(l.place("gradient") == "backward of blocks.0.mlp");
  CHECK(l.operator_of("gradient") == "aten::mm");
  CHECK(l.place("around") == "backward of blocks.0");
}

TEST_CASE("program layers: what a module computes again is backward without operators, too") {
  // Backward's thread has ranges of modules, but none that says that it is backward.
  Script s;
  s.range("forward", [&] { s.range("net.blocks.0", [&] { s.launch("once"); }); });
  s.range("backward", [&] {
    s.on("autograd", [&] {
      s.range("net.blocks.0", [&] { s.launch("again"); });
      s.launch("gradient");
    });
  });
  on_both(s, [](const Layered& l) {
    CHECK(l.place("once") == "forward of net.blocks.0");
    CHECK(l.place("again") == "backward of net.blocks.0");
    CHECK(l.place("gradient") == "backward of ");
  });
}

TEST_CASE("program layers: numbers of what backward computes again are no numbers of forward") {
  // Each thread counts for itself: the second of autograd's thread is not the second of main's.
  Script s;
  s.range("forward", [&] {
    run_module(s, "embed.tokens", "aten::embedding", 2, "embed");
    s.range("blocks.0", [&] { s.op("CheckpointFunction", 5, [&] { s.launch("once"); }); });
  });
  s.range("backward", [&] {
    s.on("autograd", [&] {
      s.backward("CheckpointFunctionBackward", 5, [&] {
        run_module(s, "blocks.0", "aten::mm", 2, "again");
        s.backward("MmBackward0", 2, [&] { s.launch("gradient"); });
      });
    });
  });
  CHECK(Layered(s.nsys()).place("gradient") == "backward of blocks.0");
}

TEST_CASE("program layers: autograd's numbers are used again in the next step") {
  Script s;
  const auto step = [&](const std::string& module, const std::string& n) {
    run_module(s, module, "aten::mm", 5, "forward " + n);
    s.on("autograd", [&] { s.backward("MmBackward0", 5, [&] { s.launch("backward " + n); }); });
  };
  step("blocks.0", "1");
  step("blocks.1", "2");
  on_both(s, [](const Layered& l) {
    CHECK(l.place("backward 1") == "backward of blocks.0");
    CHECK(l.place("backward 2") == "backward of blocks.1");
  });
}

TEST_CASE("program layers: each process has autograd's numbers of its own") {
  Script s;
  run_module(s, "blocks.0", "aten::mm", 5, "forward 0");
  s.on("main", 1, [&] { run_module(s, "blocks.1", "aten::mm", 5, "forward 1"); });
  for (const int rank : {0, 1})
    s.on("autograd", rank, [&] {
      s.backward("MmBackward0", 5, [&] { s.launch(fmt::format("backward {}", rank)); });
    });
  const Layered l(s.nsys());
  CHECK(l.place("backward 0") == "backward of blocks.0");
  CHECK(l.place("backward 1") == "backward of blocks.1");
}

TEST_CASE("program layers: the operator is the innermost that autograd knows, else the outermost") {
  Script s;
  s.op("aten::linear", 6,
       [&] { s.op("aten::addmm", 6, [&] { s.op("aten::fill_", [&] { s.launch("known"); }); }); });
  s.op("aten::cross_entropy_loss", [&] { s.op("aten::copy_", [&] { s.launch("unknown"); }); });
  s.op("FusedFunction", [&] { s.op("aten::mul", [&] { s.launch("function's"); }); });
  s.launch("none");
  s.on("autograd", [&] { s.backward("AddmmBackward0", 6, [&] { s.launch("gradient"); }); });
  on_both(s, [](const Layered& l) {
    CHECK(l.operator_of("known") == "aten::addmm");
    CHECK(l.operator_of("unknown") == "aten::cross_entropy_loss");
    CHECK(l.operator_of("function's") == "aten::mul");
    CHECK(l.operator_of("none").empty());
  });
}

TEST_CASE("program layers: an operator whose backward was cut off is called like the others") {
  Script s;
  const auto linear = [&](const std::string& kernel) {
    s.op("aten::linear", 6, [&] { s.op("aten::addmm", 6, [&] { s.launch(kernel); }); });
  };
  linear("whole");
  s.on("autograd", [&] { s.backward("AddmmBackward0", 6, [&] { s.launch("gradient"); }); });
  linear("cut off");  // the recording ends before its backward
  on_both(s, [](const Layered& l) {
    CHECK(l.operator_of("whole") == "aten::addmm");
    CHECK(l.operator_of("cut off") == "aten::addmm");
  });
}

TEST_CASE("program layers: the line is that of the innermost frame or range that names one") {
  Script s;
  s.frame("train.py(40): step", [&] {
    s.range("net.fc", [&] {
      s.frame("model.py(7): forward", [&] { s.launch("in model"); });
      s.launch("in step");
    });
  });
  s.launch("in none");
  on_both(s, [](const Layered& l) {
    CHECK(l.line("in model") == "model.py:7");
    CHECK(l.path("in model") == "net.fc");
    CHECK(l.line("in step") == "train.py:40");
    CHECK(l.line("in none").empty());
  });
}

TEST_CASE("program layers: a range that names a line is its line") {
  Script s;
  launch_in(s, "k", {"train.py(40): step", "net.fc"});
  CHECK(Layered(s.nsys()).line("k") == "train.py:40");
}

TEST_CASE("program layers: XLA's names tell scopes, the primitive and the pass") {
  Script s;
  s.range(thunk("jit(train)/transpose(jvp(block_5))/mlp/dot_general", "custom-call.18"),
          [&] { s.launch("backward"); });
  s.range(thunk("jit(train)/jvp(block_5)/mlp/dot_general", "custom-call.2"),
          [&] { s.launch("forward"); });
  s.range(thunk("jit(train)/jvp(block_5)/mlp", "loop_add_fusion.7"), [&] { s.launch("fused"); });
  s.range(thunk("jit(train)/optimizer/sub", "wrapped_subtract"), [&] { s.launch("update"); });
  s.range(thunk("jit(train)", "loop_multiply_fusion.1"), [&] { s.launch("rest"); });
  const Layered l(s.nsys());
  CHECK(l.place("backward") == "backward of block_5.mlp");
  CHECK(l.operator_of("backward") == "dot_general");
  CHECK(l.layers[l.layer("backward").parent].stem == "block_*");
  CHECK(l.place("forward") == "forward of block_5.mlp");
  // A name that others lie in is a scope, and does not tell the primitive.
  CHECK(l.place("fused") == "forward of block_5.mlp");
  CHECK(l.operator_of("fused") == "loop_add_fusion");
  CHECK(l.path("update") == "optimizer");
  CHECK(l.operator_of("update") == "sub");
  CHECK(l.path("rest").empty());
  CHECK(l.operator_of("rest") == "loop_multiply_fusion");
}

TEST_CASE("program layers: only what XLA differentiates is forward") {
  Script s;
  s.range(thunk("jit(train)/optimizer/sub", "wrapped_subtract"), [&] { s.launch("update"); });
  CHECK(Layered(s.nsys()).pass("update") == "other");
}

TEST_CASE("program layers: XLA's names may contain commas and slashes, or be missing") {
  Script s;
  s.range("XlaModule:#hlo_module=jit_train,program_id=3#", [&] {
    s.range(thunk("jit(train)/jvp(block_0)/attn/vmap(BNTS,BSNH->BTNH)/dot_general", "dot.5"),
            [&] { s.launch("einsum"); });
    s.range(thunk("jit(train)/jvp(block_0/attn)/exp", "fusion"), [&] { s.launch("slash"); });
    s.range(thunk("", "input_reduce_fusion.12"), [&] { s.launch("unnamed"); });
    s.launch("module's");
  });
  const Layered l(s.nsys());
  CHECK(l.place("einsum") == "forward of block_0.attn");
  CHECK(l.operator_of("einsum") == "dot_general");
  CHECK(l.path("slash") == "block_0/attn");
  CHECK(l.operator_of("slash") == "exp");
  CHECK(l.pass("slash") == "forward");
  CHECK(l.path("unnamed").empty());
  CHECK(l.operator_of("unnamed") == "input_reduce_fusion");
  CHECK(l.path("module's").empty());
}

TEST_CASE("program layers: a block of memory lies where what was launched then lies") {
  Script s;
  s.range("encoder", [&] { s.range("attention", [&] { s.launch("k"); }); });
  s.launch("last");
  gh::Trace t = s.nsys();
  const std::vector<gh::Ns> launched = t.calls.start;
  const std::uint16_t thread = t.calls.thread[0];
  gh::Allocations& blocks = t.allocations;
  const auto block = [&](gh::Ns at, std::uint16_t by) {
    blocks.start.push_back(at);
    blocks.address.push_back(at);
    blocks.bytes.push_back(1);
    blocks.in_use.push_back(-1);
    blocks.reserved.push_back(-1);
    blocks.pool.push_back(0);
    blocks.device.push_back(0);
    blocks.process.push_back(0);
    blocks.thread.push_back(by);
    blocks.kind.push_back(gh::MemoryKind::device);
    blocks.correlation.push_back(0);
  };
  const gh::Ns after = launched[1] + 1'000'000'000;
  block(launched[0], thread);
  block(launched[0] + 1, gh::no_index);
  block(launched[1], thread);
  block(after, thread);
  const gh::Analysis a = support::analysed(std::move(t));
  const gh::ProgramLayers& layers = a.structure().layers();
  const auto path = [&](gh::Ns at, std::uint16_t by) {
    return layers.path(layers.origin(layers.of_allocation(at, by)).layer);
  };
  CHECK(path(launched[0], thread) == "encoder.attention");
  CHECK(path(launched[0] + 1, gh::no_index).empty());  // nobody knows on which thread
  CHECK(path(launched[1], thread).empty());
  CHECK(path(after, thread).empty());
  CHECK(layers.of_allocation(after + 1, thread) == 0);
}

TEST_CASE("program layers: there are none without ranges, nor without work") {
  Script s;
  s.launch("k");
  const Layered l(s.nsys());
  CHECK_FALSE(l.layers.any());
  CHECK(l.path("k").empty());
  CHECK_FALSE(Layered(gh::trace_from_text("return {}")).layers.any());
  Script idle;
  idle.range("encoder", [] {});
  CHECK_FALSE(Layered(idle.nsys()).layers.any());
}

TEST_CASE("program layers: no nesting, repetition or name is too much") {
  Script s;
  launch_in(s, "deep", std::vector<std::string>(300, "again"));
  s.range(std::string(15'000, 'x'), [&] { s.launch("long"); });
  const Layered l(s.nsys());
  CHECK(l.layer("deep").depth == 48);
  CHECK(l.layer("long").name.size() <= 170);
  const Layered often(gh::trace_from_text(R"(
    local ranges, ops = { { 0, 20000, 'encoder' } }, {}
    for i = 1, 2000 do
      ranges[i + 1] = { 10 * i - 5, 10 * i, 'loop' }
      ops[i] = { 10 * i, 10 * i + 9, kernel = 'k', launched = { 10 * i - 4, 10 * i - 3 } }
    end
    return { ranges = ranges, ops = ops })"));
  CHECK(often.path("k", 1023) == "encoder.loop 1023");
  CHECK(often.path("k", 1999) == often.path("k", 1998));
}
