// Begin here: all that a program needs which links the engine (docs/library.md).
//
//   advise        the files of a report -> Advice; all of what follows, in order
//   read_report   a file -> Trace, the canonical model of a recorded run
//   join_ranks    the Traces of one job's ranks -> one Trace
//   Analysis      a Trace -> what names mean, the steps, where the time of each went
//   Facts         an Analysis -> what was measured, by name, with units
//   evaluate      rules, Analysis, Facts -> Report: the findings and the plan
//   Config        a team's gh-advise.toml: settings of rules, classes of kernels
//   render_*      Analysis, Report -> text, JSON, SARIF and other formats
//   capture_of    what a report comes to; compare: what two of them differ in, and a verdict
//
// Times are nanoseconds (Ns), shares are 0 to 1. Facts and Report refer to their Analysis, which
// has to outlive them. What a user has to be told in one line is thrown as Error (base/error.hpp).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "analysis/ranks.hpp"
#include "gate/gate.hpp"
#include "read/dcgm.hpp"
#include "read/measured.hpp"
#include "read/read.hpp"
#include "report/report.hpp"
#include "rules/config.hpp"
#include "rules/rules.hpp"

namespace gh {

/// What to advise on, and by what.
struct Request {
  std::vector<std::string> files;  ///< one report, or those of the ranks of one job
  std::string nsys = "nsys";       ///< exports .nsys-rep: a path, or a name on the PATH
  std::string dcgm;                ///< what DCGM sampled meanwhile: a path, or "" without
  Selection selection;             ///< what of the report is analyzed
  /// How long a step takes without the profiler, as the user says; otherwise what lies beside the
  /// files (read/measured.hpp) tells, where anything does.
  std::optional<Ns> measured_step_ns;
  /// The team's kernel classes, GPUs and ranges; has to outlive the request.
  const Config* config = nullptr;

  std::vector<Rule> rules;                       ///< own_rules(), chosen
  std::map<std::string, RuleSettings> settings;  ///< of the rules, by id
  std::vector<Suppression> suppressions;         ///< what the team lives with
  std::string today;                             ///< "2026-11-21": the day on which these hold

  std::function<void(const char* phase)> begins;       ///< told "reading", then "checking"
  std::function<void(const std::string& note)> notes;  ///< told what to know of files beside
};

/// All that there is to say of a report.
struct Advice {
  std::unique_ptr<Analysis> analysis;  ///< what the others refer to
  std::unique_ptr<Facts> facts;
  Report report;
};

/// Reads the files and analyses what they hold.
Analysis analyse(const Request& request);

/// The same, and asks the rules. Throws Error where a file cannot be read.
Advice advise(const Request& request);

}  // namespace gh
