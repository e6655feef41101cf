#include "read/nsys/gpus.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "read/limits.hpp"
#include "read/nsys/table_reader.hpp"

namespace gh::nsys {

Gpus::Gpus(const Database& db, std::vector<std::string>& problems) {
  enum {
    id,
    ordinal,
    name,
    sm_count,
    memory_bytes,
    memory_bytes_per_s,
    clock_hz,
    compute_major,
    compute_minor,
    clock_khz,
    memory_kilobytes_per_s,
    copy_engines
  };
  const auto add_gpu = [&](TableReader& rows) {
    if (rows.integer(sm_count) == 0) {  // not a CUDA GPU, or a row without information
      rows.sound();
      return;
    }
    Device& d = by_id_[rows.integer(id)];
    d.name = printable(rows.text(name).substr(0, longest_device_name));
    d.sm_count = static_cast<int>(rows.integer(sm_count));
    d.memory_bytes = rows.integer(memory_bytes);
    d.memory_bytes_per_s = static_cast<double>(rows.integer(memory_bytes_per_s)) +
                           1e3 * static_cast<double>(rows.integer(memory_kilobytes_per_s));
    d.clock_hz = static_cast<double>(rows.integer(clock_hz)) +
                 1e3 * static_cast<double>(rows.integer(clock_khz));
    d.compute_major = static_cast<int>(rows.integer(compute_major));
    d.compute_minor = static_cast<int>(rows.integer(compute_minor));
    d.copy_engines = static_cast<int>(rows.integer(copy_engines));
    id_by_ordinal_[rows.integer(rows.is_null(ordinal) ? id : ordinal)] = rows.integer(id);
    rows.sound();
  };
  for (const char* kind : {"gpu", "gpu_before_2022"}) {
    each_row(
        db, kind,
        {"id", "ordinal", "name", "sm_count", "memory_bytes", "memory_bytes_per_s", "clock_hz",
         "compute_major", "compute_minor", "clock_khz", "memory_kilobytes_per_s", "copy_engines"},
        problems, add_gpu);
  }
  each_row(db, "cuda_device", {"gpu", "ordinal", "pid"}, problems, [&](TableReader& rows) {
    const std::int64_t gpu = rows.integer(0), called = rows.integer(1), pid = rows.integer(2);
    if (rows.sound()) id_by_process_[{pid, called}] = gpu;
  });
}

Device Gpus::described(std::int64_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? Device() : it->second;
}

std::int64_t Gpus::id_of(std::int64_t pid, std::int64_t ordinal) const {
  if (const auto it = id_by_process_.find({pid, ordinal}); it != id_by_process_.end()) {
    return it->second;
  }
  const auto it = id_by_ordinal_.find(ordinal);
  return it == id_by_ordinal_.end() ? ordinal : it->second;
}

std::int64_t Gpus::ordinal_of(std::int64_t id) const {
  const auto it = std::find_if(id_by_ordinal_.begin(), id_by_ordinal_.end(),
                               [&](const auto& pair) { return pair.second == id; });
  return it == id_by_ordinal_.end() ? id : it->first;
}

}  // namespace gh::nsys
