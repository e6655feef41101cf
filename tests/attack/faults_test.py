#!/usr/bin/python3
"""Takes resources away from the program, or ends it at any moment: faults_test.py PROGRAM FIXTURES

It says what is wrong, and a file that it writes is whole, as it was, or absent.
"""
import json
import os
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

from attack import ENDED, fixtures, program, run

STARVED, KERNEL, TRACE = fixtures / "starved.sqlite", fixtures / "cu-hot-kernel.sqlite", fixtures / "layers-blocks.pt.trace.json"
OLD = "as it was"


def commands(folder):
    return {
        "check": ["check", STARVED, "-q", "--config=none", *(f"--output={folder}/r.{e}" for e in ("html", "json", "sarif"))],
        "scrub": ["scrub", STARVED, "--force", "-o", folder / "s.sqlite"],
        "scrub of a trace": ["scrub", TRACE, "--force", "-o", folder / "t.json"],
        "baseline": ["baseline", STARVED, "--config=none", "-o", folder / "b.json"],
        "digest": ["digest", STARVED, "--config=none", "-o", folder / "d.digest"],
    }


def is_whole(path):
    data = path.read_bytes()
    if data == OLD.encode():
        return True
    if path.suffix == ".sqlite":
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as report:
            return report.execute("pragma integrity_check").fetchone() == ("ok",)
    if path.suffix == ".html":
        return data.rstrip().endswith(b"</html>")
    if path.suffix in (".json", ".sarif"):
        json.loads(data)
    return len(data) > 0


class Faults(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="gh-advise-faults-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def fill(self):
        """Files of before, which a failed run leaves alone."""
        for name in ("r.html", "r.json", "r.sarif", "s.sqlite", "t.json", "b.json", "d.digest"):
            (self.folder / name).write_text(OLD)
        return set(os.listdir(self.folder))

    def check_files(self, known, may_leave=False):
        for path in self.folder.iterdir():
            if path.name in known:
                self.assertTrue(is_whole(path), path.name)
            else:
                self.assertTrue(may_leave, f"{path.name} was left behind")
                path.unlink()

    def test_signals(self):
        # Any moment will do, so no moment is wrong; a seed makes the same ones likely again.
        moments = random.Random(7)
        for command in ("check", "scrub", "scrub of a trace", "baseline", "digest"):
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP) * 2:
                with self.subTest(command=command, signal=number.name):
                    known = self.fill()
                    running = subprocess.Popen(
                        [program, *map(str, commands(self.folder)[command])], stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(self.folder)},
                    )
                    time.sleep(moments.random() * 0.5)
                    running.send_signal(number)
                    self.assertIn(running.wait(), (0, 2, -number))
                    self.check_files(known, may_leave=number == signal.SIGKILL)

    def test_limits(self):
        mib = 1 << 20
        for limit, values in {
            resource.RLIMIT_AS: (60 * mib, 120 * mib, 200 * mib), resource.RLIMIT_NOFILE: (4, 8),
            resource.RLIMIT_FSIZE: (0, 10_000), resource.RLIMIT_STACK: (64 << 10, 256 << 10),
        }.items():
            for value in values:
                for name, arguments in commands(self.folder).items():
                    with self.subTest(limit=limit, value=value, command=name):
                        known = self.fill()
                        done = subprocess.run(
                            [program, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL,
                            preexec_fn=lambda limit=limit, value=value: resource.setrlimit(limit, (value, value)),
                        )
                        # 127: the loader itself found no memory or no descriptor.
                        self.assertIn(done.returncode, ENDED | {127}, done.stderr)
                        if done.returncode:
                            self.assertNotEqual(done.stderr, b"")
                        self.check_files(known)

    def test_streams_that_are_closed_or_full(self):
        for streams in (">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full", "<&- >&- 2>&-", "| true"):
            for arguments in (f"check {KERNEL}", f"layers {KERNEL}", f"top {KERNEL}", f"facts {KERNEL}", "rules", "mcp </dev/null"):
                with self.subTest(streams=streams, arguments=arguments):
                    done = subprocess.run(
                        ["bash", "-c", f'"{program}" {arguments} {streams}; exit ${{PIPESTATUS[0]}}'], capture_output=True
                    )
                    self.assertIn(done.returncode, ENDED, done.stderr)

    def test_many_write_one_ledger(self):
        ledger = self.folder / "ledger.jsonl"
        line = [program, "verify", STARVED, fixtures / "fed.sqlite", "--config=none", f"--ledger={ledger}"]
        for running in [subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(8)]:
            self.assertEqual(running.wait(), 0)
        entries = [json.loads(entry) for entry in ledger.read_text().splitlines()]
        self.assertEqual(len(entries), 8)
        self.assertEqual(run("calibration", ledger).returncode, 0)


unittest.main(argv=["faults"])
