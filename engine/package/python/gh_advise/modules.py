"""The forward of each module in a range that its path names, which `gh-advise layers` reads.

This replaces `torch.nn.Module.__call__` for as long as modules are marked. PyTorch's own hooks for
all modules would do harm beside torch.compile: 2.11 warns of them, compiles modules that have hooks
of their own anew, and does not call them in modules that were compiled in place or in parts.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

Call = Callable[..., Any]


class Paths:
    """Of the modules in one that was called from outside of any, the root. Keeps none alive."""

    def __init__(self, root: Any) -> None:
        self.root = weakref.ref(root)
        self.may_be_old = True  #: modules may have been added, or replaced
        self._of: Dict[int, Tuple[weakref.ref[Any], str]] = {}
        self._read()

    def read_again(self) -> None:
        """Once for each call of the root, since a large one takes a millisecond."""
        self.may_be_old = False
        self._read()

    def _read(self) -> None:
        root = self.root()
        if root is not None:
            # Of a module with several paths, this has the first.
            named = [(path or type(root).__name__, module) for path, module in root.named_modules()]
            self._of = {id(module): (weakref.ref(module), path) for path, module in named}

    def of(self, module: Any) -> str:
        """A module's path; the name of its class for the root; "" if it is not in the root."""
        known = self._of.get(id(module))
        return known[1] if known is not None and known[0]() is module else ""


class _Thread(threading.local):
    paths: Optional[Paths] = None  # of the innermost root whose forward this thread is in


class ModuleRanges:
    """From `begin` to `end`, the forward of each module lies in a range named by its path from the
    outermost module that was called. `start(name)` and `leave(what that returned)` make ranges.

    Whatever fails here leaves the program as it is.
    """

    def __init__(self, start: Callable[[str], Any], leave: Callable[[Any], None]) -> None:
        self._start, self._leave = start, leave
        self._thread = _Thread()
        self._roots: List[Paths] = []  # the one that was called last comes first
        self._class: Any = None  # torch.nn.Module
        self._original: Optional[Call] = None  # its __call__, while modules are marked
        self._marked: Optional[Call] = None

    def begin(self) -> None:
        """From now on, modules of all threads are marked."""
        try:
            torch: Any = sys.modules["torch"]
            self._class = torch.nn.Module
            original = self._class.__call__
            self._marked = self._marking(original, is_compiling_in(torch), torch.jit.is_tracing)
            self._keep_from_compiler()
            self._original, self._class.__call__ = original, self._marked
            _begun.append(self)
        except Exception as error:
            self._fail(error)

    def end(self) -> None:
        """No module is marked any more, but for those whose forward runs."""
        original, self._original = self._original, None
        # Whoever has replaced it meanwhile calls this one, which then does nothing.
        if original is not None and self._class.__call__ is self._marked:
            self._class.__call__ = original
        self._roots = []
        if self in _begun:
            _begun.remove(self)

    def _marking(
        self, original: Call, is_compiling: Callable[[], bool], is_tracing: Callable[[], bool]
    ) -> Call:
        entered, left = self._entered, self._left

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            # Ranges must not become a part of what is compiled. torch.compile reads no further than
            # is_compiling(), and torch.jit.trace would keep them.
            if is_compiling() or is_tracing():
                return original(module, *args, **kwargs)
            range_ = entered(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                if range_ is not None:
                    left(range_)

        return call

    def _entered(self, module: Any) -> Any:
        """Begins the range of a module; returns what `_left` takes."""
        if self._original is None:
            return None
        outer = self._thread.paths
        try:
            paths, path = self._find(module, outer)
            token = self._start(path)
        except Exception as error:
            self._fail(error)
            return None
        self._thread.paths = paths
        return outer, token

    def _left(self, range_: Any) -> None:
        self._thread.paths, token = range_
        try:
            self._leave(token)
        except Exception as error:
            if self._original is not None:
                self._fail(error)

    def _find(self, module: Any, outer: Optional[Paths]) -> Tuple[Paths, str]:
        """A module's path, and the paths of the root that it is in."""
        if outer is not None:
            path = outer.of(module)
            if not path and outer.may_be_old:
                outer.read_again()
                path = outer.of(module)
            if path:
                return outer, path
        # What is called from outside may be in a root all the same: backward computes a block of it
        # again, or it is called by itself.
        found: Optional[Paths] = None
        for paths in self._roots:
            if paths.root() is module:
                found = paths
                break
            if found is None and paths.of(module):
                found = paths
        if found is None:
            found = Paths(module)
            self._roots = [found] + [paths for paths in self._roots if paths.root() is not None]
        elif found.root() is module and outer is None:
            found.may_be_old = True
            if found is not self._roots[0]:
                self._roots = [found] + [paths for paths in self._roots if paths is not found]
        return found, found.of(module) or type(module).__name__

    def _fail(self, error: Exception) -> None:
        print(f"gh-advise: cannot name modules any more: {error}", file=sys.stderr)
        self.end()

    def _keep_from_compiler(self) -> None:
        """Of a function that was compiled in parts, the compiler also compiles what it calls."""
        skip = getattr(sys.modules.get("torch._dynamo.eval_frame"), "skip_code", None)
        if skip is not None and self._marked is not None:
            own: List[Any] = [self._marked, self._entered, self._left, self._find]
            own += [Paths.__init__, Paths.read_again, Paths._read, Paths.of]
            for function in [*own, self._start, self._leave]:
                code = getattr(function, "__code__", None)
                if code is not None:
                    skip(code)


def is_compiling_in(torch: Any) -> Callable[[], bool]:
    """What says whether torch.compile reads the code; PyTorch before 2.0 has none."""
    for compiler in (getattr(torch, "compiler", None), sys.modules.get("torch._dynamo")):
        is_compiling: Optional[Callable[[], bool]] = getattr(compiler, "is_compiling", None)
        if is_compiling is not None:
            return is_compiling
    return lambda: False


_begun: List[ModuleRanges] = []  #: those that mark modules now


def _end_in_child() -> None:
    """A forked child is not recorded."""
    for ranges in list(_begun):
        ranges.end()


os.register_at_fork(after_in_child=_end_in_child)
