#!/usr/bin/python3
"""Checks the workflows, above all the one that publishes releases, as far as that can be done without a runner."""
import io
import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

import yaml

source = pathlib.Path(__file__).resolve().parents[2]
workflow = yaml.safe_load((source / ".github/workflows/release.yml").read_text())
check = yaml.safe_load((source / ".github/workflows/check.yml").read_text())
jobs = workflow["jobs"]
steps = [step for job in [*jobs.values(), *check["jobs"].values()] for step in job["steps"]]


def step(name):
    (found,) = (s for s in steps if s.get("name") == name)
    return found


def run(name, folder=source, **environment):
    """Runs a step as a runner does. Returns its exit status, what it printed, and its outputs."""
    with tempfile.NamedTemporaryFile("r") as output:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]]
        environment = {"PATH": "/usr/bin:/bin", "GITHUB_OUTPUT": output.name, **environment}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout, dict(line.split("=", 1) for line in output.read().splitlines())


class Workflow(unittest.TestCase):
    def test_scripts_take_what_comes_from_outside_through_their_environment(self):
        for each in steps:
            self.assertNotIn("${{", each.get("run", ""))
            if "run" in each:
                subprocess.run(["bash", "-n", "-c", each["run"]], check=True)

    def test_actions_are_pinned_to_a_commit_with_its_version_beside_it(self):
        used = [line for file in sorted(source.glob(".github/**/*.yml")) for line in file.read_text().splitlines() if re.match(r"\s*(- )?uses:", line)]
        self.assertGreater(len(used), 8)
        for line in used:
            if line.endswith(" github/codeql-action/upload-sarif@v3"):  # whose commit is still to be looked up
                continue
            self.assertRegex(line, r"uses: [\w-]+(/[\w-]+)+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$")

    def test_files_are_attested_before_they_are_published(self):
        uses = [each.get("uses", each.get("name")).partition("@")[0] for each in jobs["release"]["steps"]]
        self.assertEqual(uses, ["actions/download-artifact", "actions/attest-build-provenance", "Publish the files"])
        self.assertEqual(jobs["release"]["permissions"], {"contents": "write", "id-token": "write", "attestations": "write"})
        self.assertEqual(jobs["release"]["steps"][1]["with"], {"subject-path": "packages/*"})

    def test_nothing_is_published_without_an_account(self):
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        for name, job in jobs.items():
            if name in ("build", "release"):  # the latter publishes where the tag is
                continue
            self.assertEqual(job["if"], f"${{{{ needs.build.outputs.{name} == 'true' }}}}")
            self.assertEqual(jobs["build"]["outputs"][name], f"${{{{ steps.accounts.outputs.{name} }}}}")
            self.assertEqual(job["needs"], ["build", "release"])

    def test_accounts_are_those_that_are_set(self):
        status, said, accounts = run("Find accounts", PYPI="", NPM="", CONTAINER="")
        self.assertEqual((status, accounts), (0, {"pypi": "false", "npm": "false", "container": "false"}))
        self.assertIn("::notice title=not published::npm gets nothing, because the secret NPM_TOKEN is not set\n", said)
        status, said, accounts = run("Find accounts", PYPI="true", NPM="a token", CONTAINER="registry/owner/gh-advise")
        self.assertEqual((status, said, accounts), (0, "", {"pypi": "true", "npm": "true", "container": "true"}))
        self.assertEqual(run("Find accounts", PYPI="false", NPM="", CONTAINER="")[2]["pypi"], "false")

    def test_a_pull_request_is_checked_from_where_it_left_its_target_and_else_all_is(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            git = ["git", "-C", name, "-c", "user.name=a", "-c", "user.email=a@example.org"]
            for command in ("init -q -b main", "commit -q --allow-empty -m first", "update-ref refs/remotes/origin/main HEAD", "commit -q --allow-empty -m second"):
                subprocess.run([*git, *command.split()], check=True)
            first = subprocess.run([*git, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True).stdout
            (folder / ".ci").mkdir()
            (folder / ".ci/run").write_text('#!/bin/sh\necho "${BASE-all}"\n')
            (folder / ".ci/run").chmod(0o755)
            step_name = "Run all parts, or those that the pull request can break"
            self.assertEqual(run(step_name, folder, TARGET="main", HOME=name)[:2], (0, first))
            self.assertEqual(run(step_name, folder, TARGET="", HOME=name)[:2], (0, "all\n"))

    def test_the_tag_is_the_version(self):
        version = re.search(r"^project\(gh-advise VERSION ([\d.]+)", (source / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.assertEqual(run("Compare the tag with the version", TAG=f"v{version}")[0], 0)
        status, said, _ = run("Compare the tag with the version", TAG="v99.0.0")
        self.assertEqual(status, 1)
        self.assertIn("::error::the tag is v99.0.0", said)

    def test_the_programs_are_published_before_what_needs_them(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "packages").mkdir()
            for package in ("gh-advise", "gh-advise-linux-arm64", "gh-advise-linux-x64"):
                content = json.dumps({"name": package, "version": "1.0.0"}).encode()
                entry = tarfile.TarInfo("package/package.json")
                entry.size = len(content)
                with tarfile.open(folder / f"packages/{package}-1.0.0.tgz", "w:gz") as archive:
                    archive.addfile(entry, io.BytesIO(content))
            stub = folder / "npm"  # an earlier run has published the first one
            stub.write_text("""#!/bin/sh
                case "$1 $2" in
                  config*) echo https://example.org/npm/ ;;
                  "view gh-advise-linux-arm64@1.0.0") echo 1.0.0 ;;
                  view*) exit 1 ;;
                  *) echo "$*" ;;
                esac""")
            stub.chmod(0o755)
            status, said, _ = run("Publish the programs, then the package that depends on them", folder,
                                  PATH=f"{folder}:/usr/bin:/bin", HOME=name, NPM_TOKEN="secret")
            self.assertEqual(status, 0)
            self.assertEqual(said.splitlines(), [f"publish --access public ./packages/gh-advise-{n}1.0.0.tgz" for n in ("linux-x64-", "")])
            self.assertEqual((folder / ".npmrc").read_text(), "//example.org/npm/:_authToken=${NPM_TOKEN}\n")


if __name__ == "__main__":
    unittest.main()
