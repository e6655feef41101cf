#include "read/nsys/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/text.hpp"
#include "read/globs.hpp"
#include "read/nsys/table_reader.hpp"

namespace gh::nsys {

bool read_version(const Database& db, Trace& trace) {
  trace.format = "Nsight Systems SQLite export";
  bool whole = true;
  each_row(db, "version", {"name", "value"}, trace.problems, [&](TableReader& rows) {
    const std::string_view name = rows.text(0), value = rows.text(1);
    if (name == "EXPORT_SCHEMA_VERSION") trace.schema = printable(value);
    if (name == "EXPORT_PRODUCT_VERSION") trace.producer = "Nsight Systems " + printable(value);
    if (name == "EXPORT_PARAM_TABLES_TO_EXPORT") whole = value.empty();
  });
  if (trace.producer.empty()) trace.producer = "Nsight Systems (version not recorded)";
  if (trace.schema.empty()) trace.schema = "unknown";
  return whole;
}

void read_session(const Database& db, Trace& trace) {
  std::vector<std::string> unheard;  // problems, ignored
  for (const std::string& table : tables_in(db, "session")) {
    TableReader rows(db, "session", table, {"epoch_ns"}, unheard);
    if (!rows.next()) continue;
    const Ns epoch = rows.integer(0);
    if (rows.sound() && epoch > 0 && epoch < std::numeric_limits<Ns>::max() / 2) {
      trace.epoch_ns = epoch;
    }
  }
  // This table also contains the machine's environment; read only the host name.
  each_row(db, "system", {"name", "value"}, unheard, [&](TableReader& rows) {
    if (rows.text(0) == "Hostname" && trace.host.empty()) trace.host = printable(rows.text(1));
  });
}

std::vector<std::string> read_capture_options(const Database& db, Trace& trace) {
  // Do not read the whole table, because it also contains the profiled program's environment.
  static const std::vector<std::string> wanted{"CAPTURE_EVENT_TYPE", "*COLLECT_*",
                                               "GPU_METRICS_OPTIONS:*"};
  std::vector<std::string> options;
  each_row(db, "capture", {"name", "value"}, trace.problems, [&](TableReader& rows) {
    if (any_matches(wanted, rows.text(0))) {
      options.push_back(fmt::format("{}={}", rows.text(0), rows.text(1)));
    }
  });
  return options;
}

void read_diagnostics(const Database& db, Trace& trace) {
  std::vector<std::tuple<Ns, int, std::string>> messages;
  each_row(db, "diagnostic", {"time", "severity", "text"}, trace.problems, [&](TableReader& rows) {
    const Ns time = rows.integer(0);
    const auto severity = static_cast<int>(rows.integer(1));
    if (rows.sound()) messages.emplace_back(time, severity, printable(rows.text(2)));
  });
  std::sort(messages.begin(), messages.end());
  for (auto& [time, severity, text] : messages) {
    trace.diagnostics.push_back({severity, std::move(text)});
  }
}

}  // namespace gh::nsys
