// Texts that fit the program: advice names what people can change there.
#pragma once
#include <string>
#include <vector>

#include "analysis/program_kind.hpp"

struct lua_State;

namespace gh {

/// The texts of the value at `index` that fit a program. A text always fits. Of a list, all
/// elements that fit do. Of a table by kind ({ pytorch = ..., cuda = ... }), whose values may again
/// be any of these, only the most specific kind counts that the program has and that has texts.
/// Throws Error that starts with `where` for anything else, including an unknown kind.
/// Keys in `besides` mean something else to the caller.
std::vector<std::string> texts_for(const ProgramKind& program, lua_State* lua, int index,
                                   const std::string& where,
                                   const std::vector<std::string>& besides = {});

}  // namespace gh
