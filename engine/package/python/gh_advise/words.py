"""Figures and verdicts in words, as the program's text has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .report import Finding, Report

# Of the step: a saving below this is not worth a sentence, ...
WORTH_A_SENTENCE = 0.01
# ... and a loss from this share on is not passed over.
LARGE_LOSS = 0.15

# Causes of the account whose names do not read well.
LABELS = {
    "um_stall": "unified-memory stall",
    "communication_exposed": "exposed communication",
    "copy_exposed": "exposed copy",
}


def duration(ns: float) -> str:
    """Nanoseconds with a unit that suits their size: "46.9 ms"."""
    if ns < 1e3:
        return f"{ns:.0f} ns"
    if ns < 999.95e3:
        return _scaled(ns / 1e3, "us")
    if ns < 9999.5e6:
        return _scaled(ns / 1e6, "ms")
    return _scaled(ns / 1e9, "s")


def _scaled(value: float, unit: str) -> str:
    digits = 2 if value < 9.995 else 1 if value < 999.95 else 0
    return f"{value:.{digits}f} {unit}"


def percent(fraction: float) -> str:
    """A share between 0 and 1: "71 %"."""
    if 0 < fraction < 0.0005:
        return "below 0.1 %"  # "0.0 %" would say that there is nothing
    return f"{fraction * 100:.{1 if 0 < fraction < 0.0995 else 0}f} %"


def speedup(before_ns: int, after_ns: int) -> str:
    """How many times as fast a step is: "3.4x"."""
    times = before_ns / max(after_ns, 1)
    return f"{times:.{2 if times < 1.995 else 1 if times < 9.95 else 0}f}x"


def cause_label(cause: str) -> str:
    """A cause of the account for people: "idle: launch latency"."""
    return LABELS.get(cause) or cause.replace(".", ": ").replace("_", " ")


def with_article(unit: str, report: Report) -> str:
    """A unit of the report with its article: "a training step", "an iteration", "the window"."""
    if not report.steps.found:
        return f"the {unit}"
    return f"an {unit}" if unit[0] in "aeiou" else f"a {unit}"


def savings(finding: Finding, report: Report) -> str:
    """What the fix of a finding saves: "about 113.2 ms, 71 %"; "" if that is not known."""
    if finding.masked or finding.alone_ns == 0 or not report.steps.ns:
        return ""
    saved = duration(finding.alone_ns)
    # Made in the plan's order, a fix may bring more, or less, than alone.
    for before_ns, fix in report.plan_steps():
        if fix.fingerprint == finding.fingerprint and duration(before_ns - fix.step_ns) != saved:
            saved += " alone"
    return f"{_about(finding)} {saved}, {percent(finding.alone_ns / report.steps.ns)}"


def verdict(report: Report) -> str:
    """What is wrong and what that costs, in a sentence or two, or that nothing is."""
    first = report.findings[0] if report.findings else None
    step_ns = report.steps.ns
    if not step_ns:
        why = first.message if first else "it holds no GPU work."
        return f"This report cannot be judged: {why}"
    if first is None or first.severity == "note":
        return _quiet(report)
    if first.alone_ns == 0:
        return first.message
    return (
        f"{first.title}. That costs {_about(first)} {duration(first.alone_ns)} of {_whole(report)}"
        f" ({percent(first.alone_ns / step_ns)})."
    )


def first_fix(report: Report) -> str:
    """What to do first, and the step after it; "" if there is nothing to do."""
    finding = worth_most(report)
    if finding is None:
        return ""
    step_ns = report.steps.ns or 0
    if finding.severity == "note":
        return f"Worth a look: {finding.fix} ({savings(finding, report)})."
    text = f"Fix first: {finding.fix}"
    if finding.is_predicted and finding.alone_ns > 0:
        left_ns = step_ns - finding.alone_ns
        at_most, about = ("", "about") if _is_forecast(finding) else ("at most ", "no less than")
        text += (
            f"; {with_article(_noun(report), report)} then takes {about} {duration(left_ns)}"
            f" ({at_most}{speedup(step_ns, left_ns)} faster)"
        )
    return text + "."


def worth_most(report: Report) -> Optional[Finding]:
    """The finding to begin with: the first one, or among mere notes the one that saves most; None
    if none is worth a sentence."""
    if not report.findings:
        return None
    if report.findings[0].severity != "note":
        return report.findings[0] if report.findings[0].advice else None
    best = max(report.findings, key=lambda finding: finding.alone_ns)
    large = best.alone_ns >= WORTH_A_SENTENCE * (report.steps.ns or 0) > 0
    return best if large and best.advice else None


def _quiet(report: Report) -> str:
    """The verdict on a report with nothing but notes."""
    hidden = [f for f in report.suppressed if f.severity != "note"]
    if hidden:
        most = max(hidden, key=lambda f: max(f.recoverable_ns, f.alone_ns))
        return f"The largest loss is suppressed: {most.title} ({most.rule})."
    if not report.clean:
        return "This report cannot be judged: it holds nothing that a rule could check."
    losses = [line for line in report.account if not line.is_compute]
    largest = max(losses, key=lambda line: line.fraction, default=None)
    if largest and largest.fraction >= LARGE_LOSS:
        share = percent(largest.fraction)
        return (
            f"No known problem explains the largest loss: {cause_label(largest.cause)}, "
            f"{share} of the {_noun(report)}."
        )
    return "No large problem was found." if report.findings else "Nothing to fix was found."


def _is_forecast(finding: Finding) -> bool:
    return finding.recoverable_is == "about"


def _about(finding: Finding) -> str:
    return "about" if _is_forecast(finding) else "at most"


def _noun(report: Report) -> str:
    """What repeats, in running text: "step" of a training step."""
    return report.unit.name.split()[-1]


def _whole(report: Report) -> str:
    """What savings are parts of: "each 160.1 ms step"."""
    each = "each" if report.steps.found else "the"
    return f"{each} {duration(report.steps.ns or 0)} {_noun(report)}"
