// Files are written completely or not at all, even if a signal, a full disk or a closed pipe
// interrupts.
#include "base/files.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.hpp"
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Runs a program that does `work` and then waits for this signal or one that never comes. Returns
// what ended it, as the shell reports it.
template <class Work>
int ended_by(int signal, Work work) {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    ::signal(signal, SIG_DFL);  // a suite in the background inherits that interrupts are ignored
    gh::clean_up_when_interrupted();
    work([&] {
      if (write(ready[1], "x", 1) == 1)
        for (;;) pause();
    });
    _exit(0);
  }
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  kill(child, signal);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  close(ready[0]);
  close(ready[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("files: a complete file replaces its target and keeps the permissions") {
  const TempDir dir;
  write_file(dir / "out", "old");
  fs::permissions(dir / "out", fs::perms::owner_read | fs::perms::owner_write);
  {
    gh::NewFile file(dir / "out");
    file.write("new");
    CHECK(read_file(dir / "out") == "old");
    CHECK(file.path() != dir / "out");
    file.commit();
  }
  CHECK(read_file(dir / "out") == "new");
  CHECK(fs::status(dir / "out").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  { gh::NewFile(dir / "out").write("half"); }
  CHECK(read_file(dir / "out") == "new");
  CHECK(entries(dir / "") == 1);
}

TEST_CASE(
    "files: a signal ends the program with its own status and leaves no half-written or temporary "
    "file") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TempDir dir;
    setenv("TMPDIR", (dir / "").c_str(), 1);
    const int status = ended_by(signal, [&](auto wait_here) {
      gh::NewFile file(dir / "out");
      const gh::TemporaryFolder folder;
      file.write("half");
      write_file(file.path().string() + "-journal", "x");
      write_file(folder.path / "inside", "x");
      wait_here();
    });
    unsetenv("TMPDIR");
    CHECK(status == 128 + signal);
    CHECK(entries(dir / "") == 0);
  }
}

TEST_CASE("files: interrupting the program during an export ends the export and leaves no folder") {
  for (const char* signal : {"INT", "TERM"}) {
    const TempDir dir;
    fs::create_directory(dir / "tmp");
    write_file(dir / "run.nsys-rep", std::string("\x01\x02\x00PK", 5) + std::string(500, '\x7f'));
    // The export's own child process must end too.
    write_file(dir / "nsys", "#!/bin/sh\necho part >\"$7\"\nsleep 600 & echo $! >" +
                                 quoted(dir / "pid") + "\nmv " + quoted(dir / "pid") + " " +
                                 quoted(dir / "started") + "\nwait\n");
    fs::permissions(dir / "nsys", fs::perms::owner_all);
    // A shell without job control starts background jobs with SIGINT ignored, which they inherit:
    // -m turns job control on.
    const Ran ran =
        shell("set -m\nTMPDIR=" + quoted(dir / "tmp") +
                  " '" GH_PROGRAM
                  "' run.nsys-rep --nsys ./nsys & program=$!\n"
                  "for i in $(seq 600); do [ -e started ] && break; sleep 0.1; done\nkill -" +
                  signal + " $program\nwait $program",
              {"", dir / ""});
    CHECK(ran.status == (std::string(signal) == "INT" ? 130 : 143));
    CHECK(ran.out == "");
    REQUIRE(fs::exists(dir / "started"));
    CHECK(fs::is_empty(dir / "tmp"));
    const pid_t sleeper = std::stoi(read_file(dir / "started"));
    // It has been killed, but whoever inherits it takes a moment to notice.
    const std::string status =
        shell("for i in $(seq 600); do state=$(awk '/^State/ {print $2}' /proc/" +
              std::to_string(sleeper) +
              "/status 2>/dev/null); case $state in ''|Z) echo gone; break;; esac; sleep 0.1; done")
            .out;
    CHECK(status == "gone\n");
  }
}

TEST_CASE("files: a full disk or a file size limit is an error, and the old file stays") {
  const TempDir dir;
  write_file(dir / "out", "old");
  for (const char* command : {"", "facts ", "baseline "}) {
    INFO(command);
    const Ran limited = shell("ulimit -f 1; exec '" GH_PROGRAM "' " + std::string(command) +
                              "starved.sqlite --output " + quoted(dir / "out"));
    CHECK(limited.status == 2);
    CHECK_MESSAGE(contains(limited.err, "cannot be written: File too large"), limited.err);
    CHECK(lines_of(limited.err).size() == 1);
    CHECK(read_file(dir / "out") == "old");
    CHECK(entries(dir / "") == 1);
  }
  const Ran full = advise("starved.sqlite --output /dev/full");
  CHECK(full.status == 2);
  CHECK(full.err == "gh-advise: --output /dev/full: cannot be written: No space left on device\n");
}

TEST_CASE(
    "files: a closed pipe ends the program in silence as SIGPIPE would, and files are whole") {
  const TempDir dir;
  const Ran ran =
      shell("{ '" GH_PROGRAM "' starved.sqlite --output json=" + quoted(dir / "out.json") +
            "; echo $? >" + quoted(dir / "status") + "; } | true");
  CHECK(read_file(dir / "status") == "141\n");
  CHECK(ran.err == "");
  CHECK(nlohmann::json::accept(read_file(dir / "out.json")));
  CHECK(entries(dir / "") == 2);
}

TEST_CASE("files: without any further thread the program does all of its work in one") {
  // This limit does not apply to root, so run as another user who can read the program and the
  // report.
  const TempDir dir;
  fs::permissions(dir / "", fs::perms::all);
  fs::copy_file(GH_PROGRAM, dir / "gh-advise");
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "starved.sqlite");
  fs::permissions(dir / "gh-advise", fs::perms::all);
  fs::permissions(dir / "starved.sqlite", fs::perms::all);
  const std::string other_user = getuid() == 0 ? "setpriv --reuid=61234 --clear-groups " : "";
  fs::copy_file(GH_FIXTURES "/good.pt.trace.json", dir / "good.pt.trace.json");
  fs::permissions(dir / "good.pt.trace.json", fs::perms::all);
  for (const std::string arguments :
       {"starved.sqlite --format json", "good.pt.trace.json --format json"}) {
    const Ran ran = shell(other_user + "prlimit --nproc=1 ./gh-advise " + arguments,
                          {sanitized ? "ASAN_OPTIONS=detect_leaks=0" : "",
                           dir / ""});  // looking for leaks takes a thread
    CHECK_MESSAGE(ran.status == 0, ran.err);
    CHECK(ran.err == "");
    CHECK(ran.out == advise(arguments).out);
  }
}

TEST_CASE("files: a dangling link stays a link, and a read-only file is not changed") {
  const TempDir dir;
  fs::create_directory(dir / "sub");
  fs::create_symlink("sub/out", dir / "link");
  gh::write_file(dir / "link", "new");
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(read_file(dir / "sub/out") == "new");
  fs::permissions(dir / "sub/out", fs::perms::owner_read);
  CHECK_THROWS_WITH_AS(gh::write_file(dir / "sub/out", "other"), doctest::Contains("read-only"),
                       gh::Error);
  CHECK(read_file(dir / "sub/out") == "new");
}

TEST_CASE("files: a link made by another user is not followed, whatever its target") {
  if (getuid() != 0) return;  // only root can give a link to somebody
  const TempDir dir;
  for (const char* target : {"theirs", "nothing-yet", "/dev/null"}) {
    fs::create_symlink(target, dir / "planted");
    CHECK(advise("rules --output planted", {"", dir / ""}).status == 0);
    REQUIRE(lchown((dir / "planted").c_str(), 61234, 61234) == 0);
    write_file(dir / "theirs", "before");
    const Ran ran = advise("rules --output planted", {"", dir / ""});
    CHECK(ran.status == 2);
    CHECK(ran.err ==
          "gh-advise: --output planted: is a link made by another user (61234), so it is not "
          "followed; remove it, or write to another file\n");
    CHECK(read_file(dir / "theirs") == "before");
    // A link of our own that leads to it is refused too.
    fs::create_symlink("planted", dir / "own");
    CHECK(contains(advise("rules --output own", {"", dir / ""}).err, "another user (61234)"));
    // Under sudo, root counts as that user.
    CHECK(advise("rules --output planted", {"SUDO_UID=61234", dir / ""}).status == 0);
    CHECK(advise("rules --output planted", {"SUDO_UID=612345", dir / ""}).status == 2);
    fs::remove(dir / "own");
    fs::remove(dir / "planted");
  }
}

TEST_CASE("files: a folder that another user replaced by a link is not followed either") {
  if (getuid() != 0) return;  // only root can give a link to somebody
  const TempDir dir;
  fs::create_directories(dir / "private");
  fs::create_directories(dir / "shared");
  fs::create_symlink("../private", dir / "shared/out");
  fs::create_symlink("shared/out", dir / "own");
  const auto written = [&] {
    return std::distance(fs::recursive_directory_iterator(dir / "private"), {});
  };
  const std::vector<std::string> commands = {"rules --output ./shared/out/x",
                                             "rules --output shared/out/../private/x",
                                             "rules --output own/x",
                                             "docs --config none --out shared/out",
                                             "docs --config none --out own/new",
                                             "new-rule mine/x --in shared/out"};
  REQUIRE(lchown((dir / "shared/out").c_str(), 61234, 61234) == 0);
  for (const std::string& command : commands) {
    CAPTURE(command);
    const Ran ran = advise(command, {"", dir / ""});
    CHECK(ran.status == 2);
    CHECK_MESSAGE(contains(ran.err, "a link made by another user (61234), so it is not followed"),
                  ran.err);
    CHECK(written() == 0);
  }
  CHECK(advise(commands.front(), {"", dir / ""}).err ==
        "gh-advise: --output ./shared/out/x: ./shared/out is a link made by another user (61234), "
        "so it is not followed; write to another folder\n");
  REQUIRE(lchown((dir / "shared/out").c_str(), 0, 0) == 0);
  CHECK(advise(commands.front(), {"", dir / ""}).status == 0);
  CHECK(read_file(dir / "private/x") != "");
}
