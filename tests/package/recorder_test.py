#!/usr/bin/python3
"""Tests how the Python package records a loop from within: recorder_test.py PROGRAM FIXTURES

There is no GPU here. A recorded trace takes the place of what PyTorch's profiler writes, and a
clock of its own that of time; Lightning and Transformers are small stand-ins that call a callback
as those do.
"""
import contextlib
import functools
import importlib.util
import io
import json
import logging
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
from unittest import mock

program, fixtures = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
root = pathlib.Path(__file__).resolve().parents[2]
package = root / "engine/package/python"
sys.path.insert(0, str(package))

import gh_advise
from gh_advise import capture, recorder, window

TRACE = fixtures / "compile.pt.trace.json"
MS = 1_000_000
STEP_MS = 34  # about a step of the trace, which keeps its GPU busy
# A loop of so many steps, of which each takes as long as the next: 6 pass, 20 are timed.
BEFORE = 6 + 20


class Ranges(capture.ProfilerRanges):
    def __init__(self, calls):
        self.calls = calls

    def start(self, name):
        self.calls.append(name)
        return name

    def end(self, token):
        self.calls.append(f"end of {token}")


class Profiler:
    """In place of PyTorch's: writes a trace that was recorded before."""

    ends_from_any_thread = False

    def __init__(self, path, stacks, memory, layers, calls, trace):
        self.path, self.calls, self.ranges, self.trace = path, calls, Ranges(calls), trace
        if stacks or memory or layers:
            calls.append(f"stacks={stacks} memory={memory} layers={layers}")

    def synchronize(self):
        pass

    def begin(self):
        self.calls.append("begin")

    def end(self):
        self.calls.append("end")
        shutil.copy(self.trace, self.path)


class Recording(unittest.TestCase):
    """In a folder of its own, on a machine that seems to have a GPU."""

    def setUp(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.callback(os.chdir, os.getcwd())
            os.chdir(self.folder)
            (self.folder / "gh-advise.toml").write_text("")
            self.calls, self.ns = [], 1
            self.profiler = functools.partial(Profiler, calls=self.calls, trace=TRACE)
            clocked = functools.partial(window.Window, clock_ns=lambda: self.ns)
            for name, value in (("Window", clocked), ("torch_with_gpu", lambda: True),
                                ("ProfilerCapture", lambda *a: self.profiler(*a))):
                stack.enter_context(mock.patch.object(recorder, name, value))
            free = {name: "" for name in (recorder.NSYS, "GH_ADVISE_FOLDER", "RANK", "SLURM_PROCID",
                                          "OMPI_COMM_WORLD_RANK")}
            stack.enter_context(mock.patch.dict(os.environ, {**free, "GH_ADVISE": str(program)}))
            del os.environ[recorder.NSYS]
            self.log = io.StringIO()
            handler = logging.StreamHandler(self.log)
            recorder.logger.addHandler(handler)
            stack.callback(recorder.logger.removeHandler, handler)
            self.addCleanup(stack.pop_all().close)

    def use(self, modules):
        """Libraries as if they were installed; None: as if not."""
        patch = mock.patch.dict(sys.modules, modules)
        patch.start()
        self.addCleanup(patch.stop)
        for name in ("lightning", "huggingface"):  # are imported anew
            for names in (sys.modules, vars(gh_advise)):
                names.pop(f"gh_advise.{name}" if names is sys.modules else name, None)

    def loop(self, steps, recorder_, ms=STEP_MS):
        for _ in range(steps):
            self.ns += int(ms * MS)
            recorder_.step()

    def measured(self, name="gh-advise"):
        return json.loads((self.folder / f"{name}.measured.json").read_text())

    def files(self):
        return sorted(p.name for p in self.folder.iterdir() if p.name != "gh-advise.toml")


class Loops(Recording):
    def test_a_loop_is_timed_then_recorded_then_checked(self):
        recorded_ms = gh_advise.check(TRACE).steps.recorded_ns / MS
        with gh_advise.record(steps=3) as recording:
            self.loop(BEFORE, recording, recorded_ms * 0.99)
            self.assertEqual(self.calls, ["begin", "ProfilerStep#1"])
            self.loop(3, recording, recorded_ms)
            self.assertEqual(self.files(), ["gh-advise.json", "gh-advise.measured.json"])
            self.loop(3, recording, recorded_ms * 0.99)
            self.assertIsNone(recording.report)
        self.assertEqual(
            self.calls,
            ["begin", "ProfilerStep#1", "end of ProfilerStep#1", "ProfilerStep#2",
             "end of ProfilerStep#2", "ProfilerStep#3", "end of ProfilerStep#3", "end"],
        )
        self.assertEqual(
            self.measured(),
            {"schema_version": 1, "unit": "step", "measured_step_ns": int(recorded_ms * 0.99 * MS),
             "samples": 20, "recorded_step_ns": int(recorded_ms * MS)},
        )
        report = recording.report
        self.assertEqual(report.raw["findings"], gh_advise.check(self.folder / "gh-advise.json").raw["findings"])
        self.assertEqual(report.steps.measured_ns, self.measured()["measured_step_ns"])
        self.assertEqual((recording.why_not, self.log.getvalue()), ("", ""))

    def test_what_it_writes_beside_the_trace_is_as_the_schema_says(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is missing: apt-get install python3-jsonschema")
        with gh_advise.record(1, "run") as recording:
            self.loop(BEFORE + 1, recording)
        schema = json.loads((root / "schemas/measured.schema.json").read_text())
        jsonschema.validate(self.measured("run"), schema)
        self.assertLessEqual(set(self.measured("run")), set(schema["properties"]))

    def test_steps_that_pass_first_can_be_given(self):
        with gh_advise.record(2, delay=2) as recording:
            self.loop(2, recording, 900)
            self.loop(1 + 20, recording)
            self.assertIn("begin", self.calls)
            self.loop(2, recording)
        self.assertEqual(self.measured()["measured_step_ns"], STEP_MS * MS)

    def test_what_else_to_record_is_passed_on(self):
        with gh_advise.record(stacks=True, memory=True) as recording:
            self.loop(1, recording)
        with gh_advise.record(layers=True) as recording:
            self.loop(1, recording)
        self.assertEqual(self.calls, ["stacks=True memory=True layers=False", "stacks=False memory=False layers=True"])

    def test_the_recording_stays_where_the_loop_began_and_folders_are_made(self):
        with gh_advise.record(1, "runs/first") as recording:
            self.loop(1, recording)
            os.chdir("/")
            self.loop(BEFORE, recording)
        self.assertEqual(recording.report.recording.path, str(self.folder / "runs/first.json"))
        self.assertIn("measured_step_ns", self.measured("runs/first"))

    def test_a_loop_that_is_too_short_says_so(self):
        for steps, said in ((0, "no step was made"), (1, "with step 1,"), (10, "with step 10, before any")):
            with gh_advise.record() as recording:
                self.loop(steps, recording)
            self.assertIsNone(recording.report)
            self.assertIn(said, recording.why_not)
            self.assertIn(recording.why_not, self.log.getvalue())
        self.assertEqual((self.files(), self.calls), ([], []))

    def test_a_loop_that_ends_while_it_is_recorded_has_a_report_of_what_there_is(self):
        with gh_advise.record(steps=100) as recording:
            self.loop(BEFORE + 4, recording)
        self.assertEqual(self.calls[-2:], ["end of ProfilerStep#5", "end"])
        self.assertEqual(self.measured()["recorded_step_ns"], STEP_MS * MS)
        self.assertEqual(recording.report.recording.path, str(self.folder / "gh-advise.json"))
        with gh_advise.record(steps=100) as recording:
            self.loop(BEFORE, recording)
        self.assertIn("before a step was recorded", recording.why_not)

    def test_evaluations_are_no_part_of_a_step(self):
        with gh_advise.record(10) as recording:
            with recording.aside():  # before the first step
                pass
            self.loop(16, recording)
            with recording.aside(), recording.aside():
                self.ns += 60_000 * MS
            self.loop(BEFORE - 16 + 4, recording)
            with recording.aside():  # ends a recording that has enough
                self.assertEqual(self.calls[-2:], ["end of ProfilerStep#5", "end"])
                self.ns += 60_000 * MS
            self.loop(10, recording)
        self.assertEqual((self.measured()["measured_step_ns"], self.measured()["samples"]), (STEP_MS * MS, 20))
        self.assertEqual(self.measured()["recorded_step_ns"], STEP_MS * MS)
        self.assertIsNotNone(recording.report)

    def test_an_evaluation_that_fails_does_so_as_it_always_does(self):
        with self.assertRaisesRegex(ValueError, "mine"):
            with gh_advise.record() as recording:
                self.loop(10, recording)
                with recording.aside():
                    raise ValueError("mine")

    def test_exceptions_of_the_loop_pass_through_and_leave_what_was_recorded(self):
        for error in (ValueError("mine"), KeyboardInterrupt()):
            with self.assertRaises(type(error)):
                with gh_advise.record(10) as recording:
                    self.loop(BEFORE + 4, recording)
                    raise error
            self.assertEqual(self.calls[-1], "end")
            self.assertEqual(self.measured()["recorded_step_ns"], STEP_MS * MS)
            self.assertIsNone(recording.report)
            self.assertIn(f"the loop failed; what was recorded before is in {self.folder}/gh-advise.json",
                          recording.why_not)

    def test_whatever_fails_leaves_the_loop_as_it_is(self):
        def failing(name):
            class Fails(Profiler):
                pass

            def fail(*_, **__):
                raise OSError(f"cannot {name}")

            setattr(Ranges if name == "start" else Fails, name, fail)
            return Fails

        for name in ("synchronize", "begin", "end", "start", "__init__"):
            with self.subTest(name), mock.patch.object(Ranges, "start", Ranges.start):
                self.calls.clear()
                self.profiler = functools.partial(failing(name), calls=self.calls, trace=TRACE)
                with gh_advise.record(2) as recording:
                    self.loop(BEFORE + 10, recording)
                    with recording.aside():
                        pass
                self.assertIsNone(recording.report)
                self.assertEqual(recording.why_not, f"cannot go on: cannot {name}")
                self.assertEqual(self.log.getvalue().count(f"cannot {name}\n"), 1)
                if name == "start":  # the profiler does not run on
                    self.assertEqual(self.calls, ["begin", "end"])

    def test_a_folder_that_cannot_be_written_leaves_the_loop_as_it_is(self):
        (self.folder / "file").write_text("")
        with gh_advise.record(path="file/run") as recording:
            self.loop(BEFORE + 10, recording)
        self.assertRegex(recording.why_not, "cannot go on: .*file")

    def test_without_the_program_the_recording_is_kept(self):
        with gh_advise.record(1, program="/missing") as recording:
            self.loop(BEFORE + 1, recording)
        self.assertRegex(recording.why_not, "was recorded, but not checked: .*/missing")
        self.assertEqual(self.files(), ["gh-advise.json", "gh-advise.measured.json"])

    def test_a_program_that_is_watched_already_is_not_recorded_twice(self):
        with mock.patch.dict(os.environ, {"GH_ADVISE_FOLDER": str(self.folder)}):
            with gh_advise.record() as recording:
                self.loop(BEFORE + 10, recording)
        self.assertEqual((self.calls, self.files()), ([], []))
        self.assertIn("`gh-advise record` watches this program already", recording.why_not)
        self.assertIn(recording.why_not, self.log.getvalue())

    def test_rank_0_records_and_no_other(self):
        group = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True)
        for rank in (0, 3):
            group.get_rank = lambda: rank
            torch = types.SimpleNamespace(distributed=group)
            for known in (mock.patch.dict(os.environ, {"RANK": str(rank)}),
                          mock.patch.dict(sys.modules, {"torch": torch})):
                self.calls.clear()
                with known, gh_advise.record(1) as recording:
                    self.loop(BEFORE + 1, recording)
                self.assertEqual(bool(self.calls), rank == 0)
                self.assertEqual(recording.report is None, rank == 3)
        self.assertEqual((recording.why_not, self.log.getvalue()), ("of several ranks, rank 0 records", ""))

    def test_under_nsight_systems_it_says_when_to_record(self):
        calls = []

        class Nsys(capture.NsysCapture):
            def __init__(self, layers):
                super().__init__(layers)
                self.layers = layers

            def begin(self):
                calls.append(f"start layers={self.layers}")

            def end(self):
                calls.append("stop")

        with mock.patch.dict(os.environ, {recorder.NSYS: "1"}), \
                mock.patch.object(recorder, "NsysCapture", Nsys), \
                mock.patch.object(recorder, "uses_gpu", lambda: True):
            for layers in (False, True):
                with gh_advise.record(2, "run", layers=layers) as recording:
                    self.loop(BEFORE + 2, recording)
        self.assertEqual(calls, ["start layers=False", "stop", "start layers=True", "stop"])
        self.assertEqual((self.calls, self.files()), ([], ["run.measured.json"]))
        self.assertIn("Nsight Systems writes it", recording.why_not)

    def test_arguments_that_make_no_sense_are_refused_at_once(self):
        with self.assertRaisesRegex(ValueError, "0 steps"):
            gh_advise.record(steps=0)

    def test_it_can_be_sent_to_another_process_before_it_begins(self):
        with pickle.loads(pickle.dumps(gh_advise.record(1))) as recording:
            self.loop(BEFORE + 1, recording)
        self.assertIsNotNone(recording.report)

    def test_a_recorder_records_once(self):
        recording = gh_advise.record(1)
        for _ in range(2):
            with recording:
                self.loop(BEFORE + 1, recording)
        self.assertEqual(self.calls.count("begin"), 1)
        self.assertIsNotNone(recording.report)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is missing: apt-get install python3-torch")
class Programs(unittest.TestCase):
    """With PyTorch itself, on the CPU."""

    def run_program(self, source):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(
                [sys.executable, "-B", "-c", textwrap.dedent(source)], capture_output=True, text=True, cwd=folder,
                env={**os.environ, "PYTHONPATH": str(package), "GH_ADVISE": str(program)}, timeout=120)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return ran, {p.name: p.read_text() for p in pathlib.Path(folder).iterdir()}

    TRAINING = """
        import torch, gh_advise
        from gh_advise import recorder
        model = torch.nn.Linear(64, 64)
        with gh_advise.record(steps=4, delay=2) as recording:
            for _ in range(100):
                model(torch.ones(64, 64)).sum().backward()
                recording.step()
        print(recording.report, recording.why_not)
    """

    def test_without_a_gpu_nothing_is_recorded(self):
        ran, files = self.run_program(self.TRAINING)
        self.assertEqual(ran.stdout, "None this process does not use a GPU through PyTorch\n")
        self.assertIn("gh-advise: no report: this process does not use a GPU", ran.stderr)
        self.assertEqual(files, {})

    def test_the_profiler_records_the_steps(self):
        # Time is waited for as if there were a GPU; the trace then has only the CPU's work.
        ran, files = self.run_program(self.TRAINING.replace(
            "import recorder", "import recorder; recorder.torch_with_gpu = lambda: torch"))
        self.assertEqual(sorted(files), ["gh-advise.json", "gh-advise.measured.json"])
        trace = json.loads(files["gh-advise.json"])
        events = trace if isinstance(trace, list) else trace["traceEvents"]
        steps = [e for e in events if str(e.get("name")).startswith("ProfilerStep#") and e.get("ph") == "X"]
        self.assertEqual({e["name"] for e in steps}, {f"ProfilerStep#{n}" for n in (1, 2, 3, 4)})
        for step in steps:
            self.assertTrue(any("mm" in str(e.get("name")) and step["ts"] <= e["ts"] <= step["ts"] + step["dur"]
                                for e in events if e.get("ph") == "X"))
        self.assertNotIn("Linear", [e.get("name") for e in events])

    def test_the_profiler_records_modules_if_layers_are_asked_for(self):
        ran, files = self.run_program(self.TRAINING.replace(
            "import recorder", "import recorder; recorder.torch_with_gpu = lambda: torch").replace(
            "delay=2", "delay=2, layers=True").replace("print(", "print(torch.nn.Module.__call__ is call, ").replace(
            "model =", "call = torch.nn.Module.__call__; model ="))
        self.assertTrue(ran.stdout.startswith("True "), ran.stdout)
        trace = json.loads(files["gh-advise.json"])
        events = [e for e in (trace if isinstance(trace, list) else trace["traceEvents"]) if e.get("ph") == "X"]
        modules = [e for e in events if e["name"] == "Linear"]
        self.assertEqual(len(modules), 4)
        for module in modules:
            self.assertTrue(any(e["name"] in ("aten::linear", "aten::addmm") and
                                module["ts"] <= e["ts"] <= module["ts"] + module["dur"] for e in events))


class Lightning:
    """How lightning.pytorch calls callbacks: a Trainer with what its loops do, in their order."""

    @staticmethod
    def modules():
        module = types.ModuleType("lightning.pytorch")
        module.Callback = Lightning.Callback
        return {"lightning": types.ModuleType("lightning"), "lightning.pytorch": module, "pytorch_lightning": None}

    class Callback:
        state_key = "stand-in"

        def __getattr__(self, name):  # all other hooks do nothing
            if re.match("on_|setup$|teardown$", name):
                return lambda *args, **kwargs: None
            raise AttributeError(name)

        def state_dict(self):
            return {}

    class Trainer:
        def __init__(self, test, callbacks, accumulate=1, validate_every=0, save_every=0, fails_at=None):
            self.test, self.callbacks, self.global_step = test, callbacks, 0
            self.accumulate, self.fails_at = accumulate, fails_at
            self.validate_every, self.save_every = validate_every, save_every

        def call(self, hook, *args, **kwargs):
            for callback in self.callbacks:
                getattr(callback, hook)(self, "model", *args, **kwargs)

        def save(self):
            for callback in self.callbacks:
                callback.state_dict()
                callback.on_save_checkpoint(self, "model", {})
            self.test.ns += 7_000 * MS

        def validate(self):
            self.call("on_validation_start")
            self.test.ns += 60_000 * MS
            self.call("on_validation_end")

        def fit(self, batches):
            try:
                self.call("setup", stage="fit")
                self.call("on_fit_start")
                self.validate()  # the sanity check
                self.call("on_train_start")
                for index in range(batches):
                    self.call("on_train_batch_start", "batch", index)
                    if index == self.fails_at:
                        raise RuntimeError("mine")
                    self.test.ns += STEP_MS * MS // self.accumulate
                    if index % self.accumulate == self.accumulate - 1:
                        self.global_step += 1
                    self.call("on_train_batch_end", "loss", "batch", index)
                    if self.save_every and index % self.save_every == self.save_every - 1:
                        self.save()
                    if self.validate_every and index % self.validate_every == self.validate_every - 1:
                        self.validate()
                self.call("on_train_end")
                self.call("on_fit_end")
                self.call("teardown", stage="fit")
            except BaseException as error:
                self.call("on_exception", error)
                raise


class LightningCallback(Recording):
    def setUp(self):
        super().setUp()
        self.use(Lightning.modules())

    def test_a_step_is_one_of_the_optimizer(self):
        for accumulate in (1, 2):
            recording = gh_advise.lightning.Recorder(steps=2)
            self.assertIsInstance(recording, Lightning.Callback)
            Lightning.Trainer(self, [recording], accumulate).fit((BEFORE + 2) * accumulate)
            self.assertEqual(self.measured()["measured_step_ns"], STEP_MS * MS)
            self.assertEqual(recording.report.steps.measured_ns, STEP_MS * MS)

    def test_validations_and_checkpoints_are_no_part_of_a_step(self):
        for every in ({"validate_every": 9}, {"save_every": 9}, {"validate_every": 9, "save_every": 3}):
            recording = gh_advise.lightning.Recorder(steps=10)
            Lightning.Trainer(self, [recording], **every).fit(80)
            self.assertEqual(self.measured()["measured_step_ns"], STEP_MS * MS)
            self.assertIsNotNone(recording.report)

    def test_a_training_that_fails_fails_with_its_own_error(self):
        recording = gh_advise.lightning.Recorder(steps=10)
        with self.assertRaisesRegex(RuntimeError, "mine"):
            Lightning.Trainer(self, [recording], fails_at=BEFORE + 4).fit(80)
        self.assertEqual(self.calls[-1], "end")
        self.assertIn("the loop failed", recording.why_not)

    def test_both_names_of_the_library_will_do(self):
        other = types.ModuleType("pytorch_lightning")
        other.Callback = type("Callback", (Lightning.Callback,), {})
        self.use({"lightning": None, "lightning.pytorch": None, "pytorch_lightning": other})
        del sys.modules["lightning.pytorch"]
        self.assertTrue(issubclass(gh_advise.lightning.Recorder, other.Callback))

    def test_of_both_names_the_one_that_the_program_uses(self):
        other = types.ModuleType("pytorch_lightning")
        other.Callback = type("Callback", (Lightning.Callback,), {})
        self.use({"pytorch_lightning": other})
        self.assertFalse(issubclass(gh_advise.lightning.Recorder, other.Callback))

    def test_without_the_library(self):
        self.use({"lightning": None, "lightning.pytorch": None, "pytorch_lightning": None})
        with self.assertRaisesRegex(ImportError, "lightning"):
            gh_advise.lightning


class Transformers:
    """How transformers calls callbacks: its Trainer, with the flow of its DefaultFlowCallback."""

    @staticmethod
    def modules():
        module = types.ModuleType("transformers")
        module.TrainerCallback = Transformers.TrainerCallback
        return {"transformers": module}

    class TrainerCallback:
        def __getattr__(self, name):
            if name.startswith("on_"):
                return lambda *args, **kwargs: None
            raise AttributeError(name)

    class Trainer:
        def __init__(self, test, callbacks, eval_steps=0, save_steps=0, epoch=0, fails_at=None):
            self.test, self.callbacks, self.fails_at = test, callbacks, fails_at
            self.eval_steps, self.save_steps, self.epoch = eval_steps, save_steps, epoch
            self.control = types.SimpleNamespace(should_evaluate=False, should_save=False)

        def call(self, event, **kwargs):
            for callback in self.callbacks:
                answer = getattr(callback, event)("arguments", "state", self.control, model="model", **kwargs)
                assert answer is None  # or it would have to be a control

        def evaluate_and_save(self):
            if self.control.should_evaluate:
                self.test.ns += 60_000 * MS
                self.control.should_evaluate = False
                self.call("on_evaluate", metrics={})
            if self.control.should_save:
                self.test.ns += 7_000 * MS
                self.control.should_save = False
                self.call("on_save")

        def train(self, steps):
            self.call("on_train_begin")
            for step in range(1, steps + 1):
                self.control.should_evaluate = self.control.should_save = False
                self.call("on_step_begin")
                if step == self.fails_at:
                    raise RuntimeError("mine")
                self.test.ns += STEP_MS * MS // 2
                self.call("on_substep_end")
                self.test.ns += STEP_MS * MS // 2
                self.control.should_evaluate = bool(self.eval_steps) and step % self.eval_steps == 0
                self.control.should_save = bool(self.save_steps) and step % self.save_steps == 0
                self.call("on_step_end")
                self.evaluate_and_save()
                if self.epoch and step % self.epoch == 0:
                    self.control.should_evaluate = self.control.should_save = True
                    self.call("on_epoch_end")
                    self.evaluate_and_save()
            self.call("on_train_end")


class HuggingFaceCallback(Recording):
    def setUp(self):
        super().setUp()
        self.use(Transformers.modules())

    def test_a_step_is_one_of_the_optimizer(self):
        recording = gh_advise.huggingface.Recorder(steps=2, path="run")
        self.assertIsInstance(recording, Transformers.TrainerCallback)
        Transformers.Trainer(self, [recording]).train(BEFORE + 2)
        self.assertEqual((self.measured("run")["measured_step_ns"], self.measured("run")["samples"]), (STEP_MS * MS, 20))
        self.assertEqual(recording.report.steps.measured_ns, STEP_MS * MS)

    def test_evaluations_and_checkpoints_are_no_part_of_a_step(self):
        for every in ({"eval_steps": 9}, {"save_steps": 9}, {"eval_steps": 6, "save_steps": 9}, {"epoch": 9}):
            recording = gh_advise.huggingface.Recorder(steps=10)
            Transformers.Trainer(self, [recording], **every).train(80)
            self.assertEqual(self.measured()["measured_step_ns"], STEP_MS * MS)
            self.assertEqual(self.measured()["recorded_step_ns"], STEP_MS * MS)
            self.assertIsNotNone(recording.report)

    def test_a_training_that_may_fail_is_put_into_a_with_block(self):
        recording = gh_advise.huggingface.Recorder(steps=10)
        with self.assertRaisesRegex(RuntimeError, "mine"), recording:
            Transformers.Trainer(self, [recording], fails_at=BEFORE + 4).train(80)
        self.assertEqual(self.calls[-1], "end")
        self.assertIn("the loop failed", recording.why_not)

    def test_without_the_library(self):
        self.use({"transformers": None})
        with self.assertRaisesRegex(ImportError, "transformers"):
            gh_advise.huggingface


class Documentation(Recording):
    """The examples of docs/python.md, one after the other. GH_UPDATE_GOLDEN=1 writes what they print
    anew."""

    def test_examples_run_and_print_what_the_page_says(self):
        for report in ("starved.sqlite", "ddp.rank0.pt.trace.json", "ddp.rank1.pt.trace.json"):
            (self.folder / report).symlink_to(fixtures / report)

        test = self

        class Loader:
            def __iter__(self):
                for _ in range(BEFORE + 11):
                    test.ns += STEP_MS * MS
                    yield "inputs", "targets"

        class LightningTrainer(Lightning.Trainer):
            def __init__(self, callbacks, max_steps):
                super().__init__(test, callbacks)
                self.max_steps = max_steps

            def fit(self, model, loader):
                super().fit(self.max_steps)

        class HuggingFaceTrainer(Transformers.Trainer):
            def __init__(self, model, args, train_dataset, callbacks):
                super().__init__(test, callbacks)

            def train(self):
                super().train(100)

        self.use({**Lightning.modules(), **Transformers.modules()})
        sys.modules["lightning.pytorch"].Trainer = LightningTrainer
        sys.modules["transformers"].Trainer = HuggingFaceTrainer
        names = {name: mock.MagicMock() for name in
                 ("model", "optimizer", "loss_of", "evaluate", "arguments", "data")}
        names["loader"] = Loader()
        page = root / "docs/python.md"
        examples = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", page.read_text(encoding="utf-8"), re.DOTALL)
        self.assertGreater(len(examples), 8)
        recordings = []
        for example, printed in examples:
            with self.subTest(example), contextlib.redirect_stdout(io.StringIO()) as out:
                if "pandas" in example and not importlib.util.find_spec("pandas"):
                    continue
                exec(example, names)
                if printed and "GH_UPDATE_GOLDEN" in os.environ:
                    page.write_text(page.read_text(encoding="utf-8").replace(printed, out.getvalue()), encoding="utf-8")
                elif printed:
                    self.assertEqual(out.getvalue(), printed)
                if "recorder" in example:
                    recordings.append(names["recorder"])
        self.assertEqual([r.report is not None for r in recordings], [True] * 4)
        self.assertTrue(names["evaluate"].called)
        self.assertEqual(self.log.getvalue(), "")


class Imports(unittest.TestCase):
    def loaded(self, statement):
        """The modules that a statement imports, in a Python without site-packages."""
        code = f"import sys; sys.path.insert(0, {str(package)!r}); {statement}; print(*sys.modules)"
        return subprocess.run([sys.executable, "-B", "-I", "-S", "-c", code], check=True,
                              capture_output=True, text=True).stdout.split()

    def test_what_watches_a_program_imports_little_while_that_starts(self):
        loaded = self.loaded("from gh_advise import hooks")
        self.assertEqual([name for name in loaded if name.startswith("gh_advise")],
                         ["gh_advise", "gh_advise.hooks"])
        self.assertEqual({"dataclasses", "json", "subprocess", "typing"} & set(loaded), set())

    def test_the_package_imports_what_is_asked_for(self):
        self.assertNotIn("gh_advise.recorder", self.loaded("import gh_advise; gh_advise.check"))
        self.assertNotIn("gh_advise.checking", self.loaded("from gh_advise import Report"))

    def test_names_that_do_not_exist(self):
        with self.assertRaisesRegex(AttributeError, "has no attribute 'chek'"):
            gh_advise.chek
        self.assertLessEqual(set(gh_advise.__all__), set(dir(gh_advise)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
