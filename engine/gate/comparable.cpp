// Whether captures are of one program, recorded the same way on the same GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

// A count has to differ by more than this for another program: some steps do something extra.
constexpr double same_count = 0.03, same_gemms = 0.05, same_flops = 0.02;

bool differ(double a, double b, double tolerance) {
  return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
}

std::string count_text(double n) {
  return std::abs(n - std::round(n)) < 0.05 ? fmt::format("{:.0f}", n) : fmt::format("{:.1f}", n);
}

// "2 x NVIDIA H200, 132 SMs"
std::string gpus_text(const std::vector<std::string>& devices) {
  std::string text;
  for (auto it = devices.begin(); it != devices.end();) {
    const auto next = std::upper_bound(it, devices.end(), *it);
    if (!text.empty()) text += " and ";
    if (next - it > 1) text += fmt::format("{} x ", next - it);
    text += *it;
    it = next;
  }
  return text;
}

Collected state_of(const Capture& c, Source source) {
  const auto it = c.sources.find(name_of(source));
  return it == c.sources.end() ? Collected::unknown : it->second;
}

// ---- one capture

std::optional<double> fact_of(const Capture& c, const char* name) {
  const auto fact = c.facts.find(name);
  return fact == c.facts.end() ? std::nullopt : fact->second.value;
}

double mean_length(const std::vector<Ns>& lengths) {
  double sum = 0;
  for (const Ns ns : lengths) sum += static_cast<double>(ns);
  return lengths.empty() ? 0 : sum / static_cast<double>(lengths.size());
}

void add_what_it_lacks(const Capture& c, std::vector<std::string>& reasons) {
  const Collected kernels = state_of(c, Source::kernels);
  if (c.step_ns.empty()) {
    add_once(fmt::format("{} holds no GPU work; record it again", c.path), reasons);
  } else if (kernels != Collected::yes && kernels != Collected::nothing_happened) {
    add_once(fmt::format("{} holds no kernels; record it again with --trace=cuda", c.path),
             reasons);
  } else if (c.unit == window_unit) {
    add_once(
        fmt::format(
            "no steps were found in {}, so its length says nothing; mark the steps with ranges "
            "([ranges] step), or choose a part with --range",
            c.path),
        reasons);
  }
  // Of more steps than are kept, rare ones may be missed, or counted for too many.
  const auto mean_ns = fact_of(c, "step.mean_ns");
  if (c.step_ns.size() == most_steps && mean_ns &&
      differ(mean_length(c.step_ns), *mean_ns, same_count))
    add_once(
        fmt::format("{} has more {} than are compared, {}, and they are too uneven: their mean "
                    "is {}, that of all {}; choose fewer with --steps",
                    c.path, UnitWords(c.unit).many, most_steps, duration(mean_length(c.step_ns)),
                    duration(*mean_ns)),
        reasons);
  for (const std::string& doubt : c.doubts)
    add_once(fmt::format("{} is in doubt: {}", c.path, doubt), reasons);
  // A bad recording is not the fault of the merge.
  for (const Finding& f : c.findings) {
    if (f.voids || (f.category == "capture" && f.severity != Severity::note)) {
      add_once(fmt::format("{} is in doubt: {}", c.path, f.message), reasons);
    }
  }
}

// ---- two programs

// Whether the kernels that two programs share have different grids: kernels of the loss, or of
// GEMMs and attention. Another precision uses other kernels: if they share less than a quarter,
// grids say nothing.
std::optional<bool> grids_differ(const std::vector<Grid>& a, const std::vector<Grid>& b,
                                 bool loss) {
  struct Use {
    std::array<double, 2> count{}, blocks{};  // of a and of b
  };
  std::map<std::string, Use> kernels;
  std::map<std::pair<std::string, std::int64_t>, Use> grids;
  double all = 0;     // launches a step, of a
  double uneven = 0;  // of both, those of grids that not every step launches
  for (const std::size_t side : {0, 1}) {
    for (const Grid& g : side == 0 ? a : b) {
      if ((kernel_class_named(g.kernel_class) == KernelClass::softmax_loss) != loss) continue;
      Use& kernel = kernels[g.kernel];
      kernel.count[side] += g.count_per_step;
      kernel.blocks[side] += g.count_per_step * static_cast<double>(g.blocks);
      grids[{g.kernel, g.blocks}].count[side] += g.count_per_step;
      if (side == 0) all += g.count_per_step;
      const double off = std::abs(g.count_per_step - std::round(g.count_per_step));
      if (off > 0.01) uneven += g.count_per_step;
    }
  }

  double common = 0, matched = 0, changed = 0;
  for (const auto& [name, use] : kernels) {
    const double both = std::min(use.count[0], use.count[1]);
    common += both;
    if (both > 0 && differ(use.blocks[0] / use.count[0], use.blocks[1] / use.count[1], 0.2)) {
      changed += both;
    }
  }
  for (const auto& [grid, use] : grids) matched += std::min(use.count[0], use.count[1]);
  if (all == 0 || common < 0.25 * all) return std::nullopt;
  // If shapes change from step to step (sequences of any length), only their mean counts.
  return uneven > 0.25 * all ? changed > 0.5 * common : matched < 0.75 * common;
}

// Attention as separate kernels takes two GEMMs forward and four backward, three a block; fused
// attention takes none.
double gemms_beside_attention(const Program& p) { return p.gemms - 3 * p.written_out_blocks; }

// Why two captures are not of one program, or "". `unit` is what both count by.
std::string other_program(const Program& a, const Program& b, const UnitWords& unit) {
  if (a.shown != b.shown) {
    return "only one of the two shows the kernels inside CUDA graphs; record both with "
           "--cuda-graph-trace=node";
  }
  if (differ(a.graphs, b.graphs, same_count)) {
    return fmt::format("another program: {} CUDA graphs {} where the baseline has {}",
                       count_text(b.graphs), unit.per, count_text(a.graphs));
  }
  if (!a.shown) {
    if (!differ(a.kernels, b.kernels, same_gemms)) return "";
    return fmt::format(
        "another program: {} kernels {} outside of CUDA graphs where the baseline has {}",
        count_text(b.kernels), unit.per, count_text(a.kernels));
  }
  if (differ(a.attention_blocks, b.attention_blocks, same_count)) {
    return fmt::format("another program: {} attention blocks {} where the baseline has {}",
                       count_text(b.attention_blocks), unit.per, count_text(a.attention_blocks));
  }
  const double gemms_a = gemms_beside_attention(a), gemms_b = gemms_beside_attention(b);
  // How many GEMMs a convolution takes depends on its algorithm, so the loss's grids decide.
  const bool convolutions =
      a.attention_blocks == 0 && grids_differ(a.grids, b.grids, true) == false;
  if (differ(gemms_a, gemms_b, convolutions ? 0.4 : same_gemms)) {
    return fmt::format("another program: {} GEMMs {}, attention aside, where the baseline has {}",
                       count_text(gemms_b), unit.per, count_text(gemms_a));
  }
  if (a.flops && b.flops && differ(*a.flops, *b.flops, same_flops)) {
    return fmt::format(
        "another program: {:.3g} operations {} in GEMMs and attention where the baseline has "
        "{:.3g}",
        *b.flops, unit.per, *a.flops);
  }
  if (grids_differ(a.grids, b.grids, false).value_or(false)) {
    return "another program: the GEMMs and attention kernels of both have different grids, so "
           "shapes differ (batch, sequence or model)";
  }
  if (grids_differ(a.grids, b.grids, true).value_or(false)) {
    return "another program: the loss has different grids, so it has another number of "
           "tokens or samples";
  }
  return "";
}

// ---- two captures

std::string selection_text(const Capture& c) {
  return c.selection.empty() ? "all of it" : c.selection;
}

// Loops nest. If one repetition has several times as many kernels and takes several times as long,
// it is another loop of the same name. "" if it is the same one.
std::string other_level(const Capture& first, const Capture& c) {
  constexpr double most_times = 3;
  const double kernels = c.program.kernels / first.program.kernels,
               time = mean_length(c.step_ns) / mean_length(first.step_ns);
  const bool more = kernels >= most_times && time >= most_times,
             less = kernels * most_times <= 1 && time * most_times <= 1;
  if (c.unit == window_unit || !(more || less)) return "";  // NaN where nothing is known
  return fmt::format(
      "the loop found is another one: {} of {} has {:.0f} kernels, one of {} has {:.0f}; mark the "
      "steps with ranges ([ranges] step)",
      UnitWords(c.unit).a, c.path, c.program.kernels, first.path, first.program.kernels);
}

// What lies outside of the steps is not compared, so it must not grow: a loop under another name, a
// longer start-up. A recording may end within a step, may begin with a slow one, and may warm up
// for some steps more: a quarter of them, which may also be left out of the steps themselves.
void add_what_is_left_out(const Capture& first, const Capture& c,
                          std::vector<std::string>& reasons) {
  constexpr double few = 2;
  const double gpus = static_cast<double>(c.devices.size());
  const double warm_up = std::max(few, static_cast<double>(c.step_ns.size()) / 4);
  const auto add = [&](const char* name, double most_more, const char* where) {
    const auto there = fact_of(first, name), here = fact_of(c, name);
    if (there && here && *here > *there + most_more)
      add_once(
          fmt::format("{} has as much work as {} {} {}, the baseline {}; that is not compared",
                      c.path, count_text(*here), UnitWords(c.unit).many, where, count_text(*there)),
          reasons);
  };
  add("steps.work_outside", few, "outside of them");
  add("steps.work_before", warm_up, "before them");
  add("steps.left_out", few * gpus, "that are left out as start-up");
}

void add_how_they_differ(const Capture& first, const Capture& c,
                         std::vector<std::string>& reasons) {
  if (c.devices != first.devices) {
    add_once(fmt::format("other GPUs: {} where the baseline has {}", gpus_text(c.devices),
                         gpus_text(first.devices)),
             reasons);
  }
  if (c.format != first.format) {
    add_once(fmt::format("another profiler: {} where the baseline has {}; their overheads differ",
                         c.producer, first.producer),
             reasons);
  }
  if (c.selection != first.selection) {
    add_once(fmt::format("another part of the report: {} where the baseline has {}",
                         selection_text(c), selection_text(first)),
             reasons);
  }
  // Every program makes calls and waits, and always sets the same ranges. Without them, causes and
  // steps come out differently.
  for (const Source source : {Source::calls, Source::ranges, Source::os_calls}) {
    const bool here = state_of(c, source) == Collected::yes,
               there = state_of(first, source) == Collected::yes;
    if (here != there) {
      add_once(fmt::format("{} holds no {}, {} does; record both the same way",
                           here ? first.path : c.path, shown_name_of(source),
                           here ? c.path : first.path),
               reasons);
    }
  }
  if (c.unit != first.unit) {
    add_once(fmt::format("another unit: {} where the baseline has {}; choose one with --unit, "
                         "or mark it with ranges ([ranges] step)",
                         plural(c.unit), plural(first.unit)),
             reasons);
    return;  // their lengths cannot be compared
  }
  add_once(other_level(first, c), reasons);
  add_once(other_program(first.program, c.program, UnitWords(c.unit)), reasons);
  if (reasons.empty()) add_what_is_left_out(first, c, reasons);
}

}  // namespace

std::vector<std::string> incomparable(const std::vector<Capture>& before,
                                      const std::vector<Capture>& after) {
  std::vector<std::string> reasons;
  for (const auto* side : {&before, &after}) {
    for (const Capture& c : *side) add_what_it_lacks(c, reasons);
  }
  if (!reasons.empty()) return reasons;

  const Capture& first = before.front();
  for (const auto* side : {&before, &after}) {
    for (const Capture& c : *side) {
      if (&c != &first) add_how_they_differ(first, c, reasons);
    }
  }
  return reasons;
}

std::string weak_match_note(const Program& before, const Program& after, const UnitWords& unit) {
  if (!before.shown) {
    return fmt::format(
        "CUDA graphs hide the kernels: only the number of graphs, and of kernels outside of them, "
        "that {} launches shows that both are the same program",
        unit.a);
  }
  if (!grids_differ(before.grids, after.grids, false) &&
      !grids_differ(before.grids, after.grids, true)) {
    return fmt::format(
        "only the number of attention blocks and GEMMs {} shows that both are the same program: "
        "they "
        "share no kernel of GEMMs, attention or the loss",
        unit.per);
  }
  return "";
}

}  // namespace gh
