#include "record/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

using nlohmann::ordered_json;

constexpr int ledger_version = 1;

std::string line_of(const LedgerEntry& e) {
  const ordered_json line = {{"schema_version", ledger_version},
                             {"day", e.day},
                             {"before", e.before},
                             {"after", e.after},
                             {"rules", e.rules},
                             {"gpu", e.gpu},
                             {"before_ns", e.before_ns},
                             {"after_ns", e.after_ns},
                             {"predicted_ns", e.predicted_ns},
                             {"least_ns", e.least_ns},
                             {"most_ns", e.most_ns},
                             {"outcome", name_of(e.outcome)}};
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

LedgerEntry entry_of(const ordered_json& line) {
  if (line.at("schema_version") != ledger_version)
    throw Error("another version of gh-advise wrote it");
  LedgerEntry e;
  e.day = printable(line.at("day").get<std::string>());
  e.before = printable(line.at("before").get<std::string>());
  e.after = printable(line.at("after").get<std::string>());
  for (const auto& rule : line.at("rules")) e.rules.push_back(printable(rule.get<std::string>()));
  e.gpu = printable(line.at("gpu").get<std::string>());
  e.before_ns = line.at("before_ns");
  e.after_ns = line.at("after_ns");
  e.predicted_ns = line.at("predicted_ns");
  e.least_ns = line.at("least_ns");
  e.most_ns = line.at("most_ns");
  if (e.after_ns <= 0 || e.before_ns <= 0) throw Error("a step takes no time");
  bool known = false;
  for (const Outcome outcome : {Outcome::held, Outcome::missed, Outcome::not_comparable})
    if (line.at("outcome") == name_of(outcome)) {
      e.outcome = outcome;
      known = true;
    }
  if (!known) throw Error("is no entry of a ledger");
  return e;
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
  // One write of a whole line, so that several programs can append at once.
  const std::string line = line_of(entry);
  const int file = open(ledger.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
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
      entries.push_back(entry_of(ordered_json::parse(line)));
    } catch (const ordered_json::exception&) {
      throw Error(
          fmt::format("{}:{}: is no entry of a ledger", printable(ledger.string()), number));
    } catch (const Error& e) {
      throw Error(fmt::format("{}:{}: {}", printable(ledger.string()), number, e.what()));
    }
  }
  return entries;
}

}  // namespace gh
