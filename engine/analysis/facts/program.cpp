#include <fmt/format.h>

#include "analysis/facts/functions.hpp"

namespace gh::fact {

FactValue program_framework(const Analysis& a) {
  if (!a.program.framework) return Unknown{"no name of a kernel, range or thread identifies one"};
  return a.program.framework->name;
}

FactValue program_runner(const Analysis& a) {
  if (a.program.runners.empty())
    return Unknown{"no name of a kernel, range or process identifies one"};
  std::string names;
  for (const Trait& t : a.program.runners) names += (names.empty() ? "" : ", ") + t.name;
  return names;
}

FactValue program_task(const Analysis& a) {
  if (!a.program.task) return Unknown{"nothing in the report shows what it is for"};
  return a.program.task->name;
}

FactValue program_optimizer(const Analysis& a) {
  if (a.program.optimizer.empty()) return Unknown{"no range around an optimizer step names it"};
  return a.program.optimizer;
}

FactValue program_evidence(const Analysis& a) {
  std::string text;
  const auto add = [&](const Trait& t) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", t.name, t.evidence);
  };
  if (a.program.framework) add(*a.program.framework);
  for (const Trait& t : a.program.runners) add(t);
  if (a.program.task) add(*a.program.task);
  if (text.empty()) return Unknown{"nothing in the report shows what kind of program it is"};
  return text;
}

}  // namespace gh::fact
