#include "read/kineto/importer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "read/doubts.hpp"
#include "read/environment.hpp"
#include "read/globs.hpp"
#include "read/index_of.hpp"
#include "read/kineto/values.hpp"
#include "read/limits.hpp"

namespace gh::kineto {
namespace {

nlohmann::json parsed_head(const std::string& text, const std::string& shown) {
  nlohmann::json head = nlohmann::json::object();
  if (!text.empty()) head = nlohmann::json::parse(text, nullptr, false);
  if (!head.is_object()) {
    throw Error(
        fmt::format("{}: what is outside its events is not JSON; copy or record it again", shown));
  }
  return head;
}

}  // namespace

void Importer::add(const Event& e) {
  if (e.phase == "M") return add_metadata(e);
  const auto known = schema_.categories.find(e.category);
  if (known == schema_.categories.end()) return;
  const Category c = known->second;
  const bool instant = c == Category::memory || c == Category::forward;
  if (c == Category::forward ? e.phase != "s" && e.phase != "f"
                             : e.phase != (instant ? "i" : "X")) {
    return;
  }
  ++count_[static_cast<std::size_t>(c)];
  const std::optional<Ns> start = nanoseconds(e.time),
                          length = instant ? 0 : nanoseconds(e.duration);
  const bool sound = start && length && *length >= 0 && std::abs(*start) < absurd_ns &&
                     *length < longest_capture_ns;
  if (!sound || !put(c, e, *start, *start + *length)) {
    ++malformed_[static_cast<std::size_t>(c)];
  } else {
    first_ = std::min(first_, *start);
  }
}

bool Importer::put(Category c, const Event& e, Ns start, Ns end) {
  switch (c) {
    case Category::torch_operator: return put_range(e, start, end, nest_of_operators);
    case Category::annotation: return put_range(e, start, end, 1);
    case Category::kernel:
    case Category::copy:
    case Category::set: return put_op(c, e, start, end);
    case Category::call: return put_call(e, start, end);
    case Category::sync: return put_sync(e, start, end);
    case Category::frame: return put_frame(e, start, end);
    case Category::overhead:
      if (any_matches(schema_.overhead, e.name)) {
        trace_.profiler_overhead.push_back({start, end});
      }
      return true;
    case Category::memory: return put_memory(e, start);
    case Category::forward: return put_forward(e, start);
    default: return true;
  }
}

NameId Importer::name(std::string_view text) {
  text = text.substr(0, longest_name);
  const auto it = names_.find(text);
  return it != names_.end() ? it->second
                            : names_.emplace(text, trace_.names.intern(text)).first->second;
}

std::uint16_t Importer::thread_of(const Event& e) {
  const std::int64_t tid = integer(e.tid).value_or(-1);
  if (tid == last_tid_) return last_thread_;
  last_tid_ = tid;
  last_thread_ = index_of(tid, threads_, trace_.threads, trace_, no_index, "threads", [&] {
    return Thread{0, tid, ""};
  });
  return last_thread_;
}

std::uint16_t Importer::device(std::int64_t id) {
  return index_of(id, devices_, trace_.devices, trace_, most_devices, "GPUs", [&] {
    Device device;
    device.ordinal = static_cast<int>(id);
    return device;
  });
}

std::uint32_t Importer::stream(std::int64_t device_id, std::int64_t id) {
  const auto [it, added] =
      streams_.try_emplace({device_id, id}, static_cast<std::uint32_t>(trace_.streams.size()));
  if (added) trace_.streams.push_back({device(device_id), 0, id});
  return it->second;
}

void Importer::finish(const std::string& head_text, std::int64_t strays) {
  const nlohmann::json head = parsed_head(head_text, trace_.path);
  if (std::all_of(count_.begin(), count_.end(), [](std::int64_t n) { return n == 0; })) {
    throw Error(
        fmt::format("{}: is JSON, but contains no PyTorch profiler events; give a file written by "
                    "torch.profiler's export_chrome_trace",
                    trace_.path));
  }
  refuse_other_vendors(head);
  for (std::size_t c = 0; c < category_count; ++c) {
    trace_.recording_ns += count_[c] * schema_.cost_ns[c];
  }
  count_problems(strays);
  add_memory_use();
  add_forwards();
  describe(head);
  settle_availability(head);
  Environment environment = environment_beside_events(head);
  trace_.environment_variables = environment.variables;
  trace_.environment = std::move(environment.known);
  if (first_ == std::numeric_limits<Ns>::max()) first_ = 0;  // no event was valid
  trace_.origin_ns = first_;
  trace_.epoch_ns =
      first_ + std::clamp<std::int64_t>(integer_in(head, "baseTimeNanoseconds"), 0, absurd_ns);
  shift_to_first_event();
  trace_.seal();
  mark_graph_nodes();
  settle(doubts_of(trace_, Recorder::torch), trace_);
  trace_.lost = find_lost_work(trace_);
  if (trace_.capture_end - trace_.capture_start > longest_capture_ns) {
    throw Error(
        fmt::format("{}: its first and last events are more than a year apart, so its times are "
                    "damaged; record it again",
                    trace_.path));
  }
}

void Importer::count_problems(std::int64_t strays) {
  for (std::size_t c = 0; c < category_count; ++c) {
    const std::int64_t n = malformed_[c];
    if (n == 0) continue;
    trace_.problems.push_back(
        fmt::format("skipped {} invalid {} event{} (wrong type or impossible time)", n,
                    category_names[c], n == 1 ? "" : "s", n == 1 ? "was" : "were"));
  }
  if (strays > 0) {
    trace_.problems.push_back(fmt::format("{} element{} of traceEvents {}", strays,
                                          strays == 1 ? "" : "s",
                                          strays == 1 ? "is not an event" : "are not events"));
  }
}

void Importer::shift_to_first_event() {
  const auto shift = [&](auto column, auto& values) {
    if constexpr (column.contents == Contents::time)
      for (Ns& t : values) t -= first_;
  };
  each_table([&](auto& events) { each_column(shift, events); }, trace_);
  for (Span& s : trace_.profiler_overhead) s = {s.start - first_, s.end - first_};
}

// Kernels of CUDA graphs are recorded individually, under the call that launched the graph.
void Importer::mark_graph_nodes() {
  for (Row op = 0; op < trace_.ops.size(); ++op) {
    const Row call = trace_.ops.call[op];
    if (call == no_row) continue;
    const std::string& function = trace_.names[trace_.calls.name[call]];
    if (function.find("GraphLaunch") != std::string::npos) trace_.ops.in_graph[op] = 1;
  }
}

std::uint32_t correlation_of(const Event& e) {
  const std::int64_t c = integer(e[Argument::correlation]).value_or(0);
  return c > 0 && c < std::int64_t{0xFFFFFFFF} ? static_cast<std::uint32_t>(c) : 0;
}

std::int64_t integer_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

}  // namespace gh::kineto
