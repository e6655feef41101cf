// Jobs of many ranks: a report of each, brought together.
//
//   digest.hpp  a report -> Digest, of some KiB; Digest <-> a file
//   fleet.hpp   Digests of a job's ranks -> Fleet: who comes late, what holds on how many ranks,
//               what fixes are worth to the job
//   slurm.hpp   a folder of reports, digested and brought together by a cluster
//
// make_fleet() in fleet.cpp reads in the order in which things happen; fleet_passes.hpp lists its
// passes. A new field of a digest goes into digest.hpp, digest.cpp and digest_json.cpp.
#pragma once
#include "job/digest.hpp"
#include "job/fleet.hpp"
#include "job/slurm.hpp"
