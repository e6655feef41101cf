// Cut-outs of a trace that are small enough to be drawn: what ran around a finding's evidence, and
// how the whole window was spent.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rules/finding.hpp"

namespace gh {

/// What a piece of a timeline is drawn as. The first ones are what an account's causes come to, in
/// the order in which a bar stacks them.
enum class Activity : std::uint8_t {
  products,
  attention,
  kernels,
  communication,
  copy,
  stall,
  idle_input,
  idle_sync,
  idle_launch,
  idle_other,
  step,
  range,
  call,
  call_launch,
  call_sync,
  call_allocation,
  os_call,
  fault,
  count
};
inline constexpr std::size_t account_activities = 10;
const char* name_of(Activity);   ///< "idle-input": a class of the page's style sheet
const char* label_of(Activity);  ///< "idle: input", for people
Activity activity_of(const std::string& cause);  ///< of a cause of the account

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
  Span span;  ///< all that can be shown: the steps in which the evidence lies, and those beside it
              ///< that it nearly touches
  Span detail;  ///< the evidence and what is near, in which short things are still apart
  Span evidence;
  std::vector<Lane>
      lanes;  ///< steps, the host thread's ranges and calls, streams, what was idle or exposed
};

/// Looks at what ran around evidence, in at most about `most_pieces` pieces.
View view_of(const Analysis& analysis, const Evidence& evidence, std::size_t most_pieces);

/// How the window was spent on each device, in equal parts.
struct Overview {
  struct Device {
    std::string label;
    std::vector<std::array<double, account_activities>>
        parts;  ///< share of each activity, 0 to 1; less than 1 in all outside of steps
    std::vector<Step> steps;  ///< evenly chosen where there are too many
  };
  Span span;
  std::vector<Device> devices;  ///< at most `most_devices_drawn`
  std::size_t devices_left_out = 0;
};
inline constexpr std::size_t most_devices_drawn = 16;
/// `most_parts` and `most_steps` are shared by the devices.
Overview overview_of(const Analysis& analysis, std::size_t most_parts, std::size_t most_steps);

/// A kernel, or a call, that a finding is about.
struct Use {
  std::string name, kind;  ///< kind: the kernel class, "copy", "memset", or the class of the call
  double count = 0;
  double ns = 0;
};
struct Concerned {
  bool per_step =
      false;  ///< count and time are of a mean step; otherwise of the evidence as a whole
  std::vector<Use> uses;  ///< the costliest first
};
/// What a finding's fix would change; where that cannot be told, what ran in its evidence.
Concerned concerned_by(const Analysis& analysis, const Report& report, const Finding& finding);

}  // namespace gh
