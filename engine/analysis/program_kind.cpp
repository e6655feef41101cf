#include "analysis/program_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <utility>

#include "analysis/kinds.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

constexpr const char* plain_cuda = "cuda";

// How many rows have names that identify a kind, and the most frequent of those names.
struct Tally {
  std::int64_t rows = 0, most = 0;
  std::string example;
};

// What the names of a report identify: by kind, then by place.
using Tallies = std::vector<std::array<Tally, name_places>>;

void add(Tally& tally, std::int64_t rows, const std::string& name) {
  tally.rows += rows;
  // The most frequent name, and of equals the first in the alphabet, since names have no fixed
  // order.
  if (rows < tally.most || (rows == tally.most && name > tally.example)) return;
  tally.most = rows;
  tally.example = name;
}

// Rows by name, of kernels or of ranges.
std::vector<std::int64_t> count_names(const Trace& trace, NamePlace place) {
  std::vector<std::int64_t> rows(trace.names.size());
  if (place == NamePlace::range) {
    for (const NameId name : trace.ranges.name) ++rows[name];
    for (const NameId name : trace.frames.name) ++rows[name];
    return rows;
  }
  for (Row op = 0; op < trace.ops.size(); ++op)
    if (trace.ops.kind[op] == OpKind::kernel) ++rows[trace.ops.name[op]];
  return rows;
}

// Tally all distinct names of a place, in parallel: a framework that numbers its ranges leaves
// millions.
void tally_names(const Trace& trace, NamePlace place, const std::vector<std::int64_t>& rows,
                 Tallies& tallies) {
  constexpr std::size_t at_a_time = 1024;
  const auto p = static_cast<std::size_t>(place);
  std::mutex mutex;
  in_chunks(static_cast<Row>(rows.size()), at_a_time,
            [&](std::size_t begin, std::size_t end, std::size_t) {
              for (std::size_t id = begin; id < end; ++id) {
                if (rows[id] == 0) continue;
                const std::string& name = trace.names[static_cast<NameId>(id)];
                for (const std::size_t k : kinds().match[p].match(name)) {
                  if (kinds().all[k].except.match(name)) continue;
                  const std::lock_guard lock(mutex);
                  add(tallies[k][p], rows[id], name);
                }
              }
            });
}

// The names of threads and processes that launch work.
void tally_threads(const Trace& trace, Tallies& tallies) {
  std::set<std::uint16_t> launching;
  for (const Stream& s : trace.streams) launching.insert(s.process);
  std::vector<std::string> names;
  for (const Thread& t : trace.threads)
    if (launching.contains(t.process)) names.push_back(t.name);
  for (const std::uint16_t p : launching)
    if (p < trace.processes.size()) names.push_back(trace.processes[p].name);
  for (const std::string& name : names)
    for (const std::size_t k :
         kinds().match[static_cast<std::size_t>(NamePlace::thread)].match(name))
      add(tallies[k][static_cast<std::size_t>(NamePlace::thread)], 1, name);
}

std::string evidence_of(const std::array<Tally, name_places>& tallies) {
  constexpr std::size_t widest = 70;
  static constexpr std::array words{"kernel", "range", "thread or process"};
  for (std::size_t p = 0; p < name_places; ++p) {
    const Tally& t = tallies[p];
    if (t.rows == 0) continue;
    std::string text = fmt::format("{} '{}'", words[p], shortened(t.example, widest));
    if (t.rows > 1) text += fmt::format(" and {} more", t.rows - 1);
    return text;
  }
  return "";
}

// Sets what the framework or a runner implies.
void take_implied(const ProgramKind& program, std::string_view of, std::optional<Trait>& to) {
  std::vector<Trait> known = program.runners;
  if (program.framework) known.push_back(*program.framework);
  for (const Trait& t : known) {
    const KindRow* kind = kinds().find(t.key);
    if (!kind) continue;
    for (const std::string& key : kind->implies)
      if (const KindRow* implied = kinds().find(key); !to && implied && implied->of == of)
        to = Trait{implied->key, implied->name, t.name};
  }
}

const KindRow* framework_of(const ProgramKind& program) {
  return program.framework ? kinds().find(program.framework->key) : nullptr;
}

// Determines one property after the other.
class Finder {
 public:
  Finder(const Trace& trace, const Classes& classes, const NameClasses& names)
      : trace_(trace), classes_(classes), names_(names), tallies_(kinds().all.size()) {
    kernels_ = count_names(trace, NamePlace::kernel);
    tally_names(trace, NamePlace::kernel, kernels_, tallies_);
    tally_names(trace, NamePlace::range, count_names(trace, NamePlace::range), tallies_);
    tally_threads(trace, tallies_);
  }

  ProgramKind program() {
    find_framework();
    find_runners();
    if (!program_.framework) take_implied(program_, "framework", program_.framework);
    find_task();
    find_language();
    program_.optimizer = optimizer();
    return std::move(program_);
  }

 private:
  Trait trait(std::size_t k) const {
    return {kinds().all[k].key, kinds().all[k].name, evidence_of(tallies_[k])};
  }
  std::int64_t rows(std::size_t k, NamePlace place) const {
    return tallies_[k][static_cast<std::size_t>(place)].rows;
  }
  bool any(std::size_t k) const { return !evidence_of(tallies_[k]).empty(); }

  // The framework whose kernels are launched most; otherwise the one with the most ranges,
  // otherwise threads. Evidence for a kind also counts for its special cases if they have any
  // evidence themselves.
  void find_framework() {
    const std::vector<KindRow>& all = kinds().all;
    for (std::size_t p = 0; p < name_places && !program_.framework; ++p) {
      std::int64_t most = 0;
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (all[k].of != "framework") continue;
        std::int64_t here = tallies_[k][p].rows;
        if (here > 0 && !all[k].within.empty())
          here += rows(static_cast<std::size_t>(kinds().find(all[k].within) - all.data()),
                       static_cast<NamePlace>(p));
        if (here <= most) continue;
        most = here;
        program_.framework = trait(k);
      }
    }
    for (std::size_t k = 0; k < all.size() && !program_.framework; ++k)
      if (all[k].of == "framework" && std::find(all[k].formats.begin(), all[k].formats.end(),
                                                trace_.format) != all[k].formats.end())
        program_.framework = Trait{all[k].key, all[k].name, "a " + trace_.format};
    if (!program_.framework) program_.framework = cuda_cpp();
  }

  // Kernels with C++ parameters in their names, in a process that is not an interpreter.
  std::optional<Trait> cuda_cpp() const {
    std::int64_t all = 0, written = 0;
    Tally tally;
    for (std::size_t id = 0; id < kernels_.size(); ++id) {
      const std::string& name = trace_.names[static_cast<NameId>(id)];
      all += kernels_[id];
      if (kernels_[id] == 0 || name.find('(') == name.npos) continue;
      written += kernels_[id];
      add(tally, kernels_[id], name);
    }
    if (written == 0 || 2 * written < all) return std::nullopt;
    for (const Stream& s : trace_.streams) {
      const std::string name =
          s.process < trace_.processes.size() ? trace_.processes[s.process].name : "";
      if (name.empty() || kinds().interpreters.match(name)) return std::nullopt;
    }
    return Trait{
        plain_cuda, "CUDA C++",
        fmt::format("kernel '{}', and no kernel of a framework", shortened(tally.example, 70))};
  }

  void find_language() {
    for (std::size_t k = 0; k < kinds().all.size() && !program_.language; ++k)
      if (kinds().all[k].of == "language" && any(k)) program_.language = trait(k);
  }

  void find_runners() {
    for (std::size_t k = 0; k < kinds().all.size(); ++k)
      if (kinds().all[k].of == "runner" && any(k)) program_.runners.push_back(trait(k));
  }

  const KindRow* framework() const { return framework_of(program_); }

  // Ranges contain a programmer's words: "backward" means gradients only where there are models.
  bool speaks_for_task(std::size_t k) const {
    const bool in_model = framework() && framework()->models;
    return rows(k, NamePlace::kernel) > 0 ||
           (in_model && (rows(k, NamePlace::range) > 0 || rows(k, NamePlace::thread) > 0));
  }

  void find_task() {
    const std::vector<KindRow>& all = kinds().all;
    const auto training = static_cast<std::size_t>(kinds().find("training") - all.data());
    if (speaks_for_task(training)) {
      program_.task = trait(training);
      return;
    }
    for (std::size_t k = 0; k < all.size() && !program_.task; ++k)
      if (all[k].of == "task" && speaks_for_task(k)) program_.task = trait(k);
    for (std::size_t k = 0; k < all.size() && !program_.task; ++k)
      if (all[k].of == "task" && are_together(k))
        program_.task =
            Trait{all[k].key, all[k].name, "the combination of its kernels, none of them backward"};
    if (!program_.task) take_implied(program_, "task", program_.task);
    if (!program_.task && framework() && framework()->names_backward && has_products() &&
        trace_.availability(Source::graph_nodes).known())
      program_.task = Trait{"inference", "inference",
                            "matrix products, and no backward kernel, operator or range"};
  }

  // Whether each expression of a kind matches some kernel of a model.
  bool are_together(std::size_t k) const {
    if (kinds().all[k].together.empty() || !framework() || !framework()->names_backward)
      return false;
    std::set<std::size_t> found;
    for (std::size_t id = 0; id < kernels_.size(); ++id)
      if (kernels_[id] > 0)
        for (const std::size_t e : kinds().together.match(trace_.names[static_cast<NameId>(id)]))
          if (kinds().together_of[e] == k) found.insert(e);
    return found.size() == kinds().all[k].together.size();
  }

  bool has_products() const {
    for (std::size_t id = 0; id < kernels_.size(); ++id) {
      if (kernels_[id] == 0) continue;
      if (classes_.is_product(names_.kernel[id])) return true;
    }
    return false;
  }

  // The class that a range around an optimizer's step names.
  std::string optimizer() const {
    std::vector<std::uint8_t> asked(trace_.names.size());
    for (const NameId id : trace_.ranges.name)
      if (std::exchange(asked[id], 1) == 0)
        if (std::string named = kinds().optimizers.captured(trace_.names[id]); !named.empty())
          return named;
    return "";
  }

  const Trace& trace_;
  const Classes& classes_;
  const NameClasses& names_;
  Tallies tallies_;
  std::vector<std::int64_t> kernels_;  // by name
  ProgramKind program_;
};

// The keys of everything known, each followed by the broader ones.
std::vector<std::string> kinds_of(const ProgramKind& program, const std::string& tool) {
  std::vector<std::string> keys;
  const auto put = [&keys](std::string key) {
    while (!key.empty()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      const KindRow* kind = kinds().find(key);
      key = kind ? kind->within : "";
    }
  };
  put(tool);
  for (const Trait& t : program.runners) put(t.key);
  if (program.task) put(program.task->key);
  if (program.framework && program.framework->key != plain_cuda) put(program.framework->key);
  if (program.language) put(program.language->key);
  put(plain_cuda);
  return keys;
}

std::string tool_of(const Trace& trace) {
  for (const KindRow& k : kinds().all)
    if (k.of == "tool" &&
        std::find(k.formats.begin(), k.formats.end(), trace.format) != k.formats.end())
      return k.key;
  return "nsys";
}

}  // namespace

bool ProgramKind::is(std::string_view kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool ProgramKind::runs_models() const {
  const KindRow* kind = framework_of(*this);
  return kind && kind->models;
}

bool ProgramKind::has_device_loops() const {
  const KindRow* kind = framework_of(*this);
  return kind && kind->device_loops;
}

std::string ProgramKind::described() const {
  std::vector<std::string> parts;
  if (framework) parts.push_back(framework->name);
  for (const Trait& t : runners) parts.push_back(t.name);
  if (task) parts.push_back(task->name);
  return fmt::format("{}", fmt::join(parts, ", "));
}

const std::vector<std::string>& program_kinds() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const KindRow& k : kinds().all) all.push_back(k.key);
    all.emplace_back(plain_cuda);
    return all;
  }();
  return keys;
}

ProgramKind program_of(const Trace& trace, const Classes& classes, const NameClasses& names) {
  ProgramKind program = Finder(trace, classes, names).program();
  program.kinds = kinds_of(program, tool_of(trace));
  return program;
}

ProgramKind program_of_kinds(const std::vector<std::string>& keys) {
  ProgramKind program;
  std::string tool = "nsys";
  for (const std::string& key : keys) {
    const KindRow* kind = kinds().find(key);
    if (!kind)
      throw Error(fmt::format("there is no kind '{}'{}", key, did_you_mean(key, program_kinds())));
    const Trait trait{kind->key, kind->name, "as given"};
    if (kind->of == "framework") program.framework = trait;
    if (kind->of == "runner") program.runners.push_back(trait);
    if (kind->of == "task") program.task = trait;
    if (kind->of == "language") program.language = trait;
    if (kind->of == "tool") tool = key;
  }
  if (!program.framework) take_implied(program, "framework", program.framework);
  if (!program.task) take_implied(program, "task", program.task);
  program.kinds = kinds_of(program, tool);
  return program;
}

}  // namespace gh
