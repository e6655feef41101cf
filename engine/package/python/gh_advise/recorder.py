"""Records some steps of a loop, from within the program."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Callable, Iterator, Optional, Type

from .capture import NsysCapture, ProfilerCapture, torch_with_gpu, uses_gpu
from .checking import check
from .hooks import FOLDER
from .program import StrPath
from .report import Report
from .window import DONE, RECORDING, Capture, Plan, Window

#: Nsight Systems sets it for programs that it runs.
NSYS = "NSYS_PROFILING_SESSION_ID"

logger = logging.getLogger("gh_advise")


class Recorder:
    """Times some steps of a loop without a profiler, then records some, then checks the recording.

        with gh_advise.record() as recorder:
            for batch in loader:
                ...
                recorder.step()
        print(recorder.report)

    steps: how many to record.
    path: where the recording goes, without its ending: it is written to path.json, and what a step
        takes without the profiler to path.measured.json.
    delay: steps that pass before any is timed; None: until they take equally long.
    stacks, memory: record these too, which slows the host down.
    layers: record modules and operators, for `gh-advise layers`; slows the host down too.
    program: the path of gh-advise; see `gh_advise.program.find_program`.

    It records with PyTorch's profiler; or, in a program that runs under `nsys profile
    --capture-range=cudaProfilerApi`, with Nsight Systems. Of several ranks, rank 0 records.

    Whatever fails here is logged (logger "gh_advise") and leaves the loop as it is; exceptions of
    the loop pass through.
    """

    def __init__(
        self,
        steps: int = 10,
        path: StrPath = "gh-advise",
        *,
        delay: Optional[int] = None,
        stacks: bool = False,
        memory: bool = False,
        layers: bool = False,
        program: Optional[StrPath] = None,
    ) -> None:
        if steps < 1:
            raise ValueError(f"{steps} steps cannot be recorded")
        #: What slows the loop down, once it has ended; None if that is not known.
        self.report: Optional[Report] = None
        #: Why there is no report, once the loop has ended; "" if there is one.
        self.why_not = ""
        self._name = os.path.abspath(path)  # the loop may go to another folder
        self._plan = Plan(units=steps, delay=delay)
        self._stacks, self._memory, self._layers = stacks, memory, layers
        self._program = program
        self._window: Optional[Window] = None  # from the first step on
        self._end: Optional[Callable[[], None]] = None  # of the range of the current step
        self._paused_ns: Optional[int] = None  # what Window.resume takes
        self._paused = False
        self._watches, self._finished = True, False
        self._number = 0

    def step(self) -> None:
        """A step has ended, and the next one begins."""
        self._try(self._step)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is done within is no part of a step: an evaluation, a checkpoint."""
        outermost = not self._paused
        if outermost:
            self.pause()
        try:
            yield
        finally:
            if outermost:
                self.resume()

    def pause(self) -> None:
        """What follows is no part of a step, until `resume()`. Again, it does nothing."""
        if not self._paused:
            self._try(self._pause)

    def resume(self) -> None:
        """Steps go on. Does nothing if they do already."""
        if self._paused:
            self._try(self._resume)

    def finish(self, error: Optional[BaseException] = None) -> None:
        """The loop has ended, with `error` if it failed; a `with` block does this by itself."""
        if not self._finished:
            self._finished = True
            self._try(lambda: self._finish(error))
            self._watches = False

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.finish(error)

    def _try(self, action: Callable[[], None]) -> None:
        if self._watches:
            try:
                action()
            except Exception as error:  # the loop must not fail because it is watched
                self._stop(f"cannot go on: {error}")

    def _stop(self, why_not: str, says: bool = True) -> None:
        """There will be no report."""
        self._watches, self.why_not = False, why_not
        window, self._window = self._window, None
        if window and window.phase == RECORDING:
            with suppress(Exception):
                window.capture.end()
        if says:
            logger.warning("gh-advise: no report: %s", why_not)

    def _step(self) -> None:
        window = self._window = self._window or self._new_window()
        if window is None:
            return
        self._end_range()
        window.unit_ended()
        self._start_range(window)

    def _new_window(self) -> Optional[Window]:
        """None if this process does not record, which is known once it has made its first step."""
        nsys = NSYS in os.environ
        if os.environ.get(FOLDER):
            self._stop("`gh-advise record` watches this program already")
        elif _rank() != 0:
            self._stop("of several ranks, rank 0 records", says=False)
        elif nsys and not uses_gpu():
            self._stop("this process does not use a GPU")
        elif not nsys and torch_with_gpu() is None:
            self._stop("this process does not use a GPU through PyTorch")
        else:
            return Window(self._new_capture(nsys), self._plan, self._changed)
        return None

    def _new_capture(self, nsys: bool) -> Capture:
        if nsys:
            return NsysCapture(self._layers)
        os.makedirs(os.path.dirname(self._name), exist_ok=True)
        return ProfilerCapture(self._name + ".json", self._stacks, self._memory, self._layers)

    def _changed(self, window: Window) -> None:
        measured = window.measured
        if window.phase != DONE or not measured.recorded:
            return
        document = {
            "schema_version": 1,
            "unit": "step",
            "measured_step_ns": max(1, measured.timed_ns // len(measured.unit_ns)),
            "samples": len(measured.unit_ns),
            "recorded_step_ns": max(1, measured.recorded_ns // measured.recorded),
        }
        with open(self._name + ".measured.json", "w", encoding="utf-8") as file:
            json.dump(document, file)

    def _start_range(self, window: Window) -> None:
        ranges = window.capture.ranges if window.phase == RECORDING else None
        if ranges:
            self._number += 1
            self._end = partial(ranges.end, ranges.start(ranges.step_name(self._number)))

    def _end_range(self) -> None:
        end, self._end = self._end, None
        if end:
            end()

    def _pause(self) -> None:
        if self._window:
            self._end_range()
            self._paused_ns, self._paused = self._window.pause(), True

    def _resume(self) -> None:
        paused, self._paused = self._paused, False
        if self._window and paused:
            self._window.resume(self._paused_ns)
            self._start_range(self._window)

    def _finish(self, error: Optional[BaseException]) -> None:
        self._resume()
        self._end_range()
        if self._window is None:
            return self._stop("no step was made: call step() where a step ends")
        window, measured = self._window, self._window.measured
        window.end_recording("the loop ended")
        file = self._name + ".json"
        if window.phase != DONE:
            self._stop(
                f"the loop ended with step {measured.passed + 1}, before any was recorded: first "
                f"some pass until they take equally long, then {self._plan.timed} or more are timed"
            )
        elif not measured.recorded:
            self._stop("the loop ended before a step was recorded as a whole")
        elif isinstance(window.capture, NsysCapture):
            self._stop("Nsight Systems writes it, to what --output says: run gh-advise on that")
        elif error is not None:
            self._stop(f"the loop failed; what was recorded before is in {file}")
        else:
            try:
                self.report = check(file, program=self._program)
            except Exception as failure:
                self._stop(f"{file} was recorded, but not checked: {failure}")


record = Recorder


def _rank() -> int:
    """This process's number in its job; 0 if it is alone."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0
