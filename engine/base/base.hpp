// base: what any program of this kind needs, and nothing that knows of GPUs. It includes no other
// folder. This is its map; include the one header that you need.
#pragma once
#include "base/deadline.hpp"      // --timeout: how long reading a report may take
#include "base/embedded.hpp"      // rules/ and schemas/, which the build puts into the program
#include "base/error.hpp"         // the exception whose text is meant for the user
#include "base/files.hpp"         // reading files, and writing them whole or not at all
#include "base/json.hpp"          // the JSON that we write and read back
#include "base/owner.hpp"         // whose files are taken for our own
#include "base/parallel.hpp"      // work shared out among threads
#include "base/patterns.hpp"      // globs, regular expressions
#include "base/profile.hpp"       // --profile: where the program's own time went
#include "base/program.hpp"       // running another program
#include "base/quantities.hpp"    // "160.3 ms", "1.3 GiB", "71 %"
#include "base/schema_table.hpp"  // schemas/*.toml, parsed
#include "base/source_line.hpp"   // "train.py:123" in a text
#include "base/spans.hpp"         // nanoseconds, and sets of time
#include "base/streams.hpp"       // standard output and standard error
#include "base/suggest.hpp"       // "did you mean ...?"
#include "base/temporary.hpp"     // temporary folders; what goes when a signal ends the program
#include "base/text.hpp"          // foreign bytes made printable, shortened, digested
#include "base/unit_words.hpp"    // "a step", "tokens", "an iteration"
