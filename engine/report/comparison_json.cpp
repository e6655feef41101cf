// A comparison as JSON (schemas/comparison.schema.json).
#include <cmath>

#include "report/json_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

Json difference_json(const Difference& d) {
  return Json{{"before", d.before}, {"after", d.after}, {"effect", d.effect},
              {"p", or_null(d.p)},  {"real", d.real},   {"basis", d.basis}};
}

// The fields of a difference, after those that say what it is of.
Json with_difference(Json what, const Difference& d) {
  what.update(difference_json(d));
  return what;
}

Json cause_json(const CauseChange& x) {
  return with_difference({{"cause", x.cause}, {"label", cause_label(x.cause)}}, x.ns);
}

Json wait_json(const WaitChange& x) {
  return with_difference(
      {{"kind", name_of(x.kind)}, {"name", or_null(x.name)}, {"label", path_label(x.kind, x.name)}},
      x.ns);
}

Json fact_json(const FactChange& x) {
  return with_difference({{"name", x.name}, {"unit", name_of(x.unit)}}, x.value);
}

Json finding_change_json(const FindingChange& f) {
  return {
      {"change", name_of(f.change)},
      {"fails", f.fails},
      {"rule", f.finding.rule},
      {"category", f.finding.category},
      {"severity", name_of(f.finding.severity)},
      {"title", f.finding.title},
      {"message", f.finding.message},
      {"subject", f.finding.subject},
      {"fingerprint", f.finding.fingerprint},
      {"before_ns", f.before_ns},
      {"after_ns", f.after_ns},
      {"range_ns",
       or_null(
           StoredSaving(f.finding, std::llround(f.present ? f.after_ns : f.before_ns)).range_ns)},
      {"advice", f.finding.advice},
      {"why", or_null(f.why)}};
}

Json kernel_json(const KernelChange& k) {
  return {{"name", k.name},
          {"class", k.kernel_class},
          {"count_before", k.count_before},
          {"count_after", k.count_after},
          {"ns_before", k.ns_before},
          {"ns_after", k.ns_after}};
}

Json budget_json(const BudgetResult& b) {
  const bool known = b.state != BudgetResult::State::unknown || is_open(b);
  return {{"fact", b.budget.fact},
          {"state", name_of(b.state)},
          {"fails", b.fails},
          {"severity", name_of(b.budget.severity)},
          {"message", b.message},
          {"max", or_null(b.budget.max)},
          {"min", or_null(b.budget.min)},
          {"max_increase", or_null(b.budget.max_increase)},
          {"max_decrease", or_null(b.budget.max_decrease)},
          {"where", or_null(b.budget.where)},
          {"value", known ? difference_json(b.value) : Json(nullptr)}};
}

}  // namespace

std::string render_comparison_json(const Comparison& c) {
  return Json{{"schema_version", 1},
              {"generator", generator()},
              {"verdict", name_of(c.verdict)},
              {"headline", c.headline},
              {"before", c.before},
              {"after", c.after},
              {"incomparable", c.incomparable},
              {"reasons", c.reasons},
              {"notes", c.notes},
              {"unit", c.unit.name},
              {"step", difference_json(c.step)},
              {"account", json_list(c.account, cause_json)},
              {"waits", json_list(c.waits, wait_json)},
              {"findings", json_list(c.findings, finding_change_json)},
              {"budgets", json_list(c.budgets, budget_json)},
              {"kernels", json_list(c.kernels, kernel_json)},
              {"facts", json_list(c.facts, fact_json)},
              {"suppressions", suppressions_json(c.suppressions)}}
             .dump(2) +
         '\n';
}

}  // namespace gh
