"""A report in a notebook: HTML without scripts, of which nothing leaves its own box."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterator

if TYPE_CHECKING:
    from .report import AccountSummary, Finding, PlanSummary, Report

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
    yield from _account(report.summary.account)
    if report.summary.plan:
        yield from _plan(report.summary.plan)
    if report.findings:
        yield "<ol>"
        for finding in report.findings:
            yield from _finding(finding)
        yield "</ol>"
    yield from _checked(report)
    yield "</div>"


def _account(account: AccountSummary) -> Iterator[str]:
    if not account.lines:
        return
    yield f"<table><caption>{escape(account.title)}</caption>"
    for line in account.lines:
        kind = "compute" if line.is_compute else "lost"
        bar = f'<div class="{kind}" style="width: {line.fraction * 100:.1f}%"></div>'
        yield (
            f'<tr><td>{escape(line.label)}</td><td class="number">{escape(line.time)}</td>'
            f'<td class="number">{escape(line.share)}</td>'
            f'<td class="bar">{bar if line.cause else ""}</td></tr>'
        )
    yield "</table>"


def _plan(plan: PlanSummary) -> Iterator[str]:
    yield f"<table><caption>{escape(plan.title)}</caption>"
    for line in plan.lines:
        yield (
            f'<tr><td class="number">{line.finding}.</td><td>{escape(line.fix)}</td>'
            f'<td class="number">{escape(line.before)} → {escape(line.after)}</td>'
            f'<td class="number">{escape(line.speedup)}</td></tr>'
        )
    yield f'</table><p class="faint">{escape(plan.total)}</p>'


def _finding(finding: Finding) -> Iterator[str]:
    yield (
        f'<li><span class="{escape(finding.severity)}">{escape(finding.severity)}</span> '
        f"{escape(finding.title)}"
        f' <span class="faint">{escape(f"({finding.saves})" if finding.saves else "")}'
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
