#include "record/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/owner.hpp"
#include "base/text.hpp"
#include "read/recognise.hpp"

namespace gh {
namespace {

constexpr int ledger_version = 1;

constexpr auto entry_fields = [](auto& json, auto& entry) {
  json("day", entry.day);
  json("before", entry.before);
  json("after", entry.after);
  json("rules", entry.rules);
  json("gpu", entry.gpu);
  json("before_ns", entry.before_ns, times);
  json("after_ns", entry.after_ns, times);
  json("predicted_ns", entry.predicted_ns, times);
  json("least_ns", entry.least_ns, times);
  json("most_ns", entry.most_ns, times);
  json("outcome", entry.outcome, Outcome::not_comparable);
};

std::string line_of(const LedgerEntry& entry) {
  FieldWriter writer;
  writer("schema_version", ledger_version);
  entry_fields(writer, entry);
  return writer.json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

LedgerEntry entry_of(const std::string& line) {
  LedgerEntry entry;
  std::int64_t version = 0;
  try {
    read_json(line, [&](const FieldReader& reader) {
      reader("schema_version", version);
      if (version == ledger_version) entry_fields(reader, entry);
    });
  } catch (const Error& e) {
    throw Error(fmt::format("is no entry of a ledger: {}", e.what()));
  }
  if (version != ledger_version) throw Error("another version of gh-advise wrote it");
  if (entry.after_ns <= 0 || entry.before_ns <= 0) throw Error("a step takes no time");
  return entry;
}

// True for an empty file as well.
bool ends_in_entry(const std::filesystem::path& ledger) {
  constexpr std::streamoff most_bytes = 1 << 20;  // of a line
  std::ifstream file(ledger, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file.tellg();
  if (bytes == 0) return true;
  std::string end(static_cast<std::size_t>(std::clamp<std::streamoff>(bytes, 0, most_bytes)), 0);
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  if (!file.read(end.data(), static_cast<std::streamsize>(end.size())) || end.back() != '\n')
    return false;
  end.erase(end.find_last_not_of('\n') + 1);
  try {
    entry_of(end.substr(end.rfind('\n') + 1));
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::held: return "held";
    case Outcome::missed: return "missed";
    case Outcome::not_comparable: return "not comparable";
  }
  return "";
}

double LedgerEntry::error() const {
  return static_cast<double>(predicted_ns) / static_cast<double>(after_ns) - 1;
}

Outcome outcome_of(Ns after_ns, Ns least_ns, Ns most_ns) {
  return after_ns >= least_ns && after_ns <= most_ns ? Outcome::held : Outcome::missed;
}

void check_ledger(const std::filesystem::path& ledger, const std::vector<std::string>& inputs) {
  const auto refuse = [&](const char* what) {
    throw Error(fmt::format("{}: {}, so nothing is appended; name another file with --ledger",
                            printable(ledger.string()), what));
  };
  std::error_code ec;
  for (const std::string& input : inputs)
    if (std::filesystem::equivalent(ledger, input, ec)) refuse("is a file that is read");
  const std::filesystem::path target = end_of_links(ledger, printable(ledger.string()));
  if (!std::filesystem::is_regular_file(target, ec)) return;
  if (is_recording(target)) refuse("is a recording, or belongs to one");
  if (!ends_in_entry(target)) refuse("is no ledger, as its last line is no entry of one");
}

void append_to_ledger(const std::filesystem::path& ledger, const LedgerEntry& entry) {
  check_ledger(ledger);
  const std::filesystem::path target = end_of_links(ledger, printable(ledger.string()));
  // One write of a whole line, so that several programs can append at once. O_NOFOLLOW: nobody has
  // put a link there meanwhile.
  const std::string line = line_of(entry);
  const int file =
      open(target.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  const off_t before = file >= 0 ? lseek(file, 0, SEEK_END) : 0;
  const ssize_t bytes = file >= 0 ? write(file, line.data(), line.size()) : -1;
  const bool written = bytes == static_cast<ssize_t>(line.size());
  const int error = bytes < 0 ? errno : ENOSPC;
  if (bytes > 0 && !written && ftruncate(file, before) != 0) {  // half a line stays
  }
  if (file >= 0) close(file);
  if (!written)
    throw Error(
        fmt::format("{}: cannot be written: {}", printable(ledger.string()), std::strerror(error)));
}

std::vector<LedgerEntry> read_ledger(const std::filesystem::path& ledger) {
  std::istringstream text(read_text(ledger));
  std::vector<LedgerEntry> entries;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      entries.push_back(entry_of(line));
    } catch (const Error& e) {
      throw Error(fmt::format("{}:{}: {}", printable(ledger.string()), number, e.what()));
    }
  }
  return entries;
}

}  // namespace gh
