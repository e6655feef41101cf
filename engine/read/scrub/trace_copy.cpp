#include "read/scrub/trace_copy.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/gzip.hpp"
#include "base/text.hpp"
#include "read/event_stream.hpp"
#include "read/scrub/cleaner.hpp"
#include "read/scrub/json_text.hpp"
#include "read/scrub/trace_events.hpp"
#include "read/scrub/written_forms.hpp"

namespace gh::scrubbing {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// An event with use(number) in place of the program's own numbers, and then also of whole lists of
// them, because each number in a list may be a byte.
template <class Use>
std::string with_own_numbers(const std::string& event, Use use) {
  std::string out, arguments, numbers;
  const auto own = [&](std::string_view key, std::string_view value) -> std::string_view {
    if (!any_matches(torch_schema().numbers, key)) return value;
    numbers = with_numbers(value, use);
    if (value.starts_with('[')) numbers = use(numbers).value_or(numbers);
    return numbers == value ? value : std::string_view(numbers);
  };
  const auto in_event = [&](std::string_view key, std::string_view value) {
    if (key != "args") return std::optional(own(key, value));
    const Members members = rewrite_members(value, arguments, [&](auto name, auto one) {
      return std::optional<std::string_view>(own(name, one));
    });
    return std::optional(members == Members::rewritten ? std::string_view(arguments) : value);
  };
  return rewrite_members(event, out, in_event) == Members::rewritten ? out : event;
}

// Copies one trace, event by event.
class TraceCopy {
 public:
  TraceCopy(const fs::path& report, NewFile& out, bool packed, Work& work)
      : report_(report), out_(out), packed_(packed), work_(work), events_(report, work) {}

  void run() {
    collect();
    const SoughtList sought = work_.secrets.sought();
    const Remover remover(in_written_forms(sought), work_.deadline);
    const Proof proof(sought, work_.deadline);
    const Scrubbed found = work_.result;
    const auto begin_anew = [&] {
      out_.clear();
      work_.result = found;
    };
    write_proven(
        remover, proof, [&](const Cleaner& cleaner) { write(cleaner); }, [&] { search(proof); },
        begin_anew);
  }

 private:
  // --- collecting

  void collect() {
    add_words_of_format();
    EventStream events(report_);
    for (std::string_view event; events.next(event);) events_.learn(event);
    if (!events.has_events()) {
      throw Error(
          fmt::format("{}: is JSON without traceEvents; give a file written by torch.profiler's "
                      "export_chrome_trace",
                      printable(report_.string())));
    }
    collect_from_head(events.head());
  }

  void add_words_of_format() {
    for (const Globs* keys : {&torch_schema().keep, &torch_schema().event, &torch_schema().argument,
                              &torch_schema().gpu}) {
      for (const std::string& key : *keys) work_.vocabulary.add_words_of_format(key);
    }
    for (const char* category : {"ac2g", "async_cpu_to_gpu", "gpu_user_annotation", "Trace"}) {
      work_.vocabulary.add_words_of_format(category);
    }
  }

  // Collects from what is outside the events, and keeps what may be kept of it.
  void collect_from_head(const std::string& text) {
    bare_ = text.empty();
    if (depth_of(text) > most_json_depth) {
      throw Error(fmt::format("{}: the JSON outside its events nests too deeply to be searched",
                              printable(report_.string())));
    }
    const Json head = bare_ ? Json::object() : Json::parse(text, nullptr, false);
    if (!head.is_object()) {
      throw Error(fmt::format("{}: what is outside its events is not JSON; copy or record it again",
                              printable(report_.string())));
    }
    events_.learn_value("", head);
    events_.learn_signs(text_of(head));
    std::set<std::string> unknown;
    for (const auto& [key, value] : head.items()) {
      if (!any_matches(torch_schema().keep, key)) {
        if (unknown.insert(key).second) left_out_.push_back(key);
      } else if (key == "deviceProperties") {
        if (value.is_array()) head_.emplace(key, known_of_gpus(value));
      } else if (key != "traceEvents") {
        head_.emplace(key, value);
        if (key == "distributedInfo") add_addresses(value);
      }
    }
  }

  Json known_of_gpus(const Json& gpus) {
    Json all = Json::array();
    for (const Json& gpu : gpus) {
      Json known = Json::object();
      for (const auto& [key, value] : gpu.items()) {
        if (!gpu.is_object() || !any_matches(torch_schema().gpu, key)) continue;
        if (key == "name") work_.vocabulary.add(text_of(value));
        known.emplace(key, value);
      }
      all.push_back(std::move(known));
    }
    return all;
  }

  // Adds addresses of processes.
  void add_addresses(const Json& group) {
    static const RE2 address(R"((\d+\.\d+\.\d+\.\d+(?::\d+)?)|://\[?([^:/\]]+))");
    with_strings(text_of(group), [&](const std::string& text) {
      re2::StringPiece rest(text);
      for (std::string number, host; RE2::FindAndConsume(&rest, address, &number, &host);) {
        if (number.empty()) {
          work_.secrets.add(PrivateKind::host, host);
        } else {
          work_.secrets.add(PrivateKind::environment, number);
        }
      }
      return std::optional<std::string>();
    });
  }

  // --- writing

  std::string scrubbed(std::string_view json, const Cleaner& cleaner) {
    return with_strings(json, [&](std::string text) -> std::optional<std::string> {
      if (!cleaner.remove_from(text)) return std::nullopt;
      ++work_.result.changed;
      return text;
    });
  }
  std::string without_own_numbers(const std::string& event, const Cleaner& cleaner) {
    return with_own_numbers(event, [&](const std::string& number) -> std::optional<std::string> {
      if (!cleaner.finds_in(number)) return std::nullopt;
      ++work_.result.removed["numbers"];
      return literal_of(replacement);
    });
  }
  // Whether any string may contain what must be removed, judged from the whole text at once.
  static bool may_hold_any(std::string_view json, const Cleaner& cleaner) {
    return json.find_first_of("\\%&") != json.npos || cleaner.finds_in(json);
  }

  void write(const Cleaner& cleaner) {
    Packer to([&](std::string_view bytes) { out_.write(bytes); },
              packed_ ? Packer::Level::usual : Packer::Level::plain);
    for (std::string key : left_out_) {
      cleaner.remove_from(key);
      work_.result.left_out.push_back(std::move(key));
    }
    if (!bare_) {
      std::string head = scrubbed(text_of(head_, 1), cleaner);
      head.resize(head.rfind('}'));
      while (!head.empty() && (head.back() == '\n' || head.back() == ' ')) head.pop_back();
      to.write(head + (head_.empty() ? "" : ",") + "\n\"traceEvents\": ");
    }
    EventStream events(report_);
    const char* before = "[\n";
    for (std::string_view event; events.next(event); before = ",\n") {
      const std::string_view known = events_.known_part_of(event);
      to.write(before);
      if (may_hold_any(known, cleaner)) {
        to.write(without_own_numbers(scrubbed(known, cleaner), cleaner));
      } else {
        to.write(known);
      }
    }
    if (*before == '[') to.write("[");
    to.write(bare_ ? "\n]\n" : "\n]\n}\n");
    to.finish();
  }

  // --- proving

  void search(const Proof& proof) const {
    const auto check_strings = [&](std::string_view json, const char* where) {
      with_strings(json, [&](const std::string& text) {
        proof.check_text(text, where, report_);
        return std::optional<std::string>();
      });
    };
    EventStream events(out_.path());
    for (std::string_view event; events.next(event);) {
      // A match in numbers is not text.
      if (!proof.in_text(event)) continue;
      check_strings(event, "in an event");
      with_own_numbers(std::string(event), [&](const std::string& number) {
        proof.check_text(number, "in a number of an event", report_);
        return std::optional<std::string>();
      });
    }
    check_strings(events.head(), "outside the events");
    constexpr std::size_t any_bytes = 1;  // all of it is text
    proof.check_bytes(out_.path(), report_, any_bytes);
  }

  fs::path report_;
  NewFile& out_;
  bool packed_, bare_ = false;
  Json head_ = Json::object();
  std::vector<std::string> left_out_;
  Work& work_;
  TraceEvents events_;
};

}  // namespace

void copy_trace(const fs::path& report, NewFile& out, bool packed, Work& work) {
  TraceCopy(report, out, packed, work).run();
}

}  // namespace gh::scrubbing
