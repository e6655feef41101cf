#!/usr/bin/python3
"""Reports made to cost memory or time: limits_test.py PROGRAM FIXTURES

Each is small, and the program has to end by itself within memory and processor time that are far below what the report would cost if a product
of two of its counts (GPUs and calls, ids and rows, ...) had no bound.
"""
import gzip
import hashlib
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import unittest

import attack
from attack import fixtures

MEMORY_BYTES = 1 << 29  # ordinary reports of this size take a quarter of it
CPU_SECONDS = 30  # all of them take a few
COMMANDS = (["check"], ["facts"])
PROCESS = 7 << 24  # as Nsight Systems numbers it: the process's number in the upper bits
THREAD = PROCESS | 7
KERNEL, LAUNCH = 1, 2  # ids in StringIds
EXTREME = (-(1 << 63), -1, 0, 1, 1 << 61, (1 << 63) - 301)


def run(command, report, *more):
    return attack.run(*command, report, "--config=none", "--threads=2", *more, limits=attack.limited(MEMORY_BYTES, CPU_SECONDS), text=True)


class Export:
    """An export of Nsight Systems with a kernel for each launch, a microsecond apart."""

    def __init__(self, path):
        self.path = path
        shutil.copyfile(fixtures / "launchbound.sqlite", path)
        self.db = sqlite3.connect(path)
        kept = ("StringIds", "META_DATA", "TARGET_INFO", "ANALYSIS")
        for (table,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not table.startswith(kept):
                self.db.execute(f'DELETE FROM "{table}"')
        self.insert("StringIds", [{"id": KERNEL, "value": "kernel(float*)"}, {"id": LAUNCH, "value": "cudaLaunchKernel"}], "OR REPLACE ")

    def insert(self, table, rows, how=""):
        columns = [c[1] for c in self.db.execute(f"PRAGMA table_info({table})")]
        self.db.executemany(f"INSERT {how}INTO {table} VALUES ({','.join('?' * len(columns))})", ([row.get(c, 1) for c in columns] for row in rows))

    def launch(self, count, device=lambda i: 0, name=lambda i: KERNEL, start=lambda i: 1_000_000 + 1000 * i, thread=lambda i: THREAD):
        """`count` launches; the functions tell of each."""
        calls = ({"start": start(i), "end": start(i) + 300, "globalTid": thread(i), "correlationId": i + 1, "nameId": LAUNCH, "returnValue": 0} for i in range(count))
        kernels = (
            {"start": 1_010_000 + 1000 * i, "end": 1_010_600 + 1000 * i, "deviceId": device(i), "globalPid": PROCESS, "streamId": 7, "correlationId": i + 1, "demangledName": name(i), "shortName": name(i), "graphNodeId": None, "graphId": None}
            for i in range(count)
        )
        self.insert("CUPTI_ACTIVITY_KIND_RUNTIME", calls)
        self.insert("CUPTI_ACTIVITY_KIND_KERNEL", kernels)
        return self

    def done(self):
        self.db.commit()
        self.db.close()
        return self.path


def trace(path, count, device):
    """A trace of PyTorch's profiler with a kernel for each launch."""
    events = []
    for i in range(count):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 10 * i, "dur": 3, "args": {"correlation": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": "kernel", "pid": device(i), "tid": 7, "ts": 10 * i + 5, "dur": 6, "args": {"device": device(i), "stream": 7, "correlation": i + 1}})
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gh-advise-limits-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def export(self):
        return Export(self.folder / "report.sqlite")

    def ends(self, report, commands=COMMANDS):
        """Every command answers or refuses."""
        for command in commands:
            with self.subTest(command=command[0]):
                ran = run(command, report)
                for starved in ("bad_alloc", "memory", "CPU time"):
                    self.assertNotIn(starved, ran.stderr)

    def is_refused(self, report, why):
        for command in COMMANDS:
            with self.subTest(command=command[0]):
                ran = run(command, report)
                self.assertEqual(ran.returncode, 2)
                self.assertIn(why, ran.stderr)

    def test_more_gpus_than_a_machine_has_are_refused(self):
        self.is_refused(self.export().launch(4000, device=lambda i: i % 2000).done(), "contains more than 512 GPUs")
        self.is_refused(trace(self.folder / "trace.json", 4000, lambda i: i % 2000), "contains more than 512 GPUs")

    def test_gpus_times_calls(self):
        self.ends(self.export().launch(20_000, device=lambda i: i % 400).done())
        self.ends(trace(self.folder / "trace.json", 20_000, lambda i: i % 400), [["facts"]])

    def test_gpus_times_idle_time(self):
        ran = run(["check", "--select=launch-bound"], self.export().launch(40_000, device=lambda i: i % 400).done())
        self.assertNotIn("failed", ran.stderr)

    def test_gpus_times_steps(self):
        export = self.export().launch(20_000, device=lambda i: i % 400)
        steps = ({"start": 999_000 + 400_000 * i, "end": 1_398_000 + 400_000 * i, "eventType": 59, "text": f"step {i}", "textId": None, "globalTid": THREAD, "domainId": 0} for i in range(50))
        export.insert("NVTX_EVENTS", steps)
        self.ends(export.done())

    def test_ids_without_a_key(self):
        export = self.export()
        export.db.executescript("CREATE TABLE t AS SELECT id, value FROM StringIds; DROP TABLE StringIds; ALTER TABLE t RENAME TO StringIds")
        export.insert("StringIds", ({"id": 10_000_000 + i, "value": f"kernel_{i}(float*)"} for i in range(30_000)))
        report = export.launch(30_000, name=lambda i: 10_000_000 + i).done()
        self.ends(report)
        ran = run(["top", "--by", "kernel", "--format", "json"], report)
        self.assertIn("kernel_", ran.stdout)

    def test_threads_times_calls(self):
        self.ends(self.export().launch(20_000, thread=lambda i: PROCESS | (i % 10_000)).done())

    def test_times_that_cannot_be_true(self):
        self.ends(self.export().launch(1000, start=lambda i: EXTREME[i % len(EXTREME)]).done())
        ran = run(["check", "--format", "json"], self.export().launch(5000, start=lambda i: 0).done())
        report = json.loads(ran.stdout)["reports"][0]
        self.assertEqual(report["clean"], [])
        self.assertIn("begin at the same time", ran.stdout)

    def test_ranks_times_causes(self):
        digest = self.folder / "job.digest"
        attack.run("digest", fixtures / "launchbound.sqlite", "--config=none", "-o", digest)
        job = json.loads(gzip.decompress(digest.read_bytes()))
        rank = job["ranks"][0] | {"findings": [], "facts": {}, "rules": {}, "plan": None}
        cause = rank["account"][0]

        def fleet(causes):
            """Of ranks that each name four causes, of so many in all."""
            job["ranks"] = [rank | {"rank": i, "account": [cause | {"cause": f"compute.own{(4 * i + c) % causes}"} for c in range(4)]} for i in range(8000)]
            digest.write_bytes(gzip.compress(json.dumps(job).encode()))
            return attack.run("fleet", digest, "--config=none", limits=attack.limited(MEMORY_BYTES, CPU_SECONDS), text=True)

        self.assertEqual(fleet(200).returncode, 0)
        refused = fleet(32_000)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is not an intact digest: with those before it, the accounts of the job name more than 271 causes", refused.stderr)

    def scrubbed(self, variables, text):
        """What is left of a text, and what the program said. It has 300 MiB, address space and all."""
        export = self.export()
        export.insert("META_DATA_CAPTURE", ({"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": v} for v in variables))
        export.db.execute("UPDATE StringIds SET value = ? WHERE id = ?", (text, KERNEL))
        out = self.folder / "shared.sqlite"
        ran = attack.run("scrub", export.launch(1).done(), "-o", out, limits=attack.limited(300 << 20, CPU_SECONDS), text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return sqlite3.connect(out).execute("SELECT value FROM StringIds WHERE id = ?", (KERNEL,)).fetchone()[0], ran.stdout

    def test_secrets_times_text(self):
        secrets = [hashlib.sha256(str(i).encode()).hexdigest()[:40] for i in range(20_000)]
        left, said = self.scrubbed([f"{i}_TOKEN={secret}" for i, secret in enumerate(secrets)], "kernel " + " ".join(secrets[::10]))
        self.assertEqual(left, "kernel " + " ".join(["[removed]"] * 2000))
        self.assertIn("environment variables      20000 removed", said)

    def test_secrets_that_begin_like_the_text(self):
        secrets = [f"sk-proj-{hashlib.sha256(str(i).encode()).hexdigest()[:32]}" for i in range(20_000)]
        self.assertEqual(self.scrubbed([f"{i}_TOKEN={secret}" for i, secret in enumerate(secrets)], "sk-proj-" * 50_000)[0], "sk-proj-" * 50_000)

    def test_a_secret_of_many_lines(self):
        key = "\n".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(4000))
        self.assertEqual(self.scrubbed([f"MY_KEY={key}"], "kernel " + key.split("\n")[7])[0], "kernel [removed]")

    def test_passwords_in_one_text(self):
        words = "".join(f"password=x{1000 + i}y{i % 7} " for i in range(8000))
        self.assertEqual(self.scrubbed([], words)[0], "password=[removed] " * 8000)

    def test_the_time_holds_for_all_that_is_done(self):
        report = self.export().launch(150_000, device=lambda i: i % 500).done()  # 0.1 s to read, 2 s in all
        ran = run(["check"], report, "--timeout", "1")
        self.assertEqual(ran.returncode, 2)
        self.assertRegex(ran.stderr, r"report\.sqlite: .* took more than 1 s of CPU time.*--timeout")


unittest.main(argv=["limits", *sys.argv[3:]])
