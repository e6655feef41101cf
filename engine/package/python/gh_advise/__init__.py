"""gh-advise for Python: what slows a recorded GPU program down, and what to fix first.

    import gh_advise

    report = gh_advise.check("run.sqlite")
    print(report)                    # the verdict and the first fix
    report                           # in a notebook: account, plan and findings
    report.to_pandas()               # a row for each finding
    report.save_page("report.html")  # the whole story, with timelines

The program gh-advise does the work; `gh_advise.program` says where it is looked for.
"""

from .checking import check, check_all
from .program import GhAdviseError, ProgramNotFound
from .report import (
    AccountLine,
    Bound,
    Bounds,
    Device,
    Evidence,
    Failed,
    Finding,
    Interval,
    Metric,
    NotChecked,
    Path,
    PathItem,
    Plan,
    PlanFix,
    Recording,
    Replay,
    Report,
    Steps,
    Suppression,
    Unit,
    UnknownSchema,
)

__version__ = "0.1.0"

__all__ = [
    "AccountLine",
    "Bound",
    "Bounds",
    "Device",
    "Evidence",
    "Failed",
    "Finding",
    "GhAdviseError",
    "Interval",
    "Metric",
    "NotChecked",
    "Path",
    "PathItem",
    "Plan",
    "PlanFix",
    "ProgramNotFound",
    "Recording",
    "Replay",
    "Report",
    "Steps",
    "Suppression",
    "Unit",
    "UnknownSchema",
    "check",
    "check_all",
]
