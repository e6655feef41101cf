#include "record/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/owner.hpp"
#include "base/text.hpp"

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

Outcome outcome_of(Ns after_ns, Ns most_ns) {
  return after_ns <= most_ns ? Outcome::held : Outcome::missed;
}

void append_to_ledger(const std::filesystem::path& ledger, const LedgerEntry& entry) {
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
