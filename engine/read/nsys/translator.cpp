#include "read/nsys/translator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "read/index_of.hpp"
#include "read/limits.hpp"
#include "read/nsys/table_reader.hpp"

namespace gh::nsys {
namespace {

std::int64_t pid_of(std::int64_t global) { return (global >> 24) & 0xFFFFFF; }

template <class Key>
std::vector<std::size_t> in_order(const std::vector<Key>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

void drop_stream_suffix(std::string& name) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
}

// cudaLaunchKernel_v7000, cuMemcpyHtoDAsync_v2, cudaMemcpyAsync_ptsz: the suffix belongs to the
// ABI, not the function.
std::string unversioned(std::string name) {
  drop_stream_suffix(name);
  const std::size_t at = name.rfind("_v");
  if (at != std::string::npos && at + 2 < name.size() &&
      name.find_first_not_of("0123456789", at + 2) == std::string::npos) {
    name.resize(at);
  }
  drop_stream_suffix(name);
  return name;
}

}  // namespace

std::vector<NameId> Translator::names(const std::vector<FileName>& keys) {
  return interned(keys, [](std::string text) { return text; });
}

std::vector<NameId> Translator::call_names(const std::vector<FileName>& keys) {
  return interned(keys, unversioned);
}

template <class Change>
std::vector<NameId> Translator::interned(const std::vector<FileName>& keys, Change change) {
  std::vector<std::optional<std::string>> texts;
  for (const FileName& key : keys) {
    texts.push_back(text_of(key));
    if (texts.back()) texts.back() = change(std::move(*texts.back()));
  }
  std::vector<NameId> ids(texts.size(), unknown_name);
  for (const std::size_t i : in_order(texts)) {
    if (texts[i]) ids[i] = trace_.names.intern(*texts[i]);
  }
  return ids;
}

std::vector<std::uint16_t> Translator::threads(const std::vector<std::int64_t>& keys) {
  std::vector<std::uint16_t> ids(keys.size());
  for (const std::size_t i : in_order(keys)) ids[i] = thread(keys[i]);
  return ids;
}

std::vector<std::uint16_t> Translator::bare_threads(const std::vector<std::int64_t>& keys) {
  std::vector<std::uint16_t> ids(keys.size());
  for (const std::size_t i : in_order(keys)) {
    const auto seen = std::find_if(threads_.begin(), threads_.end(), [&](const auto& known) {
      return (known.first & thread_mask) == keys[i];
    });
    ids[i] = thread(seen == threads_.end() ? keys[i] : seen->first);
  }
  return ids;
}

std::vector<std::uint32_t> Translator::streams(const std::vector<StreamKey>& keys) {
  std::vector<std::uint32_t> ids(keys.size());
  for (const std::size_t i : in_order(keys)) {
    const StreamKey& key = keys[i];
    const auto [it, added] =
        streams_.try_emplace(key, static_cast<std::uint32_t>(trace_.streams.size()));
    if (added) {
      const std::uint16_t d = device(gpus_.id_of(pid_of(key.process), key.device), key.device);
      const std::uint16_t p = process(key.process);
      trace_.streams.push_back({d, p, key.stream, order_of(key)});
    }
    ids[i] = it->second;
  }
  return ids;
}

std::uint16_t Translator::process(std::int64_t global) {
  return index_of(global, processes_, trace_.processes, trace_, no_index, "processes", [&] {
    return Process{pid_of(global), process_name(global)};
  });
}

std::uint16_t Translator::thread(std::int64_t global) {
  return index_of(global, threads_, trace_.threads, trace_, no_index, "threads", [&] {
    return Thread{process(global & process_mask), global & thread_mask, thread_name(global)};
  });
}

std::uint16_t Translator::device(std::int64_t id) { return device(id, gpus_.ordinal_of(id)); }

std::uint16_t Translator::device(std::int64_t id, std::int64_t ordinal) {
  return index_of(id, devices_, trace_.devices, trace_, most_devices, "GPUs", [&] {
    Device device = gpus_.described(id);
    device.ordinal = static_cast<int>(ordinal);
    ids_by_ordinal_[device.ordinal].insert(id);
    return device;
  });
}

void Translator::name_devices() {
  const bool ambiguous = std::any_of(ids_by_ordinal_.begin(), ids_by_ordinal_.end(),
                                     [](const auto& ids) { return ids.second.size() > 1; });
  if (!ambiguous) return;
  for (const auto& [id, index] : devices_) trace_.devices[index].ordinal = static_cast<int>(id);
}

// Nothing if the report does not contain it.
std::optional<std::string> Translator::text_of(const FileName& key) {
  if (key.id >= 0) return strings_.find(key.id);
  // As in StringIds::find: a text with a NUL in it is not a name.
  return key.text.find('\0') == key.text.npos ? key.text : "";
}

std::string Translator::thread_name(std::int64_t global) {
  if (!thread_names_) read_thread_names();
  const auto it = thread_names_->find(global);
  return it == thread_names_->end() ? "" : printable(text_of(it->second).value_or(""));
}

std::string Translator::process_name(std::int64_t global) {
  if (!process_names_) read_process_names();
  const auto it = process_names_->find(global);
  return it == process_names_->end() ? "" : it->second;
}

// Old exports write a thread's name as text, new ones as a string id.
void Translator::read_thread_names() {
  thread_names_.emplace();
  each_row(db_, "thread_name", {"thread", "name"}, trace_.problems, [&](TableReader& rows) {
    const FileNameView name = rows.name(1);
    const std::int64_t thread = rows.integer(0);
    if (rows.sound()) {
      thread_names_->try_emplace(thread, FileName{name.id, std::string(name.text)});
    }
  });
}

// Streams of two contexts may have the same id; if they differ, the order of both is unknown.
StreamOrder Translator::order_of(const StreamKey& key) {
  if (!orders_) {
    orders_.emplace();
    each_row(db_, "cuda_stream", {"stream", "pid", "flag"}, trace_.problems,
             [&](TableReader& rows) {
               const std::int64_t stream = rows.integer(0), pid = rows.integer(1),
                                  flag = rows.integer(2);
               if (!rows.sound() || flag < 1 || flag > 3) return;
               static constexpr StreamOrder by_flag[] = {StreamOrder::blocking, StreamOrder::apart,
                                                         StreamOrder::legacy};
               const StreamOrder order = by_flag[flag - 1];
               const auto [it, added] = orders_->try_emplace({pid, stream}, order);
               if (!added && it->second != order) it->second = StreamOrder::unknown;
             });
  }
  const auto it = orders_->find({pid_of(key.process), key.stream});
  return it == orders_->end() ? StreamOrder::unknown : it->second;
}

void Translator::read_process_names() {
  process_names_.emplace();
  each_row(db_, "process_name", {"process", "name"}, trace_.problems, [&](TableReader& rows) {
    const std::int64_t process = rows.integer(0);
    // A process may have added its arguments to its name; keep only the program.
    const std::string_view name = rows.text(1).substr(0, rows.text(1).find(' '));
    if (rows.sound()) {
      process_names_->try_emplace(process, printable(name.substr(name.rfind('/') + 1)));
    }
  });
}

}  // namespace gh::nsys
