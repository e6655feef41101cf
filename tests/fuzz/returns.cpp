// What rules return: findings, and things that are not findings.
#include "judge.hpp"
#include "lua_source.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  const std::string returned =
      choices.below(8) == 0 ? fuzz::lua_value(choices, 3) + ", " + fuzz::lua_value(choices, 2)
                            : "{ " + fuzz::lua_findings(choices) + "}";
  fuzz::judge(fuzz::lua_rule("return " + returned));
  return 0;
}
