// Checks documents against JSON schemas, and breaks documents on purpose.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace support {

/// A schema below the repository's root: "schemas/report.schema.json".
nlohmann::ordered_json read_schema(const std::string& schema);

/// What python3-jsonschema says about each document: "valid", or where it violates the schema.
std::vector<std::string> verdicts(const std::string& schema,
                                  const std::vector<nlohmann::ordered_json>& documents);
std::string verdict(const std::string& schema, const nlohmann::ordered_json& document);

struct Broken {
  std::string how;  ///< "without /runs/0/tool"
  nlohmann::ordered_json document;
};

/// Every way to break a document in one field: each is left out, each gets another type, and each
/// object gets an additional one. Only the first element of a list is used. An empty list fails the
/// test, since nothing in it could be broken.
std::vector<Broken> broken(const nlohmann::ordered_json& good);

/// The document with another value at a pointer.
Broken with_value(const nlohmann::ordered_json& good, const std::string& pointer,
                  const nlohmann::ordered_json& value);

}  // namespace support
