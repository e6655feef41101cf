// Settles which sources were recorded: whether missing rows are a fact about the program or about
// the recording.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// What shows how a report was recorded, other than its rows.
struct Evidence {
  bool whole_export = true;             ///< as read_version says
  std::set<std::string> damaged_kinds;  ///< kinds of tables in which something could not be read
  std::set<std::string> emptied_kinds;  ///< kinds of tables without rows, which exports leave out
  std::vector<std::string> capture_options;  ///< empty if the export does not say
};

/// Settles Trace::sources after rows and diagnostics have been read.
void settle_availability(const Database& db, const Evidence& evidence, Trace& trace);

}  // namespace gh::nsys
