"""gh-advise for Python: what slows a recorded GPU program down, and what to fix first.

    import gh_advise

    report = gh_advise.check("run.sqlite")
    print(report)                    # the verdict and the first fix
    report                           # in a notebook: account, plan and findings
    report.to_pandas()               # a row for each finding
    report.save_page("report.html")  # the whole story, with timelines

    with gh_advise.record() as recorder:  # records a loop from within, and checks the recording
        for batch in loader:
            ...
            recorder.step()

The program gh-advise does the work; `gh_advise.program` says where it is looked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing; see _MODULES
if TYPE_CHECKING:
    from typing import Any, List

    from .checking import check, check_all
    from .program import GhAdviseError, ProgramNotFound
    from .recorder import Recorder, record
    from .report import *

__version__ = "0.1.0"

__all__ = [
    "AccountLine",
    "Bound",
    "Bounds",
    "ConcernedLayer",
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
    "Recorder",
    "Recording",
    "Replay",
    "Report",
    "Steps",
    "Summary",
    "Suppression",
    "Unit",
    "UnknownSchema",
    "check",
    "check_all",
    "record",
]

# A module is imported when something of it is asked for, so that what watches a program while it
# starts does not wait for what reads reports.
_MODULES = {
    "check": "checking",
    "check_all": "checking",
    "GhAdviseError": "program",
    "ProgramNotFound": "program",
    "Recorder": "recorder",
    "record": "recorder",
}  # all others: report


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("huggingface", "lightning"):
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'report')}"), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
