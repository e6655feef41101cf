#!/usr/bin/python3
"""Attacks the gate by what it reads beside the recording: gate_test.py PROGRAM FIXTURES

A baseline that was edited, or a document made to confuse, never lets a regression pass, and never crashes the program.
"""
import copy
import json
import os
import pathlib
import random
import shutil
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


class Gate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="gh-advise-gate-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.file = cls.folder / "baseline.json"
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
