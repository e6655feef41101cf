// Imports operators and annotations, CUDA calls, Python frames, and the arrows from forward to
// backward.
#include "read/globs.hpp"
#include "read/kineto/importer.hpp"
#include "read/kineto/values.hpp"

namespace gh::kineto {
namespace {

// The message size of a collective: what one rank passes in, which for all-gather and
// reduce-scatter is a part of the whole. 0 for reduce-scatter if the recorded shape is that of the
// whole.
std::int64_t message_bytes(const Event& e) {
  if (!any_matches(schema().messages, e.name) || any_matches(schema().no_messages, e.name))
    return 0;
  const std::string_view types = e[Argument::types];
  const std::size_t open = types.find('"'), close = types.find('"', open + 1);
  if (open == types.npos || close == types.npos) return 0;
  const ByText<double>& type_bytes = schema().type_bytes;
  const auto size = type_bytes.find(types.substr(open + 1, close - open - 1));
  if (size == type_bytes.end()) return 0;
  return static_cast<std::int64_t>(std::min(1e15, elements(e[Argument::shapes]) * size->second));
}

// A compiler's file without the folder of its cache, which may name the user: "z3/cz3o....py".
std::string_view below_cache(std::string_view file) {
  file = unquoted(file);
  const std::size_t last = file.rfind('/');
  const std::size_t before = last == file.npos || last == 0 ? file.npos : file.rfind('/', last - 1);
  return before == file.npos ? file : file.substr(before + 1);
}

// Appends a list with one space after each comma.
void append_list(std::string& to, std::string_view title, std::string_view list) {
  to += title;
  for (const char c : list) {
    if (c == ',') {
      to += ", ";
    } else if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      to += c;
    }
  }
}

}  // namespace

bool Importer::put_range(const Event& e, Ns start, Ns end, std::uint8_t nest) {
  Ranges& r = trace_.ranges;
  const bool has_shapes = !e[Argument::shapes].empty() && is_product(e.name);
  r.start.push_back(start);
  r.end.push_back(end);
  r.name.push_back(has_shapes ? product_with_shapes(e) : name(e.name));
  r.thread.push_back(thread_of(e));
  r.bytes.push_back(message_bytes(e));
  r.nest.push_back(nest);
  if (!e[Argument::kernel_file].empty())
    trace_.kernel_sources.emplace(name(e.name), name(below_cache(e[Argument::kernel_file])));
  return true;
}

bool Importer::is_product(std::string_view name) {
  const auto it = products_.find(name);
  return it != products_.end()
             ? it->second
             : products_.emplace(name, any_matches(schema_.products, name)).first->second;
}

// Formats shapes like torch.autograd.profiler.emit_nvtx(record_shapes=True).
NameId Importer::product_with_shapes(const Event& e) {
  shaped_.assign(e.name);
  append_list(shaped_, ", sizes = ", e[Argument::shapes]);
  if (!e[Argument::strides].empty()) append_list(shaped_, ", strides = ", e[Argument::strides]);
  if (!e[Argument::concrete].empty() && e.name.find("convolution") != e.name.npos)
    append_list(shaped_, ", concrete = ", e[Argument::concrete]);
  return name(shaped_);
}

bool Importer::put_call(const Event& e, Ns start, Ns end) {
  Calls& c = trace_.calls;
  c.start.push_back(start);
  c.end.push_back(end);
  c.name.push_back(name(e.name));
  c.correlation.push_back(correlation_of(e));
  c.thread.push_back(thread_of(e));
  process_calls_[std::string(unquoted(e.pid))] += 1;
  return true;
}

bool Importer::put_frame(const Event& e, Ns start, Ns end) {
  const NameId line = name(e.name);
  const auto [it, added] = library_.try_emplace(line);
  if (added) it->second = schema_.library_frames.match(e.name);
  if (it->second) return true;
  Frames& f = trace_.frames;
  f.start.push_back(start);
  f.end.push_back(end);
  f.name.push_back(line);
  f.thread.push_back(thread_of(e));
  return true;
}

// One end of an arrow from a forward operator ("s") to its backward operator ("f").
bool Importer::put_forward(const Event& e, Ns start) {
  const auto id = integer(e.id);
  if (!id) return false;
  (e.phase == "s" ? arrows_[*id].from : arrows_[*id].to) = End{thread_of(e), start};
  return true;
}

void Importer::add_forwards() {
  for (const auto& [id, arrow] : arrows_) {
    if (arrow.from.thread == no_index || arrow.to.thread == no_index) continue;
    Forwards& f = trace_.forwards;
    f.start.push_back(arrow.to.at);
    f.thread.push_back(arrow.to.thread);
    f.forward_start.push_back(arrow.from.at);
    f.forward_thread.push_back(arrow.from.thread);
  }
}

}  // namespace gh::kineto
