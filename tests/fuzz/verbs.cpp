// Verbs with absurd arguments, one call after another.
#include "judge.hpp"
#include "lua_source.hpp"
#include "rules/binding.hpp"

namespace {

// The receiver and the name: trace:ops, or a method of a selection.
std::string verb(fuzz::Choices& choices) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> names;
    for (const gh::ApiEntry& entry : gh::api_entries()) {
      const std::string name = entry.name;
      if (name.starts_with("trace:") || name.starts_with("selection:")) names.push_back(name);
    }
    return names;
  }();
  const std::string& name = names[choices.below(names.size())];
  const std::size_t colon = name.find(':');
  const std::string of =
      name.starts_with("trace:") ? "trace" : "(" + fuzz::lua_selection(choices) + ")";
  return of + (choices.below(20) == 0 ? "." : ":") + name.substr(colon + 1);
}

// A table of mostly valid named arguments.
std::string arguments(fuzz::Choices& choices) {
  static constexpr const char* fields[] = {"'duration_ns'", "'start_ns'", "'name'",   "'class'",
                                           "'stream'",      "'bytes'",    "'thread'", "'number'"};
  std::string list;
  for (std::size_t left = choices.below(4); left > 0; --left) {
    if (!list.empty()) list += ", ";
    switch (choices.below(4)) {
      case 0: list += choices.of(fields); break;
      case 1: list += fuzz::lua_selection(choices); break;
      default: list += fuzz::lua_value(choices, 2);
    }
  }
  return list;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  std::string body;
  for (int calls = 0; calls < 20 && choices.any(); ++calls) {
    body += "pcall(function() local a = " + verb(choices) + "(" + arguments(choices) +
            ") a = a:count() end)\n";
  }
  fuzz::judge(fuzz::lua_rule(body + " return {}"));
  return 0;
}
