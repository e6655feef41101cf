"""The units of a program that is watched: what ends them, and the ranges within."""

from __future__ import annotations

import atexit
import json
import math
import os
import sys
import threading
import time
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import fixes
from .capture import (
    NsysCapture,
    NvtxLayers,
    NvtxRanges,
    ProfilerCapture,
    Ranges,
    capturing,
    torch_with_gpu,
    uses_gpu,
)
from .window import DONE, RECORDING, START, Capture, Measured, NoCapture, Plan, Window

# What ends a unit, the surest last. A surer one that shows up later begins anew.
BATCH, REQUEST, OPTIMIZER = "batch", "request", "optimizer step"
SURENESS = ["", BATCH, REQUEST, OPTIMIZER]

# A loop over this many batches without a backward pass is inference.
INFERENCE_BATCHES = 3

# If no unit is seen so long after the first use of a GPU, a while is recorded.
MOST_WAIT_S, RECORDED_S = 60.0, 5.0

# How often it is written how many units have passed, before any is timed.
TELL_S = 1.0

# Losses that are kept to compare runs.
KEPT_LOSSES = 10


@dataclass
class Settings:
    """What to do, and the folder where results go; settings.json in that folder."""

    folder: str
    capture: str = "none"  #: nsys, torch or none
    units: int = 10
    delay: Optional[int] = None
    times: bool = True  #: time some units before the recording
    alone: bool = False  #: this rank has a folder of its own
    stacks: bool = False
    memory: bool = False
    layers: bool = False  #: modules and operators
    fixes: List[str] = field(default_factory=list)
    workers: int = 4  #: that loader-workers gives to loaders without

    @staticmethod
    def read(folder: str) -> Settings:
        with open(os.path.join(folder, "settings.json"), encoding="utf-8") as file:
            given: Dict[str, Any] = json.load(file)
        return Settings(folder, **given)

    def path(self, name: str) -> str:
        """Of a file in the folder."""
        return os.path.join(self.folder, name)

    def new_capture(self) -> Capture:
        if self.capture == "nsys":
            return NsysCapture(self.layers)
        if self.capture == "torch":
            path = self.path("report.json")
            return ProfilerCapture(path, self.stacks, self.memory, self.layers)
        return NoCapture()

    def plan(self) -> Plan:
        plan = Plan(units=0 if self.capture == "none" else self.units, delay=self.delay)
        if not self.times:
            plan.timed = 0
        if self.alone:
            plan.timed_s = 0
        return plan


def write_whole(path: str, text: str) -> None:
    """Writes a file so that nobody reads half of it. If that fails, it is left out: a program must
    not fail because it is watched."""
    try:
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".part", path)
    except OSError:
        pass


def leads(settings: Settings) -> bool:
    """Whether this process times units and starts the recording: the first one that asks, of local
    rank 0 if there are ranks."""
    local_rank = os.environ.get("LOCAL_RANK") or os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK")
    if local_rank not in (None, "0") and not settings.alone:
        return False
    try:
        os.close(os.open(settings.path("leader"), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        return True
    except OSError:
        return False


class Units:
    """What this process does, as the hooks report it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.losses: List[Any] = []  #: the first ones, as tensors
        self._window: Optional[Window] = None  # of the process that leads
        self._decided = False  # whether it is known if this process leads
        self._waits = False  # for units, to record by time if none comes
        self._unit = ""  # what ends one
        self._of: Optional[weakref.ref[object]] = None  # of several optimizers, which
        self._thread: Optional[int] = None  # that ends units
        self._told_s = 0.0  # when the state was written last
        self.stepping = False  # within an optimizer's step, which may call that of its base class
        self.answering = False  # within generate(), which may call that of a smaller model
        self._batches, self._backwards, self._number, self._inside = 0, 0, 0, 0
        self._ranges: Optional[Ranges] = None  # while the recording runs
        self._layers: Optional[NvtxLayers] = None  # while that of another process does
        self._open: Dict[str, Any] = {}  # ranges that other events end: step, forward
        atexit.register(self._program_ends)
        os.register_at_fork(after_in_child=self._forget)

    def gpu_is_likely(self) -> None:
        """The program has imported a library that uses a GPU."""
        if self.settings.capture == "nsys" and not self._waits:
            self._waits = True
            threading.Thread(target=self._record_without_units, daemon=True).start()

    def batch_requested(self) -> None:
        """The program asks its loader for a batch."""
        self._batches += 1
        if self._backwards == 0 and self._batches > INFERENCE_BATCHES:
            self.ended(BATCH)

    def forward_may_begin(self) -> None:
        """A batch is there. In training, the forward pass follows."""
        if self._ranges and self._backwards and not self._inside:
            self._end("forward")
            self._start("forward", "forward")

    def backward_begins(self, tensors: Any) -> None:
        """`tensors`: of which the gradients are computed, usually the loss."""
        self._backwards += 1
        self._end("forward")
        if self.settings.capture == "none" and len(self.losses) < KEPT_LOSSES:
            loss = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
            if getattr(loss, "numel", lambda: 0)() == 1:
                self.losses.append(loss.detach())

    def optimizer_begins(self) -> None:
        """The gradients are there, and the optimizer uses them."""
        self._end("optimizer")
        self._start("optimizer", "optimizer")

    def optimizer_ended(self, optimizer: object) -> None:
        """Its step is over, which ends a training step."""
        self._end("optimizer")
        self.ended(OPTIMIZER, of=optimizer)

    def ended(self, unit: str, of: object = None) -> None:
        """Something ended that may be a unit. `of`: which one, if a program may have several."""
        if self._thread is None:
            self._thread = threading.get_ident()
        is_over = self._window is not None and self._window.phase == DONE
        if self._inside or (not is_over and capturing()):
            return
        if SURENESS.index(unit) > SURENESS.index(self._unit):
            self._unit, self._of = unit, None
            if self._window:
                self._window.start_again()
        if unit != self._unit or not self._is_the_one(of):
            return
        self._end("forward")
        self._end("step")
        recording = self._guarded(self._recording_ranges)
        if recording:
            self._number += 1
            self._start("step", recording.step_name(self._number))

    def _is_the_one(self, of: object) -> bool:
        """Whether it ends units. The first does, or once that is gone, the next."""
        known = self._of() if self._of else None
        if known is None and of is not None:
            try:
                self._of = weakref.ref(of)
            except TypeError:  # its class has only __slots__, so it cannot be told from others
                pass
            return True
        return known is of

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """Does it. If that fails, watching ends, since the program must not fail because of it."""
        try:
            return action()
        except Exception as error:
            print(f"gh-advise: cannot go on watching: {error}", file=sys.stderr)
        window, self._window, self._ranges = self._window, None, None
        self._open.clear()
        try:
            self._mark_layers(False)
            if window and window.phase == RECORDING:
                window.capture.end()
        except Exception:
            pass
        return None

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        """A range, if the recording runs."""
        ranges = self._ranges
        if ranges is None:
            yield
            return
        recorded = ranges
        token = self._guarded(lambda: recorded.start(name))
        try:
            yield
        finally:
            if token is not None:
                self._guarded(lambda: recorded.end(token))

    @contextmanager
    def aside(self, name: str) -> Iterator[None]:
        """What does not belong to units: an evaluation, a checkpoint."""
        # What another thread does goes on beside the units.
        if self._thread not in (None, threading.get_ident()) or capturing():
            yield
            return
        self._inside += 1
        window = self._window if self._inside == 1 else None
        paused_ns = self._guarded(window.pause) if window else None
        try:
            with self.range(name):
                yield
        finally:
            self._inside -= 1
            if window and paused_ns is not None:
                resumed = window
                self._guarded(lambda: resumed.resume(paused_ns))

    def _recording_ranges(self) -> Optional[Ranges]:
        """Counts a unit. Returns what marks the next one, if it is recorded."""
        if not self._decided:
            self._decided = True
            if leads(self.settings):
                self._window = Window(
                    self.settings.new_capture(), self.settings.plan(), self._changed
                )
        if self._window:
            self._window.unit_ended()
            # If the program dies in its start, it is known how far it came.
            passed = self._window.measured.passed
            if self._window.phase == START and (
                passed & (passed - 1) == 0 or time.monotonic() - self._told_s > TELL_S
            ):
                self._write_state(START, self._window.measured)
            recording = self._window.phase == RECORDING
            self._ranges = self._window.capture.ranges if recording else None
        elif self.settings.capture == "nsys":  # which records all processes at once
            recording = os.path.exists(self.settings.path("recording"))
            if recording and self._ranges is None and torch_with_gpu():
                self._ranges = NvtxRanges()
                self._mark_layers(self.settings.layers)
            elif not recording:
                self._ranges = None
                self._mark_layers(False)
        return self._ranges

    def _mark_layers(self, marks: bool) -> None:
        """In a process that another one records."""
        if self._layers:
            self._layers.end()
        self._layers = NvtxLayers() if marks else None
        if self._layers:
            self._layers.begin()

    def _record_without_units(self) -> None:
        """Records by time what has no unit that the hooks know: JAX, CuPy, a loop of kernels."""
        while not uses_gpu():
            time.sleep(1)
        time.sleep(MOST_WAIT_S)
        # A first training step may compile for long.
        if self._unit or self._batches or self._backwards or not leads(self.settings):
            return
        self._decided = True  # a unit that shows up from now on is too late
        # Operators would be those of this thread.
        capture = NsysCapture(self.settings.layers, operators=False)
        try:
            capture.begin()
            self._write_state(RECORDING, Measured())
            time.sleep(RECORDED_S)
            capture.end()
        except Exception as error:  # the program must not fail because it is watched
            print(f"gh-advise: cannot record by time: {error}", file=sys.stderr)
        self._write_state(DONE, Measured())

    def _start(self, key: str, name: str) -> None:
        if self._ranges:
            ranges: Ranges = self._ranges
            token = self._guarded(lambda: ranges.start(name))
            if token is not None:
                self._open[key] = (ranges, token)

    def _end(self, key: str) -> None:
        if key in self._open:
            ranges, token = self._open.pop(key)
            self._guarded(lambda: ranges.end(token))

    def _changed(self, window: Window) -> None:
        flag = self.settings.path("recording")
        if window.phase == RECORDING:
            write_whole(flag, "")
        elif window.phase == DONE and os.path.exists(flag):
            os.remove(flag)
        self._write_state(window.phase, window.measured)

    def _write_state(self, phase: str, measured: Measured) -> None:
        self._told_s = time.monotonic()
        losses = [float(loss) for loss in self.losses] if phase == DONE else []
        known = [loss if math.isfinite(loss) else None for loss in losses]  # JSON has no NaN
        state = {
            "phase": phase,
            "pid": os.getpid(),
            "unit": self._unit,
            "gpu": torch_with_gpu() is not None,
            "losses": known,
            "applied": sorted(fixes.applied),
            **vars(measured),
        }
        write_whole(self.settings.path("state.json"), json.dumps(state))

    def _program_ends(self) -> None:
        self._mark_layers(False)
        window = self._window
        if window is None or window.phase == DONE:
            return
        if window.phase == RECORDING:
            window.end_recording("the program ended")
        else:
            self._write_state(window.phase, window.measured)

    def _forget(self) -> None:
        """In a child of a fork: it starts anew, and its parent's recording is not its own."""
        self._window, self._decided, self._ranges, self._layers = None, False, None, None
        self._unit, self._of, self._thread = "", None, None
        self._batches, self._backwards, self._number, self._inside = 0, 0, 0, 0
        self.stepping, self.answering = False, False
        self._open.clear()
        self.losses.clear()
        if self._waits:  # the thread that waited is the parent's
            self._waits = False
            self.gpu_is_likely()
