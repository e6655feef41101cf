// A program written as what it does, one thing after the other, and then recorded by either
// profiler.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.hpp"

namespace support {

/// Entering a range, leaving it and launching take a microsecond each of the host's time. What is
/// launched runs on its stream as soon as that is free.
class Script {
 public:
  using Body = std::function<void()>;

  /// A range of the program around what `body` does.
  void range(const std::string& name, const Body& body);
  /// An operator. `sequence`: autograd's number, by which backward finds its forward.
  void op(const std::string& name, const Body& body) { op(name, none, body); }
  void op(const std::string& name, int sequence, const Body& body);
  /// A function of backward, within autograd's own range around it.
  void backward(const std::string& function, const Body& body) { backward(function, none, body); }
  void backward(const std::string& function, int sequence, const Body& body);
  /// A function of Python, or a module: "model.py(7): forward", "nn.Module: Linear_0".
  void frame(const std::string& name, const Body& body);
  void launch(const std::string& kernel, double us = 100, int stream = 7);
  /// A call that launches nothing.
  void call(const std::string& name, double us = 1);
  void wait(double us) { now_ += us; }
  /// What another thread does, maybe of another process with its own GPU.
  void on(const std::string& thread, const Body& body) { on(thread, rank_, body); }
  void on(const std::string& thread, int rank, const Body& body);
  /// `count` steps, numbered from 1.
  void steps(int count, const Body& body);

  /// As Nsight Systems records it: operators are ranges with their numbers, of Python only the line
  /// of each call is known.
  gh::Trace nsys() const;
  /// As PyTorch's profiler records it, with arrows from forward to backward. One rank only.
  gh::Trace torch() const;

 private:
  static constexpr int none = -1;
  enum class Kind { range, op, backward, frame };
  struct Open {
    Kind kind;
    std::string name;
    int sequence, rank;
    std::string thread;
    double start = 0, end = 0;
  };
  struct Launch {
    std::string kernel, thread, line;
    int rank, stream;
    double at = 0, start = 0, end = 0;  // of the call, and on the device
  };
  struct Call {
    std::string name, thread;
    int rank;
    double start = 0, end = 0;
  };
  void put(Kind kind, const std::string& name, int sequence, const Body& body);

  double now_ = 100;
  int rank_ = 0;
  std::string thread_ = "main";
  std::vector<std::string> lines_;  // frames that are open
  std::vector<Open> opens_;         // in order of start
  std::vector<Launch> launches_;
  std::vector<Call> calls_;
  std::map<std::pair<int, int>, double> free_;  // by rank and stream
};

}  // namespace support
