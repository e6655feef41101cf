#include "analysis/unit_names.hpp"

#include "analysis/periods.hpp"

namespace gh {

UnitNames::UnitNames(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const UnitHints& hints, const LaunchSequence& sequence)
    : trace_(trace), classes_(classes), names_(names), hints_(hints), seq_(sequence) {
  has_optimizer_ = content(0, seq_.size()).optimizer;
}

UnitContent UnitNames::content(std::size_t from, std::size_t to) const {
  UnitContent c;
  for (std::size_t i = from; i < to; ++i) {
    const Row op = seq_.op(i);
    if (seq_.waits(i) || seq_.is(i, OpKind::graph)) {
      c.meets_host = true;
    } else if (op == no_row) {
      continue;  // takes or returns memory
    } else if (seq_.is(i, OpKind::kernel)) {
      const std::string& k = classes_.kernel_classes()[names_.kernel[trace_.ops.name[op]]];
      c.optimizer = c.optimizer || k == "optimizer";
      c.loss_or_embedding = c.loss_or_embedding || k == "softmax_loss" || k == "embedding";
      c.product = c.product || k.starts_with("gem") || k == "attention_fused";
    } else if (trace_.ops.copy[op] == CopyKind::h2d || trace_.ops.copy[op] == CopyKind::d2h) {
      c.meets_host = true;
      c.input = c.input || trace_.ops.copy[op] == CopyKind::h2d;
    }
  }
  return c;
}

std::string UnitNames::name_of(std::size_t from, std::size_t to, const std::string& noun) const {
  const bool general = noun.empty() || noun == "step" || noun == "iteration" || noun == "batch";
  if (!general) return noun;
  const UnitContent c = content(from, to);
  if (c.optimizer || (hints_.training && !has_optimizer_)) return "training step";
  if (hints_.training && c.product) return has_optimizer_ ? "micro-batch" : "training step";
  if (hints_.tokens) {
    const std::vector<UnitLevel> inside = levels_within(from, to);
    return !inside.empty() && inside.front().name == "token" ? "request" : "token";
  }
  if (hints_.diffusion) return "denoising step";
  if (!noun.empty()) return noun;
  if (hints_.inference) return "batch";
  if (!hints_.models)
    for (std::size_t i = from; i < to; ++i)
      if (seq_.is(i, OpKind::kernel))
        if (std::string name = classes_.unit_of_kernel(trace_.names[trace_.ops.name[seq_.op(i)]]);
            !name.empty())
          return name;
  return "iteration";
}

std::vector<UnitLevel> UnitNames::levels_within(std::size_t from, std::size_t to) const {
  std::vector<UnitLevel> levels;
  if (!hints_.models) return levels;
  const bool steps = content(from, to).optimizer;
  while (const auto inner = repeat_within(seq_, from, to)) {
    from = inner->begin;
    to = from + inner->length;
    const UnitContent in = content(from, to);
    const bool whole = in.loss_or_embedding || in.input;  // passes of the model
    const bool batches = whole && steps, tokens = whole && hints_.tokens;
    if (!in.product || (whole && !batches && !tokens)) break;
    levels.push_back({batches  ? "micro-batch"
                      : tokens ? "token"
                               : "layer",
                      static_cast<std::int64_t>(inner->count)});
    if (!batches && !tokens) break;
  }
  return levels;
}

}  // namespace gh
