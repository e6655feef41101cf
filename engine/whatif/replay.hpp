// Replays steps of a trace with something changed, and tells how long a step then takes.
//
// The steps are chosen, in one run or two (replayed_steps.hpp), each run read as a graph of what
// waits for what (graph.hpp), and a change takes edges out of it or makes them weigh less
// (apply.hpp).
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"
#include "whatif/changes.hpp"
#include "whatif/floors.hpp"
#include "whatif/path.hpp"
#include "whatif/remade.hpp"
#include "whatif/replayed_steps.hpp"

namespace gh {

/// The steps of a report, ready to be replayed. Nothing changes after construction: several threads
/// may replay at one time.
class Replay {
 public:
  explicit Replay(const Analysis& analysis);
  ~Replay();

  /// Why nothing can be replayed; "" where it can.
  const std::string& reason() const;

  const Analysis& analysis() const;
  /// The mean of the steps that are replayed, as recorded.
  Ns recorded_ns() const;
  /// Whether no steps were found, and what is called a step here is the whole window.
  bool whole_window() const;
  /// How many steps are replayed on each device, of how many there are; 1 of 1 of a window.
  std::size_t steps() const;
  std::size_t of_steps() const;
  /// How many times the replayed part the window is.
  double of_window() const;
  /// The runs of steps that are replayed; the window is one.
  std::vector<const ReplayedSteps*> runs() const;
  /// By how much the replayed steps' mean differs from that of all, of the latter.
  double unrepresentative() const;
  /// By how much the replay with the same weights for all operations and waits differs from the
  /// trace, of the latter: what the model leaves unexplained. The replay with each one's own weight
  /// equals the trace by construction.
  double uniform_error() const;
  /// Time of waiting calls for which no operation was found that they wait for, of the replayed
  /// time.
  double unresolved() const;
  /// Whether collectives run in the replayed steps of which the report does not hold all members.
  /// Their durations hold the wait for other ranks, which are taken to win by a fix what this one
  /// does.
  bool collectives() const;
  /// The step as it was measured without a profiler, which step_ns({}) then is; 0 where nobody did,
  /// and what the profiler added is a guess.
  Ns measured_ns() const;
  /// Time of the replayed step that is not in the measured one, and that no profiler is known to
  /// add to launches; below 0 where the measured one is longer. 0 where they agree, or nobody
  /// measured.
  Ns unexplained_ns() const;
  /// Whether a replay may be called a forecast: the errors above are at most 2 % each, and a
  /// measured step can be one of the recorded program. Otherwise it is a ceiling of what a fix is
  /// worth.
  bool trusted() const;
  std::string distrust() const;  ///< why not, in words

  /// The step without what the profiler added, and what recorded time counts for in it: as
  /// recorded where nothing can be replayed.
  const StepTime& step() const;

  /// What the replayed time waited for as it was recorded; empty where nothing can be replayed.
  const Path& path() const;

  /// Leaves out of the changes what lies outside of the replayed steps: a long report has millions
  /// of rows of the rest.
  void trim(Changes& changes) const;

  /// The mean step with these changes made, without what the profiler added to it.
  Ns step_ns(const Changes& changes, Guess guess = Guess::best) const;
  /// The same with what the profiler added: with no change this is recorded_ns.
  Ns profiled_step_ns(const Changes& changes) const;

  /// How many points in time a replay computes.
  std::size_t points() const;
  /// Whether one run of whole steps is replayed, which can be made a trace.
  bool can_be_remade() const;
  /// These as they would be recorded with these changes made, the profiler's overhead included.
  Remade remade(const Changes& changes) const;

  /// What a step cannot fall below with these changes made.
  using Bounds = gh::Bounds;
  Bounds bounds(const Changes& changes) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace gh
