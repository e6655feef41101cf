// What each layer costs, as a table for people on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "report/memory_words.hpp"
#include "report/tables.hpp"

namespace gh {
namespace {

// Of the time: rows below are left out of text, unless a number of rows is asked for.
constexpr double least_shown = 0.002;
// Odd layers that are named.
constexpr std::size_t most_odd_named = 3;
// Of the time of the row around it: a row with so much says nothing new.
constexpr double all_of_it = 0.95;

class LayersTable {
 public:
  LayersTable(const TablesReport& layers, const TextStyle& style)
      : layers_(layers), style_(style), paint_(style), steps_(layers.steps_or_one()) {
    choose_rows();
    choose_columns();
  }

  // What the columns mean that need a word.
  std::string legend() const {
    std::string text;
    for (const LayerColumn& c : columns_) {
      if (std::string_view(c.title) == "IDLE")
        text += " IDLE, a part of TIME: the GPU waits for the layer's work.";
      if (std::string_view(c.title) == "OF PATH")
        text += " OF PATH: the share of what the " + layers_.noun + " waits for.";
    }
    return text;
  }

  std::string text() const {
    std::string head = "  " + padded(title_of_names(), name_width_);
    for (const LayerColumn& c : columns_) head += fmt::format("  {:>{}}", c.title, c.width);
    std::string out = paint_.faint(head) + '\n';
    for (const std::size_t i : rows_) {
      const TableRow& row = layers_.rows()[i];
      out += "  " + padded(shortened(name_of(row), name_width_), name_width_);
      for (const LayerColumn& c : columns_)
        out += fmt::format("  {:>{}}", shortened(c.cell(row).text, c.width), c.width);
      out += '\n';
      if (const std::string more = beside(row); !more.empty()) {
        const std::size_t indent = 2 * row.depth + 6;
        out += paint_.faint(std::string(indent, ' ') +
                            wrapped(more, std::max(style_.width, indent + 24) - indent, indent)) +
               '\n';
      }
    }
    if (const std::size_t rest = layers_.rows_in_all() - rows_.size() - repeated_; rest > 0)
      out += paint_.faint("  " + left_out_text(rest)) + '\n';
    if (!left_out_.empty())
      out += paint_.faint("  " + wrapped(fmt::format("No room here for {}: a wider window or "
                                                     "--format json",
                                                     fmt::join(left_out_, ", ")),
                                         style_.width, 4)) +
             '\n';
    return out;
  }

 private:
  void choose_rows() {
    const bool all = layers_.rows().size() < layers_.rows_in_all() || style_.amount == Amount::full;
    std::vector<bool> shown(layers_.rows().size());
    for (std::size_t i = 0; i < layers_.rows().size(); ++i) {
      const TableRow& row = layers_.rows()[i];
      shown[i] = all || (share_of(row) >= least_shown &&
                         (row.parent == TableRow::no_parent || shown[row.parent]) && !repeats(i));
      if (shown[i]) rows_.push_back(i);
      if (!shown[i] && !all && repeats(i)) ++repeated_;
    }
    for (const std::size_t i : rows_)
      name_width_ = std::max(name_width_, display_width(name_of(layers_.rows()[i])));
    const std::size_t parts = layers_.options.by == By::module ? 2 : 3;  // of five
    name_width_ = std::min(name_width_, std::max<std::size_t>(style_.width * parts / 5, 24));
  }

  // Of the time, or of the path: what only the host does takes none of the GPU's time.
  static double share_of(const TableRow& row) {
    return std::max(row.total_fraction.value_or(0), row.path_fraction.value_or(0));
  }

  // Whether a row has nothing within, and all that the row around it has.
  bool repeats(std::size_t i) const {
    const TableRow& row = layers_.rows()[i];
    if (row.parent == TableRow::no_parent) return false;
    const bool has_more = i + 1 < layers_.rows().size() && layers_.rows()[i + 1].parent == i;
    const TableRow& around = layers_.rows()[row.parent];
    return !has_more && row.members.size() <= around.members.size() &&
           static_cast<double>(row.total_ns()) >=
               all_of_it * static_cast<double>(around.total_ns());
  }

  void choose_columns() {
    std::vector<LayerColumn> all = layer_columns(layers_, rows_);
    std::erase_if(all, [](const LayerColumn& c) { return !c.title; });
    const auto width = [&] {
      std::size_t sum = 2 + name_width_;
      for (const LayerColumn& c : all) sum += 2 + c.width;
      return sum;
    };
    while (width() > style_.width && all.size() > 1) {
      const auto least = std::max_element(
          all.begin(), all.end(),
          [](const LayerColumn& x, const LayerColumn& y) { return x.matters < y.matters; });
      left_out_.push_back(least->title);
      all.erase(least);
    }
    columns_ = std::move(all);
  }

  std::string title_of_names() const {
    switch (layers_.options.by) {
      case By::op: return "OPERATOR";
      case By::line: return "LINE";
      case By::kernel: return "KERNEL";
      case By::kind: return "CLASS";
      case By::stream: return "STREAM";
      case By::rank: return "RANK";
      case By::range: return "RANGE";
      default: return "LAYER";
    }
  }

  std::string name_of(const TableRow& row) const {
    std::string name = row.name;
    if (name.empty() || layers_.options.by == By::kernel) {
      name = row.label;
    } else if (row.is_folded()) {
      name = fmt::format("{} ({})", name, row.members.size());
    }
    return std::string(std::size_t{2} * row.depth, ' ') + name;
  }

  // The spread of the layers that a row stands for, and the odd ones.
  std::string beside(const TableRow& row) const {
    if (!row.operators.empty()) return row.operators + (row.file.empty() ? "" : ", " + row.file);
    if (row.odd.empty()) return "";
    const auto median = static_cast<double>(row.median_work_ns());
    const auto [least_ns, most_ns] = row.least_most_work_ns();
    std::string text =
        fmt::format("{} to {} of work", duration(static_cast<double>(least_ns) / steps_),
                    duration(static_cast<double>(most_ns) / steps_));
    for (std::size_t i = 0; i < std::min(most_odd_named, row.odd.size()); ++i) {
      const LayerMember& m = row.members[row.odd[i]];
      text += fmt::format("; {}: {:.1f} times the others' {}", m.name,
                          static_cast<double>(m.work_ns) / std::max(median, 1.0),
                          duration(median / steps_));
    }
    if (row.odd.size() > most_odd_named)
      text += fmt::format("; {} more", row.odd.size() - most_odd_named);
    return text;
  }

  const TablesReport& layers_;
  const TextStyle& style_;
  const Paint paint_;
  const double steps_;
  std::vector<std::size_t> rows_;
  std::vector<LayerColumn> columns_;
  std::vector<std::string> left_out_;  // titles of columns
  std::size_t repeated_ = 0;           // rows that are not shown because they say nothing new
  std::size_t name_width_ = 8;
};

std::string memory_text(const LayersMemory& m, const TextStyle& style, const Paint& paint) {
  const MemoryTimeline& t = m.timeline;
  std::string text =
      fmt::format("{} in use at the peak", bytes_text(static_cast<double>(t.peak.live_bytes)));
  if (t.peak.reserved_bytes >= 0)
    text += fmt::format(", {} reserved", bytes_text(static_cast<double>(t.peak.reserved_bytes)));
  if (t.device_bytes > 0)
    text += fmt::format(", of {}", bytes_text(static_cast<double>(t.device_bytes)));
  text += ".";
  std::string out = paint.bold("Memory, " + m.device) + '\n' + wrapped(text, style.width, 0) + '\n';
  for (std::size_t c = 0; c < memory_class_count; ++c)
    if (const std::int64_t bytes = m.classes.bytes[c]; bytes > 0)
      out += fmt::format("  {:>9} {:>5}  {}\n", bytes_text(static_cast<double>(bytes)),
                         percent(static_cast<double>(bytes) /
                                 static_cast<double>(std::max<std::int64_t>(t.peak.live_bytes, 1))),
                         words_of(static_cast<MemoryClass>(c), t.allocator).name);
  for (const std::string& sentence : m.meaning) out += wrapped(sentence, style.width, 0) + '\n';
  return out;
}

std::string layers_text(const TablesReport& layers, const TextStyle& style, const Paint& paint) {
  const LayersTable table(layers, style);
  std::string out =
      wrapped(fmt::format("Times are of {} of {}; the rows at the margin add up to it.{}",
                          layers.has_steps ? "the mean " + layers.noun : "the whole window",
                          duration(layers.mean_step_ns()), table.legend()),
              style.width, 0) +
      "\n\n" + table.text();
  if (layers.options.by == By::module)
    for (const LayersMemory& m : layers.memory) out += '\n' + memory_text(m, style, paint);
  for (const std::string& note : layers.notes) out += '\n' + wrapped(note, style.width, 0) + '\n';
  return out;
}

}  // namespace

std::string flops_text(double flops) {
  constexpr std::array units{"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; flops >= 999.5 && unit + 1 < units.size(); ++unit) flops /= 1000;
  return fmt::format("{:.3g}{}", flops, units[unit]);
}

std::string render_layers_text(const std::vector<TablesReport>& reports, const TextStyle& style) {
  return tables_text(reports, style, "no work on a GPU", layers_text);
}

std::string render_layers_comparison_text(const LayersComparison& c, const TextStyle& style) {
  const Paint paint(style);
  const auto head = [&](const char* which, const TablesReport& layers) {
    return wrapped(
               fmt::format("{}: {}, {} of {}", which, layers.report.at("path").get<std::string>(),
                           plural(layers.steps, layers.unit), duration(layers.mean_step_ns())),
               style.width, 2) +
           '\n';
  };
  std::string out = head("Before", c.before) + head("After", c.after) + '\n';
  out += paint.faint(
             fmt::format("  {:>10} {:>10} {:>10} {:>8}  LAYER", "BEFORE", "AFTER", "CHANGE", "")) +
         '\n';
  constexpr std::size_t figures = 45;
  const std::size_t room = std::max<std::size_t>(style.width, figures + 24) - figures;
  const double least = least_shown * std::max(c.before.mean_step_ns(), c.after.mean_step_ns());
  std::size_t left_out = 0;
  for (const LayerChange& change : c.changes) {
    const double before = change.before_ns.value_or(0), after = change.after_ns.value_or(0);
    if (std::max(before, after) < least && style.amount != Amount::full) {
      ++left_out;
      continue;
    }
    const double more = after - before;
    const std::string by = fmt::format("{}{}", more < 0 ? "-" : "+", duration(std::abs(more)));
    const std::string part = !change.before_ns  ? "new"
                             : !change.after_ns ? "gone"
                             : before > 0       ? fmt::format("{:+.1f} %", 100 * more / before)
                                                : "";
    out +=
        fmt::format("  {:>10} {:>10} {:>10} {:>8}  {}\n", change.before_ns ? duration(before) : "",
                    change.after_ns ? duration(after) : "", by, part,
                    shortened(change.path.empty() ? "(in no layer)" : change.path, room));
  }
  if (left_out > 0) out += paint.faint("  " + left_out_text(left_out)) + '\n';
  if (c.before.notes == c.after.notes) {
    for (const std::string& note : c.after.notes)
      out += '\n' + wrapped(note, style.width, 0) + '\n';
    return out;
  }
  for (const auto& [which, layers] : {std::pair("Before", &c.before), {"After", &c.after}})
    for (const std::string& note : layers->notes)
      out += '\n' + wrapped(fmt::format("{}: {}", which, note), style.width, 2) + '\n';
  return out;
}

}  // namespace gh
