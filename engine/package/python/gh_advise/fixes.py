"""Fixes that need no edit of a program: `gh-advise try` applies them while it starts.

Each is a name, as on the command line. Environment variables are set before the program starts,
by gh-advise itself.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Dict, List, Set

from .hooks import replace

#: Names of the fixes that found something to change.
applied: Set[str] = set()


def _change_loaders(torch: Any, change: Callable[[Any, Any], None]) -> None:
    """Applies `change(args, kwargs)` to the arguments of each loader first."""

    def changed(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, /, *args: Any, **kwargs: Any) -> None:
            change(args, kwargs)
            original(self, *args, **kwargs)

        return init

    replace(torch.utils.data.DataLoader, "__init__", changed)


def loader_workers(torch: Any, workers: int) -> None:
    """Loads batches in worker processes and prefetches them."""
    iterable = torch.utils.data.IterableDataset

    def change(args: Any, kwargs: Any) -> None:
        dataset = args[0] if args else kwargs.get("dataset")
        # Each worker would read all of an iterable dataset. Arguments by position stay as they are.
        if isinstance(dataset, iterable) or len(args) > 4 or kwargs.get("num_workers", 0) > 0:
            return
        kwargs.update(num_workers=workers, persistent_workers=True)
        applied.add("loader-workers")

    _change_loaders(torch, change)


def pin_memory(torch: Any) -> None:
    """Puts batches into pinned memory."""

    def change(args: Any, kwargs: Any) -> None:
        if len(args) <= 6 and not kwargs.get("pin_memory") and torch.cuda.is_available():
            kwargs["pin_memory"] = True
            applied.add("pin-memory")

    _change_loaders(torch, change)


def fused_optimizer(torch: Any) -> None:
    """Updates all parameters in a few kernels."""

    def fused(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, /, *args: Any, **kwargs: Any) -> None:
            if any(kwargs.get(way) for way in ("fused", "capturable", "differentiable")):
                original(self, *args, **kwargs)
                return
            # Parameters may be a generator, which can be read once; groups are changed by a try.
            given = args[0] if args else kwargs.pop("params")
            parameters = given if isinstance(given, torch.Tensor) else list(given)
            tried = [dict(p) if isinstance(p, dict) else p for p in parameters]
            other = {**kwargs, "foreach": None, "fused": True}
            try:
                original(self, tried, *args[1:], **other)
                applied.add("fused-optimizer")
            except (RuntimeError, TypeError):  # not for these parameters, or an old version
                original(self, parameters, *args[1:], **kwargs)

        return init

    for name in ("Adam", "AdamW", "SGD", "Adagrad"):
        replace(getattr(torch.optim, name), "__init__", fused)


def cudnn_benchmark(torch: Any) -> None:
    """Measures which convolution of cuDNN is fastest."""
    if torch.backends.cudnn.benchmark:
        return
    torch.backends.cudnn.benchmark = True

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, /, *args: Any, **kwargs: Any) -> None:
            applied.add("cudnn-benchmark")  # it changes nothing but convolutions
            original(self, *args, **kwargs)

        return init

    replace(torch.nn.modules.conv._ConvNd, "__init__", counted)


def tf32(torch: Any) -> None:
    """Computes products of FP32 on tensor cores, with 10 bits of mantissa."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    applied.add("tf32")


def sdpa(torch: Any) -> None:
    """Computes attention with cuDNN's kernels where they can, else with FlashAttention's."""
    attention: Any = getattr(torch.nn, "attention", None)
    if attention is None:  # before 2.3
        return
    if "set_priority" not in inspect.signature(attention.sdpa_kernel).parameters:  # before 2.6
        return
    backend = attention.SDPBackend
    order = [
        backend.CUDNN_ATTENTION,
        backend.FLASH_ATTENTION,
        backend.EFFICIENT_ATTENTION,
        backend.MATH,
    ]

    def prioritized(original: Callable[..., Any]) -> Callable[..., Any]:
        def attend(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():  # which does not know priorities
                return original(*args, **kwargs)
            applied.add("sdpa")
            with attention.sdpa_kernel(order, set_priority=True):
                return original(*args, **kwargs)

        return attend

    replace(torch.nn.functional, "scaled_dot_product_attention", prioritized)


def compile_model(torch: Any) -> None:
    """Compiles the model that is called first, with torch.compile."""
    handle: List[Any] = []

    def before_forward(module: Any, inputs: Any) -> None:
        if handle:
            handle.pop().remove()
            module.compile()
            applied.add("compile")

    register = torch.nn.modules.module.register_module_forward_pre_hook
    handle.append(register(before_forward))


FIXES: Dict[str, Callable[[Any], None]] = {
    "pin-memory": pin_memory,
    "fused-optimizer": fused_optimizer,
    "cudnn-benchmark": cudnn_benchmark,
    "tf32": tf32,
    "sdpa": sdpa,
    "compile": compile_model,
}


def apply(torch: Any, names: List[str], workers: int) -> None:
    """Applies fixes to PyTorch, which has just been imported. `workers`: of loaders without."""
    for name in names:
        try:
            if name == "loader-workers":
                loader_workers(torch, workers)
            elif name in FIXES:
                FIXES[name](torch)
        except (AttributeError, RuntimeError, TypeError) as error:  # another version of PyTorch
            print(f"gh-advise: cannot apply {name}: {error}", file=sys.stderr)
