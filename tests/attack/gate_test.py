#!/usr/bin/python3
"""Attacks the gate by what it reads beside the recording: gate_test.py PROGRAM FIXTURES

A baseline that was edited, or a document made to confuse, never lets a regression pass, and never crashes the program.
"""
import bisect
import copy
import json
import os
import pathlib
import random
import shutil
import sqlite3
import tempfile
import unittest

from attack import fixtures, run

STARVED, FED = fixtures / "starved.sqlite", fixtures / "fed.sqlite"
VALUES = [None, 0, -1, 1e308, -1e308, 2**63 - 1, -(2**63), 2**64, "", "x" * 100_000, [], {}, True, [[]],
          "\x1b[31m::error::x", "<script>"]


def places_in(document, place=()):
    """The path of each value in JSON; of long lists, of the first three."""
    if place:
        yield place
    keys = document if isinstance(document, dict) else range(min(len(document), 3)) if isinstance(document, list) else ()
    for key in keys:
        yield from places_in(document[key], (*place, key))


def trace(path, lengths_us, seed):
    """A trace of PyTorch's profiler: steps of three kernels each."""
    noise, now, events = random.Random(seed), 1000.0, []
    for step, length in enumerate(lengths_us):
        began = now
        for _ in range(3):
            correlation = len(events) + 1
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": now, "dur": 2, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": "kernel", "pid": 0, "tid": 7, "ts": now + 4, "dur": round(length / 3 - 1 + noise.uniform(-1, 1) * length / 300, 3),
                           "args": {"device": 0, "stream": 7, "correlation": correlation, "grid": [64, 1, 1], "block": [128, 1, 1]}})
            now += length / 3
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 7, "tid": 7, "ts": began, "dur": now - began - 0.5})
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], "traceEvents": events}))
    return path


def moved(report, path, when, process=None):
    """A copy of an export in which each moment is another; with `process`, each moment of that one."""
    shutil.copy(report, path)
    with sqlite3.connect(path) as export:
        export.create_function("moved", 1, lambda at: None if at is None else when(at))
        for (table,) in export.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'ANALYSIS_DETAILS'").fetchall():
            columns = {column[1] for column in export.execute(f'PRAGMA table_info("{table}")')}
            where = next((f"WHERE {column} >> 24 = {process}" for column in columns & {"globalTid", "globalPid"}), "") if process else ""
            for column in columns & {"start", "end"} if "start" in columns else ():
                export.execute(f'UPDATE "{table}" SET "{column}" = moved("{column}") {where}')
    return path


def longer(cuts, ns):
    """For moved(): so much more time at each of these moments, and a clock that is a little off, so that it is no copy."""
    return lambda at: int(at * 1.001) + ns * bisect.bisect_right(cuts, at)


def steps_of(report):
    with sqlite3.connect(report) as export:
        return export.execute(
            "SELECT CAST(substr(name, 6) AS INTEGER), start, end, globalTid FROM "
            "(SELECT *, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS name FROM NVTX_EVENTS) WHERE name LIKE 'step %' ORDER BY start"
        ).fetchall()


def renamed(report, condition):
    with sqlite3.connect(report) as export:
        export.execute(f"UPDATE NVTX_EVENTS SET text = 'late ' || text WHERE text LIKE 'step %' AND {condition}")


class Scratch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="gh-advise-gate-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.file = cls.folder / "baseline.json"


class Merge(Scratch):
    """What a merge may contain, while baseline and configuration are those of the base branch."""

    def baseline(self, report):
        self.assertEqual(run("baseline", report, "-o", self.file, "--config=none").returncode, 0)

    def gate(self, report, *more):
        return run("gate", report, f"--baseline={self.file}", *(more or ["--config=none"]), text=True)

    def test_a_slow_step_among_more_than_are_kept(self):
        count = 2002
        self.baseline(trace(self.folder / "base.json", [1000] * count, 1))
        for every, length in ((2, 3000), (3, 10_000)):
            for phase in range(every):
                with self.subTest(every=every, phase=phase):
                    slow = trace(self.folder / "slow.json", [length if i % every == phase else 1000 for i in range(count)], 2)
                    self.assertNotEqual(self.gate(slow).returncode, 0)
        for phase in (100, 350, 600):
            with self.subTest(rare=phase):
                slow = trace(self.folder / "slow.json", [150_000 if i % 1000 == phase else 1000 for i in range(count)], 2)
                self.assertNotEqual(self.gate(slow).returncode, 0)

    def test_exceptions_for_the_same_time_do_not_add_up(self):
        report = fixtures / "offload-pageoff.sqlite"
        self.baseline(fixtures / "good.sqlite")
        config = self.folder / "accepted.toml"
        config.write_text("")
        accept = ["--accept", "offload-sync-gap", "--accept", "pageable-memcpy", "--reason", "known"]
        self.assertEqual(self.gate(report, f"--config={config}", *accept).returncode, 0)
        self.assertEqual(self.gate(report, f"--config={config}").returncode, 0)
        ends = [end for _, _, end, _ in steps_of(report)][:-1]
        slower = moved(report, self.folder / "slower.sqlite", longer(ends, 3_500_000_000))
        self.assertEqual(self.gate(slower, f"--config={config}").returncode, 1)

    def test_slow_steps_under_another_name(self):
        self.baseline(fixtures / "good.sqlite")
        cuts = [(start + end) // 2 for step, start, end, _ in steps_of(FED) if step > 6]
        slow = moved(FED, self.folder / "late.sqlite", longer(cuts, 100_000_000))
        self.assertNotEqual(self.gate(slow).returncode, 0)
        renamed(slow, "CAST(substr(text, 6) AS INTEGER) >= 6")
        done = self.gate(slow)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, r"^Cannot tell: the mean step takes .*: a few\s+steps take far longer")
        for early in (3, 4, 5, 6):
            with self.subTest(early=early):
                cuts = [(start + end) // 2 for step, start, end, _ in steps_of(FED) if step < early]
                slow = moved(FED, self.folder / "early.sqlite", longer(cuts, 100_000_000))
                renamed(slow, f"CAST(substr(text, 6) AS INTEGER) < {early}")
                self.assertNotEqual(self.gate(slow).returncode, 0)

    def test_a_rank_that_marks_fewer_steps(self):
        report = fixtures / "ddp.sqlite"
        self.baseline(report)
        steps = steps_of(report)
        last = max(step for step, *_ in steps)
        start, end = next((start, end) for step, start, end, _ in steps if step == last)
        cuts = [start + (end - start) * part // 5 for part in range(1, 5)]
        slow = moved(report, self.folder / "slow.sqlite", longer(cuts, 100_000_000))
        self.assertNotEqual(self.gate(slow).returncode, 0)
        thread = next(thread for *_, thread in steps)
        renamed(slow, f"globalTid = {thread} AND CAST(substr(text, 6) AS INTEGER) >= {last - 1}")
        self.assertNotEqual(self.gate(slow).returncode, 0)

    def test_one_gpu_that_becomes_slow(self):
        # Two that wait for each other in the recording, and then no more: the mean grows by less than counts.
        report = fixtures / "ddp.sqlite"
        self.baseline(report)
        process = steps_of(report)[0][3] >> 24
        slow = moved(moved(report, self.folder / "copy.sqlite", lambda at: int(at * 1.001)), self.folder / "slow.sqlite", lambda at: int(at * 1.05), process)
        done = self.gate(slow)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stdout, "on the slowest\\s+GPU")
        # Of three steps no test can prove that they are longer.
        steps = [step for step, *_ in steps_of(report)]
        few = ["--config=none", f"--steps={max(steps) - 2}:{max(steps)}"]
        self.assertEqual(run("baseline", report, "-o", self.file, *few).returncode, 0)
        self.assertEqual(self.gate(slow, *few).returncode, 2)
        self.baseline(slow)
        self.assertEqual(self.gate(moved(slow, self.folder / "same.sqlite", lambda at: int(at * 1.001))).returncode, 0)

    def test_a_long_start(self):
        self.baseline(trace(self.folder / "base.json", [1000] * 40, 1))
        self.assertEqual(self.gate(trace(self.folder / "short.json", [1000] * 20, 4)).returncode, 0)
        self.assertEqual(self.gate(trace(self.folder / "first.json", [9000] + [1000] * 40, 5)).returncode, 0)
        self.assertEqual(self.gate(trace(self.folder / "same.json", [1000] * 40, 2)).returncode, 0)
        self.assertEqual(self.gate(trace(self.folder / "long.json", [50_000] * 10 + [1000] * 30, 3)).returncode, 2)

    def test_a_measured_step_that_no_profiler_explains(self):
        # The base is as long, so only the finding fails.
        self.baseline(moved(fixtures / "good.sqlite", self.folder / "base.sqlite", lambda at: int(at * 3.48)))
        report = self.folder / "run.sqlite"
        shutil.copy(STARVED, report)
        self.assertEqual(self.gate(report).returncode, 1)
        beside = self.folder / "run.measured.json"
        beside.write_text('{"schema_version":1,"unit":"step","measured_step_ns":46000000}')
        self.assertNotEqual(self.gate(report).returncode, 0)
        beside.unlink()

    def test_a_configuration_above_the_checkout(self):
        self.baseline(fixtures / "good.sqlite")
        checkout = self.folder / "work/checkout"
        checkout.mkdir(parents=True)
        (checkout.parent / "gh-advise.toml").write_text('[[accept]]\nrule = "budget"\nsubject = "*"\nreason = "x"\n[[accept]]\nrule = "data-loader-starvation"\nsubject = "*"\nreason = "x"\n')
        line = ["gate", STARVED, f"--baseline={self.file}"]
        for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
            with self.subTest(name):
                self.assertEqual(run(*line, cwd=checkout, env={**os.environ, name: str(checkout)}).returncode, 1)

    def test_names_behind_dashes_are_names(self):
        self.baseline(fixtures / "good.sqlite")
        for name in ("--help", "-h", "--version", "--config=none"):
            with self.subTest(name):
                done = run("gate", f"--baseline={self.file}", "--config=none", STARVED, "--", name, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"{name}: no such file", done.stderr)
        self.assertEqual(run("check", FED, "--config=none", "--", STARVED, "-q").returncode, 2)
        self.assertEqual(run("check", FED, "--config=none", "--", STARVED).returncode, 0)


class Gate(Scratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        assert run("baseline", fixtures / "good.sqlite", "-o", cls.file, "--config=none").returncode == 0
        cls.text = cls.file.read_text()

    def gate(self, text, report=STARVED):
        self.file.write_text(text)
        return run("gate", report, f"--baseline={self.file}", "--config=none").returncode

    def test_edited(self):
        self.assertEqual(self.gate(self.text), 1)
        baseline, choose = json.loads(self.text), random.Random(11)
        places = list(places_in(baseline))
        for _ in range(60):
            place, value, gone = choose.choice(places), choose.choice(VALUES), choose.random() < 0.3
            with self.subTest(place=place, value="gone" if gone else value):
                edited = copy.deepcopy(baseline)
                holder = edited
                for key in place[:-1]:
                    holder = holder[key]
                if gone:
                    del holder[place[-1]]
                else:
                    holder[place[-1]] = value
                if edited != baseline:
                    self.assertEqual(self.gate(json.dumps(edited)), 2)

    def test_no_baseline_at_all(self):
        for name, text in {
            "deep list": "[" * 200_000, "deep table": '{"a":' * 200_000, "NaN": self.text.replace(": 4", ": NaN", 1),
            "beyond double": self.text.replace('"schema_version": ', '"schema_version": 1e999', 1),
            "twice": self.text.rstrip()[:-1] + ',"captures":[]}', "cut": self.text[:-100], "empty": "", "null": "null",
            "list": "[]", "zeros": "\0" * 1000, "long text": json.dumps({"x": "A" * 20_000_000}),
        }.items():
            with self.subTest(name):
                self.assertEqual(self.gate(text), 2)
                for command in (["diff", self.file, STARVED], ["fleet", self.file]):
                    self.assertEqual(run(*command).returncode, 2, command)
                run("calibration", self.file)  # to which an empty file is a ledger without entries

    def test_a_measured_step_that_lies(self):
        report = self.folder / "s.sqlite"
        shutil.copy(STARVED, report)
        beside = self.folder / "s.measured.json"
        form = '{"schema_version":1,"unit":"step","measured_step_ns":%s,"samples":20,"recorded_step_ns":164000000}'
        for text in [form % v for v in ("1", "0", "-5", "1e308", str(2**63 - 1), "1e999", "NaN", '"x"', "1000")] + ["{}", "[]", "x", "[" * 100_000]:
            with self.subTest(text[:100]):
                beside.write_text(text)
                self.assertNotEqual(self.gate(self.text, report), 0)
                self.assertNotEqual(run("check", report, "--fail-on=warning", "-q", "--config=none").returncode, 0)

    def test_names(self):
        self.file.write_text(self.text)
        names = ["[fed.sqlite]", "[fed.sqlite,fed.sqlite]", "-fed.sqlite", "--help", "--color=never", "@fed.sqlite",
                 "fed.sqlite ", "*.sqlite", "~", "{fed.sqlite}", "fed.sqlite\n", "$(fed.sqlite)", "%s%s%n", "\x1b[2Jx",
                 "::error::x", "é\u202e", os.fsdecode(b"\xff\xfe")]
        shutil.copy(FED, self.folder / "fed.sqlite")
        for name in names:
            with self.subTest(name):
                (self.folder / name).symlink_to(STARVED)
                done = run("gate", f"--baseline={self.file}", "--config=none", "--", name, cwd=self.folder)
                self.assertEqual(done.returncode, 1, done.stderr)
                (self.folder / name).unlink()


unittest.main(argv=["gate"])
