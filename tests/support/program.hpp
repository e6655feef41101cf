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
  int status = -1;  ///< 128 + the signal if one ended it
  std::string out, err;
};

/// Where and how to run: `environment` as for env(1), on top of an environment in which nothing is
/// set that affects the output.
struct How {
  std::string environment = {};
  std::filesystem::path folder = GH_FIXTURES;
};

Ran shell(const std::string& command, const How& how = {});

/// `gh-advise ARGUMENTS` (shell syntax), in the folder of the recorded reports unless `how` says
/// otherwise.
Ran advise(const std::string& arguments, const How& how = {});

/// The same on a terminal with this many columns; `out` has what it shows, including standard
/// error, but without the progress line, which appears only on slow machines.
Ran on_terminal(const std::string& arguments, const How& how = {}, int columns = 100);

/// What the program says about a report, as JSON, without the report's name and the note on its
/// environment.
std::string advice_on(const std::filesystem::path& report);

/// The JSON on standard output.
nlohmann::ordered_json json_of(const Ran& ran);

/// Of `gh-advise rules --format json`.
std::set<std::string> rule_ids(const Ran& ran);

/// The one-line error with which `gh-advise ARGUMENTS` fails, without the program's name. Checks
/// that there is no other output, and that the exit status is 2.
std::string error_line(const std::string& arguments, const How& how = {});

/// A shell script of the test that is found instead of another program.
void write_script(const std::filesystem::path& path, const std::string& script);

/// Whether the program was built for another machine and runs under an emulator: then it is slow,
/// and qemu cannot report that a program it starts is missing.
#ifdef GH_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

/// For a test that takes minutes in a program with sanitizers and runs only code that other tests
/// also run: TEST_CASE("..." * slow_with_sanitizers).
inline const doctest::skip slow_with_sanitizers{sanitized};

}  // namespace support
