// The GPUs of a report by id, and which of them a process means by a CUDA ordinal.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

class Gpus {
 public:
  Gpus(const Database& db, std::vector<std::string>& problems);

  /// What the report says about a GPU; nothing if it does not describe it.
  Device described(std::int64_t id) const;
  /// The id of the GPU that a process calls CUDA device `ordinal`.
  std::int64_t id_of(std::int64_t pid, std::int64_t ordinal) const;
  /// An ordinal by which processes refer to a GPU.
  std::int64_t ordinal_of(std::int64_t id) const;

 private:
  std::map<std::int64_t, Device> by_id_;
  std::map<std::int64_t, std::int64_t> id_by_ordinal_;  // if processes agree
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> id_by_process_;  // (pid, ordinal)
};

}  // namespace gh::nsys
