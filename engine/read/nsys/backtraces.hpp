// Python's stack at a CUDA call, which `nsys profile --python-backtrace=cuda` writes as a mark at
// the call's start: the frames in JSON, the innermost first, their functions and files as ids of
// strings.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "read/nsys/string_ids.hpp"

namespace gh::nsys {

class Backtraces {
 public:
  explicit Backtraces(const Database& db) : strings_(db) {}

  /// Whether the JSON text of a mark is such a stack.
  static bool is_one(std::string_view json);

  /// "train.py(40): train_step" of the innermost frame of the program itself; "" where all are of
  /// installed packages.
  const std::string& line_of_program(std::string_view json);

 private:
  std::string text(std::int64_t id);

  StringIds strings_;
  // Programs call CUDA from few places: each is looked at once.
  std::unordered_map<std::string, std::string> known_;
};

}  // namespace gh::nsys
