// Layers that no range names: units of launches that repeat within a step.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/structure/program_layers.hpp"
#include "analysis/structure/repeated_runs.hpp"

namespace gh {

/// Adds such layers to the others, where a tenth of a device's time lies in one layer, or in none,
/// and is not told apart. A run in backward is that of layers of as many, the last layer first;
/// where nothing tells the passes apart, the second of two runs of as many units is the backward of
/// the first.
class RepeatedLayers {
 public:
  RepeatedLayers(ProgramLayers& layers, const Analysis& analysis);
  /// By operation; 0 where its call's origin holds. Empty if nothing was found.
  std::vector<OriginId> of_op() && { return std::move(of_op_); }

 private:
  struct Pile;
  std::vector<Pile> piles(std::size_t device) const;
  void divide(std::size_t device, const Pile& pile);
  struct Content {
    NameId kernel = 0;  // that takes most: a product if there is any; 0 without kernels
    std::set<NameId> kernels;
    bool product = false, meets_host = false, whole_model = false;
    Ns ns = 0;
  };
  Content content_of(const LaunchSequence& sequence, const RepeatedRun& run) const;
  bool is_worth(const Content& content, const Pile& pile) const;
  void take_runs(const LaunchSequence& sequence, const std::vector<RepeatedRun>& runs,
                 const Pile& pile);
  void assign(const LaunchSequence& sequence, const RepeatedRun& run,
              const std::vector<LayerId>& layers, bool last_first, Pass pass);
  std::vector<LayerId> layers_named(LayerId within, std::size_t count);
  std::vector<LayerId> made(const Pile& pile, std::size_t count, const Content& content);

  ProgramLayers& layers_;
  const Analysis& a_;
  const Trace& t_;
  // By the layer around, how many, and their kernels.
  std::map<std::tuple<LayerId, std::size_t, std::set<NameId>>, std::vector<LayerId>> made_;
  std::map<std::pair<LayerId, std::size_t>, std::vector<LayerId>> named_layers_;  // found before
  std::map<std::string, std::size_t> named_;  // how often, by the layer around and name
  std::map<std::tuple<OriginId, LayerId, Pass>, OriginId> ids_;
  bool runs_models_ = false;
  bool has_backward_ = false;  // the passes are told apart
  std::vector<OriginId> of_op_;
};

}  // namespace gh
