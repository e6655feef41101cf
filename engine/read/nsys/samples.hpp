// Samples of GPU metrics.
#pragma once
#include "read/nsys/translator.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Samples identify their GPU and metric by separate numbers, so they are read after the rest. A
/// sample whose metric has no name is useless; a problem counts those.
void read_samples(const Database& db, Translator& translator, Trace& trace);

}  // namespace gh::nsys
