"""Reports in which time goes where it does not in short ones: each kind is long in one respect. Made of recorded ones, to be counted."""
import pathlib
import shutil
import sqlite3

MS, US = 1_000_000, 1_000


class Report:
    """A copy of a recorded report, to which events are added. With empty=True without its own."""

    def __init__(self, recorded, path, empty=True):
        shutil.copyfile(recorded, path)
        path.chmod(0o644)
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode = OFF")
        self.db.execute("PRAGMA synchronous = OFF")
        self.columns = {}
        for (table,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [(row[1], row[5]) for row in self.db.execute(f"PRAGMA table_info({table})")]
            self.columns[table] = [name for name, key in columns if not (key and name != "id")]
        self.events = [t for t, columns in self.columns.items() if ("start" in columns or "timestamp" in columns) and not t.startswith("DIAGNOSTIC")]
        if empty:
            for table in {*self.events, "OSRT_CALLCHAINS"} & {*self.columns}:
                self.db.execute(f"DELETE FROM {table}")
        self.process, self.thread = self.db.execute("SELECT globalPid, globalPid + pid FROM PROCESSES").fetchone()
        self.names = {value: number for number, value in self.db.execute("SELECT id, value FROM StringIds")}
        self.correlation = 0
        self.like = {}

    def name(self, text):
        if text not in self.names:
            self.names[text] = max(self.names.values()) + 1 if len(self.names) < 2000 else len(self.names) + 1_000_000
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.names[text], text))
        return self.names[text]

    def add(self, table, **values):
        if tuple(values) not in self.like:
            self.like[tuple(values)] = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
        self.db.execute(self.like[tuple(values)], tuple(values.values()))

    def call(self, start, end, name, thread=0):
        self.correlation += 1
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=self.thread + thread, correlationId=self.correlation,
                 nameId=self.name(name), returnValue=0)
        return self.correlation

    def kernel(self, launch, start, end, name, device=0, grid=64, stream=7, thread=0):
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1 + device, streamId=stream,
                 correlationId=self.call(launch, launch + 2 * US, "cudaLaunchKernel_v7000", thread), globalPid=self.process,
                 demangledName=self.name(name), shortName=self.name(name), launchType=1, registersPerThread=32, gridX=grid, gridY=1, gridZ=1,
                 blockX=256, blockY=1, blockZ=1, staticSharedMemory=0, dynamicSharedMemory=0, localMemoryPerThread=0, localMemoryTotal=0, gridId=0)

    def copy(self, launch, start, end, kind, size):
        """kind: 1 to the device, 2 from it"""
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=0, contextId=1, streamId=7,
                 correlationId=self.call(launch, end if kind == 2 else launch + 2 * US, "cudaMemcpyAsync_v3020"), globalPid=self.process,
                 bytes=size, copyKind=kind, srcKind=2 if kind == 2 else 0, dstKind=0 if kind == 2 else 2, copyCount=1)

    def range(self, start, end, text):
        self.add("NVTX_EVENTS", start=start, end=end, eventType=59, text=text, globalTid=self.thread, domainId=0)

    def longer(self, times):
        """Its own events `times` times, one after the other; numbered steps count on."""
        span = self.db.execute("SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start > 0").fetchone()
        shift = span[1] - span[0] + MS
        calls = self.db.execute("SELECT max(correlationId) + 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()[0]
        steps = self.db.execute("SELECT count(DISTINCT text) FROM NVTX_EVENTS WHERE text GLOB 'step [0-9]*'").fetchone()[0]
        for table in self.events:
            columns = self.columns[table]
            moved = {"start": shift, "end": shift, "timestamp": shift, "correlationId": calls}
            values = [f"{c} + :n * {moved[c]}" if c in moved else c for c in columns]
            if table == "NVTX_EVENTS":
                values[columns.index("text")] = f"CASE WHEN text GLOB 'step [0-9]*' THEN 'step ' || (substr(text, 6) + :n * {steps}) ELSE text END"
            last = self.db.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]
            after = "AND start > 0" if "start" in columns else ""
            for n in range(1, times):
                self.db.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {table} WHERE rowid <= :last {after}",
                                {"n": n, "last": last})

    def done(self):
        self.db.commit()
        self.db.close()


def many_steps(report, times=1):
    """Steps of three kernels, a copy to the host and a wait for it."""
    for step in range(3000 * times):
        at = MS + step * 200 * US
        report.range(at, at + 190 * US, f"step {step}")
        for i in range(3):
            report.kernel(at + (5 + 5 * i) * US, at + (20 + 30 * i) * US, at + (45 + 30 * i) * US, f"layer_{i}")
        report.copy(at + 25 * US, at + 110 * US, at + 120 * US, 2, 4096)
        report.call(at + 130 * US, at + 135 * US, "cudaStreamSynchronize_v3020")


def launch_bound(report, times=1):
    """Small kernels that the GPU waits for, and nothing that marks a step."""
    for i in range(20_000 * times):
        at = MS + i * 6 * US + i // 40 * 50 * US
        report.kernel(at, at + 4 * US, at + 5 * US + 500, f"small_{i % 40}", grid=1 + i % 40)


def many_gpus(report, times=1):
    """32 devices of one process, which wait for each other. With more of them, each still does as much."""
    gpus = 32 * times
    for table, key in (("TARGET_INFO_GPU", "id"), ("TARGET_INFO_CUDA_DEVICE", "cudaId"), ("TARGET_INFO_CUDA_CONTEXT_INFO", "deviceId")):
        columns = report.columns[table]
        row = dict(zip(columns, report.db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchone()))
        for device in range(1, gpus):
            row[key] = device
            for other in ("gpuId", "cuDevice"):
                if other in row:
                    row[other] = device
            if "contextId" in row:
                row["contextId"] = 1 + device
            report.db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", tuple(row.values()))
    for step in range(6):
        at = MS + step * 40 * MS
        report.range(at, at + 39 * MS, f"step {step}")
        for i in range(gpus * 40):
            start = at + i * 25 * US // times
            report.kernel(start, start + 30 * US, start + 130 * US + i % 7 * 100 * US, f"layer_{i // gpus % 5}", device=i % gpus, thread=i % gpus)


def many_names(report, times=1):
    """Steps of kernels that nearly all have another name and another grid."""
    for step in range(3 * times):
        at = MS + step * 60 * MS
        report.range(at, at + 59 * MS, f"step {step}")
        for i in range(3000):
            start = at + i * 19 * US
            name = f"void kernel_{i % 2000}<float, {step * 3000 + i}>(float*, int)"
            report.kernel(start, start + 10 * US, start + 27 * US, name, grid=1 + (step * 3000 + i) * 3)


def one_hot(report, times=1):
    """A C++ program that waits for each of its kernels, thousands of times."""
    for i in range(4000 * times):
        at = MS + i * 60 * US
        report.kernel(at, at + 6 * US, at + 10 * US, "scatter")
        report.kernel(at + 3 * US, at + 10 * US, at + 30 * US, "relax")
        report.call(at + 6 * US, at + 32 * US, "cudaDeviceSynchronize_v3020")
        report.copy(at + 34 * US, at + 38 * US, at + 40 * US, 2, 8)


def many_findings(report):
    """For the rule in many-findings: 50 kernels, each of which could be faster."""
    for step in range(20):
        at = MS + step * 8 * MS
        report.range(at, at + 8 * MS, f"step {step}")
        for i in range(50):
            report.kernel(at + (10 + i * 5) * US, at + (20 + i * 120) * US, at + (130 + i * 120) * US, f"kernel_{i}")


# By kind: the recorded report whose tables it has, and what is added to these once they are empty.
MADE = {"many-steps": ("good", many_steps), "launch-bound": ("good", launch_bound), "many-gpus": ("good", many_gpus),
        "many-names": ("good", many_names), "one-hot": ("cu-data-dependent-sync", one_hot)}
LONGER = {"um": 2, "gpumetrics": 3, "starved": 3}


def write_report(fixtures, folder, name, recorded, change, empty=True):
    path = pathlib.Path(folder) / f"{name}.sqlite"
    report = Report(pathlib.Path(fixtures) / f"{recorded}.sqlite", path, empty)
    change(report)
    report.done()
    return path


def write_long_reports(fixtures, folder):
    """Writes all kinds; returns their paths."""
    made = [write_report(fixtures, folder, name, recorded, add) for name, (recorded, add) in MADE.items()]
    made.append(write_report(fixtures, folder, "many-findings", "good", many_findings))
    for name, times in LONGER.items():
        made.append(write_report(fixtures, folder, f"{name}-x{times}", name, lambda report: report.longer(times), empty=False))
    return made


def write_longer_reports(fixtures, folder, times):
    """Those of MADE, and the starved one, as long `times` over; by kind."""
    reports = {name: write_report(fixtures, folder, f"{name}-{times}", recorded, lambda report: add(report, times)) for name, (recorded, add) in MADE.items()}
    reports["starved"] = write_report(fixtures, folder, f"starved-{times}", "starved", lambda report: report.longer(3 * times), empty=False)
    return reports


def write_empty_report(fixtures, folder):
    return write_report(fixtures, folder, "empty", "good", lambda report: None)
