#include "support/schema.hpp"

#include "support/program.hpp"

using Json = nlohmann::ordered_json;

namespace support {

namespace {

Json of_another_type(const Json& value) { return value.is_structured() ? Json(1) : Json::object(); }

Broken with(const Json& good, const Json::json_pointer& field, const Json& value) {
  Broken changed{field.to_string() + " = " + value.dump(), good};
  changed.document[field] = value;
  return changed;
}

Broken without(const Json& good, const Json::json_pointer& object, const std::string& key) {
  Broken changed{"without " + (object / key).to_string(), good};
  changed.document[object].erase(key);
  return changed;
}

void break_at(const Json& good, const Json::json_pointer& pointer, std::vector<Broken>& all) {
  const Json& part = good[pointer];
  if (part.is_object()) {
    all.push_back(with(good, pointer / "surprise", 1));
    for (const auto& [key, value] : part.items()) {
      all.push_back(without(good, pointer, key));
      all.push_back(with(good, pointer / key, of_another_type(value)));
      if (value.is_structured()) break_at(good, pointer / key, all);
    }
  } else {
    REQUIRE_MESSAGE(!part.empty(), pointer.to_string(), " is empty: it would go untested");
    all.push_back(with(good, pointer / std::size_t{0}, of_another_type(part[0])));
    if (part[0].is_structured()) break_at(good, pointer / std::size_t{0}, all);
  }
}

}  // namespace

Json read_schema(const std::string& schema) {
  return Json::parse(read_file(GH_SOURCE_DIR "/" + schema));
}

std::vector<std::string> verdicts(const std::string& schema, const std::vector<Json>& documents) {
  const TempDir dir;
  std::string lines;
  for (const Json& d : documents) lines += d.dump() + '\n';
  write_file(dir / "documents", lines);
  // Debian's interpreter: its package python3-jsonschema is installed for that one.
  const Ran ran = shell("/usr/bin/python3 '" GH_SOURCE_DIR
                        "/tests/support/validate_json.py' '" GH_SOURCE_DIR "/" +
                        schema + "' <" + quoted(dir / "documents"));
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(lines_of(ran.out).size() == documents.size());
  return lines_of(ran.out);
}

std::string verdict(const std::string& schema, const Json& document) {
  return verdicts(schema, {document}).front();
}

std::vector<Broken> broken(const Json& good) {
  std::vector<Broken> all;
  break_at(good, Json::json_pointer(), all);
  return all;
}

Broken with_value(const Json& good, const std::string& pointer, const Json& value) {
  return with(good, Json::json_pointer(pointer), value);
}

}  // namespace support
