// Where the program waits for the GPU, and what the steps take without each of these waits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/detect/waits.hpp"
#include "base/text.hpp"
#include "whatif/plan.hpp"

namespace gh {

/// The waits in calls of one kind, for one purpose, at one place of the program.
struct HostWait {
  WaitFor what = WaitFor::work;
  std::string call;        ///< "cudaStreamSynchronize"
  std::string op;          ///< "aten::item"; "" outside of operators
  std::string layer;       ///< "blocks.*.attn"; "" outside of any
  SourceLine source;       ///< the program's line, if the recording has it
  double per_step = 0;     ///< how often, of all devices together
  Ns blocked_ns = 0;       ///< of a step: the host is in these calls
  std::int64_t bytes = 0;  ///< that are copied each time, the median; 0 if nothing is
  /// Of a silence: the thread, and the operation or call that it waits for; whether that is
  /// certain, or the thread may as well work.
  std::string thread, waits_for;
  bool is_certain = true;
  bool within_call = false;  ///< it hangs in `call`, else it is silent before that
  Span longest;              ///< of these calls
  /// The step in which none of these calls waits; nothing if the steps cannot be replayed.
  std::optional<Prediction> without;
  Ns saves_ns = 0;       ///< of a step, expected
  bool at_most = false;  ///< what is launched next needs the result, or the replay is no forecast
};

/// Those in which the host is longest, the one that costs most first, at most eight; then threads
/// that are silent for at least 1 % of a step and wait, or may wait.
std::vector<HostWait> host_waits(const Analysis& analysis, const std::vector<Wait>& waits,
                                 const Replay* replay);

}  // namespace gh
