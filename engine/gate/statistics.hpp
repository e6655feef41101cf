// Whether a quantity differs between two sides by more than noise.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rules/config.hpp"

namespace gh {

/// 0 where there are no values.
double median_of(std::vector<double> values);
double mean_of(const std::vector<double>& values);

/// The two-sided probability (Mann-Whitney) that two samples of one distribution differ in rank by
/// as much as these do. Exact without ties up to 20 values a side, otherwise the normal
/// approximation with corrections for ties and continuity. 1 where a side is empty.
double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y);

/// A change as a share of a reference; from nothing to something, more than any limit.
double relative_change(double change, double reference);

/// What was measured of a quantity on one side.
struct Measurements {
  std::vector<double> captures;  ///< one value each
  std::vector<double> steps;     ///< of all captures; empty where it is not measured step by step
  std::string called = "steps";  ///< what these are to people: "tokens"
};

/// How a quantity is compared.
struct Yardstick {
  double least_effect = 0;                         ///< of the reference
  std::optional<double> reference = std::nullopt;  ///< its own value before, where not given
  bool means = false;  ///< compare means, to which every step counts, rather than medians
  bool exact = false;  ///< counts do not vary from run to run, so that nothing of them is noise
  /// Show the values of captures, although steps decide whether they differ.
  bool told_by_captures = false;
};

/// A quantity before and after, and whether its difference is more than noise.
struct Difference {
  double before = 0, after = 0;  ///< medians, or means where the yardstick says so
  double effect = 0;             ///< after - before, of the reference (itself, or the step)
  /// What is left of a change of means without the most extreme value on each side.
  double lasting = 0;
  std::optional<double> p;  ///< of the rank test, where there were enough measurements
  bool real = false;        ///< more than noise, and at least the minimum effect
  /// At least the minimum effect, neither proved nor ruled out: what exceeds a limit so must not
  /// pass.
  bool open = false;
  std::string basis;  ///< "11 steps against 5", "one value a side, noise floor 10 %"
};

/// Tests captures against captures where each side has enough of them, else steps against steps,
/// else holds the change against the noise floor. What a test of ranks does not show, a mean can
/// still show. What stays unproved is noise only up to the noise floor, and up to three standard
/// errors of the baseline's own spread; beyond, it is open.
Difference difference_of(const Measurements& before, const Measurements& after,
                         const Yardstick& yardstick, const GateSettings& settings);

/// "+5.0 %", and "5 steps against 11, p = 0.0079".
std::string change_text(double effect);
std::string basis_text(const Difference& difference);

}  // namespace gh
