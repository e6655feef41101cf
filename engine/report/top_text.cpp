// What takes the time, as tables for people on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/layout.hpp"
#include "report/tables.hpp"

namespace gh {
namespace {

// The titles of tables.
const std::string& title_of(const std::string& table) {
  static const std::map<std::string, std::string> titles{
      {"kernels", "Kernels"},
      {"copies", "Copies and memsets"},
      {"calls", "CUDA calls"},
      {"ranges", "Ranges"},
      {"operators", "Operators and calls of libraries"},
      {"work", "Work on the GPU"}};
  return titles.at(table);
}

const char* by_in_words(By by) {
  switch (by) {
    case By::kind: return ", by class";
    case By::module: return ", by module, each with all that lies in it";
    case By::range: return ", by the range in which it was launched";
    case By::op: return ", by the operator in which it was launched";
    case By::stream: return ", by stream";
    case By::rank: return ", by rank";
    case By::line: return ", by the line that launched it";
    case By::kernel: return ", by kernel";
    default: return "";
  }
}

std::string share_text(const std::optional<double>& fraction) {
  return fraction ? percent(*fraction) : "";
}

bool has_samples(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [](const TableRow& r) { return r.sms.mean(); });
}

std::string table_text(const TablesReport& top, const Table& table, const TextStyle& style,
                       const Paint& paint) {
  const bool sampled = has_samples(table);
  const std::size_t figures = sampled ? 56 : 50;  // columns before the name
  std::string out = paint.bold(title_of(table.name) + by_in_words(top.options.by)) + '\n';
  out += paint.faint(fmt::format("  {:>10} {:>9} {:>10} {:>7} {:>7}{}  NAME", "TIME", "COUNT",
                                 "MEAN", "OF GPU", "OF PATH", sampled ? "   SMS" : "")) +
         '\n';
  Ns shown = 0;
  const std::size_t room = std::max<std::size_t>(style.width, figures + 20) - figures;
  for (const TableRow& r : table.rows) {
    shown += r.each.total_ns;
    out += fmt::format(
        "  {:>10} {:>9} {:>10} {:>7} {:>7}{}  {}\n", duration(r.each.total_ns), r.each.count,
        duration(r.each.mean_ns()), share_text(r.device_fraction), share_text(r.path_fraction),
        sampled ? fmt::format(" {:>5}", share_text(r.sms.mean())) : "", shortened(r.label, room));
  }
  if (const std::size_t rest = table.rows_in_all - table.rows.size(); rest > 0)
    out += paint.faint(fmt::format("  {:>10} {:>9} in {} more", duration(table.total_ns - shown),
                                   "", rest)) +
           '\n';
  return out;
}

// What the columns mean.
std::string legend_text(const TablesReport& top) {
  std::string text =
      top.has_steps
          ? fmt::format("TIME: the sum over {}, {} in all", plural(top.steps, top.unit),
                        duration(top.total_ns))
          : fmt::format("TIME: the sum over the whole window of {}", duration(top.total_ns));
  text += ". OF GPU: the share of that; parallel work counts in full";
  if (top.path_ns > 0)
    text += ". OF PATH: the share of what the " + top.noun +
            " waits for; only what is on the path can shorten it.";
  else
    text += ". No path: " + top.why_no_path + ".";
  if (std::any_of(top.tables.begin(), top.tables.end(), has_samples))
    text += " SMS: the share of active SMs during that work, as sampled.";
  return text;
}

std::string top_text(const TablesReport& top, const TextStyle& style, const Paint& paint) {
  std::string out = wrapped(legend_text(top), style.width, 0) + '\n';
  for (const Table& table : top.tables) out += '\n' + table_text(top, table, style, paint);
  return out;
}

}  // namespace

std::string render_top_text(const std::vector<TablesReport>& tops, const TextStyle& style) {
  return tables_text(tops, style, "no such work", top_text);
}

}  // namespace gh
