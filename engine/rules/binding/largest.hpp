// The rows that represent a selection: those with the largest values.
#pragma once
#include <cstddef>
#include <vector>

#include "rules/binding/fields.hpp"

namespace gh::binding {

/// The rows with the largest value of a field, at most `most`; ties are ordered by time, so that
/// the order is total.
std::vector<Row> largest(const Context& c, const Rows& s, std::size_t most, Field field);

}  // namespace gh::binding
