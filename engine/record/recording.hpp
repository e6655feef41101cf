// gh-advise record: a program runs as always, and some of its units are timed and recorded.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/nsys_program.hpp"

namespace gh {

/// When units are timed. nsys slows the host down even while it does not record yet.
enum class Timing : std::uint8_t {
  apart,     ///< in a second start of the program, without nsys
  attached,  ///< before they are recorded, in the same start
  never
};

struct RecordRequest {
  std::vector<std::string> program;
  std::filesystem::path output;  ///< without ending: "train" for train.sqlite
  std::string nsys = "nsys";     ///< as find_nsys takes it
  int units = 10;                ///< to record
  std::optional<int> delay;      ///< units that pass first; none: until their times settle
  /// If set, records by time instead of by units: from so long after the program's start on.
  std::optional<Ns> delay_ns;
  Ns length_ns = 5'000'000'000;  ///< how long, if by time
  Timing timing = Timing::apart;
  bool one_rank = false;  ///< the program is one of several ranks, each recorded by itself
  RecordedToo too;
  bool stop = false;      ///< end the program once it is recorded and timed
  bool keep_rep = false;  ///< keep nsys's own report too, which has the program's environment
  Ns limit_ns = 0;        ///< end the program after so long; 0: never

  std::function<void(const std::string& note)> says;  ///< called with what happens
  /// Called once the recording is there; the program may still run.
  std::function<void(const std::filesystem::path& report)> recorded;
};

/// Runs the program, records it, and writes NAME.sqlite (or NAME.json, by PyTorch's profiler), and
/// NAME.measured.json if units were timed. Returns the program's exit status. Throws Error if
/// nothing was recorded; then no file is left, and no process of the program.
int record(const RecordRequest& request);

/// Throws Error if there is a file that must not be replaced, since it is no recording and nothing
/// that belongs to one (is_recording).
void refuse_unknown(const std::filesystem::path& path);

/// Runs the program to its end, and nothing else. Returns its exit status. Throws Error if it
/// cannot be started, or takes longer than its limit.
int run_to_end(const RecordRequest& request);

/// The recordings NAME.rank0.sqlite, NAME.rank1.sqlite, ... that are there, in the order of ranks.
std::vector<std::string> reports_of_ranks(const std::filesystem::path& name);

/// A program's name for its recording: "train" for `torchrun --nproc-per-node 2 train.py --lr 1`.
std::string recording_name(const std::vector<std::string>& program);

}  // namespace gh
