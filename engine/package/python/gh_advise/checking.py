"""Asks the program to check reports."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Iterable, List, Optional, Tuple, Union

from .program import GhAdviseError, StrPath, error_of, find_program, run
from .report import Report, Request, require_schema

Paths = Union[StrPath, Iterable[StrPath]]


def check(
    path_or_paths: Paths,
    *,
    select: Union[str, Iterable[str]] = (),
    ignore: Union[str, Iterable[str]] = (),
    rules: Paths = (),
    config: Optional[StrPath] = None,
    measured_step: Union[str, float, None] = None,
    steps: Union[str, Tuple[int, int], None] = None,
    unit: Optional[str] = None,
    program: Optional[StrPath] = None,
) -> Report:
    """Says what slows one recorded program down.

    path_or_paths: a report of Nsight Systems (.sqlite, or .nsys-rep if nsys is installed), a trace
        of PyTorch's profiler (.json, .json.gz), or those of all ranks of one job.
    select, ignore: only these rules, and all but these: ids or categories.
    rules: folders with more rules.
    config: the configuration; None takes the nearest gh-advise.toml, "none" takes none.
    measured_step: what a step takes without the profiler: seconds, or text with a unit ("16.5ms").
        It corrects for the profiler's overhead.
    steps: the first and the last step to analyze, by number: (10, 20) or "10:20".
    unit: what to call a step: "token", "layer".
    program: the path of gh-advise; see `gh_advise.program.find_program`.

    Raises GhAdviseError if the report, or one of the ranks, could not be read; ValueError if there
    are several reports (`check_all` takes those); ProgramNotFound.
    """
    options = _options(select, ignore, rules, config, steps, unit)
    if measured_step is not None:
        text = measured_step if isinstance(measured_step, str) else f"{float(measured_step)!r}s"
        options.append(f"--measured-step={text}")
    request = Request(find_program(program), tuple(options), _paths(path_or_paths), os.getcwd())
    document, error = _answer(request)
    if document["errors"]:  # without one of its ranks a job is not the same job
        raise error
    if len(document["reports"]) != 1:
        raise ValueError(
            f"these are {len(document['reports'])} reports, and not the ranks of one job: "
            "use check_all"
        )
    return Report.from_json(document["reports"][0], request)


def check_all(
    paths: Paths,
    *,
    select: Union[str, Iterable[str]] = (),
    ignore: Union[str, Iterable[str]] = (),
    rules: Paths = (),
    config: Optional[StrPath] = None,
    steps: Union[str, Tuple[int, int], None] = None,
    unit: Optional[str] = None,
    program: Optional[StrPath] = None,
) -> List[Report]:
    """Checks several reports, or those in folders; the ranks of one job make one report.

    The arguments are those of `check`. Warns of each report that could not be read, and raises
    GhAdviseError if none could.
    """
    options = _options(select, ignore, rules, config, steps, unit)
    request = Request(find_program(program), tuple(options), _paths(paths), os.getcwd())
    document, error = _answer(request)
    if not document["reports"]:
        raise error
    for text in document["errors"]:
        warnings.warn(text, stacklevel=2)
    alone = len(document["reports"]) == 1 and not document["errors"]
    return [
        Report.from_json(report, request if alone else _request_of(report, request))
        for report in document["reports"]
    ]


def _answer(request: Request) -> Tuple[Any, GhAdviseError]:
    """The document that the program prints, and the error to raise if it does not suffice."""
    done = run(request.program, request.arguments("json"), request.folder)
    error = error_of(done)
    if not done.stdout or done.returncode not in (0, 2):
        raise error
    try:
        document = json.loads(done.stdout)
    except (ValueError, RecursionError):  # such as lists in lists, deeper than Python reads
        raise GhAdviseError(
            "the program's answer is no JSON that can be read", error.stderr, done.returncode
        ) from None
    require_schema(document)
    return document, error


def _request_of(report: Any, request: Request) -> Optional[Request]:
    """The request for this report alone; None for the ranks of a job, of which it does not name the
    files."""
    path = report["report"]["path"]
    if not os.path.isfile(os.path.join(request.folder, path)):
        return None
    return Request(request.program, request.options, (path,), request.folder)


def _options(
    select: Union[str, Iterable[str]],
    ignore: Union[str, Iterable[str]],
    rules: Paths,
    config: Optional[StrPath],
    steps: Union[str, Tuple[int, int], None],
    unit: Optional[str],
) -> List[str]:
    options = []
    for name, ids in (("select", select), ("ignore", ignore)):
        text = ids if isinstance(ids, str) else ",".join(ids)
        if text:
            options.append(f"--{name}={text}")
    options += [f"--rules={folder}" for folder in _paths(rules)]
    if config is not None:
        options.append(f"--config={os.fspath(config)}")
    if steps is not None:
        text = steps if isinstance(steps, str) else "{}:{}".format(*steps)
        options.append(f"--steps={text}")
    if unit is not None:
        options.append(f"--unit={unit}")
    return options


def _paths(paths: Paths) -> Tuple[str, ...]:
    if isinstance(paths, (str, os.PathLike)):
        return (os.fspath(paths),)
    return tuple(os.fspath(path) for path in paths)
