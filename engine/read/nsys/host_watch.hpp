// What the profiler saw of host threads beside their calls: when they were on a CPU, and what their
// stacks held at moments.
#pragma once
#include <string>
#include <string_view>

#include "read/nsys/part.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Joins switches onto a CPU and off it to the stretches between. Where one of the two is missing,
/// the thread is taken to have stayed on its CPU: nobody is said to have been held off it for want
/// of a row.
void join_switches(const Switches& switches, CpuStretches& stretches);

/// Names each sample of a native stack by its innermost frame that tells something: not libc's, not
/// the profiler's own, not one without a symbol. Adds them to the trace's samples, but for those of
/// which no stack was recorded: they tell nothing.
void name_samples(const StackSamples& samples, const StackFrames& frames, Trace& trace);

/// How a module is named: "numpy.random._common" of .../site-packages/numpy/random/_common.cpython-
/// 312-x86_64-linux-gnu.so, else the file's name without its folder.
std::string short_module(std::string_view path);

/// Takes Nsight's GIL trace out of the ranges. Waiting for the lock stays among them too: it is
/// what the thread did. Holding it is not.
void take_python_lock(Trace& trace);

}  // namespace gh::nsys
