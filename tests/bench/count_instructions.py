#!/usr/bin/env python3
"""count_instructions.py PROGRAM FIXTURES [--update]: checks that the program does not do more than 5 % more work on a recorded report.

Counts with valgrind's callgrind, on one thread, and compares with tests/bench/instructions.json. Counts depend on the compiler, the libraries and
the processor features that valgrind emulates, so the file lists these; if any of them differ, the counts are printed but not judged."""
import json, pathlib, re, subprocess, sys, tempfile

MOST_GROWTH = 0.05
REPORTS = ["good.sqlite", "starved.sqlite", "um.sqlite", "eager-autogradnvtx.sqlite", "good.pt.trace.json"]
KEPT = pathlib.Path(__file__).with_name("instructions.json")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def taken_with():
    packages = ["libc6", "libfmt-dev", "liblua5.4-dev", "libre2-dev", "libsimdjson-dev", "libsqlite3-0", "libstdc++6", "libtomlplusplus-dev", "valgrind", "zlib1g"]
    found = dict(line.split() for line in output("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages).splitlines())
    found["g++"] = output("g++", "-dumpfullversion").strip()
    flags = re.search(r"^flags\s*:(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    found["processor"] = "avx2" if flags and "avx2" in flags.group(1).split() else "no avx2"
    return found


def count(program, report):
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, str(report), "--format", "json", "--output", "/dev/null", "--threads", "1"],
                             capture_output=True, text=True)
        found = re.search(r"Collected : (\d+)", run.stderr)
        if run.returncode != 0 or not found:
            sys.exit(f"{report}: {run.stderr.strip()[-400:]}")
        return int(found.group(1))


program, fixtures = sys.argv[1], pathlib.Path(sys.argv[2])
now = {"taken_with": taken_with(), "instructions": {name: count(program, fixtures / name) for name in REPORTS}}
kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"taken_with": None, "instructions": {}}
comparable = kept["taken_with"] == now["taken_with"]
grown = []
for name, n in now["instructions"].items():
    before = kept["instructions"].get(name)
    change = f"{(n - before) / before:+7.1%}" if before else "    new"
    print(f"{name:32} {n / 1e6:10.1f} million instructions {change}")
    if before and n > (1 + MOST_GROWTH) * before:
        grown.append(name)
if "--update" in sys.argv[3:]:
    KEPT.write_text(json.dumps(now, indent=2) + "\n")
elif not comparable:
    print("the stored counts were taken with another compiler, library or processor, so they are not compared")
elif grown:
    sys.exit(f"more than {MOST_GROWTH:.0%} more on {', '.join(grown)}; if this is intended, run ./dev count --update")
