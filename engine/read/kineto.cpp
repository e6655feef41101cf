#include "read/kineto.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/schema_table.hpp"
#include "base/text.hpp"
#include "read/environment.hpp"
#include "read/event_stream.hpp"

namespace gh {
namespace {

static_assert(EventStream::padding >= simdjson::SIMDJSON_PADDING);

// Times beyond this (73 years in nanoseconds) are damage, and no recording lasts a year.
constexpr Ns absurd_ns = Ns{1} << 61, longest_capture_ns = Ns{1} << 55;
// Kernel names of some templates run to kilobytes, never to this.
constexpr std::size_t longest_name = 1 << 14;

const toml::table& schema() {
  static const toml::table parsed = schema_table("schemas/kineto.toml");
  return parsed;
}

bool matches(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& g) { return glob_match(g, text); });
}

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

// The names of a table of lists: each item with the key it stands under.
ByText<std::string> inverted(const char* table, const char* below = nullptr) {
  ByText<std::string> out;
  const auto node = below ? schema()[table][below] : schema()[table];
  for (const auto& [key, list] : *node.as_table()) {
    for (const std::string& item : strings(toml::node_view<const toml::node>(list))) {
      out.emplace(item, key.str());
    }
  }
  return out;
}

enum class Category : std::uint8_t {
  operator_,
  annotation,
  kernel,
  copy,
  set,
  call,
  sync,
  frame,
  overhead,
  memory,
  forward,
  foreign,
  count
};
constexpr std::array category_names{"operator", "annotation", "kernel",  "copy",
                                    "set",      "call",       "sync",    "frame",
                                    "overhead", "memory",     "forward", "foreign"};

enum class Argument : std::uint8_t {
  device,
  stream,
  correlation,
  bytes,
  grid,
  block,
  blocks_per_sm,
  occupancy,
  shapes,
  strides,
  types,
  reserved,
  memory_device,
  memory_kind,
  collective,
  elements_in,
  elements_out,
  element_type,
  text,
  count
};
constexpr std::array argument_names{"device",        "stream",       "correlation",   "bytes",
                                    "grid",          "block",        "blocks_per_sm", "occupancy",
                                    "shapes",        "strides",      "types",         "reserved",
                                    "memory_device", "memory_kind",  "collective",    "elements_in",
                                    "elements_out",  "element_type", "text"};
constexpr auto argument_count = static_cast<std::size_t>(Argument::count);

// By the names that the file uses: the enumerator that the schema's key stands for.
template <class E, std::size_t N>
ByText<E> by_name(const char* table, const std::array<const char*, N>& names) {
  ByText<E> out;
  for (const auto& [item, key] : inverted(table)) {
    const auto known = std::find(names.begin(), names.end(), key);
    if (known == names.end()) {
      throw std::logic_error(
          fmt::format("schemas/kineto.toml: [{}] has '{}', which nothing reads", table, key));
    }
    out.emplace(item, static_cast<E>(known - names.begin()));
  }
  return out;
}

// --- Values as the text has them
// ------------------------------------------------------------------------------------------------

std::string_view unquoted(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' ||
                            token.back() == '\t')) {
    token.remove_suffix(1);
  }
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return token;
}

// A whole number; some versions write them as text.
std::optional<std::int64_t> integer(std::string_view token) {
  token = unquoted(token);
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), v);
  if (error != std::errc() || token.empty() ||
      (end != token.data() + token.size() && *end != '.')) {
    return std::nullopt;
  }
  return v;
}

// Microseconds with a fraction as nanoseconds: digit by digit, since a double has too few for times
// since 1970.
std::optional<Ns> nanoseconds(std::string_view token) {
  token = unquoted(token);
  std::int64_t whole = 0;
  const char* const end = token.data() + token.size();
  auto [at, error] = std::from_chars(token.data(), end, whole);
  if (error != std::errc() || whole > absurd_ns / 1000 || whole < -absurd_ns / 1000) {
    return std::nullopt;
  }
  if (at != end && (std::find_if(at, end, [](char c) { return c == 'e' || c == 'E'; }) != end)) {
    double us = 0;
    const auto [all, bad] = std::from_chars(token.data(), end, us);
    if (bad != std::errc() || all != end ||
        !(std::abs(us) < static_cast<double>(absurd_ns) / 1000)) {
      return std::nullopt;
    }
    return std::llround(us * 1000);
  }
  Ns ns = 0;
  if (at != end && *at == '.') {
    for (Ns unit = 100; ++at != end && *at >= '0' && *at <= '9'; unit /= 10) {
      ns += unit * (*at - '0');
    }
  }
  if (at != end) return std::nullopt;
  return whole * 1000 + (token.front() == '-' ? -ns : ns);
}

// "[2, 3, 4]" multiplied out; of a list of lists the sum of such products.
double elements(std::string_view list) {
  double sum = 0, product = 1;
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') {
      product = 1;
      any = false;
    } else if (list[i] == ']') {
      sum += any ? product : 0;
      any = false;
    } else if (list[i] >= '0' && list[i] <= '9') {
      double n = 0;
      i = static_cast<std::size_t>(
              std::from_chars(list.data() + i, list.data() + list.size(), n).ptr - list.data()) -
          1;
      product *= n;
      any = true;
    }
  }
  return sum;
}

std::uint32_t product_of(std::string_view list) {
  return static_cast<std::uint32_t>(std::clamp(elements(list), 0.0, 4e9));
}

// --- One event
// ------------------------------------------------------------------------------------------------------------------

// An event of which only the texts of its values are known; views are good until the next event.
struct Event {
  std::string_view phase, category, name, pid, tid, time, duration, id;
  std::array<std::string_view, argument_count> arguments;
  std::string_view operator[](Argument a) const { return arguments[static_cast<std::size_t>(a)]; }
};

class EventParser {
 public:
  // Throws simdjson_error where the text is no JSON.
  Event parse(std::string_view json) {
    using namespace simdjson;
    Event e;
    document_ = parser_.iterate(json.data(), json.size(), json.size() + EventStream::padding);
    for (ondemand::field field : document_.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "args") {
        read_arguments(field.value(), e);
      } else if (key == "ph") {
        e.phase = text(field.value());
      } else if (key == "cat") {
        e.category = text(field.value());
      } else if (key == "name") {
        e.name = text(field.value());
      } else if (key == "pid") {
        e.pid = token(field.value());
      } else if (key == "tid") {
        e.tid = token(field.value());
      } else if (key == "ts") {
        e.time = token(field.value());
      } else if (key == "dur") {
        e.duration = token(field.value());
      } else if (key == "id") {
        e.id = token(field.value());
      }
    }
    return e;
  }

 private:
  static std::string_view text(simdjson::ondemand::value v) {
    return v.type() == simdjson::ondemand::json_type::string ? std::string_view(v.get_string())
                                                             : std::string_view();
  }
  // A number or a string as it stands; nothing of anything else.
  static std::string_view token(simdjson::ondemand::value v) {
    const auto type = v.type().value();
    return type == simdjson::ondemand::json_type::number ||
                   type == simdjson::ondemand::json_type::string
               ? v.raw_json_token()
               : std::string_view();
  }
  void read_arguments(simdjson::ondemand::value arguments, Event& e) {
    using simdjson::ondemand::json_type;
    if (arguments.type().value() != json_type::object) return;
    for (simdjson::ondemand::field field : arguments.get_object()) {
      const auto known = arguments_.find(std::string_view(field.unescaped_key()));
      if (known == arguments_.end()) continue;
      std::string_view& slot = e.arguments[static_cast<std::size_t>(known->second)];
      simdjson::ondemand::value v = field.value();
      if (v.type().value() == json_type::array) {
        slot = v.get_array().value().raw_json();
      } else if (known->second == Argument::text || known->second == Argument::collective ||
                 known->second == Argument::element_type) {
        slot = text(v);
      } else {
        slot = token(v);
      }
    }
  }

  const ByText<Argument> arguments_ = by_name<Argument>("argument", argument_names);
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
};

// --- Into the trace
// -------------------------------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(Trace& trace, std::string shown) : trace_(trace), shown_(std::move(shown)) {
    trace_.processes.emplace_back();
    for (const auto& [type, bytes] : *schema()["type_bytes"].as_table()) {
      type_bytes_[std::string(type.str())] = bytes.value_or(0.0);
    }
  }

  void add(const Event& e) {
    if (e.phase == "M") return add_metadata(e);
    const auto known = categories_.find(e.category);
    if (known == categories_.end()) return;
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

  void finish(const std::string& head, std::int64_t strays);

 private:
  bool put(Category c, const Event& e, Ns start, Ns end) {
    switch (c) {
      case Category::operator_:
      case Category::annotation: return put_range(e, start, end);
      case Category::kernel:
      case Category::copy:
      case Category::set: return put_op(c, e, start, end);
      case Category::call: return put_call(e, start, end);
      case Category::sync: return put_sync(e, start, end);
      case Category::frame: return put_frame(e, start, end);
      case Category::overhead:
        if (matches(overhead_, e.name)) trace_.profiler_overhead.push_back({start, end});
        return true;
      case Category::memory: return put_memory(e, start);
      case Category::forward: return put_forward(e, start);
      default: return true;
    }
  }

  bool put_op(Category c, const Event& e, Ns start, Ns end) {
    const auto device = integer(e[Argument::device].empty() ? e.pid : e[Argument::device]),
               stream = integer(e[Argument::stream].empty() ? e.tid : e[Argument::stream]);
    if (!device || *device < 0 || *device > 100'000) return false;
    Ops& o = trace_.ops;
    const bool kernel = c == Category::kernel;
    CopyKind copied = CopyKind::none;
    MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;
    if (c == Category::copy) copied = copy_of(e.name, from, to);
    if (c == Category::set) to = memory_of(between(e.name, "(", ")"));
    o.start.push_back(start);
    o.end.push_back(end);
    o.bytes.push_back(kernel ? 0
                             : std::clamp<std::int64_t>(integer(e[Argument::bytes]).value_or(0), 0,
                                                        std::int64_t{1} << 50));
    o.stream.push_back(stream_of(*device, stream.value_or(-1)));
    o.name.push_back(kernel ? name_of(e.name) : 0);
    o.correlation.push_back(correlation_of(e));
    o.blocks.push_back(kernel ? product_of(e[Argument::grid]) : 0);
    o.threads.push_back(kernel ? static_cast<std::uint16_t>(
                                     std::min<std::uint32_t>(product_of(e[Argument::block]), 65535))
                               : 0);
    o.kind.push_back(kernel ? OpKind::kernel : c == Category::copy ? OpKind::copy : OpKind::set);
    o.copy.push_back(copied);
    o.source.push_back(from);
    o.target.push_back(to);
    o.cause.push_back(MigrationCause::none);
    o.in_graph.push_back(0);
    if (kernel) {
      put_occupancy(e);
    } else if (!o.occupancy.empty()) {
      o.occupancy.push_back(no_occupancy);
    }
    return true;
  }

  // What the profiler works out from a kernel's grid, registers and shared memory.
  void put_occupancy(const Event& e) {
    Ops& o = trace_.ops;
    const auto percent = integer(e[Argument::occupancy]);
    const bool known = percent && *percent >= 0 && *percent <= 100;
    if (known && o.occupancy.empty()) o.occupancy.resize(o.size() - 1, no_occupancy);
    if (known || !o.occupancy.empty()) {
      o.occupancy.push_back(known ? static_cast<std::uint8_t>(*percent) : no_occupancy);
    }
    // Blocks against blocks per SM tell how many SMs there are, the more exactly the larger the
    // grid.
    double per_sm = 0;
    const std::string_view token = unquoted(e[Argument::blocks_per_sm]);
    std::from_chars(token.data(), token.data() + token.size(), per_sm);
    auto& [blocks, sms] = sms_[trace_.streams[o.stream.back()].device];
    if (per_sm > 0 && o.blocks.back() > blocks && o.blocks.back() / per_sm < 10'000) {
      blocks = o.blocks.back();
      sms = static_cast<int>(std::lround(blocks / per_sm));
    }
  }

  bool put_call(const Event& e, Ns start, Ns end) {
    Calls& c = trace_.calls;
    c.start.push_back(start);
    c.end.push_back(end);
    c.name.push_back(name_of(e.name));
    c.correlation.push_back(correlation_of(e));
    c.thread.push_back(thread_of(e));
    process_calls_[std::string(unquoted(e.pid))] += 1;
    return true;
  }

  bool put_sync(const Event& e, Ns start, Ns end) {
    const auto device = integer(e[Argument::device]);
    if (!device || *device < 0 || *device > 100'000) return false;
    Syncs& s = trace_.syncs;
    s.start.push_back(start);
    s.end.push_back(end);
    s.correlation.push_back(correlation_of(e));
    s.stream.push_back(stream_of(*device, integer(e[Argument::stream]).value_or(-1)));
    return true;
  }

  bool put_range(const Event& e, Ns start, Ns end) {
    Ranges& r = trace_.ranges;
    NameId name;
    const std::string_view shapes = e[Argument::shapes];
    if (!shapes.empty() &&
        is_product(e.name)) {  // as torch.autograd.profiler.emit_nvtx(record_shapes=True) writes it
      shaped_.assign(e.name);
      const auto list = [this](std::string_view title, std::string_view text) {
        shaped_ += title;
        for (const char c : text) {
          if (c == ',') {
            shaped_ += ", ";
          } else if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            shaped_ += c;
          }
        }
      };
      list(", sizes = ", shapes);
      if (!e[Argument::strides].empty()) list(", strides = ", e[Argument::strides]);
      name = name_of(shaped_);
    } else {
      name = name_of(e.name);
    }
    r.start.push_back(start);
    r.end.push_back(end);
    r.name.push_back(name);
    r.thread.push_back(thread_of(e));
    r.bytes.push_back(message_bytes(e));
    return true;
  }

  bool put_frame(const Event& e, Ns start, Ns end) {
    const NameId name = name_of(e.name);
    const auto [it, added] = library_.try_emplace(name);
    if (added) it->second = library_frames_.match(e.name);
    if (it->second) return true;
    Frames& f = trace_.frames;
    f.start.push_back(start);
    f.end.push_back(end);
    f.name.push_back(name);
    f.thread.push_back(thread_of(e));
    return true;
  }

  // One end of an arrow from a forward operator ("s") to its backward ("f").
  bool put_forward(const Event& e, Ns start) {
    const auto id = integer(e.id);
    if (!id) return false;
    (e.phase == "s" ? arrows_[*id].from : arrows_[*id].to) = End{thread_of(e), start};
    return true;
  }

  bool put_memory(const Event& e, Ns start) {
    const auto reserved = integer(e[Argument::reserved]),
               device = integer(e[Argument::memory_device]),
               kind = integer(e[Argument::memory_kind]);
    if (!kind || *kind != 1) {
      return kind.has_value();  // the host's memory
    }
    if (!reserved || !device || *device < 0 || *device > 100'000 || *reserved < 0 ||
        *reserved > std::int64_t{1} << 50) {
      return false;
    }
    reserved_.push_back({*device, start, *reserved});
    return true;
  }

  void add_metadata(const Event& e) {
    const std::string_view name = e[Argument::text].substr(0, longest_name);
    if (name.empty()) return;
    if (e.name == "process_name") {
      process_names_[std::string(unquoted(e.pid))] = name.substr(0, name.find(' '));
    }
    if (e.name == "thread_name") {  // "thread 1368 (pt_autograd_0)"
      if (const auto tid = integer(e.tid);
          tid && name.ends_with(')') && name.find('(') != name.npos) {
        thread_names_[*tid] = between(name, "(", ")");
      }
    }
  }

  // Of a collective: what one rank passes in, which for all-gather and reduce-scatter is a part of
  // the whole.
  std::int64_t message_bytes(const Event& e) const {
    if (!e.name.starts_with("nccl:") || e.name.find("reduce_scatter") != e.name.npos) {
      return 0;  // of which the shape of the whole is recorded
    }
    std::string_view type = e[Argument::types];
    const std::size_t open = type.find('"'), close = type.find('"', open + 1);
    if (open == type.npos || close == type.npos) return 0;
    const auto size = type_bytes_.find(type.substr(open + 1, close - open - 1));
    return size == type_bytes_.end() ? 0
                                     : static_cast<std::int64_t>(std::min(
                                           1e15, elements(e[Argument::shapes]) * size->second));
  }

  static std::string_view between(std::string_view text, std::string_view open,
                                  std::string_view close) {
    const std::size_t from = text.find(open);
    if (from == text.npos) return {};
    const std::size_t to = text.find(close, from + open.size());
    return text.substr(from + open.size(), to == text.npos ? to : to - from - open.size());
  }

  MemoryKind memory_of(std::string_view word) const {
    static constexpr std::array kinds{MemoryKind::pageable, MemoryKind::pinned, MemoryKind::device,
                                      MemoryKind::array, MemoryKind::managed};
    const auto it = memories_.find(word);
    if (it != memories_.end()) {
      for (const MemoryKind k : kinds) {
        if (it->second == gh::name_of(k)) return k;
      }
    }
    return MemoryKind::unknown;
  }

  // "Memcpy HtoD (Pinned -> Device)".
  CopyKind copy_of(std::string_view name, MemoryKind& from, MemoryKind& to) const {
    from = memory_of(between(name, "(", " ->"));
    to = memory_of(between(name, "-> ", ")"));
    static constexpr std::array kinds{CopyKind::h2d, CopyKind::d2h, CopyKind::d2d, CopyKind::h2h,
                                      CopyKind::p2p};
    for (const auto& [word, direction] : directions_) {
      if (name.find(word) != name.npos) {
        for (const CopyKind k : kinds) {
          if (direction == gh::name_of(k)) return k;
        }
      }
    }
    return CopyKind::other;
  }

  bool is_product(std::string_view name) {
    if (!name.starts_with("aten::")) return false;
    const auto it = products_.find(name);
    return it != products_.end()
               ? it->second
               : products_.emplace(name, matches(product_globs_, name)).first->second;
  }

  NameId name_of(std::string_view text) {
    text = text.substr(0, longest_name);
    const auto it = names_.find(text);
    return it != names_.end() ? it->second
                              : names_.emplace(text, trace_.names.intern(text)).first->second;
  }

  std::uint32_t correlation_of(const Event& e) const {
    const std::int64_t c = integer(e[Argument::correlation]).value_or(0);
    return c > 0 && c < std::int64_t{0xFFFFFFFF} ? static_cast<std::uint32_t>(c) : 0;
  }

  std::uint16_t thread_of(const Event& e) {
    const std::int64_t tid = integer(e.tid).value_or(-1);
    if (tid == last_tid_) return last_thread_;
    const auto [it, added] =
        threads_.try_emplace(tid, static_cast<std::uint16_t>(trace_.threads.size()));
    if (added) {
      if (trace_.threads.size() >= no_index) {
        throw Error(fmt::format("{}: holds more threads than a process has", shown_));
      }
      trace_.threads.push_back({0, tid, ""});
    }
    last_tid_ = tid;
    last_thread_ = it->second;
    return it->second;
  }

  std::uint16_t device_of(std::int64_t id) {
    const auto [it, added] =
        devices_.try_emplace(id, static_cast<std::uint16_t>(trace_.devices.size()));
    if (added) {
      if (trace_.devices.size() >= no_index) {
        throw Error(fmt::format("{}: holds more GPUs than a job has", shown_));
      }
      trace_.devices.emplace_back().ordinal = static_cast<int>(id);
    }
    return it->second;
  }

  std::uint32_t stream_of(std::int64_t device, std::int64_t stream) {
    const auto [it, added] =
        streams_.try_emplace({device, stream}, static_cast<std::uint32_t>(trace_.streams.size()));
    if (added) trace_.streams.push_back({device_of(device), 0, stream});
    return it->second;
  }

  void describe(const nlohmann::json& head);
  void refuse_others(const nlohmann::json& head) const;
  void settle_sources(const nlohmann::json& head);

  Trace& trace_;
  std::string shown_;
  std::array<std::int64_t, static_cast<std::size_t>(Category::count)> count_{}, malformed_{};
  Ns first_ = std::numeric_limits<Ns>::max();
  const ByText<Category> categories_ = by_name<Category>("category", category_names);
  const ByText<std::string> directions_ = inverted("copy", "direction"),
                            memories_ = inverted("copy", "memory");
  const std::vector<std::string> product_globs_ = strings(schema()["products"]["match"]),
                                 overhead_ = strings(schema()["overhead"]["match"]);
  const Patterns library_frames_{strings(schema()["frame"]["library"]), "schemas/kineto.toml"};
  ByText<double> type_bytes_;
  ByText<bool> products_;
  ByText<NameId> names_;
  std::unordered_map<NameId, bool> library_;
  std::map<std::int64_t, std::uint16_t> threads_, devices_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;
  struct Sms {
    std::uint32_t blocks = 0;
    int count = 0;
  };
  std::map<std::uint16_t, Sms> sms_;  // by device, from the kernel with the most blocks
  std::map<std::int64_t, std::string> thread_names_;
  std::map<std::string, std::string> process_names_;
  std::map<std::string, std::int64_t> process_calls_;
  struct Reserved {
    std::int64_t device;
    Ns start;
    std::int64_t bytes;
  };
  std::vector<Reserved> reserved_;
  struct End {
    std::uint16_t thread = no_index;
    Ns at = 0;
  };
  struct Arrow {
    End from, to;
  };
  std::map<std::int64_t, Arrow> arrows_;
  std::string shaped_;
  std::int64_t last_tid_ = std::numeric_limits<std::int64_t>::min();
  std::uint16_t last_thread_ = 0;
};

// What stands beside the events. Whoever edits traces writes what he likes there: what is not as it
// should be is passed over.
std::int64_t integer_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

void Reader::describe(const nlohmann::json& head) {
  trace_.format = "PyTorch profiler trace";
  trace_.ranges_are = "annotations";
  const std::int64_t cuda = integer_in(head, "cuda_runtime_version");
  trace_.producer = cuda > 0
                        ? fmt::format("PyTorch profiler, CUDA {}.{}", cuda / 1000, cuda % 1000 / 10)
                        : "PyTorch profiler";
  const auto schema_version = head.find("schemaVersion");
  trace_.schema = schema_version == head.end()
                      ? "unknown"
                      : printable(schema_version->is_string() ? schema_version->get<std::string>()
                                                              : schema_version->dump());

  if (const auto list = head.find("deviceProperties"); list != head.end() && list->is_array()) {
    for (const nlohmann::json& p : *list) {
      if (!p.is_object() || !p.contains("id")) continue;
      const auto it = devices_.find(integer_in(p, "id"));
      if (it == devices_.end()) {
        continue;  // nothing ran there
      }
      Device& d = trace_.devices[it->second];
      if (const auto name = p.find("name"); name != p.end() && name->is_string()) {
        d.name = printable(name->get<std::string>());
      }
      const auto small = [&](const char* key) {
        return static_cast<int>(std::clamp<std::int64_t>(integer_in(p, key), 0, 1'000'000));
      };
      d.sm_count = small("numSms");
      d.compute_major = small("computeMajor");
      d.compute_minor = small("computeMinor");
      d.memory_bytes =
          std::clamp<std::int64_t>(integer_in(p, "totalGlobalMem"), 0, std::int64_t{1} << 50);
    }
  }

  for (const auto& [device, sms] : sms_) {
    if (trace_.devices[device].sm_count == 0) trace_.devices[device].sm_count = sms.count;
  }

  // The process is the one that called CUDA; its name and those of its threads stand in metadata
  // events.
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
          fmt::format("the trace holds CUDA calls of {} processes, which were taken for one: give "
                      "the traces of the ranks as they were written",
                      process_calls_.size()));
    }
  }
  for (Thread& t : trace_.threads) {
    if (const auto name = thread_names_.find(t.tid); name != thread_names_.end()) {
      t.name = printable(name->second);
    }
  }
}

// The rules know NVIDIA's kernels, calls and rates. Of another GPU they would say what is not true.
void Reader::refuse_others(const nlohmann::json& head) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(
        fmt::format("{}: is a trace of {}; the rules know the kernels, calls and rates of NVIDIA's "
                    "GPUs only, so it is not judged",
                    shown_, what));
  };
  if (const auto list = head.find("deviceProperties");
      list != head.end() && list->is_array() && !list->empty() && list->front().is_object()) {
    if (const auto name = list->front().find("name");
        name != list->front().end() && name->is_string() &&
        name->get<std::string>().find("AMD") != std::string::npos) {
      refuse(fmt::format("an AMD GPU ({})", printable(name->get<std::string>())));
    }
  }
  for (const NameId n : trace_.calls.name) {
    if (trace_.names[n].starts_with("hip")) refuse("an AMD GPU");
  }
  if (count_[static_cast<std::size_t>(Category::foreign)] > 0) {
    refuse("an accelerator that is not NVIDIA's");
  }
}

void Reader::settle_sources(const nlohmann::json& head) {
  std::vector<bool> seen(trace_.names.size());
  std::vector<NameId> called;  // each name once
  for (const NameId n : trace_.calls.name) {
    if (!seen[n]) {
      seen[n] = true;
      called.push_back(n);
    }
  }
  for (std::size_t i = 0; i < trace_.sources.size(); ++i) {
    const auto source = static_cast<Source>(i);
    const auto description = schema()["source"][gh::name_of(source)];
    Availability& a = trace_.sources[i];
    a.reason = description["reason"].value_or(std::string());
    a.record_with = description["record_with"].value_or(std::string());
    const std::vector<std::string> shown_by = strings(description["shown_by"]),
                                   lost_if = strings(description["lost_if"]);
    const bool beside = std::any_of(shown_by.begin(), shown_by.end(), [&](const std::string& name) {
      const auto it = std::find(category_names.begin(), category_names.end(), name);
      return it != category_names.end() &&
             count_[static_cast<std::size_t>(it - category_names.begin())] > 0;
    });
    const auto lost = std::find_if(called.begin(), called.end(),
                                   [&](NameId n) { return matches(lost_if, trace_.names[n]); });
    if (trace_.rows_of(source) > 0) {
      a.state = Collected::yes;
    } else if (lost != called.end()) {
      a.state = Collected::not_collected;
      a.reason = fmt::format("{} was called, but nothing of it was recorded on the GPU",
                             trace_.names[*lost]);
    } else if (beside || (description["setting"] &&
                          integer_in(head, description["setting"].value_or("")) == 1)) {
      a.state = Collected::nothing_happened;
      a.reason = "recorded, and none occurred";
    } else {
      a.state = Collected::not_collected;
    }
  }
  // Kernels of CUDA graphs are recorded one by one, under the call that launched the graph.
  Availability& nodes = trace_.availability(Source::graph_nodes);
  nodes.state = trace_.availability(Source::kernels).known()
                    ? Collected::yes
                    : trace_.availability(Source::kernels).state;
  nodes.reason = trace_.availability(Source::kernels).reason;
}

void Reader::finish(const std::string& head_text, std::int64_t strays) {
  nlohmann::json head = nlohmann::json::object();
  if (!head_text.empty()) head = nlohmann::json::parse(head_text, nullptr, false);
  if (!head.is_object()) {
    throw Error(fmt::format("{}: what stands beside its events is no JSON; copy or record it again",
                            shown_));
  }
  if (std::all_of(count_.begin(), count_.end(), [](std::int64_t n) { return n == 0; })) {
    throw Error(
        fmt::format("{}: is JSON, but holds no events of the PyTorch profiler; give what "
                    "torch.profiler's export_chrome_trace wrote",
                    shown_));
  }
  refuse_others(head);

  for (std::size_t c = 0; c < count_.size(); ++c) {
    trace_.recording_ns +=
        count_[c] * schema()["cost_ns"][category_names[c]].value_or(std::int64_t{0});
  }
  for (std::size_t c = 0; c < malformed_.size(); ++c) {
    if (malformed_[c] > 0) {
      trace_.problems.push_back(fmt::format(
          "{} {} event{} made no sense (a wrong type, or a time that cannot be) and {} left out",
          malformed_[c], category_names[c], malformed_[c] == 1 ? "" : "s",
          malformed_[c] == 1 ? "was" : "were"));
    }
  }
  if (strays > 0) {
    trace_.problems.push_back(fmt::format("{} element{} of traceEvents {} no event", strays,
                                          strays == 1 ? "" : "s", strays == 1 ? "is" : "are"));
  }

  // What the allocator had reserved, as what it took and gave back.
  std::stable_sort(reserved_.begin(), reserved_.end(), [](const Reserved& a, const Reserved& b) {
    return std::tie(a.device, a.start) < std::tie(b.device, b.start);
  });
  for (std::size_t i = 0; i < reserved_.size(); ++i) {
    const Reserved& r = reserved_[i];
    const bool first = i == 0 || reserved_[i - 1].device != r.device;
    const std::int64_t change = r.bytes - (first ? 0 : reserved_[i - 1].bytes);
    if (change == 0) continue;
    MemoryUse& m = trace_.memory_use;
    m.start.push_back(r.start);
    m.bytes.push_back(change);
    m.device.push_back(device_of(r.device));
    m.kind.push_back(MemoryKind::device);
  }
  if (trace_.frames.size() > 0) {
    for (const auto& [id, arrow] : arrows_) {
      if (arrow.from.thread == no_index || arrow.to.thread == no_index) continue;
      Forwards& f = trace_.forwards;
      f.start.push_back(arrow.to.at);
      f.thread.push_back(arrow.to.thread);
      f.forward_start.push_back(arrow.from.at);
      f.forward_thread.push_back(arrow.from.thread);
    }
  }
  describe(head);
  settle_sources(head);
  trace_.environment_variables = environment_variables_beside_events(head);
  trace_.origin_ns = first_;
  trace_.epoch_ns =
      first_ + std::clamp<std::int64_t>(integer_in(head, "baseTimeNanoseconds"), 0, absurd_ns);

  const auto shift = [&](std::vector<Ns>& times) {
    for (Ns& t : times) t -= first_;
  };
  const auto shift_both = [&](auto& events) {
    shift(events.start);
    shift(events.end);
  };
  shift_both(trace_.ops);
  shift_both(trace_.calls);
  shift_both(trace_.ranges);
  shift_both(trace_.syncs);
  shift_both(trace_.frames);
  shift(trace_.memory_use.start);
  shift(trace_.forwards.start);
  shift(trace_.forwards.forward_start);
  for (Span& s : trace_.profiler_overhead) s = {s.start - first_, s.end - first_};
  trace_.seal();
  for (Row op = 0; op < trace_.ops.size(); ++op) {
    if (const Row call = trace_.ops.call[op];
        call != no_row &&
        trace_.names[trace_.calls.name[call]].find("GraphLaunch") != std::string::npos) {
      trace_.ops.in_graph[op] = 1;
    }
  }
  if (trace_.capture_end - trace_.capture_start > longest_capture_ns) {
    throw Error(
        fmt::format("{}: its first and last event lie more than a year apart, so its times are "
                    "damaged; record it again",
                    shown_));
  }
}

}  // namespace

Trace read_kineto(const std::filesystem::path& path) {
  Trace trace;
  trace.path = printable(path.string());
  Reader reader(trace, trace.path);
  EventParser parser;
  EventStream events(path);
  for (std::string_view json; events.next(json);) {
    Event event;
    try {
      event = parser.parse(json);
    } catch (const simdjson::simdjson_error& e) {
      throw Error(fmt::format("{}: the event at byte {} is no JSON ({}); copy or record it again",
                              trace.path, events.offset(), e.what()));
    }
    reader.add(event);
  }
  if (!events.has_events()) {
    throw Error(fmt::format(
        "{}: is JSON without traceEvents; give what torch.profiler's export_chrome_trace wrote",
        trace.path));
  }
  reader.finish(events.head(), events.strays());
  return trace;
}

}  // namespace gh
