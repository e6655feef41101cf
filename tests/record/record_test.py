#!/usr/bin/python3
"""Tests `gh-advise record`, `try`, `verify` and `calibration`: record_test.py PROGRAM FIXTURES

Programs run on the CPU, under stubs of Nsight Systems (nsys) and Slurm (srun). Most use a PyTorch
that is just large enough to be watched (small/torch), the others the real one.
"""
import fcntl
import glob
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import textwrap
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import jsonschema

program, fixtures = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
here = pathlib.Path(__file__).resolve().parent
NSYS = here / "nsys"
STARVED = fixtures / "starved.sqlite"  # the data loader is what to fix
FP32 = fixtures / "fp32.sqlite"  # TF32 is
REPORT = fixtures / "um-stencil-device.sqlite"  # a small one, and what the advice on it says
SAID = "cudaDeviceSynchronize drains the GPU once an iteration."
TRACE = fixtures / "starved.pt.trace.json"
MOST_WAIT_S = 90  # for anything


def schema_of(name):
    return json.loads((here.parents[1] / f"schemas/{name}.schema.json").read_text(encoding="utf-8"))


# Where the program looks for nsys by itself. A machine that has one cannot show what happens without.
REAL_NSYS = [found for place in ("/usr/local/cuda*/bin/nsys", "/opt/nvidia/nsight-*", "/usr/local/cuda*/nsight-systems-*")
             for found in glob.glob(place)] + [place for place in ("/usr/bin/nsys", "/bin/nsys") if os.path.exists(place)]
needs_torch = unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is missing: apt-get install python3-torch")
without_nsys = unittest.skipIf(REAL_NSYS, "there is an nsys on this machine")

# What programs begin with. `alone`: whether this is a start without nsys.
BEGIN = """
import os, signal, subprocess, sys, time
alone = "NSYS_PROFILING_SESSION_ID" not in os.environ
with open(os.environ["STARTS"], "a") as file: file.write("alone\\n" if alone else "nsys\\n")
def ready():
    open(os.environ["READY"], "w").close()
"""
SMALL = BEGIN + """
import torch
optimizer = torch.optim.SGD()
def steps(count):
    for _ in range(count):
        time.sleep(0.002)
        optimizer.step()
"""
ENDLESS = 10**9
LOOP = SMALL + "print('begin', flush=True)\nsteps(150)\nprint('end')\n"

# A program whose loader takes as long as all else; its losses are the same each time.
LOADING = BEGIN + """
import torch
class Data:
    seconds = 0.02
    forbids_workers = "forbids" in sys.argv
loader = torch.utils.data.DataLoader(Data())
optimizer = torch.optim.SGD()
for step, _ in enumerate(loader):
    torch.Loss(LOSS).backward()
    time.sleep(0.001)
    optimizer.step()
"""

# The same with the real PyTorch.
REAL = BEGIN + """
import torch
from torch import nn
torch.manual_seed(0)
class Data(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i):
        time.sleep(SECONDS)
        return torch.full((32,), i % 7 / 7.0), i % 10
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
loader = torch.utils.data.DataLoader(Data(), batch_size=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
print("begin", flush=True)
for step, (x, y) in enumerate(loader):
    if step == STEPS: break
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(2 * SECONDS)
print("end")
"""


def real(seconds, steps):
    return REAL.replace("SECONDS", str(seconds)).replace("STEPS", str(steps))


def until(happens, what):
    """Waits until something happens."""
    last = time.monotonic() + MOST_WAIT_S
    while not happens():
        if time.monotonic() > last:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.02)


class Ran:
    """A run of gh-advise."""

    def __init__(self, process, out, err):
        self.process, self._out, self._err = process, out, err

    def wait(self):
        try:
            self.process.wait(MOST_WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.status = self.process.returncode
        self.out, self.err = (path.read_text(encoding="utf-8") for path in (self._out, self._err))
        return self


class Case(unittest.TestCase):
    """A folder to work in, and the programs that run there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gh-advise-record-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.end_all)
        self.folder = pathlib.Path(folder.name).resolve()
        for name in ("work", "tmp", "programs"):
            (self.folder / name).mkdir()
        self.work, self.ready = self.folder / "work", self.folder / "ready"
        self.runs = 0

    def file(self, source, name="train.py"):
        """A program's file."""
        path = self.folder / "programs" / name
        path.write_text(source, encoding="utf-8")
        return str(path)

    def python(self, source, name="train.py"):
        return ["python3", "-B", self.file(source, name)]

    def environment(self, torch, more):
        around = {name: value for name, value in os.environ.items()
                  if not name.startswith(("SLURM_", "PMI_", "OMPI_", "GH_ADVISE", "NSYS_"))}
        own = {"PATH": "/usr/bin:/bin", "TMPDIR": str(self.folder / "tmp"), "REPORT": str(REPORT), "TRACE": str(TRACE),
               "STARTS": str(self.folder / "starts"), "READY": str(self.ready), "NSYS_LOG": str(self.folder / "nsys.log")}
        if torch == "small":
            own["PYTHONPATH"] = str(here / "small")
        return {**around, **own, **{name: str(value) for name, value in more.items()}}

    def start(self, *words, torch="small", cwd=None, before=(), terminal=None, **environment):
        """Starts gh-advise with these words; `before`: words before it; `terminal`: its own one."""
        self.runs += 1
        out, err = (self.folder / f"{name}{self.runs}" for name in ("out", "err"))
        with open(out, "wb") as to_out, open(err, "wb") as to_err:
            process = subprocess.Popen([*before, str(program), *map(str, words)], stdin=terminal or subprocess.DEVNULL,
                                       stdout=to_out, stderr=to_err, cwd=cwd or self.work, env=self.environment(torch, environment),
                                       start_new_session=True,
                                       preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if terminal else None)
        return Ran(process, out, err)

    def run_it(self, *words, **how):
        return self.start(*words, **how).wait()

    def record(self, *options, source=LOOP, **how):
        return self.run_it("record", f"--nsys={NSYS}", *options, "--", *self.python(source), **how)

    def starts(self):
        """How the program was started each time."""
        path = self.folder / "starts"
        return path.read_text().split() if path.exists() else []

    def nsys_log(self):
        return (self.folder / "nsys.log").read_text()

    def files(self):
        return sorted(os.listdir(self.work))

    def processes(self):
        """Those that were started for this test and still run."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                marks = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(self.folder).encode() in marks and state not in "ZX":
                found.append(int(folder.name))
        return found

    def end_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def assert_left(self, *files):
        """Only these files are left, and no process, at once."""
        self.assertEqual(self.processes(), [])
        self.assertEqual(self.files(), sorted(files))
        # Workers of PyTorch's loaders leave theirs if they are ended.
        self.assertEqual([name for name in os.listdir(self.folder / "tmp") if not name.startswith("pymp-")], [])

    def assert_fails(self, ran, message, *files):
        """It failed with a message, of one line, and left only these files."""
        self.assertEqual(ran.status, 2, ran.err)
        last = ran.err.splitlines()[-1]
        self.assertTrue(last.startswith("gh-advise: "), ran.err)
        self.assertRegex(last, message)
        self.assertNotIn("gh-advise: note", last)
        self.assert_left(*files)

    def text_of(self, *reports):
        """The advice on reports, as `gh-advise` prints it."""
        return self.run_it("check", *reports).out

    def assert_output(self, ran, own, *reports):
        """The program's own output is there, and the advice on reports, as on any others."""
        text = self.text_of(*reports)
        self.assertEqual(ran.out.count(text), 1, ran.out)
        self.assertEqual(ran.out.replace(text, ""), own)

    def measured(self, name="train"):
        value = json.loads((self.work / f"{name}.measured.json").read_text())
        jsonschema.validate(value, schema_of("measured"))
        return value


ALL = ("train.html", "train.measured.json", "train.sqlite")


class Recording(Case):
    """gh-advise record, where all goes well."""

    @needs_torch
    def test_a_program_is_recorded_then_timed_without_nsys_and_advised_on(self):
        ran = self.record(source=real(0, 150), torch="real")
        self.assertEqual((ran.status, self.starts()), (0, ["nsys", "alone"]))
        self.assert_left(*ALL)
        self.assert_output(ran, "begin\nend\n" * 2, "train.sqlite")
        self.run_it("check", "train.sqlite", f"--output=html={self.folder / 'page.html'}")
        self.assertEqual((self.work / "train.html").read_bytes(), (self.folder / "page.html").read_bytes())
        measured = self.measured()
        self.assertEqual(measured["unit"], "step")
        self.assertGreaterEqual(measured["samples"], 20)
        self.assertIn("recorded_step_ns", measured)
        self.assertIn("note: recorded 10 optimizer steps\n", ran.err)
        self.assertIn(f"note: timed {measured['samples']} optimizer steps without the profiler", ran.err)
        self.assertIn("note: wrote train.sqlite and train.html", ran.err)

    def test_a_measured_step_is_what_the_program_takes(self):
        ran = self.record(source=LOOP.replace("0.002", "0.01"))
        self.assertEqual(ran.status, 0, ran.err)
        # A step sleeps for 10 ms, and does next to nothing else.
        self.assertGreaterEqual(self.measured()["measured_step_ns"], 10_000_000)
        self.assertGreaterEqual(self.measured()["recorded_step_ns"], 10_000_000)

    def test_a_program_whose_loss_is_no_number_is_timed_too(self):
        source = LOOP.replace("        optimizer.step()", "        torch.Loss('nan').backward()\n        optimizer.step()")
        ran = self.record(source=source)
        self.assertEqual(ran.status, 0, ran.err)
        self.assert_left(*ALL)

    def test_once_starts_it_once_and_times_it_while_nsys_is_attached(self):
        ran = self.record("--once")
        self.assertEqual((ran.status, self.starts()), (0, ["nsys"]))
        self.assert_left(*ALL)
        self.assert_output(ran, "begin\nend\n", "train.sqlite")
        self.assertIn("steps while nsys was attached", ran.err)
        self.measured()

    def test_stop_ends_the_program_once_it_is_recorded_and_timed(self):
        ran = self.record("--stop", source=SMALL + f"steps({ENDLESS})", NSYS_EARLY=1)
        self.assertEqual((ran.status, self.starts()), (0, ["nsys", "alone"]))
        self.assert_left(*ALL)
        self.assert_output(ran, "", "train.sqlite")
        self.measured()

    def test_stop_and_once_end_the_only_start(self):
        ran = self.record("--stop", "--once", source=SMALL + f"steps({ENDLESS})", NSYS_EARLY=1)
        self.assertEqual((ran.status, self.starts()), (0, ["nsys"]))
        self.assert_left(*ALL)
        self.assertIn("ending the program, as --stop says", ran.err)

    def test_the_first_start_ends_early_and_the_second_goes_to_its_end(self):
        ran = self.record(source=SMALL + f"steps(200 if alone else {ENDLESS})\nprint('end')", NSYS_EARLY=1)
        self.assertEqual((ran.status, self.starts()), (0, ["nsys", "alone"]))
        self.assert_left(*ALL)
        self.assertEqual(ran.out.count("end\n"), 1)

    def test_nsys_is_left_to_end_by_itself(self):
        place = self.folder / "nsys-place"
        place.mkdir()
        shutil.copy(os.path.realpath("/bin/sh"), place / "nsys-sh")
        own = place / "nsys"
        own.write_text(NSYS.read_text().replace("#!/bin/sh", f"#!{place}/nsys-sh"))
        own.chmod(0o755)
        ran = self.run_it("record", f"--nsys={own}", "--once", "--stop", "--", *self.python(SMALL + f"steps({ENDLESS})"), NSYS_EARLY=1)
        self.assertEqual(ran.status, 0, ran.err)
        self.assertIn("ended by itself", self.nsys_log())
        self.assertNotIn("told to end", self.nsys_log())
        self.assert_left(*ALL)

    def test_nsys_is_asked_for_what_the_options_say(self):
        self.record("--once")
        for word in ("--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--cuda-graph-trace=node", "--sample=none"):
            self.assertIn(word, self.nsys_log())
        for word in ("--gpu-metrics-devices", "--cuda-memory-usage", "--python-backtrace"):
            self.assertNotIn(word, self.nsys_log())
        (self.folder / "nsys.log").unlink()
        self.record("--once", "--metrics", "--stacks", "--memory")
        for word in ("--gpu-metrics-devices=all", "--cuda-memory-usage=true", "--python-backtrace=cuda", "--sample=process-tree"):
            self.assertIn(word, self.nsys_log())

    MODULES = SMALL + textwrap.dedent("""
        class Net(torch.nn.Module):
            def forward(self):
                if not alone: print("within")
        net = Net()
        for _ in range(150):
            time.sleep(0.002)
            net()
            optimizer.step()
    """)

    def test_layers_are_modules_and_operators_of_the_units_that_are_recorded(self):
        ran = self.record("--layers", "--units=3", source=self.MODULES, FAKE_GPU=1)
        self.assertEqual((ran.status, self.starts()), (0, ["nsys", "alone"]), ran.err)
        marked = "<Net>\nwithin\n</>\n"
        self.assertIn(f"within\noperators, shapes=True\n{3 * marked}no operators any more\nwithin\n", ran.out)
        self.assertEqual(ran.out.count("<Net>"), 3)
        (self.folder / "starts").unlink()
        ran = self.record("--once", "--force", source=self.MODULES, FAKE_GPU=1)
        self.assertNotIn("<Net>", ran.out)
        self.assertNotIn("operators, ", ran.out)

    @without_nsys
    def test_without_nsys_pytorchs_profiler_marks_modules(self):
        source = self.MODULES.replace("net = Net()", """
marked = []
torch.profiler.record_function.__init__ = lambda self, name: marked.append(name)
net = Net()""") + "print(marked)\n"
        for options, names in (((), []), (("--layers", "--force"), ["Net"])):
            ran = self.run_it("record", *options, "--units=3", "--", *self.python(source), FAKE_GPU=1)
            self.assertEqual(ran.status, 0, ran.err)
            self.assertIn(str([name for n in (1, 2, 3) for name in (f"ProfilerStep#{n}", *names, "optimizer")]), ran.out)

    def test_layers_of_what_has_no_units_are_refused(self):
        self.assert_fails(self.record("--layers", "--delay=1s"), "--layers: modules are marked while units are recorded, and --delay gives a time")
        self.assert_fails(self.run_it("record", f"--nsys={NSYS}", "--layers", "--", "/bin/true"),
                          "--layers: marks the modules of PyTorch, and this program is not Python")
        self.assertEqual(self.starts(), [])

    def test_few_units_are_enough_if_delay_and_units_say_so(self):
        short = SMALL + "steps(7)"
        self.assert_fails(self.record("--once", source=short), "ended after 6 optimizer steps, too early to record 10; --delay 2 --units 3")
        ran = self.record("--delay=2", "--units=3", source=short)
        self.assertEqual(ran.status, 0, ran.err)
        self.assertIn("recorded 3 optimizer steps", ran.err)
        self.assertIn("it could not be timed without nsys: it ended too early", ran.err)
        self.assert_left("train.html", "train.sqlite")  # too few to time

    def test_nothing_of_the_environment_is_left(self):
        secret = "correct-horse-battery-staple"
        ran = self.record("--once", "--keep-nsys-rep", SECRET=secret, PLAIN="a-value-of-mine")
        self.assertEqual(ran.status, 0, ran.err)
        self.assert_left(*ALL, "train.nsys-rep")
        self.assertIn(secret.encode(), (self.work / "train.nsys-rep").read_bytes())  # nsys itself keeps it
        for name in ALL:
            for text in (secret, "a-value-of-mine", "PLAIN="):
                self.assertNotIn(text.encode(), (self.work / name).read_bytes(), name)

    def test_nsys_own_report_is_kept_only_if_asked_for(self):
        self.record("--once")
        self.assert_left(*ALL)

    def test_the_program_gets_its_arguments_as_they_are(self):
        words = ["a b", "", "--", "--x=", "-h", "check", "%q{HOME}", "'q'", '"q"', "{a}", "[1,2]", "[]", "x=[a,b]"]
        source = BEGIN + "import json; print(json.dumps(sys.argv[1:]))"
        ran = self.run_it("record", f"--nsys={NSYS}", "--delay=1s", "--", *self.python(source), *words)
        self.assertEqual(json.loads(ran.out.splitlines()[0]), words)

    def test_a_script_that_a_shell_starts_is_watched(self):
        train = " ".join(self.python(LOOP))
        for shell in (["bash"], ["sh"], []):
            with self.subTest(shell):
                script = self.file(f"#!/bin/sh\n{train}\n", "run.sh")
                os.chmod(script, 0o755)
                ran = self.run_it("record", f"--nsys={NSYS}", "--once", "--output=out", "--force", "--", *shell, script)
                self.assertIn("optimizer steps while nsys was attached", ran.err)

    def test_any_other_program_is_recorded_by_time(self):
        ran = self.run_it("record", f"--nsys={NSYS}", "--delay=1s", "--length=500ms", "--", "sh", "-c", "echo mine")
        self.assertEqual(ran.status, 0, ran.err)
        self.assert_left("sh.html", "sh.sqlite")
        self.assert_output(ran, "mine\n", "sh.sqlite")
        for word in ("--delay=1 ", "--duration=0.5 ", "--kill=none"):
            self.assertIn(word, self.nsys_log())
        self.assertNotIn("--capture-range", self.nsys_log())

    def test_a_python_program_is_recorded_by_time_if_asked_for(self):
        ran = self.record("--delay=1s", source=BEGIN + "print('mine')")
        self.assertEqual((ran.status, self.starts()), (0, ["nsys"]))
        self.assertIn("--duration=5 ", self.nsys_log())
        self.assert_left("train.html", "train.sqlite")

    @without_nsys
    def test_without_nsys_pytorchs_profiler_records_and_the_program_starts_once(self):
        ran = self.run_it("record", "--", *self.python(LOOP), FAKE_GPU=1)
        self.assertEqual((ran.status, self.starts()), (0, ["alone"]), ran.err)
        self.assert_left("train.html", "train.json", "train.measured.json")
        self.assert_output(ran, "begin\nend\n", "train.json")
        self.assertIn("steps without the profiler", ran.err)
        self.measured()

    @without_nsys
    @needs_torch
    def test_a_program_that_computes_on_the_cpu_is_not_recorded(self):
        ran = self.run_it("record", "--", *self.python(real(0, 150)), torch="real")
        self.assert_fails(ran, "the program computes on the CPU: torch.cuda.is_available")
        self.assertEqual((ran.out, self.starts()), ("begin\nend\n", ["alone"]))


class Names(Case):
    """Where recordings go."""

    def by_time(self, *options, words=("true",), **how):
        return self.run_it("record", f"--nsys={NSYS}", "--delay=1s", *options, "--", *words, **how)

    def test_it_is_the_programs_with_a_number_if_that_exists(self):
        for name in ("true", "true-2", "true-3"):
            self.assertIn(f"wrote {name}.sqlite and {name}.html", self.by_time().err)
        self.assert_left(*(name + end for name in ("true", "true-2", "true-3") for end in (".html", ".sqlite")))

    def test_it_is_that_of_the_script_or_module(self):
        (self.folder / "programs/package").mkdir()
        self.file("", "package/module.py")
        for words, name in ((["python3", "-B", self.file("", "my train.v2.py"), "--data", "x.py"], "my train.v2"),
                            (["python3", "-B", "-m", "package.module"], "module"), (["/bin/true"], "true")):
            ran = self.by_time(words=words, PYTHONPATH=self.folder / "programs")
            self.assertEqual(ran.status, 0, ran.err)
            self.assertIn(f"wrote {name}.sqlite and {name}.html", ran.err)

    def test_one_that_exists_is_replaced_only_with_force(self):
        self.by_time("--output=mine")
        page = self.work / "mine.html"
        old = page.read_text() + "old"
        page.write_text(old)
        ran = self.by_time("--output=mine")
        self.assert_fails(ran, "mine: a recording of this name exists; --force replaces it", "mine.html", "mine.sqlite")
        self.assertEqual(page.read_text(), old)
        self.assertEqual(self.by_time("--output=mine", "--force").status, 0)
        self.assertNotEqual(page.read_text(), old)

    def test_a_report_of_any_kind_counts_as_one_that_exists(self):
        for end in (".json", ".nsys-rep", ".html", ".sqlite"):
            with self.subTest(end):
                (self.work / ("mine" + end)).write_text("old")
                self.assertIn("exists", self.by_time("--output=mine").err)
                (self.work / ("mine" + end)).unlink()

    def test_a_recording_that_fails_leaves_the_old_one(self):
        self.by_time("--output=mine")
        old = (self.work / "mine.sqlite").read_bytes()
        self.assert_fails(self.by_time("--output=mine", "--force", NSYS_FAILS="export"), "No space left", "mine.html", "mine.sqlite")
        self.assertEqual((self.work / "mine.sqlite").read_bytes(), old)

    def test_what_was_measured_before_is_not_taken_for_the_new_recordings(self):
        self.record("--output=mine")
        self.assertIn("mine.measured.json", self.files())
        self.by_time("--output=mine", "--force")
        self.assert_left("mine.html", "mine.sqlite")

    def test_it_may_be_in_another_folder_and_have_spaces(self):
        (self.work / "a b").mkdir()
        ran = self.record("--output=a b/c d")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual(sorted(os.listdir(self.work / "a b")), ["c d.html", "c d.measured.json", "c d.sqlite"])
        self.assert_left("a b")

    def test_a_folder_is_no_name(self):
        (self.work / "results").mkdir()
        ran = self.by_time("--output=results/")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual(sorted(os.listdir(self.work / "results")), ["true.html", "true.sqlite"])

    def test_an_ending_is_not_doubled(self):
        self.by_time("--output=mine.sqlite")
        self.assert_left("mine.html", "mine.sqlite")

    def test_a_folder_that_cannot_be_written_to_is_told_before_the_program_starts(self):
        self.assert_fails(self.record("--output=missing/run"), "missing: cannot create a folder there")
        self.assert_fails(self.record("--output=/proc/run"), "/proc: cannot create a folder there")
        self.assertEqual(self.starts(), [])


class Values(Case):
    """Values that options cannot have."""

    def test_each_is_told_before_the_program_starts(self):
        for option, message in (("--delay=x", "--delay x: give a time above 0 with its unit, as in 30s"),
                                ("--delay=-3", "--delay -3: give a time"),
                                ("--delay=1.5", "--delay 1.5: give a time"),
                                ("--delay=99999999", "--delay 99999999: is more than 1000000 units"),
                                ("--delay=99999999999999999999", "is more than 1000000 units"),
                                ("--length=5", "--length 5: give a time above 0 with its unit"),
                                ("--length=0s", "--length 0s: give a time above 0"),
                                ("--limit=never", "--limit never: give a time above 0"),
                                ("--limit=-1s", "--limit -1s: give a time above 0"),
                                ("--ranks=0", "--ranks: is for programs that srun or mpirun starts"),
                                ("--select=nonsense", "no rule or category 'nonsense'"),
                                ("--outptu=x", "record has no option '--outptu' (did you mean '--output'?)")):
            with self.subTest(option):
                ran, starts = self.record(option), self.starts()
                for path in (self.folder / "starts", *self.work.iterdir()):
                    path.unlink(missing_ok=True)
                self.assert_fails(ran, re.escape(message))
                self.assertEqual(starts, [])

    def test_an_nsys_that_cannot_be_run_is_told_before_the_program_starts(self):
        train = self.python(LOOP)
        for nsys in ("/missing/nsys", "missing-nsys", train[-1]):
            self.assert_fails(self.run_it("record", f"--nsys={nsys}", "--", *train), f"--nsys {nsys}: is no program that can be run")
        self.assertEqual(self.starts(), [])

    def test_numbers_that_options_cannot_have_are_named(self):
        for command, option in (("record", "--units=0"), ("record", "--units=x"), ("record", "--units=10001"), ("try", "--rounds=0")):
            with self.subTest(option):
                ran = self.run_it(command, option, "--", *self.python(LOOP))
                self.assert_fails(ran, option.split("=")[0])
                self.assertNotIn("'--'", ran.err)
        self.assertEqual(self.starts(), [])

    def test_a_program_is_needed(self):
        self.assert_fails(self.run_it("record"), "name the program: gh-advise record -- python train.py")
        self.assert_fails(self.run_it("record", "--once", "--"), "name the program: gh-advise record -- python train.py")

    @without_nsys
    def test_without_nsys_only_pytorch_can_be_recorded(self):
        self.assert_fails(self.run_it("record", "--", "/bin/true"), "nsys was found neither on the PATH.*--nsys")
        self.assert_fails(self.run_it("record", "--delay=1s", "--", *self.python(LOOP)), "nsys was found neither")
        self.assert_fails(self.run_it("record", "--metrics", "--", *self.python(LOOP)), "--metrics: needs nsys")
        self.assertEqual(self.starts(), [])


class Failures(Case):
    """Programs that fail, and machines."""

    def test_a_program_that_crashes_before_it_is_recorded(self):
        ran = self.record(source=SMALL + "sys.exit(3)")
        self.assert_fails(ran, "the program ended with status 3; no optimizer step.* was seen, see its own messages above")
        ran = self.record(source=SMALL + "steps(3)\nos.kill(os.getpid(), signal.SIGKILL)")
        self.assert_fails(ran, "the program ended with status 137")
        self.assertEqual((ran.out, self.starts()), ("", ["nsys"] * 2))

    def test_a_program_that_crashes_after_it_was_timed_is_advised_on(self):
        ran = self.record(source=LOOP + "sys.exit(3)")
        self.assert_fails(ran, "the program ended with status 3, after it was recorded", *ALL)
        self.assert_output(ran, "begin\nend\n" * 2, "train.sqlite")

    def test_a_program_that_crashes_when_it_starts_again_is_advised_on(self):
        ran = self.record(source=LOOP.replace("steps(150)", "steps(150)\nif alone: sys.exit(4)").replace("150", "4 if alone else 150", 1))
        self.assertIn("note: it could not be timed without nsys: it ended with status 4", ran.err)
        self.assert_fails(ran, "ended with status 4", "train.html", "train.sqlite")
        self.assertIn(SAID, ran.out)

    def test_a_program_that_cannot_be_started(self):
        text = self.file("no program", "text.py")
        for words, how in ((["./missing"], [f"--nsys={NSYS}"]), (["missing-program"], [f"--nsys={NSYS}", "--delay=1s"]),
                           ([text], [f"--nsys={NSYS}"])):
            with self.subTest(words):
                self.assert_fails(self.run_it("record", *how, "--", *words), re.escape(words[0]) + ".*(cannot be run|no program)")

    @without_nsys
    def test_a_program_that_cannot_be_started_without_nsys(self):
        self.assert_fails(self.run_it("record", "--", "./missing.py"), re.escape("./missing.py: is no program that can be run"))

    def test_a_program_that_hangs_is_ended_by_the_limit(self):
        ran = self.record("--limit=1s", source=SMALL + "steps(3)\ntime.sleep(1000)")
        self.assert_fails(ran, "the program was ended after (1 s|1000 ms), as --limit says; [12] optimizer steps? had passed")

    def test_a_program_that_hangs_after_it_was_timed_is_ended_by_the_limit_and_advised_on(self):
        ran = self.record("--limit=5s", source=SMALL + "steps(150)\nif alone: time.sleep(1000)")
        self.assert_left(*ALL)
        self.assertEqual(ran.status, 2)
        self.assertIn("--limit", ran.err)
        self.assert_output(ran, "", "train.sqlite")

    def test_a_program_without_a_unit(self):
        self.assert_fails(self.record(source=SMALL), "the program ended, and no optimizer step, generate.* was seen; record by time instead: --delay 10s")
        self.assert_fails(self.record(source=BEGIN), "the program ended, and no optimizer step")

    def test_nothing_that_the_program_started_outlives_it(self):
        leave = textwrap.dedent("""
            sleep = [sys.executable, "-c", "import time; time.sleep(1000)"]
            subprocess.Popen(sleep)
            subprocess.Popen(sleep, start_new_session=True)
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0: time.sleep(1000)
                os._exit(0)
        """)
        for early in ({}, {"NSYS_EARLY": 1}):
            with self.subTest(early):
                ran = self.record("--force", "--output=train", source=SMALL + leave + "steps(150)", **early)
                self.assertEqual(ran.status, 0, ran.err)
                self.assert_left(*ALL)
        self.assert_fails(self.record(source=SMALL + leave + "sys.exit(1)"), "status 1", *ALL)

    def test_processes_of_others_are_left_alone(self):
        # A shell script that ends with `exec`, as those of containers do: what it started before is not the program's.
        before = ["sh", "-c", 'sleep 1000 & echo $! >"$READY"; exec "$@"', "sh"]
        ran = self.record("--once", before=before)
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual(self.processes(), [int(self.ready.read_text())])

    def test_a_full_disk_leaves_no_file(self):
        self.assert_fails(self.record(NSYS_FAILS="export"), "nsys export failed: No space left on device")
        self.assert_fails(self.record(NSYS_FAILS="profile"), "the program ended, and the profiler left no recording")
        self.assertNotIn("alone", self.starts())

    def test_a_recording_that_cannot_be_read_leaves_no_file(self):
        half = self.folder / "half.sqlite"
        half.write_bytes(REPORT.read_bytes()[:100_000])
        for report in (half, here / "srun"):
            self.assert_fails(self.record("--delay=1s", source=BEGIN, REPORT=report), "report.sqlite: ")

    def test_a_limit_of_file_sizes_leaves_no_file(self):
        limit = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh"]  # 100 KiB, which a recording exceeds
        self.assert_fails(self.record(before=limit), "the profiler left no recording")

    def test_a_disk_that_is_full_leaves_no_file(self):
        alone = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
        if subprocess.run([*alone, f"mount -t tmpfs none {self.work}"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("nothing can be mounted here")
        for kilobytes in (50, 1500, 3500, 5500):
            with self.subTest(kilobytes):
                words = f"mount -t tmpfs -o size={kilobytes}k none {self.work} && cd {self.work} && {program} record --nsys={NSYS} -- " \
                    + " ".join(self.python(LOOP)) + "; echo $?; ls -A"
                ran = subprocess.run([*alone, words], env=self.environment("small", {"REPORT": STARVED}), capture_output=True, text=True, timeout=MOST_WAIT_S)
                last = ran.stderr.splitlines()[-1]
                self.assertRegex(last, "^gh-advise: (?!note)")
                self.assertRegex(ran.stdout, r"(^|\n)2\n$", ran.stderr)  # and no file
                self.assert_left()


class Interrupted(Case):
    """Signals to gh-advise."""

    def interrupted(self, number, *words, **how):
        """A run that gets a signal once the program is ready."""
        ran = self.start(*words, **how)
        until(self.ready.exists, "the program's start")
        os.kill(ran.process.pid, number)
        ran.wait()
        self.ready.unlink()
        return ran

    def test_it_ends_by_the_signal_and_leaves_nothing(self):
        wait = SMALL + "steps(4)\nready()\ntime.sleep(1000)"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                ran = self.interrupted(number, "record", f"--nsys={NSYS}", "--", *self.python(wait))
                self.assertEqual(ran.status, -number)
                self.assert_left()

    def test_the_second_start_may_be_interrupted(self):
        wait = SMALL + "steps(150)\nif alone:\n  ready()\n  time.sleep(1000)"
        ran = self.interrupted(signal.SIGINT, "record", f"--nsys={NSYS}", "--", *self.python(wait.replace("150", "4 if alone else 150")))
        self.assertEqual(ran.status, -signal.SIGINT)
        # The recording is whole by then.
        self.assert_left("train.sqlite")
        self.assertIn(SAID, self.text_of("train.sqlite"))

    def test_an_export_may_be_interrupted(self):
        ran = self.start("record", f"--nsys={NSYS}", "--once", "--", *self.python(LOOP), NSYS_FAILS="export-hangs")
        until(lambda: (self.folder / "nsys.log").exists() and "export" in self.nsys_log(), "the export")
        os.kill(ran.process.pid, signal.SIGTERM)
        self.assertEqual(ran.wait().status, -signal.SIGTERM)
        self.assert_left()

    def test_the_programs_own_children_end_too(self):
        wait = SMALL + textwrap.dedent("""
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
            ready()
            time.sleep(1000)
        """)
        ran = self.interrupted(signal.SIGTERM, "record", f"--nsys={NSYS}", "--", *self.python(wait))
        self.assertEqual(ran.status, -signal.SIGTERM)
        self.assert_left()

    # Saves its work when it is interrupted, which takes longer than a moment.
    SAVES = SMALL + "try:\n  ready()\n  time.sleep(1000)\nexcept KeyboardInterrupt:\n  time.sleep(2)\n  print('saved')"

    def test_what_the_terminal_interrupts_may_save_its_work(self):
        ours, theirs = os.openpty()
        ran = self.start("record", "--nsys", NSYS, "--", *self.python(self.SAVES), terminal=theirs)
        until(self.ready.exists, "the program's start")
        os.write(ours, b"\x03")  # control-C
        self.assertEqual(ran.wait().status, -signal.SIGINT)
        self.assertEqual(ran.out, "saved\n")
        self.assert_left()
        os.close(ours)
        os.close(theirs)

    def test_an_interrupt_of_gh_advise_alone_is_passed_on(self):
        ran = self.interrupted(signal.SIGINT, "record", f"--nsys={NSYS}", "--once", "--", *self.python(self.SAVES))
        self.assertEqual(ran.status, -signal.SIGINT)
        self.assertEqual(ran.out, "saved\n")
        self.assert_left()

    def test_try_leaves_nothing_either(self):
        ran = self.interrupted(signal.SIGINT, "try", "--no-recording", "--", *self.python(SMALL + "ready()\ntime.sleep(1000)"))
        self.assertEqual(ran.status, -signal.SIGINT)
        self.assert_left()

    def test_programs_that_ignore_sigterm_are_killed(self):
        # Each takes ten seconds, so all of them run at once.
        stubborn = SMALL.replace("alone =", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nalone =", 1)
        waits = self.python(stubborn + "open(sys.argv[1], 'w').close()\ntime.sleep(1000)", "waits.py")
        child = self.python(stubborn + "if os.fork() == 0: time.sleep(1000)\nsteps(150)", "child.py")
        path = f"{here}:/usr/bin:/bin"
        cases = {  # and the status that each ends with
            "interrupted": (["record", f"--nsys={NSYS}", "--", *waits], -signal.SIGTERM),
            "ranks": (["record", f"--nsys={NSYS}", "--", "srun", "-n", "2", *waits], -signal.SIGTERM),
            "limited": (["record", f"--nsys={NSYS}", "--limit=1s", "--", *waits], 2),
            "child": (["record", f"--nsys={NSYS}", "--once", "--", *child], 0),
            "timed": (["try", "--no-recording", "--rounds=1", "--fix=cudnn-benchmark", "--",
                       *self.python(stubborn + f"steps({ENDLESS})", "timed.py")], 0),
        }
        runs = {}
        for name, (words, _) in cases.items():
            (self.work / name).mkdir()
            runs[name] = self.start(*words, *([self.folder / name] if waits[-1] in words else []), cwd=self.work / name, PATH=path)
        for name in ("interrupted", "ranks", "limited"):
            until((self.folder / name).exists, "the start of " + name)
        for name in ("interrupted", "ranks", "interrupted", "ranks"):  # a second signal is not patient
            os.kill(runs[name].process.pid, signal.SIGTERM)
            time.sleep(1)  # what comes within a second is one signal
        for name, (_, status) in cases.items():
            with self.subTest(name):
                self.assertEqual(runs[name].wait().status, status, runs[name].err)
                self.assertEqual([file for file in os.listdir(self.work / name) if not file.startswith("child")], [])
        self.assertEqual(self.processes(), [])
        self.assertEqual(sorted(os.listdir(self.work / "child")), ["child.html", "child.measured.json", "child.sqlite"])


class Ranks(Case):
    """Programs that srun starts."""

    PATH = f"{here}:/usr/bin:/bin"  # with srun

    def ranks(self, *options, source=LOOP, count=2, **how):
        return self.run_it("record", f"--nsys={NSYS}", *options, "--", "srun", "-n", str(count), *self.python(source), PATH=self.PATH, **how)

    def test_each_is_recorded_and_one_advice_is_on_all(self):
        ran = self.ranks()
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual(self.starts(), ["nsys"] * 2)
        self.assert_left("train.html", *(f"train.rank{rank}.{end}" for rank in (0, 1) for end in ("measured.json", "sqlite")))
        for rank in (0, 1):
            self.assertIn(f"rank {rank}: wrote train.rank{rank}.sqlite", ran.err)
            self.measured(f"train.rank{rank}")
        self.assertIn("wrote 2 recordings from train.rank0.sqlite on and train.html", ran.err)
        self.assertIn(self.text_of("train.rank0.sqlite", "train.rank1.sqlite"), ran.out)
        self.assertEqual(ran.out.count(SAID), 1)

    def test_a_page_of_the_programs_own_stays(self):
        ran = self.ranks(source=LOOP + "open('train.html', 'w').write('mine')\n")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual((self.work / "train.html").read_text(), "mine")
        self.assertIn("wrote 2 recordings from train.rank0.sqlite on\n", ran.err + "\n")

    def test_only_those_that_are_named_are_recorded(self):
        ran = self.ranks("--ranks=0")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual(sorted(self.starts()), ["alone", "nsys"])
        self.assert_left("train.html", "train.rank0.measured.json", "train.rank0.sqlite")

    def test_each_rank_is_recorded_with_what_the_options_say(self):
        ran = self.ranks("--layers", "--once", "--delay=2", "--units=3", source=Recording.MODULES, FAKE_GPU=1)
        self.assertEqual((ran.status, ran.out.count("<Net>")), (0, 2 * 3), ran.err)

    def test_ranks_that_do_not_exist_or_are_none(self):
        self.assert_fails(self.ranks("--ranks=5"), "srun ended with status 0, and no rank was recorded")
        for ranks in ("x", "1-", "3-1", "0,,1", "-1", "99999999"):
            with self.subTest(ranks):
                self.assert_fails(self.ranks(f"--ranks={ranks}"), f"--ranks {ranks}: must be ranks such as 0,4-7")

    def test_all_ranks_are_recorded_in_the_same_steps(self):
        # Each rank settles at another step, so 30 pass in all of them.
        ran = self.ranks(source=SMALL + "steps(30 + 1)")
        self.assertIn("too early to record", ran.err)
        # Slow enough that no phase passes between two looks.
        ran = self.ranks(source=LOOP.replace("0.002", "0.02"))
        for rank in (0, 1):
            self.assertIn(f"rank {rank}: 30 optimizer steps passed; now timing some", ran.err)
            self.assertIn(f"rank {rank}: timed 20 optimizer steps", ran.err)
        ran = self.ranks("--delay=2", "--units=3", "--once", source=SMALL + "steps(2 + 20 + 3 + 1)")
        self.assertEqual(ran.status, 0, ran.err)

    def test_inside_a_rank_only_that_one_is_recorded(self):
        ran = self.record(SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4)
        self.assertEqual((ran.status, self.starts(), ran.out), (0, ["nsys"], "begin\nend\n"), ran.err)
        self.assert_left("train.rank3.measured.json", "train.rank3.sqlite")
        self.assertIn("note: rank 3: wrote train.rank3.sqlite", ran.err)

    def test_inside_a_rank_that_is_not_named_the_program_only_runs(self):
        ran = self.record("--ranks=0-2", SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4)
        self.assertEqual((ran.status, self.starts(), ran.out, ran.err), (0, ["alone"], "begin\nend\n", ""))
        self.assert_left()
        ran = self.record("--ranks=0-2", source=BEGIN + "sys.exit(7)", SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4)
        self.assertEqual(ran.status, 7)

    def test_a_batch_script_of_slurm_is_not_a_rank(self):
        ran = self.record("--once", SLURM_PROCID=0, SLURM_NTASKS=4)
        self.assertEqual(ran.status, 0, ran.err)
        self.assert_left(*ALL)

    def test_a_rank_that_crashes(self):
        ran = self.ranks(source=SMALL + "if os.environ['SLURM_PROCID'] == '1': sys.exit(3)\nsteps(150)")
        self.assertIn("train.rank0.sqlite", ran.out)
        self.assert_fails(ran, "status 2, after it was recorded", "train.html", "train.rank0.measured.json", "train.rank0.sqlite")
        self.assertIn("the program ended with status 3", ran.err)

    def test_recordings_of_other_ranks_are_not_replaced_without_force(self):
        self.record("--ranks=1", "--output=mine", SLURM_PROCID=1, SLURM_STEP_NUM_TASKS=2)
        (self.work / "mine.rank1.measured.json").unlink()
        old = (self.work / "mine.rank1.sqlite").read_bytes()
        ran = self.ranks("--output=mine", source=BEGIN)
        self.assertIn("mine.rank1.sqlite", self.files(), ran.err)
        self.assertEqual((self.work / "mine.rank1.sqlite").read_bytes(), old)
        self.assertIn("--force", ran.err)

    def test_with_force_only_the_ranks_that_are_recorded_are_replaced(self):
        self.ranks("--output=mine")
        others = {name: (self.work / name).read_bytes() for name in ("mine.rank1.measured.json", "mine.rank1.sqlite")}
        recorded = (self.work / "mine.rank0.sqlite").stat().st_mtime_ns
        ran = self.ranks("--output=mine", "--force", "--ranks=0")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertEqual({name: (self.work / name).read_bytes() for name in others}, others)
        self.assertNotEqual((self.work / "mine.rank0.sqlite").stat().st_mtime_ns, recorded)
        self.assertIn("note: mine.rank1.sqlite is of an earlier run, and no rank of this one", ran.err)
        self.assertIn(self.text_of("mine.rank0.sqlite"), ran.out)

    def test_a_launcher_whose_program_cannot_be_told(self):
        ran = self.run_it("record", f"--nsys={NSYS}", "--", "srun", "--exclusive", "true", PATH=self.PATH)
        self.assert_fails(ran, "srun: its program cannot be told from its options.*srun ... gh-advise record -- PROGRAM")


class Trying(Case):
    """gh-advise try."""

    def attempt(self, *options, source=LOADING.replace("LOSS", "2.5"), words=(), **how):
        if "torch" not in how: how.setdefault("OWN_CLOCK", 1)  # which other programs on this machine cannot slow down
        return self.run_it("try", *options, "--", *self.python(source), *words, **how)

    def trials(self, *options, **how):
        ran = self.attempt("--format=json", *options, **how)
        self.assertEqual(ran.status, 0, ran.err)
        document = json.loads(ran.out)
        jsonschema.validate(document, schema_of("trials"))
        return document["trials"]

    @needs_torch
    def test_workers_help_a_program_that_waits_for_its_loader(self):
        ran = self.attempt("--no-recording", "--fix=loader-workers", "--rounds=1", source=real(0.01, 300), torch="real")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertRegex(ran.out, r"\nas it is +[0-9.]+ ms ±[0-9.]+ %\n")
        self.assertRegex(ran.out, r"\nloader-workers +[0-9.]+ ms ±[0-9.]+ % +[0-9.]+x +same\n")
        self.assertIn("To keep what helps, write\n  DataLoader(..., num_workers=", ran.out)
        self.assertEqual(self.starts(), ["alone"] * 2)
        self.assert_left()

    def test_json_says_the_same(self):
        base, trial = self.trials("--no-recording", "--fix=loader-workers")
        self.assertEqual((base["fixes"], trial["fixes"]), ([], ["loader-workers"]))
        self.assertEqual((len(base["runs_ns"]), len(trial["runs_ns"])), (2, 2))
        self.assertEqual((base["helps"], trial["helps"], trial["losses_compared"], trial["predicted"]), (False, True, "same", None))
        self.assertEqual(base["losses"], [2.5] * 10)
        self.assertGreaterEqual(base["unit_ns"], 21_000_000)
        self.assertLess(trial["unit_ns"], base["unit_ns"] / 2)
        self.assertEqual(self.starts(), ["alone"] * 4)
        self.assert_left()

    def test_a_prediction_is_shown_and_written_down_with_what_was_measured(self):
        for source in ("recording", "report"):
            with self.subTest(source):
                options = [f"--nsys={NSYS}"] if source == "recording" else [f"--report={FP32}"]
                base, trial = self.trials(*options, "--fix=tf32", "--allow=tf32", "--rounds=1", f"--ledger={source}.jsonl", NSYS_EARLY=1, REPORT=FP32)
                self.assertEqual(trial["predicted"]["rule"], "non-tensor-core-gemm")
                (line,) = (self.work / f"{source}.jsonl").read_text().splitlines()
                entry = json.loads(line)
                self.assertEqual((entry["rules"], entry["gpu"]), (["non-tensor-core-gemm"], "NVIDIA H200"))
                self.assertEqual((entry["before_ns"], entry["after_ns"]), (base["unit_ns"], trial["unit_ns"]))
                self.assertEqual([entry[key + "_ns"] for key in ("predicted", "least", "most")],
                                 [trial["predicted"][key + "_ns"] for key in ("unit", "least", "most")])
                self.assertEqual(entry["outcome"], "held" if entry["after_ns"] <= entry["most_ns"] else "missed")
        self.assert_left("recording.jsonl", "report.jsonl")
        ran = self.run_it("calibration", "recording.jsonl", "report.jsonl")
        self.assertRegex(ran.out, r"\nnon-tensor-core-gemm +2 ")

    def test_the_ledger_is_in_this_folder_unless_there_is_to_be_none(self):
        self.trials(f"--report={FP32}", "--fix=tf32", "--allow=tf32", "--rounds=1")
        self.assert_left("gh-advise.ledger.jsonl")
        (self.work / "gh-advise.ledger.jsonl").unlink()
        self.trials(f"--report={FP32}", "--fix=tf32", "--allow=tf32", "--rounds=1", "--ledger=none")
        self.assert_left()

    def test_too_few_workers_are_not_promised_what_enough_would_bring(self):
        # Batches of the report take 113 ms and the rest of its step 47 ms: two workers are too few.
        trials = self.trials(f"--report={STARVED}", "--fix=loader-workers", "--rounds=1")
        workers = max(1, min(8, len(os.sched_getaffinity(0)) // 2))
        self.assertEqual(trials[1]["predicted"] is not None, workers >= 3)

    def test_a_recording_that_fails_costs_only_the_predictions(self):
        ran = self.attempt(f"--nsys={NSYS}", "--fix=loader-workers", "--rounds=1", NSYS_EARLY=1, NSYS_FAILS="export")
        self.assertEqual(ran.status, 0)
        self.assertIn("note: nothing can be predicted: ", ran.err)
        self.assertIn("To keep what helps", ran.out)
        self.assert_left()

    def test_fixes_that_may_change_results_need_to_be_allowed(self):
        self.assert_fails(self.attempt("--no-recording", "--fix=tf32"), "--fix tf32: may change results; allow it with --allow tf32")
        self.assert_fails(self.attempt("--no-recording", "--fix=nonsense"), "--fix nonsense: there is no such fix.*--help")
        self.assert_fails(self.attempt("--no-recording", "--allow=tf23"), "--allow tf23: there is no such fix.*tf32")
        self.assertEqual(self.starts(), [])
        _, trial = self.trials("--no-recording", "--fix=tf32", "--allow=tf32", "--rounds=1")
        self.assertEqual((trial["fixes"], trial["nothing_to_change"]), (["tf32"], False))

    def test_by_default_all_are_tried_that_do_not_ask(self):
        names = [trial["fixes"] for trial in self.trials("--no-recording", "--rounds=1")]
        self.assertEqual(names[:3], [[], ["loader-workers"], ["pin-memory"]])
        self.assertNotIn(["tf32"], names)
        self.assertNotIn(["compile"], names)

    def test_those_that_help_are_run_together(self):
        source = LOADING.replace("LOSS", "2.5").replace("sleep(0.001)", "sleep(0.01 if 'CUDA_MODULE_LOADING' not in os.environ else 0.001)")
        trials = self.trials("--no-recording", "--fix=loader-workers,eager-modules,pin-memory", "--rounds=1", source=source, FAKE_GPU=1)
        self.assertEqual([trial["fixes"] for trial in trials],
                         [[], ["loader-workers"], ["eager-modules"], ["pin-memory"], ["loader-workers", "eager-modules"]])
        self.assertEqual([trial["helps"] for trial in trials], [False, True, True, False, True])
        self.assertLess(trials[-1]["unit_ns"], min(trial["unit_ns"] for trial in trials[:-1] if trial["unit_ns"]))

    def test_what_the_program_has_already_is_nothing_to_change(self):
        source = LOADING.replace("LOSS", "2.5").replace("DataLoader(Data())", "DataLoader(Data(), num_workers=2)")
        ran = self.attempt("--no-recording", "--fix=loader-workers", source=source)
        self.assertRegex(ran.out, r"\nloader-workers +nothing to change ")
        self.assertIn("None of these fixes helps.", ran.out)

    def test_a_fix_that_breaks_the_program_is_told(self):
        ran = self.attempt("--no-recording", "--fix=loader-workers", words=["forbids"])
        self.assertEqual(ran.status, 0)
        self.assertRegex(ran.out, r"\nloader-workers +failed: it ended with status 1")
        self.assertIn("RuntimeError: no workers here", ran.err)
        self.assertEqual(len(self.starts()), 3)  # it is not tried again

    def test_a_fix_that_makes_the_program_hang_is_told(self):
        source = LOADING.replace("LOSS", "2.5") + "    if loader.num_workers: time.sleep(1000)\n"
        ran = self.attempt("--no-recording", "--fix=loader-workers", "--limit=6s", "--rounds=1", source=source, OWN_CLOCK="")
        self.assertEqual(ran.status, 0, ran.err)
        self.assertRegex(ran.out, r"\nloader-workers +failed: it took longer than (6 s|6000 ms)")
        self.assert_left()

    def test_a_program_that_fails_as_it_is(self):
        self.assert_fails(self.attempt("--no-recording", source=BEGIN + "sys.exit(5)"), "the program ended with status 5, as it is")
        self.assert_fails(self.attempt("--no-recording", source=SMALL + "steps(9)"), "the program ended after 8 optimizer steps, too early")
        self.assert_fails(self.attempt("--no-recording", source=BEGIN), "no optimizer step, generate.* was seen")
        self.assert_fails(self.run_it("try", "--no-recording", "--", "./missing"), r"\./missing: cannot be run: No such file")

    def test_losses_that_differ_are_pointed_out(self):
        ran = self.attempt("--no-recording", "--fix=loader-workers", source=LOADING.replace("LOSS", "2.5 + loader.num_workers * (step > 1)"))
        self.assertRegex(ran.out, r"\nloader-workers .* DIFFER\n")
        self.assertRegex(ran.out, r"Loader-workers changes the loss, step 3: [0-9.]+ instead of 2.5. Look at it")

    def test_losses_that_are_unsteady_are_not_compared(self):
        ran = self.attempt("--no-recording", "--fix=loader-workers", source=LOADING.replace("LOSS", "time.time() % 7"))
        self.assertRegex(ran.out, r"\nloader-workers .* unsteady\n")
        self.assertIn("Losses are not compared, because they differ from run to run", ran.out)

    def test_a_loss_that_is_no_number_does_not_hide_the_program(self):
        ran = self.attempt("--no-recording", "--fix=loader-workers", source=LOADING.replace("LOSS", "float('nan') if step > 3 else 1.0")
                           .replace("    time.sleep(0.001)", "    if step > 150: break\n    time.sleep(0.001)"))
        self.assertEqual(ran.status, 0, ran.err)
        self.assertIn("To keep what helps", ran.out)

    def test_a_fix_that_is_named_twice_is_tried_once(self):
        trials = self.trials("--no-recording", "--fix=loader-workers,loader-workers", "--rounds=1")
        self.assertEqual([trial["fixes"] for trial in trials], [[], ["loader-workers"]])

    def test_what_cannot_be_predicted_with_is_told_before_the_program_starts(self):
        for option, message in (("--report=missing.sqlite", "missing.sqlite: no such file"), ("--select=nonsense", "'nonsense'"),
                                ("--nsys=/missing/nsys", "--nsys /missing/nsys"), ("--delay=1s", "--delay"), ("--limit=x", "--limit x")):
            with self.subTest(option):
                self.assert_fails(self.attempt(option, "--fix=loader-workers", "--rounds=1"), message)
        self.assertEqual(self.starts(), [])

    def test_what_was_measured_is_shown_even_if_no_ledger_can_be_written(self):
        ran = self.attempt(f"--report={FP32}", "--ledger=/proc/ledger", "--fix=tf32", "--allow=tf32", "--rounds=1")
        self.assert_fails(ran, "/proc/ledger: cannot be written")
        self.assertIn("as it is", ran.out)


class Verifying(Case):
    """gh-advise verify and calibration."""

    LEDGER = "gh-advise.ledger.jsonl"

    def ledger(self):
        lines = [json.loads(line) for line in (self.work / self.LEDGER).read_text().splitlines()]
        for line in lines:
            jsonschema.validate(line, schema_of("ledger"))
        return lines

    def verify(self, before, after, *options):
        return self.run_it("verify", *options, fixtures / before, fixtures / after)

    def test_a_forecast_that_held(self):
        ran = self.verify("starved.sqlite", "fed.sqlite")
        self.assertEqual((ran.status, ran.err), (0, ""))
        self.assertRegex(ran.out, r"^The forecast held: a step took 160\.2 ms and takes 47\.0 ms, 3\.4x; predicted were 47\.0 ms "
                                  r"\(43\.9 ms to 49\.9 ms\) for data-loader-starvation\.\n$")
        (entry,) = self.ledger()
        self.assertEqual((entry["before"], entry["after"]), (str(STARVED), str(fixtures / "fed.sqlite")))
        self.assertEqual((entry["rules"], entry["gpu"], entry["outcome"]), (["data-loader-starvation"], "NVIDIA H200", "held"))
        self.assertTrue(entry["least_ns"] < entry["predicted_ns"] < entry["most_ns"])
        self.assert_left(self.LEDGER)

    def test_the_range_is_the_one_that_the_report_before_says(self):
        (report,) = json.loads(self.run_it("check", "--format=json", STARVED).out)["reports"]
        fixes = report["plan"]["fixes"][:2]
        for made in (fixes[:1], fixes):
            self.verify("starved.sqlite", "fed.sqlite", "--fixed=" + ",".join(fix["rule"] for fix in made))
            entry = self.ledger()[-1]
            self.assertEqual([entry["predicted_ns"], entry["least_ns"], entry["most_ns"]], [made[-1]["step_ns"], *made[-1]["step_range_ns"]])

    def test_a_forecast_that_was_missed(self):
        ran = self.verify("starved.sqlite", "eager.sqlite")
        self.assertEqual(ran.status, 1)
        self.assertTrue(ran.out.startswith("The forecast was missed: a step took 160.2 ms and takes 84.6 ms"), ran.out)
        self.assertEqual(self.ledger()[0]["outcome"], "missed")

    def test_what_was_measured_without_the_profiler_counts(self):
        after = self.folder / "after.sqlite"
        shutil.copy(fixtures / "fed.sqlite", after)
        (self.folder / "after.measured.json").write_text('{"schema_version": 1, "measured_step_ns": 45500000}')
        ran = self.verify("starved.sqlite", after)
        self.assertEqual(ran.status, 0)
        self.assertIn("takes 45.5 ms", ran.out)

    def test_another_gpu_cannot_be_compared(self):
        after = self.folder / "after.sqlite"
        shutil.copy(fixtures / "fed.sqlite", after)
        with sqlite3.connect(after) as recording:
            recording.execute("UPDATE TARGET_INFO_GPU SET name = 'NVIDIA H100 80GB HBM3'")
        recording.close()
        ran = self.verify("starved.sqlite", after)
        self.assertEqual(ran.status, 2)
        self.assertRegex(ran.out, r"^Not comparable: .*\n  other GPUs: .*H100")
        self.assertEqual(self.ledger()[0]["outcome"], "not comparable")

    def test_another_program_cannot_be_compared(self):
        ran = self.verify("starved.sqlite", "um.sqlite")
        self.assertEqual(ran.status, 2)
        self.assertRegex(ran.out, r"^Not comparable: .*\n  another program: ")

    def test_nothing_fixed_cannot_be_compared_unless_it_is_named(self):
        after = self.folder / "after.sqlite"
        shutil.copy(STARVED, after)
        with sqlite3.connect(after) as recording:  # another recording of the same program
            recording.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + 1")
        recording.close()
        ran = self.verify("starved.sqlite", after)
        self.assertEqual(ran.status, 2)
        self.assertIn("no finding whose fix was predicted is gone; name the fix that was made: --fixed RULE", ran.out)
        ran = self.verify("starved.sqlite", after, "--fixed=data-loader-starvation")
        self.assertEqual(ran.status, 1)
        self.assertIn("The forecast was missed", ran.out)
        self.assertIn("data-loader-starvation is still found after it", ran.out)

    def test_a_step_that_another_fix_shortened_is_not_comparable(self):
        ran = self.verify("starved.sqlite", "fed.sqlite", "--fixed=unfused-norm")
        self.assertEqual(ran.status, 2)
        self.assertIn("unfused-norm is still found after it", ran.out)

    def test_what_is_new_since_is_told(self):
        self.assertIn("New since: The GPU waits for the data loader [data-loader-starvation].", self.verify("fed.sqlite", "starved.sqlite").out)

    def test_rules_that_predict_nothing_and_reports_that_are_none(self):
        self.assert_fails(self.verify("starved.sqlite", "fed.sqlite", "--fixed=nonsense"), "--fixed nonsense: predicts nothing for .*starved.sqlite")
        self.assert_fails(self.verify("fed.sqlite", "fed.sqlite"), "is the same recording as")
        self.assert_fails(self.verify("missing.sqlite", "fed.sqlite"), "missing.sqlite: no such file")
        self.assert_fails(self.run_it("verify", STARVED), "REPORT")

    def test_the_ledger_grows_line_by_line_unless_there_is_to_be_none(self):
        self.verify("starved.sqlite", "fed.sqlite")
        self.verify("starved.sqlite", "eager.sqlite")
        self.verify("starved.sqlite", "um.sqlite")
        self.assertEqual([entry["outcome"] for entry in self.ledger()], ["held", "missed", "not comparable"])
        self.verify("starved.sqlite", "fed.sqlite", "--ledger=none")
        self.assertEqual(len(self.ledger()), 3)
        ran = self.run_it("calibration", self.LEDGER)
        self.assertEqual((ran.status, ran.err), (0, ""))
        self.assertRegex(ran.out, r"^fix +forecasts +in range +off, median +off, worst\n"
                                  r"data-loader-starvation +2 +1 +[0-9.]+ % +44\.5 %\nall +2 +1 .*\n1 forecast could not be compared\n$")

    def entry(self, **changed):
        return json.dumps({"schema_version": 1, "day": "2026-11-25", "before": "a", "after": "b", "rules": ["launch-bound"], "gpu": "x",
                           "before_ns": 200, "after_ns": 100, "predicted_ns": 110, "least_ns": 90, "most_ns": 120, "outcome": "held", **changed})

    def test_damaged_lines_of_a_ledger_are_named(self):
        good = self.entry()
        for bad, message in (("{", "is no entry of a ledger"), ("[]", "is no entry of a ledger"), (good[:60], "is no entry of a ledger"),
                             (self.entry(before_ns="x"), "is no entry of a ledger"), (self.entry(rules=3), "is no entry of a ledger"),
                             (self.entry(outcome="perhaps"), "is no entry of a ledger"), (self.entry(after_ns=0), "a step takes no time"),
                             (self.entry(schema_version=2), "another version of gh-advise wrote it")):
            with self.subTest(bad):
                (self.work / "ledger").write_text(f"{good}\n\n{bad}\n{good}\n")
                self.assert_fails(self.run_it("calibration", "ledger"), "^gh-advise: ledger:3: " + message, "ledger")

    def test_a_ledger_that_is_missing_or_empty(self):
        self.assert_fails(self.run_it("calibration", "missing"), "missing: no such file")
        (self.work / "empty").write_text("")
        ran = self.run_it("calibration", "empty")
        self.assertEqual((ran.status, ran.err), (0, ""))
        self.assertEqual(len(ran.out.splitlines()), 1)

    def test_text_of_a_ledger_cannot_steer_the_terminal(self):
        (self.work / "ledger").write_text(self.entry(rules=["\u001b[31mred"]) + "\n")
        ran = self.run_it("calibration", "ledger")
        self.assertEqual(ran.status, 0)
        self.assertNotIn("\u001b", ran.out)


class SideBySide(unittest.TestSuite):
    """Runs tests side by side, since most of their time is waiting."""

    def run(self, result, debug=False):
        with ThreadPoolExecutor(max_workers=3) as pool:
            list(pool.map(lambda test: test.run(result), self))
        return result


def each_of(tests):
    for test in tests:
        yield from each_of(test) if isinstance(test, unittest.TestSuite) else [test]


def main(this):
    """Runs the tests of a module, or those that are named."""
    os.environ.pop("PYTHONPATH", None)
    loader = unittest.defaultTestLoader
    chosen = loader.loadTestsFromNames(sys.argv[3:], this) if sys.argv[3:] else loader.loadTestsFromModule(this)
    ran = unittest.TextTestRunner().run(SideBySide(each_of(chosen)))
    sys.exit(not ran.wasSuccessful())


if __name__ == "__main__":
    main(sys.modules[__name__])
