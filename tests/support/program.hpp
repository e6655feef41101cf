// Runs the built program as a user would, in a shell.
#pragma once
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <string>

#include "support/support.hpp"

namespace support {

struct Ran {
  int status = -1;  ///< 128 + the signal where one ended it
  std::string out, err;
};

/// Where and how: `environment` as in env(1), on top of one in which nothing is set that changes
/// what is printed.
struct How {
  std::string environment = {};
  std::filesystem::path folder = GH_FIXTURES;
};

Ran shell(const std::string& command, const How& how = {});

/// `gh-advise ARGUMENTS` (shell syntax), in the folder of the recorded reports unless `how` says
/// otherwise.
Ran advise(const std::string& arguments, const How& how = {});

/// The same on a terminal of so many columns; what it shows is in `out`, standard error included,
/// but for the line that says what is being done, which comes on slow machines.
Ran on_terminal(const std::string& arguments, const How& how = {}, int columns = 100);

/// What is said of a report, as JSON, its name and the note on its environment aside.
std::string advice_on(const std::filesystem::path& report);

/// The JSON on standard output.
nlohmann::ordered_json json_of(const Ran& ran);

/// The one report in the JSON on standard output, of `check` or `top`.
nlohmann::ordered_json report_of(const Ran& ran);

/// Of `gh-advise rules --format json`.
std::set<std::string> rule_ids(const Ran& ran);

/// The one line of an error with which `gh-advise ARGUMENTS` is refused, without the program's
/// name: what the user has to be told, on standard error and nothing else, with the exit status 2.
std::string error_line(const std::string& arguments, const How& how = {});

/// A program of the test's, to be found instead of another one: a shell script.
void write_script(const std::filesystem::path& path, const std::string& script);

/// Whether the program was built for another machine and runs under an emulator: then it is slow,
/// and qemu cannot tell it that a program which it starts is missing.
#ifdef GH_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

/// Of a test that takes minutes with sanitizers in the program, and runs only code that others run
/// as well: TEST_CASE("..." * slow_with_sanitizers).
inline const doctest::skip slow_with_sanitizers{sanitized};

}  // namespace support
