// What names mean (kernels, CUDA calls, ranges and GPUs), looked up in the tables of schemas/ and
// in those that a team adds.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/kernel_class.hpp"
#include "base/text.hpp"
#include "trace/trace.hpp"

namespace toml {
inline namespace v3 {
class table;
}
}  // namespace toml

namespace gh {

/// What a CUDA call does to the thread that makes it (schemas/calls.toml).
enum class CallClass : std::uint8_t {
  other,
  sync,
  allocation,
  copy_sync,
  copy,
  graph_launch,
  launch,
  compilation,
  loading,
  function,
  event
};
const char* name_of(CallClass);
/// Whether such a call puts work on the GPU.
inline bool launches(CallClass c) {
  return c == CallClass::launch || c == CallClass::graph_launch || c == CallClass::copy ||
         c == CallClass::copy_sync;
}

/// What an OS call does to the thread that makes it (schemas/calls.toml).
enum class OsCallDoes : std::uint8_t {
  wait,         ///< nothing, until another thread, process or device has something for it
  sleep,        ///< nothing, until a time is over, or a thread or process has ended
  wait_thread,  ///< nothing, until another thread lets it go on
  wait_lock,    ///< it may wait for Python's lock
  poll_lock,    ///< it waits for Python's lock as hardly any other code does
  wake,         ///< lets another thread go on
  read,
  write,
  make_thread,
  count
};
const char* name_of(OsCallDoes);

/// What a framework means by the name of a range or a thread (schemas/ranges.toml).
enum class Form : std::uint8_t {
  backward_function,  ///< the backward of an operator
  backward_thread,    ///< a thread that runs these
  module_class,       ///< names a module by its class, not by its path
  module_begins,      ///< a mark before a module's forward
  module_ends,        ///< a mark after it
  module_backward,    ///< a range around a module's backward
  count
};

/// What part of training a range is (schemas/ranges.toml).
enum class Phase : std::uint8_t {
  loader,
  optimizer,
  checkpoint,
  evaluation,
  garbage_collection,
  compilation,
  count
};
const char* name_of(Phase);

/// Dense peak rates of a GPU, in operations a second; 0 where it lacks such units or the rate is
/// unknown.
struct GpuPeaks {
  double fp32 = 0, tf32 = 0, half = 0, fp8 = 0;
  double memory_bytes_per_s = 0;
  double host_link_bytes_per_s = 0;  ///< one way, as attained in practice
  bool coherent = false;             ///< host and GPU share their memory (NVLink-C2C)
  bool has_tensor_cores = false;
  bool known = false;  ///< false: nothing is known about this GPU
  std::string source;  ///< the table row that these come from
};

/// What one SM holds at once, by compute capability.
struct SmLimits {
  std::uint32_t warps = 0, blocks = 0, registers = 0, shared_bytes = 0;
  std::uint32_t shared_bytes_a_block = 0;  ///< that the driver reserves
};

/// How much faster a GEMM runs at another precision on a GPU, computed from the peaks and the
/// fraction of them that GEMMs attain.
struct Attainable {
  double fp32 = 1, tf32 = 1, half = 1, fp8 = 1, memory = 1;
};

/// Which pass of training a range encloses (schemas/ranges.toml).
enum class PassRange : std::uint8_t { none, forward, backward, both };

class Classes {
 public:
  /// The built-in tables. Their expressions are compiled once, and then copied.
  Classes();
  /// A team's tables, which take precedence: [[kernel_class]], [[gpu]] and [ranges] of
  /// gh-advise.toml. `where` names the file.
  void extend(const toml::table& config, std::string_view where);

  /// The names of all kernel classes, by KernelClass: those that the program knows, then those that
  /// only the tables name.
  const std::vector<std::string>& kernel_classes() const { return kernel_classes_; }
  const std::string& name_of(KernelClass c) const {
    return kernel_classes_[static_cast<std::size_t>(c)];
  }
  KernelClass kernel_class(std::string_view demangled_name) const;
  CallClass call_class(std::string_view name) const;
  /// Whether a call that is no synchronization returns only when the GPU has done what was
  /// launched.
  bool waits_implicitly(std::string_view call) const { return waits_.match(call); }
  /// Whether a kernel belongs to a library or framework rather than to the program.
  bool is_library_kernel(std::string_view demangled_name) const {
    return libraries_.match(demangled_name);
  }
  /// Whether kernels of a class are matrix products, or attention, which consists of them.
  bool is_product(KernelClass c) const {
    return c != KernelClass::none && products_[static_cast<std::size_t>(c)];
  }

  /// Whether only the GPU knows how many results a kernel, or an operator, gives, so that the host
  /// has to ask.
  bool selects(std::string_view kernel) const { return selecting_kernels_.match(kernel); }
  bool asks_for_size(std::string_view op) const { return selecting_operators_.match(op); }

  bool does(OsCallDoes what, std::string_view os_call) const {
    return os_calls_[static_cast<std::size_t>(what)].match(os_call);
  }

  /// A result of a CUDA call other than success, and what is known about it.
  struct CallResult {
    std::string name;    ///< "cudaErrorMemoryAllocation"; the number if it is unknown
    std::string means;   ///< "out of memory"
    bool fatal = false;  ///< no later call of the process succeeds
  };
  CallResult call_result(std::uint16_t result) const;
  /// Whether the result is an answer, such as "not ready", rather than a failure. `at_end`: the
  /// process launches nothing more, so its driver may be gone.
  bool is_expected(std::string_view call, std::uint16_t result, bool at_end = false) const;

  struct StepPattern {
    std::vector<std::string> expressions;
    enum class At { whole, start, end } at;
  };
  const std::vector<StepPattern>& steps() const { return steps_; }
  /// Positions in steps() of those that match a range's name, ascending. After them, as
  /// steps().size(), stands the list of names that are numbered, but no steps: warm-up, epochs,
  /// layers.
  std::vector<std::size_t> steps_called(std::string_view range) const {
    return step_lists_.match(range);
  }
  bool is_no_step(std::string_view range) const;
  /// Whether the name alone marks a step.
  bool is_step(std::string_view range) const;
  bool is(Form form, std::string_view name) const {
    return forms_[static_cast<std::size_t>(form)].match(name);
  }
  /// The operator that a range of PyTorch's autograd evaluates; "" for other ranges.
  std::string evaluated_operator(std::string_view range) const {
    return evaluations_.captured(range);
  }
  PassRange pass_of_range(std::string_view range) const;
  /// Of ranges that look like the program's own: those that frameworks make for an operator.
  bool is_operator_range(std::string_view range) const { return operator_ranges_.match(range); }
  /// Of ranges that look like operators: those that stand for a part of the program.
  bool is_region(std::string_view range) const { return regions_.match(range); }
  /// The path of the module that a range names, without what wrappers add: "blocks.3.attn"; "" if
  /// it names none.
  std::string module_of_range(std::string_view range) const;
  /// What a range of this name is: "frame"; "" where the name does not say.
  std::string unit_of_range(std::string_view range) const;
  /// What a repetition that contains such a kernel is; "" where the kernel's name does not say.
  std::string unit_of_kernel(std::string_view kernel) const;
  /// One bit for each Phase that the name of a range means.
  std::uint8_t phases_of(std::string_view range) const;
  bool is_phase(Phase phase, std::string_view range) const {
    return phases_of(range) >> static_cast<int>(phase) & 1;
  }

  GpuPeaks peaks(const Device& device) const;
  /// What an SM of the device holds at once; nothing where its compute capability is not listed.
  std::optional<SmLimits> sm_limits(const Device& device) const;
  const Attainable& attainable() const { return attainable_; }

 private:
  struct Gpu {
    Patterns match;
    GpuPeaks peaks;
    int sm_count;
  };
  struct BuiltIn {};
  explicit Classes(BuiltIn);
  void add_call_results(const toml::table& table);
  void add_kernel_classes(const toml::table& table, std::string_view where, bool first);
  void add_gpus(const toml::table& table, std::string_view where, bool first);
  KernelClass kernel_class_of(const std::string& name);
  void join_lists();

  std::vector<std::string> kernel_classes_;
  std::vector<bool> products_;  // by KernelClass
  struct KernelPattern {
    KernelClass value;
    Patterns match, except;
  };
  std::vector<KernelPattern> kernels_;
  Patterns libraries_;
  struct CallPattern {
    CallClass value;
    Patterns match, except;
  };
  std::vector<CallPattern> calls_;
  Patterns waits_, selecting_kernels_, selecting_operators_;
  std::array<Patterns, static_cast<std::size_t>(OsCallDoes::count)> os_calls_;
  std::unordered_map<std::uint16_t, CallResult> results_;
  struct ExpectedResult {
    Patterns match;
    std::vector<std::uint16_t> results;  // empty: any
    bool at_end;                         // only once the process launches nothing more
  };
  std::vector<ExpectedResult> expected_;
  std::vector<StepPattern> steps_;
  std::vector<std::string> no_steps_;
  PatternLists step_lists_;  // of both
  PatternLists passes_;      // by PassRange, from forward on
  Patterns operator_ranges_, regions_;
  std::array<Patterns, static_cast<std::size_t>(Form::count)> forms_;
  CapturingPatterns modules_, evaluations_;
  std::vector<std::string> module_wrappers_;
  struct UnitPatterns {
    std::string name;
    Patterns ranges, kernels;
  };
  std::vector<UnitPatterns> units_;
  struct PhasePatterns {
    std::vector<std::string> expressions;
    Patterns except;
  };
  std::array<PhasePatterns, static_cast<std::size_t>(Phase::count)> phases_;
  PatternLists phase_lists_;  // of these
  std::vector<Gpu> gpus_;
  std::map<std::pair<int, int>, SmLimits> sms_;  // by compute capability
  Attainable attainable_;
};

/// The calls that failed, in order.
std::vector<Row> failed_calls(const Trace& trace, const Classes& classes);

/// Properties of names that are needed over and over, looked up once for each distinct name of a
/// trace.
struct NameClasses {
  std::vector<KernelClass> kernel;     ///< by NameId; only for names of kernels
  std::vector<std::uint8_t> own;       ///< by NameId: 1 for kernels that belong to no library
  std::vector<CallClass> call;         ///< by NameId; only for names of calls
  std::vector<std::uint8_t> waits;     ///< by NameId: 1 for calls that wait implicitly
  std::vector<std::uint16_t> os_call;  ///< by NameId of an OS call: one bit an OsCallDoes
  std::vector<std::uint8_t> phases;    ///< by NameId of a range: one bit a Phase
  /// For ranges and Python frames that name a line of the program.
  std::unordered_map<NameId, SourceLine> sources;

  NameClasses() = default;
  NameClasses(const Trace& trace, const Classes& classes);
  bool does(OsCallDoes what, NameId name) const {
    return os_call[name] >> static_cast<int>(what) & 1;
  }
  bool is_phase(Phase phase, NameId range) const {
    return phases[range] >> static_cast<int>(phase) & 1;
  }
};

}  // namespace gh
