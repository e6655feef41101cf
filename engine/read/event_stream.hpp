// Reads a Chrome trace as a stream of events: decompresses it on a separate thread and cuts it into
// objects, without ever holding all of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace gh {

/// Reads JSON, plain or compressed with gzip: {"traceEvents": [{...}, ...], ...} or the bare array.
/// Uses a few MiB of memory, however long the text is. Throws Error, naming the byte of the
/// (decompressed) text, if the file is cut off, damaged, or not such JSON.
class EventStream {
 public:
  explicit EventStream(const std::filesystem::path& path);
  ~EventStream();

  /// The next event: the text of an object, followed by at least `padding` readable bytes. Valid
  /// until the next call. False after the last.
  bool next(std::string_view& event);
  static constexpr std::size_t padding = 64;

  /// Where in the text the current event begins.
  std::uint64_t offset() const;
  /// After the last event: the text without traceEvents, which describes the trace itself. "" for a
  /// bare array.
  const std::string& head() const;
  /// Whether there was an array of events at all.
  bool has_events() const;
  /// Elements of the array that are not objects.
  std::int64_t strays() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gh
