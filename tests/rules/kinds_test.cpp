// Advice fits the program: no terms of a framework that it does not use, no options of a tool that
// did not record it, no training if nothing is trained.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "advise.hpp"
#include "base/patterns.hpp"
#include "read/kineto/schema.hpp"
#include "read/nsys/schema.hpp"
#include "report/layout.hpp"
#include "rules/rule_test.hpp"
#include "rules/rules.hpp"
#include "support/lua_tokens.hpp"
#include "support/program.hpp"
#include "support/support.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

// Terms, and the kinds that a program must have for messages to use them.
struct Vocabulary {
  const char* name;
  std::vector<std::string> kinds;
  std::vector<std::string> words;
};

const std::vector<Vocabulary>& vocabularies() {
  static const std::vector<Vocabulary> all{
      {"PyTorch",
       {"pytorch", "torch_profiler"},
       {"torch(?:\\.|run|ao|$)", "pytorch", "(?-i:DataLoader)", "num_workers", "pin_memory",
        "\\.item\\(\\)", "autocast", "\\bDDP\\b", "\\bFSDP", "DistributedDataParallel", "Liger",
        "\\bapex\\b", "Transformer Engine", "scaled_dot_product_attention", "drop_last",
        "persistent_workers", "foreach=", "save_on_cpu", "\\.to\\(device"}},
      {"PyTorch or CuPy", {"pytorch", "torch_profiler", "cupy"}, {"non_blocking"}},
      {"the PyTorch profiler",
       {"torch_profiler"},
       {"torch\\.profiler", "profiler\\.step", "record_function", "ProfilerActivity", "with_stack",
        "profile_memory", "record_shapes"}},
      {"Nsight Systems' options",
       {"nsys"},
       {"\\bnsys\\b", "--trace", "--cuda-memory", "--cuda-um", "--cuda-graph-trace",
        "--capture-range", "--python-sampling", "--gpu-metrics", "--sample=", "\\bosrt\\b"}},
      {"Megatron",
       {"megatron"},
       {"megatron", "--overlap-", "--tp-comm", "--moe-(?:a[^2]|[b-z])", "--num-workers"}},
      {"NeMo", {"nemo"}, {"\\bnemo\\b"}},
      {"Lightning", {"lightning"}, {"lightning"}},
      {"Transformers", {"transformers", "trainer"}, {"hugging ?face", "\\btransformers\\b"}},
      {"Transformers' Trainer",
       {"trainer"},
       {"TrainingArg", "torch_compile=", "use_liger_kernel", "group_by_length", "dataloader_num",
        "logging_steps"}},
      {"DeepSpeed", {"deepspeed"}, {"deepspeed", "offload_optimizer", "overlap_comm"}},
      {"TorchRec", {"torchrec"}, {"torchrec", "TrainPipelineSparse"}},
      {"vLLM",
       {"vllm"},
       {"vllm", "enforce.eager", "async-scheduling", "--enable-dbo", "all2all-backend",
        "--max-num-seqs", "cudagraph_mode", "--speculative-config", "--gpu-memory-utilization"}},
      {"SGLang",
       {"sglang"},
       {"sglang", "overlap-schedule", "two-batch-overlap", "moe-a2a-backend",
        "--disable-cuda-graph", "--cuda-graph-max-bs", "--max-running-requests",
        "--speculative-algorithm", "--mem-fraction-static"}},
      {"TensorRT-LLM",
       {"tensorrt_llm"},
       {"cuda_graph_config", "disable_overlap_scheduler", "\\bquant_config", "speculative_config",
        "kv_cache_config"}},
      {"JAX", {"jax"}, {"\\bjax\\b", "\\bXLA_", "\\bjnp\\.", "\\blax\\."}},
      {"CuPy", {"cupy"}, {"cupy"}},
      {"Numba", {"numba"}, {"numba", "to_device\\b", "copy_to_host", "pinned_array"}},
      {"Julia", {"julia"}, {"julia", "CuArray", "(?-i:CUDA\\.(@|pin))"}},
      {"TensorRT", {"tensorrt"}, {"tensorrt", "BuilderFlag", "enqueueV3"}},
      {"OpenACC or OpenMP", {"directives"}, {"openacc", "openmp", "nvfortran", "target update"}},
      {"training",
       {"training"},
       {"micro-?batch", "\\boptimi[sz]ers?\\b", "gradients?\\b", "\\bbackward\\b", "learning rate",
        "print\\(loss", "\\btrain(ing|s|ed)?\\b", "epoch", "activation checkpointing", "zero_grad",
        "GradScaler"}},
      {"an optimizer that may not be used", {}, {"\\badamw?\\b", "\\bsgd\\b", "FusedAdam"}},
  };
  return all;
}

const std::vector<Patterns>& patterns() {
  static const std::vector<Patterns> all = [] {
    std::vector<Patterns> list;
    for (const Vocabulary& v : vocabularies()) list.emplace_back(v.words, "test");
    return list;
  }();
  return all;
}

// Without quoted parts: names in the report are the program's own.
std::string without_quoted(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool opens = text[at] == '\'' && at > 0 && (text[at - 1] == ' ' || text[at - 1] == '(');
    const std::size_t close = opens ? text.find('\'', at + 1) : text.npos;
    if (close != text.npos)
      at = close;
    else
      out += text[at];
  }
  return out;
}

// The term in a text that does not fit the program; "" if all fit.
std::string misfit(const std::string& said, const ProgramKind& program) {
  const std::string text = without_quoted(said);
  for (std::size_t v = 0; v < vocabularies().size(); ++v) {
    if (!patterns()[v].match(text)) continue;
    bool fits = false;
    for (const std::string& kind : vocabularies()[v].kinds) fits = fits || program.is(kind);
    if (!fits) return vocabularies()[v].name;
  }
  return "";
}

// Rules that find an optimizer, or the gradient of a loss, may say so, whatever else is known.
bool is_about_training(const std::string& rule) {
  static const std::set<std::string> all{"unfused-optimizer", "cpu-optimizer", "loss-head",
                                         "grad-sync-every-microbatch", "slice-gradients"};
  return all.count(rule) > 0;
}

// A rule's texts with the kinds under which they appear: { "pytorch", "training" }.
struct Prose {
  std::string text;
  std::vector<std::string> under;
  int line;
};

// A rule's prose: texts that contain a space, other than those of `doc`, which describe all
// programs at once.
std::vector<Prose> prose_of(const std::string& source) {
  struct Frame {
    char opened;
    std::string key;
  };
  std::vector<Frame> frames{{'{', ""}};
  std::vector<Prose> prose;
  const std::vector<LuaToken> tokens = lua_tokens(source);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const LuaToken& t = tokens[i];
    const auto follows = [&](std::size_t places, const char* sign) {
      return i + places < tokens.size() && tokens[i + places].is_sign(sign);
    };
    if (t.quoted) {
      std::vector<std::string> under;
      for (const Frame& f : frames) under.push_back(f.key);
      const bool documents = std::any_of(under.begin(), under.end(), [](const std::string& key) {
        return key == "doc" || key == "options" || key == "factors";
      });
      if (!documents && t.text.find(' ') != t.text.npos) prose.push_back({t.text, under, t.line});
    } else if (t.text == "{" || t.text == "(") {
      frames.push_back({t.text[0], ""});
    } else if (t.text == "}" || t.text == ")") {
      if (frames.size() > 1) frames.pop_back();
    } else if (t.text == "," && frames.back().opened == '{') {
      frames.back().key.clear();
    } else if (follows(1, "=") && !follows(2, "=") && frames.back().opened == '{') {
      frames.back().key = t.text;
    }
  }
  return prose;
}

bool is_kind(const std::string& key) {
  const std::vector<std::string>& all = program_kinds();
  return key != "cuda" && std::find(all.begin(), all.end(), key) != all.end();
}

// A program of which only these kinds are known. It counts as recorded by both tools unless one is
// given.
ProgramKind under(std::vector<std::string> keys) {
  std::erase_if(keys, [](const std::string& k) { return !is_kind(k); });
  ProgramKind program = program_of_kinds(keys);
  if (std::find(keys.begin(), keys.end(), "nsys") == keys.end()) std::erase(program.kinds, "nsys");
  program.optimizer = "SGD";
  return program;
}

const std::vector<std::vector<std::string>>& programs() {
  static const std::vector<std::vector<std::string>> all{
      {"pytorch", "training", "nsys"},
      {"pytorch", "training", "torch_profiler"},
      {"pytorch", "inference", "nsys"},
      {"pytorch", "inference", "torch_profiler"},
      {"pytorch", "nsys"},
      {"vllm", "nsys"},
      {"sglang", "nsys"},
      {"tensorrt_llm", "nsys"},
      {"pytorch", "rl", "nsys"},
      {"pytorch", "diffusion", "torch_profiler"},
      {"megatron", "nsys"},
      {"nemo", "nsys"},
      {"deepspeed", "nsys"},
      {"lightning", "training", "nsys"},
      {"transformers", "training", "torch_profiler"},
      {"transformers", "tokens", "nsys"},
      {"torchrec", "fsdp", "training", "nsys"},
      {"jax", "nsys"},
      {"tensorflow", "training", "nsys"},
      {"tensorrt", "nsys"},
      {"cupy", "nsys"},
      {"numba", "nsys"},
      {"julia", "nsys"},
      {"openacc", "nsys"},
      {"openmp", "solver", "nsys"},
      {"kokkos", "nsys"},
      {"python", "nsys"},
      {"nsys"},
      {"pytorch", "training", "deepspeed", "nsys"},
      {"pytorch", "training", "trainer", "nsys"},
      {"pytorch", "training", "transformers", "nsys"},
      {"pytorch", "training", "megatron", "nsys"},
      {"pytorch", "training", "fsdp", "torch_profiler"},
      {"pytorch", "tokens", "vllm", "nsys"},
      {"jax", "training", "nsys"},
      {"tensorrt", "inference", "nsys"},
  };
  return all;
}

std::filesystem::path rules_folder() { return std::filesystem::path(GH_SOURCE_DIR) / "rules"; }

template <class Take>
void each_rule(Take take) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(rules_folder())) {
    const std::string path = entry.path().string();
    if (path.ends_with(".lua") && !path.ends_with(".test.lua") && !path.ends_with(".lib.lua"))
      take(entry.path());
  }
}

// Names of what a thread cannot hand over: PyTorch's operators, passes of a model, an optimizer's
// update, calls of CUDA and of the operating system.
const std::regex not_to_be_moved(
    "^(aten|prims|c10d|torch|autograd)::|Backward\\d+$|^\\W*(forward|backward|optimizer)\\W*$|"
    "\\.(forward|backward)$|^Optimizer\\.step#|^ProfilerStep|^cu(da)?[A-Z]|^(cublas|cudnn|nccl)|"
    "^(munmap|mmap|p?poll|select|futex|epoll_wait|pthread_|sem_)");
const std::regex moves(
    "'([^']+)' (?:does in addition to launching )?"
    "(?:can go to|in) another (?:thread|process)");

// What advice may take away only where such a call was recorded.
struct OfCalls {
  std::regex named;
  const char* call;
};
const OfCalls of_calls[] = {
    {std::regex("(Remove|Take|without) torch\\.cuda\\.synchronize"), "cuda"},
    {std::regex("(Remove|Take|without) torch\\.cuda\\.empty_cache"), "cudaFree"},
    {std::regex("Instantiate each graph once"), "cudaGraphInstantiate"},
    {std::regex("Let the memory pool keep"), "cudaMallocAsync"},
};

bool has_call(const Trace& t, const char* beginning) {
  return std::any_of(t.calls.name.begin(), t.calls.name.end(),
                     [&](NameId name) { return t.names[name].starts_with(beginning); });
}

// What is absurd about this piece of advice on the program; "" if nothing is.
std::string absurd(const std::string& advice, const Analysis& a) {
  std::smatch match;
  if (std::regex_search(advice, match, moves) && std::regex_search(match[1].str(), not_to_be_moved))
    return fmt::format("'{}' cannot go to another thread", match[1].str());
  for (const auto& [named, call] : of_calls)
    if (std::regex_search(advice, named) && !has_call(a.trace, call))
      return fmt::format("{} was never called", call);
  if (!a.has_steps() && contains(advice, "before the loop"))
    return "no loop was found that anything could be before";
  return "";
}

Advice advice_of(const std::filesystem::path& path) {
  Request request;
  request.files = {path.string()};
  request.rules = own_rules();
  return advise(request);
}

}  // namespace

TEST_CASE("kinds: advice that cannot be followed is noticed") {
  const Advice cuda = advice_of(fixture("cu-low-sm-fill"));
  const auto says = [&](const std::string& text) { return absurd(text, *cuda.analysis); };
  for (const char* name : {"aten::argmax", "forward", "## backward ##", "cudaStreamCreateWithFlags",
                           "DistributedDataParallel.forward", "munmap"}) {
    CAPTURE(name);
    CHECK(says(fmt::format("Move it: '{}' can go to another thread or process.", name)) != "");
    CHECK(says(fmt::format("Move it: do '{}' in another thread or process.", name)) != "");
  }
  CHECK(says("Move it: 'log_metrics' can go to another thread or process.") == "");
  CHECK(says("Let the memory pool keep its memory.") == "cudaMallocAsync was never called");
}

TEST_CASE("kinds: what is advised on each report can be done, and fits the program" *
          slow_with_sanitizers) {
  std::vector<std::filesystem::path> all = recordings();
  for (const auto& more : {unmarked_recordings(), torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  for (const std::filesystem::path& path : few_with_sanitizers(all)) {
    const Advice advice = advice_of(path);
    for (const Finding& f : advice.report.findings) {
      INFO(path.filename().string(), ", ", f.rule);
      ProgramKind program = advice.analysis->program;
      if (is_about_training(f.rule)) program.kinds.emplace_back("training");
      for (const std::string& piece : f.advice) {
        CAPTURE(piece);
        CHECK(absurd(piece, *advice.analysis) == "");
        CHECK(misfit(piece, program) == "");
      }
    }
  }
}

TEST_CASE("kinds: every text of a rule is under the kinds whose terms it uses") {
  std::size_t texts = 0;
  each_rule([&](const std::filesystem::path& path) {
    const std::string source = read_file(path);
    const bool of_training = is_about_training(path.stem().string());
    for (const Prose& p : prose_of(source)) {
      ++texts;
      ProgramKind program = under(p.under);
      if (of_training) program.kinds.emplace_back("training");
      INFO(path.filename().string(), ":", p.line, ": ", p.text);
      CHECK(misfit(p.text, program) == "");
    }
  });
  CHECK(texts > 500);
}

TEST_CASE("kinds: missing sources are recorded with the profiler that wrote the report") {
  const ProgramKind of_nsys = program_of_kinds({"nsys"});
  const ProgramKind of_torch = program_of_kinds({"pytorch", "torch_profiler"});
  for (std::size_t s = 0; s < static_cast<std::size_t>(Source::count); ++s) {
    const auto source = static_cast<Source>(s);
    INFO(name_of(source));
    CHECK(misfit(nsys::source_schema(source).record_with, of_nsys) == "");
    const kineto::SourceSchema& torch = kineto::schema().sources[s];
    CHECK(misfit(torch.reason + " " + torch.record_with, of_torch) == "");
    // Options of another tool may have any name.
    const std::string& with = torch.record_with;
    CHECK((with.empty() || with.starts_with("torch.profiler.profile")));
  }
}

TEST_CASE(
    "kinds: findings on the rules' test traces fit every kind of program, and their advice begins "
    "with what to do" *
    slow_with_sanitizers) {
  std::size_t findings = 0;
  each_rule([&](const std::filesystem::path& path) {
    const Rule rule = load_rule(read_file(path), path.string());
    std::filesystem::path tests = path;
    tests.replace_extension(".test.lua");
    each_literal_trace(read_file(tests), [&](const std::string& name, Trace trace) {
      Analysis analysis(std::move(trace), Classes(), {});
      for (const auto& kinds : programs()) {
        analysis.program = program_of_kinds(kinds);
        const Facts facts(analysis);
        const Answers report = ask_rules({rule}, analysis, facts, {}, nullptr);
        INFO(rule.id, ", ", name, ", for ", fmt::format("{}", fmt::join(kinds, ", ")));
        ProgramKind program = analysis.program;
        for (const Failed& f : report.failed) FAIL_CHECK(f.error);
        for (const NotChecked& n : report.not_checked)
          if (!n.not_recorded) CHECK(misfit(n.reason + " " + n.record_with, program) == "");
        // A rule that was not checked found nothing either.
        if (is_about_training(rule.id)) program.kinds.emplace_back("training");
        // A clean rule is clean whatever the program is.
        if (report.findings.empty() && report.not_checked.empty()) break;
        for (const Estimated& f : report.findings) {
          ++findings;
          CHECK(misfit(f.text + ' ' + f.doubt, program) == "");
          CHECK_FALSE(f.advice.empty());
          const std::string fix = short_fix(f);
          CAPTURE(fix);
          CHECK((!fix.empty() && fix.front() >= 'A' && fix.front() <= 'Z'));
          CHECK(display_width(fix) <= most_short_fix_letters);
          for (const std::string& advice : f.advice) {
            INFO(advice);
            CHECK(misfit(advice, program) == "");
          }
        }
      }
    });
  });
  CHECK(findings > 3000);
}
