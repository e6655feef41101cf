// What a fix saves: the recorded steps replayed as if the fix had been made.
//
//   changes.hpp         what a fix does to a trace, in the words that rules use
//   replayed_steps.hpp  which steps stand for all
//   graph.hpp           what waits for what in them; host_edges.cpp, device_edges.cpp,
//                       wait_edges.cpp and silence_edges.cpp find its edges
//   silences.hpp        whether a silent host thread works or waits, and for what
//   path.hpp            what the step waited for, walked back through the graph
//   overhead.hpp        removes what the profiler added
//   apply.hpp           makes a change in the graph; graph_capture.hpp: what CUDA graphs could hold
//   floors.hpp          lower bounds of a step
//   replay.hpp          all of that behind one class: changes in, length of the step out
//   touched.hpp         what changes touch, so that two fixes do not both save it
//   trace_after.hpp     the replayed steps with changes made, as a separate trace
//   plan.hpp            which fixes to make, in which order, and what the step then takes
//
// Include only the headers included here from outside; the others are internal to this folder.
#pragma once
#include "whatif/changes.hpp"
#include "whatif/floors.hpp"
#include "whatif/path.hpp"
#include "whatif/plan.hpp"
#include "whatif/replay.hpp"
#include "whatif/touched.hpp"
