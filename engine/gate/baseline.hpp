// What one report comes to, so that another can be compared with it when the report itself is gone.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/config.hpp"
#include "rules/finding.hpp"
#include "rules/rules.hpp"

namespace gh {

/// A kernel and what it takes of a step, on the mean.
struct KernelUse {
  std::string name, kernel_class;
  double count_per_step = 0, ns_per_step = 0;
};

/// A kernel of GEMMs, attention or the loss, and the number of thread blocks that it was launched
/// with: the same as long as shapes are.
struct Grid {
  std::string kernel, kernel_class;
  std::int64_t blocks = 0;
  double count_per_step = 0;
};

/// What tells one training program from another, however fast it runs and in whatever precision.
struct Program {
  bool shown = false;  ///< false where whole graphs hide the kernels: only the counts of graphs and
                       ///< kernels are known then
  double graphs = 0, kernels = 0;  ///< a step
  double attention_blocks =
      0;  ///< a step, forward and backward: runs of fused attention or of softmax between two GEMMs
  double written_out_blocks = 0;  ///< those of them that are softmax between GEMMs
  double gemms = 0;               ///< a step
  std::optional<double> flops;    ///< of GEMMs and attention a step, where ranges carry shapes
  std::vector<Grid> grids;  ///< of GEMMs, fused attention and the loss, the most frequent first
};

/// What a rule did on a report.
struct RuleOutcome {
  enum class State {
    looked,
    not_checked,
    not_recorded,
    failed
  } state = State::looked;  ///< not_recorded: for want of a source
  std::string reason;       ///< why it did not look, or how it failed
  std::string version;      ///< changes when the rule's text or its settings do
  double warns_from = 0;    ///< share of the step
};

struct FactNumber {
  std::optional<double> value;
  Unit unit = Unit::count;
  std::string unknown;  ///< why there is no value
};

/// A report, analysed and judged, without the trace.
struct Capture {
  std::string path, format, producer;
  std::vector<std::string> devices;  ///< "NVIDIA H200, 132 SMs, compute capability 9.0", sorted
  bool has_steps = false;
  std::string selection;  ///< the part that was analysed, "--range forward --device 1"; steps aside
  std::map<std::string, Collected> sources;  ///< what the recording holds
  std::vector<std::string> problems;         ///< tables and rows that had to be left out on reading
  Program program;
  std::vector<Ns> step_ns;  ///< the mean over devices, which wait for each other; evenly chosen
                            ///< where there are more than `most_steps`
  std::map<std::string, std::vector<Ns>>
      cause_ns;  ///< by cause of the account, parallel to step_ns; causes that took nothing are
                 ///< left out
  std::map<std::string, FactNumber> facts;  ///< the numeric ones
  std::vector<KernelUse> kernels;           ///< the costliest first, at most `most_kernels`
  std::vector<Finding>
      findings;  ///< before any exception, without evidence when read from a baseline
  std::map<std::string, RuleOutcome> rules;  ///< by id
};

inline constexpr std::size_t most_steps = 1000, most_kernels = 300;

/// The analysis's own version: what is measured before any rule. Figures of another cannot be
/// compared. Raise it when steps, account or facts change.
inline constexpr int analysis_version = 1;

/// What an analysed report comes to. `rules` are those that were evaluated, `settings` what the
/// configuration changed about them.
Capture capture_of(const Analysis& analysis, const Facts& facts, const Report& report,
                   const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings);

/// Captures of one program as a JSON object (schemas/baseline.schema.json).
std::string render_baseline(const std::vector<Capture>& captures);

/// Whether a file is a baseline rather than a report: a JSON document that says so, whatever the
/// order of its keys.
bool is_baseline(const std::filesystem::path& path);

/// Reads what render_baseline wrote. Throws Error where it is no baseline, a damaged one, or made
/// by an analysis that measured otherwise.
std::vector<Capture> read_baseline(const std::filesystem::path& path);

}  // namespace gh
