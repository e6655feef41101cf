#include "analysis/unit_names.hpp"

#include <set>

#include "analysis/inner_repeat.hpp"

namespace gh {
namespace {

bool is_sine(const std::string& kernel) {
  return kernel.find("sin_kernel") != std::string::npos ||
         kernel.find("cos_kernel") != std::string::npos;
}

}  // namespace

UnitNames::UnitNames(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const ProgramKind& program, const LaunchSequence& sequence)
    : trace_(trace), classes_(classes), names_(names), program_(program), seq_(sequence) {
  if (program.is("diffusion")) {
    // Look at each name once, not at each launch.
    for (std::size_t i = 0; i < seq_.size(); ++i)
      if (seq_.is(i, OpKind::kernel)) sines_.try_emplace(trace_.ops.name[seq_.op(i)], false);
    for (auto& [name, sine] : sines_) sine = is_sine(trace_.names[name]);
  }
  has_optimizer_ = content(0, seq_.size()).optimizer;
}

std::size_t UnitNames::updates(std::size_t from, std::size_t to) const {
  std::size_t count = 0;
  for (std::size_t i = from; i < to; ++i)
    count += seq_.op(i) != no_row && seq_.is(i, OpKind::kernel) &&
             names_.kernel[trace_.ops.name[seq_.op(i)]] == KernelClass::optimizer;
  return count;
}

UnitContent UnitNames::content(std::size_t from, std::size_t to) const {
  UnitContent c;
  for (std::size_t i = from; i < to; ++i) {
    const Row op = seq_.op(i);
    if (seq_.waits(i) || seq_.is(i, OpKind::graph)) {
      c.meets_host = true;
    } else if (op == no_row) {
      continue;  // allocates or frees memory
    } else if (seq_.is(i, OpKind::kernel)) {
      const KernelClass k = names_.kernel[trace_.ops.name[op]];
      c.optimizer = c.optimizer || k == KernelClass::optimizer;
      c.loss_or_embedding =
          c.loss_or_embedding || k == KernelClass::softmax_loss || k == KernelClass::embedding;
      c.product = c.product || classes_.is_product(k);
      c.time_embedding = c.time_embedding || is_known_sine(trace_.ops.name[op]);
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
  const bool trains = program_.is("training");
  if (c.optimizer || (trains && !has_optimizer_ && c.product)) return "training step";
  if (trains && c.is_pass()) return "micro-batch";
  const std::vector<UnitLevel> inside = levels_within(from, to);
  const auto holds = [&](const char* level) {
    return !inside.empty() && inside.front().name == level;
  };
  if (are_tokens()) return holds("token") ? "request" : "token";
  if (program_.is("diffusion")) return holds("denoising step") ? "image" : "denoising step";
  if (!noun.empty()) return noun;
  if (program_.is("inference")) return "batch";
  if (!program_.runs_models()) {
    std::set<NameId> kernels;  // in order, so that the result is the same on every machine
    for (std::size_t i = from; i < to; ++i)
      if (seq_.is(i, OpKind::kernel)) kernels.insert(trace_.ops.name[seq_.op(i)]);
    for (const NameId kernel : kernels)
      if (std::string name = classes_.unit_of_kernel(trace_.names[kernel]); !name.empty())
        return name;
  }
  return "iteration";
}

std::string UnitNames::name_within(const UnitContent& unit, const UnitContent& inner,
                                   double share) const {
  constexpr double most = 0.75;
  if (!inner.product) return "";
  if (inner.is_pass()) {
    // Layers take in their weights where these are offloaded, but no loss.
    if (unit.optimizer)
      return unit.loss_or_embedding && !inner.loss_or_embedding ? "" : "micro-batch";
    return are_tokens() && share >= most ? "token" : "";
  }
  if (program_.is("diffusion") && inner.time_embedding && share >= most) return "denoising step";
  // Backward takes twice as long as forward; without it layers take nearly all of the time.
  const bool trains = unit.optimizer || program_.is("training");
  return trains || share >= 0.6 ? "layer" : "";
}

std::vector<UnitLevel> UnitNames::levels_within(const Period& period) const {
  const std::vector<std::size_t> places = completed(seq_, period);
  if (places.size() == period.length())
    return levels_within(period.begin_of(period.typical), period.end_of(period.typical));
  const LaunchSequence whole = seq_.at(places);
  return UnitNames(trace_, classes_, names_, program_, whole).levels_within(0, whole.size());
}

std::vector<UnitLevel> UnitNames::levels_within(std::size_t from, std::size_t to) const {
  std::vector<UnitLevel> levels;
  if (!may_be_layers()) return levels;
  const UnitContent unit = content(from, to);
  while (const auto inner = repeat_within(seq_, from, to)) {
    from = inner->begin;
    to = from + inner->length;
    const std::string name = name_within(unit, content(from, to), inner->share);
    // A recurrent layer holds its time's steps; but a model that runs several times is no layer.
    if (name == "layer" && !trains() && holds_layers(seq_, from, to)) break;
    if (name.empty() || (!levels.empty() && name == levels.back().name)) break;
    levels.push_back({name, static_cast<std::int64_t>(inner->count)});
    if (name == "layer") break;
  }
  return levels;
}

}  // namespace gh
