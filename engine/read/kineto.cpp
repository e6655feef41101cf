#include "read/kineto.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "read/kineto/events.hpp"
#include "read/kineto/importer.hpp"

namespace gh {

Trace read_kineto(const std::filesystem::path& path) {
  Trace trace;
  trace.path = printable(path.string());
  kineto::Importer importer(trace);
  kineto::Events events(path);
  for (kineto::Event event; events.next(event);) importer.add(event);
  if (!events.has_events()) {
    throw Error(
        fmt::format("{}: is JSON without traceEvents; give a file written by torch.profiler's "
                    "export_chrome_trace",
                    trace.path));
  }
  importer.finish(events.head(), events.strays());
  return trace;
}

}  // namespace gh
