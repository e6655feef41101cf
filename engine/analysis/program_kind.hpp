// What kind of program was recorded: the framework that launches its work, what runs that, and what
// it is for, determined once from the names in the report (schemas/programs.toml). Without such
// names the kind is unknown, and messages use only CUDA's own terms.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

/// One known property of a program.
struct Trait {
  std::string key;       ///< as rules name it: "pytorch"
  std::string name;      ///< as people write it: "PyTorch"
  std::string evidence;  ///< "kernels, 340 launches, such as 'at::native::...'"
};

struct ProgramKind {
  std::optional<Trait> framework;
  std::vector<Trait> runners;  ///< the outermost first
  std::optional<Trait> task;
  std::optional<Trait> language;  ///< of the host, where a process or thread shows it
  std::string optimizer;  ///< the class in the names of step ranges: "SGD"; "" if none has one
  /// Keys of everything known, the best match for wording first: the tool that recorded it,
  /// runners, the task, a broader task, the framework, its language, "cuda".
  std::vector<std::string> kinds;

  bool is(std::string_view kind) const;
  /// Whether its framework runs models, which have layers.
  bool runs_models() const;
  /// Whether its framework runs loops on the device, which look like layers.
  bool has_device_loops() const;
  /// "PyTorch, Lightning, training"; "" where nothing is known.
  std::string described() const;
};

/// Every key that a program may have, "cuda" last.
const std::vector<std::string>& program_kinds();

ProgramKind program_of(const Trace& trace, const Classes& classes, const NameClasses& names);

/// A program with these keys, for tests: { "ddp", "training", "pytorch" }. Throws Error for an
/// unknown key.
ProgramKind program_of_kinds(const std::vector<std::string>& keys);

}  // namespace gh
