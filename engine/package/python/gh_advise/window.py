"""Which units of a program are timed, and which are recorded.

A unit is what the program repeats: a training step, a request. A `Window` lets the first ones
pass, because they compile and warm up; times some without the profiler; then records some.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, List, Optional, Protocol

if TYPE_CHECKING:
    from .capture import Ranges

START, TIMING, RECORDING, DONE = "start", "timing", "recording", "done"

# The start has passed when this many units in a row take the same time within SETTLED, but at the
# latest after MOST_START_UNITS or MOST_START_S.
SETTLED_UNITS, SETTLED = 5, 1.25
MOST_START_UNITS, MOST_START_S = 50, 120.0

# Enough units to time: TIMED_UNITS that take TIMED_S together. Short units end after
# MOST_TIMED_UNITS, long ones after MOST_TIMED_S.
TIMED_UNITS, TIMED_S = 20, 0.5
MOST_TIMED_UNITS, MOST_TIMED_S, LEAST_TIMED_UNITS = 60, 20.0, 3

# A unit that does not end must not fill the disk.
MOST_RECORDING_S = 120.0


class Capture(Protocol):
    """What records: Nsight Systems, PyTorch's profiler, or nothing."""

    ends_from_any_thread: bool

    @property
    def ranges(self) -> Optional[Ranges]:
        """Marks what is recorded."""

    def synchronize(self) -> None:
        """Waits until the GPU has done its work."""

    def begin(self) -> None:
        """Begins to record."""

    def end(self) -> None:
        """Ends it."""


class NoCapture:
    """Records nothing: for runs that are only timed."""

    ends_from_any_thread = True
    ranges = None

    def synchronize(self) -> None:
        pass

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass


@dataclass
class Plan:
    """How many units pass, are timed and are recorded."""

    units: int = 10  #: to record; 0 only times
    delay: Optional[int] = None  #: units that pass first; None: until their times settle
    timed: int = TIMED_UNITS  #: 0 records without timing before
    timed_s: float = TIMED_S  #: at least so long together; 0 where ranks must agree on the count
    most_recording_s: float = MOST_RECORDING_S


@dataclass
class Measured:
    """What a Window has found out so far. Times are of the host's clock."""

    passed: int = 0  #: units since the start
    unit_ns: List[int] = field(default_factory=list)  #: each timed unit, as the host saw it
    timed_ns: int = 0  #: all timed units, from an idle GPU to an idle GPU
    recorded: int = 0  #: units
    recorded_ns: int = 0  #: all recorded units, likewise
    why_short: str = ""  #: why fewer units than planned were recorded


class Window:
    """Call `unit_ended()` where a unit ends. `changed()` is called after each change of `phase`.

    Waits for the GPU only at the edges of the timed and of the recorded units.
    """

    def __init__(
        self,
        capture: Capture,
        plan: Optional[Plan] = None,
        changed: Callable[["Window"], None] = lambda window: None,
        clock_ns: Optional[Callable[[], int]] = None,
    ) -> None:
        self.capture, self.plan, self.phase = capture, plan or Plan(), START
        self.measured = Measured()
        self._changed, self._clock_ns = changed, clock_ns or time.perf_counter_ns
        self._began_ns = 0  # of the phase; moved forward by what does not count
        self._last_ns: Optional[int] = None  # the end of the unit before
        self._recent_ns: List[int] = []
        self._lock = threading.Lock()
        self._watchdog: Optional[threading.Timer] = None

    def unit_ended(self) -> None:
        """The program has ended a unit, and begins the next one."""
        now_ns = self._clock_ns()
        last_ns, self._last_ns = self._last_ns, now_ns
        if self.phase == DONE or last_ns is None:
            self._began_ns = self._began_ns or now_ns
            return
        self.measured.passed += 1
        if self.phase == START:
            self._recent_ns = self._recent_ns[1 - SETTLED_UNITS :] + [now_ns - last_ns]
            if self._start_has_passed(now_ns):
                if self.plan.timed:
                    self._begin_timing()
                else:
                    self.capture.synchronize()
                    self._begin_recording()
        elif self.phase == TIMING:
            self.measured.unit_ns.append(now_ns - last_ns)
            if self._timed_enough(now_ns):
                self._end_timing()
        else:
            self.measured.recorded += 1
            if self.measured.recorded >= self.plan.units:
                self.end_recording()

    def pause(self) -> Optional[int]:
        """What follows does not belong to units, as an evaluation or a checkpoint, until `resume`
        gets what this returns."""
        if self.phase == RECORDING and self.measured.recorded >= LEAST_TIMED_UNITS:
            self.end_recording("an evaluation or a checkpoint began")
        if self.phase not in (TIMING, RECORDING):
            return None
        self.capture.synchronize()
        return self._clock_ns()

    def resume(self, paused_ns: Optional[int]) -> None:
        """Units go on."""
        if paused_ns is None:
            return
        self.capture.synchronize()
        took_ns = self._clock_ns() - paused_ns
        self._began_ns += took_ns
        if self._last_ns is not None:
            self._last_ns += took_ns

    def start_again(self) -> None:
        """Another unit than so far is the right one."""
        if self.phase in (START, TIMING):
            self.measured, self._recent_ns, self._last_ns = Measured(), [], None
            self._began_ns, self.phase = 0, START

    def end_recording(self, why_short: str = "") -> None:
        """Ends the recording, if it runs. `why_short`: why it is not over by itself."""
        with self._lock:
            if self.phase != RECORDING:
                return
            self.capture.synchronize()
            # Cut short, it ends within a unit: only whole ones count.
            end_ns = self._last_ns if why_short and self._last_ns else self._clock_ns()
            self.measured.recorded_ns = end_ns - self._began_ns
            self.measured.why_short = why_short
            self.phase = DONE
            if self._watchdog:
                self._watchdog.cancel()
            self.capture.end()
        self._changed(self)

    def _start_has_passed(self, now_ns: int) -> bool:
        if self.plan.delay is not None:
            return self.measured.passed >= self.plan.delay
        if self.measured.passed >= MOST_START_UNITS or now_ns - self._began_ns >= MOST_START_S * 1e9:
            return True
        recent = self._recent_ns
        return len(recent) == SETTLED_UNITS and max(recent) <= SETTLED * min(recent)

    def _timed_enough(self, now_ns: int) -> bool:
        count, took_s = len(self.measured.unit_ns), (now_ns - self._began_ns) / 1e9
        long_enough = took_s >= self.plan.timed_s
        if count >= MOST_TIMED_UNITS or (count >= self.plan.timed and long_enough):
            return True
        return count >= LEAST_TIMED_UNITS and took_s >= MOST_TIMED_S and self.plan.timed_s > 0

    def _begin_timing(self) -> None:
        self.capture.synchronize()
        self._began_ns = self._last_ns = self._clock_ns()
        self.phase = TIMING
        self._changed(self)

    def _end_timing(self) -> None:
        self.capture.synchronize()
        self.measured.timed_ns = self._clock_ns() - self._began_ns
        if self.plan.units == 0:
            self.phase = DONE
            self._changed(self)
        else:
            self._begin_recording()

    def _begin_recording(self) -> None:
        self.capture.begin()
        self.phase = RECORDING
        if self.capture.ends_from_any_thread:
            why = f"it was ended after {self.plan.most_recording_s:g} s"
            self._watchdog = threading.Timer(
                self.plan.most_recording_s, self.end_recording, args=(why,)
            )
            self._watchdog.daemon = True
            self._watchdog.start()
        self._changed(self)
        self._began_ns = self._last_ns = self._clock_ns()
