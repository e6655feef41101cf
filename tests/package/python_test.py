#!/usr/bin/python3
"""Tests the Python package on recorded reports: python_test.py PROGRAM FIXTURES

What it says has to be what the program's JSON, text and page say.
"""
import contextlib
import dataclasses
import functools
import importlib.util
import json
import math
import os
import pathlib
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from unittest import mock

program, fixtures = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
package = pathlib.Path(__file__).resolve().parents[2] / "engine/package/python"
sys.path.insert(0, str(package))

import gh_advise
from gh_advise import GhAdviseError, ProgramNotFound, Report, UnknownSchema
from gh_advise.program import find_program

os.environ["GH_ADVISE"] = str(program)
work = tempfile.TemporaryDirectory(prefix="gh-advise-python-")
folder = pathlib.Path(work.name)

STARVED = "starved.sqlite"  # findings, a plan, a masked fix
CLEAN = "decode-bandwidth.sqlite"
WINDOW = "gil-contention.sqlite"  # no steps were found
TRACE = "eager.pt.trace.json"
RANKS = ["ddp.rank0.pt.trace.json", "ddp.rank1.pt.trace.json"]
RECORDED = [
    STARVED, CLEAN, WINDOW, TRACE, "compile.sqlite", "um-stencil.sqlite", "two-straggler.sqlite",
    "launch-blocking.sqlite", "cu-resident-data-lookalike.sqlite", "low-sm-fill.sqlite",
]

needs_pandas = unittest.skipUnless(
    importlib.util.find_spec("pandas"), "pandas is missing: apt-get install python3-pandas"
)


def run(*arguments):
    return subprocess.run(
        [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8",
        env={**os.environ, "COLUMNS": "160"},  # so that a heading has room for a path of any build folder
    )


@functools.cache
def check(name, **options):
    return gh_advise.check(fixtures / name, config="none", **options)


@functools.cache
def json_of(*names):
    paths = [str(fixtures / name) for name in names]
    return json.loads(run("check", "--config=none", "--format=json", *paths).stdout)["reports"][0]


def as_json(value):
    """A dataclass as the JSON that it was made of: tuples as lists."""
    if dataclasses.is_dataclass(value):
        return {f.name: as_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [as_json(v) for v in value] if isinstance(value, tuple) else value


def without_line_breaks(text):
    return " ".join(text.split())


def everywhere(value, text):
    """JSON like `value`, of which every text is `text`."""
    if isinstance(value, dict):
        return {key: everywhere(of_key, text) for key, of_key in value.items()}
    if isinstance(value, list):
        return [everywhere(item, text) for item in value]
    return text if isinstance(value, str) else value


def changed(raw, **fields):
    """A report like `raw`, of which some fields differ."""
    return Report.from_json({**raw, **fields})


class Parsed(HTMLParser):
    """HTML in which each element is closed where it should be; fails otherwise."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = set(), "", []
        self.feed(html)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


class Reports(unittest.TestCase):
    maxDiff = None

    def test_every_figure_is_that_of_the_json(self):
        for name in RECORDED:
            with self.subTest(name):
                raw, report = json_of(name), check(name)
                self.assertEqual(report.raw, raw)
                of_json = {"recording": "report"}
                for field in dataclasses.fields(Report):
                    if field.init:
                        key = of_json.get(field.name, field.name)
                        self.assertEqual(as_json(getattr(report, field.name)), raw[key], key)
                self.assertEqual(
                    {of_json.get(f.name, f.name) for f in dataclasses.fields(Report) if f.init},
                    set(raw) - {"schema_version"},
                )

    def test_the_verdict_of_every_report_is_that_of_the_text(self):
        reports = gh_advise.check_all(fixtures, config="none")
        self.assertGreater(len(reports), 90)
        text = run("check", "-q", "--config=none", str(fixtures)).stdout
        said = without_line_breaks(text)
        for report in reports:
            with self.subTest(report.recording.path):
                lines = [report.recording.path, report.verdict, report.first_fix]
                lines = [line for line in lines if line]
                self.assertIn(" ".join(lines), said)
                self.assertEqual(str(report).splitlines(), lines)
                html = Parsed(report._repr_html_()).text
                for line in lines:
                    self.assertIn(line, html)

    def test_findings_and_their_place_in_the_plan(self):
        report = check(STARVED)
        (loader,) = report.findings_of("data-loader-starvation")
        self.assertEqual(loader, report.findings[0])
        self.assertEqual(report.findings_of("launch-bound"), ())
        self.assertEqual(loader.fix, "Load batches in worker processes")
        fixes = report.plan.fixes
        self.assertEqual([report.finding_of(fix) for fix in fixes], list(report.findings))
        before = [before_ns for before_ns, _ in report.plan_steps()]
        self.assertEqual(before, [report.plan.step_ns, *(fix.step_ns for fix in fixes[:-1])])
        with self.assertRaises(KeyError):
            report.finding_of(dataclasses.replace(fixes[0], fingerprint="0" * 16))

    def test_the_account_adds_up_to_the_step(self):
        report = check(STARVED)
        in_all = sum(line.ns_per_step for line in report.account)
        self.assertAlmostEqual(in_all, report.steps.ns, delta=len(report.account))
        self.assertEqual(sum(line.ns for line in report.account), report.window_ns)

    def test_a_clean_report(self):
        report = check(CLEAN)
        self.assertEqual(report.findings, ())
        self.assertIn("Nothing to fix was found in the rest. The GPU is busy for ", report.verdict)
        self.assertIn("Record with nsys profile --cuda-graph-trace=node", report.first_fix)  # its graphs are traced as a whole
        self.assertIn("Nothing to fix was found in the rest.", Parsed(report._repr_html_()).text)

    def test_a_report_without_gpu_work(self):
        copy = folder / "no-work.sqlite"
        shutil.copy(fixtures / CLEAN, copy)
        with contextlib.closing(sqlite3.connect(copy)) as database:
            tables = [name for name, in database.execute("SELECT name FROM sqlite_master")]
            for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"):
                if f"CUPTI_ACTIVITY_KIND_{kind}" in tables:
                    database.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_{kind}")
            database.commit()
        report = gh_advise.check(copy, config="none")
        self.assertEqual((report.steps.ns, report.bound, report.account), (None, None, ()))
        text = without_line_breaks(run("check", "-q", "--config=none", str(copy)).stdout)
        self.assertIn(report.verdict, text)
        self.assertIn("This report cannot be judged: ", report.verdict)
        self.assertIn(report.verdict, Parsed(report._repr_html_()).text)

    def test_a_report_without_steps_is_about_its_window(self):
        report = check(WINDOW)
        self.assertFalse(report.steps.found)
        self.assertRegex(report.verdict, r"of the [0-9.]+ ms window \([0-9]+ %\)\.$")
        self.assertRegex(report.first_fix, "; the window then takes about [0-9.]+ ms")
        self.assertIn("Where the time goes", report._repr_html_())

    def test_ranks_of_one_job(self):
        report = gh_advise.check([fixtures / name for name in RANKS], config="none")
        self.assertEqual(report.raw, json_of(*RANKS))
        self.assertEqual(len(report.devices), 2)
        self.assertIn("and 1 more rank", report.recording.path)

    def test_options_reach_the_program(self):
        raw = json_of(STARVED)
        one = check(STARVED, select="unfused-norm")
        self.assertEqual([f.rule for f in one.findings], ["unfused-norm"])
        two = check(STARVED, select=("input", "unfused-norm"), ignore="data-loader-starvation")
        self.assertEqual({f.rule for f in two.findings}, {"unfused-norm"})
        self.assertEqual(check(STARVED, measured_step="150ms").steps.measured_ns, 150_000_000)
        self.assertEqual(check(STARVED, measured_step=0.15).steps.measured_ns, 150_000_000)
        for steps in ((3, 5), "3:5"):
            self.assertEqual(check(STARVED, steps=steps).steps.count, 3)
        self.assertEqual(check(STARVED, unit="training step").unit.name, raw["unit"]["name"])
        with self.assertRaisesRegex(GhAdviseError, "nothing with that name repeats"):
            check(STARVED, unit="epoch of nothing")
        with self.assertRaisesRegex(GhAdviseError, "give a time above 0 with its unit"):
            check(STARVED, measured_step=math.nan)
        rules = folder / "rules"
        self.assertEqual(run("new-rule", "comm/my-rule", f"--in={rules}").returncode, 0)
        more = check(STARVED, rules=rules)
        seen = {*more.clean, *(f.rule for f in more.findings), *(n.rule for n in more.not_checked)}
        self.assertIn("my-rule", seen)

    def test_a_configuration_hides_what_it_suppresses(self):
        config = folder / "gh-advise.toml"
        config.write_text(
            '[[suppress]]\nrule = "data-loader-starvation"\nreason = "known"\n', encoding="utf-8"
        )
        report = gh_advise.check(fixtures / STARVED, config=config)
        self.assertEqual(report.findings_of("data-loader-starvation"), ())
        self.assertEqual([f.rule for f in report.suppressed], ["data-loader-starvation"])
        self.assertEqual([s.state for s in report.suppressions], ["used"])
        self.assertIn("is suppressed: The GPU waits for the data loader", report.verdict)

    def test_later_versions(self):
        raw = json_of(STARVED)
        finding = {**raw["findings"][0], "new_key": [1]}
        report = changed(raw, new_key={"a": 1}, findings=[finding])
        self.assertEqual(report.findings, check(STARVED).findings[:1])
        with self.assertRaisesRegex(UnknownSchema, "schema_version 2, and this package reads 3"):
            changed(raw, schema_version=2)
        with self.assertRaisesRegex(ValueError, r"report\.findings\[0\] has no 'title'"):
            changed(raw, findings=[{k: v for k, v in finding.items() if k != "title"}])
        with self.assertRaisesRegex(ValueError, r"alone_ns is of type str instead of int"):
            changed(raw, findings=[{**finding, "alone_ns": "<b>1</b>"}])

    def test_it_travels_between_processes(self):
        report = check(STARVED)
        again = pickle.loads(pickle.dumps(report))
        self.assertEqual(again, report)
        self.assertEqual(hash(again), hash(report))
        self.assertEqual(repr(again), f"<Report {str(fixtures / STARVED)!r}: 3 findings>")
        error = pickle.loads(pickle.dumps(GhAdviseError("a", "b", 2)))
        self.assertEqual((str(error), error.stderr, error.exit_status), ("a", "b", 2))


class Several(unittest.TestCase):
    def setUp(self):
        self.runs = folder / "runs"
        self.runs.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, self.runs)
        for name in (STARVED, CLEAN, *RANKS):
            (self.runs / name).symlink_to(fixtures / name)

    def test_a_folder(self):
        reports = gh_advise.check_all(self.runs, config="none")
        names = [pathlib.Path(r.recording.path.split(" and ")[0]).name for r in reports]
        self.assertEqual(sorted(names), sorted([STARVED, CLEAN, RANKS[0]]))
        by_name = dict(zip(names, reports))
        self.assertEqual(by_name[STARVED].findings, check(STARVED).findings)
        page = by_name[CLEAN].save_page(folder / "clean.html")
        self.assertIn("Nothing to fix was found in the rest.", page.read_text(encoding="utf-8"))
        with self.assertRaisesRegex(ValueError, "not known of which files"):
            by_name[RANKS[0]].save_page(folder / "ranks.html")
        with self.assertRaisesRegex(ValueError, "these are 3 reports.*use check_all"):
            gh_advise.check(self.runs, config="none")

    def test_a_name_in_brackets(self):
        (self.runs / "[a.sqlite]").symlink_to(fixtures / STARVED)
        (self.runs / "a.sqlite").symlink_to(fixtures / CLEAN)
        with contextlib.chdir(self.runs):
            self.assertEqual(gh_advise.check("[a.sqlite]", config="none").findings, check(STARVED).findings)

    def test_one_of_them_cannot_be_read(self):
        other = self.runs / "other.sqlite"
        other.write_text("no report", encoding="utf-8")
        with self.assertWarnsRegex(UserWarning, "other.sqlite: is neither") as warned:
            reports = gh_advise.check_all([fixtures / CLEAN, other], config="none")
        self.assertEqual([r.recording.path for r in reports], [str(fixtures / CLEAN)])
        self.assertEqual(warned.filename, __file__)
        with self.assertRaisesRegex(GhAdviseError, "other.sqlite: is neither"):
            gh_advise.check([fixtures / CLEAN, other], config="none")
        with self.assertRaisesRegex(GhAdviseError, "other.sqlite: is neither"):
            gh_advise.check_all(other)


class Errors(unittest.TestCase):
    def test_no_report(self):
        text = folder / "text.sqlite"
        text.write_text("no report", encoding="utf-8")
        with self.assertRaises(GhAdviseError) as raised:
            gh_advise.check(text)
        said = run("check", str(text))
        self.assertEqual(raised.exception.exit_status, 2)
        self.assertEqual(raised.exception.stderr, said.stderr)
        self.assertEqual("gh-advise: " + str(raised.exception), said.stderr.splitlines()[-1])

    def test_what_does_not_exist(self):
        for wrong in (dict(path_or_paths="missing.sqlite"), dict(path_or_paths=folder / "missing"),
                      dict(path_or_paths=fixtures / CLEAN, select="no-such-rule"),
                      dict(path_or_paths=fixtures / CLEAN, rules=["/missing"]),
                      dict(path_or_paths=fixtures / CLEAN, config="/missing.toml"),
                      dict(path_or_paths="--help"), dict(path_or_paths=[])):
            with self.subTest(wrong), self.assertRaises(GhAdviseError) as raised:
                gh_advise.check(**wrong)
            self.assertEqual(raised.exception.exit_status, 2, wrong)
            self.assertNotEqual(str(raised.exception), "")

    def test_a_program_that_dies(self):
        dies = folder / "dies"
        dies.write_text("#!/bin/sh\nkill -9 $$\n", encoding="utf-8")
        dies.chmod(0o755)
        with self.assertRaisesRegex(GhAdviseError, "exit status -9, without a message"):
            check(CLEAN, program=dies)

    def test_an_answer_that_cannot_be_read(self):
        says = folder / "says"
        for answer in ("[" * 100_000, '{"a":' * 100_000, "not JSON", '{"schema_version": 3'):
            says.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n", encoding="utf-8")
            says.chmod(0o755)
            with self.assertRaisesRegex(GhAdviseError, "no JSON that can be read"):
                check(CLEAN, program=says)

    def test_no_program(self):
        with self.assertRaisesRegex(ProgramNotFound, "the argument `program` names '/missing'"):
            check(CLEAN, program="/missing")
        no_program = folder / "no-program"
        no_program.write_bytes(b"\x7fELF, but not of this machine")
        with self.assertRaisesRegex(ProgramNotFound, "no program that can be run"):
            check(CLEAN, program=no_program)
        no_program.chmod(0o755)
        with self.assertRaisesRegex(ProgramNotFound, "cannot be run"):
            check(CLEAN, program=no_program)
        with mock.patch.dict(os.environ, {"GH_ADVISE": "/missing"}):
            with self.assertRaisesRegex(ProgramNotFound, "the environment variable GH_ADVISE"):
                check(CLEAN)
            self.assertEqual(check(CLEAN, program=program).findings, ())

    def test_where_the_program_is_looked_for(self):
        installed, path = folder / "installed", folder / "path"
        for place in (installed, path):
            place.mkdir()
            (place / "gh-advise").symlink_to(program)
        with mock.patch.dict(os.environ, {"PATH": str(path)}), mock.patch(
            "gh_advise.program._of_wheel", lambda: shutil.which(str(installed / "gh-advise"))
        ):
            self.assertEqual(find_program("/bin/sh"), "/bin/sh")
            self.assertEqual(find_program(), str(program))
            del os.environ["GH_ADVISE"]
            self.assertEqual(find_program(), str(installed / "gh-advise"))
            (installed / "gh-advise").unlink()
            self.assertEqual(find_program(), str(path / "gh-advise"))
            (path / "gh-advise").unlink()
            with self.assertRaisesRegex(ProgramNotFound, "was not installed with this package, and is not on the PATH"):
                find_program()


class Notebook(unittest.TestCase):
    def test_it_says_what_the_report_says(self):
        for name in RECORDED:
            with self.subTest(name):
                report = check(name)
                page = Parsed(report._repr_html_())
                said = [report.recording.path, report.verdict, report.first_fix]
                for finding in report.findings:
                    said += [finding.title, finding.message, finding.rule, *finding.advice]
                said += [report.finding_of(fix).fix for fix in report.plan.fixes]
                if report.summary.plan:
                    said.append(report.summary.plan.total)
                for text in said:
                    self.assertIn(text, page.text)

    def test_savings_are_those_of_the_text(self):
        for name in RECORDED:
            with self.subTest(name):
                path = str(fixtures / name)
                text = without_line_breaks(run("check", "-v", "--config=none", path).stdout)
                said = re.findall(r"\((saves [^)]*|matters once [^)]*)\)", text)
                page = Parsed(check(name)._repr_html_()).text
                shown = re.findall(r"\((saves [^)]*|matters once [^)]*)\)", page)
                self.assertEqual(shown, said)

    def test_shares_are_those_of_the_json(self):
        for name in RECORDED:
            with self.subTest(name):
                page = Parsed(check(name)._repr_html_()).text
                of_json = json_of(name)["summary"]["account"]
                at = page.find(of_json["title"]) if of_json else 0
                self.assertGreaterEqual(at, 0)
                for line in of_json["lines"] if of_json else []:
                    for text in (line["label"], line["time"], line["share"]):
                        at = page.find(text, at)
                        self.assertGreaterEqual(at, 0, (line, text))

    def test_bars_add_up(self):
        page = check(STARVED)._repr_html_()
        bars = [float(width) for width in re.findall(r'style="width: ([0-9.]+)%"', page)]
        self.assertEqual(bars, sorted(bars, reverse=True))
        self.assertAlmostEqual(sum(bars), 100, delta=2.5)

    def test_names_cannot_add_elements(self):
        bad = "<script>alert(1)</script><img src=x onerror='alert(2)'>\"&amp;"
        raw = json_of(STARVED)
        finding = {**raw["findings"][0], "title": bad, "message": bad, "advice": [bad + ": b", bad],
                   "severity": "error\" onclick='x", "rule": bad}
        finding["saves"] = bad
        summary = everywhere(raw["summary"], bad)
        report = changed(
            raw, report={**raw["report"], "path": bad}, findings=[finding], summary=summary,
            problems=[bad], failed=[{"rule": bad, "error": bad}],
        )
        page = Parsed(report._repr_html_())
        self.assertEqual(page.tags, Parsed(check(STARVED)._repr_html_()).tags)
        # The path, each text of the summary, the finding's title, savings, rule, message and
        # advice, the problem, the rule that failed and its error.
        of_summary = json.dumps({**summary, "account": [
            {**line, "cause": None} for line in summary["account"]["lines"]
        ]}).count("onerror") + 1  # and the account's title
        self.assertGreaterEqual(page.text.count(bad), 10 + of_summary)
        self.assertNotIn("onclick='x", report._repr_html_())

    def test_it_fetches_and_runs_nothing(self):
        html = check(STARVED)._repr_html_()
        self.assertNotRegex(html, r"(?i)<script|<link|<img|src=|href=|url\(|@import")
        # Colors are the notebook's own: nothing has a ground behind text.
        self.assertNotRegex(html, r"(?<!-)background: (?!none|#d55e00|#2f8f6b)")


class Pages(unittest.TestCase):
    def test_the_page_is_the_program_s(self):
        page = check(STARVED, select="unfused-norm").save_page(folder / "page.html")
        wanted = folder / "wanted.html"
        options = ("--config=none", "--select=unfused-norm", f"--output=html={wanted}")
        run("check", *options, str(fixtures / STARVED))
        self.assertEqual(page, folder / "page.html")
        self.assertEqual(page.read_bytes(), wanted.read_bytes())
        self.assertEqual(list(folder.glob("*.part")), [])

    def test_ranks_and_relative_paths(self):
        with contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            os.chdir(fixtures)
            report = gh_advise.check(RANKS, config="none")
            os.chdir(folder)
            page = report.save_page("ranks.html")
            self.assertIn("and 1 more rank", page.read_text(encoding="utf-8"))
            self.assertTrue((folder / "ranks.html").is_file())

    def test_what_cannot_be_written(self):
        report = folder / "copy.sqlite"
        shutil.copy(fixtures / CLEAN, report)
        copy = gh_advise.check(report, config="none")
        with self.assertRaises(FileNotFoundError):
            copy.save_page(folder / "missing/page.html")
        report.unlink()
        with self.assertRaisesRegex(GhAdviseError, "no such file"):
            copy.save_page(folder / "gone.html")
        self.assertFalse((folder / "gone.html").exists())
        with self.assertRaisesRegex(ValueError, "not known of which files"):
            Report.from_json(json_of(CLEAN)).save_page(folder / "gone.html")


class Frames(unittest.TestCase):
    @needs_pandas
    def test_findings(self):
        for name in (STARVED, WINDOW, CLEAN):
            with self.subTest(name):
                raw, frame = json_of(name), check(name).to_pandas()
                self.assertEqual(len(frame), len(raw["findings"]))
                self.assertEqual(str(frame["explained_ns"].dtype), "Int64")
                for row, finding in zip(frame.to_dict("records"), raw["findings"]):
                    for column in set(row) & set(finding):
                        self.assertEqual(none_of(row[column]), finding[column], column)
                    for field in ("predicted_step", "alone"):
                        ends = finding[f"{field}_range_ns"] or [None, None]
                        self.assertEqual(none_of(row[f"{field}_least_ns"]), ends[0])
                        self.assertEqual(none_of(row[f"{field}_most_ns"]), ends[1])
                    self.assertTrue(finding["advice"][0].startswith(row["fix"]))
        self.assertGreater(len(set(frame.columns) & set(json_of(STARVED)["findings"][0])), 15)

    @needs_pandas
    def test_plan(self):
        report = check(STARVED)
        frame = report.plan_to_pandas()
        self.assertEqual(list(frame["rule"]), [fix.rule for fix in report.plan.fixes])
        self.assertEqual(list(frame["step_ns"]), [fix.step_ns for fix in report.plan.fixes])
        most = [fix.step_range_ns[1] for fix in report.plan.fixes]
        self.assertEqual(list(frame["step_most_ns"]), most)
        self.assertEqual(frame["before_ns"][0], report.plan.step_ns)
        self.assertAlmostEqual(
            frame["speedup"].prod(), report.plan.step_ns / report.plan.fixes[-1].step_ns
        )
        self.assertEqual(list(frame["masked"]), [False, False, True])
        for nothing in (check(CLEAN), changed(json_of(STARVED), plan=None)):
            empty = nothing.plan_to_pandas()
            self.assertEqual((len(empty), list(empty.columns)), (0, list(frame.columns)))
            self.assertEqual(str(empty["step_ns"].dtype), "Int64")

    @needs_pandas
    def test_account(self):
        raw = json_of(STARVED)
        self.assertEqual(check(STARVED).account_to_pandas().to_dict("records"), raw["account"])

    def test_without_pandas(self):
        report = check(STARVED)
        with mock.patch.dict(sys.modules, {"pandas": None}):
            for frame in (report.to_pandas, report.plan_to_pandas, report.account_to_pandas):
                with self.assertRaisesRegex(ImportError, "data frames need pandas: pip install"):
                    frame()


def none_of(value):
    """pandas' NA as None."""
    import pandas

    return None if pandas.isna(value) else value


class Module(unittest.TestCase):
    def run_module(self, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-B", "-m", "gh_advise", *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(package), **environment},
        )

    def test_it_is_the_program(self):
        said = self.run_module("--version")
        self.assertEqual((said.returncode, said.stdout), (0, run("--version").stdout))
        self.assertIn(gh_advise.__version__, said.stdout.split())
        failed = self.run_module("check", "missing.sqlite")
        self.assertEqual(failed.returncode, 2)
        self.assertEqual(failed.stderr, run("check", "missing.sqlite").stderr)
        met = self.run_module("check", "--config=none", "--fail-on=error", str(fixtures / STARVED))
        self.assertEqual(met.returncode, 1)

    def test_without_the_program(self):
        failed = self.run_module("--version", GH_ADVISE="/missing")
        self.assertEqual((failed.returncode, failed.stdout), (2, ""))
        self.assertRegex(failed.stderr, "^gh-advise: the environment variable GH_ADVISE names")

    def test_all_that_is_exported_exists(self):
        self.assertEqual([name for name in gh_advise.__all__ if not hasattr(gh_advise, name)], [])
        self.assertTrue((package / "gh_advise/py.typed").is_file())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
