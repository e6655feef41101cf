#include "analysis/structure/repeated_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace gh {
namespace {

using Token = LaunchSequence::Token;

// A longer step, or a window without steps, is no step of a model.
constexpr std::size_t most_launches = 200'000;
// Of the device's work: less is not looked into.
constexpr double least_share = 0.1;
// The same of a run.
constexpr double least_run_share = 0.03;
constexpr std::size_t most_kernel_letters = 28, most_repeated_layers = 200'000;

// "cutlass_80_tensorop_bf16_s16": what tells a kernel from others, without what all have.
std::string short_name(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  if (const std::size_t at = kernel.find("cutlass_"); at != kernel.npos) kernel.remove_prefix(at);
  kernel = kernel.substr(0, kernel.find_first_of("(<"));
  if (const std::size_t at = kernel.rfind("::"); at != kernel.npos) kernel.remove_prefix(at + 2);
  std::size_t letters = std::min(kernel.size(), most_kernel_letters);
  while (letters > 0 && letters < kernel.size() && (kernel[letters] & 0xC0) == 0x80)
    --letters;  // not within a character of several bytes
  return std::string(kernel.substr(0, letters));
}

}  // namespace

// Work of one device that lies in one layer and pass, and is not told apart.
struct RepeatedLayers::Pile {
  LayerId layer = outside;
  Pass pass = Pass::other;
  std::vector<Row> ops;
  Ns ns = 0;
  std::size_t device = 0;
  Ns device_ns = 0;  // of all work of the device
};

RepeatedLayers::RepeatedLayers(ProgramLayers& layers, const Analysis& analysis)
    : layers_(layers), a_(analysis), t_(analysis.trace) {
  const ProgramKind& program = a_.program;
  runs_models_ = program.runs_models() || program.is("training") || program.is("inference") ||
                 program.is("tokens");
  has_backward_ = std::any_of(layers.origins_.begin(), layers.origins_.end(),
                              [](const Origin& o) { return o.pass == Pass::backward; });
  for (std::size_t d = 0; d < a_.devices.size(); ++d)
    for (const Pile& pile : piles(d)) divide(d, pile);
}

std::vector<RepeatedLayers::Pile> RepeatedLayers::piles(std::size_t device) const {
  std::vector<bool> has_children(layers_.layers_.size());  // with work
  a_.each_op_in_steps(device, [&](Row op) {
    const LayerId layer = layers_.origin(layers_.of_call(t_.ops.call[op])).layer;
    for (LayerId l = layers_[layer].parent; layer != outside && !has_children[l];
         l = layers_[l].parent)
      has_children[l] = true;
  });
  std::map<std::pair<Pass, LayerId>, Pile> by;  // forward before backward
  Ns all = 0;
  a_.each_op_in_steps(device, [&](Row op) {
    if (a_.devices[device].other_crew_of(t_, op) != no_index) return;
    const Origin& o = layers_.origin(layers_.of_call(t_.ops.call[op]));
    const Ns ns = t_.ops.end[op] - t_.ops.start[op];
    all += ns;
    if (o.layer != outside && has_children[o.layer]) return;
    Pile& pile = by[{o.pass, o.layer}];
    pile.layer = o.layer;
    pile.pass = o.pass;
    pile.ops.push_back(op);
    pile.ns += ns;
  });
  std::vector<Pile> large;
  for (auto& [key, pile] : by)
    if (static_cast<double>(pile.ns) >= least_share * static_cast<double>(all)) {
      pile.device = device;
      pile.device_ns = all;
      large.push_back(std::move(pile));
    }
  return large;
}

void RepeatedLayers::divide(std::size_t device, const Pile& pile) {
  const LaunchSequence sequence(t_, a_.classes, a_.names, pile.ops, {0, 0});
  const auto step_of = [&](std::size_t i) {
    const Row op = sequence.op(i);
    return op == no_row ? 0 : a_.devices[device].step_at(t_.ops.start[op]);
  };
  const std::vector<Token>& tokens = sequence.exact().at;
  std::size_t before = 0, before_length = 0;
  std::vector<RepeatedRun> runs;
  for (std::size_t from = 0, to = 0; from < sequence.size(); from = to) {
    while (to < sequence.size() && step_of(to) <= step_of(from)) ++to;
    // Steps are mostly equal.
    const bool same = to - from == before_length && before_length > 0 &&
                      std::equal(tokens.begin() + static_cast<std::ptrdiff_t>(from),
                                 tokens.begin() + static_cast<std::ptrdiff_t>(to),
                                 tokens.begin() + static_cast<std::ptrdiff_t>(before));
    if (same)
      for (RepeatedRun& run : runs)
        for (std::size_t& cut : run.cuts) cut += from - before;
    else if (to - from <= most_launches)
      runs = repeated_runs(sequence, from, to);
    else
      runs.clear();
    before = from;
    before_length = to - from;
    take_runs(sequence, runs, pile);
  }
}

// The runs of one step.
void RepeatedLayers::take_runs(const LaunchSequence& sequence, const std::vector<RepeatedRun>& runs,
                               const Pile& pile) {
  struct Taken {
    const RepeatedRun* run = nullptr;
    Content content;
    const RepeatedRun* backward = nullptr;  // of this one
    bool is_backward = false;
  };
  std::vector<Taken> taken;
  for (const RepeatedRun& run : runs)
    if (Content content = content_of(sequence, run); is_worth(content, pile))
      taken.push_back({&run, content, nullptr, false});
  // Where the thread does not tell the passes apart: the second of two runs of as many units is the
  // backward of the first.
  const bool untold = pile.pass == Pass::other && a_.program.is("training");
  for (std::size_t i = 0; untold && !has_backward_ && i < taken.size(); ++i)
    for (std::size_t k = i + 1; k < taken.size() && !taken[i].is_backward && !taken[i].backward;
         ++k)
      if (taken[k].run->count() == taken[i].run->count() && !taken[k].is_backward) {
        taken[i].backward = taken[k].run;
        taken[k].is_backward = true;
      }
  for (const Taken& one : taken) {
    if (one.is_backward) continue;
    std::vector<LayerId> layers;
    if (pile.pass == Pass::backward) {
      layers = layers_named(pile.layer, one.run->count());
      layers_.has_matched_backward_ |= !layers.empty();
    }
    const bool matched = !layers.empty();
    // What repeats in backward alone is no layer: time steps of a policy, convolutions.
    if (pile.pass == Pass::backward && !matched) continue;
    if (!matched) layers = made(pile, one.run->count(), one.content);
    if (layers.size() < one.run->count()) continue;
    const bool forward = untold && (one.backward != nullptr || has_backward_);
    assign(sequence, *one.run, layers, matched, forward ? Pass::forward : pile.pass);
    if (one.backward) {
      assign(sequence, *one.backward, layers, true, Pass::backward);
      layers_.has_matched_backward_ = true;
    }
  }
}

// What is in the units of a run.
RepeatedLayers::Content RepeatedLayers::content_of(const LaunchSequence& sequence,
                                                   const RepeatedRun& run) const {
  Content c;
  std::map<NameId, Ns> products, others;
  for (std::size_t i = run.cuts.front(); i < run.cuts.back(); ++i) {
    const Row op = sequence.op(i);
    if (op == no_row) continue;
    c.ns += sequence.busy_ns(i);
    c.meets_host |= t_.ops.copy[op] == CopyKind::h2d || t_.ops.copy[op] == CopyKind::d2h;
    if (!sequence.is(i, OpKind::kernel)) continue;
    const NameId name = t_.ops.name[op];
    const KernelClass of = a_.names.kernel[name];
    c.whole_model |= of == KernelClass::softmax_loss || of == KernelClass::embedding ||
                     of == KernelClass::optimizer;
    (a_.classes.is_product(of) ? products : others)[name] += sequence.busy_ns(i);
    c.kernels.insert(name);
  }
  c.product = !products.empty();
  const auto& from = c.product ? products : others;
  const auto most = std::max_element(
      from.begin(), from.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  c.kernel = most == from.end() ? 0 : most->first;
  return c;
}

// Layers of a model multiply, do not meet the host, and are not all of the model.
bool RepeatedLayers::is_worth(const Content& c, const Pile& pile) const {
  const auto steps =
      static_cast<double>(std::max<std::size_t>(a_.devices[pile.device].steps.size(), 1));
  if (c.kernel == 0 ||
      static_cast<double>(c.ns) * steps < least_run_share * static_cast<double>(pile.device_ns))
    return false;
  if (runs_models_ || pile.layer != outside) return c.product && !c.meets_host && !c.whole_model;
  return true;
}

void RepeatedLayers::assign(const LaunchSequence& sequence, const RepeatedRun& run,
                            const std::vector<LayerId>& layers, bool last_first, Pass pass) {
  layers_.has_repeated_ = true;
  if (of_op_.empty()) of_op_.resize(t_.ops.size());
  for (std::size_t n = 0; n < run.count(); ++n)
    for (std::size_t i = run.cuts[n]; i < run.cuts[n + 1]; ++i)
      if (const Row op = sequence.op(i); op != no_row) {
        const Row call = t_.ops.call[op];
        const OriginId launched = layers_.of_call(call);
        const LayerId layer = layers[last_first ? layers.size() - 1 - n : n];
        OriginId& id = ids_[{launched, layer, pass}];
        if (id == 0) {
          Origin o = layers_.origin(launched);
          o.layer = layer;
          o.pass = pass;
          id = static_cast<OriginId>(layers_.origins_.size());
          layers_.origins_.push_back(o);
        }
        of_op_[op] = id;
        // A graph's launch is of all its layers.
        if (call != no_row && t_.ops.in_graph[op] == 0) layers_.of_call_[call] = id;
      }
}

// As many layers within one as there are units, which a range or an earlier run names.
std::vector<LayerId> RepeatedLayers::layers_named(LayerId within, std::size_t count) {
  const auto [known, is_new] = named_layers_.try_emplace({within, count});
  if (!is_new) return known->second;
  std::map<std::pair<LayerId, std::string>, std::vector<LayerId>> alike;
  for (LayerId l = 1; l < layers_.layers_.size(); ++l)
    if (const Layer& layer = layers_.layers_[l]; !layer.stem.empty())
      alike[{layer.parent, layer.stem}].push_back(l);
  const std::vector<LayerId>* best = nullptr;
  for (const auto& [key, members] : alike)
    if (members.size() == count && (within == outside || key.first == within) &&
        (!best || layers_[members.front()].depth < layers_[best->front()].depth))
      best = &members;
  if (best) known->second = *best;
  return known->second;
}

std::vector<LayerId> RepeatedLayers::made(const Pile& pile, std::size_t count, const Content& c) {
  const std::string noun = c.product && runs_models_ ? "layer" : "part";
  std::string what = "of " + short_name(t_.names[c.kernel]),
              stem = fmt::format("{} * {}", noun, what);
  if (layers_.layers_.size() + count > most_repeated_layers) return {};
  const auto [it, is_new] = made_.try_emplace({pile.layer, count, c.kernels});
  if (is_new) named_layers_.clear();
  std::vector<LayerId>& made = it->second;
  // Others that are named by the same kernel.
  if (is_new) {
    const std::size_t others = named_[fmt::format("{} {}", pile.layer, stem)]++;
    if (others > 0) what += fmt::format(", {}", others + 1);
    stem = fmt::format("{} * {}", noun, what);
  }
  for (std::size_t n = made.size(); n < count; ++n) {
    made.push_back(static_cast<LayerId>(layers_.layers_.size()));
    Layer layer;
    layer.parent = pile.layer;
    layer.depth = layers_[pile.layer].depth + 1;
    layer.name = fmt::format("{} {} {}", noun, n, what);
    layer.stem = stem;
    layer.is_found = true;
    layers_.layers_.push_back(std::move(layer));
  }
  return made;
}

}  // namespace gh
