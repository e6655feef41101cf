// Running other programs.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gh {

/// Where a program runs: one in this program's process group gets the terminal's signals too.
enum class ProcessGroup { this_one, own, own_in_a_session };

/// A program to be started, with the signals that programs start with.
struct ProgramStart {
  std::vector<std::string> words;
  std::string path = {};  ///< of the program; "" looks for the first word on the PATH
  ProcessGroup group = ProcessGroup::own;
  /// Descriptors of its standard output and standard error; it then has no input. -1: it shares the
  /// three with this program.
  int out = -1, err = -1;
  std::map<std::string, std::string> variables = {};  ///< that its environment has besides
};

/// Change what signals do to this program, but not to those that it starts in its own group: these
/// find what it found. Whoever started it with signals ignored or blocked, as nohup does, meant
/// them.
void ignore_signal(int signal);
void stop_ignoring(int signal);
void block_signals(const sigset_t& signals);  ///< in this thread and those that it starts; once

/// Starts it. Returns 0, or the error for which it cannot start. Hold the mutex of `temporary()`,
/// and note there what a signal has to end.
int start_program(const ProgramStart& start, pid_t& child);

/// The exit status in what waitpid tells, or 128 + the signal that ended the process.
int exit_status(int status);

/// Runs a program with its output going to a file. Returns -1 with errno set if it cannot start,
/// otherwise its exit status, or 128 + the signal that ended it. When a signal ends this program,
/// the other program and everything it started end too.
int run_program(const std::vector<std::string>& words, const std::filesystem::path& output);

}  // namespace gh
