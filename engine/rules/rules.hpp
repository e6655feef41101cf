// Rules, one Lua file each: loaded, checked against a contract, run in a sandbox, and their
// findings. The entry to rules/:
//
//   rule.hpp             a rule as its file defines it, and how a configuration changes it
//   load.hpp             reads and checks rule files, adds a team's rules, selects rules
//   evaluate.hpp         runs rules on a report and makes it: the way of a finding, step by step
//   finding.hpp          what a rule said, its estimate and standing; the report that has them all
//   estimate.hpp         what a finding's fix saves by itself
//   standing.hpp         what it saves beside others; the plan of all fixes
//   ranking.hpp          which finding comes first
//   masked.hpp           runs rules again on the step that the plan leaves
//   suppression.hpp      findings that a team has decided to accept
//
// Internal to this folder:
//   finding_from_lua.hpp reads what `evaluate` returned: savings, severity, metrics, evidence
//   finding_message.hpp  the text of a finding: a template filled with its data
//   lua_table.hpp        Lua tables, read raw and bounded
//   binding.hpp          what a rule can ask of a trace: facts, selections, verbs
//   sandbox.hpp          a Lua state in which a rule can do no harm
//
// Independent of these:
//   config.hpp           gh-advise.toml
//   seen.hpp             on which recordings each rule fires, and the error of its forecasts
//   finding_json.hpp     findings and the plan as JSON
//   rule_test.hpp        ID.test.lua: rule tests; literal_trace.hpp: traces written for them
//   new_rule.hpp         a new rule to start from
#pragma once
#include "rules/evaluate.hpp"
#include "rules/finding.hpp"
#include "rules/load.hpp"
#include "rules/ranking.hpp"
#include "rules/rule.hpp"
#include "rules/standing.hpp"
#include "rules/suppression.hpp"
