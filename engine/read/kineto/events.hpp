// Reads the events of a trace one by one.
#pragma once
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "read/kineto/schema.hpp"

namespace gh::kineto {

/// An event whose values are still raw text.
struct Event {
  std::string_view phase, category, name, pid, tid, time, duration, id;
  std::array<std::string_view, argument_count> arguments;
  std::string_view operator[](Argument a) const { return arguments[static_cast<std::size_t>(a)]; }
};

/// Throws Error that names the byte if the file is cut off or damaged.
class Events {
 public:
  explicit Events(const std::filesystem::path& path);
  ~Events();

  /// The next event, valid until the one after it. False after the last.
  bool next(Event& event);

  // After the last event, as in EventStream.
  const std::string& head() const;
  bool has_events() const;
  std::int64_t strays() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gh::kineto
