// Reads library calls and directive regions, which are named intervals of a thread's time, as
// ranges.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "read/nsys/rows.hpp"
#include "read/nsys/string_ids.hpp"

namespace gh::nsys {
namespace {

// They nest in each other as calls do. NVTX domains never get this number (ranges.cpp).
constexpr std::uint8_t nest_of_calls = nest_of_library_calls;

void add(Part& part, Ns start, Ns end, const FileNameView& name, std::int64_t thread) {
  add_stretch(part.ranges, start, end, name, thread, *part.numbers);
  part.ranges.bytes.push_back(0);
  part.ranges.nest.push_back(nest_of_calls);
}

// Builds names of regions: "acc_compute_construct (solver.c:41)".
class RegionNames {
 public:
  explicit RegionNames(const Database& db) : strings_(db) {}

  const std::string& of(const FileNameView& name, const FileNameView& file, std::int64_t line) {
    const auto [it, added] = known_.try_emplace(std::tuple(text(name), text(file), line));
    if (!added) return it->second;
    const auto& [region, path, number] = it->first;
    it->second = region;
    if (!path.empty() && number > 0) {
      it->second += fmt::format(" ({}:{})", path.substr(path.rfind('/') + 1), number);
    }
    return it->second;
  }

 private:
  // Cached by id: there are few, and each appears in many rows.
  std::string text(const FileNameView& name) {
    if (name.id < 0) return std::string(name.text);
    const auto [it, added] = texts_.try_emplace(name.id);
    if (added) it->second = strings_.find(name.id).value_or("");
    return it->second;
  }

  StringIds strings_;
  std::map<std::int64_t, std::string> texts_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::string> known_;
};

}  // namespace

void read_library_calls(const TablePart& from, Part& part) {
  enum { start, end, thread, name };
  TableReader rows(from, {"start", "end", "thread", "name"}, part.problems, &part.count);
  while (rows.next()) {
    const Ns begins = rows.integer(start);
    // It was still running at the end of the recording.
    const bool open = rows.is_null(end);
    const Ns ends = open ? begins : rows.integer(end);
    const FileNameView function = rows.name(name);
    const std::int64_t caller = rows.integer(thread);
    if (!rows.sound(begins, ends)) continue;
    add(part, begins, open ? open_end : ends, function, caller);
  }
}

void read_regions(const TablePart& from, Part& part) {
  enum { start, end, thread, name, file, line };
  TableReader rows(from, {"start", "end", "thread", "name", "file", "line"}, part.problems,
                   &part.count);
  RegionNames names(from.db);
  while (rows.next()) {
    const Ns begins = rows.integer(start), ends = rows.integer(end);
    const std::int64_t caller = rows.integer(thread), number = rows.integer(line);
    const std::string& region = names.of(rows.name(name), rows.name(file), number);
    if (!rows.sound(begins, ends)) continue;
    add(part, begins, ends, {-1, region}, caller);
  }
}

}  // namespace gh::nsys
