// Two sets of captures of one program against each other: what changed, whether that is more than
// noise, and whether it passes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gate/baseline.hpp"

namespace gh {

/// The two-sided probability (Mann-Whitney) that two samples of one distribution differ in rank by
/// as much as these do. Exact without ties up to 20 values a side, otherwise the normal
/// approximation with corrections for ties and continuity. 1 where a side is empty.
double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y);

/// A quantity before and after, and whether its difference is more than noise.
struct Difference {
  double before = 0, after = 0;  ///< medians
  double effect = 0;             ///< after - before, of the reference (itself, or the step)
  std::optional<double> p;       ///< of the rank test, where there were enough measurements
  bool real = false;             ///< more than noise, and at least the minimum effect
  std::string basis;             ///< "11 steps against 5", "one value a side, noise floor 10 %"
};

/// "+5.0 %", and "5 steps against 11, p = 0.0079".
std::string change_text(double effect);
std::string basis_text(const Difference& difference);

enum class Verdict : std::uint8_t { passes, regressed, cannot_tell };
const char* name_of(Verdict);  ///< "passes", "regressed", "cannot_tell"

enum class FindingState : std::uint8_t { fresh, worse, same, better, gone, unknown, accepted };
const char* name_of(
    FindingState);  ///< "new", "worse", "same", "better", "gone", "unknown", "accepted"

/// A finding on both sides.
struct FindingChange {
  FindingState change = FindingState::same;
  Finding finding;                     ///< as it is now; as it was, where it is gone
  bool present = true;                 ///< found now
  double before_ns = 0, after_ns = 0;  ///< what it costs a step
  bool fails = false;
  bool untold =
      false;  ///< it may have come in, and the baseline cannot say: the comparison must not pass
  std::string why;  ///< why it is taken for this, where that needs saying
};

/// A part of the account.
struct CauseChange {
  std::string cause;
  Difference ns;
};

struct KernelChange {
  std::string name, kernel_class;
  double count_before = 0, count_after = 0;  ///< a step
  double ns_before = 0, ns_after = 0;        ///< a step
};

struct FactChange {
  std::string name;
  Unit unit = Unit::count;
  Difference value;
};

struct BudgetResult {
  enum class State { kept, broken, unknown, accepted } state = State::kept;
  Budget budget;
  Unit unit = Unit::count;
  Difference value;
  std::string message;  ///< the limit and the figures
  bool fails = false;
};

struct Comparison {
  Verdict verdict = Verdict::passes;
  std::string headline;  ///< the verdict in a sentence
  std::vector<std::string>
      incomparable;                  ///< why the sides cannot be compared, or a part cannot be told
  std::vector<std::string> reasons;  ///< what makes it regress, the costliest first
  std::vector<std::string> notes;    ///< what a reader has to know beside
  std::string before, after;         ///< what the sides are: "good.sqlite", "3 captures"
  Difference step;
  std::vector<CauseChange> account;     ///< by what the change costs or wins
  std::vector<FindingChange> findings;  ///< what fails first
  std::vector<KernelChange> kernels;    ///< by what the change costs or wins
  std::vector<FactChange> facts;        ///< whose change is real, account and steps aside
  std::vector<BudgetResult> budgets;
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
};

/// Compares. `suppressions` are the configuration's suppressions; `today` is a day like
/// "2026-11-21".
Comparison compare(const std::vector<Capture>& before, const std::vector<Capture>& after,
                   const GateSettings& settings, const std::vector<Suppression>& suppressions,
                   const std::string& today);

const char* name_of(BudgetResult::State);  ///< "kept", "broken", "unknown", "accepted"

/// What makes captures incomparable: other GPUs, another program, nothing in them. Empty where
/// nothing does.
std::vector<std::string> incomparable(const std::vector<Capture>& before,
                                      const std::vector<Capture>& after);

/// The finding that stands for a broken budget, so that every format can show it like one: its rule
/// is "budget", its subject the fact.
Finding finding_of(const BudgetResult& budget);

}  // namespace gh
