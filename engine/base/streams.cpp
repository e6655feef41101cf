#include "base/streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

#include "base/error.hpp"

namespace gh {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// "##[" and "##vso[" at `at`.
bool is_bracketed_command(std::string_view text, std::size_t at) {
  std::size_t end = at + 2;
  while (end < text.size() && is_letter(text[end])) ++end;
  return end < text.size() && text[end] == '[';
}

void find_bracketed(std::string_view text, std::vector<std::size_t>& found) {
  for (std::size_t at = text.find("##"); at != text.npos; at = text.find("##", at + 1))
    if (is_bracketed_command(text, at)) found.push_back(at + 1);
}

// The runner skips blanks, including Unicode's, before it looks for "::". Here every byte outside
// ASCII counts as a blank.
void find_leading(std::string_view text, std::vector<std::size_t>& found) {
  const auto is_blank = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (byte <= 0x20 && c != '\n' && c != '\r');
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (text.substr(at).starts_with("::")) found.push_back(at + 1);
    at = std::min(text.find_first_of("\r\n", at), text.size());
  }
}

}  // namespace

void hold_standard_streams() {
  // Opened read-only, so that writing to it fails as it does on a closed stream.
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDONLY);
  if (descriptor >= 0) close(descriptor);
}

std::string without_commands(std::string_view text, Commands meant) {
  std::vector<std::size_t> found;  // insert a space before each of these
  find_bracketed(text, found);
  if (meant == Commands::none) find_leading(text, found);
  std::sort(found.begin(), found.end());
  std::string out;
  out.reserve(text.size() + found.size());
  std::size_t from = 0;
  for (const std::size_t at : found) {
    out += text.substr(from, at - from);
    out += ' ';
    from = at;
  }
  out += text.substr(from);
  return out;
}

void write_to_stdout(std::string_view text, Commands meant) {
  const std::string safe = without_commands(text, meant);
  if (std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size() && std::fflush(stdout) == 0)
    return;
  throw Error(
      fmt::format("cannot write to standard output: {}", std::generic_category().message(errno)));
}

void write_to_stderr(std::string_view text) {
  const std::string safe = without_commands(text);
  std::fwrite(safe.data(), 1, safe.size(), stderr);
  std::fflush(stderr);
}

}  // namespace gh
