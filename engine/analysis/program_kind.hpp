// What kind of program was recorded: the framework that launches its work, what runs that, and what
// it is for, told once from the names in the report (schemas/programs.toml). What nothing tells is
// unknown, and then only CUDA's own words are right.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

/// One thing that is known of a program.
struct Trait {
  std::string key;       ///< as rules name it: "pytorch"
  std::string name;      ///< as people do: "PyTorch"
  std::string evidence;  ///< "kernels, 340 launches, such as 'at::native::...'"
};

struct ProgramKind {
  std::optional<Trait> framework;
  std::vector<Trait> runners;  ///< the outermost first
  std::optional<Trait> task;
  std::optional<Trait> language;  ///< of the host, where a process or a thread tells
  std::string optimizer;          ///< the class whose step ranges show: "SGD"; "" where none does
  /// Keys of all that is known, whose words fit best first: the tool that recorded it, runners, the
  /// task, a broader task, the framework, its language, "cuda".
  std::vector<std::string> kinds;

  bool is(std::string_view kind) const;
  /// Whether its framework runs models, which have layers.
  bool runs_models() const;
  /// "PyTorch, Lightning, training"; "" where nothing is known.
  std::string described() const;
};

/// Every key that a program may be known by, "cuda" last.
const std::vector<std::string>& program_kinds();

ProgramKind program_of(const Trace& trace, const Classes& classes, const NameClasses& names);

/// The same of a program of which these keys are known, for tests: { "ddp", "training", "pytorch"
/// }. Throws Error at an unknown one.
ProgramKind program_of_kinds(const std::vector<std::string>& keys);

}  // namespace gh
