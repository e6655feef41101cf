// The state of a scrub: what must be removed, and how much was.
#pragma once
#include "read/scrub.hpp"
#include "read/scrub/secrets.hpp"

namespace gh::scrubbing {

struct Work {
  explicit Work(const std::filesystem::path& report)
      : deadline(report), secrets(vocabulary, deadline) {}

  Deadline deadline;  // for everything
  Vocabulary vocabulary;
  Secrets secrets;
  Scrubbed result;

  void count(PrivateKind kind, std::int64_t n = 1) {
    static constexpr std::array<const char*, private_kinds> told{"environment variables",
                                                                 "words of the command line",
                                                                 "host names",
                                                                 "user names",
                                                                 "folders",
                                                                 "texts of captured output"};
    result.removed[told[static_cast<std::size_t>(kind)]] += n;
  }
};

}  // namespace gh::scrubbing
