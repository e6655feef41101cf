#include "cli/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

// The size that a variable says, else the terminal, else `fallback`.
std::size_t size_of(const char* variable, unsigned short winsize::*of_terminal, bool to_terminal,
                    std::size_t fallback) {
  if (const char* set = std::getenv(variable); set && std::atoi(set) > 0)
    return static_cast<std::size_t>(std::atoi(set));
  winsize size{};
  const bool known = to_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.*of_terminal > 0 ? size.*of_terminal : fallback;
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

// The endings of files, each with its format: the longest that fits counts. Messages name the first
// ending of a format.
constexpr std::pair<const char*, const char*> endings[] = {
    {".txt", "text"},         {".log", "text"},    {".html", "html"},   {".htm", "html"},
    {".json", "json"},        {".jsonl", "jsonl"}, {".md", "markdown"}, {".sarif", "sarif"},
    {".sarif.json", "sarif"}, {".xml", "junit"},   {".csv", "csv"},     {".trace.json", "trace"},
};

bool is_in(const std::vector<std::string>& formats, const std::string& format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

// The ending that writes a format: ".html"; "" for one that has none.
std::string ending_for(const std::string& format) {
  for (const auto& [ending, of] : endings)
    if (format == of) return ending;
  return "";
}

// ".html, .json, .xml (junit)": the endings of these formats.
std::string endings_of(const std::vector<std::string>& formats) {
  std::vector<std::string> list;
  for (const std::string& format : formats)
    if (const std::string ending = ending_for(format); !ending.empty())
      list.push_back(format == "junit" ? ending + " (junit)" : ending);
  return fmt::format("{}", fmt::join(list, ", "));
}

// An ending that a format might have: not that of "../run" or ".hidden", nor a part of a number.
std::string ending_of(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  const bool numeric = ending.find_first_not_of("0123456789", 1) == std::string::npos;
  return numeric ? "" : ending;
}

// The format that a file's ending chooses, or "" if it has none.
std::string format_by_ending(const std::string& file, const std::vector<std::string>& formats,
                             bool format_given) {
  std::string_view longest, chosen;
  for (const std::pair<std::string_view, std::string_view> known : endings)
    if (file.ends_with(known.first) && is_in(formats, std::string(known.second)) &&
        known.first.size() > longest.size()) {
      longest = known.first;
      chosen = known.second;
    }
  if (!chosen.empty()) return std::string(chosen);
  const std::string ending = ending_of(file);
  if (ending.empty() || format_given) return "";
  throw Error(fmt::format(
      "--output {0}: no format of this command ends in {1}; end the name in one of {2}, or say "
      "which format it is: --output {3}={0}",
      printable(file), printable(ending), endings_of(formats), formats.front()));
}

// Takes "FORMAT=FILE" apart. The format of a plain file is left to its ending. A format's name has
// small letters only, so anything else before a '=' belongs to a file's name.
Output parse_output(const std::string& word, const std::vector<std::string>& formats) {
  const std::size_t equals = word.find('=');
  const std::string format = word.substr(0, equals);
  if (equals == std::string::npos && formats.size() > 1 && is_in(formats, word)) {
    const std::string ending = ending_for(word);
    throw Error(fmt::format("--output {0}: is a format and no file; write --output {1}", word,
                            ending.empty() ? word + "=FILE" : "report" + ending));
  }
  if (equals == std::string::npos ||
      format.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)
    return {"", word};
  if (!is_in(formats, format))
    throw Error(
        fmt::format("--output {0}: there is no format '{1}'{2}; for a file of that name, "
                    "write ./{0}",
                    printable(word), printable(format), did_you_mean(format, formats)));
  if (equals + 1 == word.size())
    throw Error(
        fmt::format("--output {0}: names no file; write --output {0}FILE, or {0}- for "
                    "standard output",
                    printable(word)));
  return {format, word.substr(equals + 1)};
}

// Throws if an output would overwrite an input or another output.
void refuse_overwriting(const std::vector<Output>& outputs,
                        const std::vector<std::string>& inputs) {
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    std::error_code ec;
    for (const std::string& input : inputs)
      if (std::filesystem::equivalent(out->file, input, ec))
        throw Error(
            fmt::format("--output {}: would overwrite a file that is read; name another file",
                        printable(out->file)));
    const bool taken = std::any_of(outputs.begin(), out,
                                   [&](const Output& other) { return other.file == out->file; });
    if (taken && out->file == to_stdout)
      throw Error("--output: only one format can go to standard output; name a file for the other");
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
  style.width = std::clamp<std::size_t>(
      size_of("COLUMNS", &winsize::ws_col, to_terminal, style.width), 40, 160);
  style.height = size_of("LINES", &winsize::ws_row, to_terminal, style.height);
  style.unicode = !to_terminal || locale_is_utf8(style.unicode);
  if (verbose) style.amount = Amount::full;
  if (quiet) style.amount = Amount::quiet;
  return style;
}

void OutputOptions::add(Parser& command, const std::vector<std::string>& formats) {
  command.option("--format", format, "The format of standard output (default: text)")
      .one_of(formats);
  command.option(
      "--output [FORMAT=]FILE...", outputs,
      fmt::format("Write to a file, in the format of its ending ({}); {}", endings_of(formats),
                  "FORMAT=FILE names the format and does not replace standard output. May "
                  "be given several times"));
  style.add_color(command);
}

std::vector<Output> OutputOptions::parsed(const std::vector<std::string>& formats,
                                          const std::vector<std::string>& inputs) const {
  const std::string wanted = format.value_or("text");
  std::vector<Output> all;
  std::string other;  // a file that the ending gives another format than --format
  bool plain = false, to_terminal = false, used = false;
  for (const std::string& word : outputs) {
    if (word.empty()) throw Error("--output: is empty; give a file, or - for standard output");
    Output output = parse_output(word, formats);
    to_terminal |= output.file == to_stdout;
    if (output.format.empty()) {
      plain = true;
      const bool one_format = formats.size() == 1;  // any ending will do
      if (!one_format) output.format = format_by_ending(output.file, formats, format.has_value());
      if (output.format.empty()) output.format = one_format ? formats.front() : wanted;
      if (output.format != wanted) other = output.file;
      used |= output.format == wanted;
    }
    all.push_back(std::move(output));
  }
  if (!plain && !to_terminal) {
    all.push_back({wanted, to_stdout});
    used = true;
  }
  if (format && !used && !other.empty())
    throw Error(
        fmt::format("--output {0}: ends like another format than --format {1}; leave "
                    "--format out, or write --output {1}={0}",
                    printable(other), wanted));
  if (format && !used)
    throw Error(
        fmt::format("--format {}: standard output gets another format by --output; leave "
                    "one of them out",
                    wanted));
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
  // No annotation is an answer as well: those of the last run must go.
  const bool annotations = output.format == "github";
  const bool cleared = annotations && output.file != to_stdout;
  const Commands meant = annotations ? Commands::at_line_begin : Commands::none;
  // A CI job may print a file later.
  if (!text.empty() || cleared) write(without_commands(text, meant), output.file, meant);
}

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

void print_note(const std::string& note) { print_message("note: " + note); }

void print_message(std::string_view text) {
  write_to_stderr(fmt::format("gh-advise: {}\n", printable(text)));
}

}  // namespace gh
