// Reads what a trace says about itself: metadata events, and what is outside the events.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/text.hpp"
#include "read/kineto/importer.hpp"
#include "read/kineto/values.hpp"
#include "read/limits.hpp"

namespace gh::kineto {
namespace {

// The list of GPUs; null if there is none.
const nlohmann::json* device_properties(const nlohmann::json& head) {
  const auto list = head.find("deviceProperties");
  return list != head.end() && list->is_array() ? &*list : nullptr;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

void describe_device(const nlohmann::json& properties, Device& d) {
  const auto small = [&](const char* key) {
    return static_cast<int>(std::clamp<std::int64_t>(integer_in(properties, key), 0, 1'000'000));
  };
  if (const std::string name = text_in(properties, "name"); !name.empty()) {
    d.name = printable(name.substr(0, longest_device_name));
  }
  d.sm_count = small("numSms");
  d.compute_major = small("computeMajor");
  d.compute_minor = small("computeMinor");
  d.memory_bytes =
      std::clamp<std::int64_t>(integer_in(properties, "totalGlobalMem"), 0, std::int64_t{1} << 50);
}

}  // namespace

void Importer::add_metadata(const Event& e) {
  const std::string_view text = e[Argument::text].substr(0, longest_name);
  if (text.empty()) return;
  if (e.name == "process_name") {
    process_names_[std::string(unquoted(e.pid))] = text.substr(0, text.find(' '));
  }
  if (e.name == "thread_name") {  // "thread 1368 (pt_autograd_0)"
    const auto tid = integer(e.tid);
    if (tid && text.ends_with(')') && text.find('(') != text.npos) {
      thread_names_[*tid] = between(text, "(", ")");
    }
  }
}

void Importer::describe(const nlohmann::json& head) {
  trace_.format = "PyTorch profiler trace";
  trace_.ranges_are = "annotations";
  const std::int64_t cuda = integer_in(head, "cuda_runtime_version");
  trace_.producer = cuda > 0
                        ? fmt::format("PyTorch profiler, CUDA {}.{}", cuda / 1000, cuda % 1000 / 10)
                        : "PyTorch profiler";
  const auto version = head.find("schemaVersion");
  if (version == head.end()) {
    trace_.schema = "unknown";
  } else {
    trace_.schema = printable(version->is_string() ? version->get<std::string>() : version->dump());
  }
  describe_devices(head);
  describe_process();
}

void Importer::describe_devices(const nlohmann::json& head) {
  if (const nlohmann::json* list = device_properties(head)) {
    for (const nlohmann::json& properties : *list) {
      if (!properties.is_object() || !properties.contains("id")) continue;
      const auto used = devices_.find(integer_in(properties, "id"));
      if (used == devices_.end()) {
        continue;  // nothing ran there
      }
      describe_device(properties, trace_.devices[used->second]);
    }
  }
  for (const auto& [device, sms] : sms_) {
    if (trace_.devices[device].sm_count == 0) trace_.devices[device].sm_count = sms.count;
  }
}

// The process is the one that called CUDA; its name and its threads' names are in metadata events.
void Importer::describe_process() {
  const auto usual =
      std::max_element(process_calls_.begin(), process_calls_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual != process_calls_.end()) {
    trace_.processes[0].pid = integer(usual->first).value_or(0);
    if (const auto name = process_names_.find(usual->first); name != process_names_.end()) {
      trace_.processes[0].name = printable(name->second);
    }
    if (process_calls_.size() > 1) {
      trace_.problems.push_back(
          fmt::format("the trace contains CUDA calls of {} processes, which are treated as one; "
                      "give each rank's original trace instead",
                      process_calls_.size()));
    }
  }
  for (Thread& t : trace_.threads) {
    if (const auto name = thread_names_.find(t.tid); name != thread_names_.end()) {
      t.name = printable(name->second);
    }
  }
}

// The rules know NVIDIA's kernels, calls and peak rates. For another GPU their statements would be
// wrong.
void Importer::refuse_other_vendors(const nlohmann::json& head) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(
        fmt::format("{}: is a trace of {}; the rules only know kernels, calls and peak rates of "
                    "NVIDIA GPUs, so it cannot be checked",
                    trace_.path, what));
  };
  const nlohmann::json* list = device_properties(head);
  if (list && !list->empty() && list->front().is_object()) {
    const std::string name = text_in(list->front(), "name");
    if (name.find("AMD") != std::string::npos) {
      refuse(fmt::format("an AMD GPU ({})", printable(name)));
    }
  }
  for (const NameId n : trace_.calls.name) {
    if (trace_.names[n].starts_with("hip")) refuse("an AMD GPU");
  }
  if (count_[static_cast<std::size_t>(Category::foreign)] > 0) {
    refuse("an accelerator that is not NVIDIA's");
  }
}

}  // namespace gh::kineto
