#!/usr/bin/python3
"""Tests what watches a program from within: hooks_test.py

The window is tested on a clock of its own; the hooks on small PyTorch programs on the CPU.
"""
import contextlib
import gc
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import threading
import types
import unittest
import weakref
from unittest import mock

root = pathlib.Path(__file__).resolve().parents[2]
package = root / "engine/package/python"
sys.path.insert(0, str(package))

from gh_advise.capture import NsysCapture, ProfilerRanges  # noqa: E402
from gh_advise.modules import ModuleRanges  # noqa: E402
from gh_advise.window import DONE, RECORDING, START, TIMING, Plan, Window  # noqa: E402

MS = 1_000_000


@contextlib.contextmanager
def aside(window):
    paused_ns = window.pause()
    yield
    window.resume(paused_ns)


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
        with aside(window):
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
        with aside(window):
            self.assertEqual(window.phase, DONE)
        self.assertEqual(window.measured.recorded, 4)
        self.assertIn("evaluation", window.measured.why_short)

    def test_an_evaluation_that_is_recorded_counts_as_no_units_time(self):
        window = self.window(delay=1, units=5)
        self.run_units(window, 22, 50)
        self.run_units(window, 2, 50)
        with aside(window):
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


torch = None
if importlib.util.find_spec("torch"):
    import torch
    import torch.utils.checkpoint
needs_torch = unittest.skipUnless(torch, "PyTorch is missing: apt-get install python3-torch")


class Spans:
    """Ranges that write down how they nest: "Net(embed blocks.0(blocks.0.up))"."""

    def __init__(self):
        self.text, self.open = "", []

    def start(self, name):
        self.text += (" " if self.text and self.text[-1] != "(" else "") + name + "("
        self.open.append(name)
        return name

    def end(self, token):
        assert self.open.pop() == token
        self.text = self.text[:-1] if self.text.endswith("(") else self.text + ")"

    def taken(self):
        assert not self.open, self.open
        text, self.text = self.text, ""
        return text


@needs_torch
class Modules(unittest.TestCase):
    """Modules lie in ranges named by their paths."""

    def setUp(self):
        self.spans = Spans()
        self.unmarked = torch.nn.Module.__call__
        self.ranges = ModuleRanges(self.spans.start, self.spans.end)
        self.ranges.begin()
        self.addCleanup(self.ranges.end)

    class Block(torch.nn.Module if torch else object):
        def __init__(self):
            super().__init__()
            self.norm, self.up = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)

        def forward(self, x):
            return x + self.up(self.norm(x))

    BLOCK = "blocks.{0}(blocks.{0}.norm blocks.{0}.up)".format

    def net(self, forward, **parts):
        """A module with parts and a forward(self, x)."""
        module = type("Net", (torch.nn.Module,), {"forward": forward})()
        for name, part in parts.items():
            setattr(module, name, part)
        return module

    def blocks(self, count=2):
        return torch.nn.ModuleList(self.Block() for _ in range(count))

    def run_through(self, module, x=None):
        """What ranges a call makes."""
        module(torch.ones(2, 4) if x is None else x)
        return self.spans.taken()

    def test_names_are_paths_from_the_outermost_and_nest_as_calls_do(self):
        def forward(net, x):
            for block in net.blocks:
                x = block(x)
            return net.head(x)

        net = self.net(forward, blocks=self.blocks(), head=torch.nn.Linear(4, 3))
        for _ in range(3):
            self.assertEqual(self.run_through(net), f"Net({self.BLOCK(0)} {self.BLOCK(1)} head)")
        # What is called from outside is still known by its path; another model is one of its own.
        self.assertEqual(self.run_through(net.blocks[1]), self.BLOCK(1))
        self.assertEqual(self.run_through(torch.nn.Sequential(self.Block())), "Sequential(0(0.norm 0.up))")
        self.assertEqual(self.run_through(torch.nn.ReLU()), "ReLU")

    def test_a_module_with_two_names_has_the_first_and_may_be_called_within_itself(self):
        def forward(net, x):
            return net.second(net.first(x)) if x.sum() > 100 else net.second(net(x + 100))

        part = torch.nn.Identity()
        net = self.net(forward, first=part, second=part)
        self.assertEqual(self.run_through(net), "Net(Net(first first) first)")

    def test_several_models_each_have_their_own_paths(self):
        generator, critic = self.net(lambda net, x: net.up(x), up=torch.nn.Linear(4, 4)), torch.nn.Sequential(torch.nn.Linear(4, 1))
        both = self.net(lambda net, x: net.critic(net.generator(x)), generator=generator, critic=critic)
        for _ in range(2):
            self.assertEqual(self.run_through(generator), "Net(up)")
            self.assertEqual(self.run_through(critic), "Sequential(0)")
            self.assertEqual(self.run_through(both), "Net(generator(generator.up) critic(critic.0))")

    def test_modules_that_are_made_later_replaced_or_nowhere_registered(self):
        def forward(net, x):
            if not hasattr(net, "late"):
                net.late = torch.nn.ReLU()
            return torch.nn.Softmax(-1)(net.hidden[0](net.late(net.block(x))))

        net = self.net(forward, block=self.Block(), hidden=[self.Block()])
        expected = "Net(block(block.norm block.up) late Block(norm up) Softmax)"
        for _ in range(3):
            self.assertEqual(self.run_through(net), expected)
        net.block = torch.nn.Identity()
        self.assertEqual(self.run_through(net), expected.replace("(block.norm block.up)", ""))

    def test_exceptions_leave_no_range_open(self):
        class Fails(torch.nn.Module):
            def forward(self, x):
                raise ValueError("mine")

        def forward(net, x):
            try:
                net.fails(x)
            except ValueError:
                return net.good(x)

        net = self.net(forward, fails=Fails(), good=torch.nn.Identity())
        self.assertEqual(self.run_through(net), "Net(fails good)")
        with self.assertRaisesRegex(ValueError, "mine"):
            torch.nn.Sequential(self.Block(), Fails())(torch.ones(2, 4))
        self.assertEqual(self.spans.taken(), "Sequential(0(0.norm 0.up) 1)")
        self.assertEqual(self.run_through(net), "Net(fails good)")

    def test_what_backward_computes_again_has_the_same_names(self):
        def forward(net, x):
            for block in net.blocks:
                x = torch.utils.checkpoint.checkpoint(block, x)
            return x

        net = self.net(forward, blocks=self.blocks())
        y = net(torch.ones(2, 4, requires_grad=True))
        self.assertEqual(self.spans.taken(), f"Net({self.BLOCK(0)} {self.BLOCK(1)})")
        y.sum().backward()
        self.assertEqual(self.spans.taken(), f"{self.BLOCK(1)} {self.BLOCK(0)}")

    def test_each_thread_is_in_modules_of_its_own(self):
        inside, go_on = threading.Event(), threading.Event()

        def forward(net, x):
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                go_on.wait(30)
            return net.up(x)

        net = self.net(forward, up=torch.nn.Linear(4, 4))
        other = threading.Thread(target=net, args=(torch.ones(2, 4),))
        other.start()
        inside.wait(30)
        self.spans.open, self.spans.text = [], ""
        self.assertEqual(self.run_through(torch.nn.Sequential(torch.nn.ReLU())), "Sequential(0)")
        self.spans.open = ["Net"]
        go_on.set()
        other.join()
        self.assertEqual(self.spans.taken(), "up)")

    def test_nothing_is_left_behind(self):
        net = self.net(lambda net, x: net.up(x), up=torch.nn.Linear(4, 4))
        self.run_through(net)
        self.assertIsNot(torch.nn.Module.__call__, self.unmarked)
        gone = weakref.ref(net)
        del net
        gc.collect()
        self.assertIsNone(gone())
        self.ranges.end()
        self.ranges.end()
        self.assertIs(torch.nn.Module.__call__, self.unmarked)
        self.assertEqual(self.run_through(self.Block()), "")

    def test_an_end_within_a_forward_ends_its_ranges(self):
        def forward(net, x):
            self.ranges.end()
            return net.up(x)

        self.assertEqual(self.run_through(self.net(forward, up=torch.nn.Linear(4, 4))), "Net")

    def test_who_replaces_the_call_meanwhile_is_left_alone(self):
        marked = torch.nn.Module.__call__
        self.addCleanup(setattr, torch.nn.Module, "__call__", self.unmarked)
        torch.nn.Module.__call__ = theirs = lambda module, *inputs: marked(module, *inputs)
        self.assertEqual(self.run_through(torch.nn.ReLU()), "ReLU")
        self.ranges.end()
        self.assertIs(torch.nn.Module.__call__, theirs)
        self.assertEqual(self.run_through(torch.nn.ReLU()), "")

    def test_ranges_that_fail_leave_the_program_as_it_is(self):
        def fails(*_):
            raise OSError("no ranges here")

        for start, end in ((fails, self.spans.end), (lambda name: name, fails)):
            self.ranges.end()
            self.ranges = ModuleRanges(start, end)
            self.ranges.begin()
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(self.Block()(torch.ones(2, 4)).shape, (2, 4))
            self.assertEqual(said.getvalue(), "gh-advise: cannot name modules any more: no ranges here\n")
            self.assertIs(torch.nn.Module.__call__, self.unmarked)

    def test_what_is_traced_has_no_ranges_in_it(self):
        self.ranges.end()
        self.ranges = ModuleRanges(ProfilerRanges().start, ProfilerRanges().end)
        self.ranges.begin()
        traced = torch.jit.trace(self.Block(), torch.ones(2, 4))
        self.assertNotIn("record_function", str(traced.inlined_graph))
        self.assertEqual(self.run_through(torch.jit.script(self.Block())), "")

    def test_a_forked_child_is_not_marked(self):
        child = os.fork()
        if child == 0:
            os._exit(torch.nn.Module.__call__ is not self.unmarked)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertIsNot(torch.nn.Module.__call__, self.unmarked)


class Nvtx(unittest.TestCase):
    """Modules and operators under Nsight Systems, with PyTorch's calls written down."""

    def setUp(self):
        calls = self.calls = []

        class Operators:
            fails = ""

            def __init__(self, record_shapes):
                self.shapes = record_shapes

            def __enter__(self):
                if self.fails == "enter":
                    raise RuntimeError("there is a profiler already")
                calls.append(f"operators, shapes={self.shapes}")

            def __exit__(self, *_):
                if self.fails == "exit":
                    raise RuntimeError("not on this thread")
                calls.append("no operators")

        class Module:
            def __call__(self):
                pass

            def named_modules(self):
                return [("", self)]

        def call(name):
            return lambda *given: calls.append(" ".join([name, *map(str, given)]))

        runtime = types.SimpleNamespace(cudaProfilerStart=call("start"), cudaProfilerStop=call("stop"))
        self.torch = types.SimpleNamespace(
            nn=types.SimpleNamespace(Module=Module), jit=types.SimpleNamespace(is_tracing=lambda: False),
            cuda=types.SimpleNamespace(is_initialized=lambda: True, cudart=lambda: runtime,
                                       nvtx=types.SimpleNamespace(range_push=call("push"), range_pop=call("pop"))),
            autograd=types.SimpleNamespace(profiler=types.SimpleNamespace(emit_nvtx=Operators)))
        patch = mock.patch.dict(sys.modules, {"torch": self.torch})
        patch.start()
        self.addCleanup(patch.stop)

    def record(self, *options):
        capture = NsysCapture(*options)
        capture.begin()
        self.torch.nn.Module()()
        capture.end()
        self.torch.nn.Module()()
        return capture

    def test_without_layers_there_are_none(self):
        self.assertTrue(self.record().ends_from_any_thread)
        self.assertEqual(self.calls, ["start", "stop"])

    def test_operators_begin_and_end_on_one_thread(self):
        self.assertFalse(self.record(True).ends_from_any_thread)
        self.assertEqual(self.calls, ["start", "operators, shapes=True", "push Module", "pop", "no operators", "stop"])

    def test_modules_alone(self):
        self.assertTrue(self.record(True, False).ends_from_any_thread)
        self.assertEqual(self.calls, ["start", "push Module", "pop", "stop"])

    def test_operators_that_fail_leave_all_else(self):
        for fails, said in (("enter", "cannot record operators: there is a profiler already"),
                            ("exit", "cannot stop to mark operators: not on this thread")):
            self.calls.clear()
            self.torch.autograd.profiler.emit_nvtx.fails = fails
            with contextlib.redirect_stderr(io.StringIO()) as error:
                self.record(True)
            self.assertEqual(error.getvalue(), f"gh-advise: {said}\n")
            self.assertEqual([c for c in self.calls if "operators" not in c], ["start", "push Module", "pop", "stop"])


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


@needs_torch
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

    def modules_of(self, folder):
        """The ranges of a trace that lie in its first step."""
        events = [e for e in events_of(folder / "report.json") if e.get("ph") == "X"]
        step = next(e for e in events if e["name"] == "ProfilerStep#1")
        return [e["name"] for e in sorted(events, key=lambda e: e["ts"]) if step["ts"] <= e["ts"] < step["ts"] + step["dur"]]

    def test_modules_are_recorded_if_layers_are_asked_for_and_only_with_units(self):
        counted = textwrap.dedent(TRAINING).replace("if step == 150: break", """if step == 150: break
    marked.add((step, nn.Module.__call__ is not unmarked))""").replace("torch.manual_seed(0)", "unmarked, marked = nn.Module.__call__, set()")
        counted += "\nprint(sum(is_marked for _, is_marked in marked), nn.Module.__call__ is unmarked)\n"
        for layers in (True, False):
            ran, state = self.run_program(counted, capture="torch", units=5, layers=layers)
            self.assertEqual((ran.returncode, ran.stderr, state["recorded"]), (0, "", 5))
            self.assertEqual(ran.stdout, f"{5 if layers else 0} True\n")
            names = self.modules_of(self.folder)
            self.assertEqual([n for n in names if n in ("Sequential", "0", "1", "2")], ["Sequential", "0", "1", "2"] if layers else [])
            (self.folder / "leader").unlink()

    def test_a_program_that_fails_within_a_module_is_recorded_as_a_whole(self):
        ran, state = self.run_program(textwrap.dedent(TRAINING).replace("nn.ReLU()", "Fails()").replace("model =", """
class Fails(nn.Module):
    steps = 0
    def forward(self, x):
        self.steps += 1
        if self.steps == 40: raise RuntimeError("mine")
        return x
model ="""), capture="torch", delay=5, times=False, units=1000, layers=True)
        self.assertEqual((ran.returncode, state["why_short"]), (1, "the program ended"))
        self.assertIn("RuntimeError: mine", ran.stderr)
        self.assertNotIn("gh-advise", ran.stderr.replace("gh_advise", ""))
        self.assertIn("Sequential", self.modules_of(self.folder))

    def test_ranks_that_do_not_lead_are_marked_while_the_one_that_leads_records(self):
        ran, _ = self.run_program("""
            import os, torch
            class Net(torch.nn.Module):
                def forward(self): pass
            net, optimizer = Net(), torch.optim.SGD()
            flag = os.environ["GH_ADVISE_FOLDER"] + "/recording"
            for step in range(9):
                if step == 3: open(flag, "w").close()
                if step == 6: os.remove(flag)
                print(step)
                net()
                optimizer.step()
        """, before=str(root / "tests/record/small"), environment={"LOCAL_RANK": "1", "FAKE_GPU": "1"}, capture="nsys", layers=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.split("\n"), [
            "0", "1", "2", "3", "operators, shapes=True", "4", "<Net>", "</>", "5", "<Net>", "</>", "6", "<Net>", "</>",
            "no operators any more", "7", "8", ""])

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
