// Every key of gh-advise.toml, with type and documentation; any other key is rejected. config.cpp
// reads the values.
#include "rules/config.hpp"

namespace gh {

const std::vector<ConfigKey>& config_keys() {  // NOLINT(readability-function-size): a table
  static const std::vector<ConfigKey> keys{
      {"rules", "list of strings", "Folders with the team's own rules, relative to this file."},
      {"select", "list of strings", "Only these rules: ids or categories."},
      {"ignore", "list of strings", "Not these rules: ids or categories."},
      {"fail_on", "string",
       "Exit with 1 if a finding is at least this severe: \"error\", \"warning\" or \"note\"."},
      {"rule", "table",
       "[rule.ID] sets the options of a rule, which `gh-advise explain ID` lists, and the "
       "`severity` "
       "of its findings."},
      {"suppress", "list of tables",
       "[[suppress]] hides a finding that the team has decided to live with, in `check`, `fleet` "
       "and "
       "`gate`. The report says what it hides."},
      {"suppress.rule", "string", "The id of its rule."},
      {"suppress.subject", "string", "A glob for its subject; \"*\" unless set."},
      {"suppress.reason", "string", "Why. Required."},
      {"suppress.until", "date", "The last day on which the suppression holds: 2026-12-31."},
      {"suppress.up_to", "number",
       "The most that it may cost, in nanoseconds a step (for a budget: in the fact's unit). Above "
       "that it counts again."},
      {"accept", "list of tables",
       "[[accept]] is an exception of `gate` alone, written by `gate --accept`: the change passes, "
       "and `check` still gives its advice. A rule, or \"budget\" with a fact as the subject."},
      {"accept.rule", "string", "The id of the rule, or \"budget\"."},
      {"accept.subject", "string", "A glob for the subject; \"*\" unless set."},
      {"accept.reason", "string", "Why. Required."},
      {"accept.until", "date", "The last day on which it holds: 2026-12-31."},
      {"accept.up_to", "number",
       "The most that it may cost, in nanoseconds a step (for a budget: in the fact's unit). Above "
       "that the gate fails again."},
      {"gate", "table", "[gate] sets what `gh-advise gate` takes for a regression."},
      {"gate.fail_on", "string",
       "New findings and broken budgets of this severity or above fail; \"warning\" unless set."},
      {"gate.min_effect", "number",
       "The least difference that counts, as a share of the step (for other facts, of their "
       "value); "
       "0.03."},
      {"gate.alpha", "number",
       "The level of the rank test; 0.05. With too few measurements to reach it, there is no "
       "test."},
      {"gate.noise_floor", "number",
       "With fewer than four captures and steps on a side, only differences above this share "
       "count, "
       "and the gate cannot tell about smaller ones that exceed a limit. With more, the most that "
       "passes as noise of the baseline; 0.2."},
      {"budget", "list of tables",
       "[[budget]] limits a fact; `gh-advise gate` checks it. Without one for step.median_ns, the "
       "step "
       "may get longer by gate.min_effect at most."},
      {"budget.fact", "string",
       "The fact, as `gh-advise facts` names it. Two very slow steps break a budget of "
       "step.mean_ns, "
       "and step.median_ns does not show them."},
      {"budget.max", "number", "At most this, in the fact's own unit."},
      {"budget.min", "number", "At least this."},
      {"budget.max_increase", "number",
       "At most this share more than the baseline: 0.05 is 5 %. For step.median_ns it replaces the "
       "built-in limit."},
      {"budget.max_decrease", "number", "At most this share less than the baseline."},
      {"budget.severity", "string",
       "\"error\" unless set. Below gate.fail_on, a broken budget is a note."},
      {"kernel_class", "list of tables",
       "[[kernel_class]] says what the team's own kernels do; it comes before the built-in classes "
       "(schemas/kernels.toml)."},
      {"kernel_class.class", "string", "A class of schemas/kernels.toml, or a new one."},
      {"kernel_class.match", "list of strings",
       "Regular expressions (RE2), found anywhere in the demangled name, in either case."},
      {"kernel_class.except", "list of strings", "Names that match and do not belong to it."},
      {"kernel_class.doc", "string", "What it is, for people."},
      {"gpu", "list of tables",
       "[[gpu]] gives the peak rates of a GPU that schemas/gpus.toml does not list, or that is "
       "capped."},
      {"gpu.match", "string or list of strings", "Regular expressions for its name."},
      {"gpu.name", "string", "The name to show."},
      {"gpu.compute_capability", "list of numbers", "For example [9, 0]."},
      {"gpu.sm_count", "number", "Streaming multiprocessors of the whole GPU."},
      {"gpu.fp32_tflops", "number", "FP32 peak of the CUDA cores."},
      {"gpu.tf32_tflops", "number", "Dense TF32 peak of the tensor cores."},
      {"gpu.half_tflops", "number", "Dense FP16 and BF16 peak."},
      {"gpu.fp8_tflops", "number", "Dense FP8 peak."},
      {"gpu.memory_gb", "number", "Device memory, in 10^9 bytes."},
      {"gpu.memory_gb_per_s", "number", "Memory bandwidth."},
      {"gpu.host_link", "string", "The link to the host: \"PCIe 5 x16\"."},
      {"gpu.host_link_gb_per_s", "number",
       "Bandwidth of that link one way, as attained in practice."},
      {"gpu.coherent", "true or false", "Whether host and device share their memory (NVLink-C2C)."},
      {"gpu.tensor_cores", "true or false", "Whether it has tensor cores."},
      {"ranges", "table",
       "[ranges] says how the team names its ranges: regular expressions (RE2), in addition to "
       "those "
       "of schemas/ranges.toml."},
      {"ranges.step", "list of strings",
       "Ranges around what the program repeats: a training step, a request, a token. They come "
       "before all others."},
      {"ranges.module", "list of strings",
       "Ranges that name a module, for `gh-advise layers`: one pair of parentheses around its path "
       "from the model's root, as in \"^run (.*)$\". These respect case."},
      {"ranges.loader", "list of strings", "Ranges in which a step fetches its next batch."},
      {"ranges.optimizer", "list of strings", "Ranges that update parameters."},
      {"ranges.checkpoint", "list of strings", "Ranges that write the state of the run."},
      {"ranges.evaluation", "list of strings", "Ranges that evaluate the model."},
      {"ranges.garbage_collection", "list of strings", "Ranges in which Python collects garbage."},
  };
  return keys;
}

}  // namespace gh
