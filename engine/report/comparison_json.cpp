// A comparison as JSON (schemas/comparison.schema.json).
#include "report/json_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

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

Json finding_change_json(const FindingChange& f) {
  return {{"change", name_of(f.change)},
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
  Json account = Json::array(), findings = Json::array(), kernels = Json::array(),
       facts = Json::array(), budgets = Json::array(), waits = Json::array();
  for (const CauseChange& x : c.account)
    account.push_back(with_difference({{"cause", x.cause}, {"label", cause_label(x.cause)}}, x.ns));
  for (const WaitChange& x : c.waits)
    waits.push_back(with_difference({{"kind", name_of(x.kind)},
                                     {"name", or_null(x.name)},
                                     {"label", path_label(x.kind, x.name)}},
                                    x.ns));
  for (const FindingChange& x : c.findings) findings.push_back(finding_change_json(x));
  for (const KernelChange& x : c.kernels) kernels.push_back(kernel_json(x));
  for (const FactChange& x : c.facts)
    facts.push_back(with_difference({{"name", x.name}, {"unit", name_of(x.unit)}}, x.value));
  for (const BudgetResult& x : c.budgets) budgets.push_back(budget_json(x));
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
              {"account", account},
              {"waits", waits},
              {"findings", findings},
              {"budgets", budgets},
              {"kernels", kernels},
              {"facts", facts},
              {"suppressions", suppressions_json(c.suppressions)}}
             .dump(2) +
         '\n';
}

}  // namespace gh
