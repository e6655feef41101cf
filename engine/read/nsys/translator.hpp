// Translates the numbers of a file into names, threads, processes, streams and devices of the
// trace.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "read/nsys/gpus.hpp"
#include "read/nsys/numbering.hpp"
#include "read/nsys/string_ids.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// A name whose text is missing from the report.
inline constexpr NameId unknown_name = no_row;

/// Returns indices in the trace, adding what is not there yet. Keys are translated in sorted order,
/// because the order of rows means nothing; so the trace's numbers do not depend on it.
class Translator {
 public:
  Translator(const Database& db, Trace& trace)
      : db_(db), trace_(trace), gpus_(db, trace.problems), strings_(db) {}

  /// Each of these returns one index per key; a name may be unknown_name.
  std::vector<NameId> names(const std::vector<FileName>& keys);
  /// For CUDA calls: cudaLaunchKernel for cudaLaunchKernel_v7000.
  std::vector<NameId> call_names(const std::vector<FileName>& keys);
  /// By global thread ids.
  std::vector<std::uint16_t> threads(const std::vector<std::int64_t>& keys);
  /// By plain thread ids. The process is that of a thread already seen with that id.
  std::vector<std::uint16_t> bare_threads(const std::vector<std::int64_t>& keys);
  std::vector<std::uint32_t> streams(const std::vector<StreamKey>& keys);

  /// By the GPU's id in the report.
  std::uint16_t device(std::int64_t id);

  /// Call this last: if every rank calls its own GPU device 0, ordinals say nothing, so devices are
  /// named by the GPU's id in the report.
  void name_devices();

 private:
  template <class Change>
  std::vector<NameId> interned(const std::vector<FileName>& keys, Change change);
  std::uint16_t process(std::int64_t global);
  std::uint16_t thread(std::int64_t global);
  std::uint16_t device(std::int64_t id, std::int64_t ordinal);
  std::optional<std::string> text_of(const FileName& key);
  std::string thread_name(std::int64_t global);
  std::string process_name(std::int64_t global);
  void read_thread_names();
  void read_process_names();
  StreamOrder order_of(const StreamKey& key);

  const Database& db_;
  Trace& trace_;
  Gpus gpus_;
  StringIds strings_;
  std::map<std::int64_t, std::uint16_t> processes_, threads_;  // by global id
  std::map<std::int64_t, std::uint16_t> devices_;              // by id in the report
  std::map<StreamKey, std::uint32_t> streams_;
  std::map<int, std::set<std::int64_t>> ids_by_ordinal_;
  // Read when first needed.
  std::optional<std::map<std::int64_t, FileName>> thread_names_;
  std::optional<std::map<std::int64_t, std::string>> process_names_;
  std::optional<std::map<std::pair<std::int64_t, std::int64_t>, StreamOrder>>
      orders_;  // by pid, id
};

}  // namespace gh::nsys
