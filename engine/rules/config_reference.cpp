// Every key of gh-advise.toml, with its type and its documentation; any other is refused.
// config.cpp reads their values.
#include "rules/config.hpp"

namespace gh {

const std::vector<ConfigKey>& config_keys() {  // NOLINT(readability-function-size): a table
  static const std::vector<ConfigKey> keys{
      {"rules", "list of strings", "Folders with the team's own rules, from the file's folder on."},
      {"select", "list of strings", "Only these rules: ids or categories."},
      {"ignore", "list of strings", "Not these rules: ids or categories."},
      {"fail_on", "string",
       "Exit with 1 where a finding is at least this severe: \"error\", \"warning\" or \"note\"."},
      {"rule", "table",
       "[rule.ID] sets the options of one rule, as `gh-advise explain ID` lists them, and "
       "`severity` "
       "of all its findings."},
      {"suppress", "list of tables",
       "[[suppress]] takes a finding out that the team has decided to live with."},
      {"suppress.rule", "string", "Its rule's id."},
      {"suppress.subject", "string", "A glob for its subject; \"*\" where it is not given."},
      {"suppress.reason", "string", "Why. Required."},
      {"suppress.until", "date", "The last day on which it holds: 2026-12-31."},
      {"suppress.up_to", "number",
       "What it may cost, in nanoseconds a step (of a budget: the fact's value); beyond that it "
       "counts again."},
      {"gate", "table", "[gate] sets what `gh-advise gate` takes for a regression."},
      {"gate.fail_on", "string",
       "Findings that came in and budgets that broke fail from this severity on; \"warning\" where "
       "it is not given."},
      {"gate.min_effect", "number",
       "The least difference that counts, as a share of the step (of the value itself for other "
       "facts); 0.03."},
      {"gate.alpha", "number",
       "The level of the rank test; 0.05. Where there are too few measurements to reach it, there "
       "is "
       "no test."},
      {"gate.noise_floor", "number",
       "With fewer than four captures and steps a side, differences beyond this share count, and "
       "what exceeds a limit by less cannot be told. With more, the most that can pass as noise of "
       "the baseline; 0.2."},
      {"budget", "list of tables",
       "[[budget]] sets a limit to a fact, held by `gh-advise gate`. Without one for "
       "step.median_ns, "
       "the step may not become longer by more than gate.min_effect."},
      {"budget.fact", "string",
       "The fact, as `gh-advise facts` names it. A mean, such as step.mean_ns, is judged as one: "
       "two "
       "steps that are far off break it, which step.median_ns does not show."},
      {"budget.max", "number", "At most this, in the fact's own unit."},
      {"budget.min", "number", "At least this."},
      {"budget.max_increase", "number",
       "At most this share more than the baseline: 0.05 is 5 %. Of step.median_ns it takes the "
       "place "
       "of the program's own limit."},
      {"budget.max_decrease", "number", "At most this share less than the baseline."},
      {"budget.severity", "string",
       "\"error\" where it is not given. Below gate.fail_on it is only told."},
      {"kernel_class", "list of tables",
       "[[kernel_class]] tells what the team's own kernels are; asked before the program's classes "
       "(schemas/kernels.toml)."},
      {"kernel_class.class", "string", "A class of schemas/kernels.toml, or a new one."},
      {"kernel_class.match", "list of strings",
       "Regular expressions (RE2), found anywhere in the demangled name, in either case."},
      {"kernel_class.except", "list of strings", "Names that are not meant."},
      {"kernel_class.doc", "string", "What it is, for people."},
      {"gpu", "list of tables",
       "[[gpu]] tells the peak rates of a GPU that schemas/gpus.toml does not list, or of one that "
       "is capped."},
      {"gpu.match", "string or list of strings", "Regular expressions for its name."},
      {"gpu.name", "string", "What to call it."},
      {"gpu.compute_capability", "list of numbers", "As [9, 0]."},
      {"gpu.sm_count", "number", "Streaming multiprocessors of the whole GPU."},
      {"gpu.fp32_tflops", "number", "Peak of the CUDA cores in FP32."},
      {"gpu.tf32_tflops", "number", "Peak of the tensor cores in TF32, dense."},
      {"gpu.half_tflops", "number", "Peak in FP16 and BF16, dense."},
      {"gpu.fp8_tflops", "number", "Peak in FP8, dense."},
      {"gpu.memory_gb", "number", "Device memory, in 10^9 bytes."},
      {"gpu.memory_gb_per_s", "number", "Its bandwidth."},
      {"gpu.host_link", "string", "The link to the host: \"PCIe 5 x16\"."},
      {"gpu.host_link_gb_per_s", "number", "What it carries one way, in practice."},
      {"gpu.coherent", "true or false", "Whether host and device share their memory (NVLink-C2C)."},
      {"gpu.tensor_cores", "true or false", "Whether it has tensor cores."},
      {"ranges", "table",
       "[ranges] tells how the team's ranges are called: regular expressions (RE2), asked beside "
       "those of schemas/ranges.toml."},
      {"ranges.step", "list of strings",
       "Ranges that enclose what the program repeats: a training step, a request, a token. They "
       "are "
       "looked for before all others."},
      {"ranges.loader", "list of strings", "In these the launching thread fetches its next batch."},
      {"ranges.optimizer", "list of strings", "In these parameters are updated."},
      {"ranges.checkpoint", "list of strings", "In these the state of the run is written."},
      {"ranges.evaluation", "list of strings", "In these the model is tried on other data."},
      {"ranges.garbage_collection", "list of strings", "In these Python collects garbage."},
  };
  return keys;
}

}  // namespace gh
