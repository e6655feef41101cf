// Whose time it is, by each row of schemas/owners.toml.
#include "analysis/structure/code_owners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analysis/structure/structure.hpp"
#include "base/schema_table.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"

using namespace gh;

namespace {

std::string analysed_owner(const std::string& trace, TimeOf of) {
  const Analysis a(trace_from_text(trace), Classes(), {});
  std::vector<HostMoment> moments;
  if (of == TimeOf::wait) {
    for (Row c = 0; c < a.trace.calls.size(); ++c)
      if (a.trace.names[a.trace.calls.name[c]] == "cudaStreamSynchronize")
        moments.push_back({of, a.trace.calls.thread[c], c, {}, 1});
  } else {
    moments.push_back({of, a.trace.calls.thread[0], no_row, {1000'000, 9000'000}, 1});
  }
  REQUIRE_FALSE(moments.empty());
  const CodeOwner owner = a.structure().owners().of(moments).front();
  return fmt::format("{}: {}", owner.known ? owner.known->key : "-", owner.name);
}

// A kernel, a value that is read back within an operator or without any, and more work; `before` is
// the operator before that.
std::string wait_in(const std::string& range, const std::string& before,
                    const std::string& kernel = "k") {
  const auto named = [](int from, int to, const std::string& name) {
    return name.empty() ? "" : fmt::format("{{ {}, {}, \"{}\" }},", from, to, name);
  };
  return fmt::format(R"(return {{
    ranges = {{ {} {} }},
    ops = {{ {{ 100, 900, kernel = "{}", launched = {{ 50, 55 }} }},
             {{ 900, 902, copy = "d2h", bytes = 4, launched = {{ 120, 125 }} }},
             {{ 20000, 20100, kernel = "next", launched = {{ 19980, 19985 }} }} }},
    calls = {{ {{ 130, 905, "cudaStreamSynchronize" }} }} }})",
                     named(40, 60, before), named(110, 910, range), kernel);
}

// The GPU is idle while the thread is in a range or a function.
std::string work_in(const std::string& range, const std::string& function = "",
                    const std::string& module = "") {
  std::string samples;
  for (int at = 1000; at < 9000 && !function.empty(); at += 500)
    samples +=
        fmt::format("{{ {}, \"{}\", module = \"{}\", python = true }},", at, function, module);
  return fmt::format(R"(return {{
    ranges = {{ {} }}, host_samples = {{ {} }},
    ops = {{ {{ 100, 900, kernel = "k", launched = {{ 50, 55 }} }},
             {{ 9100, 9200, kernel = "k", launched = {{ 9050, 9055 }} }},
             {{ 40000, 40100, kernel = "k", launched = {{ 39980, 39985 }} }} }} }})",
                     range.empty() ? "" : fmt::format("{{ 950, 9010, \"{}\" }}", range), samples);
}

}  // namespace

TEST_CASE("code owners: each row of the table is found by what the host is in or has left") {
  std::set<std::string> found;
  const auto waits = [&](const std::string& key, const std::string& range,
                         const std::string& before, const std::string& kernel = "k") {
    CHECK(analysed_owner(wait_in(range, before, kernel), TimeOf::wait) == key + ": " + range);
    found.insert(key);
  };
  const auto works = [&](const std::string& key, const std::string& range) {
    CHECK(analysed_owner(work_in(range), TimeOf::work) == key + ": " + range);
    found.insert(key);
  };
  waits("autotuning", "aten::cudnn_convolution", "");
  waits("autotuning", "cudnnFindConvolutionForwardAlgorithm", "");
  waits("scaler", "aten::item", "aten::_amp_foreach_non_finite_check_and_unscale_");
  waits("argument_checks", "torch/distributions/distribution.py(60): __init__", "aten::all");
  waits("flags", "aten::is_nonzero", "aten::any");
  waits("flags", "aten::item", "aten::isfinite");
  waits("norm", "aten::item", "aten::linalg_vector_norm");
  waits("sampled", "aten::item", "aten::argmax");
  waits("sizes", "aten::nonzero", "");
  waits("sizes", "aten::masked_select", "aten::mul");
  waits("counters", "Optimizer.step#Adam.step", "");
  works("tokenizer", "tokenize");
  works("images", "decode_jpeg");
  works("random", "aten::randn");
  works("logging", "log_metrics");
  works("checkpoint", "save_checkpoint");
  works("metrics", "compute_metrics");
  works("numpy", "numpy.linalg.solve");
  works("cpu_operator", "aten::topk");
  works("created", "cudaStreamCreateWithFlags");
  works("system_memory", "munmap");
  for (const char* pass : {"forward", "## backward ##", "DistributedDataParallel.forward",
                           "optimizer", "aten::narrow"})
    works("framework", pass);

  std::set<std::string> listed;
  each_entry(schema_table("schemas/owners.toml"), "owner", [&](const toml::table& entry) {
    listed.insert(entry["key"].value_or(std::string()));
  });
  CHECK(found == listed);
}

TEST_CASE("code owners: a function or its library tells as a range does") {
  CHECK(analysed_owner(work_in("", "_batch_encode_plus", "tokenization_utils_fast.py"),
                       TimeOf::work) == "tokenizer: _batch_encode_plus");
  // It may as well decode.
  CHECK(analysed_owner(work_in("", "decode", "tokenization_utils_fast.py"), TimeOf::work) ==
        "-: decode");
  CHECK(analysed_owner(work_in("", "resize (PIL.Image)", "PIL"), TimeOf::work) ==
        "-: resize (PIL.Image)");
  CHECK(analysed_owner(work_in("", "load (torch.serialization)", "pickle.py"), TimeOf::work) ==
        "-: load (torch.serialization)");
  CHECK(analysed_owner(work_in("", "open (PIL.Image)", "PIL"), TimeOf::work) ==
        "images: open (PIL.Image)");
  CHECK(analysed_owner(work_in("", "ImagingJpegDecode", "libjpeg.so.62"), TimeOf::work) ==
        "images: libjpeg.so.62");
  CHECK(analysed_owner(work_in("prepare", "dot (numpy.core)", "numpy"), TimeOf::work) ==
        "numpy: dot (numpy.core)");
}

TEST_CASE("code owners: without operators the kernel whose result is read back tells") {
  const std::string norm = "reduce_kernel<512, 1, ReduceOp<float, at::native::NormTwoOps<float>>>";
  CHECK(analysed_owner(wait_in("", "", norm), TimeOf::wait) == "norm: ");
  // A range of the program is no operator; an operator that reads nothing back is.
  CHECK(analysed_owner(wait_in("clip", "", norm), TimeOf::wait) == "norm: clip");
  CHECK(analysed_owner(wait_in("aten::copy_", "", norm), TimeOf::wait) == "-: aten::copy_");
}

TEST_CASE("code owners: what looks like one of them is not") {
  // The product before, not the argmax before that.
  CHECK(analysed_owner(wait_in("aten::item", "aten::mm"), TimeOf::wait) == "-: aten::item");
  // A wait in a tokenizer's range is no work of the tokenizer, and work in item no wait.
  CHECK(analysed_owner(wait_in("tokenize", ""), TimeOf::wait) == "-: tokenize");
  CHECK(analysed_owner(work_in("aten::item"), TimeOf::work) == "framework: aten::item");
  // What the program does within a pass is its own.
  CHECK(analysed_owner(R"(return {
    ranges = { { 940, 9020, "forward" }, { 950, 9010, "simulate" } },
    ops = { { 100, 900, kernel = "k", launched = { 50, 55 } },
            { 9100, 9200, kernel = "k", launched = { 9050, 9055 } },
            { 40000, 40100, kernel = "k", launched = { 39980, 39985 } } } })",
                       TimeOf::work) == "-: simulate");
  CHECK(analysed_owner(work_in("untokenized_images"), TimeOf::work) == "-: untokenized_images");
  CHECK(analysed_owner(work_in("randomize"), TimeOf::work) == "-: randomize");
  CHECK(analysed_owner(work_in("catalog_blog_metrics_x"), TimeOf::work) ==
        "-: catalog_blog_metrics_x");
}

TEST_CASE("code owners: a range as long as half a step owns nothing") {
  const std::string trace = R"(return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9000, "tokenize and train {n}" } },
    ops = { { 100, 900, kernel = "k", launched = { 50, 55 } },
            { 9000, 9900, kernel = "k", launched = { 8950, 8955 } } } })";
  CHECK(analysed_owner(trace, TimeOf::work) == "-: ");
}

TEST_CASE("code owners: of several the one of most time comes first, and shares are whole") {
  const Analysis a(trace_from_text(R"(return {
    ranges = { { 110, 910, "aten::item" }, { 1110, 1910, "aten::nonzero" } },
    ops = { { 100, 900, kernel = "k", launched = { 50, 55 } },
            { 20000, 20100, kernel = "k", launched = { 19980, 19985 } } },
    calls = { { 130, 905, "cudaStreamSynchronize" }, { 1130, 1905, "cudaStreamSynchronize" } } })"),
                   Classes(), {});
  std::vector<HostMoment> moments;
  for (const Row c : {1, 2})
    moments.push_back({TimeOf::wait, a.trace.calls.thread[c], c, {}, c == 1 ? 10 : 30});
  const std::vector<CodeOwner> owners = a.structure().owners().of(moments);
  REQUIRE(owners.size() == 2);
  CHECK(owners[0].name == "aten::nonzero");
  CHECK(owners[0].ns == 30);
  CHECK(owners[0].moments == std::vector<std::size_t>{1});
  CHECK(owners[1].name == "aten::item");
  CHECK(owners[1].ns == 10);
}
