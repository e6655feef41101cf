// What kernels, copies and other operations of a device are called for people.
#pragma once
#include <string>

#include "analysis/analysis.hpp"

namespace gh {

/// A kernel's name without what all of them have: return type, namespaces, parameters.
std::string kernel_label(const std::string& name);

/// A GPU operation: kernel_label, "copy h2d, pageable", "memset".
std::string op_label(const Analysis& analysis, Row op);

/// "blocks.3.attn" -> "blocks.#.attn": numbered ranges are one thing. Long names are cut.
std::string without_numbers(const std::string& name);

}  // namespace gh
