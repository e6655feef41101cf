// Reads what a finding says that its fix changes, from tables such as { scale = products, by = 0.2
// }.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.hpp"
#include "rules/binding/crossing.hpp"
#include "rules/binding/time_sets.hpp"

namespace gh {
namespace binding {
namespace {

constexpr std::size_t most_changes = 100;  // of one finding
constexpr std::size_t most_stalls = 16;    // selections that `stalls` may name
// Larger than in any trace or fix, and small enough not to overflow when lengths are summed.
constexpr double longest_gap_ns = 1e12, most_factor = 10;

constexpr const char* other_keys[] = {"by", "least", "most", "factor", "times", "gap_ns", "stalls"};

// Reads one change of a finding's list.
class ChangeReader {
 public:
  ChangeReader(lua_State* lua, int index)
      : lua_(lua), table_(lua, index, "a change"), c_(context(lua)) {}

  Change read() {
    const std::size_t verb = verb_of();
    const char* name = change_verbs()[verb].name;
    change_.kind = static_cast<Change::Kind>(verb);
    table_.push(name);
    // Stays on the stack, and so alive.
    const Rows& rows = selection_at(lua_, -1, fmt::format("'{}' of a change", name));
    hold(rows, c_.held.changed_rows);
    read_factor();
    change_.gap_ns = static_cast<Ns>(number("gap_ns", 0, longest_gap_ns));
    if (change_.kind == Change::Kind::pause) {
      read_pauses(rows);
    } else {
      read_rows(rows, name);
    }
    if (change_.kind == Change::Kind::shorten) read_stalls(rows);
    return std::move(change_);
  }

 private:
  double number(const char* key, double otherwise, double most) {
    return std::clamp(table_.number(key).value_or(otherwise), 0.0, most);
  }

  // Counts rows that are about to be copied.
  void hold(const Rows& rows, std::size_t& held) {
    charge(lua_, rows.rows.size());
    held += rows.rows.size();
    if (held > HeldSelections::most_changed_rows) {
      throw Error(
          "changes name too many rows to replay; omit `change` from the findings that save least");
    }
  }

  // The index of the one of change_verbs that the table has.
  std::size_t verb_of() {
    std::vector<std::string> verbs;
    for (const ChangeVerb& v : change_verbs()) verbs.emplace_back(v.name);
    std::vector<std::string> keys = verbs;
    keys.insert(keys.end(), std::begin(other_keys), std::end(other_keys));
    table_.only(keys);
    const auto verb = std::find_if(verbs.begin(), verbs.end(),
                                   [&](const std::string& v) { return table_.has(v.c_str()); });
    if (verb == verbs.end()) {
      throw Error(
          fmt::format("a change needs one of {}, with a selection", fmt::join(verbs, ", ")));
    }
    return static_cast<std::size_t>(verb - verbs.begin());
  }

  // Numbers of the change itself, or one of the rule's factors, which `times` multiplies: nothing
  // then takes longer than before.
  void read_factor() {
    const bool is_named = table_.push("factor") != LUA_TNIL;
    const auto read = [&](const LuaTable& from, const char* key, double otherwise) {
      return std::clamp(from.number(key).value_or(otherwise), 0.0, most_factor);
    };
    const LuaTable from = is_named ? LuaTable(lua_, -1, "'factor' of a change") : table_;
    const double by = read(from, "by", change_.kind == Change::Kind::pause ? 0 : 1);
    const double least = read(from, "least", by), most = read(from, "most", by);
    lua_pop(lua_, 1);
    const double times = number("times", 1, most_factor);
    const double longest = times < 1 ? std::max(1.0, by * times) : most_factor;
    change_.factor = {by * times, std::min(by, least) * times,
                      std::min(longest, std::max(by, most) * times)};
  }

  // Reads the host time that a pause shortens.
  void read_pauses(const Rows& rows) {
    if (rows.kind == Kind::calls || rows.kind == Kind::steps) {
      throw Error(
          "'pause' takes a selection of ranges, idle time, OS calls, or operations that the host "
          "waits "
          "for");
    }
    change_.host.reserve(rows.rows.size());
    rows.rows.each([&](Row r) {
      change_.host.push_back(
          {thread_of(c_, rows, r), span_of(c_, rows, r), rows.kind == Kind::idle});
    });
  }

  void read_rows(const Rows& rows, const char* verb) {
    const bool calls = change_.kind == Change::Kind::unblock || change_.kind == Change::Kind::drop;
    if (rows.kind != (calls ? Kind::calls : Kind::ops)) {
      throw Error(
          fmt::format("'{}' takes a selection of {}", verb, calls ? "calls" : "operations"));
    }
    change_.rows = rows.rows.list();
  }

  // How much of each operation overlaps `stalls`.
  void read_stalls(const Rows& rows) {
    std::map<std::size_t, std::vector<Span>> raw;
    std::size_t held = 0;  // only of this change: its copy is freed afterwards
    const auto add = [&](const Rows& s) {
      hold(s, held);
      for (const auto& [slot, spans] : time_of(c_, s)) {
        raw[slot].insert(raw[slot].end(), spans.begin(), spans.end());
      }
    };
    if (table_.push("stalls") == LUA_TTABLE) {
      const auto each = [&](int index) {
        add(selection_at(lua_, index, "each of 'stalls' of a change"));
      };
      LuaTable(lua_, -1, "'stalls' of a change").each(each, most_stalls);
    } else {
      add(selection_at(lua_, -1, "'stalls' of a change"));
    }
    TimeSets stalls;
    for (auto& [slot, spans] : raw) stalls[slot] = united(std::move(spans));
    for (const Row op : change_.rows) {
      const Spans& of_device = set_for(stalls, slot_of(c_, rows, op));
      change_.cut_ns.push_back(overlap(of_device, c_.trace().span_of(op)));
    }
  }

  lua_State* lua_;
  LuaTable table_;
  Context& c_;
  Change change_;
};

}  // namespace
}  // namespace binding

const std::vector<ChangeVerb>& change_verbs() {
  static const std::vector<ChangeVerb> verbs{
      {"remove",
       "Removes operations, with the calls that launched them and the host's work for "
       "these."},
      {"scale",
       "Operations take `by` of their recorded time. If two changes scale the same operation, the "
       "smaller factor counts."},
      {"shorten",
       "Operations lose the time in which they overlap `stalls`, a selection or a list of "
       "selections: kernels without their page faults."},
      {"fuse",
       "Every uninterrupted run of these operations on a stream becomes one kernel, which takes "
       "`by` "
       "of the longest of them."},
      {"graph",
       "Operations follow each other `gap_ns` apart without separate launches, as in a CUDA "
       "graph or a loop inside one kernel."},
      {"overlap", "Operations queue on a separate stream; nothing waits for them within the step."},
      {"unblock", "Calls no longer wait for the GPU."},
      {"drop", "Removes calls, with the host's work for them."},
      {"pause",
       "Host time takes `by` of its recorded time (0 by default): time in ranges or OS calls; with "
       "idle time, the whole pause between two CUDA calls if this is most of its idle time "
       "(otherwise, and inside a call, only the idle time itself); with operations, the time for "
       "which the host waits for them."},
  };
  return verbs;
}

Changes to_changes(const LuaTable& finding) {
  Changes changes;
  lua_State* lua = finding.lua();
  if (finding.push("change") != LUA_TNIL) {
    if (!lua_istable(lua, -1)) {
      throw Error("'change' must be a list, such as { { remove = operations } }");
    }
    LuaTable(lua, -1, "'change' of a finding")
        .each([&](int index) { changes.push_back(binding::ChangeReader(lua, index).read()); },
              binding::most_changes);
  }
  lua_pop(lua, 1);
  return changes;
}

}  // namespace gh
