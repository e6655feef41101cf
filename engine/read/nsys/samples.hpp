// Samples of GPU metrics.
#pragma once
#include "read/nsys/translator.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Samples name their GPU and metric by numbers of their own, so they are read when the rest is
/// known. One of a metric without a name says nothing: those are counted in a problem.
void read_samples(const Database& db, Translator& translator, Trace& trace);

}  // namespace gh::nsys
