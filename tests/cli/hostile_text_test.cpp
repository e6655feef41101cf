// Hostile text through every way in, looked for in all that comes out: bytes that a terminal, a
// browser or a CI system would act upon.
#include "base/streams.hpp"
#include "base/text.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// Escapes in seven and in eight bits, a bell, ends of lines, what turns text around or has no
// width, no UTF-8, and commands of CI systems.
const std::string hostile =
    "m\x1b[31m\x07\r\n::warning::w \xc2\x9b"
    "1m\u202e\u200b\u2028##[group]g ##vso[task.x]v\n::stop-commands::t\xff\ufeff";

// The same as a string of TOML, of Lua and of SQL.
std::string in_toml() {
  return R"("m\u001B[31m\u0007\r\n::warning::w \u009B1m\u202E\u200B\u2028##[group]g ##vso[task.x]v\n::stop-commands::t\uFEFF")";
}
std::string in_lua() {
  std::string text;
  for (const char c : hostile) {
    const auto byte = std::to_string(static_cast<unsigned char>(c));
    text += "\\" + std::string(3 - byte.size(), '0') + byte;
  }
  return text;
}
std::string in_sql() {
  std::string hex;
  for (const char c : hostile) {
    constexpr const char* digits = "0123456789ABCDEF";
    hex += digits[static_cast<unsigned char>(c) >> 4];
    hex += digits[static_cast<unsigned char>(c) & 15];
  }
  return "CAST(x'" + hex + "' AS TEXT)";
}

void check_strings(const nlohmann::json& json) {
  if (json.is_string()) {
    const auto text = json.get<std::string>();
    CHECK_MESSAGE(gh::printable_lines(text) == text, text);
  }
  if (json.is_object())
    for (const auto& [key, value] : json.items()) CHECK(gh::printable(key) == key);
  if (json.is_structured())
    for (const auto& item : json) check_strings(item);
}

bool is_annotation(const std::string& line) {
  return line.starts_with("::error ") || line.starts_with("::warning ") ||
         line.starts_with("::notice ");
}

// Without our own signs, which break what would become a link.
std::string without_breaks(std::string text) {
  for (const std::string sign : {"@", "#", "!", ":", "."})
    for (std::size_t at; (at = text.find(sign + "\u200b")) != text.npos;)
      text.erase(at + 1, std::string("\u200b").size());
  return text;
}

// `format`: which signs are its own.
void check_printable(std::string text, const std::string& format) {
  if (format == "markdown" || format == "sarif") text = without_breaks(text);
  if (format == "json" || format == "sarif" || format == "trace")
    check_strings(nlohmann::json::parse(text));
  if (format == "github")
    for (const std::string& line : lines_of(text)) CHECK_MESSAGE(is_annotation(line), line);
  CHECK(gh::printable_lines(text) == text);
}

void check_runs_nothing(const std::string& text, const std::string& format) {
  const auto meant = format == "github" ? gh::Commands::at_line_begin : gh::Commands::none;
  CHECK(gh::without_commands(text, meant) == text);
}

// A folder in which everything is hostile that can be said there.
struct Hostile {
  TempDir dir;
  std::string report = "r" + hostile.substr(0, hostile.size() - 4) + ".sqlite";
  std::string trace = "t" + hostile.substr(0, 20) + ".pt.trace.json";

  Hostile() {
    const std::string bad = in_sql();
    fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / report);
    run_sql(dir / report,
            "UPDATE StringIds SET value = " + bad + " || value || " + bad +
                " WHERE id IN (SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL UNION SELECT "
                "nameId FROM ThreadNames UNION SELECT textId FROM NVTX_EVENTS);"
                "UPDATE NVTX_EVENTS SET text = text || " +
                bad + " WHERE text IS NOT NULL; UPDATE PROCESSES SET name = name || " + bad +
                "; UPDATE TARGET_INFO_GPU SET name = name || " + bad +
                "; UPDATE META_DATA_EXPORT SET value = " + bad +
                " WHERE name = 'EXPORT_PRODUCT_VERSION'");
    nlohmann::json torch =
        nlohmann::json::parse(read_file(GH_FIXTURES "/good.pt.trace.json"), nullptr, false);
    for (auto& event : torch["traceEvents"])
      if (event.contains("name"))
        event["name"] = hostile.substr(0, 40) + event["name"].get<std::string>();
    write_file(dir / trace, torch.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    fs::create_directory(dir / "rules");
    write_file(dir / "rules/hostile.lua", rule({"A rule of the team", "Do it.", "subject = 'it"}));
    write_file(dir / "gh-advise.toml",
               "rules = ['rules']\n[rule.hostile]\nword = " + in_toml() +
                   "\n[[suppress]]\nrule = 'unfused-norm'\nsubject = " + in_toml() +
                   "\nreason = " + in_toml() +
                   "\nuntil = 2020-01-01\n[[suppress]]\nrule = "
                   "'unfused-softmax'\nreason = " +
                   in_toml() + "\n[[budget]]\nfact = 'step.median_ns'\nmax = 1\n[[gpu]]\nname = " +
                   in_toml() + "\nmatch = 'H200'\nfp32_tflops = 1\n");
  }

  // A rule with hostile text behind each of these.
  static std::string rule(const std::vector<std::string>& places) {
    std::string text = rule_text("hostile", finds("0.5"));
    for (const std::string& place : places) {
      const std::size_t at = text.find(place);
      REQUIRE(at != text.npos);
      text.insert(at + place.size(), in_lua());
    }
    return text;
  }

  Ran run(const std::string& arguments, const std::string& environment = "") const {
    return advise(arguments, {environment, dir / ""});
  }
  // Runs it, and looks at both streams; `format` is standard output's.
  Ran check(const std::string& arguments, const std::string& format = "text",
            const std::string& environment = "") const {
    INFO(arguments);
    const Ran ran = run(arguments, environment);
    CHECK(ran.status < 128);
    if (!ran.out.empty()) check_printable(ran.out, format);
    check_runs_nothing(ran.out, format);
    check_printable(ran.err, "text");
    check_runs_nothing(ran.err, "text");
    return ran;
  }
};

}  // namespace

TEST_CASE("hostile text: nothing of a report, a rule or a configuration acts, in any format") {
  const Hostile in;
  const std::string report = quoted(fs::path(in.report)) + " ";
  std::vector<const char*> formats{"text", "html", "json", "markdown", "sarif", "github", "junit"};
  if (sanitized) formats.resize(3);  // all of them would take minutes
  for (const char* format : formats) {
    const Ran ran = in.check(report + "--fail-on note --format " + format, format);
    CHECK(contains(ran.out, "hostile"));
    in.check(quoted(fs::path(in.trace)) + " --format " + format, format);
    // What goes into a file is shown by somebody later.
    in.run(report + "--format " + format + " --output out");
    check_printable(read_file(in.dir / "out"), format);
    check_runs_nothing(read_file(in.dir / "out"), format);
  }
  CHECK(contains(in.check(report + "--format trace", "trace").out, "hostile"));
  in.check(quoted(fs::path(in.trace)) + " --format trace", "trace");
  for (const char* format : formats)
    for (const char* baseline :
         {"'" GH_FIXTURES "/good.sqlite' ", "base.json ", "no\x1b[31m.json "}) {
      if (!fs::exists(in.dir / "base.json")) in.check("baseline " + report + "--output base.json");
      in.check("gate " + report + "--baseline " + baseline + "--format " + format, format);
    }
  in.run("gate " + report +
         "--baseline '" GH_FIXTURES "/good.sqlite' --output text=a --output github=b");
  check_runs_nothing(read_file(in.dir / "a"), "text");
  check_runs_nothing(read_file(in.dir / "b"), "github");
  for (const char* format : {"text", "json", "markdown", "html"})
    in.check("diff " + report + "'" GH_FIXTURES "/good.sqlite' --format " + format, format);
  for (const char* format : {"text", "json"}) {
    in.check("facts " + report + "--format " + format, format);
    in.check(std::string("rules --format ") + format, format);
  }
  for (const char* format : {"text", "json", "csv"})
    for (const char* by : {"module", "op", "kernel"})
      for (const std::string& of : {report, quoted(fs::path(in.trace)) + " "})
        in.check("layers " + of + "--by " + by + " --format " + format, format);
  for (const char* format : {"text", "json"})
    in.check("diff --layers " + report + "'" GH_FIXTURES "/good.sqlite' --format " + format,
             format);
  in.check("explain hostile");
  in.check("config");
  in.check("scrub " + report + " -o " + quoted(fs::path("s" + in.report)));
}

TEST_CASE("hostile text: nothing that a rule or its test says acts") {
  const Hostile in;
  write_file(in.dir / "rules/hostile.lua",
             Hostile::rule({"Share {share:fraction}.", "A rule of the team", "Do it.", "what = 'A.",
                            "why = 'B.", "fix = 'C.", "wrong = 'D.", "subject = 'it",
                            "default = 'a", "unit = 'fraction", "doc = 'Which."}));
  const std::string bad = in_lua();
  std::string more = rule_text("more", finds("0.4"));
  more.replace(more.find("message = 'main'"), 16,
               "message = 'main', follows_from = 'hostile" + bad + "', uncertain = '" + bad +
                   "', metrics = { { name = 'm" + bad + "', value = 1, unit = 'count' } }");
  write_file(in.dir / "rules/more.lua", more);
  write_file(in.dir / "rules/fails.lua", rule_text("fails", "    error('e" + bad + "')"));
  write_file(in.dir / "rules/silent.lua",
             rule_text("silent", "    return nil, 'r" + bad + "', 'w" + bad + "'"));
  write_file(in.dir / "rules/more.test.lua",
             "return { { name = 'c" + bad + "', fixture = 'good', expect = 'clean' }, { name = 'd" +
                 bad + "', fixture = 'f" + bad + "', expect = 'clean' } }");
  const std::string report = quoted(fs::path(in.report)) + " ";
  for (const char* format :
       {"text", "json", "markdown", "sarif", "github", "junit", "html", "trace"})
    in.check(report + "--format " + format, format);
  for (const char* command :
       {"explain hostile", "rules", "config", "test rules --fixtures '" GH_FIXTURES "'"})
    in.check(command);
  in.check("rules --format json", "json");
}

TEST_CASE("hostile text: nothing of a digest, a folder of reports or Slurm's answers acts") {
  const Hostile in;
  fs::create_directories(in.dir / "job");
  fs::copy_file(in.dir / in.report, in.dir / "job" / in.report);
  in.run("digest " + quoted(fs::path(in.report)) + " --node " + quoted(fs::path(hostile)) +
         " --output " + quoted(fs::path(in.report + ".digest")));
  REQUIRE(fs::exists(in.dir / (in.report + ".digest")));
  write_file(in.dir / ("bad" + hostile.substr(0, 30) + ".digest"), "no digest");
  for (const char* format : {"text", "json", "markdown", "sarif", "github", "junit", "html"})
    in.check(std::string("fleet . --fail-on note --format ") + format, format);
  const std::string answer = quoted(in.dir / "answer");
  write_file(in.dir / "answer", hostile);
  write_script(in.dir / "bin/sbatch",
               "cat " + answer + "; echo; [ -e refuse ] && exit 1; echo 71\n");
  write_script(in.dir / "bin/squeue", "printf '0|'; cat " + answer +
                                          " | tr -d '\\n|'; echo '|n'; printf '0|FAILED|'; cat " +
                                          answer + "\n");
  const std::string path = "PATH=" + (in.dir / "bin").string() + ":/usr/bin:/bin";
  const std::string options = " --partition " + quoted(fs::path(hostile)) + " --sbatch " +
                              quoted(fs::path("--comment=" + hostile));
  in.check("slurm job --dry-run" + options, "text", path);
  in.check("slurm job" + options, "text", path);
  in.check("slurm job --status", "text", path);
  write_file(in.dir / "job/gh-advise/errors" / (in.report + ".err"), hostile + "\n" + hostile);
  in.check("slurm job --status", "text", path);
  write_file(in.dir / "refuse", "");
  in.check("slurm job" + options, "text", path);
}

TEST_CASE("hostile text: nothing of an option, a path or the environment acts") {
  const Hostile in;
  const std::string bad = quoted(fs::path(hostile)), report = quoted(fs::path(in.report)) + " ";
  for (const std::string& arguments :
       std::vector<std::string>{report + "--range " + bad,
                                report + "--steps " + bad,
                                report + "--device " + bad,
                                report + "--select " + bad,
                                report + "--ignore " + bad,
                                report + "--rules " + bad,
                                report + "--config " + bad,
                                report + "--dcgm " + bad,
                                report + "--threads " + bad,
                                report + "--format " + bad,
                                report + "--output " + bad + "/x",
                                report + "--output json=" + bad + "/x",
                                report + "--output x" + bad + "=y",
                                report + "--fail-on " + bad,
                                report + "--" + bad,
                                bad,
                                "explain " + bad,
                                "rules --select " + bad,
                                "test " + bad,
                                "test rules --filter " + bad,
                                "test rules --fixtures " + bad,
                                "new-rule " + bad + " --in rules",
                                "new-rule team/good --in " + bad,
                                "docs --out " + bad + "/" + report,
                                "completion " + bad,
                                "gate " + report + "--baseline " + report,
                                "gate " + report + "--baseline " + bad,
                                "baseline " + bad + " --output x",
                                "digest " + bad + " --output x",
                                "fleet " + bad,
                                "fleet rules",
                                "scrub " + bad + " -o " + bad,
                                "slurm " + bad,
                                "slurm rules --work " + bad,
                                "diff " + report + bad,
                                "diff --layers " + report + bad,
                                "layers " + bad,
                                "facts " + bad})
    in.check(arguments);
  for (const char* name : {"COLUMNS", "TERM", "TMPDIR", "SLURM_JOB_ID", "SUDO_UID",
                           "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "NO_COLOR"})
    in.check(report, "text", name + ("=" + bad));
  // A configuration's mistakes are quoted.
  for (const std::string& mistake : std::vector<std::string>{
           in_toml() + " = 1", "select = [" + in_toml() + "]", "[rule." + in_toml() + "]\nx = 1",
           "[rule.hostile]\n" + in_toml() + " = 1", "fail_on = " + in_toml(),
           "[[suppress]]\nrule = " + in_toml() + "\nreason = 'x'", "rules = [" + in_toml() + "]",
           "[[kernel_class]]\nclass = " + in_toml() + "\nmatch = ['x']",
           "[[kernel_class]]\nclass = 'x'\nmatch = ['(" + hostile + "']",
           "[ranges]\nstep = [" + in_toml().insert(1, "(") + "]", "x = " + hostile,
           "[[budget]]\nfact = " + in_toml() + "\nmax = 1"}) {
    INFO(mistake);
    write_file(in.dir / "gh-advise.toml", mistake);
    in.check(report);
    in.check("config");
    in.check("gate " + report + "--baseline " + report + "--format github", "github");
  }
}
