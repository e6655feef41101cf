#!/usr/bin/env python3
"""count_instructions.py PROGRAM BENCH FIXTURES [--update]: checks that the program does not do more than 2 % more work on a report.

Of six kinds it also checks two things, on reports that are as long once, twice and four times:
  growth   the exponent with which the work grows, without what an empty report takes, is below MOST_EXPONENT
  ratio    an event more costs no more than 2 % more bare passes (BENCH --bare: SQLite stepping over the same columns) than what is stored

Counts with valgrind's callgrind, on one thread, and compares with tests/bench/instructions.json. The reports are recorded ones, and those of
long_reports.py, each long in another respect. Counts depend on the compiler, the libraries and the processor features that valgrind emulates, so
the file lists these; if any of them differ, the counts are printed but not judged.

--update stores the counts. One that is higher than the stored one needs a row in tests/bench/raises.md, which says what it bought."""
import concurrent.futures, json, math, pathlib, re, subprocess, sys, tempfile

sys.dont_write_bytecode = True
import long_reports

MOST_GROWTH = 0.02
MOST_EXPONENT = 1.15  # of linear growth with some sorting
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
    return count_of(report, program, report, "--config", "none", "--format", "json", "--output", "/dev/null", "--threads", "1", *OPTIONS.get(report.stem, []))


def count_bare(report):
    return count_of(report, bench, "--bare", report)


def count_of(report, *command):
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *command], capture_output=True, text=True)
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


def growth_and_ratios(folder, pool):
    """By kind: the larger exponent of two doublings, and the instructions of events added, in bare passes over them."""
    lengths = {times: long_reports.write_longer_reports(fixtures, folder, times) for times in (1, 2, 4)}
    nothing = pool.submit(count, long_reports.write_empty_report(fixtures, folder))
    checked = {(kind, times): pool.submit(count, report) for times, reports in lengths.items() for kind, report in reports.items()}
    passed = {(kind, times): pool.submit(count_bare, report) for times, reports in lengths.items() if times > 1 for kind, report in reports.items()}
    found = {}
    for kind in lengths[1]:
        once, twice, four_times = (checked[kind, times].result() - nothing.result() for times in (1, 2, 4))
        ratio = (four_times - twice) / (passed[kind, 4].result() - passed[kind, 2].result())
        found[kind] = (max(math.log2(twice / once), math.log2(four_times / twice)), round(ratio, 2))
    return found


program, bench, fixtures = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
now = {"taken_with": taken_with(), "instructions": {}, "ratios": {}}
kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"taken_with": None, "instructions": {}}
comparable = kept["taken_with"] == now["taken_with"]
grown, raised, steep = [], [], []
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
    for kind, (exponent, ratio) in growth_and_ratios(folder, two_at_a_time).items():
        now["ratios"][kind] = ratio
        before = kept.get("ratios", {}).get(kind)
        print(f"{kind:32} grows with exponent {exponent:.2f}; an event more takes {ratio:.2f} bare passes" + (f", {before:.2f} before" if before else ""), flush=True)
        if exponent > MOST_EXPONENT:
            steep.append(kind)
        if before and ratio > (1 + MOST_GROWTH) * before:
            grown.append(f"{kind}, in bare passes")
if steep:
    sys.exit(f"the work grows faster than the report: {', '.join(steep)}")
if "--update" in sys.argv[4:]:
    if comparable and raised:
        sys.exit("these counts are higher than the stored ones; say why in tests/bench/raises.md, then store them:\n" + "\n".join(raised))
    KEPT.write_text(json.dumps(now, indent=2) + "\n")
elif not comparable:
    print("the stored counts were taken with another compiler, library or processor, so they are not compared")
elif grown:
    sys.exit(f"more than {MOST_GROWTH:.0%} more on {', '.join(grown)}; if that buys something, say it in tests/bench/raises.md, and run ./dev count --update")
