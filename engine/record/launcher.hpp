// srun and mpirun, which start a program once for each rank.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gh {

/// The rank of this process, if srun or mpirun started it as one of several.
std::optional<int> own_rank();

/// Where the program begins in a command of srun, mpirun or mpiexec: 3 for `srun -n 4 python
/// train.py`. Nothing for any other command. Throws Error if no program is found.
std::optional<std::size_t> launched_program(const std::vector<std::string>& command);

/// The ranks of a list: {0, 4, 5} for "0,4-5". Throws Error that names --ranks.
std::vector<int> ranks_of(const std::string& list);

}  // namespace gh
