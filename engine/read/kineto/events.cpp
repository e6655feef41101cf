#include "read/kineto/events.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include "read/event_stream.hpp"

namespace gh::kineto {
namespace {

static_assert(EventStream::padding >= simdjson::SIMDJSON_PADDING);

using simdjson::ondemand::json_type;

std::string_view text(simdjson::ondemand::value v) {
  return v.type() == json_type::string ? std::string_view(v.get_string()) : std::string_view();
}

// The raw token of a number or string; nothing for anything else.
std::string_view token(simdjson::ondemand::value v) {
  const json_type type = v.type().value();
  return type == json_type::number || type == json_type::string ? v.raw_json_token()
                                                                : std::string_view();
}

bool is_text(Argument a) {
  return a == Argument::text || a == Argument::collective || a == Argument::element_type;
}

}  // namespace

struct Events::State {
  explicit State(const std::filesystem::path& path)
      : shown(printable(path.string())), stream(path) {}

  // Throws simdjson_error if the text is not JSON.
  Event parse(std::string_view json) {
    Event e;
    document = parser.iterate(json.data(), json.size(), json.size() + EventStream::padding);
    for (simdjson::ondemand::field field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "args") {
        read_arguments(field.value(), e);
      } else if (key == "ph") {
        e.phase = text(field.value());
      } else if (key == "cat") {
        e.category = text(field.value());
      } else if (key == "name") {
        e.name = text(field.value());
      } else if (key == "pid") {
        e.pid = token(field.value());
      } else if (key == "tid") {
        e.tid = token(field.value());
      } else if (key == "ts") {
        e.time = token(field.value());
      } else if (key == "dur") {
        e.duration = token(field.value());
      } else if (key == "id") {
        e.id = token(field.value());
      }
    }
    return e;
  }

  void read_arguments(simdjson::ondemand::value arguments, Event& e) {
    if (arguments.type().value() != json_type::object) return;
    for (simdjson::ondemand::field field : arguments.get_object()) {
      const auto known = known_arguments.find(std::string_view(field.unescaped_key()));
      if (known == known_arguments.end()) continue;
      std::string_view& slot = e.arguments[static_cast<std::size_t>(known->second)];
      simdjson::ondemand::value v = field.value();
      if (v.type().value() == json_type::array) {
        slot = v.get_array().value().raw_json();
      } else if (is_text(known->second)) {
        slot = text(v);
      } else {
        slot = token(v);
      }
    }
  }

  const std::string shown;
  EventStream stream;
  const ByText<Argument>& known_arguments = schema().arguments;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
};

Events::Events(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
Events::~Events() = default;

bool Events::next(Event& event) {
  std::string_view json;
  if (!state_->stream.next(json)) return false;
  try {
    event = state_->parse(json);
  } catch (const simdjson::simdjson_error& e) {
    throw Error(fmt::format("{}: the event at byte {} is not JSON ({}); copy or record it again",
                            state_->shown, state_->stream.offset(), e.what()));
  }
  return true;
}

const std::string& Events::head() const { return state_->stream.head(); }
bool Events::has_events() const { return state_->stream.has_events(); }
std::int64_t Events::strays() const { return state_->stream.strays(); }

}  // namespace gh::kineto
