// gh-advise slurm: a folder of reports digested and brought together by Slurm jobs.
#include "job/slurm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct SlurmCommand {
  std::string folder, work, program, container, partition, nsys = "nsys";
  std::vector<std::string> sbatch;
  std::int64_t tasks = 0;
  bool dry_run = false, wait = false, status = false;
  RuleOptions rule;
};

// A path rather than a name that is looked up on the PATH, or an image in a registry (docker://).
bool is_path(const std::string& name) {
  return name.find('/') != name.npos && name.find("://") == name.npos;
}

std::string absolute(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

// Where the jobs run and with what. The scripts run in another folder, so paths become absolute.
SlurmOptions slurm_options(const SlurmCommand& o) {
  SlurmOptions slurm;
  slurm.folder = o.folder;
  slurm.work = o.work;
  slurm.program = o.program;
  slurm.container = o.container;
  slurm.partition = o.partition;
  slurm.tasks = o.tasks;
  slurm.sbatch = o.sbatch;
  slurm.results = {"json", "html"};
  std::error_code ec;
  if (slurm.container.empty()) {
    if (slurm.program.empty()) slurm.program = fs::read_symlink("/proc/self/exe").string();
    if (is_path(slurm.program)) slurm.program = absolute(slurm.program);
  } else {
    if (slurm.program.empty()) slurm.program = "gh-advise";
    if (is_path(slurm.container) || fs::exists(slurm.container, ec))
      slurm.container = absolute(slurm.container);
  }
  return slurm;
}

// Hands configuration and rules on to the jobs' commands.
void pass_on(const SlurmCommand& o, const Settings& settings, SlurmOptions& slurm) {
  const auto pass = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      for (auto* arguments : {&slurm.digest_arguments, &slurm.fleet_arguments})
        arguments->push_back(fmt::format("{}={}", option, value));
  };
  // The jobs' folder may have another configuration than this one.
  if (settings.config_path.empty()) {
    pass("--config", {"none"});
  } else {
    pass("--config", {absolute(settings.config_path)});
    slurm.binds.push_back(fs::absolute(settings.config_path).parent_path());
  }
  for (const fs::path& folder : settings.config.rule_directories)
    slurm.binds.push_back(fs::absolute(folder));
  for (const std::string& folder : o.rule.directories) {
    pass("--rules", {absolute(folder)});
    slurm.binds.push_back(fs::absolute(folder));
  }
  pass("--select", o.rule.select);
  pass("--ignore", o.rule.ignore);
  const bool resolve = slurm.container.empty() && is_path(o.nsys);
  const std::string nsys = resolve ? absolute(o.nsys) : o.nsys;
  if (nsys != "nsys") slurm.digest_arguments.push_back("--nsys=" + nsys);
}

// Waits until no job is left in the queue. On a terminal a line says how far they are.
SlurmStatus wait_for(const SlurmOptions& slurm) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  for (;; std::this_thread::sleep_for(std::chrono::seconds(3))) {
    SlurmStatus status;
    try {
      status = slurm_status(slurm);
    } catch (const QueueSilent&) {
      continue;  // a controller that restarts is back soon
    }
    if (terminal) {
      const std::string text = render_slurm_status(status);
      write_to_stderr("\r\x1b[K" + text.substr(0, text.find('\n')));
    }
    if (status.busy) continue;
    if (terminal) write_to_stderr("\r\x1b[K");
    return status;
  }
}

int slurm(const SlurmCommand& o) {
  SlurmOptions slurm = slurm_options(o);
  if (!o.status) {
    const Settings settings(o.rule);
    settings.rules(o.rule);  // says what is wrong with them here, not in a thousand tasks
    pass_on(o, settings, slurm);
    const SlurmJobs jobs = slurm_jobs(slurm, slurm_max_array_size());
    write(o.dry_run ? printable_lines(render_slurm(slurm, jobs)) : submit_slurm(slurm, jobs),
          to_stdout);
    if (o.dry_run || !o.wait) return done;
  }
  const SlurmStatus status = o.wait ? wait_for(slurm) : slurm_status(slurm);
  write(render_slurm_status(status), to_stdout);
  const bool merged = status.not_merged.empty() && (!o.wait || !status.result.empty());
  return status.failed.empty() && merged ? done : could_not;
}

void add_job_options(Parser& command, SlurmCommand& o) {
  command.option("--partition NAME", o.partition, "The partition, as for sbatch");
  command
      .option("--ntasks N", o.tasks,
              "The number of array tasks for the reports (default: one a report, if the cluster "
              "allows that)")
      .between(1, 1'000'000'000);
  command.option("--sbatch OPTION...", o.sbatch,
                 "Another option for sbatch, as in --sbatch=--mem=8G; may be given several times");
  command.option("--container IMAGE", o.container,
                 "Run gh-advise from this image, with Apptainer or Singularity");
  command.option(
      "--program PATH", o.program,
      "The path of gh-advise on the nodes (default: this program; in a container, gh-advise on "
      "the PATH)");
  command.option("--nsys PATH", o.nsys,
                 "The nsys program that exports .nsys-rep files on the nodes");
}

}  // namespace

Command add_slurm(CommandLine& line) {
  Parser command(
      line, "slurm",
      "Digest a folder of reports in a Slurm job, and run fleet on them in a second one");
  const auto o = std::make_shared<SlurmCommand>();
  command
      .option(
          "DIR", o->folder,
          "A folder with the reports of a job's ranks, on a shared file system. Reports that have "
          "a digest are not digested again")
      .required();
  command.option(
      "--work DIR", o->work,
      "The folder for scripts, digests, logs and the result (default: gh-advise/ in DIR)");
  add_job_options(command, *o);
  command.flag("--dry-run", o->dry_run,
               "Print the scripts and the sbatch commands; write and submit nothing");
  command.flag("--wait", o->wait, "Wait for the jobs; exit with 2 if a report failed");
  command.flag("--status", o->status, "Submit nothing; print the progress and what failed");
  o->rule.add(command);
  return {command, [o] { return slurm(*o); }};
}

}  // namespace gh
