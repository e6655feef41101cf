// Slurm's lists of hosts.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh::scrubbing {

/// "gpu[01-02,07],login" becomes gpu01, gpu02, gpu07 and login. Returns no more than a cluster has.
std::vector<std::string> nodes_of(std::string_view list);

}  // namespace gh::scrubbing
