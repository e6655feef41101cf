// Baselines, read and compared with themselves.
#include "gate/baseline.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"
#include "gate/comparison.hpp"

namespace {

// With a new digest, so that what follows it is read too.
std::string sealed(std::string_view text) {
  constexpr int most_depth = 20;  // a little deeper than the reader goes
  gh::Json json = gh::Json::parse(
      text, [](int depth, gh::Json::parse_event_t, const gh::Json&) { return depth < most_depth; },
      false);
  if (!json.is_object()) return std::string(text);
  json["digest"] = gh::baseline_digest(json);
  return json.dump();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::filesystem::path file = fuzz::file_of(sealed(fuzz::text_of(data, size)));
    gh::is_baseline(file);
    const std::vector<gh::Capture> captures = gh::read_baseline(file);
    const gh::Comparison c = gh::compare(captures, captures, {}, {}, "2026-11-21");
    gh::render_comparison_text(c, gh::Detail::everything, {});
    gh::render_comparison_json(c);
    gh::render_comparison_markdown(c);
  } catch (const gh::Error&) {
  }
  return 0;
}
