// Words that fit the program: advice names what somebody can change there.
#pragma once
#include <string>
#include <vector>

#include "analysis/program_kind.hpp"

struct lua_State;

namespace gh {

/// The texts of the value at `index` that fit a program. A text fits any; of a list all that fit
/// do; of a table by kinds ({ pytorch = ..., cuda = ... }), whose values are such again, those of
/// the most specific kind that the program is and that has any. Throws Error that starts with
/// `where` at anything else, an unknown kind too.
std::vector<std::string> words_for(const ProgramKind& program, lua_State* lua, int index,
                                   const std::string& where);

}  // namespace gh
