// What a program's memory is said to be in words, the same in text and on the page.
#pragma once
#include <string>
#include <vector>

#include "report/tables.hpp"

namespace gh {

struct MemoryClassWords {
  const char* name;  ///< "activations"
  const char* what;  ///< "made in forward, freed in backward"
};
MemoryClassWords words_of(MemoryClass memory, Allocator allocator);

/// What the memory at the peak means: whether it grows, what would fit, what is not in use.
std::vector<std::string> memory_sentences(const LayersMemory& memory, const Analysis& analysis);

}  // namespace gh
