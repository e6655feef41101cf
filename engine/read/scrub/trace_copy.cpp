#include "read/scrub/trace_copy.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "read/event_stream.hpp"
#include "read/scrub/characters.hpp"
#include "read/scrub/json_text.hpp"
#include "read/scrub/packer.hpp"
#include "read/scrub/proof.hpp"

namespace gh::scrubbing {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;

// The copy of one trace, event by event.
class TraceCopy {
 public:
  TraceCopy(const fs::path& report, NewFile& out, bool packed, Work& work)
      : report_(report), out_(out), packed_(packed), work_(work) {}

  void run() {
    collect();
    work_.secrets.compile();
    write();
    search();
  }

 private:
  static const PrivateDataSchema::Torch& schema() { return private_data_schema().torch; }

  // Finds events that may hold keys that say that their values have to go.
  static const RE2& telling_keys() {
    static const RE2 expression([] {
      std::string keys;
      for (const PrivateKind kind : kinds_by_key) {
        for (const std::string& key : of_kind(schema().private_keys, kind)) {
          keys += "|" + RE2::QuoteMeta(key);
        }
      }
      return "(?i)\"(?:process_name|process_labels" + keys + ")\"|\\\\u00";
    }());
    return expression;
  }

  // An event without the values of such keys; `learn`: so that they are looked for elsewhere.
  std::string without_secrets(std::string_view event, bool learn) {
    if (!RE2::PartialMatch(re2::StringPiece(event.data(), event.size()), telling_keys())) {
      return std::string(event);
    }
    const bool is_process = event.find("\"process_name\"") != event.npos;
    const bool is_label = event.find("\"process_labels\"") != event.npos;
    return with_values(event, [&](const std::string& key, std::string_view value) {
      return instead_of(key, value, is_process, is_label, learn);
    });
  }

  // What takes the place of a key's value, if anything.
  std::optional<std::string> instead_of(const std::string& key, std::string_view value,
                                        bool is_process, bool is_label, bool learn) {
    if (value.empty() || (value[0] != '"' && value[0] != '{' && value[0] != '[')) {
      return std::nullopt;
    }
    const std::string removed = '"' + std::string(replacement) + '"';
    const Json json = Json::parse(value, nullptr, false);
    for (const PrivateKind kind : kinds_by_key) {
      if (!any_matches(of_kind(schema().private_keys, kind), in_lower_case(key))) continue;
      if (learn && json != replacement) add(kind, "", json);
      return removed;
    }
    if (!json.is_string()) return std::nullopt;
    const auto text = json.get<std::string>();
    // Arguments may follow the name of a process.
    if (is_process && key == "name" && text.find(' ') != text.npos) {
      return literal_of(text.substr(0, text.find(' ')));
    }
    static const RE2 usual_label(R"((?:CPU|GPU) ?\d*)");
    if (is_label && key == "labels" && !text.empty() && text != replacement &&
        !RE2::FullMatch(text, usual_label)) {
      if (learn) add(PrivateKind::host, "", json);
      return removed;
    }
    return std::nullopt;
  }

  // Calls use(key, text of the value) for each key of an event, as it is written, in one pass.
  template <class Use>
  static void with_keys(std::string_view event, Use use) {
    for (std::size_t at = event.find("\":"); at != event.npos; at = event.find("\":", at + 2)) {
      const std::size_t open = event.rfind('"', at - 1);
      if (at == 0 || open == event.npos) continue;
      const std::size_t value = std::min(event.find_first_not_of(' ', at + 2), event.size());
      std::size_t end = value;
      if (value < event.size() && event[value] == '"') {
        end = std::min(event.find('"', value + 1), event.size() - 1) + 1;
      }
      use(event.substr(open + 1, at - open - 1), event.substr(value, end - value));
    }
  }
  // Words without digits are the format's.
  void learn_word(std::string_view word) {
    if (word.size() > 60 || known_words_.contains(word)) return;
    if (std::all_of(word.begin(), word.end(), [](char c) {
          return is_letter(c) || c == '_' || c == ' ' || c == '.' || c == '%';
        })) {
      work_.secrets.add_words_of_format(word);
    }
    known_words_.emplace(word);
  }

  // --- collecting

  void collect() {
    EventStream events(report_);
    for (std::string_view event; events.next(event);) collect_from_event(event);
    if (!events.has_events()) {
      throw Error(fmt::format(
          "{}: is JSON without traceEvents; give what torch.profiler's export_chrome_trace wrote",
          printable(report_.string())));
    }
    collect_from_head(events.head());
  }

  void collect_from_event(std::string_view event) {
    if (event.find('\\') == event.npos) {
      work_.secrets.add_owners(event);
    } else {
      add_owners_in_strings(event);
    }
    with_keys(event, [&](std::string_view key, std::string_view value) {
      if (key == "cat" && value.size() > 2) learn_word(value.substr(1, value.size() - 2));
      learn_word(key);
    });
    without_secrets(event, true);
  }

  // Of what stands beside the events; keeps of it what may be kept.
  void collect_from_head(const std::string& text) {
    bare_ = text.empty();
    if (depth_of(text) > most_json_depth) {
      throw Error(fmt::format("{}: what stands beside its events nests too deep to be searched",
                              printable(report_.string())));
    }
    const Json head = bare_ ? Json::object() : Json::parse(text, nullptr, false);
    if (!head.is_object()) {
      throw Error(
          fmt::format("{}: what stands beside its events is no JSON; copy or record it again",
                      printable(report_.string())));
    }
    each_private_value(head, [&](PrivateKind kind, const Json& value) { add(kind, "", value); });
    for (const auto& [key, value] : head.items()) {
      if (!any_matches(schema().keep, key)) {
        work_.result.left_out.push_back(key);
      } else if (key != "traceEvents") {
        head_[key] = value;
      }
    }
    for (const auto& [key, value] : head_.items()) learn_word(key);
    if (const auto gpus = head_.find("deviceProperties"); gpus != head_.end() && gpus->is_array()) {
      for (Json& gpu : *gpus) {
        if (gpu.is_object()) gpu.erase("uuid");
      }
    }
    if (const auto group = head_.find("distributedInfo"); group != head_.end()) {
      add_addresses(*group);
    }
    add_owners_in_strings(text_of(head_));
  }

  static std::string text_of(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
  }

  void add_owners_in_strings(std::string_view json) {
    with_strings(json, [&](const std::string& text) {
      work_.secrets.add_owners(text);
      return std::optional<std::string>();
    });
  }

  // Of processes.
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

  // All texts of a value, however deep. `name` is the variable whose value it is, if any.
  void add(PrivateKind kind, const std::string& name, const Json& value) {
    if (value.is_structured()) {
      for (const auto& [key, element] : value.items()) {
        add(kind, value.is_object() ? key : "", element);
      }
      return;
    }
    if (!value.is_string()) return;
    const auto text = value.get<std::string>();
    work_.count(kind);
    if (kind != PrivateKind::environment) {
      work_.secrets.add(kind, text);
    } else if (name.empty()) {
      work_.secrets.add_variable(text);
    } else {
      work_.secrets.add_variable(name, text);
    }
  }

  // --- writing

  std::string scrubbed(std::string_view json) {
    return with_strings(json, [&](std::string text) -> std::optional<std::string> {
      if (!work_.secrets.replace_in(text)) return std::nullopt;
      ++work_.result.changed;
      return text;
    });
  }
  // Whether any string may hold what has to go, told from the text at once.
  bool is_clean(std::string_view json) const {
    return json.find('\\') == json.npos && !work_.secrets.stand_in(json);
  }

  void write() {
    Packer to(out_, packed_);
    if (!bare_) {
      std::string head = scrubbed(text_of(head_, 1));
      head.resize(head.rfind('}'));
      while (!head.empty() && (head.back() == '\n' || head.back() == ' ')) head.pop_back();
      to.write(head + (head_.empty() ? "" : ",") + "\n\"traceEvents\": ");
    }
    EventStream events(report_);
    const char* before = "[\n";
    for (std::string_view event; events.next(event); before = ",\n") {
      const std::string known = without_secrets(event, false);
      to.write(before);
      to.write(is_clean(known) ? known : scrubbed(known));
    }
    if (*before == '[') to.write("[");
    to.write(bare_ ? "\n]\n" : "\n]\n}\n");
    to.finish();
  }

  // --- proving

  void search() {
    const auto check = [&](std::string_view json, const char* where) {
      with_strings(json, [&](const std::string& text) {
        if (work_.secrets.stand_in(text)) {
          fail_left(report_, where, work_.secrets.variable_in(text));
        }
        return std::optional<std::string>();
      });
    };
    EventStream events(out_.path());
    for (std::string_view event; events.next(event);) {
      if (!is_clean(event)) check(event, "in an event");
      if (without_secrets(event, false) != event) fail_left(report_, "in an event", "");
    }
    check(events.head(), "beside the events");
    search_bytes(out_.path(), report_, work_.secrets);
  }

  fs::path report_;
  NewFile& out_;
  bool packed_, bare_ = false;
  Json head_ = Json::object();
  std::set<std::string, std::less<>> known_words_;
  Work& work_;
};

}  // namespace

void copy_trace(const fs::path& report, NewFile& out, bool packed, Work& work) {
  TraceCopy(report, out, packed, work).run();
}

}  // namespace gh::scrubbing
