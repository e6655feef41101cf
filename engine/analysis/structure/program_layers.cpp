// Goes through ranges, frames and calls in order of time, with a stack for each thread. What a
// range means is looked up once for each name.
#include "analysis/structure/program_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/structure/repeated_layers.hpp"
#include "analysis/structure/structure.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

constexpr std::array pass_names{"other", "forward", "backward"};

// Beyond these, layers are not told apart any further.
constexpr std::uint32_t most_depth = 48, most_occurrences = 1024;
constexpr std::size_t most_counted_names = 64;  // within one range
// Arrows that begin or end at one moment; real ones are few.
constexpr std::size_t most_arrows = 64;
constexpr std::size_t most_layers = 200'000, most_name_letters = 160;
// Real programs nest a few dozen deep; see Nesting.
constexpr std::size_t most_open = 256;
// A range that is longer than this many steps is no part of one.
constexpr double most_steps = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where the number begins with which a name counts, as "3" in "blocks.3", "layer 3" or "block_3";
// npos in "conv1" and "h2d".
std::size_t counter_of(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1])) --at;
  const bool apart = at > 0 && std::string_view(". _-#:/[(").find(name[at - 1]) != name.npos;
  return at < name.size() && apart ? at : name.npos;
}

std::string stem_of(const std::string& name) {
  std::string text = name;
  std::string end;
  while (!text.empty() && (text.back() == ')' || text.back() == ']')) {
    end.insert(end.begin(), text.back());
    text.pop_back();
  }
  const std::size_t at = counter_of(text);
  return at == text.npos ? "" : text.substr(0, at) + "*" + end;
}

// The sequence number that emit_nvtx adds: 12 in "aten::mm, seq = 12, op_id = 34".
std::int64_t sequence_of(std::string_view name) {
  static constexpr std::string_view title = ", seq = ";
  const std::size_t at = name.find(title);
  std::int64_t number = -1;
  if (at != name.npos)
    std::from_chars(name.data() + at + title.size(), name.data() + name.size(), number);
  return number;
}

// Joins a number to what it counts: {"model", "layers.3", "attn"}.
std::vector<std::string> parts_of_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, end - at);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), is_digit);
    if (number && !parts.empty())
      parts.back() += '.' + part;
    else
      parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

// What XLA names work on the device by:
// "Thunk:#name=jit(step)/transpose(jvp(block_5))/mlp/dot_general, hlo_op=custom-call.18,...#".
struct XlaName {
  std::vector<std::string>
      scopes;      // {"block_5", "mlp", "dot_general"}: with or without a primitive
  std::string op;  // "custom-call"
  Pass pass = Pass::other;
};

bool is_xla(std::string_view name) {
  return name.find("Thunk:#") != name.npos || name.find("XlaModule:#") != name.npos;
}

// An einsum's letters are none.
bool is_scope_name(std::string_view text) { return text.find_first_of(",>") == text.npos; }

// Sets `pass`, and leaves "block_5" of "transpose(jvp(block_5))"; "" of "jit(step)".
std::string scope_of(std::string_view part, Pass& pass) {
  while (true) {
    const std::size_t open = part.find('(');
    if (open == part.npos || !part.ends_with(')')) break;
    const std::string_view around = part.substr(0, open);
    if (around == "jit" || around == "pjit") return "";
    if (around == "vmap" && !is_scope_name(part.substr(open + 1, part.size() - open - 2)))
      return "";
    if (around == "jvp" && pass == Pass::other) pass = Pass::forward;
    if (around == "transpose") pass = Pass::backward;
    part = part.substr(open + 1, part.size() - open - 2);
  }
  return std::string(part);
}

XlaName xla_name_of(std::string_view name) {
  XlaName x;
  // A name may itself contain commas.
  const auto between = [&](std::string_view key, std::string_view end) {
    const std::size_t at = name.find(key);
    if (at == name.npos) return std::string_view();
    const std::string_view rest = name.substr(at + key.size());
    return rest.substr(0, std::min(rest.find(end), rest.find('#')));
  };
  const std::string_view op = between("hlo_op=", ",");
  x.op = std::string(op.substr(0, op.rfind('.')));
  std::string_view path = between("#name=", ",hlo_op=");
  while (!path.empty() && x.scopes.size() < most_depth) {
    // A slash within parentheses does not divide.
    std::size_t end = 0;
    for (int depth = 0; end < path.size() && (depth > 0 || path[end] != '/'); ++end)
      depth += path[end] == '(' ? 1 : path[end] == ')' ? -1 : 0;
    if (std::string scope = scope_of(path.substr(0, end), x.pass); !scope.empty())
      x.scopes.push_back(std::move(scope));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return x;
}

std::string joined(const std::vector<std::string>& scopes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += scopes[i] + '/';
  return text;
}

}  // namespace

const char* name_of(Pass pass) { return pass_names[static_cast<std::size_t>(pass)]; }

class LayerFinder {
 public:
  LayerFinder(ProgramLayers& out, const Analysis& a)
      : out_(out),
        a_(a),
        t_(a.trace),
        is_operator_(a.structure().operators()),
        callers_(a.structure().callers()),
        longest_ns_(a.has_steps()
                        ? static_cast<Ns>(most_steps * static_cast<double>(a.recorded_step_ns()))
                        : open_end),
        open_(t_.threads.size()),
        last_link_(t_.threads.size()),
        mark_(t_.threads.size()),
        known_(t_.names.size(), unknown),
        by_backward_(in_order(t_.forwards.start)),
        by_forward_(in_order(t_.forwards.forward_start)),
        arrow_origin_(t_.forwards.size()) {
    out_.tells_operator_.resize(t_.names.size());
    out_.layers_.emplace_back();
    out_.operators_.emplace_back();
    out_.origins_.emplace_back();
    origin_ids_.emplace(key_of({}), 0);
    // PyTorch names its threads, as far as the profiler recorded that.
    for (const Thread& thread : t_.threads)
      is_autograd_.push_back(a.classes.is(Form::backward_thread, thread.name));
    find_linked_names();
    for (const DeviceSteps& d : a.devices) described_.push_back(d.described);
    collect_xla_scopes();
    find_forwards_of_fsdp();
    find_enclosing();
  }

  void run() {
    const Calls& c = t_.calls;
    const Allocations& blocks = t_.allocations;
    out_.of_call_.resize(c.size());
    out_.of_allocation_.resize(blocks.size());
    out_.of_range_.resize(t_.ranges.size(), outside);
    out_.of_frame_.resize(t_.frames.size(), outside);
    Row block = 0;
    const auto blocks_until = [&](Ns at) {
      for (; block < blocks.size() && blocks.start[block] < at; ++block)
        out_.of_allocation_[block] = origin_of(blocks.thread[block], blocks.start[block]);
    };
    for (Row call = 0; call < c.size(); ++call) {
      blocks_until(c.start[call]);
      out_.of_call_[call] = origin_of(c.thread[call], c.start[call]);
    }
    blocks_until(open_end);
  }

 private:
  // What ranges of one name are.
  struct Meaning {
    enum class Kind : std::uint8_t { plain, dropped, module, op, backward_function };
    Kind kind = Kind::plain;
    Pass pass = Pass::other;           // of a dropped range
    bool absolute = false;             // of a module: its path begins at the model's root
    std::int64_t sequence = -1;        // of an operator
    bool tells_pass = false;           // of a module: its name says which pass it is
    bool encloses = false;             // of a plain range: modules lie in it
    std::uint32_t label = 0;           // of an operator: into ProgramLayers::operators
    std::vector<std::uint32_t> parts;  // of a module's path, or the name of a range: into parts_
  };
  struct Open {
    Ns end = 0;
    OriginId origin = 0;
    Meaning::Kind kind = Meaning::Kind::plain;
    bool in_module = false, linked = false;
    bool recomputes = false;  // forward that goes backward at once
    bool op_is_sure = false;  // autograd knows this very operator
    LayerId holds = outside;  // what ranges within lie in
    // How often ranges of a name (into parts_) began within, but for the first time.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> occurrences;
  };
  struct Mark {
    Ns at = -1;
    NameId line = 0;
  };
  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

  struct OriginKey {
    std::uint64_t layer_op, line_pass;
    bool operator==(const OriginKey&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const OriginKey& k) const {
      return static_cast<std::size_t>((k.layer_op ^ k.line_pass << 17 ^ k.line_pass >> 29) *
                                      0xff51afd7ed558ccdULL);
    }
  };
  static OriginKey key_of(const Origin& o) {
    return {std::uint64_t{o.layer} << 32 | o.op,
            std::uint64_t{o.line} << 8 | static_cast<std::uint64_t>(o.pass)};
  }

  OriginId origin_id(const Origin& o) {
    const auto [it, is_new] =
        origin_ids_.emplace(key_of(o), static_cast<OriginId>(out_.origins_.size()));
    if (is_new) out_.origins_.push_back(o);
    return it->second;
  }

  // ---- what names mean

  const Meaning& meaning_of(NameId name, std::uint8_t nest) {
    std::uint32_t& place = known_[name];
    if (place == unknown) {
      place = static_cast<std::uint32_t>(meanings_.size());
      meanings_.push_back(meaning(name, is_operator_[name] != 0 || nest >= nest_of_operators));
      const Meaning& m = meanings_.back();
      out_.tells_operator_[name] =
          m.kind == Meaning::Kind::op || m.kind == Meaning::Kind::backward_function || m.label != 0;
    }
    return meanings_[place];
  }

  // XLA does not say where the scopes end and the primitive begins: what others lie in is a scope.
  void collect_xla_scopes() {
    std::vector<std::uint8_t> seen(t_.names.size());
    for (const NameId name : t_.ranges.name) {
      if (std::exchange(seen[name], 1) || !is_xla(t_.names[name])) continue;
      const XlaName x = xla_name_of(t_.names[name]);
      for (std::size_t i = 1; i < x.scopes.size(); ++i) xla_scopes_.insert(joined(x.scopes, i));
    }
  }

  // Operators whose backward was cut off are called like those of other steps.
  void find_linked_names() {
    const Ranges& r = t_.ranges;
    std::size_t next = 0;
    for (Row row = 0; row < r.size() && next < by_forward_.size(); ++row)
      each_arrow(by_forward_, t_.forwards.forward_start, next, r.start[row], [&](std::uint32_t i) {
        if (t_.forwards.forward_thread[i] == r.thread[row]) linked_names_.insert(r.name[row]);
      });
  }

  // Ranges around modules, such as a framework's loop, are no layers of theirs.
  void find_enclosing() {
    const Ranges& r = t_.ranges;
    const Nesting& nesting = a_.structure().ranges();
    std::vector<bool> seen(r.size());  // with those around them
    for (Row row = 0; row < r.size(); ++row) {
      const Meaning& m = meaning_of(r.name[row], r.nest[row]);
      if (m.kind != Meaning::Kind::module || !m.absolute) continue;
      has_paths_ = true;
      nesting.first_open(nesting.around(row), r.start[row], [&](Row around) {
        if (seen[around]) return true;
        seen[around] = true;
        meanings_[known_[r.name[around]]].encloses = true;
        return false;
      });
    }
  }

  // FSDP has a range before a module's forward and one after it, and none around it.
  void find_forwards_of_fsdp() {
    const Ranges& r = t_.ranges;
    std::vector<std::uint8_t> kind(t_.names.size());  // by name: 1 before, 2 after, 3 neither
    std::map<std::pair<std::uint16_t, std::string>, Row> begun;  // by thread and module
    for (Row row = 0; row < r.size(); ++row) {
      const std::string& name = t_.names[r.name[row]];
      std::uint8_t& of = kind[r.name[row]];
      if (of == 0)
        of = a_.classes.is(Form::module_begins, name) ? 1
             : a_.classes.is(Form::module_ends, name) ? 2
                                                      : 3;
      if (of == 3) continue;
      const std::pair module{r.thread[row], a_.classes.module_of_range(without_arguments(name))};
      if (of == 1) begun[module] = row;
      if (of == 2)
        if (const auto it = begun.find(module); it != begun.end()) {
          forward_end_[it->second] = r.end[row];
          begun.erase(it);
        }
    }
  }

  Meaning xla_meaning(const std::string& name) {
    Meaning m;
    XlaName x = xla_name_of(name);
    std::string op = x.op;
    if (!x.scopes.empty() && !xla_scopes_.contains(joined(x.scopes, x.scopes.size()))) {
      op = x.scopes.back();
      x.scopes.pop_back();
    }
    m.kind = x.scopes.empty() ? Meaning::Kind::dropped : Meaning::Kind::module;
    m.pass = x.pass;
    m.label = op.empty() ? 0 : label_of(op);
    for (const std::string& scope : x.scopes)
      m.parts.push_back(part_id(shortened(scope, most_name_letters)));
    m.absolute = m.tells_pass = true;
    return m;
  }

  Meaning meaning(NameId id, bool is_operator) {
    const std::string& name = t_.names[id];
    if (is_xla(name)) return xla_meaning(name);
    Meaning m;
    const std::string alone(without_arguments(name));
    const PassRange pass = a_.classes.pass_of_range(alone);
    if (!is_operator && (pass != PassRange::none || is_step(alone))) {
      m.kind = Meaning::Kind::dropped;
      if (pass == PassRange::forward) m.pass = Pass::forward;
      if (pass == PassRange::backward) m.pass = Pass::backward;
      return m;
    }
    // "optimizer.step" is no module, though it looks like the path of one.
    const bool phase = a_.names.phases[id] != 0;
    if (const std::string path = phase ? "" : a_.classes.module_of_range(alone); !path.empty()) {
      m.kind = Meaning::Kind::module;
      for (const std::string& part : parts_of_path(path))
        if (m.parts.size() < most_depth)
          m.parts.push_back(part_id(shortened(part, most_name_letters)));
      // PyTorch's profiler names classes, not paths.
      m.absolute = !a_.classes.is(Form::module_class, alone);
      if (a_.classes.is(Form::module_backward, alone)) m.pass = Pass::backward;
      return m;
    }
    m.sequence = sequence_of(name);
    const bool region = is_operator && a_.classes.is_region(alone);
    if ((is_operator && !region) || m.sequence >= 0 || a_.classes.is_operator_range(alone)) {
      m.kind = a_.classes.is(Form::backward_function, name) ? Meaning::Kind::backward_function
                                                            : Meaning::Kind::op;
      m.label = label_of(name);
      return m;
    }
    m.parts = {part_id(shortened(alone, most_name_letters))};
    return m;
  }

  bool is_step(const std::string& name) const {
    if (a_.classes.is_step(name)) return true;
    std::string counted = stem_of(name);
    std::replace(counted.begin(), counted.end(), '*', '#');
    return !counted.empty() &&
           std::any_of(described_.begin(), described_.end(), [&](const std::string& described) {
             return described.ends_with("'" + counted + "'");
           });
  }

  std::uint32_t label_of(const std::string& name) {
    std::string text(operator_of(name));
    if (const std::string evaluated = a_.classes.evaluated_operator(text); !evaluated.empty())
      text = evaluated;
    text = shortened(text, most_name_letters);
    const auto [it, is_new] =
        labels_.emplace(text, static_cast<std::uint32_t>(out_.operators_.size()));
    if (is_new) out_.operators_.push_back(text);
    return it->second;
  }

  // ---- layers

  std::uint32_t part_id(const std::string& name) {
    const auto [it, is_new] = part_ids_.emplace(name, static_cast<std::uint32_t>(parts_.size()));
    if (is_new) parts_.push_back(name);
    return it->second;
  }

  // The layer of that name within another, or that one where no more are told apart.
  LayerId child(LayerId around, std::uint32_t part, bool is_class) {
    const std::uint32_t depth = out_.layers_[around].depth + 1;
    if (depth > most_depth) return around;
    const auto [it, is_new] = children_.try_emplace(std::uint64_t{around} << 32 | part, around);
    if (is_new && out_.layers_.size() < most_layers) {
      it->second = static_cast<LayerId>(out_.layers_.size());
      out_.layers_.push_back({around, depth, parts_[part], stem_of(parts_[part]), is_class});
    }
    return it->second;
  }

  LayerId module_layer(const Meaning& m, const Open* around) {
    if (!m.absolute) {
      const LayerId within =
          around && around->in_module ? out_.origins_[around->origin].layer : outside;
      return child(within, m.parts.front(), true);
    }
    LayerId layer = outside;
    for (const std::uint32_t part : m.parts) layer = child(layer, part, false);
    return layer;
  }

  LayerId range_layer(std::uint32_t part, LayerId within, Open* around) {
    const LayerId first = child(within, part, false);
    if (!around || first == within || counter_of(parts_[part]) != std::string::npos) return first;
    const auto it = std::find_if(around->occurrences.begin(), around->occurrences.end(),
                                 [&](const auto& o) { return o.first == part; });
    if (it == around->occurrences.end()) {
      if (around->occurrences.size() >= most_counted_names) return first;
      around->occurrences.emplace_back(part, 0);
      return first;  // keeps its name until a second shows that it counts
    }
    const std::string& label = parts_[part];
    if (Layer& p = out_.layers_[first]; p.stem.empty()) {
      p.stem = label + " *";
      p.name = label + " 0";
    }
    it->second = std::min(it->second + 1, most_occurrences);
    return child(within, part_id(fmt::format("{} {}", label, it->second)), false);
  }

  // ---- links from backward to forward

  // Calls take(i) for the arrows of PyTorch's profiler whose one end is at a moment, which `next`
  // keeps up with.
  template <class Take>
  void each_arrow(const std::vector<std::uint32_t>& order, const std::vector<Ns>& at,
                  std::size_t& next, Ns moment, Take take) const {
    while (next < order.size() && at[order[next]] < moment) ++next;
    for (std::size_t i = next;
         i < std::min(order.size(), next + most_arrows) && at[order[i]] == moment; ++i)
      take(order[i]);
  }

  static std::vector<std::uint32_t> in_order(const std::vector<Ns>& at) {
    std::vector<std::uint32_t> order(at.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return at[a] < at[b]; });
    return order;
  }

  std::uint64_t sequence_key(std::uint16_t thread, std::int64_t sequence) const {
    return std::uint64_t{t_.threads[thread].process} << 48 ^ static_cast<std::uint64_t>(sequence);
  }

  // What the forward of a backward function came from; 0 if that is unknown.
  OriginId forward_of(std::uint16_t thread, Ns start, const Meaning& m) {
    OriginId found = 0;
    each_arrow(by_backward_, t_.forwards.start, next_backward_, start, [&](std::uint32_t i) {
      if (t_.forwards.thread[i] == thread) found = arrow_origin_[i];
    });
    if (found != 0 || m.sequence < 0) return found;
    // Each thread counts for itself. What a thread computes anew in backward, it goes backward at
    // once.
    if (const auto own = by_own_sequence_.find({thread, m.sequence});
        own != by_own_sequence_.end()) {
      found = own->second;
      by_own_sequence_.erase(own);
      return found;
    }
    const auto it = by_sequence_.find(sequence_key(thread, m.sequence));
    return it == by_sequence_.end() ? 0 : it->second;
  }

  // ---- the sweep over time

  void close(std::vector<Open>& open, Ns at) const {
    // Ranges of two NVTX domains may overlap in part: one that has ended may lie below one that has
    // not.
    if (!open.empty() && open.back().end > at &&
        std::all_of(open.begin(), open.end(), [&](const Open& o) { return o.end > at; }))
      return;
    std::erase_if(open, [&](const Open& o) { return o.end <= at; });
  }

  // The innermost that a thread is in: its own, else that of the thread that called it.
  Open* innermost(std::uint16_t thread, Ns at) {
    for (const std::uint16_t whose : {thread, callers_[thread]}) {
      close(open_[whose], at);
      if (!open_[whose].empty()) return &open_[whose].back();
    }
    return nullptr;
  }

  OriginId origin_at(std::uint16_t thread, Ns at) {
    const Open* around = innermost(thread, at);
    OriginId origin = around ? around->origin : 0;
    if (is_autograd_[thread] && out_.origins_[origin].pass == Pass::other) {
      Origin backward = out_.origins_[origin];
      backward.pass = Pass::backward;
      origin = origin_id(backward);
    }
    if (mark_[thread].at != at) return origin;
    Origin with_line = out_.origins_[origin];
    with_line.line = mark_[thread].line;
    return origin_id(with_line);
  }

  OriginId origin_of(std::uint16_t thread, Ns at) {
    open_until(at);
    return thread == no_index ? 0 : origin_at(thread, at);
  }

  void open_until(Ns at) {
    const Ranges& r = t_.ranges;
    const Frames& f = t_.frames;
    while (true) {
      const Ns next_range = next_range_ < r.size() ? r.start[next_range_] : open_end,
               next_frame = next_frame_ < f.size() ? f.start[next_frame_] : open_end;
      if (std::min(next_range, next_frame) > at || std::min(next_range, next_frame) == open_end)
        return;
      if (next_frame <= next_range)
        open_frame(next_frame_++);
      else
        open_range(next_range_++);
    }
  }

  void open_frame(Row row) {
    const Frames& f = t_.frames;
    const std::uint16_t thread = f.thread[row];
    const NameId name = f.name[row];
    const bool has_line = a_.names.sources.contains(name);
    if (f.end[row] <= f.start[row]) {  // where a call was made
      if (has_line) mark_[thread] = {f.start[row], name};
      return;
    }
    const Meaning& m = meaning_of(name, 1);
    const bool is_module = m.kind == Meaning::Kind::module && !has_paths_;
    if (!is_module && !has_line) return;
    Open* around = innermost(thread, f.start[row]);
    Origin o = around ? out_.origins_[around->origin] : Origin();
    Open open;
    open.end = f.end[row];
    open.in_module = is_module || (around && around->in_module);
    open.kind = is_module ? Meaning::Kind::module : Meaning::Kind::dropped;
    if (is_module) {
      o.layer = out_.of_frame_[row] = module_layer(m, around);
      if (o.pass == Pass::other) o.pass = Pass::forward;
    }
    if (has_line) o.line = name;
    open.holds = is_module ? o.layer : around ? around->holds : outside;
    push(thread, open, o);
  }

  void open_range(Row row) {
    const Ranges& r = t_.ranges;
    const std::uint16_t thread = r.thread[row];
    const NameId name = r.name[row];
    if (r.end[row] <= r.start[row]) return;
    const Meaning& m = meaning_of(name, r.nest[row]);
    Open* around = innermost(thread, r.start[row]);
    Origin o = around ? out_.origins_[around->origin] : Origin();
    Open open;
    open.end = r.end[row];
    open.kind = m.kind;
    open.in_module = around && around->in_module;
    if (a_.names.sources.contains(name)) o.line = name;
    switch (m.kind) {
      case Meaning::Kind::module:
        open_module(m, around, o, open);
        out_.of_range_[row] = o.layer;
        if (const auto it = forward_end_.find(row); it != forward_end_.end())
          open.end = std::max(open.end, it->second);
        break;
      case Meaning::Kind::plain:
        if (r.end[row] - r.start[row] > longest_ns_) return;
        if (o.pass != Pass::backward || !around || !around->linked)
          o.layer = out_.of_range_[row] =
              range_layer(m.parts.front(), around ? around->holds : outside, around);
        break;
      case Meaning::Kind::dropped:
        // It began within what ends before it: a profiler's step may do that.
        if (around && around->end < r.end[row]) return;
        o.layer = around ? around->holds : outside;
        if (m.pass != Pass::other) o.pass = m.pass;
        if (m.label != 0) o.op = m.label;
        break;
      case Meaning::Kind::op: open_operator(row, m, around, o, open); break;
      case Meaning::Kind::backward_function: open_backward(row, m, around, o, open); break;
    }
    const bool encloses = m.kind == Meaning::Kind::plain && m.encloses;
    open.holds = !encloses ? o.layer : around ? around->holds : outside;
    if (m.kind == Meaning::Kind::op || m.kind == Meaning::Kind::dropped)
      open.holds = around ? around->holds : outside;
    if (around && around->linked) open.linked = true;
    if (around && around->recomputes && m.kind != Meaning::Kind::backward_function)
      open.recomputes = true;
    push(thread, open, o);
  }

  void open_module(const Meaning& m, const Open* around, Origin& o, Open& open) {
    o.layer = module_layer(m, around);
    open.in_module = true;
    if (m.pass != Pass::other) o.pass = m.pass;
    if (o.pass == Pass::other && !m.tells_pass) o.pass = Pass::forward;
    if (m.label != 0) o.op = m.label;
  }

  // Of nested operators the one counts that autograd knows; else the outermost. Regions compiled as
  // a whole and functions of the program, whose names have no "::", give way to what they run.
  void open_operator(Row row, const Meaning& m, const Open* around, Origin& o, Open& open) {
    const std::uint16_t thread = t_.ranges.thread[row];
    std::vector<std::uint32_t> arrows;
    each_arrow(by_forward_, t_.forwards.forward_start, next_forward_, t_.ranges.start[row],
               [&](std::uint32_t i) {
                 if (t_.forwards.forward_thread[i] == thread) arrows.push_back(i);
               });
    const bool sure = !arrows.empty() || m.sequence >= 0, was_sure = around && around->op_is_sure;
    const bool likely = !was_sure && linked_names_.contains(t_.ranges.name[row]);
    if (sure || likely || out_.operators_[o.op].find("::") == std::string::npos) o.op = m.label;
    open.op_is_sure = sure || was_sure;
    for (const std::uint32_t i : arrows) arrow_origin_[i] = origin_id(o);
    if (m.sequence < 0) return;
    if (around && around->recomputes)
      by_own_sequence_[{thread, m.sequence}] = origin_id(o);
    else if (o.pass != Pass::backward)
      by_sequence_[sequence_key(thread, m.sequence)] = origin_id(o);
  }

  void open_backward(Row row, const Meaning& m, Open* around, Origin& o, Open& open) {
    const std::uint16_t thread = t_.ranges.thread[row];
    if (const OriginId forward = forward_of(thread, t_.ranges.start[row], m); forward != 0) {
      o = out_.origins_[forward];
      o.pass = Pass::backward;
      open.linked = open.op_is_sure = true;
      open.recomputes = out_.operators_[o.op] == "CheckpointFunction";
      last_link_[thread] = origin_id(o);
      // What it leaves behind in the function around it, such as adding up two gradients, is its
      // own.
      if (around && around->kind == Meaning::Kind::backward_function)
        around->origin = last_link_[thread];
      return;
    }
    if (around && around->linked) return;  // a part of it
    if (last_link_[thread] != 0) o = out_.origins_[last_link_[thread]];
    o.op = m.label;
    o.pass = Pass::backward;
  }

  void push(std::uint16_t thread, Open& open, const Origin& o) {
    if (open_[thread].size() >= most_open) return;
    open.origin = origin_id(o);
    open_[thread].push_back(std::move(open));
  }

  ProgramLayers& out_;
  const Analysis& a_;
  const Trace& t_;
  const std::vector<std::uint8_t>& is_operator_;  // by name
  const std::vector<std::uint16_t>& callers_;     // by thread
  const Ns longest_ns_;
  std::vector<bool> is_autograd_;        // by thread
  std::vector<std::string> described_;   // how the steps were found
  bool has_paths_ = false;               // ranges name modules by their path
  std::vector<std::vector<Open>> open_;  // by thread
  std::vector<OriginId> last_link_;      // by thread: of the last backward function
  std::vector<Mark> mark_;               // by thread
  std::vector<std::uint32_t> known_;     // by name: into meanings_
  std::vector<Meaning> meanings_;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::unordered_set<std::string> xla_scopes_;
  std::unordered_set<NameId> linked_names_;  // of operators that have an arrow somewhere
  std::unordered_map<Row, Ns> forward_end_;  // of FSDP's ranges before a forward
  std::vector<std::string> parts_;
  std::unordered_map<std::string, std::uint32_t> part_ids_;
  std::unordered_map<std::uint64_t, LayerId> children_;  // by layer and part
  std::unordered_map<OriginKey, OriginId, HashOfKey> origin_ids_;
  std::unordered_map<std::uint64_t, OriginId> by_sequence_;  // by process and sequence number
  std::map<std::pair<std::uint16_t, std::int64_t>, OriginId> by_own_sequence_;
  // Rows of Trace::forwards in order of time, where each list has got to, and what the forward
  // operators came from.
  const std::vector<std::uint32_t> by_backward_, by_forward_;
  std::size_t next_backward_ = 0, next_forward_ = 0;
  std::vector<OriginId> arrow_origin_;
  Row next_range_ = 0, next_frame_ = 0;
};

ProgramLayers::ProgramLayers(const Analysis& analysis) : trace_(analysis.trace) {
  LayerFinder(*this, analysis).run();
  of_op_ = RepeatedLayers(*this, analysis).of_op();
}

OriginId ProgramLayers::of_allocation(Ns at, std::uint16_t thread) const {
  const Allocations& blocks = trace_.allocations;
  for (auto row = static_cast<std::size_t>(
           std::lower_bound(blocks.start.begin(), blocks.start.end(), at) - blocks.start.begin());
       row < blocks.size() && blocks.start[row] == at; ++row)
    if (blocks.thread[row] == thread) return of_allocation_[row];
  return 0;
}

std::string ProgramLayers::path_of(LayerId layer, bool stems) const {
  std::vector<const std::string*> names;
  for (; layer != outside; layer = layers_[layer].parent) {
    const Layer& l = layers_[layer];
    names.push_back(stems && !l.stem.empty() ? &l.stem : &l.name);
  }
  std::string text;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!text.empty()) text += '.';
    text += **name;
  }
  return text;
}

}  // namespace gh
