#include "cli/output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

// The terminal's width where there is one, unless COLUMNS says otherwise.
std::size_t width_of(bool to_terminal, std::size_t fallback) {
  winsize size{};
  if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) > 0)
    return static_cast<std::size_t>(std::atoi(columns));
  if (to_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return fallback;
}

// The terminal's lines where there is one, unless LINES says otherwise.
std::size_t height_of(bool to_terminal, std::size_t fallback) {
  winsize size{};
  if (const char* lines = std::getenv("LINES"); lines && std::atoi(lines) > 0)
    return static_cast<std::size_t>(std::atoi(lines));
  if (to_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
    return size.ws_row;
  return fallback;
}

// Whether the locale is one of UTF-8: the first of these variables that is set decides.
bool locale_is_utf8(bool fallback) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* locale = std::getenv(name); locale && *locale) {
      const std::string_view value = locale;
      return value.find("UTF") != value.npos || value.find("utf") != value.npos;
    }
  return fallback;
}

// Whether text is colored if the user does not say: on a terminal that can, unless NO_COLOR is set.
bool colored_by_default(bool to_terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term && std::string_view(term) == "dumb";
  return to_terminal && !(no_color && *no_color) && !dumb;
}

// "FORMAT=FILE" apart; a format is made of small letters, so anything else is a plain file's name.
Output parse_output(const std::string& word, const std::vector<std::string>& formats) {
  const std::size_t equals = word.find('=');
  const std::string format = word.substr(0, equals);
  if (equals == std::string::npos ||
      format.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)
    return {"", word};
  if (std::find(formats.begin(), formats.end(), format) == formats.end())
    throw Error(fmt::format("--output {}: there is no format '{}'{}; a file of that name is ./{}",
                            printable(word), printable(format), did_you_mean(format, formats),
                            printable(word)));
  if (equals + 1 == word.size())
    throw Error(fmt::format("--output {}: names no file", printable(word)));
  return {format, word.substr(equals + 1)};
}

// Throws where an output would overwrite an input or another output.
void refuse_overwriting(const std::vector<Output>& outputs,
                        const std::vector<std::string>& inputs) {
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    std::error_code ec;
    for (const std::string& input : inputs)
      if (std::filesystem::equivalent(out->file, input, ec))
        throw Error(
            fmt::format("--output {}: is what is read; name another file", printable(out->file)));
    const bool taken = std::any_of(outputs.begin(), out,
                                   [&](const Output& other) { return other.file == out->file; });
    if (taken && out->file != "/dev/null")
      throw Error(
          fmt::format("--output {}: is given twice; name another file", printable(out->file)));
  }
}

}  // namespace

void StyleOptions::add_color(Parser& command) {
  command
      .option("--color", color,
              "Color text: auto (on a terminal, unless NO_COLOR is set), always or never")
      .one_of({"auto", "always", "never"});
}

void StyleOptions::add_amount(Parser& command) {
  command.flag("-v,--verbose", verbose,
               "Say more: why each finding matters, its evidence, and what was checked");
  command.flag("-q,--quiet", quiet, "Say less: only the verdict and the plan");
}

TextStyle StyleOptions::style(bool to_terminal) const {
  if (verbose && quiet) throw Error("--verbose and --quiet contradict each other; give one");
  TextStyle style;
  style.color = color == "always" || (color == "auto" && colored_by_default(to_terminal));
  style.width = std::clamp<std::size_t>(width_of(to_terminal, style.width), 40, 160);
  style.height = height_of(to_terminal, style.height);
  style.unicode = !to_terminal || locale_is_utf8(style.unicode);
  if (verbose) style.amount = Amount::full;
  if (quiet) style.amount = Amount::quiet;
  return style;
}

void OutputOptions::add(Parser& command, const std::vector<std::string>& formats) {
  const bool several = formats.size() > 2;
  command.option("--format", format, fmt::format("{}", fmt::join(formats, ", "))).one_of(formats);
  command
      .option("--output", outputs,
              several ? "Write to a file instead of standard output; FORMAT=FILE writes "
                        "another format as well (several times)"
                      : "Write to a file instead of standard output")
      .type(several ? "[FORMAT=]FILE" : "FILE")
      .repeatable();
  style.add_color(command);
}

std::vector<Output> OutputOptions::parsed(const std::vector<std::string>& formats,
                                          const std::vector<std::string>& inputs) const {
  std::vector<Output> all;
  bool plain = false;
  for (const std::string& word : outputs) {
    if (word.empty()) throw Error("--output: is empty; give a file, or - for standard output");
    Output output = parse_output(word, formats);
    if (output.format.empty()) {
      if (plain)
        throw Error(fmt::format("--output {}: a second file needs its format, as in --output {}={}",
                                printable(word), formats.back(), printable(word)));
      plain = true;
      output.format = format;
    }
    all.push_back(std::move(output));
  }
  if (!plain) all.push_back({format, to_stdout});
  for (Output& output : all)
    output.style = style.style(output.file == to_stdout && stdout_is_terminal());
  refuse_overwriting(all, inputs);
  return all;
}

void write(const std::string& text, const std::string& file, Commands meant) {
  if (file == to_stdout)
    write_to_stdout(text, meant);
  else
    write_file(file, text, "--output");
}

void write(const std::string& text, const Output& output) {
  // No annotation is an answer, too: those of the last run must go.
  const bool annotations = output.format == "github";
  const bool cleared = annotations && output.file != to_stdout;
  const Commands meant = annotations ? Commands::at_line_begin : Commands::none;
  // A job may print a file as well.
  if (!text.empty() || cleared) write(without_commands(text, meant), output.file, meant);
}

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

void print_note(const std::string& note) { print_message("note: " + note); }

void print_message(std::string_view text) {
  write_to_stderr(fmt::format("gh-advise: {}\n", printable(text)));
}

}  // namespace gh
