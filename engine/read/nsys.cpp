#include "read/nsys.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "base/schema_table.hpp"
#include "base/text.hpp"
#include "read/scrub.hpp"
#include "read/sqlite.hpp"
#include "read/table_pages.hpp"

namespace gh {
namespace {

// Times beyond this (73 years in nanoseconds) are damage. Times since 1970, as `nsys export
// --ts-normalize` writes them, are not, and twice the length of a report does not overflow.
constexpr Ns absurd_ns = Ns{1} << 61;
constexpr Ns longest_capture_ns = Ns{1} << 55;
// The global id of a thread is that of its process plus the thread's own 24 bits.
constexpr std::int64_t process_mask = ~std::int64_t{0xFFFFFF};

const toml::table& schema() {
  static const toml::table parsed = schema_table("schemas/nsys.toml");
  return parsed;
}

// Numbers from the file (ids of strings, threads, streams), numbered in order of first sight. Rows
// repeat the last one mostly.
template <class Key>
class Numbering {
 public:
  std::uint32_t operator()(const Key& key) {
    if (!keys_.empty() && keys_[last_] == key) return last_;
    const auto [it, added] = index_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (added) keys_.push_back(key);
    return last_ = it->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, std::uint32_t> index_;
  std::vector<Key> keys_;
  std::uint32_t last_ = 0;
};

struct StreamKey {
  std::int64_t process, device, stream;
  auto operator<=>(const StreamKey&) const = default;
};

// A name as the file has it: the id of a string, or the text itself.
struct FileName {
  std::int64_t id = -1;
  std::string text;
};

// The same while its row is read.
struct FileNameView {
  std::int64_t id = -1;
  std::string_view text;
};

// The rows of a table, or those on some of its pages.
struct TablePart {
  const Database& db;
  std::string kind, table;
  const PageFile* file = nullptr;  // null: SQLite reads all of it
  const TableLayout* layout = nullptr;
  std::span<const std::uint32_t> leaves;
};

std::string malformed_rows(std::string_view table, std::int64_t n) {
  return fmt::format(
      "{} row{} of table {} made no sense (wrong type, or an end before its start) and {} left out",
      n, n == 1 ? "" : "s", table, n == 1 ? "was" : "were");
}

// One kind of event in one table, as schemas/nsys.toml describes it: a statement whose column i is
// our column i.
class TableReader {
  template <class Ask>
  auto by_source(Ask ask) const {
    return pages_ ? ask(*pages_) : ask(*query_);
  }

 public:
  // `wanted` are our names of the columns, in the order in which `integer(i)` and `text(i)` will
  // ask for them. Rows that make no sense are counted in `malformed`, and make a problem where that
  // is null.
  TableReader(const TablePart& from, const std::vector<std::string>& wanted,
              std::vector<std::string>& problems, std::int64_t* malformed = nullptr)
      : problems_(problems), table_(from.table), count_malformed_(malformed) {
    const auto description = schema()["table"][from.kind];
    std::vector<std::string> present;
    if (from.file)
      for (const TableLayout::Column& c : from.layout->columns) present.push_back(c.name);
    else
      present = from.db.columns(table_);
    const auto exists = [&](const std::string& c) {
      return std::find(present.begin(), present.end(), c) != present.end();
    };
    const std::vector<std::string> required = strings(description["required"]);
    std::string sql;
    std::vector<int> positions;
    for (const std::string& name : wanted) {
      const std::vector<std::string> candidates = strings(description["columns"][name]);
      const auto found = std::find_if(candidates.begin(), candidates.end(), exists);
      if (found == candidates.end() &&
          std::find(required.begin(), required.end(), name) != required.end()) {
        problems_.push_back(fmt::format("table {} has no column '{}': it was not read", table_,
                                        fmt::join(candidates, "' or '")));
        return;
      }
      sql += (sql.empty() ? "SELECT " : ", ") +
             (found == candidates.end() ? "NULL" : '"' + *found + '"');
      positions.push_back(found == candidates.end()
                              ? -1
                              : static_cast<int>(std::find(present.begin(), present.end(), *found) -
                                                 present.begin()));
      required_.push_back(std::find(required.begin(), required.end(), name) != required.end());
    }
    if (from.file)
      pages_.emplace(*from.file, *from.layout, from.leaves, positions);
    else
      query_.emplace(from.db, sql + " FROM \"" + table_ + '"');
  }
  TableReader(const Database& db, std::string kind, std::string table,
              const std::vector<std::string>& wanted, std::vector<std::string>& problems)
      : TableReader(
            TablePart{.db = db, .kind = std::move(kind), .table = std::move(table), .leaves = {}},
            wanted, problems) {}

  // How many rows there will be at most, so that columns can be made large enough at once: growing
  // would need twice the memory. The largest row id tells without reading; a file cannot hold more
  // rows than it has bytes for.
  std::size_t expected_rows(const Database& db) const {
    if (pages_) return pages_->expected_rows();
    if (!query_) return 0;
    try {
      Query most(db, "SELECT max(rowid) FROM \"" + table_ + '"');
      const std::int64_t rows = most.step() ? most.integer(0) : 0;
      return static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 0, db.size_bytes() / 16));
    } catch (const Error&) {
      return 0;  // a table without row ids: nobody knows before reading it
    }
  }

  ~TableReader() {
    if (count_malformed_)
      *count_malformed_ += malformed_;
    else if (malformed_)
      problems_.push_back(malformed_rows(table_, malformed_));
  }

  // The next row; false after the last.
  bool next() { return pages_ ? pages_->step() : query_ && query_->step(); }

  std::int64_t integer(int column) {
    return by_source([&](const auto& rows) -> std::int64_t {
      if (rows.is_integer(column)) return rows.integer(column);
      if (!rows.is_null(column) || required_[static_cast<std::size_t>(column)]) sound_ = false;
      return 0;
    });
  }
  double real(int column) {
    return by_source([&](const auto& rows) {
      if (rows.is_text(column) || rows.is_null(column)) sound_ = false;
      return rows.real(column);
    });
  }
  FileNameView name(int column) {
    return by_source([&](const auto& rows) -> FileNameView {
      if (rows.is_null(column)) return {};
      return rows.is_text(column) ? FileNameView{-1, rows.text(column)}
                                  : FileNameView{integer(column), {}};
    });
  }
  bool is_null(int column) const {
    return by_source([&](const auto& rows) { return rows.is_null(column); });
  }
  std::string_view text(int column) const {
    return by_source([&](const auto& rows) { return rows.text(column); });
  }

  // Whether the values asked for since the last row were what they should be. Counts the row where
  // not.
  bool sound(Ns start, Ns end) {
    const bool good = sound_ && start <= end && start > -absurd_ns && end < absurd_ns;
    sound_ = true;
    malformed_ += !good;
    return good;
  }

 private:
  std::vector<std::string>& problems_;
  std::string table_;
  std::optional<Query>
      query_;  // of these two there is one, or none where a required column is missing
  std::optional<PageRows> pages_;
  std::vector<std::uint8_t> required_;
  bool sound_ = true;
  std::int64_t malformed_ = 0;
  std::int64_t* count_malformed_;
};

// Names numbered in order of first sight. Ids of strings are small, as a rule, and come in every
// row: an array finds them.
class NameNumbering {
 public:
  std::uint32_t operator()(const FileNameView& name) {
    if (name.id < 0 || name.id >= dense_limit) return others_number(name);
    const auto id = static_cast<std::size_t>(name.id);
    if (id >= dense_.size()) dense_.resize(std::max(id + 1, 2 * dense_.size()), unseen);
    if (dense_[id] == unseen) dense_[id] = add(name);
    return dense_[id];
  }
  const std::vector<FileName>& keys() const { return keys_; }

 private:
  static constexpr std::int64_t dense_limit = 1 << 22;
  static constexpr std::uint32_t unseen = no_row;
  struct Slot {
    std::size_t hash = 0;
    std::uint32_t number = unseen;
  };
  std::uint32_t add(const FileNameView& name) {
    keys_.push_back({name.id, std::string(name.text)});
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }
  std::uint32_t others_number(const FileNameView& name) {
    if (name.id != -1) {
      const auto [it, added] = sparse_.try_emplace(name.id, unseen);
      return added ? it->second = add(name) : it->second;
    }
    if (2 * texts_ >= slots_.size()) grow();
    const std::size_t hash = std::hash<std::string_view>()(name.text);
    Slot& slot = slot_of(hash, name.text);
    if (slot.number == unseen) {
      slot = {hash, add(name)};
      ++texts_;
    }
    return slot.number;
  }
  // Where a text is, or would be. Not a std::unordered_map, whose nodes lie all over memory: there
  // may be as many texts as rows.
  Slot& slot_of(std::size_t hash, std::string_view text) {
    for (std::size_t i = hash;; ++i)
      if (Slot& slot = slots_[i & (slots_.size() - 1)];
          slot.number == unseen || (slot.hash == hash && keys_[slot.number].text == text))
        return slot;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != unseen) slot_of(slot.hash, keys_[slot.number].text) = slot;
  }
  std::vector<FileName> keys_;
  std::vector<std::uint32_t> dense_;
  std::map<std::int64_t, std::uint32_t> sparse_;
  std::vector<Slot> slots_;  // a power of two of them
  std::size_t texts_ = 0;    // in them
};

// The numbers that one thread has given to what it saw of one table.
struct Numbers {
  NameNumbering names;
  Numbering<std::int64_t> threads;
  Numbering<StreamKey> streams;
};

// What a part of a table reads into, with numbers still to be translated.
struct Part {
  Ops ops;
  Calls calls;
  Ranges ranges;
  Frames frames;
  OsCalls os_calls;
  Syncs syncs;
  GpuFaults gpu_faults;
  CpuFaults cpu_faults;
  MemoryUse memory_use;
  std::vector<Span> overhead;
  std::size_t worker = 0;  // whose Numbers they are
  Numbers* numbers = nullptr;
  std::int64_t malformed = 0;
  std::vector<std::string> problems;
};

std::uint32_t small(std::int64_t v) {
  return v > 0 && v < std::int64_t{0xFFFFFFFF} ? static_cast<std::uint32_t>(v) : 0;
}

std::uint32_t product(std::int64_t x, std::int64_t y, std::int64_t z) {
  return small(static_cast<std::int64_t>(
      std::clamp(static_cast<double>(x) * static_cast<double>(std::max<std::int64_t>(y, 1)) *
                     static_cast<double>(std::max<std::int64_t>(z, 1)),
                 0.0, 4e9)));
}

CopyKind copy_kind(std::int64_t k) {
  switch (k) {
    case 1:
    case 3: return CopyKind::h2d;  // 3 to 7: to, from and between arrays
    case 2:
    case 4: return CopyKind::d2h;
    case 5:
    case 6:
    case 7:
    case 8: return CopyKind::d2d;
    case 9: return CopyKind::h2h;
    case 10: return CopyKind::p2p;
    case 11: return CopyKind::um_h2d;
    case 12: return CopyKind::um_d2h;
    case 13: return CopyKind::um_d2d;
    default: return CopyKind::other;
  }
}

MemoryKind memory_kind(std::int64_t k) {
  static constexpr MemoryKind kinds[] = {
      MemoryKind::pageable, MemoryKind::pinned, MemoryKind::device, MemoryKind::array,
      MemoryKind::managed,  MemoryKind::device, MemoryKind::managed};
  return k >= 0 && k < 7 ? kinds[k] : MemoryKind::unknown;
}

MigrationCause migration_cause(std::int64_t c) {
  return c >= 1 && c <= 5 ? static_cast<MigrationCause>(c) : MigrationCause::none;
}

template <class... Columns>
void reserve(std::size_t rows, Columns&... columns) {
  (columns.reserve(rows), ...);
}

void read_ops(const TablePart& from, Part& part) {
  enum {
    start,
    end,
    device,
    stream,
    process,
    correlation,
    name,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    bytes,
    copy,
    source,
    target,
    cause,
    address,
    graph_node
  };
  TableReader rows(from,
                   {"start",  "end",    "device", "stream",  "process", "correlation", "name",
                    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",     "bytes",
                    "kind",   "source", "target", "cause",   "address", "graph_node"},
                   part.problems, &part.malformed);
  const bool is_kernel = from.kind == "kernel", is_copy = from.kind == "copy";
  const OpKind op_kind = is_kernel            ? OpKind::kernel
                         : is_copy            ? OpKind::copy
                         : from.kind == "set" ? OpKind::set
                                              : OpKind::graph;
  Ops& ops = part.ops;
  reserve(rows.expected_rows(from.db), ops.start, ops.end, ops.bytes, ops.stream, ops.name,
          ops.correlation, ops.blocks, ops.threads, ops.kind, ops.copy, ops.source, ops.target,
          ops.cause, ops.in_graph);
  while (rows.next()) {
    const Ns s = rows.integer(start), e = rows.integer(end);
    const StreamKey key{rows.integer(process) & process_mask, rows.integer(device),
                        rows.integer(stream)};
    const std::uint32_t corr = small(rows.integer(correlation));
    FileNameView file_name;
    std::uint32_t blocks = 0, threads = 0;
    CopyKind copied = CopyKind::none;
    MemoryKind source_kind = MemoryKind::unknown, target_kind = MemoryKind::unknown;
    std::int64_t size = 0, where = 0;
    MigrationCause why = MigrationCause::none;
    if (is_kernel) {
      file_name = rows.name(name);
      blocks = product(rows.integer(grid_x), rows.integer(grid_y), rows.integer(grid_z));
      threads = product(rows.integer(block_x), rows.integer(block_y), rows.integer(block_z));
    } else if (op_kind != OpKind::graph) {
      size = std::clamp<std::int64_t>(rows.integer(bytes), 0, std::int64_t{1} << 50);
      target_kind = rows.is_null(target) ? MemoryKind::unknown : memory_kind(rows.integer(target));
      if (is_copy) {
        copied = copy_kind(rows.integer(copy));
        source_kind =
            rows.is_null(source) ? MemoryKind::unknown : memory_kind(rows.integer(source));
        why = migration_cause(rows.integer(cause));
        if (is_unified(copied)) where = rows.integer(address);
      }
    }
    const bool in_graph =
        op_kind != OpKind::graph && !rows.is_null(graph_node) && rows.integer(graph_node) != 0;
    if (!rows.sound(s, e)) continue;
    ops.start.push_back(s);
    ops.end.push_back(e);
    ops.correlation.push_back(is_unified(copied) ? 0 : corr);
    // Migrations belong to no stream and to no call: a stream of their own keeps them out of any
    // other's order.
    ops.stream.push_back(
        part.numbers->streams(is_unified(copied) ? StreamKey{key.process, key.device, -1} : key));
    ops.name.push_back(part.numbers->names(file_name));
    ops.in_graph.push_back(in_graph);
    if (is_kernel) {
      ops.blocks.push_back(blocks);
      ops.threads.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(threads, 65535)));
    } else {
      ops.bytes.push_back(size);
      ops.copy.push_back(copied);
      ops.source.push_back(source_kind);
      ops.target.push_back(target_kind);
      ops.cause.push_back(why);
      if (where != 0 || !ops.address.empty()) {
        ops.address.resize(ops.size() - 1);
        ops.address.push_back(where);
      }
    }
  }
  // What no row of this table has.
  const std::size_t n = ops.size();
  ops.kind.resize(n, op_kind);
  ops.blocks.resize(n);
  ops.threads.resize(n);
  ops.bytes.resize(n);
  ops.copy.resize(n, CopyKind::none);
  ops.source.resize(n, MemoryKind::unknown);
  ops.target.resize(n, MemoryKind::unknown);
  ops.cause.resize(n, MigrationCause::none);
}

// What NCCL says of its message in the JSON text of a range: {"Message size [bytes]": 1048576,
// ...}; 0 where it does not.
std::int64_t message_bytes(std::string_view json) {
  static constexpr std::string_view key = "\"Message size [bytes]\"";
  const std::size_t at = json.find(key);
  if (at == json.npos) return 0;
  const std::size_t digit = json.find_first_not_of(" :\"", at + key.size());
  std::int64_t bytes = 0;
  if (digit != json.npos) std::from_chars(json.data() + digit, json.data() + json.size(), bytes);
  return std::max<std::int64_t>(bytes, 0);
}

// Python's stack at a CUDA call, which `nsys profile --python-backtrace=cuda` writes as a mark at
// the call's start: the frames in JSON, the innermost first, their functions and files as ids of
// strings.
class Backtraces {
 public:
  explicit Backtraces(const Database& db) {
    if (db.has_table("StringIds")) string_.emplace(db, "SELECT value FROM StringIds WHERE id = ?1");
  }

  static bool is_one(std::string_view json) { return json.find(key) != json.npos; }

  // "train.py(40): train_step" of the innermost frame of the program itself; "" where all are of
  // installed packages. Programs call from few places: each is looked at once.
  const std::string& frame(std::string_view json) {
    const auto [it, added] = known_.try_emplace(std::string(json));
    if (!added) return it->second;
    const nlohmann::json mark = nlohmann::json::parse(json, nullptr, false);
    if (!mark.is_object() || !mark.contains(key) || !mark[key].is_object() ||
        !mark[key].contains("Frames") || !mark[key]["Frames"].is_array())
      return it->second;
    for (const nlohmann::json& f : mark[key]["Frames"]) {
      const auto number = [&](const char* name) {
        return f.is_object() && f.contains(name) && f[name].is_number_integer()
                   ? f[name].get<std::int64_t>()
                   : -1;
      };
      std::string name =
          fmt::format("{}({}): {}", text(number("File")), number("Line"), text(number("Function")));
      if (source_line(name).line == 0) continue;
      it->second = std::move(name);
      break;
    }
    return it->second;
  }

 private:
  static constexpr const char* key = "Python Backtrace on CUDA";

  // Strings stand there as in HTML: "&lt;module&gt;".
  std::string text(std::int64_t id) {
    if (!string_ || id < 0) return "";
    string_->reset();
    string_->bind(1, id);
    if (!string_->step()) return "";
    std::string text(string_->text(0));
    if (text.find('\0') != text.npos) return "";
    for (const auto& [escaped, plain] :
         {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
      for (std::size_t at = 0; (at = text.find(escaped, at)) != text.npos; ++at)
        text.replace(at, std::strlen(escaped), plain);
    return text;
  }

  std::optional<Query> string_;
  std::unordered_map<std::string, std::string> known_;
};

// Calls, ranges and OS-runtime calls: a stretch of a thread's time with a name.
template <class Events>
void read_host(const TablePart& from, Part& part, Events& events) {
  enum { start, end, thread, name, name_text, name_id, type, correlation, thread_id, payload };
  TableReader rows(from,
                   {"start", "end", "thread", "name", "name_text", "name_id", "type", "correlation",
                    "thread_id", "payload"},
                   part.problems, &part.malformed);
  constexpr bool are_ranges = std::is_same_v<Events, Ranges>,
                 are_calls = std::is_same_v<Events, Calls>;
  const std::size_t expected = rows.expected_rows(from.db);
  reserve(expected, events.start, events.end, events.name, events.thread);
  if constexpr (are_calls) reserve(expected, events.correlation);
  if constexpr (are_ranges) reserve(expected, events.bytes);
  const bool is_file_access = from.kind == "file_access";
  std::optional<Backtraces> backtraces;
  while (rows.next()) {
    if constexpr (are_ranges) {
      const std::int64_t t =
          rows.integer(type);  // NULL in some old exports: then every row with an end is a range
      if (t == 34 && !rows.is_null(payload) && Backtraces::is_one(rows.text(payload))) {
        if (!backtraces) backtraces.emplace(from.db);
        const std::string& frame = backtraces->frame(rows.text(payload));
        const Ns at = rows.integer(start);
        const std::int64_t tid = rows.integer(thread);
        if (!rows.sound(at, at) || frame.empty()) continue;
        Frames& f = part.frames;
        f.start.push_back(at);
        f.end.push_back(at);
        f.name.push_back(part.numbers->names({-1, frame}));
        f.thread.push_back(static_cast<std::uint16_t>(
            std::min<std::uint32_t>(part.numbers->threads(tid), no_index - 1)));
        continue;
      }
      if (t != 59 && t != 60 && !(rows.is_null(type) && !rows.is_null(end))) {
        rows.sound(0, 0);
        continue;
      }
    }
    const Ns s = rows.integer(start);
    const bool open = are_ranges && rows.is_null(end);
    const Ns e = open ? std::max<Ns>(s, 0) : rows.integer(end);
    FileNameView file_name =
        rows.name(are_ranges ? (rows.is_null(name_text) ? name_id : name_text) : name);
    if (is_file_access) file_name.text = "file access";
    const std::int64_t tid = rows.integer(is_file_access ? thread_id : thread);
    std::uint32_t corr = 0;
    if constexpr (are_calls) corr = small(rows.integer(correlation));
    std::int64_t bytes = 0;
    if constexpr (are_ranges) bytes = rows.is_null(payload) ? 0 : message_bytes(rows.text(payload));
    if (!rows.sound(s, e)) continue;
    events.start.push_back(s);
    events.end.push_back(open ? open_end : e);
    events.name.push_back(part.numbers->names(file_name));
    events.thread.push_back(static_cast<std::uint16_t>(
        std::min<std::uint32_t>(part.numbers->threads(tid), no_index - 1)));
    if constexpr (are_calls) events.correlation.push_back(corr);
    if constexpr (are_ranges) events.bytes.push_back(bytes);
  }
}

void read_syncs(const TablePart& from, Part& part) {
  enum { start, end, device, stream, process, correlation };
  TableReader rows(from, {"start", "end", "device", "stream", "process", "correlation"},
                   part.problems, &part.malformed);
  while (rows.next()) {
    const Ns s = rows.integer(start), e = rows.integer(end);
    const StreamKey key{rows.integer(process) & process_mask, rows.integer(device),
                        rows.integer(stream)};
    const std::uint32_t corr = small(rows.integer(correlation));
    if (!rows.sound(s, e)) continue;
    part.syncs.start.push_back(s);
    part.syncs.end.push_back(e);
    part.syncs.correlation.push_back(corr);
    part.syncs.stream.push_back(part.numbers->streams(key));
  }
}

void read_gpu_faults(const TablePart& from, Part& part) {
  enum { start, end, device, process, address, count };
  TableReader rows(from, {"start", "end", "device", "process", "address", "count"}, part.problems,
                   &part.malformed);
  while (rows.next()) {
    const Ns s = rows.integer(start), e = rows.integer(end);
    const StreamKey key{rows.integer(process) & process_mask, rows.integer(device), -1};
    const std::int64_t where = rows.integer(address), faults = rows.integer(count);
    if (!rows.sound(s, e)) continue;
    GpuFaults& f = part.gpu_faults;
    f.start.push_back(s);
    f.end.push_back(e);
    f.address.push_back(where);
    f.count.push_back(faults);
    f.device.push_back(static_cast<std::uint16_t>(part.numbers->streams(key)));
  }
}

void read_cpu_faults(const TablePart& from, Part& part) {
  enum { start, address, function };
  TableReader rows(from, {"start", "address", "function"}, part.problems, &part.malformed);
  while (rows.next()) {
    const Ns s = rows.integer(start);
    const std::int64_t where = rows.integer(address);
    const FileNameView name = rows.name(function);
    if (!rows.sound(s, s)) continue;
    part.cpu_faults.start.push_back(s);
    part.cpu_faults.address.push_back(where);
    part.cpu_faults.function.push_back(part.numbers->names(name));
  }
}

void read_memory_use(const TablePart& from, Part& part) {
  enum { start, device, process, bytes, kind, operation };
  TableReader rows(from, {"start", "device", "process", "bytes", "kind", "operation"},
                   part.problems, &part.malformed);
  while (rows.next()) {
    const Ns s = rows.integer(start);
    const StreamKey key{rows.integer(process) & process_mask, rows.integer(device), -1};
    const std::int64_t size =
                           std::clamp<std::int64_t>(rows.integer(bytes), 0, std::int64_t{1} << 50),
                       freed = rows.integer(operation), where = rows.integer(kind);
    if (!rows.sound(s, s)) continue;
    MemoryUse& m = part.memory_use;
    m.start.push_back(s);
    m.bytes.push_back(freed == 1 ? -size : size);
    m.kind.push_back(memory_kind(where));
    m.device.push_back(static_cast<std::uint16_t>(part.numbers->streams(key)));
  }
}

void read_overhead(const TablePart& from, Part& part) {
  TableReader rows(from, {"start", "end"}, part.problems, &part.malformed);
  while (rows.next()) {
    const Ns s = rows.integer(0), e = rows.integer(1);
    if (rows.sound(s, e)) part.overhead.push_back({s, e});
  }
}

// The GPUs of the report by id, and which of them a process means by a CUDA ordinal.
struct Gpus {
  std::map<std::int64_t, Device> by_id;
  std::map<std::int64_t, std::int64_t> id_by_ordinal;  // where processes agree
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> id_by_process;  // (pid, ordinal)

  explicit Gpus(const Database& db, std::vector<std::string>& problems) {
    enum {
      id,
      ordinal,
      name,
      sm_count,
      memory_bytes,
      memory_bytes_per_s,
      clock_hz,
      compute_major,
      compute_minor,
      clock_khz,
      memory_kilobytes_per_s
    };
    for (const char* kind : {"gpu", "gpu_before_2022"})
      for (const std::string& table : strings(schema()["table"][kind]["tables"])) {
        if (!db.has_table(table)) continue;
        TableReader rows(
            db, kind, table,
            {"id", "ordinal", "name", "sm_count", "memory_bytes", "memory_bytes_per_s", "clock_hz",
             "compute_major", "compute_minor", "clock_khz", "memory_kilobytes_per_s"},
            problems);
        while (rows.next()) {
          if (rows.integer(sm_count) == 0) {
            rows.sound(0, 0);
            continue;
          }  // not a CUDA GPU, or a row that says nothing of it
          Device& d = by_id[rows.integer(id)];
          d.name = printable(rows.text(name));
          d.sm_count = static_cast<int>(rows.integer(sm_count));
          d.memory_bytes = rows.integer(memory_bytes);
          d.memory_bytes_per_s = static_cast<double>(rows.integer(memory_bytes_per_s)) +
                                 1e3 * static_cast<double>(rows.integer(memory_kilobytes_per_s));
          d.clock_hz = static_cast<double>(rows.integer(clock_hz)) +
                       1e3 * static_cast<double>(rows.integer(clock_khz));
          d.compute_major = static_cast<int>(rows.integer(compute_major));
          d.compute_minor = static_cast<int>(rows.integer(compute_minor));
          id_by_ordinal[rows.is_null(ordinal) ? rows.integer(id) : rows.integer(ordinal)] =
              rows.integer(id);
          rows.sound(0, 0);
        }
      }
    for (const std::string& table : strings(schema()["table"]["cuda_device"]["tables"])) {
      if (!db.has_table(table)) continue;
      TableReader rows(db, "cuda_device", table, {"gpu", "ordinal", "pid"}, problems);
      while (rows.next()) {
        const std::int64_t gpu = rows.integer(0), ordinal_ = rows.integer(1), pid = rows.integer(2);
        if (rows.sound(0, 0)) id_by_process[{pid, ordinal_}] = gpu;
      }
    }
  }

  std::int64_t id_of(std::int64_t pid, std::int64_t ordinal) const {
    if (const auto it = id_by_process.find({pid, ordinal}); it != id_by_process.end())
      return it->second;
    if (const auto it = id_by_ordinal.find(ordinal); it != id_by_ordinal.end()) return it->second;
    return ordinal;
  }

  std::int64_t ordinal_of(std::int64_t id) const {
    const auto it = std::find_if(id_by_ordinal.begin(), id_by_ordinal.end(),
                                 [&](const auto& pair) { return pair.second == id; });
    return it == id_by_ordinal.end() ? id : it->first;
  }
};

std::int64_t pid_of(std::int64_t global) { return (global >> 24) & 0xFFFFFF; }

// Turns the numbers of the file in all parts into rows of the trace's own tables.
class Translator {
 public:
  Translator(const Database& db, Trace& trace) : db_(db), trace_(trace), gpus_(db, trace.problems) {
    if (db.has_table("StringIds")) string_.emplace(db, "SELECT value FROM StringIds WHERE id = ?1");
  }

  // Keys are translated in their own order and not in that of the rows, which means nothing: so our
  // numbers do not depend on it.

  std::vector<NameId> names(const std::vector<FileName>& keys, bool are_calls) {
    std::vector<std::string> texts;
    for (const FileName& key : keys)
      texts.push_back(are_calls ? unversioned(text_of(key)) : text_of(key));
    std::vector<NameId> ids(keys.size());
    for (const std::size_t i : in_order(texts)) ids[i] = trace_.names.intern(texts[i]);
    return ids;
  }

  std::uint16_t process(std::int64_t global) {
    const auto [it, added] =
        processes_.try_emplace(global, static_cast<std::uint16_t>(trace_.processes.size()));
    if (added) {
      if (trace_.processes.size() >= no_index)
        throw Error(fmt::format("{}: holds more processes than a job has", trace_.path));
      trace_.processes.push_back({pid_of(global), process_name(global)});
    }
    return it->second;
  }

  std::vector<std::uint16_t> threads(const std::vector<std::int64_t>& keys, bool bare) {
    std::vector<std::uint16_t> ids(keys.size());
    for (const std::size_t i : in_order(keys)) {
      const std::int64_t key = bare ? global_of(keys[i]) : keys[i];
      const auto [it, added] =
          threads_.try_emplace(key, static_cast<std::uint16_t>(trace_.threads.size()));
      if (added) {
        if (trace_.threads.size() >= no_index)
          throw Error(fmt::format("{}: holds more threads than a job has", trace_.path));
        trace_.threads.push_back({process(key & process_mask), key & 0xFFFFFF, thread_name(key)});
      }
      ids[i] = it->second;
    }
    return ids;
  }

  std::uint16_t device(const StreamKey& key) {
    return device(gpus_.id_of(pid_of(key.process), key.device), key.device);
  }

  // By the GPU's id in the report, and an ordinal that a process knows it by.
  std::uint16_t device(std::int64_t id, std::int64_t ordinal) {
    const auto [it, added] =
        devices_.try_emplace(id, static_cast<std::uint16_t>(trace_.devices.size()));
    if (added) {
      if (trace_.devices.size() >= no_index)
        throw Error(fmt::format("{}: holds more GPUs than a job has", trace_.path));
      const auto known = gpus_.by_id.find(id);
      trace_.devices.push_back(known == gpus_.by_id.end() ? Device{} : known->second);
      trace_.devices.back().ordinal = static_cast<int>(ordinal);
      ordinals_[static_cast<int>(ordinal)].insert(id);
    }
    return it->second;
  }

  std::vector<std::uint32_t> streams(const std::vector<StreamKey>& keys) {
    std::vector<std::uint32_t> ids(keys.size());
    for (const std::size_t i : in_order(keys)) {
      const StreamKey& key = keys[i];
      const auto [it, added] =
          streams_.try_emplace(key, static_cast<std::uint32_t>(trace_.streams.size()));
      if (added) {
        const std::uint16_t d = device(key),
                            p = process(key.process);  // in this order: both may add
        trace_.streams.push_back({d, p, key.stream});
      }
      ids[i] = it->second;
    }
    return ids;
  }

  // Where every rank calls its own GPU device 0, ordinals tell nothing: the GPU's id in the report
  // does.
  void name_devices() {
    const bool ambiguous = std::any_of(ordinals_.begin(), ordinals_.end(),
                                       [](const auto& o) { return o.second.size() > 1; });
    if (ambiguous)
      for (const auto& [id, index] : devices_) trace_.devices[index].ordinal = static_cast<int>(id);
  }

  std::string text_of(const FileName& key) {
    // Names hold no NULs; the profiled program's environment does, and a damaged row must not bring
    // it to light.
    if (key.id < 0) return key.text.find('\0') == key.text.npos ? key.text : "";
    const std::string unnamed = fmt::format("[string {}]", key.id);
    if (!string_) return unnamed;
    string_->reset();
    string_->bind(1, key.id);
    if (!string_->step()) return unnamed;
    const std::string_view text = string_->text(0);
    return text.find('\0') == text.npos ? std::string(text) : unnamed;
  }

  const Gpus& gpus() const { return gpus_; }

 private:
  template <class Key>
  static std::vector<std::size_t> in_order(const std::vector<Key>& keys) {
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    return order;
  }

  // cudaLaunchKernel_v7000, cuMemcpyHtoDAsync_v2, cudaMemcpyAsync_ptsz: the suffix is the ABI's,
  // not the function's.
  static std::string unversioned(std::string name) {
    for (const std::string_view suffix : {"_ptsz", "_ptds"})
      if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    const std::size_t at = name.rfind("_v");
    if (at != std::string::npos && at + 2 < name.size() &&
        name.find_first_not_of("0123456789", at + 2) == std::string::npos)
      name.resize(at);
    for (const std::string_view suffix : {"_ptsz", "_ptds"})
      if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    return name;
  }

  // Names of threads and processes. Old and new exports write the first by id of a string, the
  // second as text.
  std::string thread_name(std::int64_t global) {
    if (!thread_names_) {
      thread_names_.emplace();
      for (const std::string& table : strings(schema()["table"]["thread_name"]["tables"])) {
        if (!db_.has_table(table)) continue;
        TableReader rows(db_, "thread_name", table, {"thread", "name"}, trace_.problems);
        while (rows.next()) {
          const FileNameView name = rows.name(1);
          const std::int64_t thread = rows.integer(0);
          if (rows.sound(0, 0))
            thread_names_->try_emplace(thread, FileName{name.id, std::string(name.text)});
        }
      }
    }
    const auto it = thread_names_->find(global);
    return it == thread_names_->end() ? "" : printable(text_of(it->second));
  }

  std::string process_name(std::int64_t global) {
    if (!process_names_) {
      process_names_.emplace();
      for (const std::string& table : strings(schema()["table"]["process_name"]["tables"])) {
        if (!db_.has_table(table)) continue;
        TableReader rows(db_, "process_name", table, {"process", "name"}, trace_.problems);
        while (rows.next()) {
          const std::int64_t process = rows.integer(0);
          // A process may have rewritten its name to hold its arguments: the program alone is of
          // interest.
          const std::string_view name = rows.text(1).substr(0, rows.text(1).find(' '));
          if (rows.sound(0, 0))
            process_names_->try_emplace(process, printable(name.substr(name.rfind('/') + 1)));
        }
      }
    }
    const auto it = process_names_->find(global);
    return it == process_names_->end() ? "" : it->second;
  }

  // The global id of a thread of which a table gives the bare id only: the process is the one of a
  // thread seen with that id.
  std::int64_t global_of(std::int64_t tid) const {
    for (const auto& [global, index] : threads_)
      if ((global & 0xFFFFFF) == tid) return global;
    return tid;
  }

  const Database& db_;
  Trace& trace_;
  Gpus gpus_;
  std::optional<Query> string_;
  std::map<std::int64_t, std::uint16_t> processes_, threads_, devices_;
  std::map<StreamKey, std::uint32_t> streams_;
  std::map<int, std::set<std::int64_t>> ordinals_;
  std::optional<std::map<std::int64_t, FileName>> thread_names_;
  std::optional<std::map<std::int64_t, std::string>> process_names_;
};

// A table that is read, and what its parts read.
struct Task {
  std::string kind, table;
  std::optional<TableLayout> layout;
  std::vector<std::uint32_t> leaves;  // none: SQLite reads it
  std::vector<Part> parts;            // in order of rows
  std::vector<Numbers> numbers;       // by worker
  std::atomic<bool> unexpected = false;
};

void read_part(const TablePart& from, Part& part) {
  const Timed timed("read/" + from.table);
  const std::string& kind = from.kind;
  if (kind == "call")
    read_host(from, part, part.calls);
  else if (kind == "range")
    read_host(from, part, part.ranges);
  else if (kind == "os_call" || kind == "file_access")
    read_host(from, part, part.os_calls);
  else if (kind == "sync")
    read_syncs(from, part);
  else if (kind == "gpu_fault")
    read_gpu_faults(from, part);
  else if (kind == "cpu_fault")
    read_cpu_faults(from, part);
  else if (kind == "memory_use")
    read_memory_use(from, part);
  else if (kind == "overhead")
    read_overhead(from, part);
  else
    read_ops(from, part);
}

// Reads all tables, as many parts at a time as there are threads. What is not as expected on a
// table's pages makes SQLite read it.
void read_tables(const std::filesystem::path& path, const Database& db, std::deque<Task>& tasks) {
  constexpr std::size_t part_bytes = std::size_t{8}
                                     << 20;  // small enough that threads end together, and that a
                                             // column of bytes goes back to the system by itself
  std::optional<PageFile> file;
  try {
    file.emplace(path);
  } catch (const UnexpectedPage&) {
  }
  struct Job {
    Task* task;
    std::size_t part, first, count;
  };
  std::vector<Job> jobs;
  const auto plan = [&](Task& task, std::size_t leaves_a_part) {
    task.parts.clear();
    task.numbers.clear();
    task.numbers.resize(thread_count());
    task.parts.resize(
        std::max<std::size_t>(1, (task.leaves.size() + leaves_a_part - 1) / leaves_a_part));
    for (std::size_t i = 0; i < task.parts.size(); ++i)
      jobs.push_back({&task, i, i * leaves_a_part,
                      std::min(leaves_a_part, task.leaves.size() - i * leaves_a_part)});
  };
  for (Task& task : tasks) {
    if (file) try {
        task.layout = layout_of(db, task.table);
        if (task.layout) task.leaves = file->leaves(task.layout->root);
      } catch (const UnexpectedPage&) {
        task.leaves.clear();
      }
    plan(task, file ? part_bytes / file->page_bytes() : 1);
  }
  std::vector<std::unique_ptr<Database>> connections(thread_count());
  const auto read = [&](std::size_t i, std::size_t worker) {
    const auto& [task, number, first, count] = jobs[i];
    if (task->unexpected) return;
    if (!connections[worker]) connections[worker] = std::make_unique<Database>(path);
    Part& part = task->parts[number];
    part.worker = worker;
    part.numbers = &task->numbers[worker];
    try {
      const bool by_page = !task->leaves.empty();
      read_part({*connections[worker], task->kind, task->table, by_page ? &*file : nullptr,
                 by_page ? &*task->layout : nullptr, std::span(task->leaves).subspan(first, count)},
                part);
    } catch (const UnexpectedPage&) {
      task->unexpected = true;
    }
  };
  in_parallel(jobs.size(), read);
  jobs.clear();
  for (Task& task : tasks)
    if (task.unexpected) {
      task.unexpected = false;
      task.leaves.clear();
      plan(task, 1);
    }
  in_parallel(jobs.size(), read);
}

// A thread's numbers as rows of the trace's own tables.
struct Translated {
  std::vector<NameId> names;
  std::vector<std::uint16_t> threads, devices;
  std::vector<std::uint32_t> streams;
};

// Of all threads that read a table, by worker.
std::vector<Translated> translated(Task& task, Translator& translator, const Trace& trace) {
  Numbers all;
  std::vector<Translated> by_worker(task.numbers.size());
  const auto number = [](const auto& keys, auto& numbering, auto& numbers) {
    for (const auto& key : keys)
      numbers.push_back(
          static_cast<std::remove_cvref_t<decltype(numbers)>::value_type>(numbering(key)));
  };
  std::vector<std::vector<std::uint32_t>> threads(task.numbers.size());
  for (std::size_t w = 0; w < task.numbers.size(); ++w) {
    for (const FileName& key : task.numbers[w].names.keys())
      by_worker[w].names.push_back(all.names({key.id, key.text}));
    number(task.numbers[w].threads.keys(), all.threads, threads[w]);
    number(task.numbers[w].streams.keys(), all.streams, by_worker[w].streams);
  }
  const std::vector<NameId> names = translator.names(all.names.keys(), task.kind == "call");
  const std::vector<std::uint16_t> thread_ids =
      translator.threads(all.threads.keys(), task.kind == "file_access");
  const std::vector<std::uint32_t> streams = translator.streams(all.streams.keys());
  for (std::size_t w = 0; w < by_worker.size(); ++w) {
    for (NameId& n : by_worker[w].names) n = names[n];
    for (const std::uint32_t t : threads[w]) by_worker[w].threads.push_back(thread_ids[t]);
    for (std::uint32_t& s : by_worker[w].streams) {
      s = streams[s];
      by_worker[w].devices.push_back(trace.streams[s].device);
    }
  }
  task.numbers.clear();
  return by_worker;
}

// Puts the parts of all tables into the trace, one after the other, several columns at a time. A
// part's column is gone as soon as it has been copied, so that the trace is not held twice.
void merge(std::deque<Task>& tasks, Translator& translator, Trace& trace) {
  const Timed timed("read/merge");
  std::vector<std::vector<Translated>> translations;
  for (Task& task : tasks) {
    translations.push_back(translated(task, translator, trace));
    std::int64_t malformed = 0;
    for (const Part& part : task.parts) malformed += part.malformed;
    trace.problems.insert(trace.problems.end(), task.parts.front().problems.begin(),
                          task.parts.front().problems.end());
    if (malformed) trace.problems.push_back(malformed_rows(task.table, malformed));
  }
  std::vector<std::function<void()>> columns;
  // `of` finds the column in a part; `ids`, where there are any, what its numbers mean.
  const auto numbered = [&](auto& to, auto of, auto ids) {
    columns.push_back([&tasks, &translations, &to, of, ids] {
      std::size_t rows = 0;
      for (Task& task : tasks)
        for (Part& part : task.parts) rows += of(part).size();
      for (std::size_t t = 0; t < tasks.size(); ++t)
        for (Part& part : tasks[t].parts) {
          auto& from = of(part);
          if constexpr (!std::is_null_pointer_v<decltype(ids)>) {
            const auto& meaning = translations[t][part.worker].*ids;
            for (auto& v : from) v = static_cast<std::remove_reference_t<decltype(v)>>(meaning[v]);
          }
          if (from.size() == rows) {
            to.swap(from);
            return;
          }
          to.reserve(rows);
          to.insert(to.end(), from.begin(), from.end());
          std::remove_reference_t<decltype(from)>().swap(from);
        }
    });
  };
  const auto plain = [&](auto& to, auto of) { numbered(to, of, nullptr); };
  const auto host = [&](auto& to, auto of) {
    plain(to.start, [of](Part& p) -> auto& { return of(p).start; });
    plain(to.end, [of](Part& p) -> auto& { return of(p).end; });
    numbered(
        to.name, [of](Part& p) -> auto& { return of(p).name; }, &Translated::names);
    numbered(
        to.thread, [of](Part& p) -> auto& { return of(p).thread; }, &Translated::threads);
  };
  host(trace.calls, [](Part& p) -> auto& { return p.calls; });
  host(trace.ranges, [](Part& p) -> auto& { return p.ranges; });
  host(trace.frames, [](Part& p) -> auto& { return p.frames; });
  host(trace.os_calls, [](Part& p) -> auto& { return p.os_calls; });
  plain(trace.calls.correlation, [](Part& p) -> auto& { return p.calls.correlation; });
  plain(trace.ranges.bytes, [](Part& p) -> auto& { return p.ranges.bytes; });

  if (std::any_of(tasks.begin(), tasks.end(), [](const Task& task) {
        return std::any_of(task.parts.begin(), task.parts.end(),
                           [](const Part& p) { return !p.ops.address.empty(); });
      }))
    for (Task& task : tasks)
      for (Part& part : task.parts) part.ops.address.resize(part.ops.size());
  Ops& o = trace.ops;
  plain(o.start, [](Part& p) -> auto& { return p.ops.start; });
  plain(o.end, [](Part& p) -> auto& { return p.ops.end; });
  plain(o.bytes, [](Part& p) -> auto& { return p.ops.bytes; });
  numbered(
      o.stream, [](Part& p) -> auto& { return p.ops.stream; }, &Translated::streams);
  numbered(
      o.name, [](Part& p) -> auto& { return p.ops.name; }, &Translated::names);
  plain(o.correlation, [](Part& p) -> auto& { return p.ops.correlation; });
  plain(o.blocks, [](Part& p) -> auto& { return p.ops.blocks; });
  plain(o.threads, [](Part& p) -> auto& { return p.ops.threads; });
  plain(o.kind, [](Part& p) -> auto& { return p.ops.kind; });
  plain(o.copy, [](Part& p) -> auto& { return p.ops.copy; });
  plain(o.source, [](Part& p) -> auto& { return p.ops.source; });
  plain(o.target, [](Part& p) -> auto& { return p.ops.target; });
  plain(o.cause, [](Part& p) -> auto& { return p.ops.cause; });
  plain(o.address, [](Part& p) -> auto& { return p.ops.address; });
  plain(o.in_graph, [](Part& p) -> auto& { return p.ops.in_graph; });

  plain(trace.syncs.start, [](Part& p) -> auto& { return p.syncs.start; });
  plain(trace.syncs.end, [](Part& p) -> auto& { return p.syncs.end; });
  plain(trace.syncs.correlation, [](Part& p) -> auto& { return p.syncs.correlation; });
  numbered(
      trace.syncs.stream, [](Part& p) -> auto& { return p.syncs.stream; }, &Translated::streams);

  plain(trace.gpu_faults.start, [](Part& p) -> auto& { return p.gpu_faults.start; });
  plain(trace.gpu_faults.end, [](Part& p) -> auto& { return p.gpu_faults.end; });
  plain(trace.gpu_faults.address, [](Part& p) -> auto& { return p.gpu_faults.address; });
  plain(trace.gpu_faults.count, [](Part& p) -> auto& { return p.gpu_faults.count; });
  numbered(
      trace.gpu_faults.device, [](Part& p) -> auto& { return p.gpu_faults.device; },
      &Translated::devices);

  plain(trace.cpu_faults.start, [](Part& p) -> auto& { return p.cpu_faults.start; });
  plain(trace.cpu_faults.address, [](Part& p) -> auto& { return p.cpu_faults.address; });
  numbered(
      trace.cpu_faults.function, [](Part& p) -> auto& { return p.cpu_faults.function; },
      &Translated::names);

  plain(trace.memory_use.start, [](Part& p) -> auto& { return p.memory_use.start; });
  plain(trace.memory_use.bytes, [](Part& p) -> auto& { return p.memory_use.bytes; });
  plain(trace.memory_use.kind, [](Part& p) -> auto& { return p.memory_use.kind; });
  numbered(
      trace.memory_use.device, [](Part& p) -> auto& { return p.memory_use.device; },
      &Translated::devices);

  plain(trace.profiler_overhead, [](Part& p) -> auto& { return p.overhead; });
  in_parallel(columns.size(), [&](std::size_t i, std::size_t) { columns[i](); });
}

// Samples name their GPU and metric by numbers of their own, so they are read when the rest is
// known. One of a metric without a name says nothing.
void read_samples(const Database& db, Translator& translator, Trace& trace) {
  std::map<std::pair<std::int64_t, std::int64_t>, NameId> metrics;
  for (const std::string& table : strings(schema()["table"]["metric_name"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "metric_name", table, {"gpu", "metric", "name"}, trace.problems);
    while (rows.next()) {
      const std::pair key(rows.integer(0), rows.integer(1));
      if (rows.sound(0, 0)) metrics[key] = trace.names.intern(rows.text(2));
    }
  }
  std::map<std::int64_t, std::uint16_t> devices;
  std::int64_t unnamed = 0;
  for (const std::string& table : strings(schema()["table"]["sample"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "sample", table, {"start", "gpu", "metric", "value"}, trace.problems);
    while (rows.next()) {
      const Ns start = rows.integer(0);
      const std::int64_t gpu = rows.integer(1), metric = rows.integer(2);
      const double value = rows.real(3);
      if (!rows.sound(start, start) || !std::isfinite(value)) continue;
      const auto name = metrics.find({gpu, metric});
      if (name == metrics.end()) {
        ++unnamed;
        continue;
      }
      const std::int64_t id = gpu & 0xFF;  // the GPU's id in the report, not a CUDA ordinal
      if (!devices.contains(gpu))
        devices[gpu] = translator.device(id, translator.gpus().ordinal_of(id));
      Samples& s = trace.samples;
      s.start.push_back(start);
      s.period.push_back(0);
      s.metric.push_back(name->second);
      s.value.push_back(value);
      s.device.push_back(devices[gpu]);
    }
  }
  if (unnamed)
    trace.problems.push_back(
        fmt::format("{} GPU metric sample{} of metrics that the report does not name {} left out",
                    unnamed, unnamed == 1 ? "" : "s", unnamed == 1 ? "was" : "were"));
}

void read_session(const Database& db, Trace& trace) {
  std::vector<std::string>
      unheard;  // a report whose time of day is not known is whole all the same
  for (const std::string& table : strings(schema()["table"]["session"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "session", table, {"epoch_ns"}, unheard);
    if (!rows.next()) continue;
    const Ns epoch = rows.integer(0);
    if (rows.sound(0, 0) && epoch > 0 && epoch < std::numeric_limits<Ns>::max() / 2)
      trace.epoch_ns = epoch;
  }
  for (const std::string& table : strings(schema()["table"]["system"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "system", table, {"name", "value"}, unheard);
    while (rows.next())  // the machine's environment stands in it too
      if (rows.text(0) == "Hostname" && trace.host.empty()) trace.host = printable(rows.text(1));
  }
}

// Returns whether the whole report was exported, and not only some tables of it.
bool read_version(const Database& db, Trace& trace) {
  trace.format = "Nsight Systems SQLite export";
  bool whole = true;
  for (const std::string& table : strings(schema()["table"]["version"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "version", table, {"name", "value"}, trace.problems);
    while (rows.next()) {
      if (rows.text(0) == "EXPORT_SCHEMA_VERSION") trace.schema = printable(rows.text(1));
      if (rows.text(0) == "EXPORT_PRODUCT_VERSION")
        trace.producer = "Nsight Systems " + printable(rows.text(1));
      if (rows.text(0) == "EXPORT_PARAM_TABLES_TO_EXPORT") whole = rows.text(1).empty();
    }
  }
  if (trace.producer.empty()) trace.producer = "Nsight Systems (version not recorded)";
  if (trace.schema.empty()) trace.schema = "unknown";
  return whole;
}

// Settles what was recorded. `whole` is of read_version; of tables of the kinds in `damaged`
// something could not be read.
void read_availability(const Database& db, const bool whole, const std::set<std::string>& damaged,
                       Trace& trace) {
  const auto matches = [](const std::vector<std::string>& globs, std::string_view text) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& g) { return glob_match(g, text); });
  };
  std::vector<std::string> capture;
  for (const std::string& table : strings(schema()["table"]["capture"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "capture", table, {"name", "value"}, trace.problems);
    while (rows.next())  // not the whole table: the profiled program's environment stands in it too
      if (matches({"CAPTURE_EVENT_TYPE", "*COLLECT_*", "GPU_METRICS_OPTIONS:*"}, rows.text(0)))
        capture.push_back(fmt::format("{}={}", rows.text(0), rows.text(1)));
  }
  std::vector<std::tuple<Ns, int, std::string>> diagnostics;  // in order of time
  for (const std::string& table : strings(schema()["table"]["diagnostic"]["tables"])) {
    if (!db.has_table(table)) continue;
    TableReader rows(db, "diagnostic", table, {"time", "severity", "text"}, trace.problems);
    while (rows.next()) {
      const Ns time = rows.integer(0);
      const auto severity = static_cast<int>(rows.integer(1));
      if (rows.sound(0, 0)) diagnostics.emplace_back(time, severity, printable(rows.text(2)));
    }
  }
  std::sort(diagnostics.begin(), diagnostics.end());
  for (auto& [time, severity, text] : diagnostics)
    trace.diagnostics.push_back({severity, std::move(text)});

  std::vector<bool> seen(trace.names.size());
  std::vector<NameId> called;  // each name once
  for (const NameId n : trace.calls.name)
    if (!seen[n]) {
      seen[n] = true;
      called.push_back(n);
    }
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i) {
    const auto source = static_cast<Source>(i);
    const auto description = schema()["source"][name_of(source)];
    Availability& a = trace.sources[i];
    a.record_with = description["record_with"].value_or(std::string());
    if (trace.rows_of(source) > 0) {
      a.state = Collected::yes;
      continue;
    }
    const std::vector<std::string> kinds = strings(description["kinds"]),
                                   collected_if = strings(description["collected_if"]),
                                   lost_if = strings(description["lost_if"]);
    // What the profiler says of a tracer, it says of one process: rows prove that the tracer worked
    // in another.
    const bool tracer_worked = description["tracer"].value_or(std::string()) == "cuda" &&
                               (trace.ops.size() > 0 || trace.calls.size() > 0);
    const std::vector<std::string> blind_if =
        tracer_worked ? std::vector<std::string>() : strings(description["blind_if"]);
    const auto blind = std::find_if(
        trace.diagnostics.begin(), trace.diagnostics.end(),
        [&](const Diagnostic& d) { return d.severity > 1 && matches(blind_if, d.text); });
    const bool asked_for = std::any_of(capture.begin(), capture.end(), [&](const std::string& c) {
      return matches(collected_if, c);
    });
    const bool unreadable = std::any_of(kinds.begin(), kinds.end(),
                                        [&](const std::string& k) { return damaged.contains(k); });
    const bool left_out =
        !whole && std::none_of(kinds.begin(), kinds.end(), [&](const std::string& k) {
          const std::vector<std::string> tables = strings(schema()["table"][k]["tables"]);
          return std::any_of(tables.begin(), tables.end(),
                             [&](const std::string& t) { return db.has_table(t); });
        });
    const auto lost = std::find_if(called.begin(), called.end(),
                                   [&](NameId n) { return matches(lost_if, trace.names[n]); });
    if (blind != trace.diagnostics.end())
      a = {Collected::not_collected,
           fmt::format("the profiler says: {}", shortened(blind->text, 160)), a.record_with};
    else if (unreadable)
      a = {Collected::unknown, "their table could not be read", a.record_with};
    else if (left_out)
      a = {Collected::unknown,
           "the export was limited to other tables; export the report again without --tables",
           a.record_with};
    else if (lost != called.end())
      a = {Collected::not_collected,
           fmt::format("{} was called, but nothing of it was recorded on the GPU",
                       trace.names[*lost]),
           a.record_with};
    else if (source == Source::calls && trace.ops.size() > 0)
      a = {Collected::not_collected,
           "the GPU worked, but the report holds no call that launched anything", a.record_with};
    else if (capture.empty())
      a = {Collected::unknown,
           "the report holds none, and this version of the export does not say whether they were "
           "recorded",
           a.record_with};
    else if (asked_for)
      a = {Collected::nothing_happened, "recorded, and none occurred", a.record_with};
    else
      a = {Collected::not_collected, "the recording was made without them", a.record_with};
  }

  // Graphs traced whole hide their kernels; with none of them every kernel shows.
  const bool whole_graphs = std::find(trace.ops.kind.begin(), trace.ops.kind.end(),
                                      OpKind::graph) != trace.ops.kind.end();
  Availability& nodes = trace.availability(Source::graph_nodes);
  if (whole_graphs)
    nodes = {Collected::not_collected,
             "CUDA graphs were traced as a whole, so the kernels inside them do not show",
             nodes.record_with};
  else if (std::find(trace.ops.in_graph.begin(), trace.ops.in_graph.end(), 1) ==
               trace.ops.in_graph.end() &&
           std::any_of(called.begin(), called.end(), [&](NameId n) {
             return matches({"cudaGraphLaunch*", "cuGraphLaunch*"}, trace.names[n]);
           })) {
    trace.problems.push_back(
        "CUDA graphs were launched, but nothing of them was recorded on the GPU");
    for (const Source s : {Source::graph_nodes, Source::kernels})
      trace.availability(s) = {
          Collected::not_collected,
          "CUDA graphs were launched, but nothing of them was recorded on the GPU",
          nodes.record_with};
  } else
    nodes = {trace.availability(Source::kernels).known() ? Collected::yes : Collected::unknown,
             trace.availability(Source::kernels).reason, nodes.record_with};
}

void check_file(const std::filesystem::path& path, const std::string& shown) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (!fs::exists(status)) throw Error(fmt::format("{}: no such file; check the path", shown));
  if (fs::is_directory(status))
    throw Error(fmt::format("{}: is a directory; name the report in it", shown));
  if (!fs::is_regular_file(status))
    throw Error(fmt::format(
        "{}: is not a regular file; give a report exported with `nsys export --type sqlite`",
        shown));
  std::ifstream file(path, std::ios::binary);
  char head[100] = {};
  file.read(head, sizeof head);
  const auto got = static_cast<std::size_t>(file.gcount());
  if (!file.is_open() || file.bad())
    throw Error(fmt::format("{}: cannot be read; check its permissions", shown));
  if (got == 0)
    throw Error(fmt::format(
        "{}: is empty; export the report again with `nsys export --type sqlite`", shown));
  if (std::string_view(head, got).substr(0, 16) != std::string_view("SQLite format 3\0", 16)) {
    const std::string extension = path.extension().string();
    if (extension == ".nsys-rep" || extension == ".qdrep" || extension == ".qdstrm")
      throw Error(fmt::format(
          "{}: is not exported yet; run `nsys export --type sqlite {}` and give the .sqlite file",
          shown, shown));
    throw Error(
        fmt::format("{}: is not an SQLite database, and no PyTorch profiler trace; give a report "
                    "exported with `nsys export --type sqlite`, or what export_chrome_trace wrote",
                    shown));
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  const std::uint64_t page = byte(16) << 8 | byte(17), size = page == 1 ? 65536 : page,
                      pages =
                          std::uint64_t{byte(28)} << 24 | byte(29) << 16 | byte(30) << 8 | byte(31);
  if (got < 100 || fs::file_size(path, ec) < pages * size)
    throw Error(fmt::format("{}: is cut off ({} of {} bytes); copy or export it again", shown,
                            fs::file_size(path, ec),
                            got < 100 ? "at least 512" : std::to_string(pages * size)));
}

}  // namespace

Trace read_nsys(const std::filesystem::path& path) {
  Trace trace;
  trace.path = printable(path.string());
  check_file(path, trace.path);
  const Database db(path);
  const std::vector<std::string> signature = strings(schema()["report"]["signature"]);
  if (std::none_of(signature.begin(), signature.end(),
                   [&](const std::string& t) { return db.has_table(t); }))
    throw Error(
        fmt::format("{}: is an SQLite database, but not an export of Nsight Systems; give a report "
                    "exported with `nsys export --type sqlite`",
                    trace.path));
  if (is_being_written(path))
    trace.problems.push_back(
        "the file is still being written, or its writer was ended, and what is missing is unknown; "
        "export it again");
  const bool whole = read_version(db, trace);
  read_session(db, trace);

  std::deque<Task> tasks;  // the largest tables first, so that readers finish together
  for (const char* kind : {"call", "kernel", "range", "os_call", "memory_use", "copy", "set",
                           "graph", "sync", "gpu_fault", "cpu_fault", "overhead", "file_access"})
    for (const std::string& table : strings(schema()["table"][kind]["tables"]))
      if (db.has_table(table)) {
        Task& task = tasks.emplace_back();
        task.kind = kind;
        task.table = table;
      }
  read_tables(path, db, tasks);

  Translator translator(db, trace);
  merge(tasks, translator, trace);
  std::set<std::string> damaged;
  for (const Task& task : tasks)
    if (std::any_of(task.parts.begin(), task.parts.end(),
                    [](const Part& p) { return p.malformed > 0 || !p.problems.empty(); }))
      damaged.insert(task.kind);
  tasks.clear();
  const std::size_t problems = trace.problems.size();
  read_samples(db, translator, trace);
  if (trace.problems.size() > problems) damaged.insert("sample");
  translator.name_devices();
  read_availability(db, whole, damaged, trace);
  trace.environment_variables = environment_variables(db);
  trace.seal();
  // Sums over devices and steps must not overflow, and no recording lasts a year.
  if (trace.capture_end - trace.capture_start > longest_capture_ns)
    throw Error(
        fmt::format("{}: its first and last event lie more than a year apart, so its times are "
                    "damaged; export or record it again",
                    trace.path));
  return trace;
}

}  // namespace gh
