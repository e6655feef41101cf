// Replays steps of a trace with changes, and computes how long a step then takes.
//
// One run of steps or two are chosen (replayed_steps.hpp), each run becomes a graph of what waits
// for what (graph.hpp), and a change removes edges or makes them weigh less (apply.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"
#include "whatif/changes.hpp"
#include "whatif/floors.hpp"
#include "whatif/path.hpp"
#include "whatif/replayed_steps.hpp"
#include "whatif/trace_after.hpp"

namespace gh {

/// Time in which a host thread makes no calls, or hangs in one, because it waits for something that
/// no call shows.
struct SilentWait {
  std::uint16_t thread = 0;  ///< one of them, where a new one makes the call in each step
  bool is_certain = false;   ///< otherwise it may as well work
  bool within_call = false;
  std::string what_for;  ///< an operation, or a call of another thread
  Ns mean_ns = 0;        ///< a step
  Span longest;          ///< of one step
  Row call = no_row;     ///< one of those that end it, or in which it lies
};

/// The steps of a report, ready to be replayed. Nothing changes after construction, so several
/// threads may replay at once.
class Replay {
 public:
  explicit Replay(const Analysis& analysis);
  ~Replay();

  /// Why nothing can be replayed; "" if it can.
  const std::string& reason() const;

  const Analysis& analysis() const;
  /// The mean of the replayed steps as recorded.
  Ns recorded_ns() const;
  /// Whether no steps were found and the whole window counts as a step.
  bool whole_window() const;
  /// How many steps are replayed on each device, out of how many; 1 of 1 for a window.
  std::size_t steps() const;
  std::size_t of_steps() const;
  /// How many times as long as the replayed part the window is.
  double of_window() const;
  /// The runs of steps that are replayed; a window is one.
  std::vector<const ReplayedSteps*> runs() const;
  /// How far the replayed steps' mean is from the mean of all steps, relative to the latter.
  double unrepresentative() const;
  /// How far the replay with the same weights for all operations and waits is from the trace,
  /// relative to the latter: what the model does not explain. With each one's own weight the replay
  /// equals the trace by construction.
  double uniform_error() const;
  /// The share of the replayed time in waiting calls for which no operation was found.
  double unresolved() const;
  /// Whether the replayed steps contain collectives with members outside the report. Their lengths
  /// include waiting for other ranks, and a fix is assumed to save the same on those.
  bool collectives() const;
  /// The step as measured without a profiler, which step_ns({}) then returns; 0 if nobody measured
  /// it, and then the profiler's overhead is a guess.
  Ns measured_ns() const;
  /// Time of the replayed step that is missing from the measured one and that no profiler is known
  /// to add to launches; below 0 if the measured step is longer. 0 if they agree or nobody
  /// measured.
  Ns unexplained_ns() const;
  /// Whether the model explains the replayed steps: it is at most 2 % off, as little of the time is
  /// spent in waits for unknown operations, and a measured step fits the recorded program.
  bool explains() const;
  /// Whether a replay counts as a forecast: it explains the steps, which are at most 2 % from the
  /// mean of all, and all members of their collectives are known. Otherwise it is an upper limit of
  /// what a fix saves.
  bool trusted() const;
  std::string distrust() const;  ///< why not, in words
  /// Why the measured step and the recorded ones cannot come from the same program; "" if they can.
  std::string distrust_of_measured() const;

  /// The step without what the profiler added, and the weights of recorded time in it; as recorded
  /// if nothing can be replayed.
  const StepTime& step() const;

  /// Nanoseconds of the mean replayed step by cause, as recorded: the account of those steps, which
  /// adds up to recorded_ns(). Empty if nothing can be replayed.
  const OfCauses& recorded_by_cause() const;
  /// The same without what the profiler added; it adds up to step_ns({}) unless that was measured.
  const OfCauses& left_by_cause() const;

  /// Where host threads waited unseen, or may have, for at least 1 % of a step: the longest first.
  std::vector<SilentWait> silences() const;

  /// What the recorded time waited for; empty if nothing can be replayed.
  const Path& path() const;

  /// Removes from the changes what lies outside of the replayed steps: a long report has millions
  /// of such rows.
  void trim(Changes& changes) const;

  /// The mean step with these changes, without what the profiler added.
  Ns step_ns(const Changes& changes, Guess guess = Guess::best) const;
  /// With the profiler's overhead at one end, and what the changes do at another.
  Ns step_ns(const Changes& changes, Guess overhead, Guess of_changes) const;
  /// The same with what the profiler added: without changes this is recorded_ns.
  Ns profiled_step_ns(const Changes& changes) const;

  /// How many points in time a replay computes.
  std::size_t points() const;
  /// Whether a single run of whole steps is replayed, which can be turned into a trace.
  bool gives_trace() const;
  /// The steps as they would be recorded with these changes, including the profiler's overhead.
  TraceAfter trace_after(const Changes& changes) const;

  /// Lower bounds of a step with these changes.
  using Bounds = gh::Bounds;
  Bounds bounds(const Changes& changes) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace gh
