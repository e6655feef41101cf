// Whether a host thread that makes no calls works or waits, decided by elimination.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// A thread that waits for another is silent for at least this long while the other launches.
inline constexpr Ns least_silence_ns = 60'000;
/// Fewer show no habit.
inline constexpr std::size_t least_repetitions_of_silence = 5;

/// What ends a silence. `own_work`: its usual length. `may_wait`: nothing tells which, and waiting
/// would be most of it.
enum class SilenceEnd : std::uint8_t { own_work, may_wait, waited };

/// The same silence in several repetitions of the unit: between two calls of a thread, or within a
/// call that is not known to wait.
struct Silence {
  /// One repetition of it.
  struct At {
    std::size_t repetition = 0;
    Row call = no_row;   ///< the call that ends it, or within which it lies
    Row cause = no_row;  ///< the operation or call that it waited for here, or no_row
    Ns start = 0, end = 0, cause_end = 0;
  };
  std::uint16_t thread = 0;  ///< of the last repetition
  bool within_call = false, by_operation = false;
  SilenceEnd ends = SilenceEnd::own_work;
  bool replayed_both_ways = false;  ///< of `may_wait`: nothing else was supposed, and it matters
  bool is_no_handover = false;  ///< own work explains it better than the handover that was supposed
  std::string what_for;         ///< what it waits for or may wait for, in words; "" for own work
  Ns mean_ns = 0;               ///< of one repetition
  Ns after_ns = 0;              ///< it ends this long after what it waited for,
  Ns own_ns = 0;                ///< but lasts this long at least
  Ns error_ns = 0;              ///< how far its end usually is from that
  std::vector<At> at;           ///< in order
};

/// What is known before silences are judged.
struct KnownOfSilences {
  /// By process: when the host began each repetition, and when the last one ended. All processes
  /// have as many, or none.
  std::vector<std::vector<Ns>> begins;
  Ns clock_error_ns = 0;  ///< of the time from the end of an operation to that of who waited for it
  std::function<bool(Row call)> waits;       ///< whether a call is known to wait for an operation
  std::function<Row(Row call)> handed_over;  ///< the call that another thread handed over after
};

/// Judges the longest silences of all host threads, at most some hundred. Linear in the rows within
/// the repetitions but for sorting a few of these; none with fewer than five repetitions. Throws
/// Error if the time is up.
std::vector<Silence> find_silences(const Trace& trace, const KnownOfSilences& known);

}  // namespace gh
