// gh-advise try: a program timed as it is and with fixes, in turns, without a profiler.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/spans.hpp"
#include "record/fixes.hpp"

namespace gh {

/// A duration and how far off it may be.
struct UnitTime {
  Ns ns = 0;
  Ns off_ns = 0;  ///< half of the range of the runs, at least half a percent
};

enum class Losses : std::uint8_t {
  same,
  differ,
  unsteady,  ///< the program's own differ from run to run
  unknown    ///< none were seen, or in one round only
};

/// The program with some fixes, or as it is.
struct Trial {
  std::vector<Fix> fixes;          ///< none: as it is
  std::vector<Ns> unit_ns;         ///< of each run
  std::vector<double> losses;      ///< of the first steps
  std::string failed;              ///< why a run ended early; "" if none did
  bool nothing_to_change = false;  ///< the program has it already, or has nothing of the kind
  Losses compared = Losses::unknown;
  std::string difference;  ///< of the losses: "step 3: 2.31 instead of 2.35"

  bool is_base() const { return fixes.empty(); }
  UnitTime unit_time() const;
};

struct Trials {
  std::string unit;           ///< "optimizer step"
  std::vector<Trial> trials;  ///< as it is, each fix, and all that helped together
};

/// What a report predicts of a fix: the step with it, as shares of the step as it is.
struct Forecast {
  std::string fix;
  std::string rule;  ///< whose finding says so
  double step = 1, least = 1, most = 1;
};

struct TrialRequest {
  std::vector<std::string> program;
  std::vector<Fix> fixes;
  int rounds = 2;            ///< how often each is run: A B A B
  std::optional<int> delay;  ///< as for RecordRequest
  Ns limit_ns = 0;           ///< of each run; 0: none
  std::function<void(const std::string& note)> says;
};

/// Runs the program again and again, each time until enough units are timed. Throws Error if it
/// cannot be timed as it is.
Trials run_trials(const TrialRequest& request);

/// Whether a fix makes a unit shorter by more than twice what both may be off.
bool helps(const Trial& base, const Trial& trial);

}  // namespace gh
