// Configurations that are rejected before their content is used.
#include "rules/config_file.hpp"

#include <unistd.h>

#include "rules/config.hpp"
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

std::string refused(const std::string& text) {
  return error_of([&] { gh::Config(text, "gh-advise.toml"); });
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A folder with a configuration, and a project in it in which the program is started.
struct Folders {
  TempDir dir;
  fs::path top = dir / "theirs", path = top / "gh-advise.toml";
  Folders() {
    fs::create_directories(top / "project");
    write_file(path, "select = ['input']");
  }
  Ran rules(const std::string& arguments = "", const std::string& environment = "") const {
    return advise("rules " + arguments, {environment, top / "project"});
  }
  // Why the file is not trusted; "" if it is. A file that is not trusted can still be named.
  std::string doubt() const {
    const Ran ran = rules();
    if (ran.status == 0) return "";
    CHECK(ran.status == 2);
    CHECK(ran.out == "");
    CHECK(rules("--config ../gh-advise.toml").status == 0);
    CHECK(rules("--config none").status == 0);
    const std::string shown = path.string(), head = "gh-advise: " + shown + ": ",
                      tail =
                          ", so gh-advise does not use it or its rules by default: pass --config " +
                          shown + " to use it, or --config none to ignore it\n";
    CHECK(ran.err.starts_with(head));
    CHECK(ran.err.ends_with(tail));
    return ran.err.substr(head.size(), ran.err.size() - head.size() - tail.size());
  }
  void give(const fs::path& to, uid_t user, gid_t group) const {
    REQUIRE(lchown(to.c_str(), user, group) == 0);
  }
};

}  // namespace

TEST_CASE(
    "configuration: one that is too large or too deeply nested is rejected before it is parsed") {
  const std::string dots = repeated("a.", 50'000) + "a";
  for (const std::string& deep :
       {dots + " = 1", "[" + dots + "]", "[[" + dots + "]]", "x = { " + dots + " = 1 }",
        "x = " + repeated("[", 100'000) + repeated("]", 100'000),
        "x = " + repeated("{a=", 100'000) + "1" + repeated("}", 100'000),
        "a" + repeated(" . a", 50'000) + " = 1", "a" + repeated(".'a'", 50'000) + " = 1",
        "a" + repeated(".\"\"", 50'000) + " = 1",
        // After strings whose end is easy to miss.
        "x = { y = \"\"\"a\"\"\"\", " + dots + " = 1 }", "x = { y = '\\', " + dots + " = 1 }",
        "x = { y = \"\\\"\", " + dots + " = 1 }", "x = { y = '''a'''''," + dots + " = 1 }",
        "x = { y = \"\", " + dots + " = 1 }",
        // Each level alone is fine.
        repeated("x = [{ a.b.c = ", 5'000)}) {
    INFO(deep.substr(0, 40));
    CHECK(refused(deep) == "gh-advise.toml:1: more than 32 levels of nesting");
  }
  CHECK(refused("\n\n[" + dots + "]") == "gh-advise.toml:3: more than 32 levels of nesting");
  const TempDir dir;
  write_file(dir / "large.toml", repeated("# a comment\n", 100'000));
  CHECK(error_of([&] {
          gh::Config(dir / "large.toml");
        }).ends_with("large.toml: is larger than 1 MiB, too large for a configuration"));
  // Dots and brackets in strings and comments do not count.
  CHECK(refused("# " + dots + repeated("[", 100) + "\nselect = ['input', \"input\"]\n" +
                "[[suppress]]\nrule = 'host-sync'\nsubject = '" + dots + "'\nreason = \"\"\"" +
                repeated("[.\n", 100) + "\\\"\"\"\"\n") == "");
  CHECK(refused("[ranges]\nstep = [" + repeated("'a.b', ", 1000) + "]") == "");
}

TEST_CASE("configuration: one that other users can write is not used unless it is named") {
  const Folders in;
  CHECK(in.doubt() == "");
  fs::permissions(in.path, fs::perms::others_write, fs::perm_options::add);
  CHECK(in.doubt() == "is writable by other users");
  // The checkout of a CI job is the subject of the job.
  CHECK(in.rules("", "GITHUB_WORKSPACE=" + in.top.string()).status == 0);
  CHECK(in.rules("", "CI_PROJECT_DIR=" + in.top.string()).status == 0);
  // Nothing is looked for above it.
  CHECK(in.rules("", "CI_PROJECT_DIR=" + (in.top / "project").string()).status == 0);
  CHECK(in.rules("", "CI_PROJECT_DIR=/").status == 2);
  fs::permissions(in.path, fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(in.top, fs::perms::others_write, fs::perm_options::add);
  CHECK(in.doubt() == "is in a folder that is writable by other users");
  // Like /tmp, where nobody but its owner can replace another user's file.
  fs::permissions(in.top, fs::perms::sticky_bit, fs::perm_options::add);
  CHECK(in.doubt() == "");
  fs::permissions(in.top, fs::perms::owner_all | fs::perms::group_all);
  if (getuid() == getgid()) CHECK(in.doubt() == "");  // the user's private group
}

TEST_CASE("configuration: another user's file is not used unless it is named") {
  if (getuid() != 0) return;  // only root can give files to another user
  const Folders in;
  constexpr uid_t other = 61234;
  fs::permissions(in.top, fs::perms::owner_all | fs::perms::group_all);
  in.give(in.top, 0, other);
  CHECK(in.doubt() == "is in a folder that is writable by other users");
  in.give(in.top, other, other);
  CHECK(in.doubt() == "is in a folder that belongs to another user (61234)");
  fs::permissions(in.top, fs::perms::sticky_bit, fs::perm_options::add);
  CHECK(in.doubt() == "is in a folder that belongs to another user (61234)");
  fs::permissions(in.top, fs::perms::sticky_bit, fs::perm_options::remove);
  in.give(in.top, 0, 0);
  in.give(in.path, other, other);
  CHECK(in.doubt() == "belongs to another user (61234)");
  CHECK(in.rules("", "SUDO_UID=61234").status == 0);
  CHECK(in.rules("", "SUDO_UID=61234x").status == 2);
  // A link to our own file.
  fs::rename(in.path, in.top / "own.toml");
  in.give(in.top / "own.toml", 0, 0);
  fs::create_symlink("own.toml", in.path);
  CHECK(in.doubt() == "");
  in.give(in.path, other, other);
  CHECK(in.doubt() == "is a link that another user created");
}

TEST_CASE("configuration: rules that another user can change are not run unless it is named") {
  if (getuid() != 0) return;  // only root can give files to another user
  const Folders in;
  constexpr uid_t other = 61234;
  const fs::path folder = in.top / "ours", inner = folder / "host", rule = inner / "quiet.lua";
  fs::create_directories(inner);
  write_file(in.path, "rules = ['ours']");
  write_file(rule, "error('ran')");
  const auto refused = [&](const fs::path& what, const std::string& why) {
    CAPTURE(what.string());
    const Ran ran = in.rules();
    CHECK(ran.status == 2);
    CHECK_MESSAGE(ran.err.starts_with("gh-advise: " + what.string() + ": " + why + ", so "),
                  ran.err);
    for (const char* allowed : {"--config ../gh-advise.toml", ""})
      CHECK(contains(in.rules(allowed, *allowed ? "" : "GITHUB_WORKSPACE=" + in.top.string()).err,
                     "ran"));
  };
  CHECK(contains(in.rules().err, "ran"));
  for (const fs::path& path : {folder, inner, rule}) {
    in.give(path, other, other);
    refused(path, "belongs to another user (61234)");
    in.give(path, 0, 0);
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    refused(path, "is writable by other users");
    fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
  }
  fs::rename(rule, in.top / "elsewhere");
  fs::create_symlink("../../elsewhere", rule);
  in.give(rule, other, other);
  refused(rule, "is a link that another user created");
}
