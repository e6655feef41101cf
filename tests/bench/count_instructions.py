#!/usr/bin/env python3
"""count_instructions.py PROGRAM FIXTURES [--update]: checks that the program does not do more than 2 % more work on a report.

Counts with valgrind's callgrind, on one thread, and compares with tests/bench/instructions.json. The reports are recorded ones, and those of
long_reports.py, each long in another respect. Counts depend on the compiler, the libraries and the processor features that valgrind emulates, so
the file lists these; if any of them differ, the counts are printed but not judged.

--update stores the counts. One that is higher than the stored one needs a row in tests/bench/raises.md, which says what it bought."""
import concurrent.futures, json, pathlib, re, subprocess, sys, tempfile

sys.dont_write_bytecode = True
import long_reports

MOST_GROWTH = 0.02
MOST_NOISE = 0.002  # as between two builds of the same source in other folders
FIXTURES = ["good.sqlite", "starved.sqlite", "um.sqlite", "eager-autogradnvtx.sqlite", "moe.sqlite", "good.pt.trace.json"]
HERE = pathlib.Path(__file__).resolve().parent
KEPT, RAISES = HERE / "instructions.json", HERE / "raises.md"
OPTIONS = {"many-findings": ["--rules", HERE / "many-findings", "--select", "many-findings"]}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def taken_with():
    packages = ["libc6", "libfmt-dev", "liblua5.4-dev", "libre2-dev", "libsimdjson-dev", "libsqlite3-0", "libstdc++6", "libtomlplusplus-dev", "valgrind", "zlib1g"]
    found = dict(line.split() for line in output("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages).splitlines())
    found["g++"] = output("g++", "-dumpfullversion").strip()
    flags = re.search(r"^flags\s*:(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    found["processor"] = "avx2" if flags and "avx2" in flags.group(1).split() else "no avx2"
    return found


def count(report):
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, report, "--config", "none", "--format", "json",
                              "--output", "/dev/null", "--threads", "1", *OPTIONS.get(report.stem, [])], capture_output=True, text=True)
        found = re.search(r"Collected : (\d+)", run.stderr)
        if run.returncode != 0 or not found:
            sys.exit(f"{report}: {run.stderr.strip()[-400:]}")
        return int(found.group(1))


def explained(name, n):
    """Whether raises.md has a row for this report that ends at this count: | report | from → to | what it bought | what was tried |"""
    for row in RAISES.read_text().splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        to = re.fullmatch(r"\d+ → (\d+)", cells[1]) if len(cells) == 4 and min(map(len, cells[2:])) > 10 else None
        if to and cells[0] == name and abs(int(to[1]) * 1e6 - n) <= MOST_NOISE * n:
            return True
    return False


program, fixtures = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
now = {"taken_with": taken_with(), "instructions": {}}
kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"taken_with": None, "instructions": {}}
comparable = kept["taken_with"] == now["taken_with"]
grown, raised = [], []
with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as two_at_a_time:
    reports = [fixtures / name for name in FIXTURES] + long_reports.write_long_reports(fixtures, folder)
    for report, n in zip(reports, two_at_a_time.map(count, reports)):
        name = report.name
        now["instructions"][name] = n
        before = kept["instructions"].get(name)
        change = f"{(n - before) / before:+7.1%}" if before else "    new"
        print(f"{name:32} {n / 1e6:10.1f} million instructions {change}", flush=True)
        if before and n > (1 + MOST_GROWTH) * before:
            grown.append(name)
        if before and n > (1 + MOST_NOISE) * before and not explained(name, n):
            raised.append(f"| {name} | {before / 1e6:.0f} → {n / 1e6:.0f} | ... | ... |")
if "--update" in sys.argv[3:]:
    if comparable and raised:
        sys.exit("these counts are higher than the stored ones; say why in tests/bench/raises.md, then store them:\n" + "\n".join(raised))
    KEPT.write_text(json.dumps(now, indent=2) + "\n")
elif not comparable:
    print("the stored counts were taken with another compiler, library or processor, so they are not compared")
elif grown:
    sys.exit(f"more than {MOST_GROWTH:.0%} more on {', '.join(grown)}; if that buys something, say it in tests/bench/raises.md, and run ./dev count --update")
