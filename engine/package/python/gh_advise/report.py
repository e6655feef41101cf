"""What `gh-advise check --format json` says of a report (version 3 of its schema), as dataclasses.

Names are those of the JSON. Times end in _ns and are nanoseconds, on the report's own clock;
fractions are between 0 and 1; what does not apply is None. A step is whatever repeats in the
program (`Report.unit`), or the whole window if nothing does (`Steps.found`).
"""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Tuple

from . import notebook
from .from_json import built
from .program import GhAdviseError, StrPath, error_of, run

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION = 3


class UnknownSchema(GhAdviseError):
    """The JSON is of a version that this package does not know."""


def require_schema(document: Any) -> None:
    """Raises UnknownSchema unless `document`, of `check --format json`, is of the known version."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise UnknownSchema(
            f"the report has schema_version {version!r}, and this package reads "
            f"{SCHEMA_VERSION}: install the gh_advise package of the same version as the program"
        )


@dataclass(frozen=True)
class Recording:
    """The file that was read."""

    path: str  #: as given; of the ranks of a job, the first one's and how many more there are
    format: str
    producer: str  #: the profiler, with its version
    schema: str
    environment_variables: int  #: how many it holds; `gh-advise scrub` removes them


@dataclass(frozen=True)
class NameSeen:
    """What in the recording shows what kind of program it is."""

    of: str
    what: str


@dataclass(frozen=True)
class AccountSummaryLine:
    """What a cause took of the step, for people."""

    cause: Optional[str]  #: None if it is the sum of small ones
    label: str
    time: str  #: "118.0 ms"
    share: str  #: "71 %"
    fraction: float

    @property
    def is_compute(self) -> bool:
        """Whether kernels ran, rather than that the GPU waited."""
        return self.cause is not None and self.cause.startswith("compute.")


@dataclass(frozen=True)
class AccountSummary:
    """Where a step goes, for people."""

    title: str
    lines: Tuple[AccountSummaryLine, ...]  #: the largest first


@dataclass(frozen=True)
class PlanSummaryLine:
    """A fix of the plan, for people."""

    finding: int  #: its number, counted from 1
    fix: str
    before: str  #: the step before it: "160.1 ms"
    after: str
    speedup: str  #: "3.4x"


@dataclass(frozen=True)
class PlanSummary:
    """The fixes one after the other, for people."""

    title: str
    lines: Tuple[PlanSummaryLine, ...]
    total: str  #: what all of them bring together


@dataclass(frozen=True)
class Summary:
    """What the program's text says first, in its words."""

    verdict: str
    first_fix: str  #: "" if there is nothing to do
    trouble: bool  #: a warning, an error or a doubt about the report
    account: AccountSummary
    plan: Optional[PlanSummary]  #: None if there are no fixes


@dataclass(frozen=True)
class RecordedProgram:
    """What kind of program was recorded, judging by names."""

    framework: Optional[str]
    runners: Tuple[str, ...]  #: what runs the framework, the outermost first
    task: Optional[str]
    evidence: Tuple[NameSeen, ...]


@dataclass(frozen=True)
class AccountLine:
    """A cause on which the time of the GPU went."""

    cause: str  #: "compute.pointwise", "idle.input", "copy_exposed"
    label: str  #: the same for people: "idle: input"
    ns: int  #: as recorded, over all steps
    ns_per_step: int  #: of the mean step, without what the profiler adds
    fraction: float  #: ns_per_step as a share of the step

    @property
    def is_compute(self) -> bool:
        """Whether kernels ran, rather than that the GPU waited."""
        return self.cause.startswith("compute.")


@dataclass(frozen=True)
class DeviceSteps:
    """The analyzed steps of a GPU."""

    count: int
    median_ns: int
    source: str  #: how they were found: ranges, kernels, selected_range, none
    described: str
    left_out: int  #: start-up steps
    lost: int  #: steps in which the profiler lost work


@dataclass(frozen=True)
class Device:
    """A GPU."""

    ordinal: int
    name: Optional[str]
    sm_count: Optional[int]
    compute_capability: Optional[str]  #: "9.0"
    memory_bytes: Optional[int]
    window_ns: int  #: the length of its steps, to which its account adds up
    steps: DeviceSteps
    account: Tuple[AccountLine, ...]


@dataclass(frozen=True)
class Level:
    """What repeats inside a step."""

    name: str
    count: int  #: in one unit of the level around it


@dataclass(frozen=True)
class Unit:
    """What repeats in the program, and is called a step elsewhere."""

    name: str  #: "training step", "token"; "window" if nothing repeats
    count: int
    levels: Tuple[Level, ...]  #: each inside the previous one


@dataclass(frozen=True)
class SegmentLine:
    """A cause on which the time of the GPUs went in a segment."""

    cause: str  #: as in AccountLine
    label: str
    ns: int  #: as recorded, summed over GPUs
    fraction: float  #: of the segment


@dataclass(frozen=True)
class UnitShare:
    """A unit that some of the GPUs repeat, while others repeat another one."""

    name: str
    count: int  #: judged, on the GPU that has the most
    fraction: float  #: of the work of all GPUs


@dataclass(frozen=True)
class LoopFinding:
    """The worst that was found in another loop of the program."""

    rule: str
    severity: str  #: warning or error, for this loop
    title: str
    message: str
    fix: str  #: what to do, in a few words; "" if the rule does not say
    saves_ns: int  #: of the loop's step, by itself
    saves_range_ns: Optional[Tuple[int, int]]  #: the least and the most that it may be
    saves_fraction: float


@dataclass(frozen=True)
class Loop:
    """Another loop of the program, judged by itself."""

    unit: str  #: what `--unit` takes to judge it in full
    steps: int  #: that were judged, on the GPU that has the most
    step_ns: int  #: the mean, without what the profiler adds if it was replayed
    busy_fraction: float  #: how much of it the GPUs work
    finding: Optional[LoopFinding]  #: None without a warning or an error


@dataclass(frozen=True)
class Segment:
    """A part of the recording. Together they are the recording."""

    kind: str  #: start-up, before, steps or after
    label: str  #: "15 batches", "after the last batch"
    start_ns: int  #: on the first GPU, on the report's clock
    end_ns: int  #: on the last GPU
    device_ns: int  #: its length, summed over GPUs
    fraction: float  #: of the recording
    busy_fraction: float  #: how much of it the GPUs worked
    steps: int  #: of those that are judged, on the GPU that has the most
    units: Tuple[UnitShare, ...]  #: of the steps; empty where all GPUs repeat the same
    repeats: Optional[Level]  #: another loop
    loop: Optional[Loop]  #: that, judged; None in less than a tenth of the recording
    account: Tuple[SegmentLine, ...]


@dataclass(frozen=True)
class PeriodicEvent:
    """What comes in every n-th step only: a queue that is empty, a log, a checkpoint."""

    every: int  #: steps from one to the next
    count: int  #: how often it came
    extra_ns: int  #: how much longer it makes its steps, as recorded
    cost_ns: int  #: the same, spread over all steps
    fraction: float  #: of the mean step
    cause: str  #: as in AccountLine
    label: str
    doing: Optional[str]  #: what the host does for most of it, or the range that launches it
    within: Optional[str]  #: the range around that
    text: str  #: in words


@dataclass(frozen=True)
class Hidden:
    """What hides a part of the GPU's work."""

    by: str  #: whole_graphs
    label: str
    fraction: float  #: of the work
    record_with: Optional[str]  #: what shows it


@dataclass(frozen=True)
class Coverage:
    """How much of the GPU's work the report has kernel by kernel."""

    fraction: float
    hidden: Tuple[Hidden, ...]


@dataclass(frozen=True)
class Steps:
    """The analyzed steps of all GPUs."""

    count: int  #: summed over GPUs
    ns: Optional[int]  #: the step that all times and shares refer to; None without GPU work
    range_ns: Optional[Tuple[int, int]]  #: the least and the most, as far as that is known
    ns_is: str  #: measured, replayed (without what the profiler adds) or recorded
    recorded_ns: Optional[int]  #: the mean
    part_difference_ns: Optional[int]  #: how much longer than the mean those are that are replayed
    median_ns: int  #: as recorded
    measured_ns: Optional[int]  #: without a profiler, if that was given and can be
    source: str  #: how they were found: ranges, kernels, selected_range, none
    described: str
    found: bool  #: if not, all figures are of the whole window


@dataclass(frozen=True)
class BoundShare:
    """A limit, and how much of the step it limits."""

    by: str
    fraction: float


@dataclass(frozen=True)
class Bound:
    """What limits a step: compute, memory, launching, the host, ..."""

    by: str  #: what limits most of it
    shares: Tuple[BoundShare, ...]  #: the largest first
    text: str


@dataclass(frozen=True)
class Interval:
    """A stretch of time, on the report's clock."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Place:
    """A line of the program."""

    file: str
    line: int  #: counted from 1


@dataclass(frozen=True)
class Wait:
    """Where the host waits for the GPU: in calls of one kind, for one purpose, at one place.

    Times are of a step.
    """

    purpose: str  #: work, result, decision, upload, pageable, ...
    call: str  #: "cudaStreamSynchronize"
    operator: Optional[str]  #: around it
    layer: Optional[str]  #: the module or range around it, with * for a number
    source: Optional[Place]  #: the program's line
    count_per_step: float  #: on all GPUs together
    blocked_ns: int  #: how long the host is in these calls
    bytes: Optional[int]  #: of the copies that they wait for, the median
    saves_ns: Optional[int]  #: if none of these calls waits; None if the steps cannot be replayed
    saves_range_ns: Optional[Tuple[int, int]]  #: the least and the most of that
    saves_fraction: Optional[float]  #: of the step
    at_most: bool  #: whether saves_ns is an upper limit
    thread: Optional[str]  #: of a wait that no call shows: the thread that is silent
    waits_for: Optional[str]  #: and what it waits for
    certain: bool  #: else it may as well work
    longest: Interval
    text: str  #: in words


@dataclass(frozen=True)
class PathItem:
    """What a step waited for: a class of kernels, a call, a range of the host."""

    kind: str  #: compute, copy, communication, launch_latency, gap, dependency, call, host, ...
    name: Optional[str]
    label: str  #: both for people: "host: forward"
    ns_per_step: int
    fraction: float
    ns_by_device: Tuple[int, ...]
    stretches: int
    longest: Interval


@dataclass(frozen=True)
class Path:
    """The critical path: what has to get shorter before the step does."""

    of: str  #: step or window
    title: str
    step_ns: int
    items: Tuple[PathItem, ...]  #: the largest first


@dataclass(frozen=True)
class PlanItems:
    """What a step processes."""

    in_step: float
    what: str  #: tokens or samples


@dataclass(frozen=True)
class PlanFix:
    """A fix of the plan, and the step once it and those before it are made."""

    rule: str
    fingerprint: str  #: of its finding
    masked: bool  #: it matters only after the fixes before it
    step_ns: int
    step_range_ns: Tuple[int, int]  #: where the measured step is expected


@dataclass(frozen=True)
class Bounds:
    """What a step takes at least with all fixes of the plan."""

    products_ns: int  #: matrix products and fused attention
    compute_ns: int  #: kernels, with as much overlap as recorded
    link_ns: int  #: copies over a link
    host_ns: int  #: the host, if the GPU took no time


@dataclass(frozen=True)
class Replay:
    """How well the replay, from which forecasts come, fits the recording."""

    steps: int
    of_steps: int
    of_window: float
    uniform_error: float
    unresolved: float
    unrepresentative: float
    unexplained_ns: int


@dataclass(frozen=True)
class Plan:
    """What the fixes save one after the other, each the one that then saves most."""

    of: str  #: step or window
    recorded_step_ns: int
    step_ns: int  #: the step now
    step_range_ns: Tuple[int, int]
    step_is: str  #: measured or replayed
    items: Optional[PlanItems]
    fixes: Tuple[PlanFix, ...]
    ceiling: Optional[str]  #: why these are upper limits of savings; None if they are forecasts
    bounds: Bounds
    replay: Replay


@dataclass(frozen=True)
class Metric:
    """A figure that a finding rests on."""

    name: str
    value: float
    unit: str  #: of value and threshold: ns, fraction, count, bytes, bytes/s, FLOP/s, W
    threshold: Optional[float]


@dataclass(frozen=True)
class Evidence:
    """Where to see a finding in the profiler's timeline."""

    start_ns: int
    end_ns: int
    device: Optional[int]
    stream: Optional[int]
    thread: Optional[str]
    name: str  #: the kernel, call, range or pause
    note: str
    source: Optional[str]  #: FILE:LINE
    layer: Optional[str]  #: the module or range that launched what begins in it


@dataclass(frozen=True)
class ConcernedLayer:
    """A layer of the program that a finding is about, or several that are equal."""

    path: str  #: blocks.5.attn; of several blocks.*.attn
    count: int  #: how many of them it concerns
    of: int  #: how many there are
    share: float  #: of what the finding is about


@dataclass(frozen=True)
class Finding:
    """Something to fix."""

    rule: str
    category: str
    severity: str  #: error, warning or note
    title: str
    message: str
    subject: str
    recoverable_ns: int  #: what the fix saves of a step in addition to those in `after`
    recoverable_fraction: float
    recoverable_is: str  #: about or at_most
    recoverable_of: str  #: step or window
    alone_ns: int  #: what it saves if no other fix is made
    explained_ns: Optional[int]  #: what the message says is lost
    after: Tuple[str, ...]  #: fingerprints of better findings about the same work
    masked: bool  #: it shows only after the fixes in `after`, and its figures are of that step
    predicted_step_ns: Optional[int]  #: the step after this fix alone
    predicted_step_range_ns: Optional[Tuple[int, int]]  #: where the measured step is expected
    predicted_step_why: Optional[str]  #: what makes the range this wide
    predicted_window_ns: Optional[int]  #: the same of the window if there are no steps
    predicted_window_range_ns: Optional[Tuple[int, int]]
    predicted_window_why: Optional[str]
    alone_range_ns: Optional[Tuple[int, int]]  #: the least and the most that alone_ns may be
    confidence: str  #: high, medium or low
    owner: Optional[str]  #: the operator, function, range or library whose time it is
    owner_key: Optional[str]  #: the same as schemas/owners.toml lists it
    advice: Tuple[str, ...]  #: what to do, the best choice first
    metrics: Tuple[Metric, ...]
    evidence: Tuple[Evidence, ...]  #: the worst first
    layers: Tuple[ConcernedLayer, ...]  #: empty if it concerns the whole program
    follows_from: Optional[str]  #: the rule that found the cause of this
    fingerprint: str  #: the same when the same program is recorded again
    fix: str  #: the best choice in a few words: "Compile the model"; "" if there is no advice
    saves: str  #: "saves about 113.2 ms, 71 %"; "" if that is not known

    @property
    def is_predicted(self) -> bool:
        """Whether replaying tells what the fix brings."""
        return self.predicted_step_ns is not None or self.predicted_window_ns is not None


@dataclass(frozen=True)
class NotChecked:
    """A rule that could not be checked."""

    rule: str
    reason: str
    record_with: Optional[str]  #: options of the profiler that record what it needs


@dataclass(frozen=True)
class Failed:
    """A rule that failed."""

    rule: str
    error: str


@dataclass(frozen=True)
class Suppression:
    """An exception in gh-advise.toml."""

    rule: str
    subject: str
    reason: str
    until: Optional[str]
    where: str
    state: str  #: used, unused, expired or not_checked


@dataclass(frozen=True)
class Request:
    """What was asked of the program, so that it can be asked again."""

    program: str
    options: Tuple[str, ...]
    paths: Tuple[str, ...]
    folder: str  #: from which paths count

    def arguments(self, format: str) -> Tuple[str, ...]:
        return ("check", f"--format={format}", *self.options, "--", *self.paths)


@dataclass(frozen=True, repr=False)
class Report:
    """What slows a recorded program down. `check` and `check_all` make it."""

    generator: str  #: the program that wrote it, with its version
    recording: Recording = field(metadata={"key": "report"})
    summary: Summary  #: in words
    program: RecordedProgram
    devices: Tuple[Device, ...]
    window_ns: int  #: all steps on all GPUs
    unit: Unit
    segments: Tuple[Segment, ...]  #: the whole recording; empty where steps were selected or lost
    steps: Steps
    periodic_events: Tuple[PeriodicEvent, ...]  #: the costliest first
    waits: Tuple[Wait, ...]  #: of the host for the GPU, the costliest first
    account: Tuple[AccountLine, ...]  #: over all GPUs; adds up to the step
    coverage: Coverage
    bound: Optional[Bound]  #: None without GPU work
    path: Optional[Path]  #: None if nothing was replayed
    plan: Optional[Plan]  #: None if the steps cannot be replayed
    findings: Tuple[Finding, ...]  #: doubts about the report first, then the best fixes in order
    clean: Tuple[str, ...]  #: rules that found nothing
    not_checked: Tuple[NotChecked, ...]
    failed: Tuple[Failed, ...]
    suppressed: Tuple[Finding, ...]
    suppressions: Tuple[Suppression, ...]
    problems: Tuple[str, ...]  #: what could not be read and was skipped
    raw: Mapping[str, Any] = field(init=False, compare=False)  #: the JSON that this was made of
    _request: Optional[Request] = field(init=False, compare=False, default=None)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], request: Optional[Request] = None) -> Report:
        """Makes a report of an item of `reports` in the program's JSON, or of a line of its jsonl.

        Raises UnknownSchema if it is of another version, and ValueError if something is missing.
        `request` is how the program was asked for it, which `save_page` needs.
        """
        require_schema(raw)
        report = built(cls, raw, "the report")
        object.__setattr__(report, "raw", raw)
        object.__setattr__(report, "_request", request)
        return report

    @property
    def verdict(self) -> str:
        """What is wrong and what that costs, in a sentence or two, or that nothing is."""
        return self.summary.verdict

    @property
    def first_fix(self) -> str:
        """What to do first, and what that brings, in a sentence; "" if there is nothing to do."""
        return self.summary.first_fix

    def findings_of(self, rule: str) -> Tuple[Finding, ...]:
        """The findings of a rule, in order; empty if it found nothing or was not checked."""
        return tuple(finding for finding in self.findings if finding.rule == rule)

    def finding_of(self, fix: PlanFix) -> Finding:
        """The finding that a fix of the plan removes. Raises KeyError for one of another plan."""
        for finding in self.findings:
            if finding.fingerprint == fix.fingerprint:
                return finding
        raise KeyError(fix.fingerprint)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each finding, in order. Ranges have a column for each end; of the advice, the
        best choice is the column fix. Raises ImportError without pandas."""
        return _frame(
            FINDING_COLUMNS,
            [
                {
                    **{name: getattr(f, name, None) for name in FINDING_COLUMNS},
                    **_ends("alone", f.alone_range_ns),
                    **_ends("predicted_step", f.predicted_step_range_ns),
                    **_ends("predicted_window", f.predicted_window_range_ns),
                }
                for f in self.findings
            ],
        )

    def plan_to_pandas(self) -> pandas.DataFrame:
        """A row for each fix of the plan, in order: the step before and after it, with the fixes
        above made. Raises ImportError without pandas."""
        rows = []
        for before_ns, fix in self.plan_steps():
            finding = self.finding_of(fix)
            rows.append(
                {
                    "rule": fix.rule,
                    "fix": finding.fix or finding.title,
                    "masked": fix.masked,
                    "before_ns": before_ns,
                    "step_ns": fix.step_ns,
                    **_ends("step", fix.step_range_ns),
                    "speedup": before_ns / max(fix.step_ns, 1),
                    "fingerprint": fix.fingerprint,
                }
            )
        return _frame(PLAN_COLUMNS, rows)

    def account_to_pandas(self) -> pandas.DataFrame:
        """A row for each cause of the account, over all GPUs. Raises ImportError without pandas."""
        rows = [{name: getattr(a, name) for name in ACCOUNT_COLUMNS} for a in self.account]
        return _frame(ACCOUNT_COLUMNS, rows)

    def plan_steps(self) -> Iterable[Tuple[int, PlanFix]]:
        """The fixes of the plan, each with the step (in nanoseconds) before it."""
        if self.plan is None:
            return
        before_ns = self.plan.step_ns
        for fix in self.plan.fixes:
            yield before_ns, fix
            before_ns = fix.step_ns

    def save_page(self, path: StrPath) -> pathlib.Path:
        """Writes the page of this report: one HTML file, with timelines of the evidence. Returns
        its path.

        Runs the program again, so the report has to be where it was. Raises GhAdviseError if that
        fails, and ValueError if the report did not come from `check`, or from `check_all` as one of
        several and of several ranks; OSError if the file cannot be written.
        """
        if self._request is None:
            raise ValueError("it is not known of which files this report is: use check(...)")
        request = self._request
        done = run(request.program, request.arguments("html"), request.folder)
        if not done.stdout:
            raise error_of(done)
        page = pathlib.Path(path)
        part = page.with_name(page.name + ".part")
        part.write_bytes(done.stdout)
        os.replace(part, page)  # so that nobody reads half of it
        return page

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.recording.path, self.verdict, self.first_fix]))

    def __repr__(self) -> str:
        return f"<Report {self.recording.path!r}: {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        return notebook.html(self)


FINDING_COLUMNS = (
    "rule",
    "category",
    "severity",
    "title",
    "message",
    "subject",
    "fix",
    "saves",
    "recoverable_ns",
    "recoverable_fraction",
    "recoverable_is",
    "recoverable_of",
    "alone_ns",
    "alone_least_ns",
    "alone_most_ns",
    "explained_ns",
    "masked",
    "predicted_step_ns",
    "predicted_step_least_ns",
    "predicted_step_most_ns",
    "predicted_window_ns",
    "predicted_window_least_ns",
    "predicted_window_most_ns",
    "confidence",
    "follows_from",
    "fingerprint",
)
PLAN_COLUMNS = (
    "rule",
    "fix",
    "masked",
    "before_ns",
    "step_ns",
    "step_least_ns",
    "step_most_ns",
    "speedup",
    "fingerprint",
)
ACCOUNT_COLUMNS = ("cause", "label", "ns", "ns_per_step", "fraction")


def _ends(name: str, range_ns: Optional[Tuple[int, int]]) -> dict[str, Optional[int]]:
    least_ns, most_ns = range_ns or (None, None)
    return {f"{name}_least_ns": least_ns, f"{name}_most_ns": most_ns}


def _frame(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install pandas") from error
    frame = pandas.DataFrame(list(rows), columns=list(columns))
    # Nanoseconds stay whole where some are missing, and an empty frame has the same types.
    times = [name for name in columns if "ns" in name.split("_")]
    return frame.astype({name: "Int64" for name in times})
