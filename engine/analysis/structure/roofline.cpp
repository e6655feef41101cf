#include "analysis/structure/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "analysis/flops.hpp"
#include "analysis/metrics.hpp"
#include "analysis/structure/structure.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

// A range that computes one product, and what the device did for it.
struct ProductRange {
  double ns = 0;       // of all kernels launched in it
  Ns longest = 0;      // of the kernel that determines the tier
  KernelClass tier{};  // its class
  Row op = no_row;     // that kernel
};

// In operations a second; 0 if unknown.
double rate_of(Precision precision, const GpuPeaks& p, const Attainable& part) {
  switch (precision) {
    case Precision::half: return p.half * part.half;
    case Precision::tf32: return p.tf32 * part.tf32;
    case Precision::fp32: return p.fp32 * part.fp32;
    case Precision::eight_bits: return p.fp8 * part.fp8;
    default: return 0;
  }
}

int element_bytes(Precision precision) {
  if (precision == Precision::half) return 2;
  return precision == Precision::eight_bits ? 1 : 4;
}

// Bytes of operands and result, each once; 0 for attention and convolutions, which are limited by
// operations in every case that matters.
double product_bytes(std::string_view name, int element_bytes, double flops) {
  const auto p = product_of_range(name);
  if (!p || p->m * p->n * p->k <= 0) return 0;
  const double batches = flops / (2 * p->m * p->n * p->k);
  return batches * (p->m * p->k + p->k * p->n + p->m * p->n) * element_bytes;
}

}  // namespace

std::vector<KnownWork> known_work_of(const Analysis& a) {
  const Trace& t = a.trace;
  const RangeFlops& flops = a.range_flops();
  const Nesting& nesting = a.structure().ranges();
  const auto is_product = [&](Row r) { return flops.of(t.ranges.name[r]).value_or(0) > 0; };
  std::vector<KnownWork> known;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Device& device = t.devices[a.devices[d].device];
    const Rates rates(a.classes.peaks(device), a.classes.attainable());
    const double memory = rates.memory_bytes_per_s();
    std::map<Row, ProductRange> ranges;
    a.each_op_in_steps(d, [&](Row op) {
      const OpKind kind = t.ops.kind[op];
      const auto ns = static_cast<double>(t.span_of(op).length());
      if ((kind == OpKind::set || t.ops.copy[op] == CopyKind::d2d) && t.ops.bytes[op] > 0) {
        // A copy also reads what it writes.
        const double bytes = static_cast<double>(t.ops.bytes[op]) * (kind == OpKind::set ? 1 : 2);
        known.push_back({.op = op,
                         .ns = ns,
                         .least_ns = memory > 0 ? std::min(ns, bytes / memory * 1e9) : -1,
                         .bytes = bytes,
                         .by_memory = true});
      }
      if (kind != OpKind::kernel || a.is_collective(op)) return;
      const Row range = nesting.first_on_own_thread(t.calls, t.ops.call[op], is_product);
      if (range == no_row) return;
      ProductRange& of = ranges[range];
      of.ns += ns;
      // A split product's sum or a cast: part of the product, but it does not show the tier.
      const KernelClass of_class = a.names.kernel[t.ops.name[op]];
      if (const Ns length = t.span_of(op).length();
          a.classes.is_product(of_class) && length > of.longest) {
        of.longest = length;
        of.tier = of_class;
        of.op = op;
      }
    });
    for (const auto& [range, of] : ranges) {
      if (of.longest == 0) continue;
      const std::string& name = t.names[t.ranges.name[range]];
      KnownWork work{.op = of.op,
                     .ns = of.ns,
                     .flops = flops.of(t.ranges.name[range]).value_or(0),
                     .precision = traits_of(of.tier).precision,
                     .may_be_masked = name.find("_scaled_dot_product_") != name.npos};
      if (const double compute_ns = rates.compute_ns(work, work.precision); compute_ns > 0) {
        work.bytes = product_bytes(name, element_bytes(work.precision), work.flops);
        const double memory_ns = rates.memory_ns(work, work.precision);
        // Data in the cache needs no memory traffic, and a kernel that is faster than possible was
        // misread: take no more than it took.
        work.least_ns = std::min(of.ns, std::max(compute_ns, memory_ns));
        work.by_memory = memory_ns > compute_ns;
      }
      known.push_back(work);
    }
  }
  std::sort(known.begin(), known.end(),
            [](const KnownWork& x, const KnownWork& y) { return x.op < y.op; });
  return known;
}

const std::vector<KnownWork>& Analysis::known_work() const {
  return known_work_.get(
      [&] { return std::make_shared<const std::vector<KnownWork>>(known_work_of(*this)); });
}

Rates::Rates(const GpuPeaks& peaks, const Attainable& part)
    : peaks_(peaks), part_(part), memory_(peaks.memory_bytes_per_s * part.memory) {}

double Rates::compute_ns(const KnownWork& product, Precision precision) const {
  const double rate = rate_of(precision, peaks_, part_),
               left = product.may_be_masked ? least_of_masked : 1;
  return rate > 0 ? 1e9 * left * product.flops / rate : 0;
}

double Rates::memory_ns(const KnownWork& product, Precision precision) const {
  const double bytes = product.bytes * element_bytes(precision) / element_bytes(product.precision);
  return memory_ > 0 ? 1e9 * bytes / memory_ : 0;
}

Roofline roofline_of(const Analysis& a) {
  const Trace& t = a.trace;
  Roofline sum;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    a.each_op_in_steps(d, [&](Row op) {
      const bool within = t.ops.kind[op] == OpKind::set || t.ops.copy[op] == CopyKind::d2d;
      if ((t.ops.kind[op] != OpKind::kernel && !within) || a.is_collective(op)) return;
      sum.device_ns += static_cast<double>(t.span_of(op).length());
    });
  for (const KnownWork& w : a.known_work()) {
    if (w.least_ns < 0) continue;
    sum.known_ns += w.ns;
    sum.least_ns += w.least_ns;
    if (w.by_memory && w.flops > 0) sum.by_memory_ns += w.ns;
  }
  return sum;
}

ProductTimes product_times(const Analysis& a) {
  const Trace& t = a.trace;
  ProductTimes times;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    a.each_op_in_steps(d, [&](Row op) {
      const OpKind kind = t.ops.kind[op];
      if (kind == OpKind::graph ||
          (kind == OpKind::kernel && a.classes.is_product(a.names.kernel[t.ops.name[op]])))
        times.all_ns += static_cast<double>(t.span_of(op).length());
    });
  for (const KnownWork& w : a.known_work())
    if (w.flops > 0) times.known_ns += w.ns;
  times.known_ns = std::min(times.known_ns, times.all_ns);
  return times;
}

std::optional<double> mfu_of(const Analysis& a) {
  const ProductFlops counted = product_flops(a);
  double peak = 0;  // operations that all devices together could have done
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    peak += a.classes.peaks(a.trace.devices[a.devices[d].device]).half *
            static_cast<double>(a.account.devices[d].window_ns) / 1e9;
  if (!counted.flops || counted.convolutions_untold > 0 || peak <= 0) return std::nullopt;
  const ProductTimes products = product_times(a);
  if (2 * products.known_ns < products.all_ns) return std::nullopt;
  return *counted.flops / peak;
}

BoundBy bound_by(const Analysis& a, const StepTime& step) {
  BoundBy bound;
  if (a.total_ns() <= 0) return bound;
  std::map<std::string, double> ns;
  for (std::size_t c = 0; c < a.account.causes.size(); ++c)
    ns[name_of(limit_of(a.account.kinds[c]))] += step.total_ns(a, c);
  // Products with few rows read their weights and do little with them.
  const double by_memory = std::min(ns["compute"], roofline_of(a).by_memory_ns);
  ns["compute"] -= by_memory;
  ns["memory"] += by_memory;
  if (a.program.is("tokens")) {
    const ProductTimes products = product_times(a);
    const double unknown = std::min(ns["compute"], products.all_ns - products.known_ns);
    ns["compute"] -= unknown;
    ns["products"] += unknown;
  }
  // Samples can classify kernels that names cannot: memory is busy for most of their time.
  constexpr double most_of_it = 0.6;
  const double own = ns["custom kernels"] + ns["graphs"];
  const double total = step.total_ns(a);
  if (const auto dram = sampled_activity(a, "dram_active"); dram && own > 0.5 * total) {
    if (*dram * total >= most_of_it * own) {
      ns["memory"] += own;
      ns.erase("custom kernels");
      ns.erase("graphs");
    }
  }
  for (const auto& [group, time] : ns)
    if (time > 0) bound.shares.emplace_back(group, time / total);
  std::stable_sort(bound.shares.begin(), bound.shares.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  if (!bound.shares.empty()) bound.by = bound.shares.front().first;
  return bound;
}

std::string bound_text(const Analysis& a, const BoundBy& bound) {
  constexpr double least = 0.05, about_as_much = 0.8;
  constexpr std::size_t most = 3;
  if (bound.shares.empty()) return "";
  const auto& shares = bound.shares;
  const std::string of = a.has_steps() ? "each " + a.words().noun : "the window";
  std::size_t said = 1;
  std::string text = fmt::format("{}: {} of {}", shares[0].first, percent(shares[0].second), of);
  if (shares.size() > 1 && shares[1].second >= about_as_much * shares[0].second) {
    said = 2;
    text = fmt::format("{} and {}: {} and {} of {}", shares[0].first, shares[1].first,
                       percent(shares[0].second), percent(shares[1].second), of);
  }
  for (std::size_t i = said; i < std::min(most, shares.size()) && shares[i].second >= least; ++i)
    text +=
        fmt::format("{} {} {}", i == said ? ";" : ",", shares[i].first, percent(shares[i].second));
  return text;
}

std::string mfu_verdict(const Analysis& a, const StepTime& step) {
  if (!a.has_steps() || !a.program.is("training") || a.devices.empty()) return "";
  const Device& device = a.trace.devices[a.devices.front().device];
  // Data-center GPUs of the Ampere and Hopper generations: for others the usual values are unknown.
  const bool reference =
      device.compute_minor == 0 && (device.compute_major == 8 || device.compute_major == 9);
  // The usual values were measured on transformers.
  const Ns attention =
      a.account.total_ns(KernelClass::attention_fused) + a.account.total_ns(KernelClass::softmax);
  const auto mfu = mfu_of(a), most = mfu_upper_bound(a);
  if (!reference || 100 * attention < a.total_ns() || (!mfu && !most)) return "";
  const double share = step.share(mfu ? *mfu : *most);
  const std::string usual = fmt::format("{:.0f} to {:.0f} % for training on such GPUs",
                                        100 * usual_mfu_least, 100 * usual_mfu_most);
  if (share >= usual_mfu_least) {
    if (!mfu) return "";  // the bound permits it, but the actual value is unknown
    return share > usual_mfu_most ? "above the usual " + usual : "within the usual " + usual;
  }
  // What takes the rest: time outside of products, and products below the attainable rate.
  std::string rest;
  for (const auto& [group, of_steps] : bound_by(a, step).shares) {
    if (group == "compute" || of_steps < 0.1) continue;
    rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", group, percent(of_steps));
  }
  const Roofline roofline = roofline_of(a);
  std::string slow;
  if (roofline.known_ns > 0 && roofline.least_ns < 0.7 * roofline.known_ns)
    slow = fmt::format("the kernels of known size take {:.1f} times as long as the device needs",
                       roofline.known_ns / roofline.least_ns);
  std::string text = "below the usual " + usual;
  if (!rest.empty()) text += "; time outside of products: " + rest;
  if (!slow.empty()) text += "; " + slow;
  if (rest.empty() && slow.empty())
    text += "; the products run in a slower precision than FP16 and BF16";
  return text;
}

}  // namespace gh
