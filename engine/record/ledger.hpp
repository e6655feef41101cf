// What was predicted and what was measured, fix by fix: gh-advise.ledger.jsonl.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/spans.hpp"

namespace gh {

enum class Outcome : std::uint8_t {
  held,           ///< the measured step lies in the predicted range
  missed,         ///< it is longer, or shorter
  not_comparable  ///< it cannot be told whether the fix did it
};
const char* name_of(Outcome outcome);  ///< "held", "missed", "not comparable"

/// A fix, or several made together. Times are of a step without the profiler.
struct LedgerEntry {
  std::string day;                 ///< "2026-11-25"
  std::string before, after;       ///< reports, or the program that was tried
  std::vector<std::string> rules;  ///< whose fixes were made
  std::string gpu;                 ///< "NVIDIA H200"
  Ns before_ns = 0, after_ns = 0;  ///< measured
  Ns predicted_ns = 0, least_ns = 0, most_ns = 0;
  Outcome outcome = Outcome::held;

  /// How far the prediction is off, of the measured step: 0.05 for one that is 5 % too long.
  double error() const;
};

/// What became of a forecast: the measured step against the predicted range.
Outcome outcome_of(Ns after_ns, Ns least_ns, Ns most_ns);

/// Throws Error if the file is one of these inputs, or exists and does not end in an entry.
void check_ledger(const std::filesystem::path& ledger, const std::vector<std::string>& inputs = {});

/// Appends a line. Throws Error if it is no ledger, or cannot be written.
void append_to_ledger(const std::filesystem::path& ledger, const LedgerEntry& entry);

/// All entries. Throws Error with the line for one that cannot be read.
std::vector<LedgerEntry> read_ledger(const std::filesystem::path& ledger);

}  // namespace gh
