// base: what any program of this kind needs. Nothing here knows about GPUs or includes another
// folder. This is the map; include the one header that you need.
#pragma once
#include "base/deadline.hpp"      // --timeout: how long a report may take
#include "base/embedded.hpp"      // rules/ and schemas/, which the build puts into the program
#include "base/error.hpp"         // the exception whose text is meant for the user
#include "base/files.hpp"         // reading files; writing them completely or not at all
#include "base/gzip.hpp"          // packing and unpacking
#include "base/json.hpp"          // the JSON that we write and read
#include "base/json_fields.hpp"   // structs as JSON, each field named once (json_reader.hpp)
#include "base/lazy.hpp"          // what is made once, when it is first asked for
#include "base/numbers.hpp"       // numbers in texts
#include "base/owner.hpp"         // whose files we trust as our own
#include "base/parallel.hpp"      // splitting work among threads
#include "base/patterns.hpp"      // globs, regular expressions
#include "base/profile.hpp"       // --profile: where the program's own time went
#include "base/program.hpp"       // running another program
#include "base/quantities.hpp"    // "160.3 ms", "1.3 GiB", "71 %"
#include "base/schema_table.hpp"  // schemas/*.toml, parsed
#include "base/source_line.hpp"   // "train.py:123" in a text
#include "base/spans.hpp"         // nanoseconds, and sets of time
#include "base/streams.hpp"       // standard output and standard error
#include "base/suggest.hpp"       // "did you mean ...?"
#include "base/temporary.hpp"     // temporary folders; cleaning up when a signal ends the program
#include "base/text.hpp"          // making foreign text printable, shortening it, digests
#include "base/unit_words.hpp"    // "a step", "tokens", "an iteration"
