// Reduces events of a PyTorch trace to what is known about them.
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "read/scrub/json_tree.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

class TraceEvents {
 public:
  TraceEvents(const std::filesystem::path& report, Work& work) : report_(report), work_(work) {}

  /// Learns what must be removed from an event, and which names belong to the format or to kernels.
  void learn(std::string_view event);
  /// The same for JSON below a key, however deep.
  void learn_value(const std::string& key, const Json& value, std::size_t depth = 0);
  /// Learns what is recognizable by itself in the strings of a JSON text.
  void learn_signs(std::string_view json);

  /// The event with only the keys that schemas/scrub.toml knows. Valid until the next call. Throws
  /// Error if the event is not JSON.
  std::string_view known_part_of(std::string_view event);

 private:
  enum class Of { event, arguments, metadata };
  std::string_view known_part(std::string_view object, Of of, bool learns, std::string& buffer);
  void learn_names(std::string_view event);
  bool is_label_of_machine(std::string_view value) const;
  void add(PrivateKind kind, const std::string& name, const Json& value);

  std::filesystem::path report_;
  Work& work_;
  std::set<std::string, std::less<>> known_names_;
  std::string event_, arguments_, value_;  // rewritten
};

}  // namespace gh::scrubbing
