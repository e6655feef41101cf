#include "rules/finding_layers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/structure/structure.hpp"

namespace gh {
namespace {

// A layer that holds this share of what a finding is about is the one to name; otherwise up to so
// many that hold this share each.
constexpr double nearly_all = 0.9, worth_naming = 0.2;
constexpr std::size_t most_named = 3;
constexpr double most_of_program = 0.75;

class FindingLayers {
 public:
  explicit FindingLayers(const Analysis& a)
      : t_(a.trace),
        layers_(a.structure().layers()),
        work_ns_(layers_.all().size()),
        step_ns_(a.recorded_step_ns()) {
    for (std::size_t d = 0; d < a.devices.size(); ++d)
      a.each_op_in_steps(d, [&](Row op) {
        const Ns ns = t_.span_of(op).length();
        all_ns_ += ns;
        for (LayerId l = layer_of(op); l != outside; l = layers_[l].parent) work_ns_[l] += ns;
      });
    for (LayerId l = 1; l < work_ns_.size(); ++l)
      if (work_ns_[l] > 0) ++alike_[layers_.stem_path(l)];
  }

  bool any() const { return layers_.any(); }

  Finding with_its(Finding f) const {
    std::map<LayerId, Ns> ns;
    for (const Change& change : f.changes) add_change(ns, change);
    // Evidence is a sample: it does not tell where all of it is.
    for (Evidence& e : f.evidence)
      if (const Row op = first_op_in(e); op != no_row) e.layer = path_of(layer_of(op));
    if (!is_whole_program(f.changes)) f.layers = concerned(ns);
    return f;
  }

 private:
  LayerId layer_of(Row op) const { return layers_.origin(layers_.of_op(op)).layer; }

  // In a sentence the kernel that a found layer is named by says nothing.
  std::string without_kernel(LayerId layer, const std::string& path) const {
    return layers_[layer].is_found ? path.substr(0, path.rfind(" of ")) : path;
  }
  std::string path_of(LayerId layer) const { return without_kernel(layer, layers_.path(layer)); }

  void add_change(std::map<LayerId, Ns>& ns, const Change& change) const {
    for (const Row call : calls_of(change))
      ns[layers_.origin(layers_.of_call(call)).layer] += t_.calls.end[call] - t_.calls.start[call];
    for (const Row op : ops_of(change)) ns[layer_of(op)] += t_.span_of(op).length();
  }

  // Whether operations are changed, and nearly all that there are from the first to the last.
  bool is_whole_program(const Changes& changes) const {
    std::vector<Row> rows;
    for (const Change& change : changes)
      rows.insert(rows.end(), ops_of(change).begin(), ops_of(change).end());
    if (rows.empty()) return false;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    if (2 * (t_.ops.end[rows.back()] - t_.ops.start[rows.front()]) < step_ns_) return false;
    Ns changed = 0, all = 0;
    for (const Row op : rows) changed += t_.span_of(op).length();
    for (Row op = rows.front(); op <= rows.back(); ++op) all += t_.span_of(op).length();
    return static_cast<double>(changed) >= nearly_all * static_cast<double>(all) && rows.size() > 1;
  }

  // The operation that began first within a piece of evidence, or no_row.
  Row first_op_in(const Evidence& e) const {
    if (e.device < 0) return no_row;
    const auto first = std::lower_bound(t_.ops.start.begin(), t_.ops.start.end(), e.span.start);
    for (auto op = static_cast<Row>(first - t_.ops.start.begin());
         op < t_.ops.size() && t_.ops.start[op] < e.span.end; ++op) {
      const Stream& s = t_.streams[t_.ops.stream[op]];
      if (t_.devices[s.device].ordinal == e.device && (e.stream < 0 || s.id == e.stream)) return op;
    }
    return no_row;
  }

  std::vector<ConcernedLayer> concerned(const std::map<LayerId, Ns>& ns) const {
    struct Alike {
      std::set<LayerId> layers;
      Ns ns = 0;
      std::uint32_t depth = 0;
    };
    std::map<std::string, Alike> by_stem;
    Ns all = 0;
    for (const auto& [layer, spent] : ns) {
      all += spent;
      for (LayerId l = layer; l != outside; l = layers_[l].parent) {
        Alike& alike = by_stem[layers_.stem_path(l)];
        alike.layers.insert(l);
        alike.ns += spent;
        alike.depth = layers_[l].depth;
      }
    }
    std::vector<std::pair<std::string, Alike>> found(by_stem.begin(), by_stem.end());
    const auto share = [&](const Alike& a) {
      return static_cast<double>(a.ns) / static_cast<double>(std::max<Ns>(all, 1));
    };
    // The deepest that holds nearly all of it.
    const std::pair<std::string, Alike>* one = nullptr;
    for (const auto& entry : found)
      if (share(entry.second) >= nearly_all && (!one || entry.second.depth > one->second.depth))
        one = &entry;
    // A layer that holds nearly all of the program says nothing.
    if (one && one->second.layers.size() == 1 &&
        static_cast<double>(work_ns_[*one->second.layers.begin()]) >=
            most_of_program * static_cast<double>(all_ns_))
      return {};
    // Nor do all of those that repeat.
    if (one && layers_[*one->second.layers.begin()].is_found &&
        one->second.layers.size() == of_all(one->first))
      return {};
    if (one) return {named(one->first, one->second.layers, share(one->second))};
    // Several side by side: the outermost.
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& x, const auto& y) { return x.second.ns > y.second.ns; });
    std::vector<ConcernedLayer> several;
    for (const auto& [stem, alike] : found)
      if (alike.depth == 1 && share(alike) >= worth_naming && several.size() < most_named &&
          !layers_[*alike.layers.begin()].is_found)
        several.push_back(named(stem, alike.layers, share(alike)));
    return several;
  }

  // How many layers of a stem have work.
  std::size_t of_all(const std::string& stem) const {
    const auto it = alike_.find(stem);
    return it == alike_.end() ? 0 : it->second;
  }

  ConcernedLayer named(const std::string& stem, const std::set<LayerId>& layers,
                       double share) const {
    ConcernedLayer c;
    c.count = layers.size();
    c.of = std::max(c.count, of_all(stem));
    c.path = c.count == 1 ? path_of(*layers.begin()) : without_kernel(*layers.begin(), stem);
    c.share = share;
    return c;
  }

  const Trace& t_;
  const ProgramLayers& layers_;
  std::vector<Ns> work_ns_;  // by layer
  const Ns step_ns_;
  Ns all_ns_ = 0;
  std::map<std::string, std::size_t> alike_;  // by stem: how many have work
};

}  // namespace

std::vector<Finding> with_layers(std::vector<Finding> findings, const Analysis& analysis) {
  if (findings.empty() || analysis.total_ns() == 0) return findings;
  const FindingLayers layers(analysis);
  if (!layers.any()) return findings;
  for (Finding& f : findings) f = layers.with_its(std::move(f));
  return findings;
}

}  // namespace gh
