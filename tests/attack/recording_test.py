#!/usr/bin/python3
"""Attacks on what `gh-advise record` and `verify` write: recording_test.py PROGRAM FIXTURES

Files of the user's that bear the name of a recording, several recorders at once, links of other users, SIGKILL, and folders whose
names PYTHONPATH cannot hold.
"""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "record"))
import record_test  # noqa: E402
from record_test import ALL, LOOP, NSYS, SMALL, fixtures, until, without_nsys  # noqa: E402

WAITS = SMALL + "steps(4)\nready()\nwhile not os.path.exists(os.environ['READY'] + '.on'): time.sleep(0.01)\nsteps(150)\n"


class Files(record_test.Case):
    """Files that gh-advise did not write."""

    def test_the_users_own_json_stays(self):
        (self.work / "train.json").write_text('{"lr": 0.1}')
        ran = self.record("--force", "--once")
        self.assertEqual(ran.status, 0, ran.err)
        self.assert_left(*ALL, "train.json")
        self.assertEqual((self.work / "train.json").read_text(), '{"lr": 0.1}')

    def test_files_of_others_are_not_replaced(self):
        database = self.folder / "database"
        with sqlite3.connect(database) as users:
            users.execute("CREATE TABLE mine (a)")
        users.close()
        for name, content in (("train.sqlite", database.read_bytes()), ("train.html", b"<!doctype html><title>mine</title>"),
                              ("train.measured.json", b'{"mine": 1}'), ("train.sqlite", b"text")):
            with self.subTest(name):
                (self.work / name).write_bytes(content)
                self.assert_fails(self.record("--force", "--once"), f"{name}: is no recording, so it is not replaced; name another with --output", name)
                self.assertEqual((self.work / name).read_bytes(), content)
                (self.work / name).unlink()
        self.assertEqual(self.starts(), [])

    @without_nsys
    def test_a_trace_does_not_replace_the_users_own_json(self):
        (self.work / "train.json").write_text('[{"lr": 0.1}, 2]')
        self.assert_fails(self.run_it("record", "--force", "--", *self.python(LOOP), FAKE_GPU=1), "train.json: is no recording", "train.json")

    @without_nsys
    def test_a_recording_of_the_other_kind_is_removed(self):
        self.assertEqual(self.run_it("record", "--", *self.python(LOOP), FAKE_GPU=1).status, 0)
        self.assertIn("train.json", self.files())
        self.assertEqual(self.record("--force", "--once").status, 0)
        self.assert_left(*ALL)

    def test_what_belongs_to_a_recording_takes_its_name(self):
        for ending in ("json.gz", "measured.json"):
            with self.subTest(ending):
                (self.work / f"train.{ending}").write_text("mine")
                self.assert_fails(self.record("--once", "--output=train"), "train: a recording of this name exists", f"train.{ending}")
                self.assertEqual(self.record("--once").status, 0)
                self.assert_left(f"train.{ending}", *(file.replace("train", "train-2") for file in ALL))
                for file in self.files():
                    (self.work / file).unlink()

    def test_what_the_program_writes_while_it_runs_stays(self):
        for name, status in (("train.sqlite", 2), ("train.measured.json", 2), ("train.json", 0), ("train.html", 0)):
            with self.subTest(name):
                writes = f"assert not os.path.exists({name!r})\nopen({name!r}, 'w').write('mine')\n"
                ran = self.run_it("record", f"--nsys={NSYS}", "--once", "--", *self.python("import os\n" + writes + LOOP))
                self.assertEqual(ran.status, status, ran.err)
                if status:
                    self.assertIn(f"{name}: the program itself wrote a file of this name", ran.err)
                self.assertEqual((self.work / name).read_text(), "mine")
                for file in self.files():
                    (self.work / file).unlink()


class AtOnce(record_test.Case):
    """Several recorders in one folder."""

    def test_each_has_a_name_and_a_measured_step_of_its_own(self):
        runs = []
        for ms in (2, 4, 8):
            (self.folder / "programs" / str(ms)).mkdir()
            train = self.python(LOOP.replace("0.002", str(ms / 1000)), f"{ms}/train.py")
            runs.append(self.start("record", f"--nsys={NSYS}", "--once", "--", *train, OWN_CLOCK=1))
        for ran in runs:
            self.assertEqual(ran.wait().status, 0, ran.err)
        names = ("train", "train-2", "train-3")
        self.assert_left(*(file.replace("train", name) for name in names for file in ALL))
        steps = [round(self.measured(name)["measured_step_ns"] / 1e6) for name in names]
        self.assertEqual(sorted(steps), [2, 4, 8])
        said = sorted(name for ran in runs for name in names if f"wrote {name}.sqlite" in ran.err)
        self.assertEqual(said, sorted(names))

    def test_one_name_is_given_once(self):
        runs = [self.start("record", f"--nsys={NSYS}", "--once", "--output=mine", "--", *self.python(LOOP)) for _ in range(3)]
        ended = [ran.wait() for ran in runs]
        self.assertEqual(sorted(ran.status for ran in ended), [0, 2, 2])
        for ran in ended:
            if ran.status:
                self.assertIn("mine: a recording of this name exists; --force replaces it", ran.err)
        self.assert_left(*(file.replace("train", "mine") for file in ALL))


class Links(record_test.Case):
    """Links that another user made in a folder that all can write to."""

    def verify(self, ledger):
        return self.run_it("verify", f"--ledger={ledger}", fixtures / "starved.sqlite", fixtures / "fed.sqlite")

    @unittest.skipIf(os.geteuid(), "only root can make links of others")
    def test_a_ledger_does_not_follow_them(self):
        (self.work / "precious").write_text("precious\n")
        for target in ("precious", "new"):
            os.symlink(target, self.work / "ledger")
            os.lchown(self.work / "ledger", 65534, 65534)
            ran = self.verify("ledger")
            self.assertEqual(ran.status, 2)
            self.assertIn(r"ledger: is a link made by another user (65534), so it is not followed", ran.err)
            os.unlink(self.work / "ledger")
        self.assert_left("precious")
        self.assertEqual((self.work / "precious").read_text(), "precious\n")

    def test_a_ledger_follows_the_users_own(self):
        os.symlink("there", self.work / "ledger")
        for _ in range(2):
            self.assertEqual(self.verify("ledger").status, 0)
        self.assertEqual(len([json.loads(line) for line in (self.work / "there").read_text().splitlines()]), 2)
        self.assertTrue((self.work / "ledger").is_symlink())


class Ledgers(record_test.Case):
    """What --ledger names: verify and try append to a ledger only."""

    BEFORE, AFTER = "starved.sqlite", "fed.sqlite"

    def verify(self, ledger, *options):
        return self.run_it("verify", f"--ledger={ledger}", *options, self.BEFORE, self.AFTER)

    def setUp(self):
        super().setUp()
        for report in (self.BEFORE, self.AFTER):
            shutil.copyfile(fixtures / report, self.work / report)

    def test_it_is_no_file_that_is_read(self):
        (self.work / "empty.toml").touch()
        os.symlink(self.AFTER, self.work / "link")
        for file, options in ((self.BEFORE, []), (self.AFTER, []), ("link", []), ("empty.toml", ["--config=empty.toml"])):
            with self.subTest(file):
                content = (self.work / file).read_bytes()
                ran = self.verify(file, *options)
                self.assertEqual((ran.status, ran.out), (2, ""))
                self.assertIn(f"{file}: is a file that is read, so nothing is appended; name another file with --ledger", ran.err)
                self.assertEqual((self.work / file).read_bytes(), content)

    def test_it_is_no_file_of_another_kind(self):
        self.assertEqual(self.verify("ledger").status, 0)
        entry = (self.work / "ledger").read_text()
        recording, other = "is a recording, or belongs to one", "is no ledger, as its last line is no entry of one"
        files = [("um.sqlite", (fixtures / "um.sqlite").read_bytes(), recording), ("run.measured.json", b'{"unit": "step", "measured_step_ns": 1}\n', other)]
        files += [("notes", text.encode(), other) for text in ("notes\n", "{}\n", "\n", entry + "notes\n", entry + entry[:40], entry[:-1], entry + "\0" * 9)]
        for file, content, why in files:
            with self.subTest(file, content=content[-40:]):
                (self.work / file).write_bytes(content)
                ran = self.verify(file)
                self.assertEqual((ran.status, ran.out), (2, ""))
                self.assertRegex(ran.err, f"{file}: {why}, so nothing is appended")
                self.assertEqual((self.work / file).read_bytes(), content)
                ran = self.run_it("try", f"--ledger={file}", "--no-recording", "--fix=loader-workers", "--rounds=1", "--", *self.python(LOOP))
                self.assertEqual((ran.status, self.starts()), (2, []), ran.err)
                self.assertEqual((self.work / file).read_bytes(), content)

    def test_it_grows(self):
        (self.work / "ledger").touch()
        for count in (1, 2, 3):
            self.assertEqual(self.verify("ledger").status, 0)
            self.assertEqual(len((self.work / "ledger").read_text().splitlines()), count)


class Killed(record_test.Case):
    """SIGKILL, which leaves gh-advise no time."""

    def hidden(self):
        return [name for name in os.listdir(self.work) if name.startswith(".gh-advise-")]

    def started(self, *options, source=WAITS, **how):
        ran = self.start("record", f"--nsys={NSYS}", "--once", *options, "--", *self.python(source), **how)
        until(self.ready.exists, "the program's start")
        self.ready.unlink()
        return ran

    def test_the_program_ends_and_nothing_is_left(self):
        leaves = SMALL + "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'], start_new_session=True)\nready()\ntime.sleep(1000)"
        for words in ([], ["--delay=1s"]):
            with self.subTest(words):
                ran = self.started(*words, source=leaves)
                os.kill(ran.process.pid, signal.SIGKILL)
                self.assertEqual(ran.wait().status, -signal.SIGKILL)
                until(lambda: not self.processes() and not self.files(), "the end of what was started")
        self.assertEqual(os.listdir(self.folder / "tmp"), [])

    def test_try_leaves_nothing_either(self):
        ran = self.start("try", "--no-recording", "--", *self.python(WAITS))
        until(self.ready.exists, "the program's start")
        os.kill(ran.process.pid, signal.SIGKILL)
        ran.wait()
        until(lambda: not self.processes() and not os.listdir(self.folder / "tmp"), "the end of what was started")

    def test_what_follows_the_programs_end_leaves_nothing_either(self):
        ran = self.start("record", f"--nsys={NSYS}", "--once", "--", *self.python(LOOP), NSYS_FAILS="export-hangs")
        until(lambda: (self.folder / "nsys.log").exists() and "export" in self.nsys_log(), "the export")
        (folder,) = self.hidden()
        self.assertTrue((self.work / folder / "report.nsys-rep").exists())
        os.kill(ran.process.pid, signal.SIGKILL)
        ran.wait()
        until(lambda: not self.processes() and not self.files(), "the end of what was started")

    def test_a_name_that_a_killed_recorder_took_is_free(self):
        ran = self.started("--output=mine")
        self.assertIn(".mine.gh-advise", os.listdir(self.work))
        os.killpg(ran.process.pid, signal.SIGKILL)
        ran.wait()
        self.end_all()
        again = self.record("--once", "--output=mine")
        self.assertEqual(again.status, 0, again.err)
        self.assertNotIn(".mine.gh-advise", os.listdir(self.work))

    def test_a_recording_that_is_whole_stays(self):
        ran = self.started(source=LOOP + "while not [f for f in os.listdir('.') if f.endswith('.html')]: time.sleep(0.01)\nready()\ntime.sleep(1000)", NSYS_EARLY=1, OWN_CLOCK=1)
        os.kill(ran.process.pid, signal.SIGKILL)
        ran.wait()
        until(lambda: not self.processes() and not self.hidden(), "the end of what was started")
        self.assert_left(*ALL)
        self.assertIn(record_test.SAID, self.text_of("train.sqlite"))

    def test_the_next_recording_removes_what_is_left_but_nothing_that_is_used(self):
        dead = self.started("--output=dead")
        os.killpg(dead.process.pid, signal.SIGKILL)
        dead.wait()
        self.end_all()
        (left,) = self.hidden()
        live = self.started("--output=live")
        (used,) = self.hidden()
        self.assertNotEqual(used, left)
        (self.work / "of another user").mkdir()
        own, others = (self.work / (used[:-6] + name) for name in ("my-own", "others"))
        own.mkdir(mode=0o700)
        others.mkdir()
        if not os.geteuid():
            os.chown(others, 65534, 65534)
            os.chmod(others, (self.work / used).stat().st_mode & 0o7777)
        self.assertEqual(self.record("--once", "--output=other").status, 0)
        self.assertTrue(own.exists() and others.exists())
        self.assertIn(used, self.hidden())
        self.assertNotIn(left, self.hidden())
        pathlib.Path(f"{self.ready}.on").touch()
        self.assertEqual(live.wait().status, 0, live.err)
        self.assertIn("wrote live.sqlite", live.err)

    def watched(self, *words, **how):
        """A start in which the program is watched and not recorded."""
        return self.start("record", "--ranks=0", "--", *words, SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4, **how)

    def test_signals_to_all_are_for_the_program(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGQUIT, signal.SIGXCPU):
            with self.subTest(number):
                handles = "def handle(number, frame): sys.exit(number)\nassert signal.signal(N, handle) == signal.SIG_DFL\nready()\ntime.sleep(1000)"
                ran = self.watched(*self.python(record_test.BEGIN + handles.replace("N", str(int(number)))))
                until(self.ready.exists, "the program's start")
                self.ready.unlink()
                os.killpg(ran.process.pid, number)
                self.assertEqual(ran.wait().status, number, ran.err)

    # Saves when the first signal comes, gives up when a second one does; and when a worker was killed by one, as PyTorch's loader does.
    SAVES = record_test.BEGIN + '''
def second(number, frame): os._exit(9)
def first(number, frame):
    signal.signal(signal.SIGTERM, second)
    saved_at = time.monotonic() + 1.5
    while time.monotonic() < saved_at: time.sleep(0.05)
    open(os.environ['LEAVES'], 'w').write('saved')
    sys.exit(5)
def child(number, frame):
    if os.WIFSIGNALED(os.waitpid(worker, 0)[1]): os._exit(8)
worker = os.fork()
if worker == 0:
    time.sleep(1000)
signal.signal(signal.SIGCHLD, child)
signal.signal(signal.SIGTERM, first)
ready()
time.sleep(1000)
'''

    def test_a_program_that_is_told_to_end_is_told_once(self):
        alone = self.SAVES.replace("worker = os.fork()", "worker = -1")  # a group's workers get it as well
        one, group = os.kill, os.killpg
        shell = ["sh", "-c", '"$@"; true', "sh"]
        passes_on = ["sh", "-c", '"$@" & trap "kill -TERM $!; wait $!" TERM; wait', "sh"]
        longer = alone.replace("+ 1.5", "+ 11")  # than gh-advise waits for what a program leaves running
        for told, source, before in (((one,), self.SAVES, []), ((one,), alone, []), ((group,), alone, []), ((one, group), alone, []),  # as `timeout`
                                     ((one,), longer, shell), ((one,), alone, passes_on), ((group,), alone, ["setsid"])):
            with self.subTest(told, before=before):
                ran = self.watched(*before, *self.python(source), LEAVES=self.work / "left")
                until(self.ready.exists, "the program's start")
                self.ready.unlink()
                for tell in told:
                    tell(ran.process.pid, signal.SIGTERM)
                self.assertEqual(ran.wait().status, -signal.SIGTERM, ran.err)
                self.assertEqual((self.work / "left").read_text(), "saved")
                (self.work / "left").unlink()

    # Starts what follows with some signals ignored or blocked.
    CHANGED = ("python3", "-c", "import os, signal, sys\nfor number in map(int, sys.argv[1].split()): signal.signal(number, signal.SIG_IGN)\n"
               "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\nos.execvp(sys.argv[2], sys.argv[2:])")

    def test_the_program_finds_signals_as_gh_advise_did(self):
        for ignored in ("", "1 2 13 25", "10 14"):  # Python itself ignores 13 and 25, SIGPIPE and SIGXFSZ
            with self.subTest(ignored):
                before, words = (*self.CHANGED, ignored), ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
                plain = subprocess.run([*before, *words], capture_output=True, text=True, check=True).stdout
                ran = self.watched(*words, before=before).wait()
                own_of_libc = 3 << 31
                found = [[int(line.split()[1], 16) & ~own_of_libc for line in text.splitlines()] for text in (plain, ran.out)]
                self.assertEqual(*found)

    def test_a_parent_that_ignores_the_end_of_children(self):
        ran = self.record("--once", before=(*self.CHANGED, str(int(signal.SIGCHLD))))
        self.assertEqual(ran.status, 0, ran.err)
        self.assert_left(*ALL)

    def test_the_programs_signals_and_status_are_its_own(self):
        for end, status in (("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGSEGV)", 139), ("os.kill(os.getppid(), 0); sys.exit(5)", 5)):
            with self.subTest(end):
                ran = self.run_it("record", f"--nsys={NSYS}", "--ranks=0", "--", *self.python("import os, signal, sys\n" + end), SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4)
                self.assertEqual(ran.status, status, ran.err)


class Colons(record_test.Case):
    """Folders with a ':', which separates the paths of PYTHONPATH."""

    WORDS = LOOP + "print([p for p in sys.path if 'gh-advise-' in p.rsplit('/', 1)[-1] or not p.startswith('/')])\n"

    def setUp(self):
        super().setUp()
        self.work = self.work / "a:b"
        self.work.mkdir()

    def test_the_program_is_watched(self):
        ran = self.record("--once", source=self.WORDS)
        self.assertEqual(ran.status, 0, ran.err)
        self.assertTrue(ran.out.startswith("begin\nend\n[]\n"), ran.out)
        self.assert_left(*ALL)

    def test_if_there_is_no_other_folder_it_says_so(self):
        (self.folder / "c:d").mkdir()
        ran = self.record("--once", source=self.WORDS, TMPDIR=self.folder / "c:d")
        self.assert_fails(ran, "c:d: has a ':', so Python cannot look there for what watches the program; set TMPDIR")
        self.assertEqual(self.starts(), [])


if __name__ == "__main__":
    record_test.main(sys.modules[__name__])
