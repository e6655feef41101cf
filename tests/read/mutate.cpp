// Changes real reports so that they no longer say what happened: removes rows and strings, shifts
// the times of one table, swaps columns, zeroes durations, mixes up ids, duplicates rows. No rule
// that found something in the original may call the changed report clean.
//
//   mutate COUNT [FIRST]     cases FIRST, FIRST + 1, ...; the same numbers give the same changes
//                            everywhere
//
// A finding counts as lost if its rule was checked on the changed report and found nothing: the
// report was read, and the rule is neither "not checked" nor failed. A change is `honest` if its
// result could have been recorded that way; then there is nothing to find any more. Rows are
// numbered, and removed rows leave holes; half of the changes close the holes, as VACUUM does.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "read/read.hpp"
#include "rules/rules.hpp"
#include "support/random.hpp"

namespace fs = std::filesystem;

namespace {

using support::Random;

// ---- changes to an export

struct EventTable {
  const char* name;
  const char* id;  // of a name, or "" without one
  bool has_end;
};
constexpr EventTable tables[] = {{"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", true},
                                 {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", true},
                                 {"CUPTI_ACTIVITY_KIND_MEMCPY", "", true},
                                 {"NVTX_EVENTS", "textId", true},
                                 {"OSRT_API", "nameId", true}};

struct Change {
  std::string what, sql;
  bool honest = false;  // the result could have been recorded that way
};

// Selects all rows, or a share of at least a tenth.
std::string some_rows(const std::string& table, Random& random, std::string& what) {
  switch (random.below(6)) {
    case 0: what += "all rows"; return "1";
    case 1: what += "every second row"; return "rowid % 2 = 0";
    case 2:
      what += "the first half";
      return fmt::format("rowid <= (SELECT max(rowid) FROM {}) / 2", table);
    case 3:
      what += "the last half";
      return fmt::format("rowid > (SELECT max(rowid) FROM {}) / 2", table);
    default: {
      const std::size_t percent = 10 + random.below(90);
      what += fmt::format("{} % of the rows", percent);
      return fmt::format("(rowid * 2654435761 >> 7) % 100 < {}", percent);
    }
  }
}

Change rows_gone(Random& random) {
  const EventTable& t = random.of(tables);
  Change c{fmt::format("{}: gone are ", t.name), ""};
  const std::string which = some_rows(t.name, random, c.what);
  c.sql = fmt::format("DELETE FROM {} WHERE {}", t.name, which);
  const bool closed = random.below(2) == 0;
  if (closed) {
    c.what += ", numbered anew";
    c.sql += "; VACUUM";
  }
  // Only row numbers show that there were more ranges or OS runtime calls: a program marks what it
  // wants, and a thread may have no more of them, or none before.
  const std::string name = t.name;
  const bool alone = name == "NVTX_EVENTS" || name == "OSRT_API";
  c.honest = alone && (closed || c.what.ends_with("half"));
  return c;
}

Change strings_gone(Random& random) {
  Change c{"StringIds: gone are ", ""};
  const std::string which = some_rows("StringIds", random, c.what);
  c.sql = fmt::format("DELETE FROM StringIds WHERE {}", which);
  return c;
}

Change strings_mixed_up(Random& random) {
  const std::size_t by = 1 + random.below(50);
  return {fmt::format("StringIds: values moved by {}", by),
          fmt::format("CREATE TEMP TABLE old AS SELECT id, value FROM StringIds; UPDATE StringIds "
                      "SET value = coalesce((SELECT value FROM old WHERE old.id = StringIds.id + "
                      "{}), '')",
                      by)};
}

Change shifted(Random& random) {
  const EventTable& t = random.of(tables);
  constexpr std::int64_t by[] = {1'000'000, 10'000'000, 100'000'000, 1'000'000'000,
                                 100'000'000'000};
  const std::int64_t ns = random.of(by) * (random.below(2) == 0 ? 1 : -1);
  Change c{fmt::format("{}: later by {} ns: ", t.name, ns), ""};
  const std::string which = some_rows(t.name, random, c.what);
  c.sql = fmt::format("UPDATE {0} SET start = start + {1}, end = end + {1} WHERE {2}", t.name, ns,
                      which);
  // A program may put its ranges anywhere, as long as they do not cross.
  c.honest = c.what.ends_with("all rows") && std::string(t.name) == "NVTX_EVENTS";
  return c;
}

Change swapped_columns(Random& random) {
  constexpr std::pair<const char*, const char*> kernel[] = {
      {"start", "end"},          {"demangledName", "correlationId"},
      {"deviceId", "streamId"},  {"globalPid", "start"},
      {"gridX", "blockX"},       {"correlationId", "streamId"},
      {"demangledName", "gridX"}};
  constexpr std::pair<const char*, const char*> call[] = {{"start", "end"},
                                                          {"nameId", "correlationId"},
                                                          {"globalTid", "correlationId"},
                                                          {"globalTid", "start"}};
  const bool of_kernels = random.below(2) == 0;
  const char* table = of_kernels ? "CUPTI_ACTIVITY_KIND_KERNEL" : "CUPTI_ACTIVITY_KIND_RUNTIME";
  const auto& [a, b] = of_kernels ? random.of(kernel) : random.of(call);
  Change c{fmt::format("{}: {} and {} swapped: ", table, a, b), ""};
  const std::string which = some_rows(table, random, c.what);
  c.sql = fmt::format("UPDATE {0} SET {1} = {2}, {2} = {1} WHERE {3}", table, a, b, which);
  return c;
}

Change zeroed(Random& random) {
  const EventTable& t = random.of(tables);
  Change c{fmt::format("{}: lengths of zero: ", t.name), ""};
  const std::string which = some_rows(t.name, random, c.what);
  c.sql = fmt::format("UPDATE {} SET end = start WHERE {}", t.name, which);
  return c;
}

Change ids_mixed_up(Random& random) {
  constexpr std::pair<const char*, const char*> ids[] = {
      {"CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"}};
  const auto& [table, column] = random.of(ids);
  constexpr const char* to[] = {"{0} + 1", "{0} + 12345", "0", "{0} * 2", "rowid", "-{0}"};
  const std::string value = fmt::format(fmt::runtime(random.of(to)), column);
  Change c{fmt::format("{}.{} = {}: ", table, column, value), ""};
  const std::string which = some_rows(table, random, c.what);
  c.sql = fmt::format("UPDATE {} SET {} = {} WHERE {}", table, column, value, which);
  return c;
}

Change rows_twice(Random& random) {
  const EventTable& t = random.of(tables);
  Change c{fmt::format("{}: twice are ", t.name), ""};
  const std::string which = some_rows(t.name, random, c.what);
  c.sql = fmt::format("INSERT INTO {0} SELECT * FROM {0} WHERE {1}", t.name, which);
  return c;
}

Change some_change(Random& random) {
  constexpr Change (*changes[])(Random&) = {
      rows_gone,       rows_gone, strings_gone, strings_mixed_up, shifted,   shifted,
      swapped_columns, zeroed,    ids_mixed_up, ids_mixed_up,     rows_twice};
  return random.of(changes)(random);
}

// False if it changed nothing, because the report has no such table.
bool apply(const Change& change, const fs::path& path) {
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", nullptr, nullptr,
               nullptr);
  const bool done = sqlite3_exec(db, change.sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK &&
                    sqlite3_total_changes(db) > 0;
  sqlite3_close(db);
  return done;
}

// ---- what the rules say

struct Said {
  std::set<std::string> found, doubted;  // rules; doubted: not checked, or failed
  bool refused = false;
};

Said judged(const fs::path& report, const std::vector<gh::Rule>& rules) {
  Said said;
  try {
    const gh::Analysis analysis(gh::read_report(report), gh::Classes(), {});
    const gh::Facts facts(analysis);
    const gh::Answers r = gh::ask_rules(rules, analysis, facts, {}, nullptr);
    for (const gh::Said& f : r.findings) said.found.insert(f.rule);
    for (const gh::NotChecked& n : r.not_checked) said.doubted.insert(n.rule);
    for (const gh::Failed& f : r.failed) said.doubted.insert(f.rule);
  } catch (const gh::Error&) {
    said.refused = true;
  }
  return said;
}

// The rules whose findings were lost.
std::string lost(const Said& before, const Said& after) {
  std::string rules;
  if (after.refused) return rules;
  for (const std::string& rule : before.found) {
    if (after.found.contains(rule) || after.doubted.contains(rule) || rule == "capture-quality")
      continue;
    rules += (rules.empty() ? "" : ", ") + rule;
  }
  return rules;
}

struct Original {
  fs::path path;
  Said said;
};

// Small reports that each have different findings.
std::vector<Original> originals(const std::vector<gh::Rule>& rules) {
  std::vector<Original> list;
  for (const char* name : {"launchbound", "syncs-pageable", "gc-pause", "starved", "fp32", "um",
                           "alloc-churn", "exposed-copy", "checkpoint-stall", "lora", "gpumetrics",
                           "ddp-straggler", "offload-pageoff"}) {
    const fs::path path = fs::path(GH_FIXTURES) / (std::string(name) + ".sqlite");
    list.push_back({path, judged(path, rules)});
  }
  return list;
}

struct Tally {
  std::atomic<std::uint64_t> next = 0, unchanged = 0, honest = 0, failures = 0;
  std::mutex mutex;
};

void try_case(std::uint64_t number, const std::vector<Original>& list,
              const std::vector<gh::Rule>& rules, const fs::path& changed, Tally& tally) {
  Random random(number);
  const Original& original = random.of(list);
  const Change change = some_change(random);
  fs::copy_file(original.path, changed, fs::copy_options::overwrite_existing);
  if (!apply(change, changed)) {
    ++tally.unchanged;
    return;
  }
  const std::string rules_lost = lost(original.said, judged(changed, rules));
  if (rules_lost.empty()) return;
  if (change.honest) {
    ++tally.honest;
    return;
  }
  const std::lock_guard lock(tally.mutex);
  ++tally.failures;
  fmt::print("case {} ({}; {}): clean by {}\n", number, original.path.stem().string(), change.what,
             rules_lost);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0,
                      first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (count == 0) {
    fmt::print(stderr, "mutate COUNT [FIRST]\n");
    return 2;
  }
  gh::use_threads(1);  // each case runs on one thread
  const gh::TemporaryFolder folder;
  const std::vector<gh::Rule> rules = gh::own_rules();
  const std::vector<Original> list = originals(rules);
  Tally tally;
  tally.next = first;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
      threads.emplace_back([&, t] {
        const fs::path changed = folder.path / fmt::format("{}.sqlite", t);
        for (std::uint64_t i = tally.next++; i < first + count; i = tally.next++) {
          try_case(i, list, rules, changed, tally);
        }
      });
    }
  }
  fmt::print("{} cases, {} of them without a change, {} as if recorded so; {} went wrong\n", count,
             tally.unchanged.load(), tally.honest.load(), tally.failures.load());
  return tally.failures > 0 ? 1 : 0;
}
