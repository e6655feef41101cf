// Adds events to a trace one by one, and settles at the end what depends on all of them.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "read/kineto/events.hpp"

namespace gh::kineto {

class Importer {
 public:
  explicit Importer(Trace& trace) : trace_(trace) { trace_.processes.emplace_back(); }

  void add(const Event& e);
  /// Call after the last event. `head` is the text outside the events, `strays` the number of
  /// elements among them that are not events.
  void finish(const std::string& head, std::int64_t strays);

 private:
  // What PyTorch's allocator had reserved on a device.
  struct Reserved {
    std::int64_t device;
    Ns start;
    std::int64_t bytes;
  };

  // Each of these takes one kind of event and returns false if it is invalid.
  bool put(Category c, const Event& e, Ns start, Ns end);
  // gpu_events.cpp
  bool put_op(Category c, const Event& e, Ns start, Ns end);
  void put_occupancy(const Event& e);
  void put_resources(const Event& e);
  void put_group(const Event& e);
  bool put_sync(const Event& e, Ns start, Ns end);
  bool put_memory(const Event& e, Ns start);
  void put_allocation(const Event& e, Ns start, const Reserved& reserved);
  // host_events.cpp
  bool put_range(const Event& e, Ns start, Ns end, std::uint8_t nest);
  bool put_call(const Event& e, Ns start, Ns end);
  bool put_frame(const Event& e, Ns start, Ns end);
  bool put_forward(const Event& e, Ns start);
  NameId product_with_shapes(const Event& e);
  bool is_product(std::string_view name);

  // Return the trace's index for something that an event refers to, adding it if it is new.
  NameId name(std::string_view text);
  std::uint16_t thread_of(const Event& e);
  std::uint16_t device(std::int64_t id);
  std::uint32_t stream(std::int64_t device, std::int64_t stream);

  // description.cpp: what the trace says about itself. `head` is what is outside the events.
  void add_metadata(const Event& e);
  void describe(const nlohmann::json& head);
  void describe_devices(const nlohmann::json& head);
  void describe_process();
  void refuse_other_vendors(const nlohmann::json& head) const;

  // availability.cpp
  void settle_availability(const nlohmann::json& head);

  // Steps of finish.
  void count_problems(std::int64_t strays);
  void add_memory_use();
  void add_forwards();
  void shift_to_first_event();
  void mark_graph_nodes();

  Trace& trace_;
  const Schema& schema_ = schema();
  std::array<std::int64_t, category_count> count_{}, malformed_{};
  Ns first_ = std::numeric_limits<Ns>::max();  // over all events

  std::map<std::int64_t, std::uint16_t> threads_, devices_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;
  std::int64_t last_tid_ = std::numeric_limits<std::int64_t>::min();
  std::uint16_t last_thread_ = 0;

  std::map<std::pair<NameId, std::uint32_t>, std::uint32_t> groups_;  // by name and size

  // Caches what was derived from a name.
  ByText<NameId> names_;
  ByText<bool> products_;
  std::unordered_map<NameId, bool> library_;
  std::string shaped_;  // the current product

  // From metadata events; and calls by process.
  std::map<std::int64_t, std::string> thread_names_;
  std::map<std::string, std::string> process_names_;
  std::map<std::string, std::int64_t> process_calls_;

  struct Sms {
    std::uint32_t blocks = 0;
    int count = 0;
  };
  std::map<std::uint16_t, Sms> sms_;  // by device, from the kernel with the most blocks

  std::vector<Reserved> reserved_;
  std::vector<std::int64_t> allocation_devices_;  // by row of Allocations

  // Arrows from a forward operator to its backward operator.
  struct End {
    std::uint16_t thread = no_index;
    Ns at = 0;
  };
  struct Arrow {
    End from, to;
  };
  std::map<std::int64_t, Arrow> arrows_;
};

/// 0 if there is none.
std::uint32_t correlation_of(const Event& e);

/// Some template kernels have names of several kilobytes, but never this long; longer names are
/// cut.
inline constexpr std::size_t longest_name = 1 << 14;

/// A whole number in `head`; 0 if it is missing or has another type, because traces may be edited
/// by anyone.
std::int64_t integer_in(const nlohmann::json& object, const char* key);

}  // namespace gh::kineto
