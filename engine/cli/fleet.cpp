// gh-advise fleet: advice on a job, from the digests of its ranks.
#include "job/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/settings.hpp"
#include "job/slurm.hpp"

namespace gh {
namespace {

struct FleetCommand {
  std::vector<std::string> digests;
  std::string fail_on, work;
  OutputOptions output;
  RuleOptions rule;
};

bool holds(const std::vector<Rule>& rules, const std::string& id) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
}

// Removes what --select and --ignore exclude, since a digest may hold all rules. Unknown rules
// stay.
void choose(Digest& digest, const std::vector<Rule>& rules, const std::vector<Rule>& all_rules) {
  const auto left_out = [&](const std::string& id) {
    return !holds(rules, id) && holds(all_rules, id);
  };
  for (RankDigest& rank : digest.ranks) {
    std::erase_if(rank.findings, [&](const Finding& f) { return left_out(f.rule); });
    std::erase_if(rank.rules, [&](const auto& outcome) { return left_out(outcome.first); });
  }
}

// Reports that a Slurm job could not digest.
void add_not_digested(const std::string& work, std::vector<std::string>& errors) {
  if (work.empty()) return;
  SlurmOptions slurm;
  slurm.work = work;
  for (const auto& [report, why] : slurm_status(slurm).failed)
    errors.push_back(fmt::format("{}: was not digested: {}", report, why));
}

// `errors`: reports without a digest, digests that cannot be read, and digests of another job.
Fleet read_fleet(const FleetCommand& o, const std::vector<std::string>& files,
                 const Settings& settings, const std::vector<Rule>& rules,
                 std::vector<std::string>& errors) {
  Progress progress(1);
  progress.say(fmt::format("reading {} digests", files.size()), 0);
  std::vector<Digest> digests = read_digests(files, errors);
  for (Digest& digest : digests) choose(digest, rules, settings.all_rules);
  if (digests.empty() && errors.size() == 1) throw Error(errors.front());
  if (digests.empty())
    throw Error(fmt::format("none of the {} digests can be read; the first one: {}", errors.size(),
                            errors.front()));
  add_not_digested(o.work, errors);
  const auto late = std::find_if(rules.begin(), rules.end(),
                                 [](const Rule& r) { return r.id == "rank-straggler"; });
  Fleet fleet = make_fleet(std::move(digests), late == rules.end() ? nullptr : &*late,
                           settings.config.suppressions, today());
  errors.insert(errors.end(), fleet.left_out.begin(), fleet.left_out.end());
  return fleet;
}

// Why the job cannot be judged. Otherwise a gate would pass on every job that lacks ranks.
std::vector<std::string> not_judged(const Fleet& fleet, bool gated,
                                    const std::vector<std::string>& unreadable) {
  std::vector<std::string> why = unreadable;
  if (gated && !fleet.missing.empty())
    why.push_back(fmt::format("{}, so --fail-on cannot judge the job", fleet_missing_text(fleet)));
  for (const auto& [id, outcome] : fleet.rules)
    if (outcome.state == RuleOutcome::State::failed)
      why.push_back(fmt::format("rule {} failed: {}", id, outcome.reason));
  return why;
}

int fleet(const FleetCommand& o) {
  const Settings settings(o.rule);
  const std::vector<Rule> rules = settings.rules(o.rule);
  const std::vector<std::string> files = find_digests(o.digests);
  const std::vector<Output> outputs =
      o.output.parsed(format_names(fleet_formats), settings.inputs(files));
  const std::optional<Severity> fail_on = settings.fail_on(o.fail_on);
  std::vector<std::string> unreadable;
  const Fleet fleet = read_fleet(o, files, settings, rules, unreadable);

  const std::string name = o.digests.size() == 1 ? printable(o.digests.front()) : "the job";
  CiResult result = fleet_ci_result(fleet, rules, name, fail_on);
  result.errors = not_judged(fleet, fail_on.has_value(), unreadable);
  const bool fails = std::any_of(result.findings.begin(), result.findings.end(),
                                 [](const CiFinding& f) { return f.fails; });
  if (!result.errors.empty())
    result.verdict = Verdict::cannot_tell;
  else if (fails)
    result.verdict = Verdict::regressed;

  write_outputs(outputs, fleet_formats, {fleet, unreadable, result});
  print_suppression_notes(fleet.suppressions);
  for (const std::string& e : result.errors) print_message(e);
  return exit_status(result.verdict);
}

}  // namespace

Command add_fleet(CommandLine& line) {
  Parser command(line, "fleet",
                 "Say what slows a job down, from the digests of its ranks: what to fix, on which "
                 "ranks, and who is late");
  const auto o = std::make_shared<FleetCommand>();
  command
      .option("DIGEST", o->digests,
              "Digests that `gh-advise digest` wrote, or folders with *.digest")
      .required();
  o->output.add(command, format_names(fleet_formats));
  o->rule.add(command);
  command.option("--fail-on SEVERITY", o->fail_on,
                 "Exit with 1 if a finding is at least this severe: error, warning or note");
  command.option(
      "--work DIR", o->work,
      "The working folder of `gh-advise slurm`; the result then lists the reports that it "
      "could not digest");
  return {command, [o] { return fleet(*o); }};
}

}  // namespace gh
