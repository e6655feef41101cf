// What holds of every report that is shipped, in every format: figures agree, and texts are plain
// English.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>
#include <string>

#include "advise.hpp"
#include "report/phrases.hpp"
#include "report/verdict.hpp"
#include "support/program.hpp"

using namespace support;
using gh::duration;
using nlohmann::json;

namespace {

std::vector<std::filesystem::path> every_report() {
  std::vector<std::filesystem::path> all = recordings();
  for (const auto& more : {unmarked_recordings(), torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  return few_with_sanitizers(all);
}

gh::Advice advice_of(const std::filesystem::path& path) {
  gh::Request request;
  request.files = {path.string()};
  request.rules = gh::own_rules();
  return gh::advise(request);
}

std::string text_of(const gh::Advice& advice, gh::Amount amount) {
  gh::TextStyle style;
  style.amount = amount;
  return gh::render_text(*advice.analysis, advice.report, style);
}

// What a page shows: neither tags nor script nor style, and no space that does not break.
std::string visible(const std::string& page) {
  std::string text;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t open = std::min(page.find("<script", at), page.find("<style", at));
    const std::string part = page.substr(at, open - at);
    bool inside = false;
    for (const char c : part) {
      if (c == '<') inside = true;
      if (!inside) text += c;
      if (c == '>') {
        inside = false;
        text += ' ';
      }
    }
    if (open == page.npos) break;
    const std::size_t close = std::min(page.find("</script>", open), page.find("</style>", open));
    at = close == page.npos ? page.size() : close + 8;
  }
  static const std::string unbreakable = "\u00a0";
  for (std::size_t at = 0; (at = text.find(unbreakable, at)) != text.npos; ++at)
    text.replace(at, unbreakable.size(), " ");
  return text;
}

}  // namespace

TEST_CASE("every report: the step, its account, the plan and the findings agree to the digit") {
  for (const std::filesystem::path& path : every_report()) {
    INFO(path.filename().string());
    const gh::Advice advice = advice_of(path);
    const gh::Analysis& a = *advice.analysis;
    const gh::Report& r = advice.report;
    if (a.total_ns() == 0) continue;
    const json j = json::parse(gh::render_json(a, r));
    const json report = j.contains("reports") ? j["reports"][0] : j;

    // One step time: the account and the path add up to it, findings are shares of it.
    const gh::Ns step = report["steps"]["ns"];
    CHECK(step == r.step.ns);
    gh::Ns sum = 0;
    for (const json& line : report["account"]) sum += line["ns_per_step"].get<gh::Ns>();
    CHECK(std::abs(sum - step) <= static_cast<gh::Ns>(report["account"].size()));
    if (!report["path"].is_null())
      CHECK(std::abs(report["path"]["step_ns"].get<gh::Ns>() - step) <= 1);
    if (r.plan) CHECK(r.plan->now.step_ns == step);
    for (const gh::Finding& f : r.findings) CHECK_MESSAGE(std::abs(f.step_ns - step) <= 1, f.rule);

    // A fix brings no more than the message says is lost, unless the message says so.
    for (const gh::Finding& f : r.findings)
      if (f.explained_ns && f.alone_ns > *f.explained_ns + (step - f.alone_ns) / 100)
        CHECK_MESSAGE(contains(f.message, " more than that"), f.rule, ": ", f.message);

    // The plan goes through the findings in their order, and its first fix is worth what its
    // finding says.
    if (r.plan && !r.plan->fixes.empty()) {
      const auto lines = gh::plan_lines(r);
      CHECK(lines.size() == r.plan->fixes.size());
      CHECK(lines.front().before_ns == step);
      const gh::Finding& first = r.findings[lines.front().number - 1];
      CHECK(duration(lines.front().before_ns - lines.front().after_ns) == duration(first.alone_ns));
      for (std::size_t i = 1; i < lines.size(); ++i)
        CHECK(lines[i].before_ns == lines[i - 1].after_ns);
      std::set<std::string> said;
      for (const gh::PlanLine& line : lines) CHECK_MESSAGE(said.insert(line.fix).second, line.fix);
      // Nor does the plan end below what is said to limit the step then.
      CHECK(lines.back().after_ns >= std::min(step, r.plan->bounds.least_ns()) - 1);
    }

    // Every format gives the same verdict, step and plan.
    const std::string brief = on_one_line(text_of(advice, gh::Amount::brief)),
                      full = on_one_line(text_of(advice, gh::Amount::full)),
                      quiet = on_one_line(text_of(advice, gh::Amount::quiet)),
                      page = on_one_line(visible(gh::render_html(a, r, gh::own_rules())));
    const gh::ReportVerdict verdict = gh::verdict_of(a, r);
    for (const std::string* text : {&brief, &full, &quiet})
      CHECK_MESSAGE(contains(*text, on_one_line(verdict.text())), *text);
    for (const std::string* text : {&brief, &full, &page}) CHECK(contains(*text, duration(step)));
    for (const gh::PlanLine& line : gh::plan_lines(r))
      for (const std::string* text : {&brief, &full, &quiet, &page})
        CHECK_MESSAGE(contains(*text, duration(line.after_ns)), line.fix);
    const json& summary = report["summary"];
    CHECK(summary["verdict"] == verdict.what);
    CHECK(summary["first_fix"] == verdict.first);
    for (const json& line : summary["account"]["lines"]) {
      const std::string words =
          fmt::format("{} {} {}", line["label"].get<std::string>(), line["time"].get<std::string>(),
                      line["share"].get<std::string>());
      for (const std::string* text : {&brief, &full}) CHECK(contains(*text, words));
      if (!line["cause"].is_null()) CHECK(contains(page, words));
    }
    for (const json& f : report["findings"]) {
      const std::string saves = f["saves"];
      CHECK(contains(full, saves));
      if (saves.starts_with("saves ")) CHECK(contains(page, saves.substr(6, saves.find(';') - 6)));
    }

    // Nothing that is there is shown as 0.
    for (const std::string* text : {&brief, &full}) {
      static const std::regex zero("[^0-9.](0\\.0+ (%|[mu]?s\\b)|0 [mun]?s\\b)");
      std::smatch match;
      CHECK_MESSAGE(!std::regex_search(*text, match, zero), match.str());
    }
  }
}

namespace {

// What no native engineer would say, or what has to be read twice. Between words stands one space;
// a word at either end is a whole one.
constexpr const char* banned_turns[] = {
    "likewise",          "to and fro",         "runs dry",
    "is told",           "are told",           "tells of",
    "thereof",           "once measured",      "nobody has recorded",
    "written out",       "no rule could look", "rules that could look",
    "worth about",       "worth at most",      "what is so",
    "in the median",     "needs samples",      "needs graph_nodes",
    "needs gpu_faults",  "has them",           "is not made of",
    "that which",        "and what not",       "the better of it",
    "of its own accord", "what repeats:",      "lets wait",
    "is so called",
};

// The turns that a text holds, with what stands around them.
std::vector<std::string> banned_in(const std::string& text) {
  std::string lower = on_one_line(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto in_a_word = [&](std::size_t at) {
    return at < lower.size() && (std::isalnum(static_cast<unsigned char>(lower[at])) != 0 ||
                                 lower[at] == '_' || lower[at] == '.' || lower[at] == ',');
  };
  std::vector<std::string> found;
  for (const std::string turn : banned_turns)
    for (std::size_t at = lower.find(turn); at != lower.npos; at = lower.find(turn, at + 1)) {
      const std::size_t end = at + turn.size();
      const bool begins = at == 0 || !in_a_word(at - 1);
      if (!begins || (end < lower.size() && std::isalnum(static_cast<unsigned char>(lower[end]))))
        continue;
      const std::size_t from = at < 40 ? 0 : at - 40;
      found.push_back(lower.substr(from, end + 30 - from));
    }
  return found;
}

void check_plain(const std::string& what, const std::string& text) {
  for (const std::string& found : banned_in(text)) CHECK_MESSAGE(false, what, ": ...", found);
}

}  // namespace

TEST_CASE("plain English: banned turns are found, and only as whole words") {
  CHECK(banned_in("It is told of\nlikewise.").size() == 2);
  CHECK(banned_in("Untold kernels").empty());
}

TEST_CASE("plain English: all that is said of every report, without a plural of one" *
          slow_with_sanitizers) {
  static const std::regex plural_of_one(
      "[^0-9.,]1 (kernels|copies|calls|times|steps|launches|fixes|rules|ranks|GPUs|results)\\b");
  for (const std::filesystem::path& path : every_report()) {
    const std::string name = path.filename().string();
    const gh::Advice advice = advice_of(path);
    const gh::Analysis& a = *advice.analysis;
    const std::string full = text_of(advice, gh::Amount::full), line = on_one_line(full);
    std::smatch match;
    CHECK_MESSAGE(!std::regex_search(line, match, plural_of_one), name, ": ",
                  match.prefix().str().substr(
                      match.prefix().length() > 60 ? match.prefix().length() - 60 : 0),
                  match.str());
    check_plain(name, full);
    check_plain(name, text_of(advice, gh::Amount::brief));
    check_plain(name + ", page", visible(gh::render_html(a, advice.report, {})));
    check_plain(name + ", JSON", gh::render_json(a, advice.report));
    check_plain(name + ", facts", gh::render_facts_text(a, *advice.facts, {}));
  }
}

TEST_CASE("plain English: rules, commands and pages of the documentation") {
  for (const gh::Rule& rule : gh::own_rules())
    check_plain(rule.id, gh::render_explanation(rule, {}));
  for (const char* command :
       {"", "check", "baseline", "gate", "digest", "fleet", "slurm", "diff", "facts", "top",
        "rules", "explain", "test", "new-rule", "docs", "scrub", "config"}) {
    const Ran help = advise(std::string(command) + " --help");
    CHECK(help.status == 0);
    check_plain(std::string("help of ") + command, help.out);
  }
  const std::filesystem::path root = GH_SOURCE_DIR;
  check_plain("README.md", read_file(root / "README.md"));
  for (const auto& page : std::filesystem::recursive_directory_iterator(root / "docs"))
    if (page.path().extension() == ".md")
      check_plain(page.path().filename().string(), read_file(page.path()));
}
