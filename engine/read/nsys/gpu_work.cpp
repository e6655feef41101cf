// Reads kernels, copies, memsets, whole graphs and synchronizations: rows with a stream and a
// correlation.
#include "read/nsys/rows.hpp"

namespace gh::nsys {
namespace {

// The columns that they share, in the order of the query. Columns of each kind follow.
enum { start, end, device, stream, process, correlation, first_own };

std::vector<std::string> with_shared_columns(std::initializer_list<const char*> own) {
  std::vector<std::string> columns{"start", "end", "device", "stream", "process", "correlation"};
  columns.insert(columns.end(), own.begin(), own.end());
  return columns;
}

// The shared columns of a row.
struct StreamWork {
  Ns start, end;
  StreamKey stream;
  std::uint32_t correlation;
};

StreamWork work_in(TableReader& rows) {
  return {
      .start = rows.integer(start),
      .end = rows.integer(end),
      .stream = {rows.integer(process) & process_mask, rows.integer(device), rows.integer(stream)},
      .correlation = small(rows.integer(correlation))};
}

// Operations.

bool is_in_graph(TableReader& rows, int graph_node) {
  return !rows.is_null(graph_node) && rows.integer(graph_node) != 0;
}

void add(const StreamWork& work, bool in_graph, Part& part) {
  Ops& ops = part.ops;
  ops.start.push_back(work.start);
  ops.end.push_back(work.end);
  ops.correlation.push_back(work.correlation);
  ops.stream.push_back(part.numbers->streams(work.stream));
  ops.in_graph.push_back(in_graph);
}

// Fills the columns that rows of this kind do not have.
void complete(OpKind kind, Part& part) {
  Ops& ops = part.ops;
  ops.kind.resize(ops.size(), kind);
  if (ops.name.size() < ops.size()) ops.name.resize(ops.size(), part.numbers->names({}));
  complete_rows(ops);
}

// The product of a grid's or block's sizes, at most 4e9.
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

MigrationCause migration_cause(std::int64_t c) {
  return c >= 1 && c <= 5 ? static_cast<MigrationCause>(c) : MigrationCause::none;
}

MemoryKind memory_kind_at(TableReader& rows, int column) {
  return rows.is_null(column) ? MemoryKind::unknown : memory_kind(rows.integer(column));
}

// The address column starts with the first migration, because most reports have none.
void add_address(Ops& ops, std::int64_t address) {
  if (address == 0 && ops.address.empty()) return;
  ops.address.resize(ops.size() - 1);
  ops.address.push_back(address);
}

}  // namespace

void read_kernels(const TablePart& from, Part& part) {
  enum {
    name = first_own,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    registers,
    static_shared,
    dynamic_shared,
    graph_node
  };
  TableReader rows(
      from,
      with_shared_columns({"name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
                           "registers", "static_shared", "dynamic_shared", "graph_node"}),
      part.problems, &part.count);
  Ops& ops = part.ops;
  reserve_rows(ops, rows.expected_rows(from.db));
  while (rows.next()) {
    const StreamWork work = work_in(rows);
    const FileNameView kernel = rows.name(name);
    const std::uint32_t blocks =
        product(rows.integer(grid_x), rows.integer(grid_y), rows.integer(grid_z));
    const std::uint32_t blocks_x = product(rows.integer(grid_x), 1, 1);
    const std::uint32_t threads =
        product(rows.integer(block_x), rows.integer(block_y), rows.integer(block_z));
    const auto used_registers =
        static_cast<std::uint8_t>(std::clamp<std::int64_t>(rows.integer(registers), 0, 255));
    const std::uint32_t shared =
        small(std::clamp<std::int64_t>(rows.integer(static_shared), 0, 1 << 30) +
              std::clamp<std::int64_t>(rows.integer(dynamic_shared), 0, 1 << 30));
    const bool in_graph = is_in_graph(rows, graph_node);
    if (!rows.sound(work.start, work.end)) continue;
    add(work, in_graph, part);
    ops.registers.push_back(used_registers);
    ops.shared_bytes.push_back(shared);
    ops.blocks_x.push_back(blocks_x);
    ops.name.push_back(part.numbers->names(kernel));
    ops.blocks.push_back(blocks);
    ops.threads.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(threads, 65535)));
  }
  complete(OpKind::kernel, part);
}

void read_copies(const TablePart& from, Part& part) {
  enum { bytes = first_own, kind, source, target, cause, address, graph_node };
  TableReader rows(
      from,
      with_shared_columns({"bytes", "kind", "source", "target", "cause", "address", "graph_node"}),
      part.problems, &part.count);
  Ops& ops = part.ops;
  reserve_rows(ops, rows.expected_rows(from.db));
  while (rows.next()) {
    StreamWork work = work_in(rows);
    const std::int64_t moved = sane_bytes(rows.integer(bytes));
    const CopyKind copied = copy_kind(rows.integer(kind));
    const MemoryKind source_kind = memory_kind_at(rows, source);
    const MemoryKind target_kind = memory_kind_at(rows, target);
    const MigrationCause why = migration_cause(rows.integer(cause));
    std::int64_t migrated_at = 0;
    if (is_unified(copied)) {
      // Migrations belong to no stream and no call. A separate stream keeps them out of the order
      // of all others.
      work.stream.stream = -1;
      work.correlation = 0;
      migrated_at = rows.integer(address);
    }
    const bool in_graph = is_in_graph(rows, graph_node);
    if (!rows.sound(work.start, work.end)) continue;
    add(work, in_graph, part);
    ops.bytes.push_back(moved);
    ops.copy.push_back(copied);
    ops.source.push_back(source_kind);
    ops.target.push_back(target_kind);
    ops.cause.push_back(why);
    add_address(ops, migrated_at);
  }
  complete(OpKind::copy, part);
}

void read_sets(const TablePart& from, Part& part) {
  enum { bytes = first_own, target, graph_node };
  TableReader rows(from, with_shared_columns({"bytes", "target", "graph_node"}), part.problems,
                   &part.count);
  reserve_rows(part.ops, rows.expected_rows(from.db));
  while (rows.next()) {
    const StreamWork work = work_in(rows);
    const std::int64_t set = sane_bytes(rows.integer(bytes));
    const MemoryKind target_kind = memory_kind_at(rows, target);
    const bool in_graph = is_in_graph(rows, graph_node);
    if (!rows.sound(work.start, work.end)) continue;
    add(work, in_graph, part);
    part.ops.bytes.push_back(set);
    part.ops.target.push_back(target_kind);
  }
  complete(OpKind::set, part);
}

void read_graphs(const TablePart& from, Part& part) {
  TableReader rows(from, with_shared_columns({}), part.problems, &part.count);
  reserve_rows(part.ops, rows.expected_rows(from.db));
  while (rows.next()) {
    const StreamWork work = work_in(rows);
    if (rows.sound(work.start, work.end)) add(work, false, part);
  }
  complete(OpKind::graph, part);
}

void read_syncs(const TablePart& from, Part& part) {
  TableReader rows(from, with_shared_columns({}), part.problems, &part.count);
  while (rows.next()) {
    const StreamWork sync = work_in(rows);
    if (!rows.sound(sync.start, sync.end)) continue;
    part.syncs.start.push_back(sync.start);
    part.syncs.end.push_back(sync.end);
    part.syncs.correlation.push_back(sync.correlation);
    part.syncs.stream.push_back(part.numbers->streams(sync.stream));
  }
}

}  // namespace gh::nsys
