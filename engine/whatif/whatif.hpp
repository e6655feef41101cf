// What a fix is worth: the recorded steps replayed as if it had been made.
//
//   changes.hpp         what a fix does to a trace, in the words that rules use
//   replayed_steps.hpp  which steps stand for all
//   graph.hpp           what waits for what in them; its edges are found by host_edges.cpp,
//                       device_edges.cpp and wait_edges.cpp
//   path.hpp            what the step waited for, walked back through the graph
//   overhead.hpp        what the profiler added, taken out
//   apply.hpp           a change made in the graph; graph_capture.hpp: what CUDA graphs could hold
//   floors.hpp          what a step cannot fall below
//   replay.hpp          all of that behind one class: changes in, the step's length out
//   touched.hpp         what changes touch, so that two fixes do not both win it
//   remade.hpp          the replayed steps with changes made, as a trace of its own
//   plan.hpp            which fixes to make, in which order, and what the step then takes
//
// The headers included here are the ones for others; the rest is the folder's own affair.
#pragma once
#include "whatif/changes.hpp"
#include "whatif/floors.hpp"
#include "whatif/path.hpp"
#include "whatif/plan.hpp"
#include "whatif/replay.hpp"
#include "whatif/touched.hpp"
