#include "analysis/structure/nesting.hpp"

#include <map>
#include <utility>

#include "base/schema_table.hpp"

namespace gh {

bool is_operator_name(std::string_view range) {
  if (range.find("::") != range.npos) return true;
  static const std::string backward =
      schema_table("schemas/ranges.toml")["operator"]["gradient"].value_or(std::string());
  const std::string_view name = operator_of(range);
  const std::size_t at = name.rfind(backward);
  return at != name.npos && at + backward.size() < name.size() &&
         name.find_first_not_of("0123456789", at + backward.size()) == name.npos;
}

std::vector<std::uint8_t> operators_of(const Trace& trace) {
  std::vector<std::uint8_t> is_operator(trace.names.size()), seen(trace.names.size());
  for (Row r = 0; r < trace.ranges.size(); ++r) {
    const NameId name = trace.ranges.name[r];
    if (trace.ranges.nest[r] >= nest_of_operators) is_operator[name] = 1;
    if (!std::exchange(seen[name], 1) && is_operator_name(trace.names[name])) is_operator[name] = 1;
  }
  return is_operator;
}

std::string_view operator_of(std::string_view range) { return range.substr(0, range.find(',')); }

std::vector<std::uint16_t> callers_of(const Trace& trace, const Crews& crews,
                                      const std::vector<std::uint8_t>& is_operator) {
  std::vector<std::size_t> ranges(trace.threads.size());
  for (Row r = 0; r < trace.ranges.size(); ++r)
    if (!is_operator[trace.ranges.name[r]]) ++ranges[trace.ranges.thread[r]];
  std::map<std::uint16_t, std::uint16_t> most;  // by crew
  for (std::uint16_t t = 0; t < ranges.size(); ++t) {
    if (crews.of(t) == no_index || ranges[t] == 0) continue;
    const auto [it, is_first] = most.emplace(crews.of(t), t);
    if (!is_first && ranges[t] > ranges[it->second]) it->second = t;
  }
  std::vector<std::uint16_t> callers(ranges.size());
  for (std::uint16_t t = 0; t < ranges.size(); ++t) {
    const auto it = most.find(crews.of(t));
    callers[t] = it == most.end() ? t : it->second;
  }
  return callers;
}

void Nesting::sort_by_thread(const std::vector<std::uint16_t>& thread, std::size_t threads) {
  first_.resize(threads + 1);
  for (const std::uint16_t t : thread) ++first_[t + 1];
  for (std::size_t t = 0; t < threads; ++t) first_[t + 1] += first_[t];
  rows_.resize(thread.size());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (Row row = 0; row < thread.size(); ++row) rows_[next[thread[row]]++] = row;
}

void Nesting::link(const std::vector<std::uint16_t>& thread, std::size_t threads) {
  std::vector<Row> last(threads, no_row);
  for (Row row = 0; row < thread.size(); ++row) {
    Row& innermost = last[thread[row]];
    around_[row] = first_open(innermost, start_[row], [](Row) { return true; });
    innermost = row;
  }
}

}  // namespace gh
