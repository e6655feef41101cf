#include "analysis/open_ranges.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/schema_table.hpp"

namespace gh {
namespace {

// Real programs nest a few dozen deep. Ignore deeper ranges, so that a report that never closes its
// ranges costs no more than others.
constexpr std::size_t most_open_ranges = 256;

}  // namespace

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

namespace {

std::vector<std::size_t> ranges_of_threads(const Trace& trace,
                                           const std::vector<std::uint8_t>& is_operator) {
  std::vector<std::size_t> ranges(trace.threads.size());
  for (Row r = 0; r < trace.ranges.size(); ++r)
    if (!is_operator[trace.ranges.name[r]]) ++ranges[trace.ranges.thread[r]];
  return ranges;
}

// By thread: the one of its crew with most ranges; itself where none of the crew has any.
std::vector<std::uint16_t> busiest_of_crews(const std::vector<std::size_t>& ranges,
                                            const Crews& crews) {
  std::map<std::uint16_t, std::uint16_t> most;  // by crew
  for (std::uint16_t t = 0; t < ranges.size(); ++t) {
    if (crews.of(t) == no_index || ranges[t] == 0) continue;
    const auto [it, is_first] = most.emplace(crews.of(t), t);
    if (!is_first && ranges[t] > ranges[it->second]) it->second = t;
  }
  std::vector<std::uint16_t> busiest(ranges.size());
  for (std::uint16_t t = 0; t < ranges.size(); ++t) {
    const auto it = most.find(crews.of(t));
    busiest[t] = it == most.end() ? t : it->second;
  }
  return busiest;
}

}  // namespace

std::vector<std::uint16_t> callers_of(const Trace& trace, const Crews& crews,
                                      const std::vector<std::uint8_t>& is_operator) {
  return busiest_of_crews(ranges_of_threads(trace, is_operator), crews);
}

std::vector<std::uint16_t> narrators_of(const Trace& trace, const Crews& crews,
                                        const std::vector<std::uint8_t>& is_operator) {
  const std::vector<std::size_t> ranges = ranges_of_threads(trace, is_operator);
  std::vector<std::uint16_t> narrators = busiest_of_crews(ranges, crews);
  for (std::uint16_t t = 0; t < ranges.size(); ++t)
    if (ranges[t] > 0) narrators[t] = t;
  return narrators;
}

void OpenRanges::close(std::vector<Row>& open, Ns until) const {
  // Ranges of two NVTX domains may overlap in part, so a range that has ended may lie below one
  // that has not.
  std::erase_if(open, [&](Row r) { return trace_.ranges.end[r] <= until; });
}

const std::vector<Row>& OpenRanges::at(std::uint16_t thread, Ns at) {
  const Ranges& ranges = trace_.ranges;
  for (; next_ < ranges.size() && ranges.start[next_] <= at; ++next_) {
    if (!wanted_[ranges.name[next_]]) continue;
    std::vector<Row>& open = open_[ranges.thread[next_]];
    close(open, ranges.start[next_]);
    if (open.size() < most_open_ranges) open.push_back(next_);
  }
  close(open_[thread], at);
  return open_[thread];
}

}  // namespace gh
