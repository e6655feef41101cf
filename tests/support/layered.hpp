// A trace and the layers in it, which tests ask for by the kernels that were launched there.
#pragma once
#include <string>

#include "analysis/structure/program_layers.hpp"
#include "support/traces.hpp"

namespace support {

struct Layered {
  gh::Analysis analysis;
  gh::ProgramLayers layers;

  explicit Layered(gh::Trace trace) : analysis(analysed(std::move(trace))), layers(analysis) {}

  /// The n-th operation of that name.
  gh::Row op(const std::string& kernel, std::size_t n = 0) const {
    const gh::Trace& t = analysis.trace;
    for (gh::Row op = 0; op < t.ops.size(); ++op)
      if (t.names[t.ops.name[op]] == kernel && n-- == 0) return op;
    throw std::logic_error("no operation " + kernel);
  }
  const gh::Origin& origin(const std::string& kernel, std::size_t n = 0) const {
    return layers.origin(layers.of_op(op(kernel, n)));
  }
  const gh::Layer& layer(const std::string& kernel, std::size_t n = 0) const {
    return layers[origin(kernel, n).layer];
  }
  /// "blocks.3.attn"
  std::string path(const std::string& kernel, std::size_t n = 0) const {
    return layers.path(origin(kernel, n).layer);
  }
  /// "backward"
  std::string pass(const std::string& kernel, std::size_t n = 0) const {
    return name_of(origin(kernel, n).pass);
  }
  /// "backward of blocks.3.attn"
  std::string place(const std::string& kernel, std::size_t n = 0) const {
    return pass(kernel, n) + " of " + path(kernel, n);
  }
  /// "aten::mm"
  std::string operator_of(const std::string& kernel, std::size_t n = 0) const {
    return layers.operators()[origin(kernel, n).op];
  }
  /// "model.py:7"
  std::string line(const std::string& kernel, std::size_t n = 0) const {
    const auto it = analysis.names.sources.find(origin(kernel, n).line);
    return it == analysis.names.sources.end()
               ? ""
               : it->second.file + ":" + std::to_string(it->second.line);
  }
};

}  // namespace support
