#include "analysis/structure/structure.hpp"

#include <algorithm>

#include "base/profile.hpp"

namespace gh {

const Structure& Analysis::structure() const {
  return structure_.get([this] { return std::make_shared<const Structure>(*this); });
}

const Nesting& Structure::ranges() const {
  const Trace& t = analysis_.trace;
  return ranges_.get([&] { return std::make_shared<const Nesting>(t.ranges, t.threads.size()); });
}

const Nesting& Structure::frames() const {
  const Trace& t = analysis_.trace;
  return frames_.get([&] { return std::make_shared<const Nesting>(t.frames, t.threads.size()); });
}

const std::vector<std::uint8_t>& Structure::operators() const {
  return operators_.get([&] {
    return std::make_shared<const std::vector<std::uint8_t>>(operators_of(analysis_.trace));
  });
}

const std::vector<std::uint16_t>& Structure::callers() const {
  const Trace& t = analysis_.trace;
  return callers_.get([&] {
    return std::make_shared<const std::vector<std::uint16_t>>(callers_of(t, Crews(t), operators()));
  });
}

const ProgramLayers& Structure::layers() const {
  return layers_.get([this] {
    return timed("layers", [&] { return std::make_shared<const ProgramLayers>(analysis_); });
  });
}

const CodeOwners& Structure::owners() const {
  return owners_.get([this] { return std::make_shared<const CodeOwners>(analysis_); });
}

const HostWork& Structure::host_work() const {
  return host_work_.get([this] {
    return std::make_shared<const HostWork>(
        analysis_.trace, analysis_.names, ranges(), operators(),
        analysis_.total_ns() / std::max<std::int64_t>(1, analysis_.step_count()));
  });
}

}  // namespace gh
