"""A report in a notebook: HTML without scripts, of which nothing leaves its own box."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterator

from . import words

if TYPE_CHECKING:
    from .report import Finding, Report

# Causes of the account below this share of the step are added up.
LEAST_SHARE = 0.005

# Notebooks are light or dark whatever the system is, so text has the notebook's own color, lines
# and grounds are transparent grays, and the few colors can be read on white and on black.
STYLE = """
.gh-advise { max-width: 60em; line-height: 1.45; overflow-wrap: anywhere; }
.gh-advise p { margin: .3em 0; }
.gh-advise table { border-collapse: collapse; margin: .6em 0; font: inherit; color: inherit; }
.gh-advise caption { text-align: left; font-weight: 600; padding: .2em 0; }
.gh-advise td { padding: .15em .7em .15em 0; text-align: left; border: 0; background: none; }
.gh-advise td.number { text-align: right; white-space: nowrap; }
.gh-advise td.bar { width: 14em; }
.gh-advise td.bar div { height: .8em; min-width: 1px; background: #d55e00; }
.gh-advise td.bar div.compute { background: #2f8f6b; }
.gh-advise li { margin: .4em 0; }
.gh-advise .error { color: #d9453b; font-weight: 600; }
.gh-advise .warning { color: #b07a10; font-weight: 600; }
.gh-advise .note { color: #3a86c8; font-weight: 600; }
.gh-advise .faint { opacity: .7; }
"""


def html(report: Report) -> str:
    """The verdict, where a step goes, the plan, and the findings with their fixes."""
    return "".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    yield f'<div class="gh-advise"><style>{STYLE}</style>'
    yield f'<p class="faint">{escape(report.recording.path)}</p>'
    yield f"<p><b>{escape(report.verdict)}</b> {escape(report.first_fix)}</p>"
    yield from _account(report)
    yield from _plan(report)
    if report.findings:
        yield "<ol>"
        for finding in report.findings:
            yield from _finding(finding, report)
        yield "</ol>"
    yield from _checked(report)
    yield "</div>"


def _account(report: Report) -> Iterator[str]:
    if not report.account:
        return
    lines = sorted(report.account, key=lambda line: -line.fraction)
    shown = [line for line in lines if line.fraction >= LEAST_SHARE]
    rest = lines[len(shown) :]
    unit = words.with_article(report.unit.name, report)
    yield f"<table><caption>Where {escape(unit)} goes</caption>"
    for line in shown:
        kind = "compute" if line.is_compute else "lost"
        bar = f'<div class="{kind}" style="width: {line.fraction * 100:.1f}%"></div>'
        yield _account_row(words.cause_label(line.cause), line.ns_per_step, line.fraction, bar)
    if rest:
        ns, fraction = sum(r.ns_per_step for r in rest), sum(r.fraction for r in rest)
        yield _account_row(f"{len(rest)} more", ns, fraction, "")
    yield "</table>"


def _account_row(label: str, ns: int, fraction: float, bar: str) -> str:
    return (
        f'<tr><td>{escape(label)}</td><td class="number">{words.duration(ns)}</td>'
        f'<td class="number">{words.percent(fraction)}</td><td class="bar">{bar}</td></tr>'
    )


def _plan(report: Report) -> Iterator[str]:
    if report.plan is None or not report.plan.fixes:
        return
    yield "<table><caption>The fixes, one after the other</caption>"
    for number, (before_ns, fix) in enumerate(report.plan_steps(), 1):
        finding = report.finding_of(fix)
        yield (
            f'<tr><td class="number">{number}.</td><td>{escape(finding.fix or finding.title)}</td>'
            f'<td class="number">{words.duration(before_ns)} → {words.duration(fix.step_ns)}</td>'
            f'<td class="number">{words.speedup(before_ns, fix.step_ns)}</td></tr>'
        )
    yield "</table>"
    if report.plan.ceiling:
        ceiling = escape(report.plan.ceiling)
        yield f'<p class="faint">Steps take no less than this; it is no forecast: {ceiling}.</p>'


def _finding(finding: Finding, report: Report) -> Iterator[str]:
    saves = words.savings(finding, report)
    if finding.masked:
        saves = "matters once the fixes above are made"
    elif saves:
        saves = f"saves {saves}"
    yield (
        f'<li><span class="{escape(finding.severity)}">{escape(finding.severity)}</span> '
        f"{escape(finding.title)}"
        f' <span class="faint">{escape(f"({saves})" if saves else "")}'
        f" {escape(finding.rule)}</span>"
    )
    yield "".join(f"<br>{escape(text)}" for text in finding.advice[:1])
    more = "".join(f"<p>{escape(text)}</p>" for text in (finding.message, *finding.advice[1:]))
    yield f"<details><summary>Why</summary>{more}</details></li>"


def _checked(report: Report) -> Iterator[str]:
    yield (
        f'<p class="faint">{len(report.clean)} rules found nothing; '
        f"{len(report.not_checked)} could not be checked.</p>"
    )
    troubles = [*report.problems, *(f"{failed.rule}: {failed.error}" for failed in report.failed)]
    for text in troubles:
        yield f'<p class="error">{escape(text)}</p>'
