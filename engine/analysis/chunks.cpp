#include "analysis/chunks.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace gh {
namespace {

Row ended_later(const Trace& trace, Row a, Row b) {
  return a != no_row && trace.ops.end[a] > trace.ops.end[b] ? a : b;
}

// What `size` operations in a row pass on to those after them.
struct Part {
  Row ended_last = no_row;
  OffloadedSizes offloaded;
};

std::vector<Part> summed_up(const Trace& trace, const std::vector<Row>& ops, std::size_t size) {
  std::vector<Part> parts((ops.size() + size - 1) / size);
  in_parallel(parts.size(), [&](std::size_t p, std::size_t) {
    for (std::size_t i = p * size; i < std::min(ops.size(), (p + 1) * size); ++i) {
      parts[p].ended_last = ended_later(trace, parts[p].ended_last, ops[i]);
      if (is_offload(trace, ops[i])) parts[p].offloaded.insert(trace.ops.bytes[ops[i]]);
    }
  });
  return parts;
}

}  // namespace

ChunkedDevice cut_into_chunks(std::size_t size, const Trace& trace, const Crews& crews,
                              const std::vector<DeviceSteps>& devices, std::size_t d, Span window) {
  const std::vector<Row>& ops = devices[d].ops;
  ChunkedDevice out{.chunks = {{.device = d, .span = window}}, .offloaded = {}};
  Chunk next{.device = d, .span = window};
  Ns faults_end = window.start;
  for (Part& part : summed_up(trace, ops, size)) {
    out.offloaded.merge(part.offloaded);
    next.first_op += size;
    next.previous = ended_later(trace, next.previous, part.ended_last);
    const Span last = trace.span_of(next.previous);
    for (const GpuFaults& faults = trace.gpu_faults;
         next.first_fault < faults.size() && faults.start[next.first_fault] < last.end;
         ++next.first_fault)
      if (faults.device[next.first_fault] == devices[d].device)
        faults_end = std::max(faults_end, faults.end[next.first_fault]);

    Chunk& before = out.chunks.back();
    if (last.end <= window.start) {
      before.first_op = next.first_op;
      before.previous = next.previous;
      continue;
    }
    // The next chunk has to skip operations that began before the cut; keep that to part of a
    // chunk.
    const std::size_t beyond = next.first_op + size;
    const bool near = beyond >= ops.size() || trace.ops.start[ops[beyond]] >= last.end;
    if (last.end > before.span.start && last.end < window.end && last.length() > 0 &&
        faults_end <= last.end && near && !crews.is_beside(next.previous)) {
      before.span.end = next.span.start = last.end;
      out.chunks.push_back(next);
    }
  }
  return out;
}

}  // namespace gh
