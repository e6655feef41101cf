// A gate run with everything that a CI system passes.
#pragma once
#include <string>

#include "support/program.hpp"

namespace support {

/// The gate between two recordings, with every format written to a file in a separate folder.
struct GateRun {
  TempDir dir;
  Ran ran;
  GateRun(const std::string& before, const std::string& after) {
    std::string outputs;
    for (const char* format : {"sarif", "markdown", "junit", "github", "json"})
      outputs += std::string(" --output ") + format + "=" + path(format).string();
    ran = advise("gate " + after + ".sqlite --baseline " + before + ".sqlite" + outputs);
  }
  std::filesystem::path path(const std::string& format) const { return dir / ("out." + format); }
  std::string text(const std::string& format) const { return read_file(path(format)); }
};

}  // namespace support
