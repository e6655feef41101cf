#include "read/nsys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/text.hpp"
#include "read/doubts.hpp"
#include "read/environment.hpp"
#include "read/limits.hpp"
#include "read/nsys/availability.hpp"
#include "read/nsys/file_check.hpp"
#include "read/nsys/merge.hpp"
#include "read/nsys/recording.hpp"
#include "read/nsys/samples.hpp"
#include "read/nsys/table_doubts.hpp"
#include "read/nsys/tables.hpp"
#include "read/nsys/translator.hpp"
#include "read/sqlite.hpp"
#include "trace/first_pages.hpp"

namespace gh {
namespace {

void check_signature(const Database& db, const std::string& shown) {
  const std::vector<std::string>& signature = nsys::signature();
  if (std::none_of(signature.begin(), signature.end(),
                   [&](const std::string& table) { return db.has_table(table); })) {
    throw Error(
        fmt::format("{}: is an SQLite database, but not an export of Nsight Systems; give a report "
                    "exported with `nsys export --type sqlite`",
                    shown));
  }
}

// Kinds of tables in which something could not be read.
std::set<std::string> damaged_kinds(const std::deque<nsys::Table>& tables) {
  std::set<std::string> kinds;
  for (const nsys::Table& table : tables) {
    if (std::any_of(table.parts.begin(), table.parts.end(), [](const nsys::Part& part) {
          return part.count.malformed > 0 || !part.problems.empty();
        })) {
      kinds.insert(table.kind->name);
    }
  }
  return kinds;
}

}  // namespace

Trace read_nsys(const std::filesystem::path& path) {
  Trace trace;
  trace.path = printable(path.string());
  nsys::check_file(path, trace.path);
  const Database db(path);
  check_signature(db, trace.path);
  if (is_being_written(path)) {
    trace.problems.push_back(
        "the file is still being written, or its writer was stopped, so an unknown part is "
        "missing; export it again");
  }

  nsys::Evidence evidence;
  evidence.whole_export = nsys::read_version(db, trace);
  nsys::read_session(db, trace);

  // Kernels, calls, ranges: everything of which a report may contain a lot.
  std::deque<nsys::Table> tables = nsys::read_tables(path, db);
  nsys::Translator translator(db, trace);
  const std::vector<Doubt> doubts_of_names = nsys::merge(tables, translator, trace);
  evidence.damaged_kinds = damaged_kinds(tables);
  evidence.emptied_kinds = nsys::emptied_kinds(tables, db, trace);
  const std::vector<Doubt> doubts_of_tables = nsys::doubts_of_tables(tables, db);
  tables.clear();

  const std::size_t problems = trace.problems.size();
  nsys::read_samples(db, translator, trace);
  if (trace.problems.size() > problems) evidence.damaged_kinds.insert("sample");
  translator.name_devices();

  evidence.capture_options = nsys::read_capture_options(db, trace);
  nsys::read_diagnostics(db, trace);
  nsys::settle_availability(db, evidence, trace);
  Environment environment = read_environment(db);
  trace.environment_variables = environment.variables;
  trace.environment = std::move(environment.known);
  trace.seal();
  if (trace.capture_end - trace.capture_start > longest_capture_ns) {
    throw Error(
        fmt::format("{}: its first and last events are more than a year apart, so its times are "
                    "damaged; export or record it again",
                    trace.path));
  }
  settle(doubts_of_names, trace);
  settle(doubts_of_tables, trace);
  settle(doubts_of(trace, Recorder::nsys), trace);
  trace.lost = find_lost_work(trace);
  add_waits_for_first_pages(trace);

  return trace;
}

}  // namespace gh
