// The verbs of rules. Each file below verbs/ contains those about one subject, and a table of them
// at its end; schemas/api.toml documents them.
//
// To add a verb, add a function and a row to one of these files, and an entry there.
#pragma once
#include <span>

#include "rules/binding/crossing.hpp"

namespace gh::binding {

struct Verb {
  const char* name;        ///< "trace:ops", "selection:where"
  lua_CFunction function;  ///< with what it charges in advance
};
using Verbs = std::span<const Verb>;

extern const Verbs recording_verbs;   // what is known about the report as a whole
extern const Verbs select_verbs;      // selections from the trace, and from selections
extern const Verbs copies_verbs;      // copies back and forth
extern const Verbs neighbours_verbs;  // operations next to each other on a stream
extern const Verbs samples_verbs;     // sampled GPU metrics
extern const Verbs patterns_verbs;    // patterns of rows, which rules compose
extern const Verbs turns_verbs;       // devices and streams that take turns, or wait for each other
extern const Verbs times_verbs;       // how long, and at the same time as what
extern const Verbs values_verbs;      // fields of rows, summed up
extern const Verbs products_verbs;    // what launched operations: operators, matrix products
extern const Verbs launches_verbs;    // how kernels were launched, and how full that makes a device
extern const Verbs host_verbs;        // what else was recorded about the launching thread
extern const Verbs evidence_verbs;    // rows as shown by a finding

}  // namespace gh::binding
