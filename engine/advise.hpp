// Begin here: all that a program needs which links the engine (README, "Use as a library").
//
//   read_report       a file -> Trace, the canonical model of a recorded run (read_report.hpp,
//   trace.hpp) joined            the Traces of one job's ranks -> one Trace (ranks.hpp) Analysis a
//   Trace -> names' classes, steps, where the time of each went   (analysis.hpp, account.hpp,
//   steps.hpp) Facts             an Analysis -> what was measured, by name, with units (facts.hpp)
//   own_rules, evaluate  rules, Analysis, Facts -> Report: findings, the plan         (rules.hpp,
//   finding.hpp) Config            a team's gh-advise.toml: settings of rules, classes (config.hpp)
//   render_*          Analysis, Report -> text, JSON, SARIF and other formats         (render.hpp)
//   capture_of, compare  what two reports come to -> what changed, and a verdict (baseline.hpp,
//   compare.hpp)
//
// Times are nanoseconds (Ns), shares are 0 to 1. Facts and Report refer to their Analysis, which
// has to outlive them. What a user has to be told in one line is thrown as Error (text.hpp).
#pragma once
#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "analysis/ranks.hpp"
#include "gate/comparison.hpp"
#include "read/dcgm.hpp"
#include "read/read.hpp"
#include "report/report.hpp"
#include "rules/config.hpp"
#include "rules/rules.hpp"
