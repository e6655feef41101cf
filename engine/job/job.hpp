// Jobs of many ranks: combines their reports.
//
//   digest.hpp  a report -> Digest, of a few KiB; Digest <-> a file
//   fleet.hpp   Digests of a job's ranks -> Fleet: which ranks are late, on how many a finding
//               holds, what fixes are worth to the job
//   slurm.hpp   a folder of reports, digested and combined on a cluster
//
// make_fleet() in fleet.cpp reads in the order in which things happen; fleet_passes.hpp lists its
// passes. A new field of a digest goes into digest.hpp, digest.cpp and digest_json.cpp.
#pragma once
#include "job/digest.hpp"
#include "job/fleet.hpp"
#include "job/slurm.hpp"
