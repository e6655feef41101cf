#include "gate/capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "analysis/flops.hpp"
#include "analysis/tables/tables.hpp"
#include "gate/statistics.hpp"
#include "rules/standing.hpp"

namespace gh {
namespace {

constexpr const char* state_names[] = {"looked", "not_checked", "not_recorded", "failed"};

std::string device_text(const Device& d) {
  std::string text = d.name.empty() ? "a GPU that the report does not name" : d.name;
  if (d.sm_count > 0) text += fmt::format(", {} SMs", d.sm_count);
  if (d.compute_major > 0) {
    text += fmt::format(", compute capability {}.{}", d.compute_major, d.compute_minor);
  }
  return text;
}

// ---- the program

// What devices run in their steps: sums over all of these.
struct ProgramSums {
  Program program;
  std::map<std::pair<NameId, std::uint32_t>, std::int64_t> grids;  // by kernel and blocks
  std::unordered_map<NameId, std::string> classes;
};

// `in_block`: whether the stream is in an attention block. A run of attention kernels is one; only
// a GEMM parts it from the next.
void add_kernel(const Analysis& a, Row op, bool& in_block, ProgramSums& sums) {
  const KernelClass of = a.class_of(op);
  const bool attention = of == KernelClass::attention_fused;
  const bool gemm = a.classes.is_product(of) && !attention;
  if (gemm) {
    in_block = false;
    ++sums.program.gemms;
  }
  if (attention || of == KernelClass::softmax) {
    if (!in_block) {
      ++sums.program.attention_blocks;
      sums.program.written_out_blocks += of == KernelClass::softmax;
    }
    in_block = true;
  }
  if (gemm || attention || of == KernelClass::softmax_loss) {
    ++sums.grids[{a.trace.ops.name[op], a.trace.ops.blocks[op]}];
    sums.classes[a.trace.ops.name[op]] = a.kernel_class(op);
  }
}

void add_device(const Analysis& a, std::size_t device, ProgramSums& sums) {
  const Spans& window = a.account.devices[device].window;
  if (window.empty()) return;
  std::unordered_map<std::uint32_t, bool> in_block;  // by stream
  for (const Row op : a.devices[device].ops) {
    if (a.trace.ops.start[op] >= window.back().end || a.trace.ops.end[op] <= window.front().start) {
      continue;
    }
    const OpKind kind = a.trace.ops.kind[op];
    sums.program.graphs += kind == OpKind::graph;
    sums.program.kernels += kind == OpKind::kernel;
    if (kind == OpKind::kernel && sums.program.shown) {
      add_kernel(a, op, in_block[a.trace.ops.stream[op]], sums);
    }
  }
}

std::vector<Grid> grids_of(const Analysis& a, const ProgramSums& sums, double steps) {
  std::vector<Grid> grids;
  for (const auto& [key, count] : sums.grids) {
    const auto& [name, blocks] = key;
    grids.push_back(
        {a.trace.names[name], sums.classes.at(name), blocks, static_cast<double>(count) / steps});
  }
  std::stable_sort(grids.begin(), grids.end(), [](const Grid& x, const Grid& y) {
    return x.count_per_step > y.count_per_step;
  });
  if (grids.size() > most_kernels) grids.resize(most_kernels);
  return grids;
}

Program program_of_step(const Analysis& a) {
  ProgramSums sums;
  sums.program.shown = a.trace.availability(Source::graph_nodes).known() &&
                       a.trace.availability(Source::kernels).known();
  if (a.step_count() == 0) return sums.program;
  for (std::size_t d = 0; d < a.devices.size(); ++d) add_device(a, d, sums);

  const double steps = static_cast<double>(a.step_count());
  Program p = sums.program;
  p.graphs /= steps;
  p.kernels /= steps;
  p.attention_blocks /= steps;
  p.written_out_blocks /= steps;
  p.gemms /= steps;
  p.grids = grids_of(a, sums, steps);
  // A part of them compares with nothing.
  if (const ProductFlops counted = product_flops(a);
      counted.flops && counted.convolutions_untold == 0)
    p.flops = *counted.flops / steps;
  return p;
}

std::vector<KernelUse> kernels_of(const Analysis& a) {
  TableOptions options;
  options.tables = {"kernels"};
  const double steps = static_cast<double>(std::max<std::int64_t>(a.step_count(), 1));
  std::vector<KernelUse> kernels;
  for (const Table& table : make_tables(a, {}, options))
    for (const TableRow& row : table.rows)
      if (row.of_class != "graph" && kernels.size() < most_kernels)
        kernels.push_back({row.name, row.of_class, static_cast<double>(row.each.count) / steps,
                           static_cast<double>(row.each.total_ns) / steps});
  return kernels;
}

// ---- steps and their account

// Which of `count` steps are kept: of each of `kept` equal parts one, at random, since every n-th
// would miss what happens every second step. The same ones each time.
std::vector<std::size_t> kept_of(std::size_t count, std::size_t kept) {
  std::mt19937_64 random;
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t from = i * count / kept, to = (i + 1) * count / kept;
    steps.push_back(from + random() % (to - from));
  }
  return steps;
}

// Devices of one job wait for each other: a step is one measurement, not one a device.
void add_steps(const Analysis& a, Capture& c) {
  std::size_t fewest = a.devices.empty() ? 0 : a.devices.front().steps.size(), most = fewest;
  for (const DeviceSteps& d : a.devices) {
    fewest = std::min(fewest, d.steps.size());
    most = std::max(most, d.steps.size());
  }
  // A recording may cut off a step of one device only.
  if (most > fewest + 1)
    c.doubts.push_back(
        fmt::format("one of its GPUs has {} {}, another {}", most, UnitWords(c.unit).many, fewest));
  const auto mean = [&](std::size_t step, auto value_on_device) {
    Ns sum = 0, devices = 0;
    for (std::size_t d = 0; d < a.devices.size(); ++d)
      if (step < a.devices[d].steps.size()) {
        sum += value_on_device(d);
        ++devices;
      }
    return sum / devices;
  };
  std::vector<std::vector<Ns>> by_cause(a.account.causes.size()), by_device(a.devices.size());
  for (const std::size_t s : kept_of(most, std::min(most, most_steps))) {
    for (std::size_t d = 0; d < a.devices.size(); ++d)
      if (s < a.devices[d].steps.size())
        by_device[d].push_back(a.devices[d].steps[s].span.length());
    c.step_ns.push_back(
        mean(s, [&](std::size_t d) { return a.devices[d].steps[s].span.length(); }));
    for (std::size_t cause = 0; cause < by_cause.size(); ++cause) {
      by_cause[cause].push_back(
          mean(s, [&](std::size_t d) { return a.account.devices[d].step_ns.of(s, cause); }));
    }
  }
  if (by_device.size() > 1)
    c.slowest_gpu_ns =
        *std::max_element(by_device.begin(), by_device.end(), [](const auto& x, const auto& y) {
          return median_of({x.begin(), x.end()}) < median_of({y.begin(), y.end()});
        });
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause) {
    const std::string& name = a.account.causes[cause];
    if (a.account.total_ns(name) > 0) c.cause_ns[name] = std::move(by_cause[cause]);
  }
}

// ---- what steps wait for

void add_to(std::vector<Ns>& sums, const std::vector<Ns>& more) {
  sums.resize(std::max(sums.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

std::vector<PathUse> waits_of(const Report& report) {
  std::vector<PathUse> waits;
  if (!report.replay || report.replay->whole_window()) return waits;
  PathUse rest;
  for (const PathItem& i : report.replay->path().items)
    if (waits.size() < most_path_items)
      waits.push_back({i.kind, i.name, i.by_step});
    else
      add_to(rest.step_ns, i.by_step);
  if (!rest.step_ns.empty()) waits.push_back(std::move(rest));
  return waits;
}

// ---- facts and rules

std::map<std::string, FactNumber> numbers_of(const Facts& facts) {
  std::map<std::string, FactNumber> numbers;
  for (const Fact& f : facts.all()) {
    if (f.unit == Unit::text) continue;
    FactNumber& number = numbers[f.name];
    number.unit = f.unit;
    const FactValue& value = facts.value(f.name);
    if (const double* v = std::get_if<double>(&value)) {
      number.value = *v;
    } else if (const Unknown* unknown = std::get_if<Unknown>(&value)) {
      number.unknown = unknown->reason;
    } else {
      number.unknown = "is a text";
    }
  }
  return numbers;
}

std::string version_of(const Rule& rule, const RuleSettings& settings) {
  std::string text = rule.source;
  for (const auto& [name, value] : settings.options) {
    text +=
        '\n' + name + '=' + std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
  }
  if (settings.severity) text += fmt::format("\nseverity={}", name_of(*settings.severity));
  return digest(text);
}

std::map<std::string, RuleOutcome> outcomes_of(
    const Report& report, const std::vector<Rule>& rules,
    const std::map<std::string, RuleSettings>& settings) {
  const RuleSettings unchanged;
  std::map<std::string, RuleOutcome> outcomes;
  for (const Rule& r : rules) {
    const auto found = settings.find(r.id);
    const RuleSettings& set = found == settings.end() ? unchanged : found->second;
    outcomes[r.id].version = version_of(r, set);
    outcomes[r.id].warns_from = warns_from(r, set);
  }
  for (const NotChecked& n : report.not_checked) {
    RuleOutcome& outcome = outcomes[n.rule];
    outcome.state =
        n.not_recorded ? RuleOutcome::State::not_recorded : RuleOutcome::State::not_checked;
    outcome.reason = n.reason;
  }
  for (const Failed& f : report.failed) {
    RuleOutcome& outcome = outcomes[f.rule];
    outcome.state = RuleOutcome::State::failed;
    outcome.reason = f.error;
  }
  return outcomes;
}

}  // namespace

const char* name_of(RuleOutcome::State state) { return state_names[static_cast<int>(state)]; }

Capture capture_of(const Analysis& a, const Facts& facts, const Report& report,
                   const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings) {
  Capture c;
  c.path = a.trace.path;
  c.format = a.trace.format;
  c.producer = a.trace.producer;
  for (const DeviceSteps& d : a.devices) {
    c.devices.push_back(device_text(a.trace.devices[d.device]));
  }
  std::sort(c.devices.begin(), c.devices.end());
  c.unit = a.unit();
  for (std::size_t s = 0; s < static_cast<std::size_t>(Source::count); ++s) {
    c.sources[name_of(static_cast<Source>(s))] = a.trace.sources[s].state;
  }
  c.problems = a.trace.problems;
  c.program = program_of_step(a);
  add_steps(a, c);
  c.waits = waits_of(report);
  c.facts = numbers_of(facts);
  c.kernels = kernels_of(a);
  if (report.replay)
    if (std::string doubt = report.replay->distrust_of_measured(); !doubt.empty())
      c.doubts.push_back(std::move(doubt));
  // The gate ignores findings on a step that only a fix would leave.
  std::copy_if(report.findings.begin(), report.findings.end(), std::back_inserter(c.findings),
               [](const Finding& f) { return !f.masked; });
  c.findings.insert(c.findings.end(), report.suppressed.begin(), report.suppressed.end());
  // Which of two findings has what they share may change from run to run.
  for (Finding& f : c.findings) {
    c.beside_others_ns[fingerprint(f)] = static_cast<double>(f.recoverable_ns);
    static_cast<Standing&>(f) = standing_alone(f);
  }
  c.rules = outcomes_of(report, rules, settings);
  return c;
}

// At whatever distance: a copy may lack its first steps. In order, since traces with times of whole
// microseconds repeat some steps by chance.
bool same_recording(const Capture& a, const Capture& b) {
  std::set<std::string> causes;
  for (const Capture* c : {&a, &b}) {
    for (const auto& [cause, ns] : c->cause_ns) causes.insert(cause);
  }
  const auto whole_step = [&](const Capture& c, std::size_t step) {
    std::vector<Ns> whole{c.step_ns[step]};
    for (const std::string& cause : causes) {
      const auto ns = c.cause_ns.find(cause);
      whole.push_back(ns == c.cause_ns.end() ? 0 : ns->second[step]);
    }
    return whole;
  };
  std::map<std::vector<Ns>, std::vector<std::size_t>> steps_of_b;
  for (std::size_t s = 0; s < b.step_ns.size(); ++s) steps_of_b[whole_step(b, s)].push_back(s);
  std::unordered_map<std::size_t, std::size_t> same;  // by distance, which may wrap around
  std::size_t most = 0;
  for (std::size_t s = 0; s < a.step_ns.size(); ++s) {
    const auto found = steps_of_b.find(whole_step(a, s));
    if (found == steps_of_b.end()) continue;
    for (const std::size_t other : found->second) most = std::max(most, ++same[other - s]);
  }
  return 2 * most > std::min(a.step_ns.size(), b.step_ns.size());
}

}  // namespace gh
