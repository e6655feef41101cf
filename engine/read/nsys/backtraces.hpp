// Python's stacks, which Nsight writes as marks: at the start of each CUDA call with
// `nsys profile --python-backtrace=cuda`, and every so often with --python-sampling=true. The
// frames are in JSON, the innermost first, their functions and files as ids of strings.
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
  /// Of what the JSON text of a mark is a stack.
  static Of kind_of(std::string_view json);

  /// A stack at a moment: of the innermost frame of the program itself, else of the innermost.
  struct Sample {
    std::string function;  ///< "tokenize (train.py)"; "" of no stack
    std::string module;    ///< "train.py"
    std::string line;      ///< "train.py(40): tokenize"; "" where no frame is of the program itself
  };
  const Sample& sample(std::string_view json);

  /// "train.py(40): train_step" of the innermost frame of the program itself; "" where all are of
  /// installed packages.
  const std::string& line_of_program(std::string_view json);

 private:
  std::string text(std::int64_t id);

  StringIds strings_;
  // Programs call CUDA from few places: each is looked at once.
  std::unordered_map<std::string, std::string> known_;
  std::unordered_map<std::string, Sample> samples_;
};

}  // namespace gh::nsys
