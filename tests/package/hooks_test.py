#!/usr/bin/python3
"""Tests what watches a program from within: hooks_test.py

The window is tested on a clock of its own; the hooks on small PyTorch programs on the CPU.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
package = root / "engine/package/python"
sys.path.insert(0, str(package))

from gh_advise.window import DONE, RECORDING, START, TIMING, Plan, Window  # noqa: E402

MS = 1_000_000


class Clock:
    """A clock that goes on when told to."""

    def __init__(self):
        self.ns = 1

    def __call__(self):
        return self.ns


class Log:
    """A capture that writes down what happens, and takes a millisecond to synchronize."""

    ends_from_any_thread = True

    def __init__(self, clock):
        self.clock, self.calls = clock, []

    def synchronize(self):
        self.clock.ns += MS
        self.calls.append("synchronize")

    def begin(self):
        self.calls.append("begin")

    def end(self):
        self.calls.append("end")


class Windows(unittest.TestCase):
    def window(self, **plan):
        self.clock = Clock()
        self.log = Log(self.clock)
        self.phases = []
        return Window(self.log, Plan(**plan), lambda w: self.phases.append(w.phase), self.clock)

    def run_units(self, window, count, ms=100):
        for _ in range(count):
            self.clock.ns += int(ms * MS)
            window.unit_ended()

    def test_units_pass_until_they_take_equally_long_then_are_timed_then_recorded(self):
        window = self.window(units=10)
        self.run_units(window, 1)
        for ms in (900, 500, 300):
            self.run_units(window, 1, ms)
        self.assertEqual(window.phase, START)
        self.run_units(window, 5)
        self.assertEqual(window.phase, TIMING)
        self.run_units(window, 20, 50)
        self.assertEqual(window.phase, RECORDING)
        self.run_units(window, 9, 70)
        self.assertEqual(window.phase, RECORDING)
        self.run_units(window, 1, 70)
        self.assertEqual(window.phase, DONE)
        self.assertEqual(self.phases, [TIMING, RECORDING, DONE])
        self.assertEqual(self.log.calls, ["synchronize", "synchronize", "begin", "synchronize", "end"])

    def test_what_a_unit_takes_includes_the_work_that_is_waited_for_at_the_end(self):
        window = self.window(delay=2, units=3)
        self.run_units(window, 3)
        self.run_units(window, 20, 50)
        self.assertEqual(len(window.measured.unit_ns), 20)
        self.assertEqual(window.measured.timed_ns, 20 * 50 * MS + MS)
        self.run_units(window, 3, 70)
        self.assertEqual(window.measured.recorded, 3)
        self.assertEqual(window.measured.recorded_ns, 3 * 70 * MS + MS)

    def test_short_units_are_timed_for_long_enough_and_long_ones_not_for_hours(self):
        window = self.window(delay=1)
        self.run_units(window, 2, 1)
        self.run_units(window, 59, 1)
        self.assertEqual(window.phase, TIMING)
        self.run_units(window, 1, 1)
        self.assertEqual(window.phase, RECORDING)
        window = self.window(delay=1)
        self.run_units(window, 2, 60_000)
        self.run_units(window, 3, 60_000)
        self.assertEqual(window.phase, RECORDING)

    def test_a_program_whose_units_never_settle_is_timed_all_the_same(self):
        window = self.window()
        for unit in range(51):
            self.run_units(window, 1, 10 if unit % 2 else 100)
        self.assertEqual(window.phase, TIMING)

    def test_an_evaluation_counts_neither_as_a_unit_nor_as_part_of_one(self):
        window = self.window(delay=1)
        self.run_units(window, 2)
        self.run_units(window, 10, 50)
        with window.aside():
            self.clock.ns += 10_000 * MS
        self.run_units(window, 10, 50)
        self.assertEqual(window.phase, RECORDING)
        # The evaluation, but for the wait before it, is taken out.
        self.assertEqual(window.measured.timed_ns, 20 * 50 * MS + 2 * MS)
        self.assertLess(max(window.measured.unit_ns), 52 * MS)

    def test_an_evaluation_ends_a_recording_that_has_enough(self):
        window = self.window(delay=1)
        self.run_units(window, 22, 50)
        self.run_units(window, 4, 50)
        with window.aside():
            self.assertEqual(window.phase, DONE)
        self.assertEqual(window.measured.recorded, 4)
        self.assertIn("evaluation", window.measured.why_short)

    def test_an_evaluation_that_is_recorded_counts_as_no_units_time(self):
        window = self.window(delay=1, units=5)
        self.run_units(window, 22, 50)
        self.run_units(window, 2, 50)
        with window.aside():
            self.assertEqual(window.phase, RECORDING)
            self.clock.ns += 10_000 * MS
        self.run_units(window, 3, 50)
        self.assertEqual(window.measured.recorded, 5)
        # The evaluation, but for the wait before it, is taken out; the end is waited for.
        self.assertEqual(window.measured.recorded_ns, 5 * 50 * MS + MS + MS)

    def test_a_unit_that_never_ends_does_not_record_for_ever(self):
        window = self.window(delay=1, most_recording_s=0.05)
        self.run_units(window, 22, 50)
        self.assertEqual(window.phase, RECORDING)
        window._watchdog.join(10)
        self.assertEqual(window.phase, DONE)
        self.assertEqual(window.measured.why_short, "it was ended after 0.05 s")

    def test_a_surer_unit_begins_anew_but_never_once_it_is_recorded(self):
        window = self.window(delay=1)
        self.run_units(window, 10)
        window.start_again()
        self.assertEqual((window.phase, window.measured.passed), (START, 0))
        self.run_units(window, 22, 50)
        window.start_again()
        self.assertEqual(window.phase, RECORDING)

    def test_no_units_to_record_means_only_timing(self):
        window = self.window(delay=1, units=0)
        self.run_units(window, 22, 50)
        self.assertEqual(window.phase, DONE)
        self.assertNotIn("begin", self.log.calls)


LOOP = """
    import os, sys, torch
    from torch import nn
    torch.manual_seed(0)
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 100000
        def __getitem__(self, i): return torch.full((32,), i % 7 / 7.0), i % 10
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    loader = torch.utils.data.DataLoader(Data(), batch_size=16)
"""
TRAINING = LOOP + """
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, (x, y) in enumerate(loader):
        if step == 150: break
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def events_of(path):
    """The events of a trace. Versions of PyTorch without Kineto write nothing but the list."""
    trace = json.loads(path.read_text())
    return trace if isinstance(trace, list) else trace["traceEvents"]


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is missing: apt-get install python3-torch")
class Programs(unittest.TestCase):
    """Small programs, unchanged."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, source, arguments=(), before="", python=("-B",), environment=None, **settings):
        (self.folder / "settings.json").write_text(json.dumps(settings))
        program = self.folder / "program.py"
        program.write_text(textwrap.dedent(source))
        path = [str(package / "hooks"), str(package)] + ([before] if before else [])
        ran = subprocess.run(
            ["/usr/bin/python3", *python, str(program), *arguments], capture_output=True, text=True, timeout=120,
            env={**os.environ, "GH_ADVISE_FOLDER": str(self.folder), "PYTHONPATH": ":".join(path), **(environment or {})})
        state = self.folder / "state.json"
        return ran, json.loads(state.read_text()) if state.exists() else {}

    def test_training_is_timed_and_recorded_by_optimizer_steps(self):
        ran, state = self.run_program(TRAINING, capture="torch", units=5)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual((state["phase"], state["unit"], state["recorded"]), (DONE, "optimizer step", 5))
        self.assertGreaterEqual(len(state["unit_ns"]), 20)
        names = [event.get("name") for event in events_of(self.folder / "report.json")]
        self.assertEqual(len({name for name in names if str(name).startswith("ProfilerStep#")}), 5)
        for name in ("dataloader", "forward", "backward", "optimizer"):
            self.assertGreaterEqual(names.count(name), 5, name)

    def test_inference_is_counted_by_batches(self):
        ran, state = self.run_program(LOOP + """
            with torch.no_grad():
                for step, (x, y) in enumerate(loader):
                    if step == 150: break
                    model(x)
        """.replace("    " * 3, "    "), capture="none")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual((state["phase"], state["unit"]), (DONE, "batch"))

    def test_micro_batches_are_part_of_a_step_and_one_of_two_optimizers_counts(self):
        ran, state = self.run_program(LOOP + """
            ours = [torch.optim.SGD(model.parameters(), lr=1e-3), torch.optim.AdamW(model.parameters())]
            for step, (x, y) in enumerate(loader):
                if step == 400: break
                nn.functional.cross_entropy(model(x), y).backward()
                if step % 4 == 3:
                    for optimizer in ours: optimizer.step()
        """.replace("    " * 3, "    "), capture="none", delay=10)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual((state["phase"], state["unit"]), (DONE, "optimizer step"))
        # 100 steps; if both optimizers counted, or micro-batches, there would be more.
        self.assertLessEqual(state["passed"], 99)

    def test_a_closure_is_not_the_optimizers_time(self):
        ran, state = self.run_program(LOOP + """
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
            def closure():
                loss = model(torch.ones(4, 32)).sum()
                loss.backward()
                return loss
            for step in range(100): optimizer.step(closure)
        """.replace("    " * 3, "    "), capture="torch", units=3)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        events = events_of(self.folder / "report.json")
        of = {name: [e for e in events if e.get("name") == name and e.get("ph") == "X"] for name in ("backward", "optimizer")}
        self.assertEqual(len(of["optimizer"]), 3)
        for optimizer, backward in zip(of["optimizer"], of["backward"]):
            self.assertGreaterEqual(optimizer["ts"], backward["ts"] + backward["dur"])

    def test_losses_of_the_first_steps_are_kept_when_nothing_is_recorded(self):
        _, first = self.run_program(TRAINING, capture="none")
        (self.folder / "leader").unlink()
        _, second = self.run_program(TRAINING, capture="none")
        self.assertEqual(len(first["losses"]), 10)
        self.assertEqual(first["losses"], second["losses"])

    def test_workers_are_added_to_a_loader_that_has_none_and_to_no_other(self):
        _, state = self.run_program(TRAINING, capture="none", fixes=["loader-workers"])
        self.assertEqual(state["applied"], ["loader-workers"])
        (self.folder / "leader").unlink()
        _, state = self.run_program(TRAINING.replace("batch_size=16", "batch_size=16, num_workers=1"),
                                    capture="none", fixes=["loader-workers"])
        self.assertEqual((state["phase"], state["applied"]), (DONE, []))

    def test_a_fix_that_does_not_fit_leaves_the_program_as_it_is(self):
        ran, state = self.run_program(TRAINING.replace("AdamW(model.parameters(), lr=1e-3)", "AdamW(iter(model.parameters()))"),
                                      capture="none", fixes=["fused-optimizer", "pin-memory", "sdpa"])
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual((state["phase"], state["applied"]), (DONE, []))

    def test_a_program_that_ends_early_says_how_far_it_came(self):
        ran, state = self.run_program(TRAINING.replace("step == 150", "step == 4"), capture="torch")
        self.assertEqual((ran.returncode, state["phase"], state["passed"]), (0, START, 3))
        self.assertFalse((self.folder / "report.json").exists())

    def test_a_crash_while_it_is_recorded_leaves_a_whole_trace_and_the_programs_own_error(self):
        ran, state = self.run_program(TRAINING.replace("loss.backward()", "loss.backward()\n        if step == 120: raise RuntimeError('mine')"),
                                      capture="torch", delay=5, units=1000)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("RuntimeError: mine", ran.stderr)
        self.assertEqual((state["phase"], state["why_short"]), (DONE, "the program ended"))
        self.assertNotEqual(events_of(self.folder / "report.json"), [])

    def test_a_full_disk_does_not_end_the_program(self):
        full = "import builtins, os\n" + textwrap.dedent("""
            whole = builtins.open
            def open(path, mode="r", *rest, **more):
                if "w" in mode: raise OSError(28, "No space left on device")
                return whole(path, mode, *rest, **more)
            builtins.open = open
        """)
        ran, state = self.run_program(full + textwrap.dedent(TRAINING) + "\nprint('through')", capture="none")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr, state), (0, "through\n", "", {}))

    def test_a_trace_that_cannot_be_written_harms_no_checkpoint(self):
        ran, _ = self.run_program(textwrap.dedent(TRAINING) + textwrap.dedent("""
            import io
            def fails(*_): raise OSError(28, "No space left on device")
            torch.profiler.profile.export_chrome_trace = fails
            for _ in range(100):
                optimizer.step()
                torch.save(1, io.BytesIO())
            print("through")
        """), capture="torch", units=500, delay=100)
        self.assertEqual((ran.returncode, ran.stdout), (0, "through\n"), ran.stderr)
        self.assertIn("cannot go on watching: [Errno 28]", ran.stderr)

    def test_a_checkpoint_of_another_thread_goes_on_beside_the_units(self):
        ran, state = self.run_program(textwrap.dedent(TRAINING) + textwrap.dedent("""
            import io, threading
            begun, go_on = threading.Event(), threading.Event()
            class Slow(io.BytesIO):
                def write(self, data):
                    begun.set()
                    go_on.wait()
                    return super().write(data)
            saver = threading.Thread(target=lambda: torch.save(1, Slow()))
            saver.start()
            begun.wait()
            for _ in range(100): optimizer.step()
            go_on.set()
            saver.join()
        """), capture="none", delay=100)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(state["phase"], DONE)

    def test_a_step_of_a_base_class_is_part_of_the_step(self):
        ran, state = self.run_program("""
            import torch
            class Mine(torch.optim.SGD):
                def step(self, closure=None): return super().step(closure)
            parameter = torch.nn.Parameter(torch.zeros(3))
            torch.optim.SGD([parameter], lr=1)
            optimizer = Mine([parameter], lr=1)
            for _ in range(11): optimizer.step()
        """, capture="none", delay=100)
        self.assertEqual((ran.stderr, state["passed"]), ("", 10))

    def test_if_the_optimizer_is_replaced_the_next_one_ends_units(self):
        ran, state = self.run_program("""
            import torch
            parameter = torch.nn.Parameter(torch.zeros(3))
            for _ in range(3):
                optimizer = torch.optim.SGD([parameter], lr=1)
                for _ in range(5): optimizer.step()
                del optimizer
        """, capture="none", delay=100)
        self.assertEqual((ran.stderr, state["passed"]), ("", 14))

    def test_how_far_a_program_came_is_known_if_it_dies_at_once(self):
        ran, state = self.run_program("""
            import os, torch
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(3))], lr=1)
            for _ in range(9): optimizer.step()
            os._exit(3)
        """, capture="none", delay=100)
        self.assertEqual((state["phase"], state["unit"], state["passed"]), (START, "optimizer step", 8))

    def test_a_fix_that_fails_leaves_groups_of_parameters_as_they_are(self):
        ran, _ = self.run_program("""
            import torch
            group = {"params": [torch.nn.Parameter(torch.zeros(3, dtype=torch.int8), requires_grad=False)], "lr": 2.0}
            optimizer = torch.optim.AdamW([group], lr=1)
            print(optimizer.param_groups[0]["lr"], bool(optimizer.param_groups[0].get("fused")))
        """, capture="none", fixes=["fused-optimizer"])
        self.assertEqual((ran.stdout, ran.stderr), ("2.0 False\n", ""))

    def test_forked_children_do_not_count_and_are_not_harmed(self):
        ran, state = self.run_program(textwrap.dedent(TRAINING) + textwrap.dedent("""
            child = os.fork()
            if child == 0:
                for _ in range(50): optimizer.step()
                os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """), capture="none")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "7\n", ""))
        self.assertEqual(state["phase"], DONE)

    def test_the_users_own_sitecustomize_still_runs(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/sitecustomize.py").write_text("import sys; sys.mine = 42")
        ran, _ = self.run_program("import sys; print(sys.mine)", before=str(self.folder / "mine"), capture="none")
        self.assertEqual(ran.stdout, "42\n")

    def test_a_program_without_pytorch_is_left_alone(self):
        ran, state = self.run_program("import sys; print('torch' in sys.modules)", capture="nsys")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr, state), (0, "False\n", "", {}))


if __name__ == "__main__":
    unittest.main()
