// What the profiler saw of host threads besides their calls: when they were on a CPU, and samples
// of their stacks.
#pragma once
#include <string>
#include <string_view>

#include "read/nsys/part.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Pairs switches onto and off a CPU into intervals. If one of a pair is missing, assumes that the
/// thread stayed on its CPU, so that a missing row never looks like a preempted thread.
void join_switches(const Switches& switches, CpuStretches& stretches);

/// Names each native stack sample after its innermost informative frame: not in libc, not in the
/// profiler, not without a symbol. Adds the samples to the trace, except those without a stack,
/// which say nothing.
void name_samples(const StackSamples& samples, const StackFrames& frames, Trace& trace);

/// The short name of a module: "numpy.random._common" for
/// .../site-packages/numpy/random/_common.cpython-312-x86_64-linux-gnu.so, otherwise the file name
/// without its folder.
std::string short_module(std::string_view path);

/// Moves Nsight's GIL trace out of the ranges. Waiting for the lock also stays a range, because
/// that is what the thread did. Holding it does not.
void take_python_lock(Trace& trace);

}  // namespace gh::nsys
