#include "trace/call_index.hpp"

#include <algorithm>
#include <atomic>

#include "base/parallel.hpp"

namespace gh {
namespace {

// Keeps the lowest row, whichever thread comes first.
void keep_lowest(Row& slot, Row row) {
  const std::atomic_ref shared(slot);
  Row known = no_row;
  while (row < known && !shared.compare_exchange_weak(known, row, std::memory_order_relaxed)) {
  }
}

}  // namespace

void CallIndex::Extent::add(const Extent& more) {
  calls += more.calls;
  least = std::min(least, more.least);
  most = std::max(most, more.most);
}

CallIndex::CallIndex(const Trace& trace) : trace_(trace), processes_(trace.processes.size()) {
  find_extents();
  const bool all_dense = make_arrays();
  fill_arrays();
  if (!all_dense)
    by_key_ = sorted_rows(trace.calls.size(), [&](Row a, Row b) { return key_of(a) < key_of(b); });
}

void CallIndex::find_extents() {
  const Calls& calls = trace_.calls;
  std::vector<std::vector<Extent>> by_worker(thread_count(),
                                             std::vector<Extent>(processes_.size()));
  in_chunks(
      calls.size(), rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t worker) {
        for (std::size_t row = first; row < end; ++row) {
          const std::uint32_t correlation = calls.correlation[row];
          if (correlation == 0) continue;
          by_worker[worker][process_of(static_cast<Row>(row))].add({1, correlation, correlation});
        }
      });
  for (std::size_t p = 0; p < processes_.size(); ++p)
    for (const std::vector<Extent>& seen : by_worker) processes_[p].add(seen[p]);
}

// Whether every process that needs an array has one.
bool CallIndex::make_arrays() {
  bool all = true;
  for (Process& p : processes_) {
    if (p.calls == 0) continue;
    const std::size_t width = p.most - p.least + std::size_t{1};
    if (width > 2 * p.calls + 1024) {
      all = false;
      continue;
    }
    p.dense = std::make_unique_for_overwrite<Row[]>(width);
    in_chunks(width, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
      std::fill(p.dense.get() + first, p.dense.get() + end, no_row);
    });
  }
  return all;
}

void CallIndex::fill_arrays() {
  const Calls& calls = trace_.calls;
  in_chunks(calls.size(), rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    for (std::size_t i = first; i < end; ++i) {
      const Row row = static_cast<Row>(i);
      const Process& p = processes_[process_of(row)];
      if (calls.correlation[row] == 0 || !p.dense) continue;
      keep_lowest(p.dense[calls.correlation[row] - p.least], row);
    }
  });
}

Row CallIndex::find(std::uint16_t process, std::uint32_t correlation, std::size_t& near) const {
  if (correlation == 0) return no_row;
  const Process& p = processes_[process];
  if (correlation < p.least || correlation > p.most) return no_row;
  if (p.dense) return p.dense[correlation - p.least];

  constexpr std::size_t nearby = 256;
  const Key key(process, correlation);
  std::size_t first = 0, end = trace_.calls.size();
  if (near + nearby < end && key_of(at(near)) < key && key <= key_of(at(near + nearby))) {
    first = near;
    end = near + nearby + 1;
  }
  while (first < end) {
    const std::size_t middle = first + (end - first) / 2;
    if (key_of(at(middle)) < key)
      first = middle + 1;
    else
      end = middle;
  }
  near = first;
  return near < trace_.calls.size() && key_of(at(near)) == key ? at(near) : no_row;
}

}  // namespace gh
