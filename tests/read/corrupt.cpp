// Damages real reports in every way we could think of, and runs the real program on them. Each run
// must end in time and within a memory limit, with a report or an error, whatever the damage.
//
//   corrupt COUNT [FIRST]     cases FIRST, FIRST + 1, ...; the same numbers give the same damage
//                             everywhere
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/random.hpp"

namespace fs = std::filesystem;

namespace {

// Limits CPU time, because the machine may be busy; wall-clock time only detects a run that waits
// forever. Sanitizers take several times as long.
#ifdef GH_SANITIZED
constexpr int cpu_seconds = 60, wall_seconds = 300;
constexpr long most_kib = 8L << 20;
#else
constexpr int cpu_seconds = 10, wall_seconds = 120;
constexpr long most_kib = 1L << 20;
#endif

using support::Random;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// ---------------------------------------------------------------------------------------------------------------------
// Damage to bytes

std::string damage_bytes(std::string bytes, Random& random, std::size_t page, std::string& what) {
  const std::size_t pages = bytes.size() / page;
  switch (random.below(6)) {
    case 0:
      what = "bytes";
      for (std::size_t n = 1 + random.below(64); n > 0; --n)
        bytes[random.below(bytes.size())] = static_cast<char>(random.next());
      break;
    case 1:
      what = "bytes of one place";
      for (std::size_t n = 1 + random.below(32), at = random.below(bytes.size());
           n > 0 && at < bytes.size(); --n, ++at)
        bytes[at] = static_cast<char>(random.next());
      break;
    case 2:
      what = "truncation";
      bytes.resize(random.below(bytes.size()));
      break;
    case 3: {
      what = "swapped pages";
      for (std::size_t n = 1 + random.below(4); n > 0; --n) {
        const std::size_t a = random.below(pages) * page, b = random.below(pages) * page;
        std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                         bytes.begin() + static_cast<std::ptrdiff_t>(a + page),
                         bytes.begin() + static_cast<std::ptrdiff_t>(b));
      }
      break;
    }
    case 4:
      what = "empty pages";
      for (std::size_t n = 1 + random.below(4); n > 0; --n)
        bytes.replace(random.below(pages) * page, page, page, random.below(2) == 0 ? '\0' : '\xff');
      break;
    default: {
      what = "a piece twice";
      const std::size_t from = random.below(bytes.size()),
                        length = std::min(bytes.size() - from, random.below(page * 8));
      bytes.insert(random.below(bytes.size()), bytes.substr(from, length));
    }
  }
  return bytes;
}

// ---------------------------------------------------------------------------------------------------------------------
// Damage to a database's contents

std::vector<std::string> column(sqlite3* db, const std::string& sql) {
  std::vector<std::string> values;
  sqlite3_stmt* query = nullptr;
  sqlite3_prepare_v2(db, sql.c_str(), -1, &query, nullptr);
  while (sqlite3_step(query) == SQLITE_ROW)
    if (const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query, 0)))
      values.emplace_back(text);
  sqlite3_finalize(query);
  return values;
}

void damage_tables(const fs::path& path, Random& random, std::string& what) {
  constexpr const char* absurd[] = {"9223372036854775807",
                                    "-9223372036854775807 - 1",
                                    "0",
                                    "-1",
                                    "1e300",
                                    "NULL",
                                    "'text'",
                                    "x'00ff'",
                                    "4294967296",
                                    "4611686018427387904",
                                    "2305843009213693951",
                                    "1",
                                    "rowid",
                                    "-rowid",
                                    "rowid * 1000000000",
                                    "1e18 - rowid",
                                    "random()",
                                    "abs(random() % 1000000000)",
                                    "start",
                                    "end"};
  constexpr const char* busy[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                  "CUPTI_ACTIVITY_KIND_RUNTIME",
                                  "CUPTI_ACTIVITY_KIND_MEMCPY",
                                  "NVTX_EVENTS",
                                  "OSRT_API",
                                  "StringIds",
                                  "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                  "CUDA_GPU_MEMORY_USAGE_EVENTS",
                                  "GPU_METRICS",
                                  "TARGET_INFO_GPU",
                                  "ThreadNames",
                                  "PROCESSES",
                                  "META_DATA_CAPTURE"};
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  const auto run = [&](const std::string& sql) {
    sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  };
  const std::vector<std::string> tables =
      column(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'ENUM_%'");
  // Half of the damage goes to the tables that matter most.
  const auto table = [&] {
    return random.below(2) == 0 ? std::string(random.of(busy)) : random.of(tables);
  };
  const auto column_of = [&](const std::string& t) {
    const std::vector<std::string> columns =
        column(db, "SELECT name FROM pragma_table_info('" + t + "')");
    return columns.empty() ? std::string("rowid") : random.of(columns);
  };
  // NOT NULL and keys prevent damage that a damaged file may contain.
  const auto unbind = [&](const std::string& t) {
    run("CREATE TABLE unbound AS SELECT * FROM " + t + "; DROP TABLE " + t +
        "; ALTER TABLE unbound RENAME TO " + t);
  };
  run("BEGIN");
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      for (std::size_t n = 1 + random.below(3); n > 0; --n) {
        const std::string t = table(), c = column_of(t), value = random.of(absurd);
        const std::size_t every = random.below(3) == 0 ? 1 : 1 + random.below(200);
        what += fmt::format("{}.{} = {} in one row of {}; ", t, c, value, every);
        unbind(t);
        run(fmt::format("UPDATE {} SET \"{}\" = {} WHERE rowid % {} = 0", t, c, value, every));
      }
      break;
    case 4: {
      const std::string a = table(), b = table();
      what = "swapped tables " + a + ", " + b;
      run("ALTER TABLE " + a + " RENAME TO swapped; ALTER TABLE " + b + " RENAME TO " + a +
          "; ALTER TABLE swapped RENAME TO " + b);
      break;
    }
    case 5: {
      const std::string t = table();
      what = "without " + t;
      run((random.below(2) == 0 ? "DROP TABLE " : "DELETE FROM ") + t);
      break;
    }
    case 6: {
      const std::string t = table(), c = column_of(t);
      what = "without column " + t + "." + c;
      unbind(t);
      run("ALTER TABLE " + t + " DROP COLUMN \"" + c + "\"");
      break;
    }
    case 7: {
      const std::string t = table();
      what = "rows of " + t + " twice";
      unbind(t);
      for (std::size_t n = 1 + random.below(3); n > 0; --n)
        run("INSERT INTO " + t + " SELECT * FROM " + t + " LIMIT 200000");
      break;
    }
    case 8: {
      // A thread, process, device or stream for each row, up to unrealistic numbers.
      const std::string t = random.of(std::vector<std::string>{
          "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API",
          "CUPTI_ACTIVITY_KIND_MEMCPY", "ThreadNames"});
      what = "everything of " + t + " elsewhere";
      unbind(t);
      for (const char* c :
           {"globalTid", "globalPid", "deviceId", "streamId", "correlationId", "contextId"})
        if (random.below(2) == 0)
          run(fmt::format("UPDATE {} SET {} = rowid * {}", t, c,
                          random.of(std::vector<std::int64_t>{1, 1'000'000'000, 16'777'216,
                                                              281'474'976'710'656})));
      break;
    }
    case 9: {
      constexpr std::size_t sizes[] = {100, 70'000, 2'000'000, 100'000'000};
      const std::size_t size = random.of(sizes);
      what = fmt::format("a name of {} bytes", size);
      run(
          fmt::format("UPDATE StringIds SET value = CAST(zeroblob({0}) AS TEXT) WHERE rowid = "
                      "(SELECT min(rowid) + {1} FROM StringIds);"
                      "UPDATE NVTX_EVENTS SET text = replace(hex(zeroblob({0} / 2)), '0', 'x') "
                      "WHERE rowid = {1};",
                      size, 1 + random.below(100)));
      break;
    }
    case 10:
      what = "names that lead nowhere";
      unbind("StringIds");
      run(random.of(std::vector<std::string>{
          "DELETE FROM StringIds", "UPDATE StringIds SET id = id + 1",
          "UPDATE StringIds SET id = 1", "UPDATE StringIds SET value = id",
          "UPDATE StringIds SET value = NULL", "UPDATE StringIds SET id = NULL",
          "UPDATE StringIds SET value = ''"}));
      break;
    default: {
      const std::string t = random.of(std::vector<std::string>{
          "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API"});
      constexpr const char* times[] = {"start = 0, end = 1",
                                       "start = end",
                                       "end = start",
                                       "start = -start, end = -start + 10",
                                       "end = (SELECT max(end) FROM {0})",
                                       "start = rowid, end = 2000000000 - rowid",
                                       "start = start * 1000000, end = end * 1000000",
                                       "start = (SELECT min(start) FROM {0})",
                                       "start = start / 1000000000, end = end / 1000000000"};
      const std::string set = fmt::format(fmt::runtime(random.of(times)), t);
      what = t + ": " + set;
      unbind(t);
      run("UPDATE " + t + " SET " + set);
    }
  }
  run("COMMIT");
  sqlite3_close(db);
}

// ---------------------------------------------------------------------------------------------------------------------
// Damage to a trace's contents

std::string damage_json(std::string text, Random& random, std::string& what) {
  constexpr const char* absurd[] = {"9223372036854775807",
                                    "-9223372036854775808",
                                    "1e308",
                                    "-1",
                                    "0",
                                    "NaN",
                                    "1e-320",
                                    "\"text\"",
                                    "null",
                                    "[[[[]]]]",
                                    "{}",
                                    "99999999999999999999999999",
                                    "true",
                                    "0.1",
                                    "1e19"};
  const auto some_number = [&](std::size_t from) {
    const std::size_t at = text.find_first_of("0123456789", from);
    return at == text.npos ? std::pair(std::size_t{0}, std::size_t{0})
                           : std::pair(at, text.find_first_not_of("0123456789.", at) - at);
  };
  switch (random.below(6)) {
    case 0:
    case 1:
      what = "absurd values";
      for (std::size_t n = 1 + random.below(200); n > 0; --n) {
        const auto [at, length] = some_number(random.below(text.size()));
        text.replace(at, length, random.of(absurd));
      }
      break;
    case 2: {
      constexpr const char* keys[] = {
          "\"ts\"",     "\"dur\"",        "\"pid\"",         "\"tid\"",
          "\"ph\"",     "\"cat\"",        "\"name\"",        "\"correlation\"",
          "\"stream\"", "\"device\"",     "\"args\"",        "\"External id\"",
          "\"grid\"",   "\"Input Dims\"", "\"traceEvents\"", "\"schemaVersion\""};
      const std::string key = random.of(keys);
      const std::size_t every = 1 + random.below(50);
      what = "another key for " + key;
      std::size_t n = 0;
      for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1))
        if (++n % every == 0) text[at + 1] = 'X';
      break;
    }
    case 3: {
      what = "brackets";
      const std::string many(1 + random.below(200'000), random.below(2) == 0 ? '[' : '{');
      text.insert(random.below(text.size()), many);
      break;
    }
    case 4: {
      constexpr std::size_t sizes[] = {100, 70'000, 2'000'000, 100'000'000};
      const std::size_t size = random.of(sizes),
                        at = text.find("\"name\": \"", random.below(text.size()));
      what = fmt::format("a name of {} bytes", size);
      if (at != text.npos) text.insert(at + 9, size, 'x');
      break;
    }
    default: {
      what = "a thread for each event";
      std::size_t n = 0;
      std::string out;
      std::size_t from = 0;
      for (std::size_t at = text.find("\"tid\": "); at != text.npos;
           at = text.find("\"tid\": ", from)) {
        const std::size_t end = text.find_first_of(",}\n", at);
        out += text.substr(from, at - from) + fmt::format("\"tid\": {}", ++n * 1'000'003);
        from = end;
      }
      text = out + text.substr(from);
    }
  }
  return text;
}

std::string packed(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// ---------------------------------------------------------------------------------------------------------------------
// Running

struct Ended {
  int status = 0;
  bool hung = false;
  double cpu_seconds = 0;
  long most_kib = 0;
};

Ended run(std::vector<std::string> words, const fs::path& out, const fs::path& err) {
  words.insert(words.begin(), {"/usr/bin/env", "prlimit", fmt::format("--cpu={}", cpu_seconds),
                               "--core=0", GH_PROGRAM});
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  posix_spawn(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  Ended ended;
  rusage used{};
  for (int tenths = 0; wait4(child, &ended.status, WNOHANG, &used) == 0; ++tenths) {
    if (tenths == wall_seconds * 100) {
      kill(child, SIGKILL);
      ended.hung = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ended.cpu_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  ended.most_kib = used.ru_maxrss;
  return ended;
}

// What went wrong in a case; "" if nothing did.
std::string wrong(const Ended& e, const std::vector<std::string>& words, const fs::path& out,
                  const fs::path& err) {
  const std::string said = read(err);
  if (e.hung) return fmt::format("still ran after {} s", wall_seconds);
  if (WIFSIGNALED(e.status))
    return fmt::format("signal {} after {:.1f} s: {}", WTERMSIG(e.status), e.cpu_seconds,
                       said.substr(0, 3000));
  if (WEXITSTATUS(e.status) != 0 && WEXITSTATUS(e.status) != 2)
    return fmt::format("exit status {}: {}", WEXITSTATUS(e.status), said.substr(0, 3000));
  if (e.most_kib > most_kib) return fmt::format("took {} MiB", e.most_kib >> 10);
  if (WEXITSTATUS(e.status) == 2 && (!said.starts_with("gh-advise: ") || said.find("rule ") == 11))
    return "no error of one line: " + said.substr(0, 500);
  if (WEXITSTATUS(e.status) == 0 && words.front() != "scrub" && !nlohmann::json::accept(read(out)))
    return "no JSON";
  return "";
}

std::vector<fs::path> reports() {
  std::vector<fs::path> list;
  for (const char* name :
       {"compile-graphs.sqlite", "compile-graphsnode.sqlite", "gc-pause.sqlite",
        "gpumetrics.sqlite", "um-umtouch-lora.sqlite", "ddp.sqlite", "eager-autogradnvtx.sqlite",
        "graphs.pt.trace.json", "ddp.rank0.pt.trace.json", "compile.pt.trace.json"})
    list.push_back(fs::path(GH_FIXTURES) / name);
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0,
                      first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (count == 0) {
    fmt::print(stderr, "corrupt COUNT [FIRST]\n");
    return 2;
  }
  std::string name = (fs::temp_directory_path() / "gh-advise-corrupt-XXXXXX").string();
  if (!mkdtemp(name.data())) return 2;
  const fs::path folder = name;
  const std::vector<fs::path> list = reports();
  std::atomic<std::uint64_t> next = first, failures = 0, answered = 0;
  double longest = 0;
  long largest = 0;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = next++; i < first + count; i = next++) {
        Random random(i);
        const fs::path& report = random.of(list);
        const bool is_json = report.extension() == ".json";
        fs::path damaged =
                     folder / fmt::format("{}-{}", t, is_json ? "trace.json" : "report.sqlite"),
                 out = folder / fmt::format("{}.out", t), err = folder / fmt::format("{}.err", t);
        std::string what;
        if (is_json) {
          std::string text = random.below(2) == 0 ? damage_json(read(report), random, what)
                                                  : damage_bytes(read(report), random, 4096, what);
          if (random.below(4) == 0) {
            text = packed(text);
            if (random.below(2) == 0) text = damage_bytes(text, random, 512, what);
          }
          write(damaged, text);
        } else if (random.below(3) > 0) {
          fs::copy_file(report, damaged, fs::copy_options::overwrite_existing);
          damage_tables(damaged, random, what);
        } else {
          write(damaged, damage_bytes(read(report), random, 4096, what));
        }
        const std::vector<std::vector<std::string>> commands{
            {"check", "--format", "json", damaged.string()},
            {"facts", "--format", "json", damaged.string()},
            {"scrub", damaged.string(), "-o", (folder / fmt::format("{}-shared", t)).string()}};
        const std::vector<std::string>& words =
            commands[random.below(6) < 4 ? 0 : 1 + random.below(2)];
        const Ended ended = run(words, out, err);
        const std::string problem = wrong(ended, words, out, err);
        const std::lock_guard lock(mutex);
        longest = std::max(longest, ended.cpu_seconds);
        largest = std::max(largest, ended.most_kib);
        answered += WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0;
        if (!problem.empty()) {
          ++failures;
          fmt::print("case {} ({} of {}, {}): {}\n", i, words.front(), report.filename().string(),
                     what, problem);
          std::fflush(stdout);
        }
      }
    });
  threads.clear();
  fs::remove_all(folder);
  fmt::print(
      "{} cases, {} gave reports, the others errors; {} went wrong; at most {:.1f} s of CPU time "
      "and {} MiB\n",
      count, answered.load(), failures.load(), longest, largest >> 10);
  return failures > 0 ? 1 : 0;
}
