#include "whatif/graph_capture.hpp"

#include <utility>

namespace gh {
namespace {

// While a graph is captured, the program cannot allocate or free memory, compile or load code, or
// wait for anything.
bool can_be_captured(CallClass call) {
  switch (call) {
    case CallClass::sync:
    case CallClass::copy_sync:
    case CallClass::allocation:
    case CallClass::compilation:
    case CallClass::loading: return false;
    default: return true;
  }
}

}  // namespace

GraphCapture::GraphCapture(const ReplayGraph& graph, const std::vector<Row>& ops, Guess guess)
    : graph_(graph),
      guess_(guess),
      launches_(graph.steps.calls.count, Launches::nothing),
      step_(graph.steps.calls.count),
      begins_(graph.steps.calls.count) {
  const auto mark = [&](Row op, Launches what) {
    const Row call = graph.launch_of(op);
    if (call == no_row) return;
    launches_[call - graph.steps.calls.first] = what;
    step_[call - graph.steps.calls.first] = graph.steps.step_of(op);
  };
  for (Row op = graph.steps.ops.first; op < graph.steps.ops.end(); ++op) mark(op, Launches::others);
  for (const Row op : ops)
    if (graph.steps.ops.holds(op)) mark(op, Launches::captured);
  for (const std::vector<Row>& calls : graph.thread_calls) capture(calls);
}

bool GraphCapture::begins_graph(Row op) const {
  const Row call = graph_.launch_of(op);
  return call != no_row && begins_[call - graph_.steps.calls.first] != 0;
}

// Processes the calls of one thread.
void GraphCapture::capture(const std::vector<Row>& calls) {
  bool under_way = false;
  std::int16_t step = -1;
  std::vector<Row> between;  // calls since the last captured launch
  for (const Row c : calls) {
    const std::size_t at = c - graph_.steps.calls.first;
    if (guess_ == Guess::most && works_before(c)) under_way = false;
    if (launches_[at] == Launches::captured) {
      if (std::exchange(step, step_[at]) != step_[at] && guess_ != Guess::least) under_way = false;
      if (under_way) {
        needless_.insert(needless_.end(), between.begin(), between.end());
        needless_.push_back(c);
      }
      begins_[at] = !under_way;
      under_way = true;
      between.clear();
    } else if (launches_[at] == Launches::others || !can_be_captured(graph_.call_class(c))) {
      under_way = false;  // it keeps its place between what comes before and after
    } else {
      between.push_back(c);
    }
    if (graph_.recorded.has(graph_.end_node(c), edge::wait)) under_way = false;
  }
}

// Whether the thread did more before a call than prepare a launch, counting from its last call or
// from when the thread that it waited for was done.
bool GraphCapture::works_before(Row call) const {
  const Node b = graph_.begin_node(call);
  const Edges& e = graph_.recorded;
  const std::size_t place = e.has(b, edge::handover) ? edge::handover : edge::previous;
  return e.from[b][place] != origin && e.weight[b][place] > longest_preparation_ns;
}

}  // namespace gh
