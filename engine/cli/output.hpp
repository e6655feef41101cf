// What a command writes, where, in which format.
#pragma once
#include <string>
#include <vector>

#include "cli/parser.hpp"
#include "report/report.hpp"

namespace gh {

using Formats = std::vector<std::string>;  ///< the names of those that a command has

inline constexpr const char* to_stdout = "-";

/// One format, and the file that it goes to.
struct Output {
  std::string format, file;
};

struct OutputOptions {
  std::string format = "text";
  std::vector<std::string> outputs;  ///< "FORMAT=FILE" or "FILE", as given

  void add(Parser& command, const Formats& formats);  ///< --format, --output
  /// What is to be written: every FORMAT=FILE; and --format's, to the plain FILE where there is
  /// one, else to standard output. Throws Error where a format is unknown, a file is given twice,
  /// or is one of `inputs`, which are read.
  std::vector<Output> parsed(const Formats& formats, const std::vector<std::string>& inputs) const;
};

/// Writes a document to a file, or to standard output.
void write(const std::string& text, const std::string& file);

/// Colours, width and characters for text on standard output, or as a file has it.
TextStyle style_of(const Output& output);
TextStyle style_of_stdout();

/// Renders in each format that is wanted and writes it. `render` takes an Output and returns the
/// document; "" where it could not be made, which leaves what was there.
template <class Render>
void write_outputs(const std::vector<Output>& outputs, Render render) {
  for (const Output& output : outputs) {
    const std::string text = render(output);
    // No annotation is an answer, too: those of the last run must go.
    const bool cleared = output.format == "github" && output.file != to_stdout;
    if (!text.empty() || cleared) write(text, output.file);
  }
}

/// Writes "gh-advise: note: ..." to standard error.
void print_note(const std::string& note);
/// Writes "gh-advise: ..." to standard error.
void print_message(const std::string& text);

}  // namespace gh
