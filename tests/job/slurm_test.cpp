// Tests what `gh-advise slurm` writes and reads, with stand-ins for Slurm's commands; slurm.sh uses
// the real ones.
#include "job/slurm.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// Two reports, and a cluster whose queue has forgotten its jobs.
struct Cluster {
  TempDir dir;
  Cluster() {
    fs::create_directory(dir / "job");
    for (const char* name : {"a.sqlite", "b.sqlite"})
      fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "job" / name);
    write_file(dir / "job" / "notes.json", "{}");
    write_script(dir / "bin/sbatch",
                 "echo 'a plugin has something to say'; printf '%s\\n' \"$*\" >> " +
                     quoted(dir / "submitted") + "; n=$(wc -l < " + quoted(dir / "submitted") +
                     "); echo $((70 + n))\n");
    write_script(dir / "bin/squeue",
                 "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n");
    write_script(
        dir / "bin/sacct",
        "case \"$*\" in *--jobs=71*) printf '71_0|COMPLETED|n1\\n71_1|OUT_OF_MEMORY|n2\\n';; *) "
        "echo '72|COMPLETED|n1';; esac\n");
  }
  Ran run(const std::string& arguments) const {
    return advise("slurm job " + arguments,
                  {"PATH=" + (dir / "bin").string() + ":/usr/bin:/bin", dir / ""});
  }
  fs::path work() const { return dir / "job" / "gh-advise"; }
};

}  // namespace

TEST_CASE("slurm: tasks that the queue has forgotten are looked up in the accounting") {
  const Cluster cluster;
  const Ran submitted = cluster.run("--partition cpu --sbatch=--mem=8G");
  CHECK_MESSAGE(submitted.status == 0, submitted.err);
  CHECK(contains(submitted.out, "job 71 digests 2 reports\njob 72 combines them afterwards"));
  const std::vector<std::string> lines = lines_of(read_file(cluster.dir / "submitted"));
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], "--parsable --chdir=" + fs::canonical(cluster.work()).string() +
                               " --partition=cpu --array=0-1 --mem=8G "));
  CHECK(contains(lines[1], "--dependency=afterany:71 --mem=8G "));
  CHECK(advise("digest " + (cluster.dir / "job/a.sqlite").string() + " -o " +
               (cluster.work() / "digests/a.sqlite.digest").string())
            .status == 0);
  const Ran status = cluster.run("--status");
  CHECK(status.status == 2);
  CHECK(status.out ==
        "1 of 2 reports digested, 1 failed\nfailed: b.sqlite: its task ended with state "
        "OUT_OF_MEMORY, on n2\nrun `gh-advise slurm` again to retry only these\n");
  // The program's message takes precedence over Slurm's.
  write_file(cluster.work() / "errors/b.sqlite.err",
             "n5\nnoise\ngh-advise: b.sqlite: is damaged\n");
  CHECK(contains(cluster.run("--status").out,
                 "failed: b.sqlite: b.sqlite: is damaged (OUT_OF_MEMORY), on n5\n"));
  CHECK(contains(cluster.run("--dry-run").out, "2 reports in job, 1 to digest"));
  // A report recorded again is digested again, and so is one whose digest is from another version.
  fs::last_write_time(cluster.dir / "job/a.sqlite",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(contains(cluster.run("--dry-run").out, "2 to digest"));
  fs::last_write_time(cluster.dir / "job/a.sqlite",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  write_file(cluster.work() / "digests/a.sqlite.digest", "of old");
  CHECK(contains(cluster.run("--dry-run").out, "2 to digest"));
}

TEST_CASE("slurm: a queue that does not answer is not mistaken for an empty one") {
  const Cluster cluster;
  CHECK(cluster.run("").status == 0);
  const std::string scripts =
      read_file(cluster.work() / "todo") + read_file(cluster.work() / "jobs.json");
  write_script(
      cluster.dir / "bin/squeue",
      "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; "
      "exit 1\n");
  write_script(cluster.dir / "bin/sacct", "exit 1\n");
  for (const char* arguments : {"", "--ntasks 1", "--status"}) {
    const Ran ran = cluster.run(arguments);
    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "the queue does not answer; try again"));
    CHECK(ran.out == "");
  }
  CHECK(lines_of(read_file(cluster.dir / "submitted")).size() == 2);
  CHECK(read_file(cluster.work() / "todo") + read_file(cluster.work() / "jobs.json") == scripts);
  // With --wait it asks again.
  write_script(cluster.dir / "bin/squeue",
               "[ -e '" + (cluster.dir / "asked").string() +
                   "' ] && echo '0|FAILED|n1' && exit; touch '" + (cluster.dir / "asked").string() +
                   "'; echo 'Unable to contact slurm controller' >&2; exit 1\n");
  CHECK(contains(cluster.run("--status --wait").out, "2 failed"));
}

TEST_CASE("slurm: digests that could not be combined are an error") {
  const Cluster cluster;
  CHECK(cluster.run("").status == 0);
  for (const char* name : {"a", "b"})
    CHECK(advise("digest good.sqlite -o '" + (cluster.work() / "digests" / name).string() +
                 ".sqlite.digest'")
              .status == 0);
  write_file(cluster.work() / "logs/fleet-72.log",
             "2 of 2 reports digested\ngh-advise: a and b are not of one job\n");
  const Ran status = cluster.run("--status");
  CHECK(status.status == 2);
  CHECK(status.out ==
        "2 of 2 reports digested\ncombining them failed: a and b are not of one job\n");
  // The job that combines them asks before it has finished.
  const Ran merging =
      advise("slurm job --status",
             {"SLURM_JOB_ID=72 PATH=" + (cluster.dir / "bin").string() + ":/usr/bin:/bin",
              cluster.dir / ""});
  CHECK(merging.status == 0);
  write_file(cluster.work() / "fleet.txt", "2 ranks\n");
  CHECK(cluster.run("--status").status == 0);
}

TEST_CASE("slurm: the scripts find their files wherever they run") {
  const Cluster cluster;
  const std::string here = fs::canonical(cluster.dir / "").string();
  const std::string plain = cluster.run("--dry-run --program ./bin/gh-advise --nsys bin/nsys").out;
  CHECK(contains(plain, "gh_advise() { " + here + "/bin/gh-advise \"$@\"; }"));
  CHECK(contains(plain, "--nsys=" + here + "/bin/nsys"));
  CHECK(contains(plain, "--config=none"));
  write_file(cluster.dir / "image.sif", "");
  CHECK(contains(cluster.run("--dry-run --container image.sif").out,
                 " " + here + "/image.sif gh-advise \"$@\""));
  CHECK(contains(cluster.run("--dry-run --container docker://lab/gh-advise").out,
                 " docker://lab/gh-advise gh-advise"));
  write_file(cluster.dir / "job/gh-advise.toml", "broken");
  CHECK(advise("job/a.sqlite --config none", {"", cluster.dir / ""}).status == 0);
  CHECK(cluster.run("--ntasks 0").err.size() < 200);
}

TEST_CASE("slurm: every error is one line that says what to do") {
  const Cluster cluster;
  const auto error = [&](const std::string& arguments) {
    const Ran ran = cluster.run(arguments);
    CHECK(ran.status == 2);
    CHECK(lines_of(ran.err).size() == 1);
    return ran.err;
  };
  CHECK(contains(error("--status"), "nothing was submitted from there"));
  CHECK(contains(error("--ignore memroy"), "did you mean 'memory'?"));
  CHECK(contains(advise("slurm " + (cluster.dir / "bin").string()).err, "contains no report"));
  CHECK(contains(advise("slurm nowhere").err, "nowhere: is not a folder"));
  CHECK(contains(error("--container x.sif --work 'a,b'"), "contains a comma or a colon"));
  write_script(cluster.dir / "bin/sbatch",
               "echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1\n");
  CHECK(contains(error(""),
                 "sbatch refused: sbatch: error: Batch job submission failed: Invalid account"));
  CHECK_FALSE(fs::exists(cluster.work() / "jobs.json"));
  fs::remove(cluster.dir / "bin/sbatch");
  if (shell("command -v sbatch").status != 0) CHECK(contains(error(""), "sbatch cannot be run"));
}

TEST_CASE("slurm: a quoted word reaches the shell unchanged") {
  for (const std::string word : {"plain/path-1.sqlite", "", "two words", "it's", "a\nb",
                                 "$(x) `y` \"z\" \\ * ~ ;&|", "-n", "ü"})
    CHECK(shell("printf '%s.' " + gh::shell_word(word)).out == word + ".");
}

TEST_CASE("slurm: a second simultaneous submission is refused") {
  const Cluster cluster;
  // A second submission begins while the first is running.
  write_script(cluster.dir / "bin/sbatch",
               "cd " + quoted(cluster.dir / "") +
                   "; [ -e second ] || { touch second; '" GH_PROGRAM
                   "' slurm job >second 2>&1; echo $? >>second; }; echo x >>submitted; echo "
                   "$((70 + $(wc -l <submitted)))\n");
  CHECK(cluster.run("").status == 0);
  CHECK(lines_of(read_file(cluster.dir / "submitted")).size() == 2);
  const std::string work = fs::canonical(cluster.work()).string();
  CHECK(read_file(cluster.dir / "second") ==
        "gh-advise: " + work +
            ": another `gh-advise slurm` is submitting from there; if none is running, remove " +
            work + "/submitting\n2\n");
  CHECK_FALSE(fs::exists(cluster.work() / "submitting"));
}

TEST_CASE(
    "slurm: only digests of its own reports are removed, and foreign files are not mistaken for "
    "them") {
  const Cluster cluster;
  CHECK(cluster.run("").status == 0);
  const auto digest_path = [&](const std::string& name) {
    return cluster.work() / "digests" / (name + ".digest");
  };
  const auto digest = [&](const fs::path& to) {
    CHECK(advise("digest good.sqlite -o " + quoted(to)).status == 0);
  };
  // An earlier submission's digest of a deleted report is removed too.
  digest(digest_path("a.sqlite"));
  digest(digest_path("b.sqlite"));
  fs::remove(cluster.dir / "job/b.sqlite");
  CHECK(cluster.run("").status == 0);
  CHECK(fs::exists(digest_path("a.sqlite")));
  CHECK_FALSE(fs::exists(digest_path("b.sqlite")));
  // A foreign digest stays and stops the submission, because it would be combined with the rest.
  const std::string submitted = read_file(cluster.dir / "submitted");
  digest(digest_path("foreign"));
  write_file(cluster.dir / "job/c.sqlite", read_file(GH_FIXTURES "/good.sqlite"));
  write_file(digest_path("c.sqlite"), "notes");
  for (const char* foreign : {"foreign", "c.sqlite"}) {
    const Ran refused = cluster.run("");
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "was not created by gh-advise slurm"));
    CHECK(fs::exists(digest_path("foreign")) == (std::string(foreign) == "foreign"));
    CHECK(read_file(digest_path("c.sqlite")) == "notes");
    CHECK(fs::exists(digest_path("a.sqlite")));
    fs::remove(digest_path("foreign"));
  }
  fs::remove(digest_path("c.sqlite"));
  // The same for another folder's digests if its working folder is given by mistake.
  fs::create_directory(cluster.dir / "other");
  fs::copy_file(GH_FIXTURES "/good.sqlite", cluster.dir / "other/a.sqlite");
  const Ran other =
      advise("slurm other --work job/gh-advise",
             {"PATH=" + (cluster.dir / "bin").string() + ":/usr/bin:/bin", cluster.dir / ""});
  CHECK(other.status == 2);
  CHECK(contains(other.err, "is the working folder of other reports, such as "));
  CHECK(fs::exists(digest_path("a.sqlite")));
  CHECK(read_file(cluster.dir / "submitted") == submitted);
}

TEST_CASE("slurm: a working folder that others can write is refused") {
  const Cluster cluster;
  fs::create_directories(cluster.work());
  fs::permissions(cluster.work(), fs::perms::others_write, fs::perm_options::add);
  CHECK(
      contains(cluster.run("").err, "who could then choose what the jobs run; remove their write"));
  fs::permissions(cluster.work(), fs::perms::others_write, fs::perm_options::remove);
  if (getuid() == 0) {
    REQUIRE(chown(cluster.work().c_str(), 0, 61234) == 0);
    REQUIRE(chmod(cluster.work().c_str(), 0770) == 0);
    CHECK(contains(cluster.run("").err,
                   "is writable by others, who could then choose what the jobs run"));
    REQUIRE(chmod(cluster.work().c_str(), 0750) == 0);
    REQUIRE(chown(cluster.work().c_str(), 61234, 61234) == 0);
    CHECK(contains(cluster.run("").err, "belongs to another user"));
    REQUIRE(chown(cluster.work().c_str(), 0, 0) == 0);
    fs::create_directory(cluster.dir / "elsewhere");
    fs::create_directory_symlink(cluster.dir / "elsewhere", cluster.work() / "digests");
    REQUIRE(lchown((cluster.work() / "digests").c_str(), 61234, 61234) == 0);
    CHECK(contains(cluster.run("").err, "digests: belongs to another user"));
    fs::remove(cluster.work() / "digests");
  }
  CHECK_FALSE(fs::exists(cluster.dir / "submitted"));
  CHECK(cluster.run("").status == 0);
}

TEST_CASE("slurm: the scripts write through no link, and the result lists what failed") {
  const Cluster cluster;
  write_file(cluster.dir / "job/b.sqlite", "damaged");
  CHECK(cluster.run("").status == 0);
  write_file(cluster.dir / "victim", "as it was");
  fs::create_symlink(cluster.dir / "victim", cluster.work() / "errors/b.sqlite.err");
  const auto script = [&](const std::string& words) {
    return shell("bash " + words,
                 {"PATH=" + (cluster.dir / "bin").string() + ":/usr/bin:/bin", cluster.work()});
  };
  CHECK(script("-c 'for SLURM_ARRAY_TASK_ID in 0 1; do export SLURM_ARRAY_TASK_ID; bash digest.sh "
               "0; done'")
            .status == 1);
  CHECK(fs::exists(cluster.work() / "digests/a.sqlite.digest"));
  CHECK(read_file(cluster.dir / "victim") == "as it was");
  CHECK(contains(read_file(cluster.work() / "errors/b.sqlite.err"), "gh-advise: "));
  // It waits until jobs.json is written.
  const Ran merged = script(
      "-c 'mv jobs.json later; (sleep 2; mv later jobs.json) & SLURM_JOB_ID=72 bash "
      "merge.sh; status=$?; wait; exit $status'");
  CHECK(merged.status == 2);
  CHECK(
      contains(read_file(cluster.work() / "fleet.txt"), "left out: b.sqlite: was not digested: "));
  const auto json = nlohmann::json::parse(read_file(cluster.work() / "fleet.json"));
  REQUIRE(json["unreadable"].size() == 1);
  CHECK(contains(json["unreadable"][0].get<std::string>(), "b.sqlite: was not digested: "));
}
