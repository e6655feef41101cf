// A table of work is made in three steps. Each operation is put into a group, as fine as the key
// and the columns need it: of operators, say, forward and backward are two. Then everything is
// summed up by group. Then groups make rows: those of one name, or the layers of module_rows.cpp.
#include "analysis/tables/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/structure/structure.hpp"
#include "analysis/tables/labels.hpp"
#include "analysis/tables/module_rows.hpp"
#include "analysis/tables/sections.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

// A row before anything is summed up.
TableRow row_called(const std::string& name, const std::string& label,
                    const std::string& of_class = "") {
  TableRow row;
  row.name = row.path = name;
  row.label = label;
  row.of_class = of_class;
  return row;
}

// Rows by name, in the order in which they were first met; the first is of what has none.
class Rows {
 public:
  explicit Rows(const std::string& of_none) { add(row_called("", of_none)); }
  GroupId add(const TableRow& row) {
    const auto [it, is_new] = index_.emplace(row.name, static_cast<GroupId>(rows_.size()));
    if (is_new) rows_.push_back(row);
    return it->second;
  }
  TableRow& operator[](GroupId row) { return rows_[row]; }
  std::size_t size() const { return rows_.size(); }
  std::vector<TableRow> taken() && { return std::move(rows_); }

 private:
  std::unordered_map<std::string, GroupId> index_;
  std::vector<TableRow> rows_;
};

// A row for each id that a trace has, made when it is first met.
class RowById {
 public:
  RowById(Rows& rows, std::size_t ids) : rows_(rows), row_of_(ids, ungrouped) {}
  template <class Make>
  GroupId row(std::size_t id, Make make) {
    GroupId& row = row_of_[id];
    if (row == ungrouped) row = rows_.add(make());
    return row;
  }
  /// ungrouped if it was not met.
  GroupId at(std::size_t id) const { return row_of_[id]; }

 private:
  Rows& rows_;
  std::vector<GroupId> row_of_;
};

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

class TableMaker {
 public:
  TableMaker(const Analysis& a, const PathParts& path, const TableOptions& options,
             const std::vector<std::int64_t>& peak_by_layer)
      : a_(a),
        t_(a.trace),
        path_(path),
        options_(options),
        peak_by_layer_(peak_by_layer),
        window_(a.analysed_window()),
        path_of_op_(path ? t_.ops.size() : 0),
        path_of_call_(path ? t_.calls.size() : 0),
        host_path_(path ? t_.threads.size() : 0),
        analysed_(a.analysed_threads()),
        sms_(a, "sm_active") {
    if (!path) return;
    for (const PathPart& p : *path.parts) {
      if (p.of == PathPart::Of::operation) path_of_op_[p.row] += p.span.length();
      if (p.of == PathPart::Of::call) path_of_call_[p.row] += p.span.length();
      if (p.of == PathPart::Of::host) host_path_[p.row].push_back(p.span);
    }
  }

  std::vector<Table> tables() {
    switch (options_.by) {
      case By::name:
        put("kernels", [&] { return kernels(); });
        put("copies", [&] { return copies(); });
        put("calls", [&] { return calls_by_name([&](NameId name) { return call_name(name); }); });
        put("ranges", [&] { return ranges(false); });
        put("operators", [&] { return ranges(true); });
        break;
      case By::kind:
        put("work", [&] {
          return work_by(
              work_ids(), [&](Row op) { return work_id(op); }, [&](Row op) { return kind_of(op); });
        });
        put("calls", [&] { return calls_by_name([&](NameId name) { return call_kind(name); }); });
        break;
      case By::kernel: put("work", [&] { return by_kernel(); }); break;
      case By::stream:
        put("work", [&] {
          return work_by(
              t_.streams.size(), [&](Row op) { return t_.ops.stream[op]; },
              [&](Row op) { return stream_of(op); });
        });
        break;
      case By::rank:
        put("work", [&] {
          return work_by(
              t_.processes.size(), [&](Row op) { return t_.process_of(op); },
              [&](Row op) { return rank_of(t_.process_of(op)); });
        });
        put("calls", [&] {
          return calls_by(
              t_.processes.size(),
              [&](Row call) { return t_.threads[t_.calls.thread[call]].process; },
              [&](std::uint16_t process) { return rank_of(process); });
        });
        break;
      case By::module: put("work", [&] { return by_module(); }); break;
      case By::range: put("work", [&] { return by_range(); }); break;
      case By::op:
        put("work", [&] {
          const ProgramLayers& layers = a_.structure().layers();
          return by_origin("(in no operator)",
                           [&](const Origin& o) { return layers.operators()[o.op]; });
        });
        break;
      case By::line:
        put("work", [&] {
          return by_origin("(of no known line)",
                           [&](const Origin& o) { return line_text(o.line); });
        });
        break;
    }
    return std::move(tables_);
  }

 private:
  template <class Make>
  void put(const std::string& name, Make make) {
    const auto& wanted = options_.tables;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    Table table;
    table.name = name;
    table.rows = make();
    const bool of_device = name != "calls";
    for (TableRow& r : table.rows) {
      table.total_ns += r.each.total_ns;
      if (of_device) r.device_fraction = share(r.device_ns, a_.total_ns());
      if (path_) r.path_fraction = share(r.path_ns, path_.total_ns);
      if (!options_.summed) continue;
      r.total_fraction = share(r.total_ns(), a_.total_ns());
      r.bound_by = r.sum.bound_by(a_.account);
    }
    if (options_.by != By::module)
      sort_rows(table.rows, options_, options_.counted, std::identity());
    table.rows_in_all = table.rows.size();
    if (table.rows.size() > options_.most) table.rows.resize(options_.most);
    if (!table.rows.empty()) tables_.push_back(std::move(table));
  }

  static double share(Ns part, Ns whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }

  template <class Take>
  void each_op(Take take) const {
    for (std::size_t d = 0; d < a_.devices.size(); ++d) a_.each_op_in_steps(d, take);
  }
  // Calls take(row) with the host's events that touch the window.
  template <class Events, class Take>
  void each_in_window(const Events& events, Take take) const {
    for (Row r = 0; r < events.size() && events.start[r] < window_.end; ++r)
      if (events.end[r] > window_.start && analysed_[events.thread[r]]) take(r);
  }
  Ns within(Ns start, Ns end) const {
    return std::min(end, window_.end) - std::max(start, window_.start);
  }
  Ns op_path(Row op) const { return path_of_op_.empty() ? 0 : path_of_op_[op]; }
  Ns call_path(Row call) const { return path_of_call_.empty() ? 0 : path_of_call_[call]; }
  SampledTime active(Row op) const {
    return sms_.over(t_.device_of(op), {t_.ops.start[op], t_.ops.end[op]});
  }

  // Everything but the path, by group.
  std::vector<Measures> measured(std::size_t groups, const GroupOf& group_of) const {
    std::vector<Measures> m(groups);
    if (options_.summed) {
      std::vector<WorkSum> sums = sum_work(a_, groups, group_of);
      for (std::size_t g = 0; g < groups; ++g) {
        m[g].device_ns = sums[g].device_ns;
        m[g].sum = std::move(sums[g]);
      }
    }
    if (options_.counted)
      each_op([&](Row op) {
        Measures& to = m[group_of(op)];
        const Ns ns = t_.ops.end[op] - t_.ops.start[op];
        to.each.add(ns);
        to.bytes += t_.ops.bytes[op];
        if (!options_.summed) to.device_ns += ns;
        to.sms += active(op);
      });
    return m;
  }

  // ---- keys that an operation has by itself

  // `id_of`: what operations of one row have in common, below `ids`; `row_of`: the row, by one of
  // them. The path's time in which no operation runs is of the row without a name.
  template <class IdOf, class RowOf>
  std::vector<TableRow> work_by(std::size_t ids, IdOf id_of, RowOf row_of,
                                bool (*wanted)(OpKind) = nullptr) const {
    Rows rows(options_.by == By::kernel ? "(no kernel)" : "(no operation)");
    RowById by_id(rows, ids);
    std::vector<GroupId> group(t_.ops.size());
    for (const DeviceSteps& d : a_.devices)
      for (const Row op : d.ops)
        if (!wanted || wanted(t_.ops.kind[op]))
          group[op] = by_id.row(id_of(op), [&] { return row_of(op); });
    const std::vector<Measures> m = measured(rows.size(), [&](Row op) { return group[op]; });
    for (GroupId g = 0; g < m.size(); ++g) static_cast<Measures&>(rows[g]) += m[g];
    Ns path_ns = 0;
    if (path_)
      for (Row op = 0; op < t_.ops.size(); ++op) {
        rows[group[op]].path_ns += path_of_op_[op];
        path_ns += path_of_op_[op];
      }
    if (path_ && !options_.counted) rows[0].path_ns += path_.total_ns - path_ns;
    std::vector<TableRow> all = std::move(rows).taken();
    if (wanted) all.erase(all.begin());
    return finished(std::move(all));
  }

  // Without rows of nothing.
  std::vector<TableRow> finished(std::vector<TableRow> rows) const {
    std::erase_if(
        rows, [&](const TableRow& r) { return options_.counted ? r.each.count == 0 : !r.any(); });
    for (TableRow& r : rows) r.own_ns = r.total_ns();
    return rows;
  }

  std::vector<TableRow> kernels() const {
    return work_by(
        t_.names.size(), [&](Row op) { return t_.ops.name[op]; },
        [&](Row op) {
          const std::string &name = t_.names[t_.ops.name[op]], label = op_label(a_, op);
          return row_called(name.empty() ? label : name, label,
                            t_.ops.kind[op] == OpKind::graph ? "graph" : a_.kernel_class(op));
        },
        [](OpKind kind) { return kind == OpKind::kernel || kind == OpKind::graph; });
  }
  std::vector<TableRow> copies() const {
    return work_by(
        copy_ids, [&](Row op) { return copy_id(op); }, [&](Row op) { return labelled(op); },
        [](OpKind kind) { return kind == OpKind::copy || kind == OpKind::set; });
  }
  std::vector<TableRow> by_kernel() const {
    std::vector<TableRow> rows = work_by(
        work_ids(), [&](Row op) { return work_id(op); }, [&](Row op) { return labelled(op); });
    for (TableRow& row : rows) {
      row.operators = operators_in(row.name);
      if (const auto source = t_.kernel_sources.find(t_.names.find(row.name));
          source != t_.kernel_sources.end())
        row.file = t_.names[source->second];
    }
    return rows;
  }
  TableRow labelled(Row op) const { return row_called(op_label(a_, op), op_label(a_, op)); }

  // Kernels and graphs by name, then copies and memsets by what op_label tells them apart by.
  std::size_t work_ids() const { return t_.names.size() + copy_ids; }
  std::size_t work_id(Row op) const {
    const OpKind kind = t_.ops.kind[op];
    if (kind == OpKind::kernel || kind == OpKind::graph) return t_.ops.name[op];
    return t_.names.size() + copy_id(op);
  }
  static constexpr std::size_t copy_ids = 64;
  std::size_t copy_id(Row op) const {
    const bool pageable =
        t_.ops.source[op] == MemoryKind::pageable || t_.ops.target[op] == MemoryKind::pageable;
    return (t_.ops.kind[op] == OpKind::set ? 32 : 0) +
           2 * static_cast<std::size_t>(t_.ops.copy[op]) + (pageable ? 1 : 0);
  }

  TableRow kind_of(Row op) const {
    if (t_.ops.kind[op] == OpKind::copy || t_.ops.kind[op] == OpKind::set) return labelled(op);
    const std::string name = t_.ops.kind[op] == OpKind::graph ? "graph" : a_.kernel_class(op);
    return row_called(name, cause_label(cause_name(name)));
  }
  TableRow stream_of(Row op) const {
    const Stream& s = t_.streams[t_.ops.stream[op]];
    const std::string label = fmt::format(
        "device {}, stream {}{}", t_.devices[s.device].ordinal, s.id,
        t_.processes.size() > 1 ? fmt::format(" of {}", t_.processes[s.process].pid) : "");
    return row_called(label, label);
  }
  // Counted as --rank does.
  TableRow rank_of(std::uint16_t process) const {
    std::vector<std::uint16_t> ranks;
    std::vector<std::string> on;
    for (const DeviceSteps& d : a_.devices) {
      if (std::find(ranks.begin(), ranks.end(), d.process) == ranks.end())
        ranks.push_back(d.process);
      if (d.process == process) on.push_back(std::to_string(t_.devices[d.device].ordinal));
    }
    const Process& p = t_.processes[process];
    std::string label = fmt::format("{} {}", p.name.empty() ? "process" : p.name, p.pid);
    if (!on.empty())
      label = fmt::format("rank {}, device {} ({})",
                          std::find(ranks.begin(), ranks.end(), process) - ranks.begin(),
                          fmt::join(on, ", "), label);
    return row_called(label, label);
  }

  // ---- calls

  TableRow call_name(NameId name) const {
    return row_called(t_.names[name], t_.names[name], name_of(a_.names.call[name]));
  }
  TableRow call_kind(NameId name) const {
    const std::string kind = name_of(a_.names.call[name]);
    return row_called(kind, kind);
  }
  template <class RowOf>
  std::vector<TableRow> calls_by_name(RowOf row_of) const {
    return calls_by(
        t_.names.size(), [&](Row call) { return t_.calls.name[call]; }, row_of);
  }
  // `row_of`: by what `id_of` gives.
  template <class IdOf, class RowOf>
  std::vector<TableRow> calls_by(std::size_t ids, IdOf id_of, RowOf row_of) const {
    Rows rows("");
    RowById by_id(rows, ids);
    const Calls& c = t_.calls;
    each_in_window(c, [&](Row r) {
      TableRow& row = rows[by_id.row(id_of(r), [&] { return row_of(id_of(r)); })];
      row.each.add(within(c.start[r], c.end[r]));
      row.path_ns += call_path(r);
    });
    return finished(std::move(rows).taken());
  }

  // ---- keys that the structure gives

  // The path by group, where each operation is in the group of its origin, and each layer may have
  // one that takes the host's time in it.
  std::vector<Ns> path_of(std::size_t groups, const GroupOf& of_op, const GroupOf& of_call,
                          const std::vector<GroupId>& of_layer = {}) const {
    if (!path_) return {};
    const Nesting& nesting = a_.structure().ranges();
    const ProgramLayers& layers = a_.structure().layers();
    const auto is_layer = [&](Row range) { return layers.of_range(range) != outside; };
    return path_by_group(
        path_, groups, of_op, of_call,
        [&](std::uint16_t thread, Span span, const std::function<void(Ns, GroupId)>& take) {
          if (of_layer.empty()) return;
          nesting.split(thread, span, is_layer, [&](Span part, Row range) {
            if (range != no_row && of_layer[layers.of_range(range)] != ungrouped)
              take(part.length(), of_layer[layers.of_range(range)]);
          });
        });
  }

  std::vector<Measures> measured_with_path(std::size_t groups, const GroupOf& of_op,
                                           const GroupOf& of_call,
                                           const std::vector<GroupId>& of_layer = {}) const {
    std::vector<Measures> m = measured(groups, of_op);
    const std::vector<Ns> path = path_of(groups, of_op, of_call, of_layer);
    for (std::size_t g = 0; g < path.size(); ++g) m[g].path_ns = path[g];
    return m;
  }

  // What each layer takes by itself; with `whole` also what its sections and operators do.
  OwnMeasures measured_layers() const {
    const ProgramLayers& layers = a_.structure().layers();
    OwnMeasures own;
    std::vector<Measures>& by_layer = own.of_layer;
    by_layer.resize(layers.all().size());
    const auto add = [&](const Origin& origin, Measures& to, const Measures& m) {
      to += m;
      add_pass(to, origin.pass, m.total_ns());
    };
    if (options_.whole) {
      const Sections sections(a_);
      own.sections = sections.all();
      own.of_parts.resize(by_layer.size());
      std::vector<std::pair<OriginId, SectionId>> keys{{0, no_section}};
      std::map<std::pair<OriginId, SectionId>, GroupId> ids{{keys.front(), 0}};
      std::vector<GroupId> group(t_.ops.size());
      for (const DeviceSteps& d : a_.devices)
        for (const Row op : d.ops) {
          const std::pair key(layers.of_op(op), sections.of_call(t_.ops.call[op]));
          const auto [it, is_new] = ids.try_emplace(key, static_cast<GroupId>(keys.size()));
          if (is_new) keys.push_back(key);
          group[op] = it->second;
        }
      const std::vector<Measures> m = measured(keys.size(), [&](Row op) { return group[op]; });
      for (std::size_t g = 0; g < m.size(); ++g) {
        const Origin& origin = layers.origin(keys[g].first);
        add(origin, by_layer[origin.layer], m[g]);
        add(origin, own.of_parts[origin.layer][{keys[g].second, origin.op}], m[g]);
      }
      sections.each_host_time([&](LayerId layer, SectionId section, Ns ns) {
        own.of_parts[layer][{section, 0}].host_ns += std::max<Ns>(0, ns);
        if (layer == outside) by_layer[outside].host_ns += std::max<Ns>(0, ns);
      });
    } else {
      const std::vector<Measures> m =
          measured(layers.origins().size(), [&](Row op) { return layers.of_op(op); });
      for (OriginId o = 0; o < m.size(); ++o)
        add(layers.origin(o), by_layer[layers.origin(o).layer], m[o]);
    }
    std::vector<GroupId> itself(by_layer.size());
    for (GroupId l = 0; l < itself.size(); ++l) itself[l] = l;
    const auto layer_of = [&](OriginId origin) { return layers.origin(origin).layer; };
    const std::vector<Ns> path = path_of(
        by_layer.size(), [&](Row op) { return layer_of(layers.of_op(op)); },
        [&](Row call) { return layer_of(layers.of_call(call)); }, itself);
    for (std::size_t l = 0; l < path.size(); ++l) by_layer[l].path_ns = path[l];
    for (std::size_t l = 0; l < std::min(by_layer.size(), peak_by_layer_.size()); ++l)
      by_layer[l].peak_bytes = peak_by_layer_[l];
    add_host_time(by_layer, t_.ranges, [&](Row r) { return layers.of_range(r); });
    add_host_time(by_layer, t_.frames, [&](Row r) { return layers.of_frame(r); });
    return own;
  }

  static void add_pass(Measures& m, Pass pass, Ns ns) {
    if (pass == Pass::forward) m.forward_ns += ns;
    if (pass == Pass::backward) m.backward_ns += ns;
  }

  // How long threads were in the ranges of each layer; one within another of the same counts once.
  template <class Events, class LayerOf>
  void add_host_time(std::vector<Measures>& by_layer, const Events& events,
                     LayerOf layer_of) const {
    std::map<std::pair<std::uint16_t, LayerId>, Ns> until;
    each_in_window(events, [&](Row r) {
      const LayerId layer = layer_of(r);
      if (layer == outside) return;
      Ns& in = until.try_emplace({events.thread[r], layer}, events.start[r]).first->second;
      by_layer[layer].host_ns +=
          std::max<Ns>(0, within(std::max(in, events.start[r]), events.end[r]));
      in = std::max(in, events.end[r]);
    });
  }

  std::vector<TableRow> by_module() const {
    std::vector<TableRow> rows = module_rows(a_, measured_layers(), options_);
    if (options_.counted) std::erase_if(rows, [](const TableRow& r) { return r.each.count == 0; });
    for (TableRow& row : rows) {
      row.label = row.path.empty() ? "(in no layer)" : row.path;
      if (options_.counted) row.name = row.path;
    }
    return rows;
  }

  // Work by its innermost layer that a range names; outside of all, by the innermost range that it
  // was launched in, which is one of a step or a pass.
  std::vector<TableRow> by_range() const {
    const ProgramLayers& layers = a_.structure().layers();
    Rows rows("(in no range)");
    std::vector<GroupId> of_layer(layers.all().size(), ungrouped);
    for (LayerId l = 1; l < layers.all().size(); ++l) {
      const std::string path = options_.each ? layers.path(l) : layers.stem_path(l);
      of_layer[l] =
          layers[l].is_found ? of_layer[layers[l].parent] : rows.add(row_called(path, path));
    }
    RowById by_name(rows, t_.names.size());
    OpenInOrder open(a_.structure().ranges(), t_.ranges, t_.threads.size());
    std::vector<GroupId> of_call(t_.calls.size());
    for (Row c = 0; c < t_.calls.size(); ++c)
      if (const GroupId group = of_layer[layers.origin(layers.of_call(c)).layer];
          group != ungrouped)
        of_call[c] = group;
      else if (const Row range = open.first_around(t_.calls, c, a_.structure().callers(),
                                                   [&](Row r) { return !is_operator(r); });
               range != no_row)
        of_call[c] = by_name.row(t_.ranges.name[range],
                                 [&] { return range_row(t_.ranges.name[range], false); });
    const auto group_of = [&](Row op) -> GroupId {
      const GroupId group = of_layer[layers.origin(layers.of_op(op)).layer];
      if (group != ungrouped) return group;
      return t_.ops.call[op] == no_row ? 0 : of_call[t_.ops.call[op]];
    };
    const std::vector<Measures> m = measured_with_path(
        rows.size(), group_of, [&](Row call) { return of_call[call]; }, of_layer);
    for (GroupId g = 0; g < m.size(); ++g) static_cast<Measures&>(rows[g]) += m[g];
    return finished(std::move(rows).taken());
  }

  // A row for each name that origins have.
  template <class NameOf>
  std::vector<TableRow> by_origin(const std::string& of_none, NameOf name_of_origin) const {
    const ProgramLayers& layers = a_.structure().layers();
    const std::vector<Measures> m = measured_with_path(
        layers.origins().size(), [&](Row op) { return layers.of_op(op); },
        [&](Row call) { return layers.of_call(call); });
    Rows rows(of_none);
    for (std::size_t o = 0; o < m.size(); ++o) {
      if (!m[o].any()) continue;
      const Origin& origin = layers.origins()[o];
      const std::string name = name_of_origin(origin);
      TableRow& row = rows[rows.add(row_called(name, name))];
      static_cast<Measures&>(row) += m[o];
      add_pass(row, origin.pass, m[o].total_ns());
    }
    return finished(std::move(rows).taken());
  }

  std::string line_text(NameId name) const {
    if (name == 0) return "";
    const auto it = a_.names.sources.find(name);
    return it == a_.names.sources.end() ? ""
                                        : fmt::format("{}:{}", it->second.file, it->second.line);
  }

  // ---- ranges by name

  bool is_operator(Row range) const {
    return a_.structure().operators()[t_.ranges.name[range]] != 0;
  }

  // What counts is one.
  TableRow range_row(NameId name, bool the_operators) const {
    const std::string& full = t_.names[name];
    const std::string counted = the_operators   ? std::string(operator_of(full))
                                : options_.each ? full
                                                : without_numbers(full);
    return row_called(counted, counted);
  }

  // Ranges with all that is in them. What layers are has the work of these layers, as everywhere;
  // operators, steps and passes have what was launched in them.
  std::vector<TableRow> ranges(bool the_operators) const {
    const Ranges& r = t_.ranges;
    const ProgramLayers* layers = the_operators ? nullptr : &a_.structure().layers();
    Rows rows("");
    RowById by_name(rows, t_.names.size());
    // Operators cover their own thread only.
    std::vector<std::uint16_t> callers = a_.structure().callers();
    if (the_operators) std::iota(callers.begin(), callers.end(), std::uint16_t{0});
    const std::vector<Spans> host = host_path_of(callers);
    std::map<std::pair<std::uint16_t, GroupId>, Ns> open_until;  // by thread and row
    std::map<GroupId, std::set<LayerId>> layers_of;              // by row
    each_in_window(r, [&](Row i) {
      if (is_operator(i) != the_operators) return;
      const GroupId row =
          by_name.row(r.name[i], [&] { return range_row(r.name[i], the_operators); });
      if (layers && layers->of_range(i) != outside) layers_of[row].insert(layers->of_range(i));
      Ns& until = open_until.try_emplace({r.thread[i], row}, r.start[i]).first->second;
      if (until > r.start[i]) return;  // one in another of the same name counts once
      until = r.end[i];
      rows[row].each.add(within(r.start[i], r.end[i]));
      if (!host.empty()) rows[row].path_ns += overlap(host[r.thread[i]], {r.start[i], r.end[i]});
    });
    const std::vector<Launched> launched = launched_by_calls();
    std::vector<Row> counted(rows.size(), no_row);  // by row: the last call that it had
    OpenInOrder open(a_.structure().ranges(), r, t_.threads.size());
    for (Row c = 0; c < t_.calls.size(); ++c)
      if (launched[c].device_ns > 0 || launched[c].path_ns > 0)
        open.first_around(t_.calls, c, callers, [&](Row i) {
          if (is_operator(i) != the_operators) return false;
          const GroupId row = by_name.at(r.name[i]);
          if (row == ungrouped || std::exchange(counted[row], c) == c) return false;
          rows[row].device_ns += launched[c].device_ns;
          rows[row].path_ns += launched[c].path_ns;
          rows[row].sms += launched[c].sms;
          return false;
        });
    if (!layers_of.empty()) set_layers(rows, layers_of);
    return finished(std::move(rows).taken());
  }

  // What each call gave the GPU to do: its time, and what of the path that and the call itself
  // have.
  struct Launched {
    Ns device_ns = 0, path_ns = 0;
    SampledTime sms;
  };
  std::vector<Launched> launched_by_calls() const {
    std::vector<Launched> launched(t_.calls.size());
    for (Row c = 0; c < launched.size(); ++c) launched[c].path_ns = call_path(c);
    each_op([&](Row op) {
      const Row call = t_.ops.call[op];
      if (call == no_row) return;
      launched[call].device_ns += t_.ops.end[op] - t_.ops.start[op];
      launched[call].path_ns += op_path(op);
      launched[call].sms += active(op);
    });
    return launched;
  }

  // Gives rows the work and the path of their layers, with all that lies in them.
  void set_layers(Rows& rows, const std::map<GroupId, std::set<LayerId>>& layers_of) const {
    const ProgramLayers& layers = a_.structure().layers();
    const std::vector<Measures> all = measured_layers().with_all_within(layers);
    for (const auto& [row, its] : layers_of) {
      TableRow& to = rows[row];
      to.device_ns = to.path_ns = 0;
      to.sms = {};
      for (const LayerId layer : its) {
        LayerId around = layers[layer].parent;
        while (around != outside && !its.contains(around)) around = layers[around].parent;
        if (around != outside) continue;  // its work is in that one's
        to.device_ns += all[layer].device_ns;
        to.path_ns += all[layer].path_ns;
        to.sms += all[layer].sms;
      }
    }
  }

  // The path's time on host threads, by the thread whose ranges cover it.
  std::vector<Spans> host_path_of(const std::vector<std::uint16_t>& callers) const {
    std::vector<Spans> host(host_path_.size());
    for (std::uint16_t t = 0; t < host.size(); ++t)
      for (const std::uint16_t to : std::set<std::uint16_t>{t, callers[t]})
        host[to].insert(host[to].end(), host_path_[t].begin(), host_path_[t].end());
    for (Spans& spans : host) spans = united(std::move(spans));
    return host;
  }

  const Analysis& a_;
  const Trace& t_;
  const PathParts path_;
  const TableOptions& options_;
  const std::vector<std::int64_t>& peak_by_layer_;
  const Span window_;
  std::vector<Ns> path_of_op_, path_of_call_;  // by row; empty without a path
  std::vector<std::vector<Span>> host_path_;   // by thread
  const std::vector<std::uint8_t> analysed_;   // by thread
  const SampledCurve sms_;
  std::vector<Table> tables_;
};

// Which tables there are by these rows.
std::vector<std::string> tables_by(By by) {
  switch (by) {
    case By::name: return {"kernels", "copies", "calls", "ranges", "operators"};
    case By::kind:
    case By::rank: return {"work", "calls"};
    default: return {"work"};
  }
}

void refuse_tables(const TableOptions& o) {
  const std::vector<std::string> known = tables_by(o.by);
  for (const std::string& table : o.tables)
    if (std::find(known.begin(), known.end(), table) == known.end())
      throw Error(fmt::format("--only {}: --by {} has no such table{}; it has: {}",
                              printable(table), name_of(o.by), did_you_mean(table, known),
                              fmt::join(known, ", ")));
}

template <class Enum>
Enum named_in(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

const std::vector<std::string>& by_names() {
  static const std::vector<std::string> names{"name", "class",  "module", "range", "op",
                                              "line", "kernel", "stream", "rank"};
  return names;
}
const std::vector<std::string>& sort_names() {
  static const std::vector<std::string> names{"time",     "count", "mean", "path",   "idle",
                                              "launches", "flops", "name", "program"};
  return names;
}
std::vector<std::string> work_by_names() { return {by_names().begin() + 1, by_names().end()}; }
By by_named(const std::string& name) { return named_in<By>(by_names(), name); }
Sort sort_named(const std::string& name) { return named_in<Sort>(sort_names(), name); }
const std::string& name_of(By by) { return by_names()[static_cast<std::size_t>(by)]; }
const std::string& name_of(Sort sort) { return sort_names()[static_cast<std::size_t>(sort)]; }

const std::vector<std::string>& table_names() {
  static const std::vector<std::string> names{"kernels", "copies",    "calls",
                                              "ranges",  "operators", "work"};
  return names;
}

TableOptions layers_options() {
  TableOptions options;
  options.by = By::module;
  options.counted = false;
  options.summed = true;
  return options;
}

std::vector<Table> make_tables(const Analysis& analysis, const PathParts& path,
                               const TableOptions& options,
                               const std::vector<std::int64_t>& peak_by_layer) {
  refuse_tables(options);
  return TableMaker(analysis, path, options, peak_by_layer).tables();
}

}  // namespace gh
