// A capture: the measurements of a report, which stay comparable when the report itself is gone.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unit_words.hpp"
#include "gate/settings.hpp"
#include "rules/finding.hpp"
#include "rules/rules.hpp"

namespace gh {

/// A kernel and what it takes of a step, on the mean.
struct KernelUse {
  std::string name, kernel_class;
  double count_per_step = 0, ns_per_step = 0;
};

/// A thing that steps wait for, as in Path.
struct PathUse {
  PathItem::Kind kind = PathItem::Kind::rest;
  std::string name;
  std::vector<Ns> step_ns;  ///< of the replayed steps
};

/// A kernel of GEMMs, attention or the loss, and the number of thread blocks that it was launched
/// with: the same as long as shapes are.
struct Grid {
  std::string kernel, kernel_class;
  std::int64_t blocks = 0;
  double count_per_step = 0;
};

/// What tells one program from another, however fast it runs and in whatever precision.
/// Counts are per step.
struct Program {
  /// False if CUDA graphs hide the kernels: then only `graphs` and `kernels` are known.
  bool shown = false;
  double graphs = 0, kernels = 0;
  /// Forward and backward: runs of fused attention, or of softmax between two GEMMs.
  double attention_blocks = 0;
  double written_out_blocks = 0;  ///< those of them that are softmax between GEMMs
  double gemms = 0;
  std::optional<double> flops;  ///< of GEMMs and attention, if ranges carry shapes
  std::vector<Grid> grids;      ///< of GEMMs, fused attention and the loss, most frequent first
};

/// What a rule did on a report.
struct RuleOutcome {
  /// From good to bad. not_recorded: for want of a source.
  enum class State { looked, not_checked, not_recorded, failed };
  State state = State::looked;
  std::string reason;     ///< why it did not look, or how it failed
  std::string version;    ///< changes when the rule's text or its settings do
  double warns_from = 0;  ///< share of the step
};
const char* name_of(RuleOutcome::State);  ///< "looked", "not_checked", "not_recorded", "failed"

struct FactNumber {
  std::optional<double> value;
  Unit unit = Unit::count;
  std::string unknown;  ///< why there is no value
};

/// A report, analysed and judged, without the trace.
struct Capture {
  std::string path, format, producer;
  std::vector<std::string> devices;  ///< "NVIDIA H200, 132 SMs, compute capability 9.0", sorted
  std::string unit = window_unit;    ///< what a step is: "training step", "token", or the window
  std::string selection;  ///< the part that was analysed, "--range forward --device 1"; steps aside
  std::map<std::string, Collected> sources;  ///< what the recording holds
  std::vector<std::string> problems;         ///< tables and rows that had to be left out on reading
  Program program;
  std::vector<std::string> doubts;  ///< why its figures may not be what happened
  /// The mean over devices, which wait for each other; of more than `most_steps`, some from all
  /// along.
  std::vector<Ns> step_ns;
  /// The same steps on the GPU that takes longest, by its median. Empty of one GPU, and in
  /// baselines that were taken before it was kept.
  std::vector<Ns> slowest_gpu_ns;
  /// By cause of the account, parallel to step_ns; causes that took nothing are left out.
  std::map<std::string, std::vector<Ns>> cause_ns;
  /// What takes most first, at most `most_path_items`, and the rest. Empty where nothing was
  /// replayed, without steps, and in baselines that were taken before it was kept.
  std::vector<PathUse> waits;
  std::map<std::string, FactNumber> facts;  ///< the numeric ones
  std::vector<KernelUse> kernels;           ///< the costliest first, at most `most_kernels`
  /// Before any exception; without evidence when read from a baseline.
  std::vector<Finding> findings;
  /// By fingerprint: what its fix saves after better ones, so that together they save no more than
  /// there is. Not in baselines.
  std::map<std::string, double> beside_others_ns;
  std::map<std::string, RuleOutcome> rules;  ///< by id
  /// By which it was taken; empty of one that is compared by the settings by which it was taken.
  SettingsInEffect settings;
};

inline constexpr std::size_t most_steps = 1000, most_kernels = 300, most_path_items = 30;

/// The version of the analysis, which comes before the rules. Figures of different versions cannot
/// be compared. Raise it when steps, account or facts change.
inline constexpr int analysis_version = 3;

/// The measurements of an analysed report. `rules` are those that ran, `settings` what the
/// configuration changed about them.
Capture capture_of(const Analysis& analysis, const Facts& facts, const Report& report,
                   const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings);

/// Whether two captures are of one recording: most of their steps are the same to the nanosecond,
/// with all their causes, one behind the other. A copy stays one whatever it is called, whatever of
/// its steps is gone at either end, and whatever else was changed in it. (Of more than
/// `most_steps`, others may be kept then, and it goes unnoticed.)
bool same_recording(const Capture& a, const Capture& b);

}  // namespace gh
