// Structs as JSON, each field named once.
#include <doctest/doctest.h>

#include "base/json_reader.hpp"

namespace {

enum class Colour { red, green };
const char* name_of(Colour c) { return c == Colour::red ? "red" : "green"; }

struct Part {
  std::string name;
  double share = 0;
};

struct Whole {
  std::int64_t ns = 0, none = -1;
  std::optional<double> flops;
  Colour colour = Colour::red;
  bool about = false;
  std::vector<Part> parts;
  std::map<std::string, std::vector<std::int64_t>> by_cause;
};

constexpr auto part_fields = [](auto& json, auto& part) {
  json("name", part.name);
  json("share", part.share, gh::shares);
};

constexpr auto whole_fields = [](auto& json, auto& whole) {
  json("ns", whole.ns);
  json.or_null("none", whole.none, std::int64_t{-1});
  json("flops", whole.flops, gh::amounts);
  json("colour", whole.colour, Colour::green);
  json.either("about", whole.about, "about", "at_most");
  json("parts", whole.parts, part_fields);
  if (json.has("by_cause", !whole.by_cause.empty())) json("by_cause", whole.by_cause);
};

std::string written(const Whole& whole) {
  gh::FieldWriter writer;
  whole_fields(writer, whole);
  return writer.json.dump();
}

Whole read(const std::string& text) {
  Whole whole;
  gh::read_json(text, [&](const gh::FieldReader& reader) { whole_fields(reader, whole); });
  return whole;
}

std::string refused(const std::string& text) {
  try {
    read(text);
  } catch (const gh::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("fields: what is written is read again") {
  CHECK(written(Whole()) ==
        R"({"ns":0,"none":null,"flops":null,"colour":"red","about":"at_most","parts":[]})");
  const std::string text = R"({"ns":5,"none":3,"flops":2.5,"colour":"green","about":"about",)"
                           R"("parts":[{"name":"a","share":1.0}],"by_cause":{"idle":[1,2]}})";
  CHECK(written(read(text)) == text);
  CHECK(read(text).parts.at(0).share == 1);
}

TEST_CASE("fields: what a field cannot have is refused") {
  const auto with = [](const std::string& from, const std::string& to) {
    Whole whole;
    whole.parts = {{"a", 1}};
    std::string text = written(whole);
    return refused(text.replace(text.find(from), from.size(), to));
  };
  CHECK(with("\"ns\":0", "\"ns\":1") == "");
  CHECK(with("\"ns\":0", "\"n\":0") == "'ns' is missing");
  CHECK(with("\"ns\":0", "\"ns\":-1") == "the number -1 is out of range");
  CHECK(with("\"ns\":0", "\"ns\":1.5") == "a whole number is missing");
  CHECK(with("\"ns\":0", "\"ns\":\"0\"") == "a number is missing");
  CHECK(with("red", "blue") == "'blue' is unknown");
  CHECK(with("at_most", "roughly") == "'roughly' is unknown");
  CHECK(with("1.0", "1.1") == "the number 1.1 is out of range");
  CHECK(with("{\"name\":\"a\"", "{\"nom\":\"a\"") == "'name' is missing");
  CHECK(with("}]}", "}}") == "its JSON is incomplete or malformed");
  CHECK(refused("[]") == "'ns' is missing");
}
