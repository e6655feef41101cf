#include "report/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "report/json_parts.hpp"
#include "report/memory_words.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

// So many layers with one name and number fold into a row, if so many of them are built alike.
constexpr std::size_t least_folded = 3;
constexpr double built_alike = 0.6, run_alike = 0.8;  // of those with others in them, and without
// A layer is odd if it takes so much more or less than the median, and few are.
constexpr double odd_at = 0.25;
constexpr double most_odd = 0.25;
constexpr double least_odd = 0.0005;  // of all time
constexpr std::size_t least_for_odd = 4;
// Of all memory of a layer; sums of such stay within 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 44;
// Of the time: what lies in no layer is worth a word.
constexpr double much = 0.25;

// The path's time by group: a part without an operation of its own is a wait for the one after it.
std::vector<Ns> path_by_group(const Path& path, std::size_t groups,
                              const std::function<std::uint32_t(Row)>& group_of_op,
                              const std::function<std::uint32_t(Row)>& group_of_call) {
  std::vector<Ns> sums(groups);
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t later = none;
  Ns until = 0, shared = 0;
  for (const PathPart& p : path.parts) {
    std::uint32_t group = later;
    if (p.of == PathPart::Of::operation) group = group_of_op(p.row);
    if (p.of == PathPart::Of::call) group = group_of_call(p.row);
    if (group == none) group = later == none ? 0 : later;
    if (later != none) {
      sums[later] += std::max<Ns>(0, until - p.span.end);
      shared += std::max<Ns>(0, until - p.span.end);
    }
    sums[group] += p.span.length();
    shared += p.span.length();
    until = p.span.start;
    later = group;
  }
  if (later != none) sums[later] += std::max<Ns>(0, path.total_ns - shared);
  return sums;
}

// The rows of modules, from the layers and what each takes by itself.
class ModuleRows {
 public:
  ModuleRows(const Analysis& a, const ProgramLayers& layers, const std::vector<WorkSum>& by_origin,
             const std::vector<Ns>& path_by_origin, const std::vector<std::int64_t>& peak_by_layer,
             const LayersOptions& options)
      : a_(a), layers_(layers), options_(options), all_(layers.all().size()) {
    for (std::size_t o = 0; o < by_origin.size(); ++o) {
      const Origin& origin = layers.origins()[o];
      Figures& f = all_[origin.layer];
      f.sum += by_origin[o];
      f.own_ns += by_origin[o].total_ns();
      if (origin.pass == Pass::forward) f.forward_ns += by_origin[o].total_ns();
      if (origin.pass == Pass::backward) f.backward_ns += by_origin[o].total_ns();
      if (!path_by_origin.empty()) f.path_ns += path_by_origin[o];
    }
    for (LayerId l = 0; l < std::min(all_.size(), peak_by_layer.size()); ++l)
      all_[l].peak_bytes = peak_by_layer[l];
    for (LayerId p = 1; p < all_.size(); ++p) all_[layers[p].parent].children.push_back(p);
    own_ = all_[outside];
    own_.children.clear();
    for (LayerId p = static_cast<LayerId>(all_.size()); p-- > 1;)
      add(all_[layers[p].parent], all_[p]);
  }

  std::vector<LayerRow> rows() && {
    put_children({outside}, LayerRow::no_parent, 0, "");
    return std::move(rows_);
  }
  const WorkSum& outside_of_all() const { return own_.sum; }

 private:
  struct Figures {
    WorkSum sum;
    Ns own_ns = 0, forward_ns = 0, backward_ns = 0, path_ns = 0;
    std::int64_t peak_bytes = 0;
    std::vector<LayerId> children;
    bool any() const {
      return sum.launches > 0 || sum.total_ns() > 0 || path_ns > 0 || peak_bytes > 0;
    }
  };
  static void add(Figures& to, const Figures& from) {
    to.sum += from.sum;
    to.forward_ns += from.forward_ns;
    to.backward_ns += from.backward_ns;
    to.path_ns += from.path_ns;
    to.peak_bytes += from.peak_bytes;
  }

  // The layers around one and itself, from the outermost on.
  std::vector<LayerId> chain_of(LayerId layer) const {
    std::vector<LayerId> chain;
    for (; layer != outside; layer = layers_[layer].parent) chain.push_back(layer);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  // How many layers all of these lie in.
  std::size_t shared_layers(const std::vector<LayerId>& layers) const {
    if (layers.size() < 2) return 0;
    const std::vector<LayerId> first = chain_of(layers.front());
    std::size_t shared = first.size() - 1;
    for (const LayerId layer : layers) {
      const std::vector<LayerId> chain = chain_of(layer);
      shared = std::min(shared, chain.size() - 1);
      shared = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(shared),
                        chain.begin())
              .first -
          first.begin());
    }
    return shared;
  }

  // A layer's path without the outermost `shared` layers.
  std::string name_from(LayerId layer, std::size_t shared) const {
    std::string name;
    const std::vector<LayerId> chain = chain_of(layer);
    for (std::size_t i = shared; i < chain.size(); ++i)
      name += (name.empty() ? "" : ".") + layers_[chain[i]].name;
    return name;
  }

  // Idle time and collectives depend on what others do.
  Ns work_ns(const WorkSum& sum) const {
    Ns ns = 0;
    for (std::size_t c = 0; c < sum.by_cause.size(); ++c)
      if (const Cause& cause = a_.account.kinds[c];
          !cause.is_idle() && cause.of != Cause::Of::communication)
        ns += sum.by_cause[c];
    return ns;
  }

  // A class's name without the number of its instance.
  static std::string class_of(const Layer& p) {
    return p.stem.ends_with("_*") ? p.stem.substr(0, p.stem.size() - 2) : p.name;
  }

  // What tells how a layer is built: what lies in it, else the classes of what it runs.
  std::string build_of(LayerId layer) const {
    std::set<std::string> parts;
    for (const LayerId child : all_[layer].children)
      if (all_[child].any()) {
        const Layer& p = layers_[child];
        parts.insert(p.is_class ? class_of(p) : p.stem.empty() ? p.name : p.stem);
      }
    const std::vector<Ns>& ns = all_[layer].sum.by_cause;
    if (parts.empty())
      for (std::size_t c = 0; c < ns.size(); ++c)
        if (ns[c] > 0 && a_.account.kinds[c].computes()) parts.insert(a_.account.causes[c]);
    return fmt::format("{}", fmt::join(parts, "\n"));
  }

  // Whether layers that share a stem are so much alike that they are one row.
  bool fold(const std::vector<LayerId>& alike, std::size_t most_in_one) const {
    if (options_.each || most_in_one < least_folded || layers_[alike.front()].stem.empty())
      return false;
    std::map<std::string, std::size_t> builds;
    std::size_t commonest = 0;
    for (const LayerId p : alike) {
      if (layers_[p].is_class && all_[p].children.empty()) return false;
      commonest = std::max(commonest, ++builds[build_of(p)]);
    }
    const double least = all_[alike.front()].children.empty() ? run_alike : built_alike;
    return static_cast<double>(commonest) >= least * static_cast<double>(alike.size());
  }

  struct Group {
    std::string name;
    std::vector<LayerId> layers;
    Ns total_ns = 0;
  };

  // The rows within layers that are one row: children of the same name, or that count.
  std::vector<Group> groups_within(const std::vector<LayerId>& around) const {
    std::map<std::string, std::vector<LayerId>> by_stem;
    std::map<std::string, std::size_t> most_in_one;
    for (const LayerId parent : around) {
      std::map<std::string, std::size_t> in_this;
      for (const LayerId child : all_[parent].children)
        if (all_[child].any() && !layers_[child].stem.empty()) {
          by_stem[layers_[child].stem].push_back(child);
          std::size_t& most = most_in_one[layers_[child].stem];
          most = std::max(most, ++in_this[layers_[child].stem]);
        }
    }
    std::set<std::string> folded;
    for (const auto& [stem, alike] : by_stem)
      if (fold(alike, most_in_one[stem])) folded.insert(stem);
    std::vector<Group> groups;
    std::unordered_map<std::string, std::size_t> index;
    for (const LayerId parent : around) {
      std::map<std::string, std::size_t> of_class, in_class;
      for (const LayerId child : all_[parent].children)
        if (layers_[child].is_class && all_[child].any()) ++of_class[class_of(layers_[child])];
      for (const LayerId child : all_[parent].children) {
        if (!all_[child].any()) continue;
        const Layer& p = layers_[child];
        std::string name = folded.contains(p.stem) ? p.stem : p.name;
        // Instances are numbered over the whole program: say which of its parent's it is.
        if (p.is_class && !folded.contains(p.stem)) {
          const std::string of = class_of(p);
          name = of_class[of] > 1 ? fmt::format("{} {}", of, in_class[of]++) : of;
        }
        const auto [it, is_new] = index.emplace(name, groups.size());
        if (is_new) groups.push_back({name, {}, 0});
        groups[it->second].layers.push_back(child);
        groups[it->second].total_ns += all_[child].sum.total_ns();
      }
    }
    return groups;
  }

  void put_children(const std::vector<LayerId>& around, std::uint32_t parent, std::uint32_t depth,
                    const std::string& path) {
    if (depth > options_.depth) return;
    std::vector<std::pair<LayerRow, std::vector<LayerId>>> next;
    for (Group& group : groups_within(around)) {
      LayerRow row;
      row.parent = parent;
      row.depth = depth;
      row.name = group.name;
      row.path = path.empty() ? group.name : path + "." + group.name;
      const std::size_t shared = shared_layers(group.layers);
      for (const LayerId p : group.layers) {
        const Figures& f = all_[p];
        row.sum += f.sum;
        row.forward_ns += f.forward_ns;
        row.backward_ns += f.backward_ns;
        row.own_ns += f.own_ns;
        row.path_ns += f.path_ns;
        row.peak_bytes += f.peak_bytes;
        row.members.push_back(
            {layers_.path(p), name_from(p, shared), f.sum.total_ns(), work_ns(f.sum)});
      }
      next.emplace_back(std::move(row), std::move(group.layers));
    }
    if (parent == LayerRow::no_parent && own_.any()) {
      LayerRow row;
      row.sum = own_.sum;
      row.forward_ns = own_.forward_ns;
      row.backward_ns = own_.backward_ns;
      row.own_ns = own_.own_ns;
      row.path_ns = own_.path_ns;
      row.peak_bytes = own_.peak_bytes;
      next.emplace_back(std::move(row), std::vector<LayerId>());
    }
    sort_rows(next, options_.sort);
    for (auto& [row, layers] : next) {
      const std::string name = row.path;
      rows_.push_back(std::move(row));
      const auto layer = static_cast<std::uint32_t>(rows_.size() - 1);
      if (!layers.empty()) put_children(layers, layer, depth + 1, name);
    }
  }

 public:
  template <class Rows>
  static void sort_rows(Rows& rows, LayersSort sort) {
    const auto key = [sort](const LayerRow& r) -> double {
      switch (sort) {
        case LayersSort::idle: return static_cast<double>(r.sum.idle_ns);
        case LayersSort::path: return static_cast<double>(r.path_ns);
        case LayersSort::launches: return static_cast<double>(r.sum.launches);
        case LayersSort::flops: return r.sum.flops;
        case LayersSort::time: return static_cast<double>(r.total_ns());
        default: return 0;
      }
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& x, const auto& y) {
      if (sort == LayersSort::name) return x.first.name < y.first.name;
      return key(x.first) > key(y.first);
    });
  }

 private:
  const Analysis& a_;
  const ProgramLayers& layers_;
  const LayersOptions& options_;
  std::vector<Figures> all_;  // by layer; with all within once the constructor is done
  Figures own_;               // of what lies outside of all
  std::vector<LayerRow> rows_;
};

// The members that take other than the others.
std::vector<std::size_t> odd_members(const LayerRow& row, Ns all_ns) {
  std::vector<std::size_t> odd;
  if (row.members.size() < least_for_odd) return odd;
  const auto median = static_cast<double>(row.median_work_ns());
  for (std::size_t i = 0; i < row.members.size(); ++i)
    if (const auto ns = static_cast<double>(row.members[i].work_ns);
        median > 0 && std::abs(ns - median) > odd_at * median &&
        std::abs(ns - median) > least_odd * static_cast<double>(all_ns))
      odd.push_back(i);
  if (static_cast<double>(odd.size()) > most_odd * static_cast<double>(row.members.size()))
    odd.clear();
  return odd;
}

// The operators that a kernel of Triton's was made from, which its name lists: "add mul rsqrt".
std::string operators_in(const std::string& kernel) {
  constexpr std::string_view title = "_fused_";
  const std::size_t at = kernel.find(title);
  if (!kernel.starts_with("triton_") || at == kernel.npos) return "";
  std::vector<std::string> words;
  std::string word;
  for (const char c : kernel.substr(at + title.size()) + "_") {
    if (c != '_') {
      word += c;
    } else if (!word.empty()) {
      if (!std::all_of(word.begin(), word.end(), [](char d) { return d >= '0' && d <= '9'; }))
        words.push_back(word);
      word.clear();
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// What a moment of a program belongs to, for its memory.
MemoryPhase phase_of(const Analysis& a, const ProgramLayers& layers, OriginId id) {
  const Origin& o = layers.origin(id);
  if (o.pass == Pass::forward) return MemoryPhase::forward;
  if (o.pass == Pass::backward) return MemoryPhase::backward;
  for (LayerId l = o.layer; l != outside; l = layers[l].parent)
    if (a.classes.is_phase(Phase::optimizer, layers[l].name)) return MemoryPhase::optimizer;
  return MemoryPhase::other;
}

// The memory of all devices, and the moments at which blocks that are in use at its peak were
// allocated and freed.
class MemoryMaker {
 public:
  explicit MemoryMaker(const Analysis& a) : a_(a) {
    for (std::size_t d = 0; d < a.devices.size(); ++d)
      if (auto timeline = memory_timeline(a, d)) {
        made_.emplace_back();
        made_.back().device = device_label(a.trace, a.devices[d].device);
        made_.back().timeline = std::move(*timeline);
        for (const LiveBlock& b : made_.back().timeline.blocks) {
          moments_.push_back({b.allocated_at, b.allocated_by});
          moments_.push_back({b.freed_at, b.freed_by});
        }
      }
    order_.resize(moments_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [this](std::size_t x, std::size_t y) {
      return moments_[x].at < moments_[y].at;
    });
  }

  std::vector<Moment> moments() const {
    std::vector<Moment> sorted;
    for (const std::size_t i : order_) sorted.push_back(moments_[i]);
    return sorted;
  }

  // Classifies the blocks. Returns the bytes in use at the peak that each layer allocated.
  std::vector<std::int64_t> classified(const ProgramLayers& layers) {
    std::vector<OriginId> origin(moments_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) origin[order_[i]] = layers.of_moment(i);
    // Only training has passes to tell apart.
    const bool has_passes = !a_.program.is("training") ||
                            std::any_of(layers.origins().begin(), layers.origins().end(),
                                        [](const Origin& o) { return o.pass == Pass::backward; });
    std::vector<std::int64_t> by_layer(layers.all().size());
    std::size_t at = 0;
    for (LayersMemory& m : made_) {
      std::vector<BlockPhases> phases;
      for (const LiveBlock& b : m.timeline.blocks) {
        const OriginId allocated = origin[at++], freed = origin[at++];
        phases.push_back({b.allocated_by == no_index || !has_passes
                              ? MemoryPhase::unknown
                              : phase_of(a_, layers, allocated),
                          b.freed_by == no_index || !has_passes ? MemoryPhase::unknown
                                                                : phase_of(a_, layers, freed)});
        if (is_on_gpu(b.kind)) {
          std::int64_t& bytes = by_layer[layers.origin(allocated).layer];
          bytes = std::min(most_bytes, bytes + std::min(most_bytes, b.bytes));
        }
      }
      m.classes = classify(m.timeline, phases);
      m.room = room_of(m.timeline, m.classes);
      m.growth_bytes = growth_per_step(m.timeline);
      m.meaning = memory_sentences(m, a_);
      by_layer[outside] =
          std::min(most_bytes, by_layer[outside] + std::min(most_bytes, m.timeline.before_bytes));
    }
    return by_layer;
  }

  std::vector<LayersMemory> taken() && { return std::move(made_); }

 private:
  const Analysis& a_;
  std::vector<LayersMemory> made_;
  std::vector<Moment> moments_;     // two of each block
  std::vector<std::size_t> order_;  // of the moments, by time
};

class LayersMaker {
 public:
  LayersMaker(const Analysis& a, const Path* path, const LayersOptions& options)
      : a_(a),
        t_(a.trace),
        path_(path),
        options_(options),
        memory_(a),
        layers_(a, memory_.moments()),
        peak_by_layer_(memory_.classified(layers_)) {}

  void fill(Layers& out) {
    switch (options_.by) {
      case LayersBy::module: by_module(out); break;
      case LayersBy::op:
        flat(out, [&](const Origin& o) {
          return o.op == 0 ? std::string() : layers_.operators()[o.op];
        });
        break;
      case LayersBy::line: flat(out, [&](const Origin& o) { return line_text(o.line); }); break;
      case LayersBy::kernel: by_kernel(out); break;
    }
    out.memory = std::move(memory_).taken();
    for (LayerRow& row : out.rows) {
      if (row.members.size() > 1) row.odd = odd_members(row, a_.total_ns());
      out.bound_by.push_back(row.sum.bound_by(a_.account));
    }
  }

 private:
  std::vector<WorkSum> sums_by_origin() const {
    return sum_work(a_, layers_.origins().size(), [&](Row op) { return layers_.of_op(op); });
  }
  std::vector<Ns> path_by_origin() const {
    if (!path_) return {};
    return path_by_group(
        *path_, layers_.origins().size(), [&](Row op) { return layers_.of_op(op); },
        [&](Row call) { return layers_.of_call(call); });
  }

  void by_module(Layers& out) {
    ModuleRows rows(a_, layers_, sums_by_origin(), path_by_origin(), peak_by_layer_, options_);
    const double untold = static_cast<double>(rows.outside_of_all().total_ns()) /
                          static_cast<double>(std::max<Ns>(a_.total_ns(), 1));
    out.rows = std::move(rows).rows();
    if (layers_.has_matched_backward())
      out.notes.push_back(
          "Backward was matched to layers by what repeats in it, the last layer "
          "first; where one layer begins is exact to a few kernels. " +
          how_to_tell_backward());
    else if (layers_.has_repeated())
      out.notes.push_back(
          "Layers that no range names were found by what repeats; each is called "
          "after its largest product.");
    if (untold >= much)
      out.notes.push_back(
          fmt::format("{} of the time lies in no layer. {}", percent(untold), how_to_record()));
  }

  static std::string how_to_tell_backward() {
    return "To have it told apart, record operators: gh-advise record --layers, PyTorch's "
           "profiler, "
           "or torch.autograd.profiler.emit_nvtx().";
  }

  std::string how_to_record() const {
    if (a_.program.is("jax"))
      return "XLA names what it launches after jax.named_scope, but neither within CUDA graphs "
             "(XLA_FLAGS=--xla_gpu_enable_command_buffer= turns them off) nor for all that it "
             "fuses.";
    if (t_.format == "PyTorch profiler trace")
      return "Record with gh-advise record --layers, or with "
             "torch.profiler.profile(with_stack=True), or put "
             "torch.profiler.record_function(NAME) around modules.";
    if (!a_.program.is("pytorch"))
      return "Put NVTX ranges around the program's parts: nvtxRangePush and nvtxRangePop.";
    return "Record with gh-advise record --layers, or put NVTX ranges around modules and record "
           "operators (torch.autograd.profiler.emit_nvtx), which tell whose backward it is.";
  }

  std::string line_text(NameId name) const {
    if (name == 0) return "";
    const auto it = a_.names.sources.find(name);
    return it == a_.names.sources.end() ? ""
                                        : fmt::format("{}:{}", it->second.file, it->second.line);
  }

  // A row for each name that origins have.
  template <class NameOf>
  void flat(Layers& out, NameOf name_of_origin) {
    const std::vector<WorkSum> sums = sums_by_origin();
    const std::vector<Ns> path = path_by_origin();
    std::unordered_map<std::string, std::size_t> index;
    for (std::size_t o = 0; o < sums.size(); ++o) {
      if (sums[o].launches == 0 && sums[o].total_ns() == 0 && (path.empty() || path[o] == 0))
        continue;
      const Origin& origin = layers_.origins()[o];
      LayerRow& row = row_named(out, index, name_of_origin(origin));
      row.sum += sums[o];
      if (origin.pass == Pass::forward) row.forward_ns += sums[o].total_ns();
      if (origin.pass == Pass::backward) row.backward_ns += sums[o].total_ns();
      if (!path.empty()) row.path_ns += path[o];
    }
    finish_flat(out);
    const auto untold = std::find_if(out.rows.begin(), out.rows.end(),
                                     [](const LayerRow& row) { return row.name.empty(); });
    if (untold == out.rows.end() ||
        static_cast<double>(untold->total_ns()) < much * static_cast<double>(a_.total_ns()))
      return;
    out.notes.push_back(
        options_.by == LayersBy::line
            ? "Most lines are unknown. Record with gh-advise record --stacks, or with "
              "torch.profiler.profile(with_stack=True)."
            : "Most work was launched in no operator that was recorded. Record with gh-advise "
              "record --layers, or with PyTorch's profiler.");
  }

  static LayerRow& row_named(Layers& out, std::unordered_map<std::string, std::size_t>& index,
                             const std::string& name) {
    const auto [it, is_new] = index.emplace(name, out.rows.size());
    if (is_new) {
      out.rows.emplace_back();
      out.rows.back().name = out.rows.back().path = name;
    }
    return out.rows[it->second];
  }

  void by_kernel(Layers& out) {
    // Kernels by name, then everything else by what it is called.
    std::unordered_map<std::string, std::uint32_t> ids;
    std::vector<std::uint32_t> of_name(t_.names.size(), unknown);
    std::vector<std::string> labels;
    const auto id_of = [&](Row op) -> std::uint32_t {
      const bool named = t_.ops.kind[op] == OpKind::kernel;
      if (named && of_name[t_.ops.name[op]] != unknown) return of_name[t_.ops.name[op]];
      const std::string label = op_label(a_, op);
      const auto [it, is_new] = ids.emplace(label, static_cast<std::uint32_t>(labels.size()));
      if (is_new) labels.push_back(label);
      if (named) of_name[t_.ops.name[op]] = it->second;
      return it->second;
    };
    labels.emplace_back();  // of time that no operation accounts for
    ids.emplace("", 0);
    std::vector<std::uint32_t> group(t_.ops.size());
    for (std::size_t d = 0; d < a_.devices.size(); ++d)
      for (const Row op : a_.devices[d].ops) group[op] = id_of(op);
    const auto group_of = [&](Row op) { return group[op]; };
    const std::vector<WorkSum> sums = sum_work(a_, labels.size(), group_of);
    std::vector<Ns> path;
    if (path_) path = path_by_group(*path_, labels.size(), group_of, [](Row) { return unknown; });
    std::unordered_map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i].launches == 0 && sums[i].total_ns() == 0) continue;
      LayerRow& row = row_named(out, index, labels[i]);
      row.sum += sums[i];
      if (!path.empty()) row.path_ns += path[i];
      row.operators = operators_in(labels[i]);
      if (const auto source = t_.kernel_sources.find(t_.names.find(labels[i]));
          source != t_.kernel_sources.end())
        row.file = t_.names[source->second];
    }
    finish_flat(out);
  }

  void finish_flat(Layers& out) const {
    std::vector<std::pair<LayerRow, int>> rows;
    for (LayerRow& row : out.rows) {
      row.own_ns = row.total_ns();
      rows.emplace_back(std::move(row), 0);
    }
    ModuleRows::sort_rows(rows, options_.sort);
    out.rows.clear();
    for (auto& [row, unused] : rows) out.rows.push_back(std::move(row));
  }

  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  const Analysis& a_;
  const Trace& t_;
  const Path* path_;
  const LayersOptions& options_;
  MemoryMaker memory_;
  const ProgramLayers layers_;
  const std::vector<std::int64_t> peak_by_layer_;
};

}  // namespace

const std::vector<std::string>& layers_by_names() {
  static const std::vector<std::string> names{"module", "op", "line", "kernel"};
  return names;
}

const std::vector<std::string>& layers_sort_names() {
  static const std::vector<std::string> names{"time",  "idle", "path",   "launches",
                                              "flops", "name", "program"};
  return names;
}

Ns LayerRow::median_work_ns() const {
  if (members.empty()) return 0;
  std::vector<Ns> ns;
  for (const LayerMember& m : members) ns.push_back(m.work_ns);
  const auto middle = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2);
  std::nth_element(ns.begin(), middle, ns.end());
  return *middle;
}

Layers layers_of(const Analysis& a, const Replay* replay, const LayersOptions& options) {
  Layers layers;
  layers.options = options;
  layers.report = report_head(a);
  layers.about = {recording_text(a)};
  for (const DeviceSteps& d : a.devices) {
    layers.about.push_back(device_text(a, d));
    layers.devices.push_back(device_label(a.trace, d.device));
  }
  layers.unit = a.unit();
  layers.noun = a.words().noun;
  layers.has_steps = a.has_steps();
  layers.steps = a.step_count();
  layers.total_ns = a.total_ns();
  layers.causes = a.account.causes;
  const Path* path = replay && !replay->path().parts.empty() ? &replay->path() : nullptr;
  if (path) layers.path_ns = path->total_ns;
  if (!path && options.sort == LayersSort::path)
    throw Error(fmt::format("{}: --sort path: there is no path{}", a.trace.path,
                            replay ? ": " + replay->reason() : ""));
  LayersMaker(a, path, options).fill(layers);
  layers.rows_in_all = layers.rows.size();
  if (layers.rows.size() > options.most) {
    layers.rows.resize(options.most);
    layers.bound_by.resize(options.most);
  }
  return layers;
}

LayersComparison compare_layers(Layers before, Layers after) {
  const auto mean = [](const Layers& l, const LayerRow& r) {
    return static_cast<double>(r.total_ns()) /
           static_cast<double>(std::max<std::int64_t>(l.steps, 1));
  };
  LayersComparison c;
  std::map<std::string, double> was;
  for (const LayerRow& row : before.rows) was[row.path] += mean(before, row);
  for (const LayerRow& row : after.rows) {
    LayerChange change{row.path, row.depth, std::nullopt, mean(after, row)};
    if (const auto it = was.find(row.path); it != was.end()) {
      change.before_ns = it->second;
      was.erase(it);
    }
    c.changes.push_back(change);
  }
  for (const LayerRow& row : before.rows)
    if (const auto it = was.find(row.path); it != was.end()) {
      c.changes.push_back({row.path, row.depth, it->second, std::nullopt});
      was.erase(it);
    }
  c.before = std::move(before);
  c.after = std::move(after);
  return c;
}

}  // namespace gh
