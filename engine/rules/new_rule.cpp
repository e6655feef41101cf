#include "rules/new_rule.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace gh {
namespace {

constexpr const char* rule_template = R"(return {
  id = "@ID@",
  category = "@CATEGORY@",
  title = "Copies from the host keep the GPU waiting", -- one line of the catalogue
  since = "0.1",
  needs = { "copies" },                             -- without these in the report the rule is not checked
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Share of the step from which such copies count. Say where the number comes from." },
  },
  messages = {
    main = "{count:# copy from the host takes|# copies from the host take} {time:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {                                     -- the finding's title: what is wrong in this recording
    main = "The GPU waits for {count:# copy|# copies} from the host {a_step}",
  },
  doc = {
    what = "Adds up the copies from the host while no kernel runs.",
    why = "The GPU computes nothing meanwhile.",
    fix = "Say which switch to set, and to what.",
    wrong = "Say when an engineer would wave this away.",
  },
  advice = {                                        -- the first fix first; `when` and `unless` say what must be seen
    "Say what to do first: in a few words, then how, with code between `backticks`.",
  },
  evaluate = function(trace, options)
    local copies = trace:ops { direction = "h2d" }
    local time = copies:exposed_ns(trace:ops { kind = { "kernel", "graph" } })
    local share = time / trace:total_ns()
    if time == 0 or share < options.share then return {} end  -- clean
    return { {
      subject = "copies from the host",             -- no times, no counts: it identifies the finding
      message = "main",
      data = { count = copies:count() // trace:fact "steps.count", time = time / trace:fact "steps.count", share = share },
      recoverable_ns = time,                        -- over all steps; it decides the severity
      confidence = "medium",
      metrics = { { name = "exposed copies", value = share, unit = "fraction", threshold = options.share } },
      evidence = copies:evidence { most = 3 },
    } }
  end,
}
)";

constexpr const char* test_template =
    R"(-- Six ranges of 1 ms make five steps: a step lasts from the end of one to the end of the next. Times are in microseconds.
local function steps(ops)
  return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, "step {n}" } }, ops = ops }
end

return {
  { name = "fires when a copy keeps the GPU waiting", trace = steps { { 20, 320, copy = "h2d", bytes = 1048576 }, { 320, 980, kernel = "gemm" } },
    expect = { { severity = "error", title = "The GPU waits for 1 copy*", message = "1 copy from the host takes 300.0 us*", worth = { 0.29, 0.31 } } } },
  { name = "is silent when a kernel hides the copy", trace = steps { { 20, 980, kernel = "gemm" }, { 100, 400, copy = "h2d", bytes = 1048576, stream = 8 } },
    expect = "clean" },
  { name = "needs copies", trace = { ops = { { 20, 980, kernel = "gemm" } }, not_collected = { "copies" } }, expect = "not checked" },
}
)";

std::string filled(std::string text, const std::string& category, const std::string& id) {
  for (const auto& [mark, value] :
       {std::pair<std::string, const std::string&>{"@ID@", id}, {"@CATEGORY@", category}})
    text.replace(text.find(mark), mark.size(), value);
  return text;
}

}  // namespace

NewRule make_rule(const std::string& category, const std::string& id) {
  if (!is_name(category) || !is_name(id))
    throw Error(fmt::format(
        "'{}': give CATEGORY/ID of lower-case letters, digits and '-', as in comm/tiny-collectives",
        printable(category.empty() ? id : category + "/" + id)));
  return {category, id, filled(rule_template, category, id), test_template};
}

}  // namespace gh
