#include "record/launcher.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "record/programs.hpp"

namespace gh {
namespace {

constexpr std::uint32_t most_rank = 1'000'000;

std::optional<int> whole_number(std::string_view text) {
  const auto number = number_in<std::uint32_t>(text);
  return number && *number <= most_rank ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<int> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? whole_number(value) : std::nullopt;
}

// A step of Slurm, not its batch script, which has a rank of 0 too; then Open MPI, MPICH.
struct RankVariables {
  const char *rank, *count;
};
constexpr std::array rank_variables = {
    RankVariables{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    RankVariables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    RankVariables{"PMI_RANK", "PMI_SIZE"}};

// "-n" and "--ntasks", but not "-n4", "--ntasks=4" or "4".
bool may_take_value(const std::string& word) {
  if (word.starts_with("--")) return word.size() > 2 && word.find('=') == word.npos;
  return word.starts_with('-') && word.size() == 2;
}

}  // namespace

std::optional<int> own_rank() {
  for (const RankVariables& names : rank_variables) {
    const auto rank = variable(names.rank), count = variable(names.count);
    if (rank && count && *count > 1) return rank;
  }
  return std::nullopt;
}

std::optional<std::size_t> launched_program(const std::vector<std::string>& command) {
  const std::string launcher = std::filesystem::path(command.front()).filename();
  if (launcher != "srun" && launcher != "mpirun" && launcher != "mpiexec") return std::nullopt;
  // Most options take a value, which may be a program's name too: `-J test`.
  std::optional<std::size_t> perhaps;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word.starts_with('-') || !program_on_path(word)) continue;
    if (word.find('/') != word.npos || !may_take_value(command[i - 1])) return i;
    if (!perhaps && starts_python(word)) perhaps = i;
  }
  if (perhaps) return perhaps;
  throw Error(fmt::format(
      "{}: its program cannot be told from its options; start the other way around: {} ... "
      "gh-advise record -- PROGRAM",
      printable(command.front()), launcher));
}

std::vector<int> ranks_of(const std::string& list) {
  std::vector<int> ranks;
  for (std::string_view left = list;;) {
    const std::size_t end = std::min(left.find(','), left.size());
    const std::string_view part = left.substr(0, end);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = whole_number(part.substr(0, dash));
    const auto last = dash < part.size() ? whole_number(part.substr(dash + 1)) : first;
    if (!first || !last || *last < *first)
      throw Error(fmt::format("--ranks {}: must be ranks such as 0,4-7", printable(list)));
    for (int rank = *first; rank <= *last; ++rank) ranks.push_back(rank);
    if (end == left.size()) return ranks;
    left.remove_prefix(end + 1);
  }
}

}  // namespace gh
