// What was recorded and what not: where there are no rows, whether that is a fact about the program
// or about the recording.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// What tells of a recording, beside its rows.
struct Evidence {
  bool whole_export = true;                  ///< as read_version says
  std::set<std::string> damaged_kinds;       ///< of tables of which something could not be read
  std::set<std::string> emptied_kinds;       ///< of tables without rows, which exports do not write
  std::vector<std::string> capture_options;  ///< empty where the export does not say
};

/// Settles Trace::sources, once rows and diagnostics are read.
void settle_availability(const Database& db, const Evidence& evidence, Trace& trace);

}  // namespace gh::nsys
