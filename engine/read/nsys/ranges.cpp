#include <charconv>
#include <limits>

#include "read/nsys/backtraces.hpp"
#include "read/nsys/rows.hpp"

namespace gh::nsys {
namespace {

// Values of NVTX_EVENTS.eventType.
constexpr std::int64_t mark_type = 34, push_pop_type = 59, start_end_type = 60;

// The message size that NCCL writes into the JSON text of a range: {"Message size [bytes]":
// 1048576, ...}; 0 if there is none.
std::int64_t message_bytes(std::string_view json) {
  static constexpr std::string_view key = "\"Message size [bytes]\"";
  const std::size_t at = json.find(key);
  if (at == json.npos) return 0;
  const std::size_t digit = json.find_first_not_of(" :\"", at + key.size());
  std::int64_t bytes = 0;
  if (digit != json.npos) {
    std::from_chars(json.data() + digit, json.data() + json.size(), bytes);
  }
  return std::max<std::int64_t>(bytes, 0);
}

// Each library has its own domain, in which its ranges nest regardless of other domains. Programs
// use a few; NULL is the unnamed one.
std::uint8_t nest_of(std::int64_t domain) {
  // The last nests are reserved for operators and library calls.
  constexpr std::int64_t most_domains = nest_of_operators - 1;
  return domain >= 0 && domain < most_domains ? static_cast<std::uint8_t>(domain + 1) : 0;
}

}  // namespace

void read_ranges(const TablePart& from, Part& part) {
  enum { start, end, type, thread, name_text, name_id, payload, domain };
  TableReader rows(from,
                   {"start", "end", "type", "thread", "name_text", "name_id", "payload", "domain"},
                   part.problems, &part.count);
  Ranges& ranges = part.ranges;
  reserve_rows(ranges, rows.expected_rows(from.db));
  std::optional<Backtraces> backtraces;

  // The program's line that called CUDA, from a mark with a Python stack.
  const auto add_frame = [&](std::string_view json) {
    if (!backtraces) backtraces.emplace(from.db);
    const std::string& line = backtraces->line_of_program(json);
    const Ns at = rows.integer(start);
    const std::int64_t caller = rows.integer(thread);
    if (!rows.sound(at, at) || line.empty()) return;
    add_stretch(part.frames, at, at, {-1, line}, caller, *part.numbers);
  };

  const auto add_sample = [&](std::string_view json) {
    if (!backtraces) backtraces.emplace(from.db);
    const Backtraces::Sample& sample = backtraces->sample(json);
    const Ns at = rows.integer(start);
    const std::int64_t caller = rows.integer(thread);
    if (!rows.sound(at, at) || sample.function.empty()) return;
    HostSamples& samples = part.host_samples;
    samples.start.push_back(at);
    samples.thread.push_back(thread_number(caller, *part.numbers));
    samples.function.push_back(part.numbers->names({-1, sample.function}));
    samples.module.push_back(part.numbers->names({-1, sample.module}));
    samples.line.push_back(part.numbers->names({-1, sample.line}));
    samples.is_python.push_back(1);
  };

  while (rows.next()) {
    const std::int64_t event_type = rows.integer(type);
    if (event_type == mark_type && !rows.is_null(payload)) {
      const Backtraces::Of stack = Backtraces::kind_of(rows.text(payload));
      if (stack == Backtraces::Of::call) add_frame(rows.text(payload));
      if (stack == Backtraces::Of::moment) add_sample(rows.text(payload));
      if (stack != Backtraces::Of::none) continue;
    }
    // Some old exports have no types; there every row with an end is a range.
    const bool is_range = event_type == push_pop_type || event_type == start_end_type ||
                          (rows.is_null(type) && !rows.is_null(end));
    if (!is_range) {
      rows.sound();
      continue;
    }
    const Ns begins = rows.integer(start);
    const bool open = rows.is_null(end);
    const Ns ends = open ? std::max<Ns>(begins, 0) : rows.integer(end);
    const FileNameView name = rows.name(rows.is_null(name_text) ? name_id : name_text);
    const std::int64_t caller = rows.integer(thread);
    const std::int64_t bytes = rows.is_null(payload) ? 0 : message_bytes(rows.text(payload));
    const std::uint8_t nest = event_type == push_pop_type ? nest_of(rows.integer(domain)) : 0;
    if (!rows.sound(begins, ends)) continue;
    add_stretch(ranges, begins, open ? open_end : ends, name, caller, *part.numbers);
    ranges.bytes.push_back(bytes);
    ranges.nest.push_back(nest);
  }
}

}  // namespace gh::nsys
