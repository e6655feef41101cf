// Whether a change makes a program slower: reports of it against those of before.
//
//   capture.hpp     Analysis, Facts, Report -> Capture: the measurements of a report
//   baseline.hpp    Captures <-> a file (capture_json.hpp: what digests hold in the same way)
//   settings.hpp    what a verdict depends on in addition to the captures
//   statistics.hpp  two sets of measurements -> Difference: whether it is more than noise
//   comparison.hpp  Captures of before and of now -> Comparison, with the verdict
//
// compare() in comparison.cpp reads in the order in which things happen; comparison_passes.hpp
// lists its passes. Whether a merge passes is decided at the end, by decide() in outcome.cpp.
#pragma once
#include "gate/baseline.hpp"
#include "gate/capture.hpp"
#include "gate/comparison.hpp"
#include "gate/settings.hpp"
#include "gate/statistics.hpp"
