// Every key of gh-advise.toml, with type and documentation; any other key is rejected. config.cpp
// reads the values.
#include "rules/config.hpp"

namespace gh {

const std::vector<ConfigKey>& config_keys() {  // NOLINT(readability-function-size): a table
  static const std::vector<ConfigKey> keys{
      {"rules", "list of strings",
       "Folders with the team's own rules, relative to this file's folder."},
      {"select", "list of strings", "Run only these rules: ids or categories."},
      {"ignore", "list of strings", "Do not run these rules: ids or categories."},
      {"fail_on", "string",
       "Exit with 1 if a finding has at least this severity: \"error\", \"warning\" or \"note\"."},
      {"rule", "table",
       "[rule.ID] sets the options of one rule, as listed by `gh-advise explain ID`, and the "
       "`severity` of all its findings."},
      {"suppress", "list of tables",
       "[[suppress]] removes a finding that the team has decided to accept."},
      {"suppress.rule", "string", "The id of its rule."},
      {"suppress.subject", "string", "A glob for its subject; \"*\" by default."},
      {"suppress.reason", "string", "Why. Required."},
      {"suppress.until", "date", "The last day on which the suppression holds: 2026-12-31."},
      {"suppress.up_to", "number",
       "What it may cost, in nanoseconds a step (for a budget: the fact's value); above that it is "
       "reported again."},
      {"gate", "table", "[gate] sets what `gh-advise gate` counts as a regression."},
      {"gate.fail_on", "string",
       "The gate fails if new findings or broken budgets have at least this severity; \"warning\" "
       "by default."},
      {"gate.min_effect", "number",
       "The smallest difference that counts, as a share of the step (for other facts, of the value "
       "itself); 0.03 by default."},
      {"gate.alpha", "number",
       "The significance level of the rank test; 0.05 by default. With too few measurements to "
       "reach it there is no test."},
      {"gate.noise_floor", "number",
       "With fewer than four captures and steps on each side, differences above this share count, "
       "and smaller excesses over a limit are undecided. With more, the most that can pass as "
       "noise of the baseline; 0.2 by default."},
      {"budget", "list of tables",
       "[[budget]] sets a limit for a fact, which `gh-advise gate` enforces. Without one for "
       "step.median_ns, the step may not become longer by more than gate.min_effect."},
      {"budget.fact", "string",
       "The fact, as listed by `gh-advise facts`. A mean, such as step.mean_ns, is judged as a "
       "mean: two extreme steps can break it, which step.median_ns does not show."},
      {"budget.max", "number", "At most this, in the fact's own unit."},
      {"budget.min", "number", "At least this."},
      {"budget.max_increase", "number",
       "At most this share above the baseline: 0.05 is 5 %. For step.median_ns it replaces the "
       "built-in limit."},
      {"budget.max_decrease", "number", "At most this share below the baseline."},
      {"budget.severity", "string",
       "\"error\" by default. Below gate.fail_on it is only reported."},
      {"kernel_class", "list of tables",
       "[[kernel_class]] classifies the team's own kernels; takes precedence over the built-in "
       "classes (schemas/kernels.toml)."},
      {"kernel_class.class", "string", "A class of schemas/kernels.toml, or a new one."},
      {"kernel_class.match", "list of strings",
       "Regular expressions (RE2), matched anywhere in the demangled name, ignoring case."},
      {"kernel_class.except", "list of strings", "Names to exclude."},
      {"kernel_class.doc", "string", "A description for people."},
      {"gpu", "list of tables",
       "[[gpu]] gives the peak rates of a GPU that schemas/gpus.toml does not list, or of one with "
       "a power or clock limit."},
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
       "[ranges] names the team's ranges: regular expressions (RE2), in addition to those of "
       "schemas/ranges.toml."},
      {"ranges.step", "list of strings",
       "Ranges around what the program repeats: a training step, a request, a token. They take "
       "precedence over all others."},
      {"ranges.loader", "list of strings",
       "Ranges in which the launching thread fetches its next batch."},
      {"ranges.optimizer", "list of strings", "Ranges in which parameters are updated."},
      {"ranges.checkpoint", "list of strings", "Ranges in which the state of the run is written."},
      {"ranges.evaluation", "list of strings",
       "Ranges in which the model is evaluated on other data."},
      {"ranges.garbage_collection", "list of strings", "Ranges in which Python collects garbage."},
  };
  return keys;
}

}  // namespace gh
