// What a command writes, where, in which format.
#pragma once
#include <string>
#include <vector>

#include "base/streams.hpp"
#include "cli/parser.hpp"
#include "report/formats.hpp"

namespace gh {

inline constexpr const char* to_stdout = "-";

/// --color, --verbose and --quiet: how text looks and how much it says.
struct StyleOptions {
  std::string color = "auto";  ///< always, never; auto: on a terminal
  bool verbose = false, quiet = false;

  void add_color(Parser& command);   ///< --color
  void add_amount(Parser& command);  ///< -v, -q
  /// The style of text that goes to a terminal or elsewhere. Throws Error if -v and -q are given.
  TextStyle style(bool to_terminal) const;
};

/// One format, the file that it goes to, and how text looks there.
struct Output {
  std::string format, file;
  TextStyle style = {};
};

struct OutputOptions {
  std::string format = "text";
  std::vector<std::string> outputs;  ///< "FORMAT=FILE" or "FILE", as given
  StyleOptions style;

  /// --format, --output, --color
  void add(Parser& command, const std::vector<std::string>& formats);
  /// What is to be written: every FORMAT=FILE; and --format's, to the plain FILE where there is
  /// one, else to standard output. Throws Error where a format is unknown, a file is given twice,
  /// or is one of `inputs`, which are read.
  std::vector<Output> parsed(const std::vector<std::string>& formats,
                             const std::vector<std::string>& inputs) const;
};

/// Whether standard output is a terminal.
bool stdout_is_terminal();

/// Writes a document to a file, or to standard output, there without commands of CI systems but
/// those that are meant.
void write(const std::string& text, const std::string& file, Commands meant = Commands::none);

/// Writes what was rendered, to a file too without commands but those that are meant; "" where it
/// could not be, which leaves what was there.
void write(const std::string& text, const Output& output);

/// Renders a document in each format that is wanted, and writes it. `formats` is the document's
/// table (report/formats.hpp).
template <class Document>
void write_outputs(const std::vector<Output>& outputs, const std::vector<Format<Document>>& formats,
                   const Document& document) {
  for (const Output& output : outputs)
    for (const Format<Document>& format : formats)
      if (output.format == format.name) write(format.render(document, output.style), output);
}

/// Writes "gh-advise: note: ..." to standard error.
void print_note(const std::string& note);
/// Writes "gh-advise: ...", one line, to standard error.
void print_message(std::string_view text);

}  // namespace gh
