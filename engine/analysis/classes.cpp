#include "analysis/classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/parallel.hpp"
#include "base/schema_table.hpp"

namespace gh {
namespace {

constexpr std::array call_class_names{"other",   "sync",         "allocation", "copy_sync",
                                      "copy",    "graph_launch", "launch",     "compilation",
                                      "loading", "function",     "event"};

// By PassRange, from forward on.
constexpr std::array pass_keys{"forward", "backward", "both"};
constexpr std::array phase_names{"loader",     "optimizer",          "checkpoint",
                                 "evaluation", "garbage_collection", "compilation"};

constexpr std::array os_call_keys{"wait", "sleep", "wait_thread", "wait_lock",  "poll_lock",
                                  "wake", "read",  "write",       "make_thread"};  // by OsCallDoes
constexpr std::array form_keys{"backward_function", "backward_thread", "module_class",
                               "module_begins",     "module_ends",     "module_backward"};

// What `table` has under each of the keys, which name an enumerator each.
template <std::size_t size>
void read_each(const toml::node_view<const toml::node>& table,
               const std::array<const char*, size>& keys, std::array<Patterns, size>& to) {
  for (std::size_t i = 0; i < size; ++i) to[i] = Patterns(strings(table[keys[i]]));
}

template <class Each>
void for_tables(const toml::table& table, std::string_view key, Each each) {
  if (const toml::array* list = table[key].as_array())
    for (const toml::node& item : *list)
      if (const toml::table* entry = item.as_table()) each(*entry);
}

// How a table's expressions are read: a user's are checked.
auto patterns_of(std::string_view where, bool of_user) {
  return [=](const toml::node_view<const toml::node>& list) {
    return of_user ? Patterns(strings(list), where) : Patterns(strings(list));
  };
}

}  // namespace

const char* name_of(CallClass c) { return call_class_names[static_cast<std::size_t>(c)]; }

const char* name_of(OsCallDoes d) { return os_call_keys[static_cast<std::size_t>(d)]; }

const char* name_of(Phase p) { return phase_names[static_cast<std::size_t>(p)]; }

Classes::Classes() {
  static const Classes built_in{BuiltIn()};
  *this = built_in;
}

Classes::Classes(BuiltIn) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(KernelClass::own); ++c)
    kernel_class_of(std::string(traits_of(static_cast<KernelClass>(c)).name));
  const toml::table kernels = schema_table("schemas/kernels.toml");
  add_kernel_classes(kernels, "schemas/kernels.toml", false);
  libraries_ = Patterns(strings(kernels["library"]["match"]));
  add_gpus(schema_table("schemas/gpus.toml"), "schemas/gpus.toml", false);

  const toml::table calls = schema_table("schemas/calls.toml");
  for_tables(calls, "call_class", [&](const toml::table& entry) {
    const auto name = std::find(call_class_names.begin(), call_class_names.end(),
                                entry["class"].value_or(std::string()));
    if (name == call_class_names.end())
      throw std::logic_error("schemas/calls.toml names an unknown class");
    calls_.push_back({static_cast<CallClass>(name - call_class_names.begin()),
                      Patterns(strings(entry["match"])), Patterns(strings(entry["except"]))});
  });
  waits_ = Patterns(strings(calls["call"]["waits"]));
  selecting_kernels_ = Patterns(strings(calls["select"]["kernels"]));
  selecting_operators_ = Patterns(strings(calls["select"]["operators"]));
  read_each(calls["os_call"], os_call_keys, os_calls_);
  add_call_results(calls);

  const toml::table ranges = schema_table("schemas/ranges.toml");
  for_tables(ranges, "step", [&](const toml::table& entry) {
    steps_.push_back({strings(entry["match"]), StepPattern::At::whole});
  });
  for_tables(ranges, "mark", [&](const toml::table& entry) {
    steps_.push_back({strings(entry["match"]), entry["at"].value_or(std::string()) == "start"
                                                   ? StepPattern::At::start
                                                   : StepPattern::At::end});
  });
  no_steps_ = strings((*ranges["no_step"].as_table())["match"]);
  std::vector<std::vector<std::string>> passes;
  for (const char* pass : pass_keys)
    passes.push_back(strings((*(*ranges["pass"].as_table())[pass].as_table())["match"]));
  passes_ = PatternLists(std::move(passes));
  read_each(ranges["form"], form_keys, forms_);
  evaluations_ = CapturingPatterns(strings(ranges["evaluation"]["match"]), "schemas/ranges.toml");
  operator_ranges_ = Patterns(strings(ranges["operator"]["match"]));
  regions_ = Patterns(strings(ranges["region"]["match"]));
  modules_ = CapturingPatterns(strings(ranges["module"]["match"]), "schemas/ranges.toml");
  module_wrappers_ = strings(ranges["module"]["wrappers"]);
  for_tables(ranges, "unit", [&](const toml::table& entry) {
    units_.push_back({entry["name"].value_or(std::string()), Patterns(strings(entry["match"])),
                      Patterns(strings(entry["kernels"]))});
  });
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const toml::table& phase = *ranges["phase"][phase_names[i]].as_table();
    phases_[i].expressions = strings(phase["match"]);
    phases_[i].except = Patterns(strings(phase["except"]));
  }
  join_lists();
}

// After a change of the lists of steps or phases.
void Classes::join_lists() {
  std::vector<std::vector<std::string>> steps, phases;
  for (const StepPattern& s : steps_) steps.push_back(s.expressions);
  steps.push_back(no_steps_);
  step_lists_ = PatternLists(std::move(steps));
  for (const PhasePatterns& p : phases_) phases.push_back(p.expressions);
  phase_lists_ = PatternLists(std::move(phases));
}

bool Classes::is_no_step(std::string_view range) const {
  const std::vector<std::size_t> called = steps_called(range);
  return !called.empty() && called.back() == steps_.size();
}

bool Classes::is_step(std::string_view range) const {
  const std::vector<std::size_t> called = steps_called(range);
  return !called.empty() && called.back() < steps_.size() &&
         std::any_of(called.begin(), called.end(),
                     [&](std::size_t s) { return steps_[s].at == StepPattern::At::whole; });
}

PassRange Classes::pass_of_range(std::string_view range) const {
  const std::vector<std::size_t> passes = passes_.match(range);
  return passes.empty() ? PassRange::none : static_cast<PassRange>(1 + passes.front());
}

std::uint8_t Classes::phases_of(std::string_view range) const {
  std::uint8_t phases = 0;
  for (const std::size_t p : phase_lists_.match(range))
    if (!phases_[p].except.match(range)) phases |= static_cast<std::uint8_t>(1 << p);
  return phases;
}

std::string Classes::module_of_range(std::string_view range) const {
  const std::string full = modules_.captured(range);
  std::string path;
  for (std::size_t at = 0; at < full.size();) {
    const std::size_t end = std::min(full.find('.', at), full.size());
    const std::string part = full.substr(at, end - at);
    if (std::find(module_wrappers_.begin(), module_wrappers_.end(), part) == module_wrappers_.end())
      path += (path.empty() ? "" : ".") + part;
    at = end + 1;
  }
  return path;
}

std::string Classes::unit_of_range(std::string_view range) const {
  const auto it = std::find_if(units_.begin(), units_.end(),
                               [&](const UnitPatterns& u) { return u.ranges.match(range); });
  return it == units_.end() ? "" : it->name;
}

std::string Classes::unit_of_kernel(std::string_view kernel) const {
  const auto it = std::find_if(units_.begin(), units_.end(),
                               [&](const UnitPatterns& u) { return u.kernels.match(kernel); });
  return it == units_.end() ? "" : it->name;
}

void Classes::extend(const toml::table& config, std::string_view where) {
  add_kernel_classes(config, where, true);
  add_gpus(config, where, true);
  const toml::table* ranges = config["ranges"].as_table();
  if (!ranges) return;
  const auto checked = [&](std::vector<std::string> expressions) {
    const Patterns compiled(expressions, where);  // throws if one is wrong
    return expressions;
  };
  if (const auto steps = strings((*ranges)["step"]); !steps.empty())
    steps_.insert(steps_.begin(), {checked(steps), StepPattern::At::whole});
  modules_.put_first(CapturingPatterns(strings((*ranges)["module"]), where));
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const std::vector<std::string> more = checked(strings((*ranges)[phase_names[i]]));
    phases_[i].expressions.insert(phases_[i].expressions.end(), more.begin(), more.end());
  }
  join_lists();
}

void Classes::add_call_results(const toml::table& table) {
  for_tables(table, "result", [&](const toml::table& entry) {
    const CallResult result{entry["name"].value_or(std::string()),
                            entry["means"].value_or(std::string()), entry["fatal"].value_or(false)};
    results_[static_cast<std::uint16_t>(entry["code"].value_or(0))] = result;
  });
  for_tables(table, "expected_result", [&](const toml::table& entry) {
    expected_.push_back({Patterns(strings(entry["match"])), {}, entry["at_end"].value_or(false)});
    ExpectedResult& expected = expected_.back();
    if (const toml::array* codes = entry["results"].as_array())
      for (const toml::node& code : *codes)
        expected.results.push_back(static_cast<std::uint16_t>(code.value_or(0)));
  });
}

Classes::CallResult Classes::call_result(std::uint16_t result) const {
  const auto known = results_.find(result);
  return known == results_.end() ? CallResult{fmt::format("error {}", result), "", false}
                                 : known->second;
}

bool Classes::is_expected(std::string_view call, std::uint16_t result, bool at_end) const {
  return std::any_of(expected_.begin(), expected_.end(), [&](const ExpectedResult& e) {
    return (at_end || !e.at_end) &&
           (e.results.empty() ||
            std::find(e.results.begin(), e.results.end(), result) != e.results.end()) &&
           e.match.match(call);
  });
}

namespace {

// By process, when the last call began that launched something which ran; of one that launched
// nothing, no end is known.
std::vector<Ns> last_launches(const Trace& trace) {
  std::vector<Ns> last(trace.processes.size(), std::numeric_limits<Ns>::max());
  for (Row op = 0; op < trace.ops.size(); ++op) {
    const Row call = trace.ops.call[op];
    if (call == no_row) continue;
    Ns& of_process = last[trace.threads[trace.calls.thread[call]].process];
    const Ns start = trace.calls.start[call];
    of_process = of_process == std::numeric_limits<Ns>::max() ? start : std::max(of_process, start);
  }
  return last;
}

}  // namespace

std::vector<Row> failed_calls(const Trace& trace, const Classes& classes) {
  const Calls& calls = trace.calls;
  std::vector<Row> failed;
  std::vector<Ns> last;
  std::map<std::tuple<NameId, std::uint16_t, bool>, bool> known;  // whether it is expected
  for (Row c = 0; c < calls.result.size(); ++c) {
    if (calls.result[c] == 0) continue;
    if (last.empty()) last = last_launches(trace);
    const bool at_end = calls.start[c] > last[trace.threads[calls.thread[c]].process];
    const auto [it, is_new] = known.try_emplace({calls.name[c], calls.result[c], at_end});
    if (is_new)
      it->second = classes.is_expected(trace.names[calls.name[c]], calls.result[c], at_end);
    if (!it->second) failed.push_back(c);
  }
  return failed;
}

KernelClass Classes::kernel_class_of(const std::string& name) {
  const auto it = std::find(kernel_classes_.begin(), kernel_classes_.end(), name);
  if (it != kernel_classes_.end()) return static_cast<KernelClass>(it - kernel_classes_.begin());
  if (kernel_classes_.size() == 250)
    throw Error("there are more than 250 kernel classes; define fewer");
  kernel_classes_.push_back(name);
  products_.push_back(gh::is_product(name));
  return static_cast<KernelClass>(kernel_classes_.size() - 1);
}

void Classes::add_kernel_classes(const toml::table& table, std::string_view where, bool first) {
  const auto patterns = patterns_of(where, first);
  std::vector<KernelPattern> added;
  for_tables(table, "kernel_class", [&](const toml::table& entry) {
    added.push_back({kernel_class_of(entry["class"].value_or(std::string("other"))),
                     patterns(entry["match"]), patterns(entry["except"])});
  });
  kernels_.insert(first ? kernels_.begin() : kernels_.end(), added.begin(), added.end());
}

KernelClass Classes::kernel_class(std::string_view name) const {
  for (const KernelPattern& k : kernels_)
    if (k.match.match(name) && !k.except.match(name)) return k.value;
  return KernelClass::other;
}

CallClass Classes::call_class(std::string_view name) const {
  for (const CallPattern& c : calls_)
    if (c.match.match(name) && !c.except.match(name)) return c.value;
  return CallClass::other;
}

void Classes::add_gpus(const toml::table& table, std::string_view where, bool first) {
  const auto patterns = patterns_of(where, first);
  std::vector<Gpu> added;
  for_tables(table, "gpu", [&](const toml::table& entry) {
    constexpr double most_sms = 100'000;
    const auto number = [&](std::string_view key) { return entry[key].value_or(0.0); };
    GpuPeaks p;
    p.fp32 = number("fp32_tflops") * 1e12;
    p.tf32 = number("tf32_tflops") * 1e12;
    p.half = number("half_tflops") * 1e12;
    p.fp8 = number("fp8_tflops") * 1e12;
    p.memory_bytes_per_s = number("memory_gb_per_s") * 1e9;
    p.host_link_bytes_per_s = number("host_link_gb_per_s") * 1e9;
    p.coherent = entry["coherent"].value_or(false);
    p.has_tensor_cores = entry["tensor_cores"].value_or(p.half > p.fp32);
    p.known = p.fp32 > 0;
    p.source =
        fmt::format("{}: {}", where, printable(entry["name"].value_or(std::string("unnamed"))));
    added.push_back({patterns(entry["match"]), p,
                     static_cast<int>(std::min(most_sms, std::max(0.0, number("sm_count"))))});
  });
  gpus_.insert(first ? gpus_.begin() : gpus_.end(), added.begin(), added.end());
  if (const toml::table* rates = table["attainable"].as_table())
    attainable_ = {(*rates)["fp32"].value_or(1.0), (*rates)["tf32"].value_or(1.0),
                   (*rates)["half"].value_or(1.0), (*rates)["fp8"].value_or(1.0),
                   (*rates)["memory"].value_or(1.0)};
  for_tables(table, "sm", [&](const toml::table& entry) {
    const auto number = [&](std::string_view key) {
      return static_cast<std::uint32_t>(
          std::clamp<std::int64_t>(entry[key].value_or(0), 0, 1 << 30));
    };
    const toml::array* capability = entry["compute_capability"].as_array();
    if (!capability || capability->size() != 2) return;
    sms_[{(*capability)[0].value_or(0), (*capability)[1].value_or(0)}] = {
        number("warps"), number("blocks"), number("registers"), number("shared_bytes"),
        number("shared_bytes_a_block")};
  });
}

std::optional<SmLimits> Classes::sm_limits(const Device& device) const {
  const auto it = sms_.find({device.compute_major, device.compute_minor});
  return it == sms_.end() ? std::nullopt : std::optional(it->second);
}

GpuPeaks Classes::peaks(const Device& device) const {
  for (const Gpu& gpu : gpus_)
    if (!device.name.empty() && gpu.match.match(device.name)) {
      GpuPeaks p = gpu.peaks;
      // A slice of a GPU (MIG) has its parent's name and only part of its SMs.
      if (device.sm_count > 0 && 10 * device.sm_count < 9 * gpu.sm_count) {
        const double part = static_cast<double>(device.sm_count) / gpu.sm_count;
        for (double* rate : {&p.fp32, &p.tf32, &p.half, &p.fp8, &p.memory_bytes_per_s})
          *rate *= part;
      }
      if (device.memory_bytes_per_s > 0) p.memory_bytes_per_s = device.memory_bytes_per_s;
      return p;
    }
  // The name is unknown: go by the architecture, if the report gives SMs and clock. Operations per
  // SM and clock, dense.
  static const toml::table table = schema_table("schemas/gpus.toml");
  GpuPeaks p;
  p.memory_bytes_per_s = device.memory_bytes_per_s;
  p.has_tensor_cores = device.compute_major >= 7;
  for_tables(table, "architecture", [&](const toml::table& entry) {
    if (entry["compute_capability_major"].value_or(-1) != device.compute_major ||
        entry["compute_capability_minor"].value_or(-1) != device.compute_minor)
      return;
    if (const auto names = strings(entry["match"]);
        p.known || (!names.empty() && !Patterns(names).match(device.name)))
      return;
    p.has_tensor_cores = entry["tensor_cores"].value_or(p.has_tensor_cores);
    const double clocks = device.sm_count * device.clock_hz;
    const auto rate = [&](std::string_view key) { return entry[key].value_or(0.0) * clocks; };
    p.fp32 = rate("fp32_flops_per_sm_clock");
    p.tf32 = rate("tf32_flops_per_sm_clock");
    p.half = rate("half_flops_per_sm_clock");
    p.fp8 = rate("fp8_flops_per_sm_clock");
    p.known = p.fp32 > 0;
    p.source = "architecture, SMs and clock";
  });
  return p;
}

NameClasses::NameClasses(const Trace& trace, const Classes& classes)
    : kernel(trace.names.size()),
      own(trace.names.size()),
      call(trace.names.size()),
      waits(trace.names.size()),
      os_call(trace.names.size()),
      phases(trace.names.size()) {
  enum : std::uint8_t { of_kernel = 1, of_call = 2, of_range = 4, of_frame = 8, of_os_call = 16 };
  std::vector<std::uint8_t> borne(trace.names.size());  // what kind of row has the name
  for (Row r = 0; r < trace.ops.size(); ++r)
    if (trace.ops.kind[r] == OpKind::kernel) borne[trace.ops.name[r]] |= of_kernel;
  for (const NameId id : trace.calls.name) borne[id] |= of_call;
  for (const NameId id : trace.ranges.name) borne[id] |= of_range;
  for (const NameId id : trace.frames.name) borne[id] |= of_frame;
  for (const NameId id : trace.os_calls.name) borne[id] |= of_os_call;
  // Look up each name once, in parallel: a framework that numbers its ranges leaves millions of
  // names.
  constexpr std::size_t at_a_time = 1024;
  std::mutex mutex;
  in_parallel((borne.size() + at_a_time - 1) / at_a_time, [&](std::size_t block, std::size_t) {
    std::vector<std::pair<NameId, SourceLine>> lines;
    for (std::size_t id = block * at_a_time; id < std::min(borne.size(), (block + 1) * at_a_time);
         ++id) {
      const auto name = static_cast<NameId>(id);
      const std::string& text = trace.names[name];
      if (borne[id] & of_kernel) {
        kernel[id] = classes.kernel_class(text);
        own[id] = !classes.is_library_kernel(text);
      }
      if (borne[id] & of_call) {
        call[id] = classes.call_class(text);
        waits[id] = classes.waits_implicitly(text);
      }
      if (borne[id] & of_os_call)
        for (std::size_t d = 0; d < static_cast<std::size_t>(OsCallDoes::count); ++d)
          os_call[id] |=
              static_cast<std::uint16_t>(classes.does(static_cast<OsCallDoes>(d), text) << d);
      if (borne[id] & of_range) phases[id] = classes.phases_of(text);
      if (borne[id] & (of_range | of_frame))
        if (SourceLine line = source_line(text); line.line > 0)
          lines.emplace_back(name, std::move(line));
    }
    const std::lock_guard lock(mutex);
    for (auto& [name, line] : lines) sources[name] = std::move(line);
  });
}

}  // namespace gh
