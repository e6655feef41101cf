// What `gh-advise check` takes and does, for commands that end in it.
#pragma once
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/output.hpp"

namespace gh {

/// The options of `check`, as given.
struct CheckCommand {
  std::vector<std::string> reports;
  std::string fail_on;
  OutputOptions output;
  RuleOptions rule;
  ReportOptions report;
};

/// Advises on the reports and writes what is wanted. Returns the exit status; throws Error.
int check(CheckCommand command);

}  // namespace gh
