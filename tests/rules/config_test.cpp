// gh-advise.toml: what it sets, and that nothing in it is ignored.
#include "rules/config.hpp"

#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
using gh::Config;
namespace fs = std::filesystem;

namespace {

// The error for a configuration, without the folder; "" if it is fine.
std::string refusal_of(const std::string& text) {
  const TempDir dir;
  write_file(dir / "gh-advise.toml", text);
  try {
    const Config config(dir / "gh-advise.toml");
    config.rule_settings(gh::own_rules());
    gh::Classes classes;
    config.extend(classes);
  } catch (const gh::Error& e) {
    const std::string message = e.what(), folder = (dir / "").string();
    CHECK(message.starts_with(folder));
    return message.substr(std::min(folder.size(), message.size()));
  }
  return "";
}

// A folder with a configuration, and the JSON of a report that is checked there.
struct Folder {
  TempDir dir;
  explicit Folder(const std::string& text) { write_file(dir / "gh-advise.toml", text); }
  Ran run(const std::string& report, const std::string& arguments = "") const {
    return advise(GH_FIXTURES "/" + report + ".sqlite " + arguments, {"", dir / ""});
  }
  nlohmann::ordered_json check(const std::string& report, const std::string& arguments = "") const {
    return report_of(run(report, "--format json " + arguments));
  }
  nlohmann::ordered_json fact(const std::string& report, const std::string& name) const {
    const auto document = json_of(
        advise("facts --format json " GH_FIXTURES "/" + report + ".sqlite", {"", dir / ""}));
    for (const auto& fact : document["facts"])
      if (fact["name"] == name) return fact["value"];
    return "no such fact";
  }
};

std::int64_t ns_of(const nlohmann::ordered_json& report, const std::string& cause) {
  for (const auto& line : report["account"])
    if (line["cause"] == cause) return line["ns"];
  return 0;
}

}  // namespace

TEST_CASE(
    "configuration: unknown keys are rejected at every level, with line, column and a suggestion") {
  CHECK(refusal_of("") == "");
  CHECK(refusal_of("ignroe = []\n") ==
        "gh-advise.toml:1:1: unknown key 'ignroe' (did you mean 'ignore'?)");
  CHECK(refusal_of("# a comment\n[kernel_clas]\n") ==
        "gh-advise.toml:2:2: unknown key 'kernel_clas' (did you mean 'kernel_class'?)");
  CHECK(refusal_of("[ranges]\n  steps = ['x']\n") ==
        "gh-advise.toml:2:3: unknown key 'steps' (did you mean 'step'?)");
  CHECK(refusal_of("[[kernel_class]]\nclass = 'mine'\nmatch = ['x']\nexcpet = ['y']\n") ==
        "gh-advise.toml:4:1: unknown key 'excpet' (did you mean 'except'?)");
  CHECK(refusal_of("[[gpu]]\nname = 'X'\nmatch = 'X'\nfp23_tflops = 1\n") ==
        "gh-advise.toml:4:1: unknown key 'fp23_tflops' (did you mean 'fp32_tflops'?)");
  CHECK(refusal_of("[rule.unfused-sotfmax]\n")
            .ends_with(": there is no rule 'unfused-sotfmax' (did you mean 'unfused-softmax'?)"));
  CHECK(refusal_of("[rule.unfused-softmax]\nshaer = 1\n") ==
        "gh-advise.toml:2:1: rule 'unfused-softmax' has no option 'shaer' (did you mean 'share'?)");
  CHECK(refusal_of("[rule.unfused-softmax]\nseverty = 'note'\n") ==
        "gh-advise.toml:2:1: rule 'unfused-softmax' has no option 'severty' (did you mean "
        "'severity'?)");
}

TEST_CASE("configuration: every key is described, once, with a type that is checked") {
  const std::set<std::string> types = {
      "string",          "number",         "table",
      "true or false",   "date",           "list of strings",
      "list of numbers", "list of tables", "string or list of strings"};
  std::set<std::string> names;
  for (const gh::ConfigKey& k : gh::config_keys()) {
    INFO(k.name);
    CHECK(names.insert(k.name).second);
    CHECK(types.contains(k.type));
    CHECK(k.doc.size() > 3);
  }
  CHECK(names.size() > 40);
}

TEST_CASE("configuration: values of the wrong type are rejected with their position") {
  CHECK(refusal_of("select = 'memory'\n") == "gh-advise.toml:1:10: 'select' must be a list");
  CHECK(refusal_of("select = ['memory', 3]\n") ==
        "gh-advise.toml:1:21: 'select' must be a list of strings");
  CHECK(refusal_of("ignore = [true]\n") ==
        "gh-advise.toml:1:11: 'ignore' must be a list of strings");
  CHECK(refusal_of("rules = 'team'\n") == "gh-advise.toml:1:9: 'rules' must be a list");
  CHECK(refusal_of("fail_on = 1\n") == "gh-advise.toml:1:11: 'fail_on' must be a string");
  CHECK(refusal_of("fail_on = 'eror'\n") ==
        "gh-advise.toml:1:11: 'eror' is not note, warning or error (did you mean 'error'?)");
  CHECK(refusal_of("rule = 3\n") == "gh-advise.toml:1:8: 'rule' must be a table");
  CHECK(refusal_of("rule.unfused-softmax = 3\n") ==
        "gh-advise.toml:1:24: write a table [rule.unfused-softmax] with the rule's options");
  CHECK(refusal_of("[rule.unfused-softmax]\nseverity = 'loud'\n") ==
        "gh-advise.toml:2:12: 'loud' is not note, warning or error");
  CHECK(refusal_of("[rule.unfused-softmax]\nseverity = 3\n").starts_with("gh-advise.toml:2:12: "));
  CHECK(refusal_of("[rule.unfused-softmax]\nshare = 'a lot'\n") ==
        "gh-advise.toml:2:9: option 'share' of rule 'unfused-softmax' must be a number");
  CHECK(refusal_of("[rule.unfused-softmax]\nmost = 14\n") == "");  // integers are numbers
  CHECK(refusal_of("[kernel_class]\nclass = 'x'\n") ==
        "gh-advise.toml:1:1: 'kernel_class' must be a list");
  CHECK(refusal_of("kernel_class = [3]\n") ==
        "gh-advise.toml:1:17: write each as a table [[kernel_class]]");
  std::string many = "[[kernel_class]]\nclass = 'mine'\nmatch = [";
  for (int i = 0; i < 1000; ++i) many += fmt::format("'k{}', ", i);
  CHECK(refusal_of(many + "]\n") == "");
  CHECK(refusal_of(many + "]\n[ranges]\nstep = ['s']\n") ==
        "gh-advise.toml: holds 1001 patterns in [[kernel_class]], [[gpu]] and [ranges], and may "
        "hold 1000; join some with |");
  CHECK(refusal_of("[[kernel_class]]\nclass = 'mine'\n") ==
        "gh-advise.toml:1:1: [[kernel_class]] needs 'class' and 'match'");
  CHECK(refusal_of("[[kernel_class]]\nclass = 'mine'\nmatch = 'x'\n") ==
        "gh-advise.toml:3:9: 'match' must be a list");
  // A pattern that is not a string would count as an empty one, which matches every name.
  CHECK(refusal_of("[[kernel_class]]\nclass = 'mine'\nmatch = [3]\n") ==
        "gh-advise.toml:3:10: 'match' must be a list of strings");
  CHECK(refusal_of("[[kernel_class]]\nclass = 'mine'\nmatch = ['x']\nexcept = [3]\n") ==
        "gh-advise.toml:4:11: 'except' must be a list of strings");
  CHECK(refusal_of("[[kernel_class]]\nclass = 'my class'\nmatch = ['x']\n") ==
        "gh-advise.toml:2:9: a class name may have only lower-case letters, digits and '_', unlike "
        "'my "
        "class'");
  CHECK(refusal_of("[[gpu]]\nmatch = 'x'\n") ==
        "gh-advise.toml:1:1: [[gpu]] needs 'name' and 'match'");
  CHECK(refusal_of("[[gpu]]\nname = 'x'\nmatch = 3\n") ==
        "gh-advise.toml:3:9: 'match' must be a regular expression or a list of them");
  CHECK(refusal_of("[[gpu]]\nname = 'x'\nmatch = 'x'\nfp32_tflops = 'fast'\n") ==
        "gh-advise.toml:4:15: 'fp32_tflops' must be a number");
  CHECK(refusal_of("[[gpu]]\nname = 'x'\nmatch = 'x'\ncoherent = 1\n") ==
        "gh-advise.toml:4:12: 'coherent' must be true or false");
  CHECK(refusal_of("[ranges]\nstep = 'x'\n") == "gh-advise.toml:2:8: 'step' must be a list");
  CHECK(refusal_of("[ranges]\nloader = [3]\n") ==
        "gh-advise.toml:2:11: 'loader' must be a list of strings");
}

TEST_CASE("configuration: syntax errors and bad expressions are rejected with their position") {
  CHECK(refusal_of("select = [\n'memory'\nignore = 3").starts_with("gh-advise.toml:3:1: "));
  CHECK(refusal_of("select == 3").starts_with("gh-advise.toml:1:9: "));
  CHECK(refusal_of("select = []\nselect = []\n").starts_with("gh-advise.toml:2:"));
  for (const char* text :
       {"[[kernel_class]]\nclass = 'mine'\nmatch = ['(']\n", "[[gpu]]\nname = 'x'\nmatch = '('\n",
        "[ranges]\nstep = ['(']\n", "[ranges]\nloader = ['(']\n"})
    CHECK(refusal_of(text).starts_with("gh-advise.toml: '(' is not a regular expression: "));
}

TEST_CASE(
    "configuration: the nearest file above is found, and one that cannot be read is an error") {
  const TempDir dir;
  CHECK_THROWS_AS(Config(dir / "missing.toml"), gh::Error);
  CHECK_THROWS_AS(Config(dir / ""), gh::Error);
  fs::create_directories(dir / "a/b/gh-advise.toml");  // a folder with that name does not count
  fs::create_directories(dir / "a/b/c");
  write_file(dir / "gh-advise.toml", "");
  CHECK(*Config::find(dir / "a/b/c") == dir / "gh-advise.toml");
  write_file(dir / "a/gh-advise.toml", "");
  CHECK(*Config::find(dir / "a/b/c") == dir / "a/gh-advise.toml");  // the nearest

  // The program starts in that folder, and --config overrides the file.
  write_file(dir / "a/gh-advise.toml", "select = ['input']");
  write_file(dir / "other.toml", "select = ['capture']");
  const auto rules = [&](const std::string& arguments) {
    std::string ids;
    const auto document = json_of(advise("rules --format json " + arguments, {"", dir / "a/b/c"}));
    for (const auto& rule : document["rules"]) ids += rule["id"].get<std::string>() + " ";
    return ids;
  };
  CHECK(rules("") == "data-loader-starvation ");
  CHECK(rules("--config ../../../other.toml") ==
        "capture-quality failed-calls harmful-environment ");
  write_file(dir / "a/gh-advise.toml", "selct = ['input']");
  const Ran ran = advise("rules", {"", dir / "a/b/c"});
  CHECK(ran.status == 2);
  CHECK(ran.err.starts_with("gh-advise: "));
  CHECK(ran.err.ends_with("a/gh-advise.toml:1:1: unknown key 'selct' (did you mean 'select'?)\n"));
}

TEST_CASE("configuration: select, ignore and fail_on hold unless the command line overrides them") {
  const Folder folder(
      "select = ['unfused-softmax', 'non-tensor-core-gemm', 'input']\nignore = "
      "['non-tensor-core-gemm']\nfail_on = 'error'\n");
  const auto checked = [](const nlohmann::ordered_json& report) {
    std::vector<std::string> ids = report["clean"];
    for (const auto& f : report["findings"]) ids.push_back(f["rule"]);
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  CHECK(checked(folder.check("eager")) ==
        std::vector<std::string>{"data-loader-starvation", "unfused-softmax"});
  CHECK(checked(folder.check("eager", "--select capture")) ==
        std::vector<std::string>{"capture-quality", "failed-calls", "harmful-environment"});
  CHECK(checked(folder.check("eager", "--ignore input")) ==
        std::vector<std::string>{"non-tensor-core-gemm", "unfused-softmax"});
  CHECK(folder.run("eager").status == 1);
  CHECK(folder.run("good").status == 0);
  write_file(folder.dir / "gh-advise.toml",
             "select = ['unfused-softmax']\nfail_on = 'error'\n[rule.unfused-softmax]\nseverity = "
             "'warning'\n");
  CHECK(folder.run("eager").status == 0);
  CHECK(folder.run("eager", "--fail-on warning").status == 1);
  write_file(folder.dir / "gh-advise.toml", "select = ['memroy']\n");
  CHECK(contains(folder.run("eager").err, "(did you mean 'memory'?)"));
}

TEST_CASE("configuration: options and severity of a rule are applied") {
  const auto softmax = [](const std::string& text) {
    return Folder(text).check("eager", "--select unfused-softmax")["findings"];
  };
  CHECK(softmax("")[0]["severity"] == "error");
  CHECK(softmax("[rule.unfused-softmax]\nseverity = 'note'\n")[0]["severity"] == "note");
  CHECK(softmax("[rule.unfused-softmax]\nshare = 0.99\nnote_share = 0.99\n").empty());
  const auto metric = softmax("[rule.unfused-softmax]\nshare = 0.25\n")[0]["metrics"];
  CHECK(std::any_of(metric.begin(), metric.end(),
                    [](const auto& m) { return m["threshold"] == 0.25; }));

  // Each type of option reaches a team's rule, whose folder is relative to the file's.
  const Folder folder("rules = ['team']\n[rule.mine]\nshare = 0.25\nloud = true\nword = 'b'\n");
  fs::create_directory(folder.dir / "team");
  write_file(
      folder.dir / "team/mine.lua",
      rule_text(
          "mine",
          "    return nil, string.format('%s %s %s', options.share, options.loud, options.word)"));
  fs::create_directory(folder.dir / "below");
  CHECK(report_of(advise(GH_FIXTURES "/good.sqlite --format json --select mine",
                         {"", folder.dir / "below"}))["not_checked"][0]["reason"] == "0.25 true b");
  write_file(folder.dir / "gh-advise.toml", "rules = ['team']\n");
  CHECK(folder.check("good", "--select mine")["not_checked"][0]["reason"] == "0.5 false a");
  for (const char* wrong : {"loud = 1", "word = true", "share = true"}) {
    write_file(folder.dir / "gh-advise.toml",
               std::string("rules = ['team']\n[rule.mine]\n") + wrong + "\n");
    CHECK(folder.run("good").status == 2);
    CHECK(contains(folder.run("good").err, "gh-advise.toml:3:"));
  }
  write_file(folder.dir / "gh-advise.toml", "rules = ['nowhere']\n");
  CHECK(contains(folder.run("good").err, "gh-advise.toml:1: rules: "));
}

TEST_CASE("configuration: [[kernel_class]] takes precedence over the built-in kernel classes") {
  const auto before = Folder("").check("good");
  REQUIRE(ns_of(before, "compute.gemm_half") > 0);
  const auto mine = Folder("[[kernel_class]]\nclass = 'mine'\nmatch = ['^nvjet']\n").check("good");
  CHECK(ns_of(mine, "compute.mine") > 0);
  CHECK(ns_of(mine, "compute.mine") + ns_of(mine, "compute.gemm_half") ==
        ns_of(before, "compute.gemm_half"));
  CHECK(ns_of(Folder("[[kernel_class]]\nclass = 'mine'\nmatch = ['^nvjet']\nexcept = ['nvjet']\n")
                  .check("good"),
              "compute.mine") == 0);
  const auto known = Folder("[[kernel_class]]\nclass = 'attention_fused'\nmatch = ['^NVJET']\n")
                         .check("good");  // ignores case
  CHECK(ns_of(known, "compute.attention_fused") ==
        ns_of(before, "compute.attention_fused") + ns_of(mine, "compute.mine"));
  CHECK(Folder("[[kernel_class]]\nclass = 'mine'\nmatch = ['^nvjet']\n")
            .fact("good", "account.compute.mine_ns")
            .get<double>() > 0);
}

TEST_CASE("configuration: [[gpu]] changes a GPU's rates") {
  CHECK(Folder("").fact("good", "device.fp32_flops_per_s") == 67e12);
  const Folder folder(
      "[[gpu]]\nname = 'ours'\nmatch = 'H200'\nfp32_tflops = 50\ntf32_tflops = "
      "400.5\nhost_link_gb_per_s = 20\nhalf_tflops = 800\ntensor_cores = true\n");
  CHECK(folder.fact("good", "device.fp32_flops_per_s") == 50e12);
  CHECK(folder.fact("good", "device.tf32_flops_per_s") == 400.5e12);
  CHECK(folder.fact("good", "device.link_bytes_per_s") == 20e9);
  CHECK(Folder("[[gpu]]\nname = 'ours'\nmatch = ['A100', 'B200$']\nfp32_tflops = 50\n")
            .fact("good", "device.fp32_flops_per_s") == 67e12);
}

TEST_CASE("configuration: [ranges] says what a step and what the loader is called") {
  TempDir renamed;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", renamed / "starved.sqlite");
  run_sql(renamed / "starved.sqlite",
          "UPDATE NVTX_EVENTS SET text = replace(replace(text, 'step ', 'Runde '), 'dataloader', "
          "'Nachschub')");
  const auto in = [&](const std::string& text) {
    write_file(renamed / "gh-advise.toml", text);
    return report_of(advise("starved.sqlite --format json --select input", {"", renamed / ""}));
  };
  const auto plain = in(""), steps = in("[ranges]\nstep = ['^Runde \\d+']\n"),
             both = in("[ranges]\nstep = ['^Runde \\d+']\nloader = ['^nachschub$']\n");
  CHECK(plain["findings"].empty());  // 'Runde 3' counts up, so it is a step by default;
                                     // what 'Nachschub' is cannot be guessed
  CHECK(steps["steps"]["described"] == "NVTX ranges 'Runde #'");
  CHECK(steps["steps"]["count"] == 11);
  REQUIRE(both["findings"].size() == 1);
  CHECK(both["findings"][0]["confidence"] == "high");
  CHECK(contains(both["findings"][0]["evidence"][0]["note"].get<std::string>(),
                 "in range 'Nachschub'"));
  CHECK(!contains(steps.dump(), "in range 'Nachschub'"));
}
