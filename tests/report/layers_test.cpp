// What each layer costs: rows and what folds into one, odd layers, shares of the path, and how they
// are written.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "read/read.hpp"
#include "report/tables.hpp"
#include "support/schema.hpp"
#include "support/script.hpp"
#include "support/traces.hpp"
#include "whatif/replay.hpp"

using gh::By;
using gh::Sort;
using gh::TableOptions;
using gh::TableRow;
using gh::TablesReport;
using support::Script;

namespace {

const std::string product = "sm90_xmma_gemm_bf16bf16_bf16f32_nn",
                  pointwise = "void at::native::vectorized_elementwise_kernel<4>",
                  norm = "void at::native::vectorized_layer_norm_kernel<float>",
                  collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TablesReport layers_in(gh::Trace trace, const TableOptions& options = gh::layers_options()) {
  const gh::Analysis a = support::analysed(std::move(trace));
  const gh::Replay replay(a);
  return gh::tables_of(a, &replay, options);
}
TablesReport layers_in(const Script& s, const TableOptions& options = gh::layers_options()) {
  return layers_in(s.nsys(), options);
}

// Four steps of what `body` does.
TablesReport layers_of_steps(const std::function<void(Script&)>& body,
                             const TableOptions& options = gh::layers_options()) {
  Script s;
  s.steps(4, [&] { body(s); });
  return layers_in(s, options);
}

std::vector<std::string> paths(const TablesReport& layers) {
  std::vector<std::string> all;
  for (const TableRow& row : layers.rows()) all.push_back(row.path);
  return all;
}
using Paths = std::vector<std::string>;

const TableRow& row_of(const TablesReport& layers, const std::string& path) {
  for (const TableRow& row : layers.rows())
    if (row.path == path) return row;
  FAIL("no row ", path, " among ", fmt::format("{}", fmt::join(paths(layers), ", ")));
  return layers.rows().front();
}

bool has_row(const TablesReport& layers, const std::string& path) {
  const Paths all = paths(layers);
  return std::find(all.begin(), all.end(), path) != all.end();
}

std::vector<std::string> odd_ones(const TableRow& row) {
  std::vector<std::string> odd;
  for (const std::size_t i : row.odd) odd.push_back(row.members[i].path);
  return odd;
}

// A module that launches one kernel.
void run(Script& s, const std::string& module, const std::string& kernel, double us) {
  s.range(module, [&] { s.launch(kernel, us); });
}

// A block of a transformer, whose products take so long.
void block(Script& s, const std::string& name, double us) {
  s.range(name, [&] {
    run(s, name + ".attn", product, us);
    run(s, name + ".mlp", product, 2 * us);
  });
}

void check_adds_up(const TablesReport& layers, bool nested) {
  gh::Ns total = 0, path = 0;
  std::vector<gh::Ns> within(layers.rows().size()), path_within(layers.rows().size());
  for (std::size_t i = 0; i < layers.rows().size(); ++i) {
    const TableRow& row = layers.rows()[i];
    if (row.parent == TableRow::no_parent) {
      CHECK(row.depth == 0);
      total += row.total_ns();
      path += row.path_ns;
    } else {
      REQUIRE(row.parent < i);
      CHECK(row.depth == layers.rows()[row.parent].depth + 1);
      within[row.parent] += row.total_ns();
      path_within[row.parent] += row.path_ns;
    }
    CHECK(row.forward_ns + row.backward_ns <= row.total_ns());
    gh::Ns members = 0;
    for (const gh::LayerMember& m : row.members) members += m.total_ns;
    CHECK((row.members.empty() || members == row.total_ns()));
  }
  CHECK(total == layers.total_ns);
  CHECK(path == layers.path_ns);
  if (!nested) return;
  for (std::size_t i = 0; i < layers.rows().size(); ++i) {
    CHECK(within[i] + layers.rows()[i].own_ns == layers.rows()[i].total_ns());
    CHECK(path_within[i] <= layers.rows()[i].path_ns);
  }
}

std::string text_of(const TablesReport& layers, std::size_t width = 100,
                    gh::Amount amount = gh::Amount::brief) {
  gh::TextStyle style;
  style.width = width;
  style.amount = amount;
  return gh::render_layers_text({layers}, style);
}

// The line of the table that begins with such a name.
std::string line_of(const std::string& text, const std::string& name) {
  for (const std::string& line : support::lines_of(text)) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at != line.npos && line.compare(at, name.size(), name) == 0) return line;
  }
  return "";
}

nlohmann::ordered_json json_of_layers(const std::vector<TablesReport>& all) {
  return nlohmann::ordered_json::parse(gh::render_layers_json(all, {}));
}

// Blocks, one of them odd, an optimizer, and a bit in no layer.
void whole_program(Script& s) {
  for (int i = 0; i < 6; ++i) block(s, fmt::format("net.blocks.{}", i), i == 4 ? 300 : 100);
  run(s, "net.head", product, 200);
  run(s, "optimizer", pointwise, 100);
  s.launch("in no layer", 50);
}

}  // namespace

TEST_CASE("layers: on every recording rows add up to the steps and to the path, exactly") {
  std::vector<std::filesystem::path> all = support::recordings();
  for (const auto& more : {support::unmarked_recordings(), support::torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  for (const auto& path : support::few_with_sanitizers(all)) {
    CAPTURE(path.filename().string());
    const gh::Analysis a = support::analysed(gh::read_report(path));
    const gh::Replay replay(a);
    for (const By by : {By::module, By::op, By::line, By::kernel}) {
      CAPTURE(static_cast<int>(by));
      TableOptions options = gh::layers_options();
      options.by = by;
      const TablesReport layers = gh::tables_of(a, &replay, options);
      CHECK(layers.total_ns == a.total_ns());
      // Two runs have parts of their own.
      CHECK(layers.path_ns == (replay.runs().size() == 1 ? replay.path().total_ns : 0));
      check_adds_up(layers, by == By::module);
    }
    TableOptions each = gh::layers_options();
    each.each = true;
    check_adds_up(gh::tables_of(a, &replay, each), true);
  }
}

TEST_CASE("layers: three equal ones or more are one row, two are two") {
  const auto blocks = [](int count) {
    return layers_of_steps([&](Script& s) {
      for (int i = 0; i < count; ++i) block(s, fmt::format("blocks.{}", i), 100);
    });
  };
  CHECK(paths(blocks(2)) == Paths{"blocks.0", "blocks.0.mlp", "blocks.0.attn", "blocks.1",
                                  "blocks.1.mlp", "blocks.1.attn"});
  const TablesReport three = blocks(3);
  CHECK(paths(three) == Paths{"blocks.*", "blocks.*.mlp", "blocks.*.attn"});
  const TableRow& row = row_of(three, "blocks.*");
  REQUIRE(row.members.size() == 3);
  CHECK(row.members[2].path == "blocks.2");
  CHECK(row.name == "blocks.*");
  CHECK(row_of(three, "blocks.*.mlp").members.size() == 3);
  CHECK(row.median_work_ns() == 3 * 300'000);  // of three steps
  CHECK(row.sum.launches == 3 * 3 * 2);
  check_adds_up(three, true);
}

TEST_CASE("layers: every layer has its row if each one is asked for") {
  TableOptions options = gh::layers_options();
  options.each = true;
  options.sort = Sort::program;
  const TablesReport layers = layers_of_steps(
      [](Script& s) {
        for (int i = 0; i < 3; ++i) run(s, fmt::format("blocks.{}", i), product, 100);
      },
      options);
  CHECK(paths(layers) == Paths{"blocks.0", "blocks.1", "blocks.2"});
  CHECK(layers.rows()[0].members.size() == 1);
}

TEST_CASE("layers: those that only share a name are no row") {
  // Modules in a list, one of which is built otherwise, are one still.
  const auto list = [](const std::vector<std::string>& kernels) {
    return layers_of_steps([&](Script& s) {
      for (std::size_t i = 0; i < kernels.size(); ++i)
        run(s, fmt::format("net.{}", i), kernels[i], 100);
    });
  };
  CHECK(has_row(list({product, product, norm, product, product}), "net.*"));
  CHECK_FALSE(has_row(list({product, norm, pointwise}), "net.*"));
  CHECK_FALSE(has_row(list({product, pointwise, product, norm}), "net.*"));
}

TEST_CASE("layers: a product, an activation and a product are no row") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    run(s, "net.0", product, 100);
    run(s, "net.1", pointwise, 20);
    run(s, "net.2", product, 100);
  });
  CHECK_FALSE(has_row(layers, "net.*"));
  CHECK(has_row(layers, "net.1"));
}

TEST_CASE("layers: what lies in layers tells whether they are built alike") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    for (int i = 0; i < 3; ++i) {
      const std::string name = fmt::format("net.{}", i);
      s.range(name, [&] { run(s, fmt::format("{}.part{}", name, i), product, 100); });
    }
  });
  CHECK_FALSE(has_row(layers, "net.*"));
}

TEST_CASE("layers: the odd one is found by its work") {
  const auto blocks = [](const std::function<void(Script&, int)>& in_block) {
    return layers_of_steps([&](Script& s) {
      for (int i = 0; i < 8; ++i)
        s.range(fmt::format("blocks.{}", i), [&] {
          s.launch(product, 100);
          in_block(s, i);
        });
    });
  };
  const auto odd_in = [&](const std::function<void(Script&, int)>& in_block) {
    return odd_ones(row_of(blocks(in_block), "blocks.*"));
  };
  CHECK(odd_in([](Script&, int) {}).empty());
  CHECK(odd_in([](Script& s, int i) {
          if (i == 5) s.launch(product, 200);
        }) == std::vector<std::string>{"blocks.5"});
  // One that does less is odd, too.
  CHECK(odd_in([](Script& s, int i) {
          if (i != 5) s.launch(product, 100);
        }) == std::vector<std::string>{"blocks.5"});
  // Idle time and collectives depend on others.
  CHECK(odd_in([](Script& s, int i) {
          if (i == 5) s.wait(5000);
        }).empty());
  CHECK(odd_in([](Script& s, int i) {
          if (i == 5) s.launch(collective, 500);
        }).empty());
  // So many are not odd.
  CHECK(odd_in([](Script& s, int i) {
          if (i >= 5) s.launch(product, 200);
        }).empty());
}

TEST_CASE("layers: of three, none is the odd one") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    for (int i = 0; i < 3; ++i) run(s, fmt::format("blocks.{}", i), product, i == 1 ? 300 : 100);
  });
  CHECK(row_of(layers, "blocks.*").odd.empty());
}

TEST_CASE("layers: instances named by class have their place within their parent") {
  Script s;
  s.steps(4, [&] {
    s.frame("nn.Module: Net_0", [&] {
      for (int i = 0; i < 4; ++i)
        s.frame(fmt::format("nn.Module: Block_{}", i), [&] {
          s.frame(fmt::format("nn.Module: Linear_{}", 2 * i + 7), [&] { s.launch(product, 100); });
          s.frame(fmt::format("nn.Module: Norm_{}", i), [&] { s.launch(norm, 10); });
          s.frame(fmt::format("nn.Module: Linear_{}", 2 * i + 8), [&] { s.launch(product, 200); });
        });
    });
  });
  const TablesReport layers = layers_in(s.torch());
  CHECK(paths(layers) == Paths{"Net", "Net.Block_*", "Net.Block_*.Linear 1", "Net.Block_*.Linear 0",
                               "Net.Block_*.Norm"});
  CHECK(row_of(layers, "Net.Block_*.Linear 1").members.size() == 4);
  check_adds_up(layers, true);
}

TEST_CASE("layers: a module of Lightning's that counts keeps its number") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    run(s, "[pl][module]torch.nn.modules.linear.Linear: layer_1", product, 100);
    run(s, "[pl][module]torch.nn.modules.normalization.LayerNorm: layer_2", norm, 90);
    run(s, "[pl][module]torch.nn.modules.activation.GELU: layer_3", pointwise, 80);
  });
  CHECK(has_row(layers, "layer_1"));
  CHECK(has_row(layers, "layer_2"));
  CHECK(has_row(layers, "layer_3"));
}

TEST_CASE("layers: only so deep, and only so many rows, as are asked for") {
  TableOptions options = gh::layers_options();
  options.depth = 1;
  const auto two_deep = layers_of_steps(whole_program, options);
  CHECK(has_row(two_deep, "net.blocks.*"));
  CHECK_FALSE(has_row(two_deep, "net.blocks.*.attn"));
  CHECK(two_deep.rows_in_all() == two_deep.rows().size());
  gh::Ns total = 0;
  for (const TableRow& row : two_deep.rows())
    if (row.depth == 0) total += row.total_ns();
  CHECK(total == two_deep.total_ns);

  options = gh::layers_options();
  options.most = 2;
  const auto two = layers_of_steps(whole_program, options);
  CHECK(paths(two) == Paths{"net", "net.blocks.*"});
  CHECK(two.rows().size() == 2);
  CHECK(two.rows_in_all() == layers_of_steps(whole_program).rows().size());
}

TEST_CASE("layers: siblings are sorted by what is asked for") {
  const auto sorted = [](Sort sort) {
    TableOptions options = gh::layers_options();
    options.sort = sort;
    return paths(layers_of_steps(
        [](Script& s) {
          run(s, "c", product, 100);
          s.wait(1000);
          run(s, "a", product, 300);
          s.range("b", [&] {
            for (int i = 0; i < 3; ++i) s.launch(fmt::format("small {}", i), 10);
          });
        },
        options));
  };
  CHECK(sorted(Sort::time).front() == "a");
  CHECK(sorted(Sort::idle).front() == "a");
  CHECK(sorted(Sort::launches).front() == "b");
  CHECK(sorted(Sort::name) == Paths{"a", "b", "c"});
  CHECK(sorted(Sort::program) == Paths{"c", "a", "b"});
}

TEST_CASE("layers: sorting by a path that does not exist says so") {
  const gh::Analysis a = support::analysed("return { ops = { { 0, 100, kernel = 'a' } } }");
  TableOptions options = gh::layers_options();
  options.sort = Sort::path;
  CHECK(support::contains(support::error_of([&] { gh::tables_of(a, nullptr, options); }),
                          "--sort path: there is no path"));
  options.sort = Sort::time;
  const TablesReport layers = gh::tables_of(a, nullptr, options);
  CHECK(layers.path_ns == 0);
}

TEST_CASE("layers: forward and backward are told apart, and idle time is part of both") {
  Script s;
  s.steps(4, [&] {
    s.range("forward", [&] {
      s.range("net.fc", [&] { s.op("aten::mm", 5, [&] { s.launch(product, 100); }); });
    });
    s.wait(400);
    s.range("backward", [&] {
      s.on("autograd", [&] { s.backward("MmBackward0", 5, [&] { s.launch(product, 100); }); });
    });
  });
  const TablesReport layers = layers_in(s);
  const TableRow& fc = row_of(layers, "net.fc");
  CHECK(fc.forward_ns + fc.backward_ns == fc.total_ns());
  CHECK(fc.sum.busy_ns == 3 * 200'000);
  CHECK(fc.backward_ns > 3 * 250'000);  // the GPU waits for it
  CHECK(fc.sum.idle_ns > 0);
  CHECK(fc.sum.busy_ns + fc.sum.idle_ns == fc.total_ns());
}

TEST_CASE("layers: the path's shares go to what the step waits for") {
  // The device is busy with "hidden" beside "long", which takes longer.
  const TablesReport layers = layers_of_steps([](Script& s) {
    s.range("long", [&] { s.launch("long", 800, 7); });
    s.range("hidden", [&] { s.launch("hidden", 300, 8); });
    s.range("end", [&] { s.launch("end", 100, 7); });
  });
  REQUIRE(layers.path_ns > 0);
  const auto share = [&](const char* path) {
    return static_cast<double>(row_of(layers, path).path_ns) / static_cast<double>(layers.path_ns);
  };
  CHECK(share("long") > 0.8);
  CHECK(share("end") > 0.05);
  CHECK(share("hidden") < 0.02);
}

TEST_CASE("layers: where the host is slow, the path goes to the layer that it prepares") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    s.range("quick", [&] { s.launch("quick", 20); });
    s.range("slow", [&] {
      s.wait(1000);
      s.launch("slow", 20);
    });
  });
  REQUIRE(layers.path_ns > 0);
  CHECK(static_cast<double>(row_of(layers, "slow").path_ns) >
        0.9 * static_cast<double>(layers.path_ns));
}

TEST_CASE("layers: by operator, line and kernel") {
  Script s;
  s.steps(4, [&] {
    s.frame("train.py(40): step", [&] {
      s.op("aten::mm", 5, [&] { s.launch(product, 100); });
      s.frame("model.py(7): forward", [&] {
        s.op("aten::mm", 6, [&] { s.launch(product, 100); });
        s.op("aten::add", 7, [&] { s.launch("triton_poi_fused_add_mul_rsqrt_0", 50); });
      });
    });
    s.launch("bare", 10);
  });
  const auto by = [&](By what) {
    TableOptions options = gh::layers_options();
    options.by = what;
    return layers_in(s, options);
  };
  const TablesReport ops = by(By::op);
  CHECK(paths(ops) == Paths{"aten::mm", "aten::add", ""});
  CHECK(ops.rows()[0].sum.launches == 3 * 2);
  CHECK(ops.rows()[0].own_ns == ops.rows()[0].total_ns());
  CHECK(ops.rows()[0].parent == TableRow::no_parent);
  CHECK(paths(by(By::line)) == Paths{"model.py:7", "train.py:40", ""});
  const TablesReport kernels = by(By::kernel);
  CHECK(paths(kernels) == Paths{product, "triton_poi_fused_add_mul_rsqrt_0", "bare"});
  CHECK(kernels.rows()[1].operators == "add mul rsqrt");
  CHECK(kernels.rows()[0].operators.empty());
  // Rows of operators say where backward is, too.
  CHECK(support::contains(text_of(ops), "(in no operator)"));
  CHECK(support::contains(text_of(by(By::line)), "(of no known line)"));
  CHECK(support::contains(text_of(kernels), "add mul rsqrt"));
}

TEST_CASE("layers: notes say what was not told apart, and how to record it") {
  const auto notes = [](const std::function<void(Script&)>& body, bool torch = false) {
    Script s;
    s.steps(4, [&] { body(s); });
    const TablesReport layers = layers_in(torch ? s.torch() : s.nsys());
    return fmt::format("{}", fmt::join(layers.notes, "\n"));
  };
  CHECK(notes(whole_program).empty());
  const auto bare = [](Script& s) {
    s.launch(product, 100);
    s.launch(norm, 30);
  };
  CHECK(notes(bare).starts_with("100 % of the time lies in no layer. "));
  CHECK(support::contains(notes(bare), "torch.autograd.profiler.emit_nvtx"));
  CHECK(support::contains(notes(bare, true), "torch.profiler.record_function"));
  CHECK(support::contains(notes([](Script& s) { s.launch("my_kernel", 100); }), "nvtxRangePush"));
  const auto repeated = [](Script& s) {
    s.launch("embedding", 10);
    for (int i = 0; i < 5; ++i) {
      s.launch(product, 100);
      s.launch(norm, 30);
    }
  };
  CHECK(notes(repeated).starts_with("Layers that no range names were found by what repeats"));
  CHECK(notes([&](Script& s) {
          repeated(s);
          s.launch("loss", 10);
          for (int i = 0; i < 5; ++i) {
            s.launch("sm90_xmma_gemm_bf16bf16_bf16f32_backward", 200);
            s.launch("norm_backward_kernel", 30);
          }
          s.launch("multi_tensor_apply_kernel<FusedAdam>", 20);
        }).starts_with("Backward was matched to layers by what repeats in it"));
}

TEST_CASE("layers: a trace of nothing has none") {
  const TablesReport layers = layers_in(gh::trace_from_text("return {}"));
  CHECK(layers.rows().empty());
  CHECK(support::contains(text_of(layers), "Nothing to show: no work on a GPU was recorded."));
  CHECK(json_of_layers({layers})["reports"][0]["rows"].empty());
  CHECK(support::lines_of(gh::render_layers_csv({layers})).size() == 1);
}

TEST_CASE("layers: text shows the tree, the odd one and what is left out") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    whole_program(s);
    run(s, "net.tiny", norm, 1);
  });
  const std::string text = text_of(layers, 140);
  CHECK(support::contains(text, "Times are of the mean step of 2.75 ms"));
  CHECK(!line_of(text, "net ").empty());
  CHECK(line_of(text, "blocks.* (6)").starts_with("    blocks.* (6)"));
  CHECK(line_of(text, "mlp").starts_with("      mlp"));
  CHECK(support::contains(
      text, "300.0 us to 900.0 us of work; blocks.4: 3.0 times the others' 300.0 us"));
  CHECK(!line_of(text, "(in no layer)").empty());
  CHECK(!line_of(text, "optimizer").empty());
  CHECK(line_of(text, "tiny").empty());
  CHECK(support::contains(text, "1 smaller one left out"));
  const std::string full = text_of(layers, 140, gh::Amount::full);
  CHECK(!line_of(full, "tiny").empty());
  CHECK_FALSE(support::contains(full, "left out"));
}

TEST_CASE("layers: a row that has all of the one around it is not shown, nor called smaller") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    s.range("Wrapper", [&] { run(s, "Inner", product, 500); });
    run(s, "optimizer", pointwise, 100);
  });
  REQUIRE(has_row(layers, "Wrapper.Inner"));
  const std::string text = text_of(layers, 140);
  CHECK(line_of(text, "Inner").empty());
  CHECK_FALSE(support::contains(text, "smaller"));
}

TEST_CASE("layers: where a window is narrow, text says which columns it lacks, and keeps to it") {
  const TablesReport layers = layers_of_steps(whole_program);
  for (const std::size_t width : {60, 80, 200}) {
    CAPTURE(width);
    const std::string text = text_of(layers, width);
    for (const std::string& line : support::lines_of(text)) {
      CAPTURE(line);
      CHECK(gh::display_width(line) <= width);
    }
    CHECK(support::contains(text, "No room here for") == (width < 200));
  }
  CHECK(support::contains(text_of(layers, 60), "SHARE"));  // what matters most stays
}

TEST_CASE("layers: JSON keeps to its schema and has what the text has") {
  const TablesReport layers = layers_of_steps(whole_program);
  const auto json = json_of_layers({layers});
  CHECK(support::verdict("schemas/layers.schema.json", json) == "valid");
  const auto& report = json["reports"][0];
  CHECK(report["total_ns"] == layers.total_ns);
  CHECK(report["path_ns"] == layers.path_ns);
  CHECK(report["rows_in_all"] == layers.rows().size());
  REQUIRE(report["rows"].size() == layers.rows().size());
  for (std::size_t i = 0; i < layers.rows().size(); ++i) {
    const TableRow& row = layers.rows()[i];
    const auto& r = report["rows"][i];
    CAPTURE(row.path);
    CHECK(r["path"] ==
          (row.path.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.path)));
    CHECK(r["parent"] == (row.parent == TableRow::no_parent ? nlohmann::ordered_json(nullptr)
                                                            : nlohmann::ordered_json(row.parent)));
    CHECK(r["total_ns"] == row.total_ns());
    CHECK(r["own_ns"] == row.own_ns);
    CHECK(r["forward_ns"] == row.forward_ns);
    CHECK(r["idle_ns"] == row.sum.idle_ns);
    CHECK(r["path_ns"] == row.path_ns);
    CHECK(r["launches"] == row.sum.launches);
    CHECK(r["bound_by"] == layers.rows()[i].bound_by);
    gh::Ns causes = 0;
    for (const auto& ns : r["causes_ns"]) causes += ns.get<gh::Ns>();
    CHECK(causes == row.total_ns());
  }
  const auto& blocks = report["rows"][1];
  REQUIRE(blocks["path"] == "net.blocks.*");
  REQUIRE(blocks["layers"].size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(blocks["layers"][i]["path"] == fmt::format("net.blocks.{}", i));
    CHECK(blocks["layers"][i]["odd"] == (i == 4));
  }
}

TEST_CASE("layers: CSV has a line for each row, quotes names and starts no formula") {
  const TablesReport layers = layers_of_steps([](Script& s) {
    run(s, "=HYPERLINK(\"x\"), and more", product, 100);
    run(s, "a \"quoted\" name", product, 90);
  });
  const auto lines = support::lines_of(gh::render_layers_csv({layers, layers}));
  REQUIRE(lines.size() == 1 + 2 * layers.rows().size());
  CHECK(lines[0].starts_with("report,path,depth,layers,total_ns,"));
  CHECK(lines[1].starts_with(R"("literal trace","'=HYPERLINK(""x""), and more",0,1,)"));
  CHECK(support::contains(lines[2], R"("a ""quoted"" name")"));
  const auto commas = [](const std::string& line) {
    bool quoted = false;
    std::size_t count = 0;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++count;
    }
    return count;
  };
  for (const std::string& line : lines) CHECK(commas(line) == commas(lines[0]));
}

TEST_CASE("layers: a comparison joins rows by path, and says what is new and gone") {
  const auto program = [](const std::string& last, double us) {
    return layers_of_steps([&](Script& s) {
      block(s, "net.block", us);
      run(s, "net." + last, product, 100);
    });
  };
  const gh::LayersComparison c = gh::compare_layers(program("old", 100), program("fresh", 150));
  const auto change = [&](const std::string& path) {
    for (const gh::LayerChange& change : c.changes)
      if (change.path == path) return change;
    FAIL("no ", path);
    return gh::LayerChange{};
  };
  // Of the mean step. Other layers cost what they did.
  CHECK(*change("net.block.mlp").before_ns == doctest::Approx(200'000).epsilon(0.01));
  CHECK(*change("net.block.mlp").after_ns == doctest::Approx(300'000).epsilon(0.01));
  CHECK_FALSE(change("net.fresh").before_ns);
  CHECK(*change("net.fresh").after_ns == doctest::Approx(100'000).epsilon(0.05));
  CHECK_FALSE(change("net.old").after_ns);
  CHECK(c.changes.back().path == "net.old");  // those that are gone come last
  std::set<std::string> once;
  for (const gh::LayerChange& change : c.changes) CHECK(once.insert(change.path).second);

  const std::string text = gh::render_layers_comparison_text(c, {});
  const std::string mlp = [&] {
    for (const std::string& line : support::lines_of(text))
      if (line.ends_with("net.block.mlp")) return line;
    return std::string();
  }();
  CHECK(support::contains(mlp, "200.0 us"));
  CHECK(support::contains(mlp, "300.0 us"));
  CHECK(support::contains(mlp, "+100.0 us"));
  CHECK(support::contains(mlp, "+50.0 %"));
  const auto json = nlohmann::ordered_json::parse(gh::render_layers_comparison_json(c));
  REQUIRE(json["layers"].size() == c.changes.size());
  CHECK(json["layers"].back()["path"] == "net.old");
  CHECK(json["layers"].back()["after_ns"] == nullptr);
}

TEST_CASE("layers: a comparison of recordings of different length compares steps") {
  const auto program = [](int steps) {
    Script s;
    s.steps(steps, [&] { run(s, "net.fc", product, 100); });
    return layers_in(s);
  };
  const gh::LayersComparison c = gh::compare_layers(program(4), program(9));
  REQUIRE(!c.changes.empty());
  CHECK(c.changes[0].path == "net");
  CHECK(*c.changes[0].before_ns == doctest::Approx(*c.changes[0].after_ns).epsilon(0.001));
}

TEST_CASE("layers: ranks and their devices are in the same rows") {
  Script s;
  for (const int rank : {0, 1})
    s.on("main", rank,
         [&] { s.steps(4, [&] { run(s, "net.fc", product, rank == 0 ? 100 : 200); }); });
  const TablesReport layers = layers_in(s);
  REQUIRE(layers.devices.size() == 2);
  const TableRow& fc = row_of(layers, "net.fc");
  REQUIRE(fc.sum.by_device.size() == 2);
  CHECK(fc.sum.by_device[1] > fc.sum.by_device[0]);
  CHECK(fc.sum.by_device[0] + fc.sum.by_device[1] == fc.total_ns());
}

TEST_CASE("layers: what was allocated in a layer counts for it at the peak") {
  Script s;
  s.steps(4, [&] {
    run(s, "net.first", product, 100);
    run(s, "net.second", product, 100);
  });
  gh::Trace t = s.nsys();
  gh::Allocations& a = t.allocations;
  a.by = gh::Allocator::framework;
  const auto allocate = [&](const std::string& range, std::int64_t bytes) {
    for (gh::Row r = 0; r < t.ranges.size(); ++r) {
      if (t.names[t.ranges.name[r]] != range) continue;
      a.start.push_back(t.ranges.start[r] + 100);
      a.address.push_back(static_cast<std::int64_t>(r) + 1);
      a.bytes.push_back(bytes);
      a.in_use.push_back(-1);
      a.reserved.push_back(-1);
      a.pool.push_back(0);
      a.device.push_back(0);
      a.process.push_back(0);
      a.thread.push_back(t.ranges.thread[r]);
      a.kind.push_back(gh::MemoryKind::device);
      a.correlation.push_back(0);
    }
  };
  allocate("net.first", 1000);
  allocate("net.second", 500);
  t.seal();
  const TablesReport layers = layers_in(std::move(t));
  REQUIRE(layers.memory.size() == 1);
  CHECK(row_of(layers, "net.first").peak_bytes == 2 * row_of(layers, "net.second").peak_bytes);
  CHECK(row_of(layers, "net").peak_bytes == layers.memory[0].timeline.peak.live_bytes);
}
