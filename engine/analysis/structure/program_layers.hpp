// Where in a program its work comes from: the modules and ranges around each launch, the operator,
// the line, and whether it is forward or backward. Work of backward belongs to the module whose
// forward it is the backward of.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

enum class Pass : std::uint8_t { other, forward, backward };
const char* name_of(Pass);

/// A module or range of the program, within another: "blocks.3", in it "attn".
using LayerId = std::uint32_t;
/// What lies in no module and no range that is told apart.
inline constexpr LayerId outside = 0;

struct Layer {
  LayerId parent = outside;
  std::uint32_t depth = 0;  ///< 0 only for `outside`
  std::string name;         ///< "blocks.3", "attn", "layer 7", "Attention_3"
  /// What layers that differ only in their number have in common: "blocks.*", "layer *"; "" for a
  /// name without a number of its own.
  std::string stem;
  /// Named by its class, as PyTorch's profiler does: the number says nothing about its position.
  bool is_class = false;
  bool is_found = false;  ///< no range names it; "layer 5 of KERNEL" (repeated_layers.hpp)
};

/// Everything about where a launch comes from.
struct Origin {
  LayerId layer = outside;
  std::uint32_t op = 0;  ///< into ProgramLayers::operators; 0 in no operator
  NameId line = 0;       ///< the innermost frame or range that names a line of the program, or 0
  Pass pass = Pass::other;
  friend bool operator==(const Origin&, const Origin&) = default;
};
using OriginId = std::uint32_t;

/// Ranges that mark steps or passes (schemas/ranges.toml) make no layer: what lies in them is told
/// apart by step and by pass.
///
/// A module's name is a path from the model's root ("blocks.3.attn"), so it does not matter in
/// which other ranges it lies. Any other range lies in those around it. If one occurs several times
/// within another, each occurrence is a layer: a framework's "TransformerLayer.forward" names no
/// layer, but the third is the third layer.
///
/// Backward finds its forward by the arrows of PyTorch's profiler, or by the sequence numbers that
/// torch.autograd.profiler.emit_nvtx writes. A backward function without either, such as one that
/// adds up a parameter's gradient, belongs to the one that ran before it on its thread.
///
/// Work that lies in no layer, and repeats within a step, is in layers too: named by the product
/// that takes most of their time (repeated_layers.hpp).
class ProgramLayers {
 public:
  explicit ProgramLayers(const Analysis& analysis);

  const std::vector<Layer>& all() const { return layers_; }
  const Layer& operator[](LayerId layer) const { return layers_[layer]; }
  /// The names of operators; the first is "".
  const std::vector<std::string>& operators() const { return operators_; }
  const std::vector<Origin>& origins() const { return origins_; }

  OriginId of_op(Row op) const {
    return of_op_.empty() || of_op_[op] == 0 ? of_call(trace_.ops.call[op]) : of_op_[op];
  }
  OriginId of_call(Row call) const { return call == no_row ? 0 : of_call_[call]; }
  /// Of a block of memory that a thread took or gave back at a moment (Trace::allocations).
  OriginId of_allocation(Ns at, std::uint16_t thread) const;
  /// The layer that a row of Trace::ranges or Trace::frames is, or `outside` where it is none.
  LayerId of_range(Row range) const { return of_range_[range]; }
  LayerId of_frame(Row frame) const { return of_frame_[frame]; }
  /// Whether ranges of a name say which operator a launch is of (Origin::op). Of those in
  /// Structure::operators all but regions, and XLA's and other frameworks' as well.
  bool tells_operator(NameId range) const { return tells_operator_[range] != 0; }
  const Origin& origin(OriginId id) const { return origins_[id]; }

  /// Names from the outermost on: "blocks.3.attn".
  std::string path(LayerId layer) const { return path_of(layer, false); }
  /// The same with what counts replaced: "blocks.*.attn".
  std::string stem_path(LayerId layer) const { return path_of(layer, true); }
  /// Whether anything but `outside` was found.
  bool any() const { return layers_.size() > 1; }
  /// Whether layers were found by what repeats; and whether backward was matched to layers so.
  bool has_repeated() const { return has_repeated_; }
  bool has_matched_backward() const { return has_matched_backward_; }

 private:
  std::string path_of(LayerId layer, bool stems) const;

  friend class LayerFinder;
  friend class RepeatedLayers;
  const Trace& trace_;
  std::vector<Layer> layers_;
  std::vector<std::string> operators_;
  std::vector<Origin> origins_;
  std::vector<OriginId> of_call_, of_allocation_;
  std::vector<LayerId> of_range_, of_frame_;
  std::vector<std::uint8_t> tells_operator_;  // by name
  std::vector<OriginId> of_op_;               // of layers that no range names; empty without any
  bool has_repeated_ = false, has_matched_backward_ = false;
};

}  // namespace gh
