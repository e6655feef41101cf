// From the outermost layer inwards, the children of all layers that a row stands for are grouped:
// by their stem ("blocks.*") where three or more in one parent share it and are built alike, else
// by their name. A group is a row; its layers' children make the rows within. So what lies in
// blocks that are one row is one row too.
#include "analysis/tables/module_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/structure/structure.hpp"

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

// The members that take other than the others.
std::vector<std::size_t> odd_members(const TableRow& row, Ns all_ns) {
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

class ModuleRows {
 public:
  ModuleRows(const Analysis& a, const OwnMeasures& own, const TableOptions& options)
      : a_(a),
        layers_(a.structure().layers()),
        options_(options),
        own_(own.of_layer),
        parts_(own.of_parts),
        sections_(own.sections),
        all_(own.with_all_within(layers_)),
        children_(own_.size()) {
    for (LayerId p = 1; p < all_.size(); ++p) children_[layers_[p].parent].push_back(p);
  }

  std::vector<TableRow> rows() && {
    put_children({outside}, TableRow::no_parent, 0, "");
    return std::move(rows_);
  }

 private:
  bool is_shown(LayerId layer) const {
    return all_[layer].any() || (options_.whole && all_[layer].host_ns > 0);
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
    for (const LayerId child : children_[layer])
      if (is_shown(child)) {
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
      if (layers_[p].is_class && children_[p].empty()) return false;
      commonest = std::max(commonest, ++builds[build_of(p)]);
    }
    const double least = children_[alike.front()].empty() ? run_alike : built_alike;
    return static_cast<double>(commonest) >= least * static_cast<double>(alike.size());
  }

  struct Group {
    std::string name;
    std::vector<LayerId> layers;
  };

  // The rows within layers that are one row: children of the same name, or that count.
  std::vector<Group> groups_within(const std::vector<LayerId>& around) const {
    std::map<std::string, std::vector<LayerId>> by_stem;
    std::map<std::string, std::size_t> most_in_one;
    for (const LayerId parent : around) {
      std::map<std::string, std::size_t> in_this;
      for (const LayerId child : children_[parent])
        if (is_shown(child) && !layers_[child].stem.empty()) {
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
      for (const LayerId child : children_[parent])
        if (layers_[child].is_class && is_shown(child)) ++of_class[class_of(layers_[child])];
      for (const LayerId child : children_[parent]) {
        if (!is_shown(child)) continue;
        const Layer& p = layers_[child];
        std::string name = folded.contains(p.stem) ? p.stem : p.name;
        // Instances are numbered over the whole program: say which of its parent's it is.
        if (p.is_class && !folded.contains(p.stem)) {
          const std::string of = class_of(p);
          name = of_class[of] > 1 ? fmt::format("{} {}", of, in_class[of]++) : of;
        }
        const auto [it, is_new] = index.emplace(name, groups.size());
        if (is_new) groups.push_back({name, {}});
        groups[it->second].layers.push_back(child);
      }
    }
    return groups;
  }

  void put_children(const std::vector<LayerId>& around, std::uint32_t parent, std::uint32_t depth,
                    const std::string& path) {
    if (depth > options_.depth) return;
    std::vector<std::pair<TableRow, std::vector<LayerId>>> next;
    for (Group& group : groups_within(around)) {
      TableRow row;
      row.name = group.name;
      const std::size_t shared = shared_layers(group.layers);
      for (const LayerId p : group.layers) {
        static_cast<Measures&>(row) += all_[p];
        row.own_ns += own_[p].total_ns();
        row.members.push_back(
            {layers_.path(p), name_from(p, shared), all_[p].total_ns(), work_ns(all_[p].sum)});
      }
      next.emplace_back(std::move(row), std::move(group.layers));
    }
    if (parent == TableRow::no_parent && (own_[outside].any() || own_[outside].host_ns > 0)) {
      TableRow row;
      static_cast<Measures&>(row) = own_[outside];
      row.own_ns = row.total_ns();
      next.emplace_back(std::move(row), std::vector<LayerId>());
    }
    sort_rows(next, options_, false,
              [](const auto& entry) -> const TableRow& { return entry.first; });
    for (auto& [row, layers] : next) {
      row.parent = parent;
      row.depth = depth;
      row.path = path.empty() || row.name.empty() ? path + row.name : path + "." + row.name;
      if (row.members.size() > 1) row.odd = odd_members(row, a_.total_ns());
      const std::string name = row.path;
      rows_.push_back(std::move(row));
      const auto place = static_cast<std::uint32_t>(rows_.size() - 1);
      if (!layers.empty()) put_children(layers, place, depth + 1, name);
      if (options_.whole) put_parts(layers, place, depth + 1, name);
    }
  }

  // What lies in layers beside other layers: their sections, and in these others and operators.
  struct Parts {
    std::map<SectionId, Measures> sections;                            // each with all within
    std::map<SectionId, std::map<std::uint32_t, Measures>> operators;  // by section
    std::map<SectionId, std::vector<SectionId>> within;
  };

  // Of no layer if there are none.
  void put_parts(std::vector<LayerId> layers, std::uint32_t parent, std::uint32_t depth,
                 const std::string& path) {
    if (layers.empty()) layers = {outside};
    Parts parts;
    for (const LayerId layer : layers)
      for (const auto& [part, measures] : parts_[layer]) {
        const auto& [section, op] = part;
        if (op != 0 && measures.any()) parts.operators[section][op] += measures;
        for (SectionId s = section; s != no_section; s = sections_[s].parent) {
          const auto [it, is_new] = parts.sections.try_emplace(s);
          it->second += measures;
          if (is_new) parts.within[sections_[s].parent].push_back(s);
        }
      }
    put_section(parts, no_section, parent, depth, path);
  }

  void put_section(Parts& parts, SectionId around, std::uint32_t parent, std::uint32_t depth,
                   const std::string& path) {
    if (depth > options_.depth) return;
    std::vector<std::pair<TableRow, SectionId>> rows;
    const auto add = [&](const std::string& name, const Measures& measures, TableRow::Of of,
                         SectionId section) {
      TableRow& row = rows.emplace_back(TableRow(), section).first;
      static_cast<Measures&>(row) = measures;
      row.name = name;
      row.path = path.empty() ? name : path + "." + name;
      row.own_ns = row.total_ns();
      row.of = of;
      row.parent = parent;
      row.depth = depth;
    };
    for (const SectionId s : parts.within[around])
      add(sections_[s].name, parts.sections[s],
          sections_[s].is_function ? TableRow::Of::function : TableRow::Of::range, s);
    for (const auto& [op, measures] : parts.operators[around])
      add(layers_.operators()[op], measures, TableRow::Of::op, no_section);
    sort_rows(rows, options_, false, [](const auto& row) -> const TableRow& { return row.first; });
    for (auto& [row, section] : rows) {
      const std::string within = row.path;
      rows_.push_back(std::move(row));
      if (section != no_section)
        put_section(parts, section, static_cast<std::uint32_t>(rows_.size() - 1), depth + 1,
                    within);
    }
  }

  const Analysis& a_;
  const ProgramLayers& layers_;
  const TableOptions& options_;
  const std::vector<Measures>& own_;                                                   // by layer
  const std::vector<std::map<std::pair<SectionId, std::uint32_t>, Measures>>& parts_;  // by layer
  const std::vector<Section>& sections_;
  const std::vector<Measures> all_;             // by layer, with all within
  std::vector<std::vector<LayerId>> children_;  // by layer
  std::vector<TableRow> rows_;
};

}  // namespace

// A layer that has ranges of its own was in them as long as they say, and one without them as long
// as those within. So host time is not added up twice.
std::vector<Measures> OwnMeasures::with_all_within(const ProgramLayers& layers) const {
  std::vector<Measures> all = of_layer;
  for (auto l = static_cast<LayerId>(all.size()); l-- > 1;) {
    Measures& to = all[layers[l].parent];
    const Ns host_ns = to.host_ns;
    to += all[l];
    if (of_layer[layers[l].parent].host_ns > 0) to.host_ns = host_ns;
  }
  return all;
}

std::vector<TableRow> module_rows(const Analysis& a, const OwnMeasures& own,
                                  const TableOptions& options) {
  return ModuleRows(a, own, options).rows();
}

Ns TableRow::median_work_ns() const {
  if (members.empty()) return 0;
  std::vector<Ns> ns;
  for (const LayerMember& m : members) ns.push_back(m.work_ns);
  const auto middle = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2);
  std::nth_element(ns.begin(), middle, ns.end());
  return *middle;
}

std::pair<Ns, Ns> TableRow::least_most_work_ns() const {
  const auto [least, most] = std::minmax_element(
      members.begin(), members.end(),
      [](const LayerMember& x, const LayerMember& y) { return x.work_ns < y.work_ns; });
  return {least->work_ns, most->work_ns};
}

}  // namespace gh
