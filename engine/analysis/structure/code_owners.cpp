#include "analysis/structure/code_owners.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/structure/structure.hpp"
#include "base/schema_table.hpp"

namespace gh {
namespace {

// How many operations to look back at for a thread's last kernel.
constexpr std::size_t most_back = 256;

TimeOf time_of(std::string_view name) {
  if (name == "wait") return TimeOf::wait;
  if (name == "work") return TimeOf::work;
  if (name == "launch") return TimeOf::launch;
  throw std::logic_error("schemas/owners.toml: a row is of wait, work or launch");
}

std::vector<std::vector<std::string>> lists(const toml::table& table, const char* key) {
  std::vector<std::vector<std::string>> found;
  each_entry(table, "owner",
             [&](const toml::table& entry) { found.push_back(strings(entry[key])); });
  return found;
}

}  // namespace

const std::string* KnownOwner::fix_for(const ProgramKind& program) const {
  std::vector<std::string> beside = program.kinds;
  beside.emplace_back();
  for (const std::string& kind : program.kinds) {
    const auto of_kind = fixes.find(kind);
    if (of_kind == fixes.end()) continue;
    for (const std::string& other : beside)
      if (const auto fix = of_kind->second.find(other); fix != of_kind->second.end())
        return &fix->second;
  }
  return nullptr;
}

CodeOwners::CodeOwners(const Analysis& analysis) : analysis_(analysis) {
  static const toml::table table = schema_table("schemas/owners.toml");
  each_entry(table, "owner", [&](const toml::table& entry) {
    KnownOwner known;
    known.key = entry["key"].value_or(std::string());
    known.of = time_of(entry["of"].value_or(""));
    known.asks_within = !strings(entry["within"]).empty();
    known.asks_after = !strings(entry["after"]).empty();
    known.takes_most = entry["most"].value_or(false);
    if (const toml::table* fixes = entry["fix"].as_table())
      for (const auto& [kind, fix] : *fixes) {
        auto& of_kind = known.fixes[std::string(kind.str())];
        if (!fix.is_table()) of_kind[""] = fix.value_or(std::string());
        if (const toml::table* more = fix.as_table())
          for (const auto& [beside, text] : *more)
            of_kind[std::string(beside.str())] = text.value_or(std::string());
      }
    known_.push_back(std::move(known));
  });
  if (known_.size() > 64) throw std::logic_error("schemas/owners.toml has more rows than bits");
  within_ = PatternLists(lists(table, "within"));
  after_ = PatternLists(lists(table, "after"));
}

CodeOwners::Fits CodeOwners::fits(NameId name) const {
  const std::string& text = analysis_.trace.names[name];
  Fits fits;
  for (const std::size_t row : within_.match(text)) fits.within |= std::uint64_t{1} << row;
  for (const std::size_t row : after_.match(text)) fits.after |= std::uint64_t{1} << row;
  return fits;
}

// What takes most of the stretch in which a thread works.
HostWork::Doing CodeOwners::doing_in(const HostMoment& m) const {
  if (m.call != no_row) return {};
  const std::uint16_t process = analysis_.trace.threads[m.thread].process;
  return analysis_.structure().host_work().during(m.thread, process, m.works);
}

// What the thread is in, the innermost first. What lasts for half a step or longer holds
// everything that is done in it and says nothing.
std::vector<NameId> CodeOwners::names_around(const HostMoment& m,
                                             const HostWork::Doing& doing) const {
  const Trace& t = analysis_.trace;
  const Structure& structure = analysis_.structure();
  std::vector<NameId> names;
  Ns at = m.works.start + m.works.length() / 2;
  NameId call = 0;  // says least
  if (m.call != no_row) {
    at = t.calls.start[m.call];
  } else {
    const HostWork::Seen seen = structure.host_work().seen({{m.thread, m.works}});
    const bool in_call = analysis_.names.call[doing.name] != CallClass::other;
    if (in_call) call = doing.name;
    for (const NameId name :
         {seen.function, in_call ? NameId{0} : doing.name, doing.within, seen.module})
      if (name != 0) names.push_back(name);
  }
  const Ns most = analysis_.recorded_step_ns() / 2;
  const auto add = [&](const auto& events, const Nesting& nesting) {
    nesting.first_open(m.thread, at, [&](Row r) {
      if (events.end[r] - events.start[r] < most) names.push_back(events.name[r]);
      return false;
    });
  };
  add(t.ranges, structure.ranges());
  add(t.frames, structure.frames());
  // Where the profiler tells of Python only the line of each call.
  const ProgramLayers& layers = structure.layers();
  if (const NameId line = layers.origin(layers.of_call(m.call)).line; line != 0)
    names.push_back(line);
  if (call != 0) names.push_back(call);
  return names;
}

// What came before a call: the operators before the one that it is in, and the kernel whose result
// it waits for.
std::vector<NameId> CodeOwners::names_before(const HostMoment& m) const {
  if (m.call == no_row) return {};
  const Trace& t = analysis_.trace;
  const Nesting& ranges = analysis_.structure().ranges();
  const std::vector<std::uint8_t>& operators = analysis_.structure().operators();
  const auto is_operator = [&](Row r) { return operators[t.ranges.name[r]] != 0; };
  Ns begin = t.calls.start[m.call];
  ranges.first_open(m.thread, begin, [&](Row r) {
    if (is_operator(r)) begin = t.ranges.start[r];
    return false;
  });
  std::vector<NameId> names;
  if (const std::size_t begun = ranges.begun_before(m.thread, begin); begun > 0)
    ranges.first_from(ranges.of(m.thread)[begun - 1], [&](Row r) {
      if (is_operator(r) && t.ranges.end[r] <= begin) names.push_back(t.ranges.name[r]);
      return t.ranges.end[r] > begin;
    });
  // The kernel whose result is read back, if one is.
  const auto after = std::lower_bound(t.ops.start.begin(), t.ops.start.end(), t.calls.end[m.call]);
  auto op = static_cast<Row>(after - t.ops.start.begin());
  bool reads = false;
  for (std::size_t looked = 0; op-- > 0 && looked < most_back; ++looked) {
    const Row call = t.ops.call[op];
    if (call == no_row || call > m.call || t.calls.thread[call] != m.thread) continue;
    reads = reads || t.ops.copy[op] == CopyKind::d2h;
    if (t.ops.kind[op] != OpKind::kernel) continue;
    if (reads) names.push_back(t.ops.name[op]);
    break;
  }
  return names;
}

CodeOwners::Found CodeOwners::owner_of(const HostMoment& m, Asked& asked, bool by_table) const {
  const auto fits_of = [&](NameId name) {
    const auto [fits, is_new] = asked.try_emplace(name);
    if (is_new) fits->second = this->fits(name);
    return fits->second;
  };
  const HostWork::Doing doing = doing_in(m);
  const std::vector<NameId> around = names_around(m, doing);
  if (!by_table) return {nullptr, around.empty() ? NameId{0} : around.front()};
  const std::vector<std::uint8_t>& operators = analysis_.structure().operators();
  const bool in_operator =
      std::any_of(around.begin(), around.end(), [&](NameId name) { return operators[name] != 0; });
  Fits fit;
  const std::uint64_t most = fits_of(doing.name).within | fits_of(doing.within).within;
  for (const NameId name : around) fit.within |= fits_of(name).within;
  for (const NameId name : names_before(m)) fit.after |= fits_of(name).after;
  for (std::size_t row = 0; row < known_.size(); ++row) {
    const std::uint64_t bit = std::uint64_t{1} << row;
    const KnownOwner& known = known_[row];
    const std::uint64_t within = known.takes_most ? most : fit.within;
    const bool is_within = !known.asks_within || (within & bit) != 0,
               is_after = !known.asks_after || (fit.after & bit) != 0;
    // In no operator, as in recordings without them, what the thread has left decides.
    if (known.of != m.of || !is_after || !(is_within || (known.asks_after && !in_operator)))
      continue;
    const auto name = std::find_if(around.begin(), around.end(),
                                   [&](NameId n) { return (fits_of(n).within & bit) != 0; });
    return {&known, name != around.end() ? *name : around.empty() ? NameId{0} : around.front()};
  }
  return {nullptr, around.empty() ? NameId{0} : around.front()};
}

std::vector<CodeOwner> CodeOwners::of(const std::vector<HostMoment>& moments, bool by_table) const {
  struct Owned {
    std::map<NameId, Ns> names;
    CodeOwner owner;
  };
  std::map<std::pair<const KnownOwner*, NameId>, Owned> owned;
  Asked asked;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const HostMoment& m = moments[i];
    const Found found = m.thread == no_index ? Found{} : owner_of(m, asked, by_table);
    Owned& of = owned[{found.known, found.known ? NameId{0} : found.name}];
    of.names[found.name] += m.ns;
    of.owner.known = found.known;
    of.owner.ns += m.ns;
    of.owner.moments.push_back(i);
  }
  std::vector<CodeOwner> owners;
  for (auto& [key, of] : owned) {
    const auto most =
        std::max_element(of.names.begin(), of.names.end(),
                         [](const auto& x, const auto& y) { return x.second < y.second; });
    of.owner.name = operator_of(analysis_.trace.names[most->first]);
    owners.push_back(std::move(of.owner));
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const CodeOwner& x, const CodeOwner& y) { return x.ns > y.ns; });
  return owners;
}

}  // namespace gh
