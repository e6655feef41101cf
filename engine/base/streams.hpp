// Standard output and standard error. CI systems search these for commands; text from a report or a
// rule must never become one.
#pragma once
#include <string>
#include <string_view>

namespace gh {

/// Call in main before opening any file: fills closed standard streams with a dummy, so that no
/// file gets their number and then receives our output.
void hold_standard_streams();

/// Which CI commands our own output contains: none, or only at the beginning of a line.
enum class Commands { none, at_line_begin };

/// Inserts spaces so that CI systems do not run anything in the text: "::warning::" at the
/// beginning of a line (GitHub), "##[group]" and "##vso[...]" anywhere (GitHub, Azure),
/// "##teamcity[...]".
std::string without_commands(std::string_view text, Commands meant = Commands::none);

/// Writes everything to standard output, disabling all commands except those meant. Throws Error if
/// standard output is closed or full.
void write_to_stdout(std::string_view text, Commands meant = Commands::none);

/// Writes to standard error, disabling commands. If nobody can read it (closed, full, terminal
/// gone), the text is lost without an error.
void write_to_stderr(std::string_view text);

}  // namespace gh
