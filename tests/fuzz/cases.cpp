// Rule tests: cases with literal traces, options and expectations.
#include <filesystem>

#include "fuzz.hpp"
#include "lua_source.hpp"
#include "rules/rule_test.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// A folder of this process with a rule in it.
fs::path folder() {
  static const fs::path path = [] {
    const fs::path path = fuzz::file_of("").string() + "-rules";
    fs::create_directories(path);
    write(path / "fuzzed.lua",
          fuzz::lua_rule("return trace:ops {}:count() > 0 and { with({ message = 'main', data = { "
                         "share = 0.1 }, subject = 'it', recoverable_ns = 1, advice = { 'Do it.' } "
                         "}, {}) } or {}"));
    return path;
  }();
  return path;
}

std::string a_case(fuzz::Choices& choices) {
  std::string text =
      "{ name = 'a', trace = { ops = { { 0, 10, kernel = 'k' } } }, expect = 'clean', ";
  for (std::size_t left = choices.below(4); left > 0; --left)
    text +=
        "['" + std::string(fuzz::lua_key(choices)) + "'] = " + fuzz::lua_value(choices, 4) + ", ";
  return text + "}, ";
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  std::string cases;
  if (choices.below(8) == 0) cases = fuzz::lua_value(choices, 4);
  while (choices.any() && cases.size() < 20'000) cases += a_case(choices);
  write(folder() / "fuzzed.test.lua",
        std::string(fuzz::lua_prelude()) + "local trace = {}\nreturn { " + cases + "}");
  try {
    const gh::RuleTestResult result = gh::run_rule_tests(folder(), {"/nonexistent", "*", false});
    if (result.output.find('\x1b') != result.output.npos) __builtin_trap();
  } catch (const gh::Error&) {
  }
  return 0;
}
