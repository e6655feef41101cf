// Copies back and forth: tensors that leave the device and return, weights that are fetched layer
// by layer, data that could stay on the device, data on its way to another device, results that the
// host waits for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/detect/round_trips.hpp"
#include "base/text.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// The minimum size of copies that the rule gave, if any.
std::int64_t min_bytes(const std::optional<LuaTable>& asked) {
  if (!asked) return least_trip_bytes;
  return static_cast<std::int64_t>(asked->count("min_bytes", least_trip_bytes, boundless));
}

int round_trips(lua_State* lua, const Context& c) {
  RoundTrips found =
      find_round_trips(c.analysis, c.in_steps.copies,
                       min_bytes(named_arguments(lua, 2, "round_trips", {"min_bytes"})));
  push_rows(lua, {Kind::ops, std::move(found.copies)});
  lua_pushinteger(lua, found.pairs);
  return 2;
}

int streamed_uploads(lua_State* lua, const Context& c) {
  const auto asked = named_arguments(lua, 2, "streamed_uploads", {"min_bytes", "min_per_step"});
  const std::size_t least_bursts =
      asked ? asked->count("min_per_step", least_upload_bursts, boundless) : least_upload_bursts;
  push_rows(lua, {Kind::ops, find_streamed_uploads(c.analysis, min_bytes(asked), least_bursts)});
  return 1;
}

int read_backs(lua_State* lua, const Context& c) {
  const ReadBacks& found = c.in_steps.read_backs();
  push_rows(lua, {Kind::ops, found.copies});
  push_rows(lua, {Kind::calls, found.waits});
  push_rows(lua, {Kind::ops, found.deciding});
  push_rows(lua, {Kind::ops, found.changing});
  push_rows(lua, {Kind::ops, found.sized});
  return 5;
}

// Whether the rule asks for a purpose, and for a class of calls.
bool is_any(const std::vector<std::string>& wanted, std::string_view name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

int host_waits(lua_State* lua, const Context& c) {
  const auto asked = named_arguments(lua, 2, "host_waits", {"on", "class", "max_bytes"});
  const std::vector<std::string> on = asked ? asked->texts("on") : std::vector<std::string>(),
                                 of = asked ? asked->texts("class") : std::vector<std::string>();
  std::vector<std::string> names;
  for (std::size_t w = 0; w < static_cast<std::size_t>(WaitFor::count); ++w)
    names.emplace_back(name_of(static_cast<WaitFor>(w)));
  for (const std::string& name : on)
    if (!is_any(names, name))
      throw Error(fmt::format("no wait is for '{}'{}", printable(name), did_you_mean(name, names)));
  const std::optional<double> most = asked ? asked->number("max_bytes") : std::nullopt;
  const Trace& t = c.trace();
  std::vector<Row> calls;
  RowBits copies(t.ops.size());
  for (const Wait& wait : c.in_steps.waits()) {
    if (!is_any(on, name_of(wait.what)) ||
        !is_any(of, name_of(c.analysis.names.call[t.calls.name[wait.first]])))
      continue;
    if (most && (wait.copy == no_row || static_cast<double>(t.ops.bytes[wait.copy]) > *most))
      continue;
    calls.push_back(wait.call);
    if (wait.copy != no_row) copies.add(wait.copy);
  }
  push_rows(lua, {Kind::calls, RowSet(std::move(calls))});
  push_rows(lua, {Kind::ops, std::move(copies).set()});
  return 2;
}

constexpr Verb copies_table[] = {
    {"trace:round_trips", verb<round_trips, Cost{.ops = 64, .copies = 1}>},
    {"trace:streamed_uploads", verb<streamed_uploads, Cost{.ops = 4}>},
    {"trace:host_waits", verb<host_waits, Cost{.ops = 4, .calls = 4}>},
    {"trace:read_backs", verb<read_backs, Cost{.ops = 4, .calls = 4}>},
};

}  // namespace

const Verbs copies_verbs = copies_table;

}  // namespace gh::binding
