// Layers that no range names: what repeats within a step.
#include "analysis/structure/repeated_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "read/read.hpp"
#include "support/layered.hpp"
#include "support/script.hpp"

using support::Layered;
using support::Script;

namespace {

// Kernels whose names tell what they are: products, an elementwise one, and an optimizer's.
const std::string qkv = "gemm_bf16_qkv", mlp = "gemm_bf16_mlp", mlp_back = "gemm_bf16_mlp_back",
                  qkv_back = "gemm_bf16_qkv_back", head = "gemm_bf16_head",
                  add = "void at::native::vectorized_elementwise_kernel<4>",
                  fused_adam = "multi_tensor_apply_kernel<FusedAdam>";

// The runs in a sequence of kernels with one letter each, with bars where units begin and end:
// "xx|ab|ab|ab|yy".
std::string cut(const std::string& kernels) {
  Script s;
  for (const char k : kernels) s.launch(std::string(1, k));
  const gh::Trace t = s.nsys();
  std::vector<gh::Row> ops(t.ops.size());
  for (gh::Row op = 0; op < t.ops.size(); ++op) ops[op] = op;
  const gh::Classes classes;
  const gh::LaunchSequence sequence(t, classes, gh::NameClasses(t, classes), ops);
  std::string bars = kernels;
  std::vector<std::size_t> cuts;
  for (const gh::RepeatedRun& run : gh::repeated_runs(sequence, 0, sequence.size()))
    cuts.insert(cuts.end(), run.cuts.begin(), run.cuts.end());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (auto c = cuts.rbegin(); c != cuts.rend(); ++c) bars.insert(*c, "|");
  return bars;
}

void forward_of_layer(Script& s) {
  s.launch(qkv, 30);
  s.launch(add, 5);
  s.launch(mlp, 60);
}

void backward_of_layer(Script& s) {
  s.launch(mlp_back, 120);
  s.launch(add, 6);
  s.launch(qkv_back, 60);
}

void times(int count, const std::function<void()>& body) {
  for (int i = 0; i < count; ++i) body();
}

// What comes before and after the layers of a training step, and they themselves.
void training_step(Script& s, int forwards, int backwards) {
  s.launch("embedding", 4);
  times(forwards, [&] { forward_of_layer(s); });
  s.launch("loss", 4);
  times(backwards, [&] { backward_of_layer(s); });
  s.launch(fused_adam, 10);
}

void check_paths_differ(const gh::ProgramLayers& layers) {
  std::set<std::string> paths;
  std::string twice;
  for (gh::LayerId l = 1; l < layers.all().size(); ++l)
    if (!paths.insert(layers.path(l)).second) twice += layers.path(l) + "\n";
  CHECK(twice == "");
}

std::string layer_of(const std::string& kernel, int n) {
  return fmt::format("layer {} of {}", n, kernel);
}

}  // namespace

TEST_CASE("repeated layers: a run is three units or more, of two launches or more") {
  CHECK(cut("xxabcabcabcabcyy") == "xx|abc|abc|abc|abc|yy");
  CHECK(cut("abcabcabc") == "|abc|abc|abc|");
  CHECK(cut("ababab") == "|ab|ab|ab|");
  CHECK(cut("abcabc") == "abcabc");
  CHECK(cut("aaaaaaaa") == "aaaaaaaa");
  CHECK(cut("abcdefgh") == "abcdefgh");
  for (const char* tiny : {"", "a", "ab", "aa"}) CHECK(cut(tiny) == tiny);
}

TEST_CASE("repeated layers: units follow a run, and other runs") {
  CHECK(cut("xabcabcabcabcydededededez") == "x|abc|abc|abc|abc|y|de|de|de|de|de|z");
  CHECK(cut("xdededededeyabcabcabcabcz") == "x|de|de|de|de|de|y|abc|abc|abc|abc|z");
  CHECK(cut("xabcabcabcabcdedededede") == "x|abc|abc|abc|abc|de|de|de|de|de|");
}

TEST_CASE("repeated layers: an odd unit is one of its run") {
  CHECK(cut("xabcabcabxcabcabcy") == "x|abc|abc|abxc|abc|abc|y");
  CHECK(cut("xabcdabcdabcdabcdacdabcdabcdabcdabcdy") ==
        "x|abcd|abcd|abcd|abcd|acd|abcd|abcd|abcd|abcd|y");
  CHECK(cut("xabcdabcdpqbcdabcdabcdy") == "x|abcd|abcd|pqbcd|abcd|abcd|y");
  CHECK(cut("xabcdabcdapqrsbcdabcdabcdy") == "x|abcd|abcd|apqrsbcd|abcd|abcd|y");
}

TEST_CASE("repeated layers: what shares a launch with the units is none of them") {
  CHECK(cut("xabcdabcdabcdabcdyaz") == "x|abcd|abcd|abcd|abcd|yaz");
  CHECK(cut("zayabcdabcdabcdabcdx") == "zay|abcd|abcd|abcd|abcd|x");
}

TEST_CASE("repeated layers: a unit may be cut off at the end") {
  CHECK(cut("xabcabcabcab") == "x|abc|abc|abc|ab|");
}

TEST_CASE("repeated layers: of micro-batches of layers, the layers count") {
  CHECK(cut("xababababyxababababyxababababy") == "x|ab|ab|ab|ab|yx|ab|ab|ab|ab|yx|ab|ab|ab|ab|y");
}

TEST_CASE(
    "repeated layers: of micro-batches that go forward and backward, both passes' layers count") {
  CHECK(cut("xabababcdcdcdyxabababcdcdcdyxabababcdcdcdy") ==
        "x|ab|ab|ab|cd|cd|cd|yx|ab|ab|ab|cd|cd|cd|yx|ab|ab|ab|cd|cd|cd|y");
}

TEST_CASE("repeated layers: the name of their product is cut between characters, not within one") {
  const std::string begin = "gemm_bf16_" + std::string(17, 'x'), kernel = begin + "\u00e9_and_more";
  Script s;
  s.steps(4, [&] {
    times(5, [&] {
      s.launch(kernel, 60);
      s.launch(add, 5);
    });
    s.launch("sampling", 4);
  });
  const Layered l(s.nsys());
  CHECK(l.layer(kernel, 7).stem.ends_with("* of " + begin));
}

TEST_CASE("repeated layers: what repeats within a step is layers, called after their product") {
  Script s;
  s.steps(4, [&] {
    s.launch("embedding", 4);
    times(5, [&] { forward_of_layer(s); });
    s.launch("sampling", 4);
  });
  const Layered l(s.nsys());
  CHECK(l.layers.has_repeated());
  CHECK_FALSE(l.layers.has_matched_backward());
  for (std::size_t n = 5; n < 20; ++n)
    for (const std::string& kernel : {qkv, add, mlp})
      CHECK(l.place(kernel, n) == "other of " + layer_of(mlp, static_cast<int>(n % 5)));
  CHECK(l.layer(mlp, 7).stem == "layer * of " + mlp);
  // The same layers in each step.
  CHECK(l.origin(mlp, 7) == l.origin(mlp, 12));
  CHECK(l.path("embedding", 2).empty());
  CHECK(l.path("sampling", 2).empty());
}

TEST_CASE("repeated layers: they are called after what tells their kernel from others") {
  const auto called = [](const std::string& kernel) {
    Script s;
    s.steps(4, [&] {
      s.launch("embedding", 4);
      times(5, [&] {
        s.launch(kernel, 100);
        s.launch(add, 5);
      });
    });
    return Layered(s.nsys()).path(kernel, 7);
  };
  CHECK(called("void gemm_bf16_attn<float, 128>(Params<int>)") == "layer 2 of gemm_bf16_attn");
  CHECK(called("void models::fast::gemm_bf16_attn<float, 128>(Params<int>)") ==
        "layer 2 of gemm_bf16_attn");
  CHECK(
      called(
          "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128>(Params)") ==
      "layer 2 of cutlass_80_tensorop_bf16_s16");
}

TEST_CASE("repeated layers: an odd layer is one of them, with all that it runs") {
  Script s;
  s.steps(4, [&] {
    for (int i = 0; i < 6; ++i) {
      s.launch(qkv, 30);
      if (i == 3) times(3, [&] { s.launch("written_out_attention", 40); });
      s.launch(add, 5);
      s.launch(mlp, 60);
    }
    s.launch("sampling", 4);
  });
  const Layered l(s.nsys());
  for (std::size_t n = 3; n < 6; ++n) CHECK(l.path("written_out_attention", n) == layer_of(mlp, 3));
  CHECK(l.path(mlp, 6 + 5) == layer_of(mlp, 5));
}

TEST_CASE("repeated layers: of a training step, the second run of as many is backward") {
  Script s;
  s.steps(4, [&] { training_step(s, 5, 5); });
  const Layered l(s.nsys());
  REQUIRE(l.analysis.program.is("training"));
  for (int i = 0; i < 5; ++i) {
    const auto n = static_cast<std::size_t>(5 + i);
    CHECK(l.place(mlp, n) == "forward of " + layer_of(mlp, i));
    CHECK(l.place(mlp_back, n) == "backward of " + layer_of(mlp, 4 - i));  // the last one first
    CHECK(l.place(qkv_back, n) == "backward of " + layer_of(mlp, 4 - i));
  }
  CHECK(l.layers.has_matched_backward());
  CHECK(l.place(fused_adam, 1) == "other of ");
}

TEST_CASE("repeated layers: after backward, a run of as many is forward of another model") {
  Script s;
  s.steps(4, [&] {
    for (const std::string model : {"gemm_bf16_first", "gemm_bf16_second"}) {
      s.launch("embedding", 4);
      for (const char* pass : {"", "_back"})
        times(5, [&] {
          s.launch(model + pass, 60);
          s.launch("norm of " + model + pass, 5);
          if (model == "gemm_bf16_first") s.launch(std::string("attention") + pass, 5);
        });
      s.launch("loss of " + model, 4);
    }
    s.launch(fused_adam, 10);
  });
  const Layered l(s.nsys());
  REQUIRE(l.analysis.program.is("training"));
  for (const std::string model : {"gemm_bf16_first", "gemm_bf16_second"}) {
    CHECK(l.place(model, 6) == "forward of " + layer_of(model, 1));
    CHECK(l.place(model + "_back", 6) == "backward of " + layer_of(model, 3));
  }
}

TEST_CASE("repeated layers: in each micro-batch the layers are the same") {
  for (const std::size_t batches : {2, 3}) {
    CAPTURE(batches);
    Script s;
    s.steps(4, [&] {
      times(static_cast<int>(batches), [&] {
        times(5, [&] { forward_of_layer(s); });
        s.launch("loss", 4);
        times(5, [&] { backward_of_layer(s); });
        s.launch("add gradients", 4);
      });
      s.launch(fused_adam, 10);
    });
    const Layered l(s.nsys());
    std::string found, expected;
    for (std::size_t n = 5 * batches; n < 10 * batches; ++n) {
      found += l.place(mlp, n) + ", " + l.place(mlp_back, n) + "\n";
      expected += "forward of " + layer_of(mlp, static_cast<int>(n % 5)) + ", backward of " +
                  layer_of(mlp, 4 - static_cast<int>(n % 5)) + "\n";
    }
    CHECK(found == expected);
  }
}

TEST_CASE("repeated layers: what may be backward of other layers is not called forward") {
  // The head is built like a part of a layer, so that there are more units in forward.
  Script s;
  s.steps(4, [&] { training_step(s, 6, 5); });
  const Layered l(s.nsys());
  REQUIRE(l.analysis.program.is("training"));
  REQUIRE(l.layers.has_repeated());
  CHECK(l.pass(mlp_back, 7) != "forward");
}

TEST_CASE("repeated layers: without training, two runs of as many are two") {
  Script s;
  s.steps(4, [&] {
    times(5, [&] { forward_of_layer(s); });
    s.launch("between", 4);
    times(5, [&] { backward_of_layer(s); });
    s.launch("sampling", 4);
  });
  const Layered l(s.nsys());
  REQUIRE_FALSE(l.analysis.program.is("training"));
  CHECK(l.place(mlp, 5) == "other of " + layer_of(mlp, 0));
  CHECK(l.place(mlp_back, 5) == "other of " + layer_of(mlp_back, 0));
  CHECK(l.place(mlp_back, 9) == "other of " + layer_of(mlp_back, 4));
  CHECK_FALSE(l.layers.has_matched_backward());
}

TEST_CASE("repeated layers: two stacks of as many layers are two, though one product takes most") {
  Script s;
  s.steps(4, [&] {
    times(5, [&] {
      s.launch("encoder_norm", 5);
      s.launch(mlp, 60);
    });
    s.launch("between", 4);
    times(5, [&] {
      s.launch("cross_attention", 30);
      s.launch("decoder_norm", 5);
      s.launch(mlp, 60);
    });
    s.launch("sampling", 4);
  });
  const Layered l(s.nsys());
  CHECK(l.origin("encoder_norm", 7).layer != gh::outside);
  CHECK(l.origin("decoder_norm", 7).layer != gh::outside);
  CHECK(l.origin("encoder_norm", 7).layer != l.origin("decoder_norm", 7).layer);
}

TEST_CASE("repeated layers: a range that holds them is around them") {
  Script s;
  s.steps(4, [&] {
    s.range("encoder", [&] { times(5, [&] { forward_of_layer(s); }); });
    s.range("decoder", [&] { s.launch(head, 100); });
  });
  const Layered l(s.nsys());
  CHECK(l.path(mlp, 5) == "encoder." + layer_of(mlp, 0));
  CHECK(l.path(qkv, 9) == "encoder." + layer_of(mlp, 4));
  CHECK(l.path(head, 1) == "decoder");
}

TEST_CASE("repeated layers: equal ones in two ranges are those of each range") {
  Script s;
  s.steps(4, [&] {
    for (const char* stack : {"encoder", "decoder"})
      s.range(stack, [&] { times(5, [&] { forward_of_layer(s); }); });
  });
  const Layered l(s.nsys());
  CHECK(l.path(mlp, 12) == "encoder." + layer_of(mlp, 2));
  CHECK(l.path(mlp, 17) == "decoder." + layer_of(mlp, 2));
}

TEST_CASE("repeated layers: backward in a range belongs to layers of that range only") {
  Script s;
  s.steps(4, [&] {
    s.range("encoder", [&] {
      for (int i = 0; i < 5; ++i) s.range(fmt::format("block {}", i), [&] { forward_of_layer(s); });
    });
    s.range("backward",
            [&] { s.range("decoder", [&] { times(5, [&] { backward_of_layer(s); }); }); });
  });
  const Layered l(s.nsys());
  CHECK(l.path(mlp, 7) == "encoder.block 2");
  CHECK(l.path(mlp_back, 7).starts_with("decoder"));
}

TEST_CASE("repeated layers: a range in which nothing was launched does not hide them") {
  Script s;
  s.steps(4, [&] {
    s.range("Torch-Compiled Region: 0/0", [&] {
      s.range("TorchDynamo Cache Lookup", [] {});
      times(5, [&] { forward_of_layer(s); });
    });
    s.launch("sampling", 4);
  });
  const Layered l(s.nsys());
  CHECK(l.path(mlp, 5) == "Torch-Compiled Region: 0/0." + layer_of(mlp, 0));
}

TEST_CASE("repeated layers: work that ranges tell apart is not divided any further") {
  Script s;
  s.steps(4, [&] {
    s.range("encoder", [&] {
      times(5, [&] { forward_of_layer(s); });
      s.range("norm", [&] { s.launch("norm", 40); });
    });
  });
  const Layered l(s.nsys());
  CHECK(l.path(mlp, 5) == "encoder");
  CHECK_FALSE(l.layers.has_repeated());
}

TEST_CASE("repeated layers: backward that no range names belongs to the layers that ranges name") {
  Script s;
  s.steps(4, [&] {
    s.range("forward", [&] {
      for (int i = 0; i < 5; ++i) s.range(fmt::format("layer {}", i), [&] { forward_of_layer(s); });
    });
    s.launch("loss", 4);
    s.range("backward",
            [&] { s.on("autograd", [&] { times(5, [&] { backward_of_layer(s); }); }); });
    s.range("optimizer", [&] { s.launch(fused_adam, 10); });
  });
  const Layered l(s.nsys());
  for (int i = 0; i < 5; ++i) {
    const auto n = static_cast<std::size_t>(5 + i);
    CHECK(l.place(mlp, n) == fmt::format("forward of layer {}", i));
    CHECK(l.place(mlp_back, n) == fmt::format("backward of layer {}", 4 - i));
  }
  CHECK(l.layers.has_matched_backward());
}

TEST_CASE("repeated layers: less than a tenth of the work is not looked into") {
  const auto encoder_beside = [](double us) {
    Script s;
    s.steps(4, [&] {
      s.range("encoder", [&] { times(5, [&] { forward_of_layer(s); }); });  // 475 us
      s.range("decoder", [&] { s.launch(head, us); });
    });
    return Layered(s.nsys()).path(mlp, 5);
  };
  CHECK(encoder_beside(4000) == "encoder." + layer_of(mlp, 0));
  CHECK(encoder_beside(5000) == "encoder");
}

TEST_CASE("repeated layers: a run of little work is none") {
  const auto beside = [](double us) {
    Script s;
    s.steps(4, [&] {
      s.launch(head, 10'000);
      times(5, [&] {
        s.launch(qkv, us);
        s.launch(add, us);
      });
    });
    return Layered(s.nsys()).path(qkv, 7);
  };
  CHECK(beside(60) == layer_of(qkv, 2));
  CHECK(beside(20).empty());
}

TEST_CASE("repeated layers: without products they are parts, and only of what lies in no layer") {
  const auto filter = [](Script& s) {
    times(5, [&] {
      s.launch("blur", 30);
      s.launch("sharpen", 50);
    });
  };
  Script s;
  s.steps(4, [&] { filter(s); });
  CHECK(Layered(s.nsys()).path("blur", 7) == "part 2 of sharpen");
  // A model's layers have products.
  Script model;
  model.steps(4, [&] {
    filter(model);
    model.launch(add, 500);
  });
  CHECK(Layered(model.nsys()).path("blur", 7).empty());
  Script named;
  named.steps(4, [&] { named.range("filter", [&] { filter(named); }); });
  CHECK(Layered(named.nsys()).path("blur", 7) == "filter");
}

TEST_CASE("repeated layers: each rank has the same ones") {
  Script s;
  for (const int rank : {0, 1})
    s.on("main", rank, [&] {
      s.steps(4, [&] {
        s.launch("embedding", 4);
        times(5, [&] { forward_of_layer(s); });
      });
    });
  const Layered l(s.nsys());
  REQUIRE(l.analysis.devices.size() == 2);
  std::set<gh::LayerId> layers[2];
  for (const std::size_t device : {0, 1})
    l.analysis.each_op_in_steps(device, [&](gh::Row op) {
      layers[device].insert(l.layers.origin(l.layers.of_op(op)).layer);
    });
  CHECK(layers[0].size() == 6);  // five, and none
  CHECK(layers[0] == layers[1]);
}

TEST_CASE(
    "repeated layers: forward and backward of unlike length are not one layer by their name") {
  const std::string nvjet = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_";
  Script s;
  s.steps(4, [&] {
    s.launch("embedding", 4);
    times(6, [&] {
      s.launch(nvjet + "bias_TNT", 60);
      s.launch(add, 5);
    });
    s.launch("loss", 4);
    times(5, [&] {
      s.launch(nvjet + "NNT", 120);
      s.launch(add, 5);
      s.launch("norm_backward", 5);
    });
    s.launch(fused_adam, 10);
  });
  check_paths_differ(Layered(s.nsys()).layers);
}

TEST_CASE("repeated layers: on every recording each layer has a path of its own") {
  std::vector<std::filesystem::path> all = support::recordings();
  for (const auto& more : {support::unmarked_recordings(), support::torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  for (const auto& path : support::few_with_sanitizers(all)) {
    CAPTURE(path.filename().string());
    check_paths_differ(Layered(gh::read_report(path)).layers);
  }
}

TEST_CASE("repeated layers: a trace of nothing, or of one launch, has none") {
  CHECK_FALSE(Layered(gh::trace_from_text("return {}")).layers.has_repeated());
  Script s;
  s.launch(mlp);
  CHECK_FALSE(Layered(s.nsys()).layers.has_repeated());
  CHECK_FALSE(Layered(gh::trace_from_text("return { ops = { { 0, 0, kernel = 'k' } } }"))
                  .layers.has_repeated());
}
