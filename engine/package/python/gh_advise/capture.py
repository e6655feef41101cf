"""What records a window, and the ranges that mark it: Nsight Systems or PyTorch's profiler."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, List, Optional, Protocol, Tuple

from .modules import ModuleRanges


def torch_with_gpu() -> Optional[Any]:
    """PyTorch, if the program has imported it and uses a GPU."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return torch if cuda is not None and cuda.is_initialized() else None


def capturing() -> bool:
    """Whether the program is capturing a CUDA graph: then it must not wait for the GPU."""
    torch = torch_with_gpu()
    return torch is not None and bool(torch.cuda.is_current_stream_capturing())


def uses_gpu() -> bool:
    """Whether this process has opened a GPU, through whatever library."""
    try:
        files = os.listdir("/proc/self/fd")
    except OSError:
        return False
    for file in files:
        try:
            path = os.readlink(f"/proc/self/fd/{file}")
        except OSError:  # closed meanwhile
            continue
        if path.startswith("/dev/nvidia") and path[len("/dev/nvidia") :].isdigit():
            return True
    return False


def synchronize() -> None:
    """Waits until the current GPU has done its work; does nothing without one."""
    torch = torch_with_gpu()
    if torch:
        torch.cuda.synchronize()


class Ranges(Protocol):
    """Named stretches of the host's time in the recording."""

    def start(self, name: str) -> Any:
        """Begins a range; returns what `end` takes."""

    def end(self, token: Any) -> None:
        """Ends it. Ranges are ended in the order opposite to that of their starts."""

    def step_name(self, number: int) -> str:
        """What the range of a step is called."""


class NvtxRanges:
    """Ranges of NVTX, which do not disturb how the program nests its own."""

    def __init__(self) -> None:
        torch = sys.modules["torch"]
        self._nvtx: Any = torch.cuda.nvtx

    def start(self, name: str) -> Any:
        return self._nvtx.range_start(name)

    def end(self, token: Any) -> None:
        self._nvtx.range_end(token)

    def step_name(self, number: int) -> str:
        return f"step {number}"


class ProfilerRanges:
    """Ranges of PyTorch's profiler."""

    def start(self, name: str) -> Any:
        torch = sys.modules["torch"]
        token: Any = torch.profiler.record_function(name)
        token.__enter__()
        return token

    def end(self, token: Any) -> None:
        token.__exit__(None, None, None)

    def step_name(self, number: int) -> str:
        return f"ProfilerStep#{number}"  # as PyTorch's own schedule calls it


class NvtxLayers:
    """Modules and operators as ranges of NVTX. Whatever fails here leaves the program as it is."""

    def __init__(self) -> None:
        self._nvtx: Any = sys.modules["torch"].cuda.nvtx
        self._modules = ModuleRanges(self._nvtx.range_push, self._pop)
        self._operators: Any = None

    def begin(self, operators: bool = True) -> None:
        """`operators`: those of this thread too, and of its backward passes; then `end` belongs to
        this thread."""
        if operators:
            torch: Any = sys.modules["torch"]
            marked: Any = torch.autograd.profiler.emit_nvtx(record_shapes=True)
            try:
                marked.__enter__()
                self._operators = marked
            except Exception as error:  # as when the program runs a profiler itself
                print(f"gh-advise: cannot record operators: {error}", file=sys.stderr)
        self._modules.begin()

    def end(self) -> None:
        self._modules.end()
        marked, self._operators = self._operators, None
        if marked:
            try:
                marked.__exit__(None, None, None)
            except Exception as error:
                print(f"gh-advise: cannot stop to mark operators: {error}", file=sys.stderr)

    def _pop(self, token: Any) -> None:
        self._nvtx.range_pop()


class NsysCapture:
    """Nsight Systems, which runs the program and waits for the profiler's start.

    `layers`: with modules, and `operators`, which slow the host down.
    """

    def __init__(self, layers: bool = False, operators: bool = True) -> None:
        self.ends_from_any_thread = not (layers and operators)
        self.ranges: Optional[NvtxRanges] = None
        self._with_layers, self._with_operators = layers, operators
        self._layers: Optional[NvtxLayers] = None
        self._stop: Any = None

    def synchronize(self) -> None:
        synchronize()

    def begin(self) -> None:
        start, self._stop = self._calls()
        if torch_with_gpu():
            self.ranges = NvtxRanges()
        start()
        if self._with_layers and torch_with_gpu():
            self._layers = NvtxLayers()
            self._layers.begin(self._with_operators)

    def end(self) -> None:
        if self._layers:
            self._layers.end()
        self._stop()

    @staticmethod
    def _calls() -> Tuple[Any, Any]:
        torch = torch_with_gpu()
        if torch:
            runtime = torch.cuda.cudart()
            return runtime.cudaProfilerStart, runtime.cudaProfilerStop
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError:  # no GPU: there is nothing to record
            return (lambda: None), (lambda: None)
        # Another thread than the program's has no context yet. All libraries share a GPU's first.
        flags, active, context = ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
        device = 0
        while driver.cuDevicePrimaryCtxGetState(device, *map(ctypes.byref, (flags, active))) == 0:
            if active.value and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0:
                driver.cuCtxSetCurrent(context)
                break
            device += 1
        return driver.cuProfilerStart, driver.cuProfilerStop


class ProfilerCapture:
    """PyTorch's own profiler; writes its trace to `path`.

    It starts and ends on one thread. `stacks`, `memory` and `layers` record more and slow the host
    down.
    """

    ends_from_any_thread = False

    def __init__(
        self, path: str, stacks: bool = False, memory: bool = False, layers: bool = False
    ) -> None:
        self.path, self.ranges = path, ProfilerRanges()
        self._stacks, self._memory = stacks, memory
        self._modules = ModuleRanges(self.ranges.start, self.ranges.end) if layers else None
        self._profile: Any = None

    def synchronize(self) -> None:
        synchronize()

    def begin(self) -> None:
        torch = sys.modules["torch"]  # the program has it already
        profiler: Any = torch.profiler
        activities: List[Any] = [profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(profiler.ProfilerActivity.CUDA)
        self._profile = profiler.profile(
            activities=activities,
            record_shapes=True,
            with_stack=self._stacks,
            profile_memory=self._memory,
        )
        self._profile.__enter__()
        if self._modules:
            self._modules.begin()

    def end(self) -> None:
        if self._modules:
            self._modules.end()
        profile, self._profile = self._profile, None
        profile.__exit__(None, None, None)
        unfinished = self.path + ".part.json"
        profile.export_chrome_trace(unfinished)
        os.replace(unfinished, self.path)
