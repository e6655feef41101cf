#include "report/top.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/crews.hpp"
#include "analysis/open_ranges.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "report/json_parts.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

constexpr std::uint32_t in_no_row = std::numeric_limits<std::uint32_t>::max();

// Rows of a table by key, in the order in which they were first met.
class TopRows {
 public:
  // The row of that name; a new one is called `label`.
  std::uint32_t row(const std::string& name, const std::string& label) {
    const auto [it, is_new] = index_.emplace(name, static_cast<std::uint32_t>(rows_.size()));
    if (is_new) {
      rows_.emplace_back();
      rows_.back().name = name;
      rows_.back().label = label;
    }
    return it->second;
  }
  TopRow& operator[](std::uint32_t row) { return rows_[row]; }
  std::size_t size() const { return rows_.size(); }
  void add(std::uint32_t row, Ns ns) {
    TopRow& r = rows_[row];
    ++r.count;
    r.total_ns += ns;
    r.least_ns = std::min(r.least_ns, ns);
    r.most_ns = std::max(r.most_ns, ns);
  }
  std::vector<TopRow> taken() && { return std::move(rows_); }

 private:
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<TopRow> rows_;
};

// What a table has shares of.
enum Shares : std::uint8_t { of_devices = 1, of_path = 2 };

class TopMaker {
 public:
  TopMaker(const Analysis& a, const Path* path, const TopOptions& options)
      : a_(a),
        t_(a.trace),
        options_(options),
        window_(a.analysed_window()),
        path_total_(path ? path->total_ns : 0),
        path_of_op_(path ? t_.ops.size() : 0),
        path_of_call_(path ? t_.calls.size() : 0),
        host_path_(path ? t_.threads.size() : 0),
        analysed_(t_.processes.size()),
        sms_(a, "sm_active") {
    for (const DeviceSteps& d : a.devices)
      if (d.process < analysed_.size()) analysed_[d.process] = 1;
    if (path) add_path(*path);
  }

  std::vector<TopTable> tables() {
    switch (options_.by) {
      case TopBy::name: put_by_name(); break;
      case TopBy::kind:
        put(
            "work",
            [&] {
              return work_by(
                  work_ids(), [&](Row op) { return work_id(op); },
                  [&](Row op) { return kind_of(op); });
            },
            of_devices | of_path);
        put(
            "calls",
            [&] {
              return calls_by(
                  t_.names.size(), [&](Row c) { return t_.calls.name[c]; },
                  [&](Row c) { return call_kind(c); });
            },
            of_path);
        break;
      case TopBy::range:
      case TopBy::op:
        put(
            "work", [&] { return work_by_place(options_.by == TopBy::op); }, of_devices | of_path);
        break;
      case TopBy::stream:
        put(
            "work",
            [&] {
              return work_by(
                  t_.streams.size(), [&](Row op) { return t_.ops.stream[op]; },
                  [&](Row op) { return stream_of(op); });
            },
            of_devices | of_path);
        break;
      case TopBy::rank:
        put(
            "work",
            [&] {
              return work_by(
                  t_.processes.size(), [&](Row op) { return t_.process_of(op); },
                  [&](Row op) { return rank_of(t_.process_of(op)); });
            },
            of_devices | of_path);
        put(
            "calls",
            [&] {
              return calls_by(
                  t_.processes.size(), [&](Row c) { return process_of_call(c); },
                  [&](Row c) { return rank_of(process_of_call(c)); });
            },
            of_path);
        break;
    }
    return std::move(tables_);
  }

 private:
  using Named = std::pair<std::string, std::string>;  // name and label of a row

  void put_by_name() {
    put(
        "kernels", [&] { return kernels(); }, of_devices | of_path);
    put(
        "copies", [&] { return copies(); }, of_devices | of_path);
    put(
        "calls",
        [&] {
          return calls_by(
              t_.names.size(), [&](Row c) { return t_.calls.name[c]; },
              [&](Row c) { return call_name(c); });
        },
        of_path);
    put(
        "ranges", [&] { return ranges(false); }, of_devices | of_path);
    put(
        "operators", [&] { return ranges(true); }, of_devices | of_path);
  }

  void add_path(const Path& path) {
    for (const PathPart& p : path.parts) {
      if (p.of == PathPart::Of::operation) path_of_op_[p.row] += p.span.length();
      if (p.of == PathPart::Of::call) path_of_call_[p.row] += p.span.length();
      if (p.of == PathPart::Of::host) host_path_[p.row].push_back(p.span);
    }
  }
  Ns op_path(Row op) const { return path_of_op_.empty() ? 0 : path_of_op_[op]; }
  Ns call_path(Row call) const { return path_of_call_.empty() ? 0 : path_of_call_[call]; }

  template <class Make>
  void put(const std::string& name, Make make, int shares) {
    const auto& wanted = options_.tables;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    TopTable table;
    table.name = name;
    table.rows = TopRows(make()).taken();
    if (table.rows.empty()) return;
    for (TopRow& r : table.rows) {
      table.total_ns += r.total_ns;
      if (shares & of_devices) r.device_fraction = share(r.device_ns, a_.total_ns());
      if ((shares & of_path) && path_total_ > 0) r.path_fraction = share(r.path_ns, path_total_);
    }
    sort(table.rows);
    table.rows_in_all = table.rows.size();
    if (table.rows.size() > options_.most) table.rows.resize(options_.most);
    tables_.push_back(std::move(table));
  }

  static double share(Ns part, Ns whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }

  // Of what is equal, what takes most comes first, then by name.
  void sort(std::vector<TopRow>& rows) const {
    const auto key = [&](const TopRow& r) {
      switch (options_.sort) {
        case TopSort::count: return static_cast<double>(r.count);
        case TopSort::mean: return r.mean_ns();
        case TopSort::path: return static_cast<double>(r.path_ns);
        case TopSort::name: return 0.0;
        default: return static_cast<double>(r.total_ns);
      }
    };
    const bool by_name = options_.sort == TopSort::name;
    std::sort(rows.begin(), rows.end(), [&](const TopRow& x, const TopRow& y) {
      if (key(x) != key(y)) return key(x) > key(y);
      if (!by_name && x.total_ns != y.total_ns) return x.total_ns > y.total_ns;
      return x.name < y.name;
    });
  }

  template <class Take>
  void each_op(Take take) const {
    for (std::size_t d = 0; d < a_.devices.size(); ++d) a_.each_op_in_steps(d, take);
  }
  // The calls of the analysed processes within the window.
  template <class Take>
  void each_call(Take take) const {
    const Calls& c = t_.calls;
    for (Row r = 0; r < c.size() && c.start[r] < window_.end; ++r)
      if (c.end[r] > window_.start && is_analysed(c.thread[r])) take(r);
  }
  bool is_analysed(std::uint16_t thread) const { return analysed_[t_.threads[thread].process]; }
  Ns within(Ns start, Ns end) const {
    return std::min(end, window_.end) - std::max(start, window_.start);
  }

  SampledTime active(Row op) const {
    return sms_.over(t_.device_of(op), {t_.ops.start[op], t_.ops.end[op]});
  }
  void add_op(TopRows& rows, std::uint32_t row, Row op) const {
    const Ns ns = t_.ops.end[op] - t_.ops.start[op];
    rows.add(row, ns);
    rows[row].bytes += t_.ops.bytes[op];
    rows[row].device_ns += ns;
    rows[row].path_ns += op_path(op);
    rows[row].sms += active(op);
  }

  TopRows kernels() const {
    TopRows rows;
    std::vector<std::uint32_t> row_of(t_.names.size(), in_no_row);  // by name
    each_op([&](Row op) {
      if (t_.ops.kind[op] != OpKind::kernel && t_.ops.kind[op] != OpKind::graph) return;
      std::uint32_t& row = row_of[t_.ops.name[op]];
      if (row == in_no_row) {
        const std::string &name = t_.names[t_.ops.name[op]], label = op_label(a_, op);
        row = rows.row(name.empty() ? label : name, label);
        rows[row].of_class = t_.ops.kind[op] == OpKind::graph ? "graph" : a_.kernel_class(op);
      }
      add_op(rows, row, op);
    });
    return rows;
  }

  TopRows copies() const {
    TopRows rows;
    std::vector<std::uint32_t> row_of(copy_ids, in_no_row);
    each_op([&](Row op) {
      if (t_.ops.kind[op] != OpKind::copy && t_.ops.kind[op] != OpKind::set) return;
      std::uint32_t& row = row_of[copy_id(op)];
      if (row == in_no_row) row = rows.row(op_label(a_, op), op_label(a_, op));
      add_op(rows, row, op);
    });
    return rows;
  }

  // `id_of`: what operations of one row have in common, below `ids`; `named`: the row's name and
  // label, by one of them.
  template <class IdOf, class NamedOf>
  TopRows work_by(std::size_t ids, IdOf id_of, NamedOf named) const {
    TopRows rows;
    std::vector<std::uint32_t> row_of(ids, in_no_row);
    each_op([&](Row op) {
      std::uint32_t& row = row_of[id_of(op)];
      if (row == in_no_row) {
        const Named n = named(op);
        row = rows.row(n.first, n.second);
      }
      add_op(rows, row, op);
    });
    return rows;
  }

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

  Named kind_of(Row op) const {
    if (t_.ops.kind[op] == OpKind::copy || t_.ops.kind[op] == OpKind::set)
      return {op_label(a_, op), op_label(a_, op)};
    const std::string name = t_.ops.kind[op] == OpKind::graph ? "graph" : a_.kernel_class(op);
    return {name, cause_label(cause_name(name))};
  }
  Named stream_of(Row op) const {
    const Stream& s = t_.streams[t_.ops.stream[op]];
    const std::string label = fmt::format(
        "device {}, stream {}{}", t_.devices[s.device].ordinal, s.id,
        t_.processes.size() > 1 ? fmt::format(" of {}", t_.processes[s.process].pid) : "");
    return {label, label};
  }
  // Counted as --rank does.
  Named rank_of(std::uint16_t process) const {
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
    return {label, label};
  }

  std::uint16_t process_of_call(Row c) const { return t_.threads[t_.calls.thread[c]].process; }

  // As work_by.
  template <class IdOf, class NamedOf>
  TopRows calls_by(std::size_t ids, IdOf id_of, NamedOf named) const {
    TopRows rows;
    std::vector<std::uint32_t> row_of(ids, in_no_row);
    each_call([&](Row c) {
      std::uint32_t& row = row_of[id_of(c)];
      if (row == in_no_row) {
        const Named n = named(c);
        row = rows.row(n.first, n.second);
      }
      rows.add(row, within(t_.calls.start[c], t_.calls.end[c]));
      rows[row].path_ns += call_path(c);
      if (options_.by == TopBy::name && rows[row].of_class.empty())
        rows[row].of_class = name_of(a_.names.call[t_.calls.name[c]]);
    });
    return rows;
  }
  Named call_name(Row c) const {
    const std::string& name = t_.names[t_.calls.name[c]];
    return {name, name};
  }
  Named call_kind(Row c) const {
    const std::string name = name_of(a_.names.call[t_.calls.name[c]]);
    return {name, name};
  }

  // By NameId: what of ranges is looked at.
  static std::vector<std::uint8_t> chosen(const std::vector<std::uint8_t>& is_operator,
                                          bool the_operators) {
    std::vector<std::uint8_t> wanted(is_operator.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = (is_operator[i] != 0) == the_operators;
    return wanted;
  }

  // The row of a range: what counts is one.
  std::uint32_t range_row(TopRows& rows, std::vector<std::uint32_t>& row_of, NameId name,
                          bool the_operators) const {
    std::uint32_t& row = row_of[name];
    if (row == in_no_row) {
      const std::string& full = t_.names[name];
      const std::string counted = the_operators       ? std::string(operator_of(full))
                                  : options_.numbered ? full
                                                      : without_numbers(full);
      row = rows.row(counted, counted);
    }
    return row;
  }

  // What each call gave the GPU to do: its time, and what of the path that and the call itself
  // have.
  struct Launched {
    std::vector<Ns> device, path;
    std::vector<SampledTime> sms;
    std::vector<std::uint8_t> any;
  };
  const Launched& launched() {
    if (!launched_) launched_ = sum_of_launched();
    return *launched_;
  }
  Launched sum_of_launched() const {
    Launched l;
    l.device.resize(t_.calls.size());
    l.path = path_of_call_;
    l.path.resize(t_.calls.size());
    l.any.resize(t_.calls.size());
    l.sms.resize(t_.calls.size());
    each_op([&](Row op) {
      const Row call = t_.ops.call[op];
      if (call == no_row) return;
      l.device[call] += t_.ops.end[op] - t_.ops.start[op];
      l.path[call] += op_path(op);
      l.sms[call] += active(op);
      l.any[call] = 1;
    });
    return l;
  }

  // Ranges with all that is in them.
  TopRows ranges(bool the_operators) {
    TopRows rows;
    const Ranges& r = t_.ranges;
    const std::vector<std::uint8_t> is_operator = operators_of(t_),
                                    wanted = chosen(is_operator, the_operators);
    std::vector<std::uint32_t> row_of(t_.names.size(), in_no_row);  // by name
    const std::vector<std::uint16_t> narrators = narrators_for(is_operator, the_operators);
    const std::vector<Spans> host = host_path_of(narrators);
    std::map<std::pair<std::uint16_t, std::uint32_t>, Ns> open_until;  // by thread and row
    for (Row i = 0; i < r.size() && r.start[i] < window_.end; ++i) {
      if (r.end[i] <= window_.start || !wanted[r.name[i]] || !is_analysed(r.thread[i])) continue;
      const std::uint32_t row = range_row(rows, row_of, r.name[i], the_operators);
      Ns& until = open_until.try_emplace({r.thread[i], row}, r.start[i]).first->second;
      if (until > r.start[i]) continue;  // one in another of the same name counts once
      until = r.end[i];
      rows.add(row, within(r.start[i], r.end[i]));
      if (!host.empty()) rows[row].path_ns += overlap(host[r.thread[i]], {r.start[i], r.end[i]});
    }
    const Launched& l = launched();
    OpenRanges open(t_, wanted);
    std::vector<Row> counted(rows.size(), no_row);  // by row: the last call that it had
    for (Row c = 0; c < t_.calls.size(); ++c) {
      if (l.device[c] == 0 && l.path[c] == 0) continue;
      for (const Row i : open.at(narrators[t_.calls.thread[c]], t_.calls.start[c])) {
        const std::uint32_t row = row_of[r.name[i]];
        if (row == in_no_row || std::exchange(counted[row], c) == c) continue;
        rows[row].device_ns += l.device[c];
        rows[row].path_ns += l.path[c];
        rows[row].sms += l.sms[c];
      }
    }
    return rows;
  }

  // Operators cover their own thread only.
  std::vector<std::uint16_t> narrators_for(const std::vector<std::uint8_t>& is_operator,
                                           bool the_operators) const {
    if (!the_operators) return narrators_of(t_, Crews(t_), is_operator);
    std::vector<std::uint16_t> each(t_.threads.size());
    for (std::uint16_t t = 0; t < each.size(); ++t) each[t] = t;
    return each;
  }

  // The path's time on host threads, by the thread whose ranges cover it.
  std::vector<Spans> host_path_of(const std::vector<std::uint16_t>& narrators) const {
    std::vector<Spans> host(host_path_.size());
    for (std::size_t t = 0; t < host.size(); ++t)
      host[narrators[t]].insert(host[narrators[t]].end(), host_path_[t].begin(),
                                host_path_[t].end());
    for (Spans& spans : host) spans = united(std::move(spans));
    return host;
  }

  // Work by the innermost range or operator in which it was launched.
  TopRows work_by_place(bool the_operators) {
    TopRows rows;
    const std::vector<std::uint8_t> is_operator = operators_of(t_),
                                    wanted = chosen(is_operator, the_operators);
    std::vector<std::uint32_t> row_of(t_.names.size(), in_no_row),  // by name
        row_of_call(t_.calls.size(), in_no_row);
    const std::vector<std::uint16_t> narrators = narrators_for(is_operator, the_operators);
    const Launched& l = launched();
    OpenRanges open(t_, wanted);
    for (Row c = 0; c < t_.calls.size(); ++c) {
      if (!l.any[c]) continue;
      const std::vector<Row>& stack = open.at(narrators[t_.calls.thread[c]], t_.calls.start[c]);
      if (!stack.empty())
        row_of_call[c] = range_row(rows, row_of, t_.ranges.name[stack.back()], the_operators);
    }
    std::uint32_t outside = in_no_row;
    each_op([&](Row op) {
      const Row call = t_.ops.call[op];
      std::uint32_t row = call == no_row ? in_no_row : row_of_call[call];
      if (row == in_no_row) {
        if (outside == in_no_row)
          outside = rows.row("", the_operators ? "(in no operator)" : "(in no range)");
        row = outside;
      }
      add_op(rows, row, op);
    });
    return rows;
  }

  const Analysis& a_;
  const Trace& t_;
  const TopOptions& options_;
  const Span window_;
  const Ns path_total_;
  std::vector<Ns> path_of_op_, path_of_call_;  // by row; empty without a path
  std::vector<std::vector<Span>> host_path_;   // by thread
  std::vector<std::uint8_t> analysed_;         // by process
  const SampledCurve sms_;
  std::optional<Launched> launched_;
  std::vector<TopTable> tables_;
};

// Which tables there are by these rows.
std::vector<std::string> tables_by(TopBy by) {
  switch (by) {
    case TopBy::name: return {"kernels", "copies", "calls", "ranges", "operators"};
    case TopBy::kind:
    case TopBy::rank: return {"work", "calls"};
    default: return {"work"};
  }
}

void refuse_tables(const TopOptions& o) {
  const std::vector<std::string> known = tables_by(o.by);
  for (const std::string& table : o.tables)
    if (std::find(known.begin(), known.end(), table) == known.end())
      throw Error(fmt::format("--only {}: --by {} has no such table{}; it {}: {}", printable(table),
                              top_by_names()[static_cast<std::size_t>(o.by)],
                              did_you_mean(table, known), "has", fmt::join(known, ", ")));
}

}  // namespace

const std::vector<std::string>& top_by_names() {
  static const std::vector<std::string> names{"name", "class", "range", "op", "stream", "rank"};
  return names;
}

const std::vector<std::string>& top_sort_names() {
  static const std::vector<std::string> names{"time", "count", "mean", "path", "name"};
  return names;
}

const std::vector<std::string>& top_table_names() {
  static const std::vector<std::string> names{"kernels", "copies",    "calls",
                                              "ranges",  "operators", "work"};
  return names;
}

Top top_of(const Analysis& a, const Replay* replay, const TopOptions& options) {
  refuse_tables(options);
  Top top;
  top.options = options;
  top.report = report_head(a);
  top.about = {recording_text(a)};
  for (const DeviceSteps& d : a.devices) top.about.push_back(device_text(a, d));
  for (const std::string& note : side_notes(a, StepTime(a))) top.about.push_back(note);
  if (const std::string privacy = privacy_text(a); !privacy.empty()) top.about.push_back(privacy);
  top.unit = a.unit();
  top.noun = a.words().noun;
  top.has_steps = a.has_steps();
  top.steps = a.step_count();
  top.window_ns = a.total_ns();
  const Path* path = replay && !replay->path().parts.empty() ? &replay->path() : nullptr;
  if (path)
    top.path_ns = path->total_ns;
  else
    top.why_no_path = !replay                    ? "the steps could not be replayed"
                      : replay->reason().empty() ? "the path is empty"
                                                 : replay->reason();
  if (!path && options.sort == TopSort::path)
    throw Error(
        fmt::format("{}: --sort path: there is no path: {}", a.trace.path, top.why_no_path));
  top.tables = TopMaker(a, path, top.options).tables();
  return top;
}

void keep_most(std::vector<Top>& tops, std::size_t most) {
  for (Top& top : tops)
    for (TopTable& table : top.tables)
      if (table.rows.size() > most) table.rows.resize(most);
}

std::optional<HottestKernel> hottest_kernel(const Analysis& a) {
  const Trace& t = a.trace;
  std::vector<Ns> ns(t.names.size());
  std::vector<std::int64_t> count(t.names.size());
  Ns all = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    a.each_op_in_steps(d, [&](Row op) {
      if (t.ops.kind[op] != OpKind::kernel) return;
      const Ns length = t.ops.end[op] - t.ops.start[op];
      ns[t.ops.name[op]] += length;
      ++count[t.ops.name[op]];
      all += length;
    });
  const auto most = std::max_element(ns.begin(), ns.end());
  if (most == ns.end() || *most <= 0) return std::nullopt;
  HottestKernel h;
  h.name = static_cast<NameId>(most - ns.begin());
  h.kernel_class = a.names.kernel[h.name];
  h.count = count[h.name];
  h.ns = *most;
  h.of_kernels = static_cast<double>(h.ns) / static_cast<double>(all);
  Ns while_it_runs = 0;  // parallel runs count once
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    Spans runs;
    a.each_op_in_steps(d, [&](Row op) {
      if (t.ops.kind[op] == OpKind::kernel && t.ops.name[op] == h.name)
        runs.push_back(t.span_of(op));
    });
    while_it_runs += total(united(std::move(runs)));
  }
  h.of_window =
      static_cast<double>(while_it_runs) / static_cast<double>(std::max<Ns>(a.total_ns(), 1));
  return h;
}

}  // namespace gh
