#include "read/dcgm/contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace gh::dcgm {
namespace {

namespace fs = std::filesystem;

// Twice what eight GPUs produce in a day at ten samples a second.
constexpr std::size_t most_bytes = std::size_t{256} << 20;
// Rounding may lift a ratio a little above 1; anything further off is not a ratio.
constexpr double most_ratio = 1.5;

// A time of this century, given in seconds or milliseconds since 1970.
std::optional<Ns> time_in(std::string_view text) {
  const auto v = number_in<double>(text);
  if (!v) return std::nullopt;
  if (*v >= 1e9 && *v < 4.1e9) return static_cast<Ns>(std::llround(*v * 1e6)) * 1000;
  if (*v >= 1e12 && *v < 4.1e12) return static_cast<Ns>(std::llround(*v * 1e3)) * 1000;
  return std::nullopt;
}

// DCGM's markers for "no value" (DCGM_FP64_BLANK, DCGM_INT64_BLANK and the few after each).
bool is_blank(double v) {
  return (v >= 140737488355328.0 && v < 140737488355344.0) ||
         (v >= 9.2233720368547e18 && v < 9.2233720368548e18);
}

void add_value(Contents& contents, int gpu, const SampledActivity& activity, double value,
               std::optional<Ns> time) {
  if (is_blank(value)) return;
  if (!(value >= 0 && value <= (activity.is_share() ? most_ratio : activity.most))) {
    ++contents.impossible;
  } else {
    contents.samples.push_back({gpu, &activity, std::min(value, activity.most), time});
  }
}

void not_read(Contents& contents, std::int64_t line) {
  if (contents.unread++ == 0) contents.first_unread = line;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words = split(line, " \t\r");
  std::erase(words, "");
  return words;
}

std::optional<int> gpu_in(std::string_view text) {
  const auto gpu = number_in<std::uint32_t>(text);
  return gpu && *gpu < 1024 ? std::optional(static_cast<int>(*gpu)) : std::nullopt;
}

// The columns after "#Entity" or "# Entity" if a line is dmon's header.
std::optional<std::vector<std::string_view>> columns_in(
    const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 4); ++i) {
    if (words[i] == "#Entity" || (words[i] == "Entity" && i > 0 && words[i - 1] == "#")) {
      return std::vector(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
    }
  }
  return std::nullopt;
}

// "GPU 0   0.912 0.455 N/A", below a header that is repeated now and then. Text before "GPU", such
// as the time that ts(1) adds, counts as a time if it is one number since 1970.
class Dmon {
 public:
  void line(const std::vector<std::string_view>& words, std::int64_t number, Contents& contents) {
    if (const auto columns = columns_in(words)) {
      columns_.clear();
      for (const std::string_view c : *columns) {
        const auto it = std::find_if(
            activities().begin(), activities().end(),
            [&](const SampledActivity& a) { return !a.dcgm_column.empty() && a.dcgm_column == c; });
        columns_.push_back(it == activities().end() ? nullptr : &*it);
      }
      return;
    }
    if (words.back() == "ID" || words.back() == "Id" || words.back() == "id") {
      return;  // the header's second line
    }
    const auto entity = std::find_if(words.begin(), words.end(), [](std::string_view w) {
      return w == "GPU" || w.starts_with("GPU-");
    });
    if (entity != words.end() && *entity != "GPU") {
      ++contents.instances;  // a MIG instance: part of some GPU
      return;
    }
    const auto gpu = words.end() - entity >= 2 ? gpu_in(entity[1]) : std::nullopt;
    if (!gpu || static_cast<std::size_t>(words.end() - entity) != columns_.size() + 2) {
      return not_read(contents, number);
    }
    const std::optional<Ns> time =
        entity - words.begin() == 1 ? time_in(words.front()) : std::nullopt;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string_view value = entity[static_cast<std::ptrdiff_t>(c) + 2];
      if (!columns_[c] || value == "N/A" || value == "-") continue;
      if (const auto ratio = number_in<double>(value)) {
        add_value(contents, *gpu, *columns_[c], *ratio, time);
      } else {
        ++contents.impossible;
      }
    }
  }

 private:
  std::vector<const SampledActivity*> columns_;  // null for columns that are not activities
};

// The labels between braces, and the text after them. Nothing if the braces do not close.
std::optional<std::pair<std::map<std::string, std::string>, std::string_view>> labels_of(
    std::string_view text) {
  std::map<std::string, std::string> labels;
  std::size_t at = 1;
  while (true) {
    at = text.find_first_not_of(", \t", at);
    if (at == text.npos) return std::nullopt;
    if (text[at] == '}') return std::pair(std::move(labels), text.substr(at + 1));
    const std::size_t equals = text.find('=', at);
    if (equals == text.npos || equals + 1 >= text.size() || text[equals + 1] != '"') {
      return std::nullopt;
    }
    std::string value;
    std::size_t end = equals + 2;
    for (; end < text.size() && text[end] != '"'; ++end) {
      if (text[end] == '\\' && end + 1 < text.size()) ++end;
      value += text[end];
    }
    if (end >= text.size()) return std::nullopt;
    labels[std::string(text.substr(at, equals - at))] = std::move(value);
    at = end + 1;
  }
}

// DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="..."} 0.93 1795259892105
void exposition_line(std::string_view line, std::int64_t number, Contents& contents) {
  const std::string_view name = line.substr(0, std::min(line.find_first_of("{ \t"), line.size()));
  const auto activity = std::find_if(
      activities().begin(), activities().end(),
      [&](const SampledActivity& a) { return !a.dcgm_field.empty() && a.dcgm_field == name; });
  if (activity == activities().end()) return;
  const auto labelled = name.size() < line.size() && line[name.size()] == '{'
                            ? labels_of(line.substr(name.size()))
                            : std::nullopt;
  if (!labelled) return not_read(contents, number);
  const auto& [labels, rest] = *labelled;
  const std::vector<std::string_view> words = words_of(rest);
  const auto gpu = labels.contains("gpu") ? gpu_in(labels.at("gpu")) : std::nullopt;
  if (!gpu || words.empty() || words.size() > 2) return not_read(contents, number);
  if (labels.contains("GPU_I_ID")) {
    ++contents.instances;
    return;
  }
  if (const auto host = labels.find("Hostname"); host != labels.end()) {
    contents.hosts.insert(host->second);
  }
  if (const auto ratio = number_in<double>(words[0])) {
    add_value(contents, *gpu, *activity, *ratio,
              words.size() == 2 ? time_in(words[1]) : std::nullopt);
  } else {
    ++contents.impossible;
  }
}

std::string text_of(const fs::path& path, const std::string& shown) {
  std::error_code ec;
  if (!fs::exists(path, ec)) {
    throw Error(fmt::format("--dcgm {}: no such file; check the path", shown));
  }
  if (fs::is_directory(path, ec)) {
    throw Error(fmt::format("--dcgm {}: is a directory; give a file in it", shown));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (std::string block(1 << 16, '\0'); file;) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) {
      throw Error(
          fmt::format("--dcgm {}: is larger than {}; keep only the lines from around the recording",
                      shown, bytes_text(static_cast<double>(most_bytes))));
    }
  }
  if (!file.is_open() || file.bad()) {
    throw Error(fmt::format("--dcgm {}: cannot be read; check its permissions", shown));
  }
  return text;
}

// The format of the lines, once one of them shows it.
enum class Format { undecided, dmon, exposition };

Format format_of(const std::vector<std::string_view>& words, std::int64_t number,
                 const std::string& shown) {
  if (columns_in(words)) return Format::dmon;
  if (words[0].starts_with("DCGM_FI_")) return Format::exposition;
  if (words[0] == "#") {
    const bool says_so = words.size() > 1 && (words[1] == "HELP" || words[1] == "TYPE");
    return says_so ? Format::exposition : Format::undecided;
  }
  throw Error(
      fmt::format("--dcgm {}: line {} is neither a header of `dcgmi dmon` (#Entity SMACT ...) "
                  "nor a metric of dcgm-exporter (DCGM_FI_PROF_SM_ACTIVE{{gpu=\"0\"}} ...)",
                  shown, number));
}

std::string why_unusable(const Contents& contents) {
  if (contents.unread) return fmt::format("line {} cannot be read", contents.first_unread);
  if (contents.impossible) return "no value is between 0 and 1 or a possible power or clock";
  if (contents.instances) return "all rows are of MIG instances";
  return "there are no values for fields 1002 to 1005, 100, 155 or 164";
}

void check_usable(const Contents& contents, const std::string& shown) {
  if (contents.hosts.size() > 1) {
    throw Error(fmt::format(
        "--dcgm {}: contains GPUs of several hosts ({}, {}...); keep only the lines of the "
        "recorded host",
        shown, printable(*contents.hosts.begin()), printable(*std::next(contents.hosts.begin()))));
  }
  if (contents.samples.empty()) {
    throw Error(
        fmt::format("--dcgm {}: contains no usable sample: {}", shown, why_unusable(contents)));
  }
}

}  // namespace

Contents read_contents(const fs::path& path, const std::string& shown) {
  const std::string text = text_of(path, shown);
  Contents contents;
  Dmon dmon;
  Format format = Format::undecided;
  std::int64_t number = 0;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    const std::vector<std::string_view> words = words_of(line);
    ++number;
    if (words.empty()) continue;
    if (line.find('\0') != line.npos) {
      throw Error(fmt::format(
          "--dcgm {}: line {} is not text; give the output of `dcgmi dmon` or dcgm-exporter", shown,
          number));
    }
    if (format == Format::undecided) format = format_of(words, number, shown);
    if (format == Format::dmon) {
      dmon.line(words, number, contents);
    } else if (format == Format::exposition && !words[0].starts_with('#')) {
      exposition_line(line.substr(line.find_first_not_of(" \t")), number, contents);
    }
  }
  if (number == 0 || format == Format::undecided) {
    throw Error(
        fmt::format("--dcgm {}: is empty; give the output of `dcgmi dmon -e "
                    "1002,1003,1004,1005,100,155,164` or of dcgm-exporter",
                    shown));
  }
  check_usable(contents, shown);
  return contents;
}

}  // namespace gh::dcgm
