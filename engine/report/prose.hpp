// Sentences of rules and findings as HTML: code in monospace, and the names of frameworks' APIs as
// links to their documentation (schemas/links.toml).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// A part of a sentence: words, or code.
struct ProsePart {
  std::string_view text;
  bool is_code = false;
  bool worth_copying = false;  ///< code of more than one token: a command, a call with arguments
};

/// Finds the code in a sentence. Code is, by its letters alone:
///   * what stands between backticks, which are left out;
///   * a command: one of a few programs with its options: nsys profile --trace=cuda,nvtx;
///   * an option: --num-workers 4, -gpu=managed;
///   * an assignment without spaces: CUDA_MODULE_LOADING=EAGER, pin_memory=True;
///   * a call: gc.collect(), .to(device), torch.autocast("cuda", dtype=torch.bfloat16); "kernel(s)"
///     is none;
///   * a name with dots, "::" or underscores: torch.compile, aten::mm, pin_memory; "e.g." is none;
///   * a function of CUDA or NCCL: cudaMemcpyAsync, ncclGroupStart; "cuBLAS" is a library;
///   * a name that schemas/links.toml lists as an API: DataLoader.
std::vector<ProsePart> prose_parts(std::string_view text);

/// A sentence as HTML. The page's script puts a copy button behind code that is worth it, unless
/// `copy` is false: nobody pastes the kernel names that messages quote. An address is linked once a
/// sentence.
std::string prose_html(std::string_view text, bool copy = true);

/// The same in a paragraph, and in a list of sentences; "" of none.
std::string prose_paragraph(std::string_view text, bool copy = true);
std::string prose_list(const std::vector<std::string>& items, std::string_view css_class = "");

/// The addresses that names lead to, for tests.
std::vector<std::string> documentation_addresses();

}  // namespace gh
