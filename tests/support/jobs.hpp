// Digests of a job's ranks.
#pragma once
#include <filesystem>
#include <vector>

#include "job/digest.hpp"

namespace support {

gh::Digest digest_of(const std::filesystem::path& report);

/// Two ranks, the second of which sleeps 19 ms in each step; recorded once for all tests.
const gh::Digest& straggling();

/// A job with this many ranks, eight per node: all are like the straggler's healthy neighbor, each
/// with its own clock.
std::vector<gh::Digest> job(std::int64_t ranks);

/// In the base of `job`, all ranks wait for the sleeping one; a rank that should be late arrives
/// when that one did.
void make_late(gh::Digest& digest);

}  // namespace support
