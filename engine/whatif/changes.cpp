#include "whatif/changes.hpp"

namespace gh {

const std::vector<Row>& ops_of(const Change& change) {
  static const std::vector<Row> none;
  return std::visit(
      [](const auto& c) -> const std::vector<Row>& {
        if constexpr (requires { c.ops; })
          return c.ops;
        else
          return none;
      },
      change);
}

const std::vector<Row>& calls_of(const Change& change) {
  static const std::vector<Row> none;
  return std::visit(
      [](const auto& c) -> const std::vector<Row>& {
        if constexpr (requires { c.calls; })
          return c.calls;
        else
          return none;
      },
      change);
}

const std::vector<HostSpan>& host_of(const Change& change) {
  static const std::vector<HostSpan> none;
  const auto* pause = std::get_if<change::Pause>(&change);
  return pause ? pause->host : none;
}

}  // namespace gh
