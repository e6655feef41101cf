// Code and links in the sentences of a page.
#include "report/prose.hpp"

#include <set>

#include "base/text.hpp"
#include "rules/finding.hpp"
#include "support/program.hpp"

using namespace support;

TEST_CASE("prose: what stands between backticks is code, and everything else words") {
  const auto parts = [](const std::string& text) {
    std::string shown;
    for (const gh::SentencePart& p : gh::sentence_parts(text))
      shown += p.is_code ? "<" + std::string(p.text) + ">" : std::string(p.text);
    return shown;
  };
  CHECK(parts("Use `a(b)` or `c`.") == "Use <a(b)> or <c>.");
  CHECK(parts("`a``b`") == "<a><b>");
  CHECK(parts("pin_memory=True, cudaMalloc and gc.collect()") ==
        "pin_memory=True, cudaMalloc and gc.collect()");
  CHECK(parts("an unclosed `tick, and `` none") == "an unclosed <tick, and >` none");
  CHECK(parts("") == "");
  CHECK(gh::plain_sentence("Use `a(b)` or `c`, not `d") == "Use a(b) or c, not `d");
}

TEST_CASE("prose: a sentence that others have put words around finds its code again") {
  CHECK(gh::with_code_marked("First: use a, then b.", "use `a`") == "First: use `a`, then b.");
  CHECK(gh::with_code_marked("Something else.", "use `a`") == "Something else.");
  CHECK(gh::shortened_sentence("Use `a(b)`.", 80) == "Use `a(b)`.");
  CHECK(gh::shortened_sentence("Use `a_long_name` and `another`.", 16) ==
        gh::shortened("Use a_long_name and another.", 16));
  gh::Finding f;
  f.advice = {"Use a: then b."};
  CHECK(gh::marked_short_fix(f) == "Use a");
  f.marked.advice = {"Use `a`: then `b`."};
  CHECK(gh::marked_short_fix(f) == "Use `a`");
}

TEST_CASE("prose: code of several tokens is worth copying, and names lead to documentation") {
  CHECK(gh::prose_html("an unclosed `tick") == "an unclosed `tick");
  const std::string html = gh::prose_html(
      "Use CUDA graphs: `torch.compile(model)`; `NCCL_DEBUG=INFO` <b>tells</b> \"more\"");
  CHECK(contains(html, ">CUDA graphs</a>"));
  CHECK(contains(html,
                 "<code class=to-copy><a href=\"https://docs.pytorch.org/docs/stable/generated/"
                 "torch.compile.html\" target=_blank rel=\"noopener "
                 "noreferrer\">torch.compile</a>(model)</code>"));
  CHECK(contains(html,
                 "docs/env.html\" target=_blank rel=\"noopener noreferrer\">NCCL_DEBUG</a>=INFO"));
  CHECK(contains(html, "&lt;b&gt;tells&lt;/b&gt; &quot;more&quot;"));
  CHECK(contains(gh::prose_html("`cudaMalloc`"), "<code>"));
  // Once a sentence, and nothing to copy where nobody would.
  const std::string twice = gh::prose_html("`torch.compile`, then `torch.compile(model)`", false);
  CHECK(twice.find("<a ") == twice.rfind("<a "));
  CHECK(!contains(twice, "class=to-copy"));
}

TEST_CASE("prose: links lead by https to pages of the projects themselves, each listed once") {
  static const std::set<std::string> hosts{
      "docs.pytorch.org", "docs.nvidia.com", "nvidia.github.io",        "docs.jax.dev",
      "huggingface.co",   "docs.cupy.dev",   "www.deepspeed.ai",        "lightning.ai",
      "docs.vllm.ai",     "docs.sglang.ai",  "www.tensorflow.org",      "cuda.juliagpu.org",
      "docs.python.org",  "github.com",      "deepspeed.readthedocs.io"};
  std::set<std::string> seen;
  const std::vector<std::string> addresses = gh::documentation_addresses();
  CHECK(addresses.size() > 80);
  for (const std::string& address : addresses) {
    INFO(address);
    REQUIRE(address.starts_with("https://"));
    CHECK(hosts.contains(address.substr(8, address.find('/', 8) - 8)));
    CHECK(seen.insert(address).second);
    CHECK(address.find_first_of("\"'<> ") == address.npos);
  }
}
