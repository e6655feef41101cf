// Reads what a finding says that its fix changes, from tables such as { scale = products, by = 0.2
// }.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

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

}  // namespace

// Reads one change of a finding's list: a table with one of change_verbs.
class ChangeReader {
 public:
  ChangeReader(lua_State* lua, int index)
      : lua_(lua), table_(lua, index, "a change"), c_(context(lua)) {}

  Change read() {
    const ChangeVerb& verb = verb_of_table();
    verb_ = verb.name;
    push(verb_);
    // Stays on the stack, and so alive.
    rows_ = &selection_at(lua_, -1, fmt::format("'{}' of a change", verb_));
    hold(*rows_, c_.held.changed_rows);
    Change change = verb.read(*this);
    table_.only(keys_);
    return change;
  }

  // ---- the members of a change

  std::vector<Row> ops() { return rows_of(Kind::ops, "operations"); }
  std::vector<Row> calls() { return rows_of(Kind::calls, "calls"); }

  // Numbers of the change itself, or one of the rule's factors, which `times` multiplies: nothing
  // then takes longer than before. `otherwise`: the best guess of a change that does not say.
  Factor factor(double otherwise) {
    const bool is_named = push("factor") != LUA_TNIL;
    keys_.insert(keys_.end(), {"by", "least", "most"});
    const LuaTable from = is_named ? LuaTable(lua_, -1, "'factor' of a change") : table_;
    const auto read = [&](const char* key, double if_absent) {
      return std::clamp(from.number(key).value_or(if_absent), 0.0, most_factor);
    };
    const double by = read("by", otherwise), least = read("least", by), most = read("most", by);
    lua_pop(lua_, 1);
    const double times = number("times", 1, most_factor);
    const double longest = times < 1 ? std::max(1.0, by * times) : most_factor;
    return {by * times, std::min(by, least) * times, std::min(longest, std::max(by, most) * times)};
  }

  // In which products then compute the same as before; nothing if the change does not say.
  std::optional<Precision> precision() {
    static const std::map<std::string, Precision> named{{"same", Precision::none},
                                                        {"tf32", Precision::tf32},
                                                        {"half", Precision::half},
                                                        {"eight_bits", Precision::eight_bits}};
    keys_.emplace_back("precision");
    const std::string name = table_.text("precision", false);
    if (name.empty()) return std::nullopt;
    const auto found = named.find(name);
    if (found == named.end())
      throw Error("'precision' of a change is \"same\", \"tf32\", \"half\" or \"eight_bits\"");
    return found->second;
  }

  bool flag(const char* key) {
    keys_.emplace_back(key);
    return table_.truth(key);
  }

  Ns gap_ns() { return static_cast<Ns>(number("gap_ns", 0, longest_gap_ns)); }

  // How much of each operation overlaps `stalls`.
  std::vector<Ns> cut_ns(const std::vector<Row>& ops) {
    std::map<std::size_t, std::vector<Span>> raw;
    std::size_t held = 0;  // only of this change: its copy is freed afterwards
    const auto add = [&](const Rows& s) {
      hold(s, held);
      for (const auto& [slot, spans] : time_of(c_, s)) {
        raw[slot].insert(raw[slot].end(), spans.begin(), spans.end());
      }
    };
    if (push("stalls") == LUA_TTABLE) {
      const auto each = [&](int index) {
        add(selection_at(lua_, index, "each of 'stalls' of a change"));
      };
      LuaTable(lua_, -1, "'stalls' of a change").each(each, most_stalls);
    } else {
      add(selection_at(lua_, -1, "'stalls' of a change"));
    }
    TimeSets stalls;
    for (auto& [slot, spans] : raw) stalls[slot] = united(std::move(spans));
    std::vector<Ns> cut;
    for (const Row op : ops)
      cut.push_back(overlap(set_for(stalls, slot_of(c_, *rows_, op)), c_.trace().span_of(op)));
    return cut;
  }

  std::vector<HostSpan> host() {
    if (rows_->kind == Kind::calls || rows_->kind == Kind::steps) {
      throw Error(
          "'pause' takes a selection of ranges, idle time, OS calls, or operations that the host "
          "waits for");
    }
    std::vector<HostSpan> host;
    host.reserve(rows_->rows.size());
    rows_->rows.each([&](Row r) {
      host.push_back({thread_of(c_, *rows_, r), span_of(c_, *rows_, r), rows_->kind == Kind::idle});
    });
    return host;
  }

 private:
  const ChangeVerb& verb_of_table() const {
    std::vector<std::string> verbs;
    for (const ChangeVerb& verb : change_verbs()) {
      if (table_.has(verb.name)) return verb;
      verbs.emplace_back(verb.name);
    }
    table_.only(verbs);
    throw Error(fmt::format("a change needs one of {}, with a selection", fmt::join(verbs, ", ")));
  }

  // Whatever is not read in the end has no meaning for this verb.
  int push(const char* key) {
    keys_.emplace_back(key);
    return table_.push(key);
  }
  double number(const char* key, double otherwise, double most) {
    keys_.emplace_back(key);
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

  std::vector<Row> rows_of(Kind kind, const char* what) {
    if (rows_->kind != kind) throw Error(fmt::format("'{}' takes a selection of {}", verb_, what));
    return rows_->rows.list();
  }

  lua_State* lua_;
  LuaTable table_;
  Context& c_;
  const char* verb_ = "";
  const Rows* rows_ = nullptr;
  std::vector<std::string> keys_;  // read so far
};

namespace {

// The members of a kind of change say what its table may hold.
template <class Kind>
Change read(ChangeReader& from) {
  Kind c;
  if constexpr (requires { c.ops; }) c.ops = from.ops();
  if constexpr (requires { c.calls; }) c.calls = from.calls();
  if constexpr (requires { c.host; }) c.host = from.host();
  if constexpr (requires { c.factor; }) c.factor = from.factor(c.factor.by);
  if constexpr (requires { c.gap_ns; }) c.gap_ns = from.gap_ns();
  if constexpr (requires { c.precision; }) c.precision = from.precision();
  if constexpr (requires { c.fused; }) c.fused = from.flag("fused");
  if constexpr (requires { c.cut_ns; }) c.cut_ns = from.cut_ns(c.ops);
  return c;
}

}  // namespace
}  // namespace binding

const std::vector<ChangeVerb>& change_verbs() {
  using binding::read;
  static const std::vector<ChangeVerb> verbs{
      {"remove", read<change::Remove>},   {"scale", read<change::Scale>},
      {"shorten", read<change::Shorten>}, {"fuse", read<change::Fuse>},
      {"graph", read<change::Graph>},     {"overlap", read<change::Overlap>},
      {"unblock", read<change::Unblock>}, {"drop", read<change::Drop>},
      {"pause", read<change::Pause>},
  };
  return verbs;
}

Changes changes_at(lua_State* lua, int index, const std::string& what) {
  Changes changes;
  LuaTable(lua, index, what)
      .each([&](int i) { changes.push_back(binding::ChangeReader(lua, i).read()); },
            binding::most_changes);
  return changes;
}

Changes to_changes(const LuaTable& finding) {
  Changes changes;
  lua_State* lua = finding.lua();
  if (finding.push("change") != LUA_TNIL) {
    if (!lua_istable(lua, -1)) {
      throw Error("'change' must be a list, such as { { remove = operations } }");
    }
    changes = changes_at(lua, -1, "'change' of a finding");
  }
  lua_pop(lua, 1);
  return changes;
}

}  // namespace gh
