// Cut-outs of a trace that are small enough to be drawn: what ran around a finding's evidence, and
// how the whole window was spent. timeline_json.hpp hands them to the page's script.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/activity.hpp"
#include "rules/finding.hpp"

namespace gh {

/// Something that took time, or `count` things too short to be drawn apart, of which `busy_ns` of
/// the span is taken.
struct Piece {
  Span span;
  std::string name;  ///< "" of several
  Activity activity = Activity::kernels;
  std::uint32_t count = 1;
  Ns busy_ns = 0;
};

/// Pieces side by side: a stream, a thread's calls, one level of its ranges. Sorted by start; those
/// of one lane may overlap only where streams share it.
struct Lane {
  std::string label;
  std::vector<Piece> pieces;
};

/// What ran around a piece of evidence.
struct View {
  /// All that can be shown: the steps in which the evidence lies, and those beside it that it
  /// nearly touches.
  Span span;
  Span detail;  ///< the evidence and what is near, in which short things are still apart
  Span evidence;
  /// Steps, the host thread's ranges and calls, streams, what was idle or exposed.
  std::vector<Lane> lanes;
};

/// Looks at what ran around evidence, in at most about `most_pieces` pieces.
View view_of(const Analysis& analysis, const Evidence& evidence, std::size_t most_pieces);

/// The thread that evidence names; no_index where it names none that is known. Ranks in containers
/// have threads of one name and number: the one of the device's process is taken then.
std::uint16_t thread_of(const Analysis& analysis, const Evidence& evidence);

/// How the window was spent on each device, in equal parts.
struct Overview {
  struct Device {
    std::string label;
    /// The share of each activity, 0 to 1; less than 1 in all outside of steps.
    std::vector<std::array<double, account_activities>> parts;
    std::vector<Step> steps;  ///< evenly chosen where there are too many
  };
  Span span;
  std::vector<Device> devices;  ///< at most `most_devices_drawn`
  std::size_t devices_left_out = 0;
};
inline constexpr std::size_t most_devices_drawn = 16;
/// `most_parts` and `most_steps` are shared by the devices.
Overview overview_of(const Analysis& analysis, std::size_t most_parts, std::size_t most_steps);

}  // namespace gh
