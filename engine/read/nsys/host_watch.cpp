#include "read/nsys/host_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "read/nsys/rows.hpp"
#include "read/nsys/translator.hpp"

namespace gh::nsys {
namespace {

// How much a frame says about what a thread is doing, best first.
enum class Tells : std::uint8_t { function, module, plumbing_function, nothing };

// Libraries that everything goes through: their caller says more.
bool is_plumbing(std::string_view module) {
  for (const std::string_view start :
       {"libc.", "libc-", "ld-linux", "libpthread", "libstdc++", "libgcc_s", "libm.", "libm-",
        "libdl", "libToolsInjection", "libcupti", "libnvtx", "[", "linux-vdso"}) {
    if (module.starts_with(start)) return true;
  }
  return module.empty();
}

// The interpreter itself: which of its functions ran says nothing about the program.
bool is_interpreter(std::string_view module) {
  return module.starts_with("python") || module.starts_with("libpython");
}

bool is_symbol(std::string_view symbol) {
  // Cython's symbols say no more than their module does.
  return !symbol.empty() && !symbol.starts_with("0x") && !symbol.starts_with("[") &&
         !symbol.starts_with("__pyx_");
}

// C++ function names contain their arguments: "at::native::add(at::Tensor const&)".
std::string_view without_arguments(std::string_view symbol) {
  if (!symbol.ends_with(')') && !symbol.ends_with("const")) return symbol;
  int open = 0;  // angle brackets; those of "operator<" are not worth distinguishing
  for (std::size_t i = 0; i < symbol.size(); ++i) {
    if (symbol[i] == '<') ++open;
    if (symbol[i] == '>' && open > 0) --open;
    const bool anonymous = symbol.substr(i).starts_with("(anonymous");
    const bool named = i > 0 && !symbol.substr(0, i).ends_with("operator");
    if (symbol[i] == '(' && open == 0 && !anonymous && named) return symbol.substr(0, i);
  }
  return symbol;
}

// What frames with one symbol and module say, worked out once for all of them.
class FrameNames {
 public:
  explicit FrameNames(Names& names) : names_(names) {}

  struct Told {
    Tells tells = Tells::nothing;
    NameId function = 0, module = 0;
  };

  const Told& of(NameId symbol, NameId module) {
    const std::uint64_t key = std::uint64_t{symbol} << 32 | module;
    const auto [it, added] = known_.try_emplace(key);
    if (added) it->second = told(symbol, module);
    return it->second;
  }

 private:
  Told told(NameId symbol_id, NameId module_id) {
    const std::string symbol = symbol_id == unknown_name ? "" : names_[symbol_id];
    const std::string module = short_module(module_id == unknown_name ? "" : names_[module_id]);
    Told t;
    t.module = names_.intern(module);
    const bool has_symbol = is_symbol(symbol) && !is_interpreter(module);
    t.tells = is_plumbing(module) ? (has_symbol && !module.starts_with("libToolsInjection")
                                         ? Tells::plumbing_function
                                         : Tells::nothing)
              : has_symbol        ? Tells::function
                                  : Tells::module;
    t.function = is_interpreter(module) ? names_.intern(fmt::format("Python itself ({})", module))
                 : has_symbol
                     ? names_.intern(fmt::format("{} ({})", without_arguments(symbol), module))
                     : t.module;
    return t;
  }

  Names& names_;
  std::unordered_map<std::uint64_t, Told> known_;
};

}  // namespace

std::string short_module(std::string_view path) {
  static constexpr std::string_view folders[] = {"site-packages/", "dist-packages/"};
  const std::size_t binary = path.find(".cpython-");
  for (const std::string_view folder : folders) {
    const std::size_t at = path.rfind(folder);
    if (at == path.npos || binary == path.npos || binary < at) continue;
    std::string name(path.substr(at + folder.size(), binary - at - folder.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    return name;
  }
  return std::string(path.substr(path.rfind('/') + 1));
}

void read_switches(const TablePart& from, Part& part) {
  enum { start, thread, cpu, in };
  TableReader rows(from, {"start", "thread", "cpu", "in"}, part.problems, &part.count);
  Switches& switches = part.switches;
  reserve_rows(switches, rows.expected_rows(from.db));
  while (rows.next()) {
    const Ns at = rows.integer(start);
    const std::int64_t whose = rows.integer(thread);
    const std::uint32_t on = small(rows.integer(cpu));
    const bool is_in = rows.integer(in) != 0;
    if (!rows.sound(at, at)) continue;
    switches.start.push_back(at);
    switches.thread.push_back(thread_number(whose, *part.numbers));
    switches.cpu.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(on, no_index)));
    switches.in.push_back(is_in);
  }
}

void read_stack_samples(const TablePart& from, Part& part) {
  enum { start, thread, id };
  TableReader rows(from, {"start", "thread", "id"}, part.problems, &part.count);
  StackSamples& samples = part.stack_samples;
  reserve_rows(samples, rows.expected_rows(from.db));
  while (rows.next()) {
    const Ns at = rows.integer(start);
    const std::int64_t whose = rows.integer(thread), stack = rows.integer(id);
    if (!rows.sound(at, at)) continue;
    samples.start.push_back(at);
    samples.thread.push_back(thread_number(whose, *part.numbers));
    samples.id.push_back(stack);
  }
}

void read_stack_frames(const TablePart& from, Part& part) {
  enum { sample, depth, symbol, module };
  TableReader rows(from, {"sample", "depth", "symbol", "module"}, part.problems, &part.count);
  StackFrames& frames = part.stack_frames;
  reserve_rows(frames, rows.expected_rows(from.db));
  while (rows.next()) {
    const std::int64_t stack = rows.integer(sample), level = rows.integer(depth);
    const FileNameView function = rows.name(symbol), library = rows.name(module);
    if (!rows.sound()) continue;
    frames.sample.push_back(stack);
    frames.depth.push_back(small(level));
    frames.symbol.push_back(part.numbers->names(function));
    frames.module.push_back(part.numbers->names(library));
  }
}

void join_switches(const Switches& switches, CpuStretches& stretches) {
  std::vector<Row> order(switches.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](Row a, Row b) {
    const auto key = [&](Row r) {
      return std::tuple(switches.thread[r], switches.start[r], switches.in[r], switches.cpu[r]);
    };
    return key(a) < key(b);
  });
  const auto add = [&](Ns start, Ns end, Row of) {
    stretches.start.push_back(start);
    stretches.end.push_back(end);
    stretches.thread.push_back(switches.thread[of]);
    stretches.cpu.push_back(switches.cpu[of]);
  };
  Row on = no_row;    // a switch onto a CPU without a matching switch off it so far
  Row last = no_row;  // of the same thread
  for (const Row r : order) {
    if (last != no_row && switches.thread[last] != switches.thread[r]) {
      if (on != no_row) add(switches.start[on], open_end, on);
      on = last = no_row;
    }
    if (switches.in[r]) {
      if (on != no_row) add(switches.start[on], switches.start[r], on);
      on = r;
    } else {
      const Row from = on != no_row ? on : last;
      if (from != no_row) add(switches.start[from], switches.start[r], r);
      on = no_row;
    }
    last = r;
  }
  if (on != no_row) add(switches.start[on], open_end, on);
}

void name_samples(const StackSamples& samples, const StackFrames& frames, Trace& trace) {
  struct Best {
    FrameNames::Told told;
    std::uint32_t depth = std::numeric_limits<std::uint32_t>::max();
  };
  std::unordered_map<std::int64_t, Best> by_id;
  by_id.reserve(samples.size());
  for (const std::int64_t id : samples.id) by_id.try_emplace(id);
  FrameNames names(trace.names);
  for (Row f = 0; f < frames.size(); ++f) {
    const auto it = by_id.find(frames.sample[f]);
    if (it == by_id.end()) continue;
    const FrameNames::Told& told = names.of(frames.symbol[f], frames.module[f]);
    Best& best = it->second;
    if (std::pair(told.tells, frames.depth[f]) < std::pair(best.told.tells, best.depth)) {
      best = {told, frames.depth[f]};
    }
  }
  HostSamples& to = trace.host_samples;
  for (Row s = 0; s < samples.size(); ++s) {
    const Best& best = by_id[samples.id[s]];
    if (best.told.function == 0) continue;
    to.start.push_back(samples.start[s]);
    to.thread.push_back(samples.thread[s]);
    to.function.push_back(best.told.function);
    to.module.push_back(best.told.module);
    to.line.push_back(0);
    to.is_python.push_back(0);
  }
}

void take_python_lock(Trace& trace) {
  const NameId waiting = trace.names.find("Waiting for GIL"),
               holding = trace.names.find("Holding GIL");
  if (waiting == 0 && holding == 0) return;
  Ranges& ranges = trace.ranges;
  PythonLock& lock = trace.python_lock;
  Row kept = 0;
  for (Row r = 0; r < ranges.size(); ++r) {
    const NameId name = ranges.name[r];
    if (name != 0 && (name == waiting || name == holding)) {
      lock.start.push_back(ranges.start[r]);
      lock.end.push_back(ranges.end[r]);
      lock.name.push_back(name);
      lock.thread.push_back(ranges.thread[r]);
      lock.holds.push_back(name == holding);
    }
    if (name != 0 && name == holding) continue;
    each_column([&](auto, auto& values) { values[kept] = values[r]; }, ranges);
    ++kept;
  }
  each_column([&](auto, auto& values) { values.resize(kept); }, ranges);
}

}  // namespace gh::nsys
