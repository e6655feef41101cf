// Whose time it is: the operator, range, function or library that a host thread is in at a moment.
// schemas/owners.toml lists those whose fix is known.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/program_kind.hpp"
#include "analysis/structure/host_work.hpp"
#include "base/patterns.hpp"
#include "trace/trace.hpp"

namespace gh {

struct Analysis;

/// What a host thread does in the time in question: it waits in a call, works while a GPU is idle,
/// or has launched what a GPU works on.
enum class TimeOf : std::uint8_t { wait, work, launch };

/// A row of schemas/owners.toml.
struct KnownOwner {
  std::string key;  ///< as rules ask for it
  TimeOf of;
  /// What to do, by kind of program, and by a kind beside that or ""; else rules say it.
  std::map<std::string, std::map<std::string, std::string>> fixes;
  /// What to do in such a program; null if the table does not say.
  const std::string* fix_for(const ProgramKind& program) const;

  bool asks_within = false, asks_after = false;
  bool takes_most = false;  ///< only what takes most of a stretch owns it
};

/// When a host thread waits or launches, or a stretch in which it works.
struct HostMoment {
  TimeOf of = TimeOf::wait;
  std::uint16_t thread = no_index;
  Row call = no_row;  ///< that waits or launches
  Span works;         ///< the stretch in which it works: what takes most of that counts
  Ns ns = 0;          ///< how much time depends on it
};

/// Who owns a part of some time.
struct CodeOwner {
  std::string name;  ///< "aten::item", "encode (tokenizer.py)"; "" if nothing shows it
  const KnownOwner* known = nullptr;  ///< null if no row of the table fits
  Ns ns = 0;                          ///< how much of the time
  std::vector<std::size_t> moments;   ///< those that it owns, by position
};

class CodeOwners {
 public:
  explicit CodeOwners(const Analysis& analysis);

  /// The owners of these moments, the one of most time first. Each moment belongs to the first row
  /// of the table that fits it, else to the innermost operator, function or range.
  std::vector<CodeOwner> of(const std::vector<HostMoment>& moments) const {
    return of(moments, true);
  }
  /// The same by the innermost names alone, which costs little.
  std::vector<CodeOwner> named(const std::vector<HostMoment>& moments) const {
    return of(moments, false);
  }

 private:
  std::vector<CodeOwner> of(const std::vector<HostMoment>& moments, bool by_table) const;
  struct Found {
    const KnownOwner* known = nullptr;
    NameId name = 0;
  };
  /// Which rows of the table fit a name, as bits.
  struct Fits {
    std::uint64_t within = 0, after = 0;
  };
  using Asked = std::unordered_map<NameId, Fits>;
  Found owner_of(const HostMoment& moment, Asked& asked, bool by_table) const;
  HostWork::Doing doing_in(const HostMoment& moment) const;
  std::vector<NameId> names_around(const HostMoment& moment, const HostWork::Doing& doing) const;
  std::vector<NameId> names_before(const HostMoment& moment) const;
  Fits fits(NameId name) const;

  const Analysis& analysis_;
  std::vector<KnownOwner> known_;
  PatternLists within_, after_;
};

}  // namespace gh
