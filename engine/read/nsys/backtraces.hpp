// Python stacks, which Nsight writes as NVTX marks: at the start of each CUDA call with `nsys
// profile --python-backtrace=cuda`, and periodically with --python-sampling=true. The frames are in
// JSON, innermost first, with functions and files as string ids.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "read/nsys/string_ids.hpp"

namespace gh::nsys {

class Backtraces {
 public:
  explicit Backtraces(const Database& db) : strings_(db) {}

  enum class Of { none, call, moment };
  /// What the stack in a mark's JSON text belongs to.
  static Of kind_of(std::string_view json);

  /// A stack at a moment, described by its innermost frame in the program itself, or else its
  /// innermost frame.
  struct Sample {
    std::string function;  ///< "tokenize (train.py)"; "" if there is no stack
    std::string module;    ///< "train.py"
    std::string line;      ///< "train.py(40): tokenize"; "" if no frame is in the program itself
  };
  const Sample& sample(std::string_view json);

  /// "train.py(40): train_step" for the innermost frame in the program itself; "" if all frames are
  /// in installed packages.
  const std::string& line_of_program(std::string_view json);

 private:
  std::string text(std::int64_t id);

  StringIds strings_;
  // Programs call CUDA from few places, so each is parsed only once.
  std::unordered_map<std::string, std::string> known_;
  std::unordered_map<std::string, Sample> samples_;
};

}  // namespace gh::nsys
