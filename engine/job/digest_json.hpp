// Digests as JSON (schemas/digest.schema.json).
#pragma once
#include <string>

#include "job/digest.hpp"

namespace gh {

std::string digest_json(const Digest& digest);

/// The document is a digest by another version, whose figures cannot be compared. what() is the
/// name of that version.
struct OtherVersion : Error {
  using Error::Error;
};

/// Throws OtherVersion, or Error that says what is wrong with it; neither contains the file's name.
/// Digest::path stays empty.
Digest digest_from_json(const std::string& json);

}  // namespace gh
