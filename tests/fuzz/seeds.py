"""Makes seeds for the fuzzers: reports with a few rows of every table, a few events of every category, rules, configurations, baselines.

seeds.py SOURCE FIXTURES PROGRAM OUT
"""
import json
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys

source, fixtures, program, out = (pathlib.Path(a) for a in sys.argv[1:5])
rows_of_each_table, events_of_each_category = 8, 4


def folder(name):
    path = out / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def reduced(report, to):
    """A report with some rows of each table, and the strings that they refer to."""
    db = sqlite3.connect(to, isolation_level=None)
    db.execute("ATTACH ? AS whole", (f"file:{report}?immutable=1",))
    used = {0}
    tables = db.execute("SELECT name, sql FROM whole.sqlite_master WHERE type = 'table' AND name NOT LIKE 'ENUM_%' AND rootpage > 0").fetchall()
    for name, sql in tables:
        db.execute(re.sub(r"--[^\n]*", "", sql))
        if name == "StringIds":
            continue
        # From the whole table: steps have to repeat.
        every = max(1, db.execute(f"SELECT count(*) FROM whole.{name}").fetchone()[0] // rows_of_each_table)
        db.execute(f"INSERT INTO {name} SELECT * FROM whole.{name} WHERE rowid % {every} = 0 LIMIT {rows_of_each_table}")
        for row in db.execute(f"SELECT * FROM {name}"):
            used.update(v for v in row if isinstance(v, int))
    for i, value in db.execute("SELECT id, value FROM whole.StringIds").fetchall():
        if i in used:
            db.execute("INSERT INTO StringIds VALUES (?, ?)", (i, value[:200]))
    db.execute("DETACH whole")
    db.execute("PRAGMA page_size = 512")
    db.execute("VACUUM")
    return db


nsys = folder("nsys")
for report in sorted(fixtures.glob("*.sqlite")):
    db = reduced(report, nsys / report.name)
    (nsys / (report.stem + ".sql")).write_text("\n".join(" ".join(line.split("\n")) for line in db.iterdump() if not line.startswith(("BEGIN", "COMMIT"))))
    db.close()

kineto = folder("kineto")
for trace in sorted(fixtures.glob("*.pt.trace.json")):
    whole = json.loads(trace.read_text())
    seen, kept = {}, []
    for event in whole["traceEvents"]:
        category = (event.get("cat"), event.get("ph"), "step" if str(event.get("name")).startswith("ProfilerStep") else "")
        seen[category] = seen.get(category, 0) + 1
        if seen[category] <= events_of_each_category:
            kept.append(event)
    whole["traceEvents"] = kept
    (kineto / trace.name).write_text(json.dumps(whole, indent=1))

rule = folder("rule")
for path in sorted((source / "rules").glob("*/*.lua")):
    if not path.name.endswith((".test.lua", ".lib.lua")):
        shutil.copy(path, rule / path.name)

# Attacks that once succeeded.
finding = "{ message = 'main', data = { share = 0.1 }, subject = 'it', recoverable_ns = 1, advice = { 'Do it.' }, %s }"
attacks = [
    "local k, st = trace:ops {}, {} for i = 1, 60 do st[i] = k end return { " + finding % "change = { { shorten = k, stalls = st } }" + " }",
    "trace:chains(setmetatable({}, { __index = function() return trace:ops {} end })) return {}",
    "local l = {} for i = 1, 1e5 do l[i] = string.rep('x', 1000) end trace:ops { name = l } return {}",
    "local a = {} for i = 1, 1000 do a[i] = string.rep('x', 16000) end return { " + finding % "follows_from = 'a\\27[31m', evidence = a, metrics = a" + " }",
    "return setmetatable({}, { __index = function() error 'boom' end })",
    "return { " + finding % "change = setmetatable({}, { __index = function() return {} end })" + " }",
    "return nil, string.rep('::error::', 10000)",
    "return trace:ops {}:group('start_ns', 1e9), trace.ops {}, trace:sampled_fraction { { metric = '*' } }",
]
for i, body in enumerate(attacks):
    (rule / f"attack{i}.lua").write_text(
        "return { id = 'a', category = 'b', title = 'c', since = '0', messages = { main = '{share}' }, doc = { what = 'a', why = 'b', fix = 'c', wrong = 'd' },\n"
        "evaluate = function(trace, options) " + body + " end }\n")

# These turn bytes into Lua (lua_source.hpp), so any bytes do.
for name in ("returns", "verbs", "cases"):
    path = folder(name)
    chance = random.Random(name)
    for i in range(40):
        (path / f"{i}").write_bytes(chance.randbytes(20 + 10 * i))

config = folder("config")
pages = "".join((source / "docs" / page).read_text() for page in ("configuration.md", "gate.md"))
for i, block in enumerate(re.findall(r"```toml\n(.*?)```", pages, re.S)):
    (config / f"docs{i}.toml").write_text(block)

baseline = folder("baseline")
for names in (["good"], ["starved", "fed"], ["compile-graphs"], ["ddp"]):
    to = baseline / ("-".join(names) + ".json")
    subprocess.run([program, "baseline", *(fixtures / f"{n}.sqlite" for n in names), "-o", to], check=False, stderr=subprocess.DEVNULL)
    if to.exists():  # a smaller one as well: most of a baseline are its kernels
        small = json.loads(to.read_text())
        for capture in small["captures"]:
            for key in ("kernels", "findings"):
                capture[key] = capture[key][:3]
        (baseline / ("small-" + to.name)).write_text(json.dumps(small))
