// The tree of a step's ranges.
#include "report/range_tree.hpp"

#include <map>

#include "support/traces.hpp"

using namespace support;
using gh::RangeNode;

namespace {

const RangeNode& node(const gh::RangeTree& tree, const std::string& name) {
  const auto at = std::find_if(tree.nodes.begin(), tree.nodes.end(),
                               [&](const RangeNode& n) { return n.name == name; });
  REQUIRE(at != tree.nodes.end());
  return *at;
}

std::string parent(const gh::RangeTree& tree, const RangeNode& n) {
  return n.parent == RangeNode::no_parent ? "" : tree.nodes[n.parent].name;
}

}  // namespace

TEST_CASE("range tree: nested ranges hold the GPU work that was launched in them") {
  const gh::Analysis a = analysed(R"(return { repeats = { times = 4, every = 1000 },
    ranges = { { -50, 900, 'step {n}' }, { -45, 300, 'forward' }, { -40, 100, 'layer 1' }, { 110, 250, 'layer 2' },
               { 310, 800, 'backward' } },
    ops = { { 0, 200, kernel = 'sm90_gemm_bf16', launched = { -20, -15 } },
            { 220, 320, kernel = 'sm90_gemm_bf16', launched = { 120, 125 } },
            { 330, 730, kernel = 'sm90_gemm_bf16', launched = { 320, 325 } },
            { 740, 760, kernel = 'vectorized_elementwise_kernel', launched = { 850, 855 } } } })");
  const gh::RangeTree tree = gh::range_tree_of(a, 100);
  CHECK(tree.left_out == 0);
  const RangeNode &step = node(tree, "step #"), &forward = node(tree, "forward"),
                  &layer = node(tree, "layer #"), &backward = node(tree, "backward");
  CHECK(parent(tree, step).empty());
  CHECK(parent(tree, forward) == "step #");
  CHECK(parent(tree, layer) == "forward");
  CHECK(parent(tree, backward) == "step #");
  CHECK(layer.depth == 2);
  // Both layers of a step are one node.
  CHECK(layer.count == doctest::Approx(2).epsilon(0.3));
  CHECK(forward.device_ns == doctest::Approx(300'000).epsilon(0.01));
  CHECK(layer.device_ns == doctest::Approx(forward.device_ns));
  CHECK(backward.device_ns == doctest::Approx(400'000).epsilon(0.01));
  CHECK(step.device_ns == doctest::Approx(tree.device_ns).epsilon(0.05));
}

TEST_CASE(
    "range tree: a node of a recording holds what lies in it, and few nodes are the costliest") {
  for (const char* name : {"starved", "eager-autogradnvtx", "hftrainer"}) {
    INFO(name);
    const gh::Analysis a = analysed(recorded(name));
    const gh::RangeTree tree = gh::range_tree_of(a, 1'000);
    REQUIRE(!tree.nodes.empty());
    std::vector<double> device_of_children(tree.nodes.size());
    double outermost = 0;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const RangeNode& n = tree.nodes[i];
      if (n.parent == RangeNode::no_parent) {
        CHECK(n.depth == 0);
        outermost += n.device_ns;
        continue;
      }
      REQUIRE(n.parent < i);
      CHECK(n.depth == tree.nodes[n.parent].depth + 1);
      device_of_children[n.parent] += n.device_ns;
    }
    for (std::size_t i = 0; i < tree.nodes.size(); ++i)
      CHECK(device_of_children[i] <= tree.nodes[i].device_ns * 1.0001 + 1);
    CHECK(outermost <= tree.device_ns * 1.0001);
    const gh::RangeTree few = gh::range_tree_of(a, 5);
    CHECK(few.nodes.size() == std::min<std::size_t>(5, tree.nodes.size()));
    CHECK(few.left_out + few.nodes.size() == tree.left_out + tree.nodes.size());
    double most = 0;
    for (const RangeNode& n : tree.nodes) most = std::max(most, n.host_ns);
    CHECK(std::any_of(few.nodes.begin(), few.nodes.end(),
                      [&](const RangeNode& n) { return n.host_ns == most; }));
  }
}

TEST_CASE("range tree: backward's operators lie in the range of the thread that called it") {
  const gh::Analysis a = analysed(recorded("eager-autogradnvtx"));
  const gh::RangeTree tree = gh::range_tree_of(a, 1'000);
  bool found = false;
  for (const RangeNode& n : tree.nodes)
    if (n.name.find("Backward0") != n.name.npos && n.parent != RangeNode::no_parent) found = true;
  CHECK(found);
}

TEST_CASE("range tree: no ranges, no tree") {
  CHECK(gh::range_tree_of(analysed("return { ops = { { 0, 100, kernel = 'a' } } }"), 100)
            .nodes.empty());
}
