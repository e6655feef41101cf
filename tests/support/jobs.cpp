#include "support/jobs.hpp"

#include "analysis/analysis.hpp"
#include "read/read.hpp"
#include "rules/rules.hpp"
#include "support/support.hpp"

namespace fs = std::filesystem;

namespace support {

gh::Digest digest_of(const fs::path& report) {
  return gh::make_digest(
      [&](std::optional<int> rank) {
        gh::Selection selection;
        selection.rank = rank;
        return gh::Analysis(gh::read_report(report), gh::Classes(), selection);
      },
      report.string(), gh::own_rules(), {}, {});
}

const gh::Digest& straggling() {
  static const gh::Digest digest = digest_of(fixture("ddp-straggler"));
  return digest;
}

std::vector<gh::Digest> job(std::int64_t ranks) {
  std::vector<gh::Digest> digests;
  for (std::int64_t r = 0; r < ranks; ++r) {
    gh::Digest d = straggling();
    d.ranks.resize(1);
    d.ranks[0].rank = r;
    d.world_size = ranks;
    d.node = "n" + std::to_string(r / 8);
    d.path = std::to_string(r) + ".digest";
    d.report = std::to_string(r) + ".sqlite";
    const gh::Ns ahead = r * 7'000'000'019;  // no rank says so
    d.epoch_ns = 0;
    d.ranks[0].window.start += ahead;
    d.ranks[0].window.end += ahead;
    for (gh::Collective& c : d.ranks[0].collectives.first) {
      c.start += ahead;
      c.end += ahead;
    }
    digests.push_back(std::move(d));
  }
  return digests;
}

void make_late(gh::Digest& digest) {
  const std::int64_t rank = *digest.ranks[0].rank;
  const gh::Ns ahead = digest.ranks[0].window.start - straggling().ranks[0].window.start;
  digest.ranks[0] = straggling().ranks[1];
  digest.ranks[0].rank = rank;
  digest.ranks[0].window.start += ahead;
  digest.ranks[0].window.end += ahead;
  for (gh::Collective& c : digest.ranks[0].collectives.first) {
    c.start += ahead;
    c.end += ahead;
  }
}

}  // namespace support
