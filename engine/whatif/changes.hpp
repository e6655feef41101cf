// The vocabulary for what a fix does to a trace: rules describe fixes in it, and the replay applies
// them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "analysis/kernel_class.hpp"
#include "trace/trace.hpp"

namespace gh {

/// A span of time of a host thread, or of any thread that launches (no_index). `whole`: a device is
/// idle meanwhile. Such a span stands for the whole pause between two calls if it covers most of
/// the idle time in it; in other pauses, or inside a call, it stands only for itself.
struct HostSpan {
  std::uint16_t thread = 0;
  Span span;
  bool whole = false;
};

/// How long something takes relative to before: the best estimate, and the least and the most that
/// it may be.
struct Factor {
  double by = 1, least = 1, most = 1;
};

/// Which of its factors to replay a change with.
enum class Guess : std::uint8_t { best, least, most };
inline constexpr std::size_t guesses = 3;
constexpr std::size_t index_of(Guess guess) { return static_cast<std::size_t>(guess); }

/// What a fix does to the trace: one struct for each kind of effect. Its members `ops`, `calls` and
/// `host` are what it names.
namespace change {
/// Removes operations and the calls that launched them.
struct Remove {
  std::vector<Row> ops;
};
/// Operations take `factor` of their time. Products that compute the same in this precision (none:
/// in their own) take no less than that needs, where it is known.
struct Scale {
  std::vector<Row> ops;
  Factor factor;
  std::optional<Precision> precision;  ///< nothing: they compute something else
  /// They become fused attention, which leaves out what a causal mask hides and never writes
  /// scores.
  bool fused = false;
};
/// Operations become `cut_ns` shorter each.
struct Shorten {
  std::vector<Row> ops;
  std::vector<Ns> cut_ns;  ///< parallel
};
/// Every uninterrupted run of these operations on a stream becomes one, which takes `factor` times
/// the longest of them.
struct Fuse {
  std::vector<Row> ops;
  Factor factor;
};
/// Operations follow each other without separate launches, `gap_ns` apart.
struct Graph {
  std::vector<Row> ops;
  Ns gap_ns = 0;
};
/// Operations queue on a separate stream, and later work does not wait for them.
struct Overlap {
  std::vector<Row> ops;
};
/// Calls do not wait for the GPU.
struct Unblock {
  std::vector<Row> calls;
};
/// Removes calls and the host's work before each.
struct Drop {
  std::vector<Row> calls;
};
/// The host's own work takes `factor` of its time.
struct Pause {
  std::vector<HostSpan> host;
  Factor factor{0, 0, 0};
};
}  // namespace change

using Change =
    std::variant<change::Remove, change::Scale, change::Shorten, change::Fuse, change::Graph,
                 change::Overlap, change::Unblock, change::Drop, change::Pause>;
using Changes = std::vector<Change>;

/// What kinds of changes do to the operations that they name. A new kind is said here, too:
/// whether operations take less time themselves, or none; whether the calls that launched them are
/// removed; whether they wait less for their launches.
struct ChangeTraits {
  bool shortens_operations = false, removes_launches = false, moves_launches = false;
};
constexpr ChangeTraits traits(const change::Remove&) { return {true, true, true}; }
constexpr ChangeTraits traits(const change::Scale&) { return {true, false, false}; }
constexpr ChangeTraits traits(const change::Shorten&) { return {true, false, false}; }
constexpr ChangeTraits traits(const change::Fuse&) { return {true, true, true}; }
constexpr ChangeTraits traits(const change::Graph&) { return {false, true, true}; }
constexpr ChangeTraits traits(const change::Overlap&) { return {true, false, true}; }
constexpr ChangeTraits traits(const change::Unblock&) { return {}; }
constexpr ChangeTraits traits(const change::Drop&) { return {}; }
constexpr ChangeTraits traits(const change::Pause&) { return {}; }
inline ChangeTraits traits_of(const Change& change) {
  return std::visit([](const auto& c) { return traits(c); }, change);
}

/// Whether a change is one of these kinds.
template <class... Kinds>
bool is_one_of(const Change& change) {
  return (std::holds_alternative<Kinds>(change) || ...);
}

/// The same changes, with `set` called on each factor.
template <class Set>
Changes with_factors(Changes changes, Set set) {
  for (Change& change : changes)
    std::visit(
        [&](auto& c) {
          if constexpr (requires { c.factor; }) set(c.factor);
        },
        change);
  return changes;
}

/// What a change names of each sort; none of the sorts that it is not about.
inline const std::vector<Row>& ops_of(const Change& change) {
  static const std::vector<Row> none;
  return std::visit(
      [](const auto& c) -> const std::vector<Row>& {
        if constexpr (requires { c.ops; }) return c.ops;
        return none;
      },
      change);
}
inline const std::vector<Row>& calls_of(const Change& change) {
  static const std::vector<Row> none;
  return std::visit(
      [](const auto& c) -> const std::vector<Row>& {
        if constexpr (requires { c.calls; }) return c.calls;
        return none;
      },
      change);
}
inline const std::vector<HostSpan>& host_of(const Change& change) {
  static const std::vector<HostSpan> none;
  const auto* pause = std::get_if<change::Pause>(&change);
  return pause ? pause->host : none;
}

/// Keeps of a change's operations and calls those for which keep_op(row) or keep_call(row) holds,
/// and frees the memory of the others.
template <class KeepOp, class KeepCall>
void keep_rows(Change& change, KeepOp keep_op, KeepCall keep_call) {
  const auto keep = [](std::vector<Row>& rows, const auto& holds) {
    std::erase_if(rows, [&](Row row) { return !holds(row); });
    rows.shrink_to_fit();
  };
  if (auto* shorten = std::get_if<change::Shorten>(&change)) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < shorten->ops.size(); ++i)
      if (keep_op(shorten->ops[i])) shorten->cut_ns[kept++] = shorten->cut_ns[i];
    shorten->cut_ns.resize(kept);
    shorten->cut_ns.shrink_to_fit();
  }
  std::visit(
      [&](auto& c) {
        if constexpr (requires { c.ops; }) keep(c.ops, keep_op);
        if constexpr (requires { c.calls; }) keep(c.calls, keep_call);
      },
      change);
}

}  // namespace gh
