// What a report says first: what is wrong, what that costs, what to do first, and what the fixes
// bring one after the other. Text, page and Markdown say it in the same words.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "rules/rules.hpp"

namespace gh {

/// Two sentences for somebody who reads nothing else.
struct ReportVerdict {
  std::string what;      ///< what is wrong and how much it costs, or that nothing is
  std::string first;     ///< what to do first and what it brings; "" where there is nothing to do
  bool trouble = false;  ///< there is a warning, an error or a doubt about the report

  std::string text() const { return first.empty() ? what : what + ' ' + first; }
};
ReportVerdict verdict_of(const Analysis& analysis, const Report& report);

/// What to do about a finding, in a few words; its title where it gives no advice.
std::string fix_text(const Finding& finding);

/// A fix of the plan: "1. Load batches in worker processes   160.1 ms → 46.9 ms   3.4x".
struct PlanLine {
  std::size_t number = 0;  ///< of its finding, counted from 1
  std::string fix;         ///< what to do, in a few words
  Ns before_ns = 0;        ///< the step without it, with the fixes above made
  Ns after_ns = 0;         ///< and with it
  bool masked = false;     ///< the problem shows only once the fixes above are made
};
std::vector<PlanLine> plan_lines(const Report& report);
bool is_in_plan(const Finding& finding, const Report& report);

/// "3.4x": how many times as fast a step of `before_ns` is once it takes `after_ns`.
std::string speedup(Ns before_ns, Ns after_ns);

/// Whether what a plan leaves is a limit: no forecast, and with no end a quarter below it.
bool is_limit(const Plan& plan);
/// "The fixes, one after the other", and that they bring at most that where they are no forecast.
std::string plan_title(const Plan& plan);

/// What all fixes together bring: "All 3: 30.5 ms, 5.2x faster; expect to measure 26.0 ms to 37.7
/// ms." "" without a plan.
std::string plan_total_text(const Analysis& analysis, const Report& report);

/// "saves about 113.2 ms, 71 %"; "saves about 4.00 ms alone, 2.5 %" of a fix that brings more or
/// less in the plan; "...; little after the fixes above" of one that
/// the plan leaves out; "matters once the fixes above are made" of a masked problem; "" where
/// nothing is known to be recoverable.
std::string saves_text(const Finding& finding, const Report& report);
/// The same without "saves".
std::string savings_text(const Finding& finding, const Report& report);

}  // namespace gh
