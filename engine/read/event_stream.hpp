// A Chrome trace as a stream of its events: decompressed by a thread of its own, cut into objects,
// never held as a whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace gh {

/// Reads JSON, plain or packed with gzip: {"traceEvents": [{...}, ...], ...} or the bare array.
/// Memory is a few MiB, however long the text is. Throws Error, naming the byte of the (unpacked)
/// text, where the file is cut off, damaged, or no such JSON.
class EventStream {
 public:
  explicit EventStream(const std::filesystem::path& path);
  ~EventStream();

  /// The next event, an object's text; behind it lie at least `padding` bytes that may be read.
  /// Valid until the next call. False after the last.
  bool next(std::string_view& event);
  static constexpr std::size_t padding = 64;

  /// Where in the text the current event begins.
  std::uint64_t offset() const;
  /// After the last event: the text without what stood in traceEvents, which is what the trace says
  /// of itself. "" of a bare array.
  const std::string& head() const;
  /// Whether there was an array of events at all.
  bool has_events() const;
  /// Elements of the array that are no objects.
  std::int64_t strays() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gh
