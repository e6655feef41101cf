// What a command writes, where, in which format.
#pragma once
#include <string>
#include <vector>

#include "base/streams.hpp"
#include "cli/parser.hpp"
#include "report/formats.hpp"

namespace gh {

inline constexpr const char* to_stdout = "-";

/// One format, and the file that it goes to.
struct Output {
  std::string format, file;
};

struct OutputOptions {
  std::string format = "text";
  std::vector<std::string> outputs;  ///< "FORMAT=FILE" or "FILE", as given

  void add(Parser& command, const std::vector<std::string>& formats);  ///< --format, --output
  /// What is to be written: every FORMAT=FILE; and --format's, to the plain FILE where there is
  /// one, else to standard output. Throws Error where a format is unknown, a file is given twice,
  /// or is one of `inputs`, which are read.
  std::vector<Output> parsed(const std::vector<std::string>& formats,
                             const std::vector<std::string>& inputs) const;
};

/// Writes a document to a file, or to standard output, there without commands of CI systems but
/// those that are meant.
void write(const std::string& text, const std::string& file, Commands meant = Commands::none);

/// Colours, width and characters for text on standard output, or as a file has it.
TextStyle style_of(const Output& output);
TextStyle style_of_stdout();

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
      if (output.format == format.name) write(format.render(document, style_of(output)), output);
}

/// Writes "gh-advise: note: ..." to standard error.
void print_note(const std::string& note);
/// Writes "gh-advise: ...", one line, to standard error.
void print_message(std::string_view text);

}  // namespace gh
