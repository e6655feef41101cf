// What the program is doing, for a user who waits.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace gh {

/// A line on the terminal that says what is being done, from the second second on; gone with the
/// object. Nothing where standard error is no terminal.
class Progress {
 public:
  explicit Progress(std::size_t reports);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "reading run.sqlite (2 of 8)": `what`, and which report of how many, counted from 0.
  void say(const std::string& what, std::size_t report);

 private:
  void run();

  std::size_t reports_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string what_;
  bool stopped_ = false, shown_ = false;
  std::thread thread_;
};

}  // namespace gh
