// Standard output and standard error. In a CI job their lines are searched for commands: what a
// report or a rule says must never become one.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace gh {

/// For main, before any file is opened: in the place of a standard stream that is closed comes
/// nothing, so that no file gets its number and then what is printed.
void hold_standard_streams();

/// Commands of CI systems in what is printed: none, or those that a line begins with.
enum class Commands { none, at_line_begin };

/// Text in which a space makes plain text of what CI systems would run: "::warning::" where a line
/// begins (GitHub), "##[group]" and "##vso[...]" anywhere (GitHub, Azure), "##teamcity[...]".
std::string without_commands(std::string_view text, Commands meant = Commands::none);

/// Nobody reads standard output any more, as in `gh-advise run.sqlite | head`: no error, so it ends
/// the program in silence.
struct ClosedPipe : std::runtime_error {
  ClosedPipe() : std::runtime_error("standard output is a pipe that was closed") {}
};

/// Writes all of it to standard output, without commands but those that are meant. Throws
/// ClosedPipe if its reader is gone, and Error if it is closed or full.
void write_to_stdout(std::string_view text, Commands meant = Commands::none);

/// Writes to standard error, without commands. Where nobody can read it (closed, full, its terminal
/// gone) it is lost, which is no error.
void write_to_stderr(std::string_view text);

}  // namespace gh
