// Digests of a job's ranks.
#pragma once
#include <filesystem>
#include <vector>

#include "job/digest.hpp"

namespace support {

gh::Digest digest_of(const std::filesystem::path& report);

/// Two ranks of which the second sleeps 19 ms in each step; recorded once for all tests.
const gh::Digest& straggling();

/// A job of so many ranks, eight on a node: all are like the straggler's healthy neighbour, each
/// with a clock of its own.
std::vector<gh::Digest> job(std::int64_t ranks);

/// In the base of `job` all wait for the sleeping rank: a rank that is to be late comes when that
/// one came.
void make_late(gh::Digest& digest);

}  // namespace support
