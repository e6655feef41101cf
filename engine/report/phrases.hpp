// What a report says to people, in words that do not depend on how they are laid out: text and HTML
// say the same.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "analysis/segments.hpp"
#include "analysis/tables/labels.hpp"
#include "rules/rules.hpp"

namespace gh {

/// "1.4845 s": a point in time.
std::string seconds(Ns ns);

/// "1", "1 and 2", "1, 2 and 4".
std::string listed(const std::vector<std::string>& list);

/// "device 0: NVIDIA H200"
std::string device_label(const Trace& trace, std::uint16_t device);

/// "device 0: NVIDIA H200, 11 training steps from NVTX ranges 'step #'".
std::string device_text(const Analysis& analysis, const DeviceSteps& device);

/// How long a step takes, which all of a report's times and shares are of: "A training step takes
/// 160.1 ms without the profiler; recorded, it took 165.8 ms."; "" without GPU work.
std::string step_time_text(const Analysis& analysis, const StepTime& step);

/// What recorded the report, and what kind of program: "Nsight Systems 2025.3.2.0, schema 3.20.3:
/// PyTorch, training".
std::string recording_text(const Analysis& analysis);

/// "What repeats: 7 training steps of 8 micro-batches, 24 layers each"; "" where nothing repeats
/// within a step.
std::string repeats_text(const Analysis& analysis);

/// What comes in every n-th step only: "Every 8th step takes 38.2 ms longer, 4.25 ms of the mean
/// step (33 %): idle: input, in 'next_batch'."
std::vector<std::string> periodic_texts(const Analysis& analysis);

/// A place at which the host waits for the GPU.
struct WaitLine {
  const HostWait* wait = nullptr;
  double fraction = 0;  ///< that the step saves without it
  std::string saves;    ///< "4.73 ms", "at most 1.33 ms"; "unknown" where nothing can be replayed
  std::string label;    ///< "24 x cudaStreamSynchronize for a result of 1 byte, in aten::item"
};
/// Those that save this share of the step or more, the costliest first.
std::vector<WaitLine> wait_lines(const Report& report, double least_fraction);
/// "What waits for the GPU cost a step, each alone"
std::string waits_title(const UnitWords& words);

/// Which levels `--unit` has: "--unit chooses among: token, layer, window."; "" where nothing
/// repeats. Searches for them anew.
std::string units_text(const Analysis& analysis);

/// A part of the recording: "start-up", "15 batches", "after the last batch".
struct SegmentLine {
  std::string label;
  Ns ns = 0;            ///< mean over devices
  double fraction = 0;  ///< of the recording
  std::string repeats;  ///< what else repeats in it: "10 batches"; "" where nothing does
  const Segment* segment = nullptr;
};
std::vector<SegmentLine> segment_lines(const Analysis& analysis);

/// Where the recording goes, if a tenth or more of it lies outside of what is judged and is more
/// than a step: "Of the 4.7 s recorded: start-up 3.1 s (66 %, GPU busy 4 %), 15 batches 1.6 s (34
/// %, GPU busy 91 %)."; else "".
std::string outside_text(const Analysis& analysis);

/// That GPUs repeat different units at the same time: "The GPUs repeat different units: 15 training
/// steps (60 % of the work) and 40 batches (40 % of the work)."; "" where all repeat the same.
std::string different_units_text(const Analysis& analysis);

/// "batches after the last step".
std::string loop_label(const Analysis& analysis, const JudgedLoop& loop);

/// A line for each other loop of the program: "In the batches after the last step (39 judged,
/// 1.08 ms each): The host launches too slowly (saves about 508.1 us, 47 %); --unit batch judges
/// them."
std::vector<std::string> loop_texts(const Analysis& analysis, const Report& report);

/// What a report hides from its judges, and how to record it.
struct Unseen {
  std::string what;    ///< "95 % of the GPU's work was not judged: ..."; "" where next to none
  std::string record;  ///< "Record with nsys profile --cuda-graph-trace=node to see it."; or ""
};
Unseen unseen_text(const Analysis& analysis);

/// What is said of the report as a whole beside its devices: how long a step takes, what repeats,
/// what lies outside of the steps, devices left unused, a monitor's time base.
std::vector<std::string> side_notes(const Analysis& analysis, const StepTime& step);

/// That the report holds environment variables, and how to get rid of them; "" where it holds none.
std::string privacy_text(const Analysis& analysis);

/// A class of kernels: "gemm_tf32" -> "GEMM, TF32".
std::string class_label(const std::string& kernel_class);

/// "What a step waits for"
std::string path_title(const UnitWords& unit);

/// "compute: GEMM, TF32", "host: forward", "in cudaStreamSynchronize"
std::string path_label(PathItem::Kind kind, const std::string& name);

/// Of several devices, the one on which most of it lies: "device 1: 92 %"; "" of one.
std::string path_device(const Analysis& analysis, const PathItem& item);

/// What a step waits for, what takes most first.
struct PathLine {
  std::string label;
  double ns = 0;                   ///< of a step
  double fraction = 0;             ///< of the step
  const PathItem* item = nullptr;  ///< that it is
};
struct PathLines {
  std::vector<PathLine> lines;  ///< that take at least the share asked for
  double small_ns = 0;          ///< of the others, together
  std::size_t small_count = 0;
};
PathLines path_lines(const Path& path, double least_share);

/// "GPU busy 27 %, MFU at most 14 %", and what was sampled of how busy its parts were.
std::string busy_text(const Analysis& analysis, const StepTime& step);
/// "Bound by compute: 61 % of each step; memory 27 %. MFU 20 % is below what is usual: ..."; ""
/// without GPU work.
std::string bound_verdict_text(const Analysis& analysis, const StepTime& step);

/// "The kernel that takes most is KERNEL (GEMM, TF32): 49.9 % of the kernels' time, 31 % of the
/// step, 12 times a step, 1.2 ms each"; "" where none takes a twentieth of the devices' time.
std::string hottest_kernel_text(const Analysis& analysis, const StepTime& step);

/// "about", or "at most" of a saving that is a limit.
const char* about(const Finding& finding);
/// What its fix saves by itself, as every output says it: "about 3.1 ms", with a range where the
/// ends of what is unknown lie further apart than a quarter: "about 11.7 ms (nothing to 14.2 ms)".
/// `ns`: the same as the mean of several recordings.
std::string amount_text(const Finding& finding, Ns ns);
std::string amount_text(const Finding& finding);

/// "saves about 113.3 ms a step"; "" where there is nothing to save, or only after other fixes.
std::string saving_text(const Finding& finding, const UnitWords& unit);

/// What savings are parts of: "each 160.1 ms step", "the 1594 ms window"; with its range where that
/// is wide: "each step of 26.7 ms (24.7 ms to 39.4 ms)".
std::string whole_text(const Analysis& analysis, const StepTime& step);

/// What follows the message of a finding that is not sure: " (low confidence)"; else "".
std::string doubt_text(const Finding& finding);

/// "46.8 ms with this fix alone, between ..."; "" where nothing is predicted.
std::string prediction_text(const Finding& finding);

/// "blocks.*.attn, 12 of 24 layers; mostly aten::mul": the layers that a finding is about, and
/// whose time most of it is; "" where it is about none in particular.
std::string where_text(const Finding& finding);

/// "saves about 98.1 ms alone, 3.2 ms once unfused-softmax is fixed"; "" where better fixes leave
/// it all.
std::string sharing_text(const Finding& finding, const Report& report);

/// "160.1 ms (12345 tokens/s)".
std::string step_text(const Plan& plan, const Prediction& step);

/// What the plan was told from, what the step is bound by in the end, and why it is no forecast
/// where it is none.
std::vector<std::string> plan_notes(const Report& report);

/// What a report without a finding above a note comes to; "" where there is one, or no rule could
/// look. `explained` is false where a loss is left that no rule accounts for.
struct Quiet {
  std::string text;
  bool explained = true;
};
Quiet quiet_text(const Analysis& analysis, const Report& report);

/// Rules that could not look, with what they lack: "a, b: needs samples: ... Record with: nsys
/// profile ...".
std::vector<std::string> not_checked_text(const Report& report, bool mark_code = false);

/// "um-stall, subject: reason, until 2026-12-31 (gh-advise.toml:3)".
std::string suppressed_text(const Suppression& suppression);

/// What a rule's documentation says: "What it does" and so on, each with its text.
std::vector<std::pair<const char*, std::string>> rule_parts(const Rule& rule);

/// The value of a rule's option as gh-advise.toml has it: 0.05, true, "text".
std::string option_text(const OptionValue& value);

}  // namespace gh
