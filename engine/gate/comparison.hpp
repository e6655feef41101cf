// Two sets of captures of one program against each other: what changed, whether that is more than
// noise, and whether it passes.
#pragma once
#include <string>
#include <vector>

#include "gate/baseline.hpp"
#include "gate/statistics.hpp"
#include "rules/config.hpp"

namespace gh {

/// In the order of exit statuses, from 0 on.
enum class Verdict : std::uint8_t { passes, regressed, cannot_tell };
const char* name_of(Verdict);  ///< "passes", "regressed", "cannot_tell"
inline int exit_status(Verdict verdict) { return static_cast<int>(verdict); }

enum class FindingState : std::uint8_t { fresh, worse, same, better, gone, unknown, accepted };
/// "new", "worse", "same", "better", "gone", "unknown", "accepted"
const char* name_of(FindingState);

/// A finding on both sides.
struct FindingChange {
  FindingState change = FindingState::same;
  Finding finding;                     ///< as it is now; as it was, where it is gone
  bool present = true;                 ///< found now
  double before_ns = 0, after_ns = 0;  ///< what it costs a step
  double least_ns = 0;                 ///< the same at least; before, where it is gone
  bool fails = false;
  bool unproved = false;  ///< that it got worse
  /// It is unknown whether it is new, or made the step longer: the comparison must not pass.
  bool untold = false;
  std::string why;  ///< the reason for the state, if it needs one
};

/// A part of the account.
struct CauseChange {
  std::string cause;
  Difference ns;
};

/// A thing that the step waits for.
struct WaitChange {
  PathItem::Kind kind = PathItem::Kind::rest;
  std::string name;
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
  std::string title;    ///< "The step became longer", of one that is broken
  std::string message;  ///< the limit and the figures
  bool fails = false;
};
const char* name_of(BudgetResult::State);  ///< "kept", "broken", "unknown", "accepted"
/// Whether its fact is above its limit by what may be noise.
bool is_open(const BudgetResult&);

struct Comparison {
  Verdict verdict = Verdict::passes;
  std::string headline;  ///< the verdict in a sentence
  /// Why the gate cannot compare the sides or a part of them.
  std::vector<std::string> incomparable;
  std::vector<std::string> reasons;  ///< what makes it regress, the costliest first
  std::vector<std::string> notes;    ///< what else a reader has to know
  std::string before, after;         ///< what the sides are: "good.sqlite", "3 captures"
  UnitWords unit;                    ///< what a step is called now
  Difference step;
  std::vector<CauseChange> account;  ///< the largest change first
  /// In the same order; empty if a side does not know. It explains a longer step, and fails
  /// nothing.
  std::vector<WaitChange> waits;
  std::vector<FindingChange> findings;  ///< what fails first
  std::vector<KernelChange> kernels;    ///< the largest change first
  std::vector<FactChange> facts;        ///< whose change is real, account and steps aside
  std::vector<BudgetResult> budgets;
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
};

/// What the user intends, so that it is a note and no reason against a verdict.
struct Meant {
  bool other_settings = false;  ///< than those by which the baseline was taken
  bool same_recording = false;  ///< on both sides
};

/// Compares. `suppressions` are the configuration's suppressions; `today` is a day like
/// "2026-11-21". Throws Error where a budget is of a fact that there is not.
Comparison compare(const std::vector<Capture>& before, const std::vector<Capture>& after,
                   const GateSettings& settings, const std::vector<Suppression>& suppressions,
                   const std::string& today, const Meant& meant = {});

/// What makes captures incomparable: other GPUs, another program, nothing in them. Empty where
/// nothing does.
std::vector<std::string> incomparable(const std::vector<Capture>& before,
                                      const std::vector<Capture>& after);

/// The finding that stands for a broken budget, so that every format can show it like one: its rule
/// is "budget", its subject the fact.
Finding finding_of(const BudgetResult& budget);

}  // namespace gh
