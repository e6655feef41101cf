// Rules, one Lua file each: loaded, held to a contract, run in a sandbox, and what they find. This
// is the door of rules/:
//
//   rule.hpp             what a rule's file holds, and what a configuration changes about it
//   load.hpp             rule files read and checked; a team's rules added; rules chosen
//   evaluate.hpp         rules run on a report: are needs met, run, read findings, rank, plan
//   finding.hpp          a finding, and the report that holds them all
//   again.hpp            rules asked again on the step that the plan leaves
//   worth.hpp            what a finding's fix is worth; the plan of all fixes
//   ranking.hpp          which finding comes first
//   suppression.hpp      findings that a team has decided to live with
//
// Behind it, for the folder itself:
//   finding_from_lua.hpp what `evaluate` returned, read: worth, severity, metrics, evidence
//   finding_message.hpp  the text of a finding: a template filled from its data
//   lua_table.hpp        Lua's tables, read raw and bounded
//   binding.hpp          what a rule can ask of a trace: facts, selections, verbs
//   sandbox.hpp          a Lua state in which a rule can do no harm
//
// And each by itself:
//   config.hpp           gh-advise.toml
//   seen.hpp             on which recordings each rule fires, and how far off its forecasts were
//   finding_json.hpp     findings and the plan as JSON
//   rule_test.hpp        ID.test.lua: tests of rules; literal_trace.hpp: traces written for them
//   new_rule.hpp         a new rule to start from
#pragma once
#include "rules/evaluate.hpp"
#include "rules/finding.hpp"
#include "rules/load.hpp"
#include "rules/ranking.hpp"
#include "rules/rule.hpp"
#include "rules/suppression.hpp"
#include "rules/worth.hpp"
