// Start here: everything that a program needs to link the engine (docs/library.md).
//
//   advise        the files of a report -> Advice; all of the following, in order
//   read_report   a file -> Trace, the canonical model of a recorded run
//   join_ranks    the Traces of one job's ranks -> one Trace
//   Analysis      a Trace -> what names mean, the steps, where the time of each step went
//   Facts         an Analysis -> what was measured, by name, with units
//   evaluate      rules, Analysis, Facts -> Report: the findings and the plan
//   Config        a team's gh-advise.toml: settings of rules, kernel classes
//   render_*      Analysis, Report -> text, JSON, SARIF and other formats
//   capture_of    a report's figures; compare: how two captures differ, and a verdict
//
// Times are in nanoseconds (Ns), shares are 0 to 1. Facts and Report refer to their Analysis, which
// has to outlive them. Whatever a user needs to know in one line is thrown as Error
// (base/error.hpp).
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

/// What to advise on, and with what.
struct Request {
  std::vector<std::string> files;  ///< one report, or those of the ranks of one job
  std::string nsys = "nsys";       ///< exports .nsys-rep: a path, or a name on the PATH
  std::string dcgm;                ///< DCGM samples of the same run: a path, or "" without
  Selection selection;             ///< which part of the report to analyze
  /// The length of a step without the profiler, as the user gives it; otherwise taken from a file
  /// next to the report (read/measured.hpp), if there is one.
  std::optional<Ns> measured_step_ns;
  /// The team's kernel classes, GPUs and ranges; has to outlive the request.
  const Config* config = nullptr;

  std::vector<Rule> rules;                       ///< own_rules(), chosen
  std::map<std::string, RuleSettings> settings;  ///< of the rules, by id
  std::vector<Suppression> suppressions;         ///< findings that the team accepts
  bool other_loops = true;  ///< whether to judge other loops of the program as well, by themselves
  std::string today;        ///< "2026-11-21": the day for which suppressions are checked

  std::function<void(const char* phase)> begins;       ///< called with "reading", then "checking"
  std::function<void(const std::string& note)> notes;  ///< called with notes on accompanying files
};

/// Everything there is to say about a report.
struct Advice {
  std::unique_ptr<Analysis> analysis;  ///< what the others refer to
  std::unique_ptr<Facts> facts;
  Report report;
};

/// Reads the files and analyzes their contents.
Analysis analyse(const Request& request);

/// The same, and runs the rules. Throws Error if a file cannot be read.
Advice advise(const Request& request);

}  // namespace gh
