"""Watches an unchanged program: PyTorch, Lightning, the Hugging Face Trainer and generate().

`gh-advise record` and `gh-advise try` put a folder on PYTHONPATH whose sitecustomize imports this
package as `_gh_advise`, a name that no program has, and calls `install()`. Nothing
happens until the program imports PyTorch; then each unit costs microseconds.
"""

from __future__ import annotations

import functools
import os
import sys
import types

TYPE_CHECKING = False  # as in typing, whose import takes longer than all else here
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Callable, ContextManager, Dict, Optional, Sequence

    from .units import Units

    Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]

#: Environment: the folder with settings.json, where results go.
FOLDER = "GH_ADVISE_FOLDER"


def replace(owner: Any, name: str, wrapper: Wrapper) -> None:
    """Replaces owner.name by wrapper(owner.name). Does nothing where a version lacks it."""
    original = getattr(owner, name, None)
    if original is None:
        return
    replacement = functools.wraps(original)(wrapper(original))
    setattr(owner, name, replacement)
    # A function is pickled as a name of the module that defines it, which is `owner` or below it.
    home = sys.modules.get(getattr(original, "__module__", None) or "")
    if home is not None and vars(home).get(name) is original:
        setattr(home, name, replacement)


def within(context: Callable[[], ContextManager[None]]) -> Wrapper:
    """A wrapper that calls the original within a context."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with context():
                return original(*args, **kwargs)

        return call

    return wrapper


def is_plain(function: Any, *kinds: type) -> bool:
    """Whether it is one of these kinds of functions, and runs to its end when it is called."""
    import inspect  # PyTorch has imported it

    runs_later = (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    )
    return isinstance(function, kinds) and not any(kind(function) for kind in runs_later)


def place_of_closure(step: Callable[..., Any]) -> Optional[int]:
    """Where a step takes its closure, if it is not given by name. 0: its first argument."""
    import inspect

    try:
        names = list(inspect.signature(step).parameters)[1:]
    except Exception:
        return None
    # PyTorch's own optimizers, in some versions, hide what they take.
    if names == ["args", "kwargs"] and step.__module__ == "torch.optim.optimizer":
        return 0
    return names.index("closure") if "closure" in names else None


def marked_step(step: Callable[..., Any], units: Units) -> Callable[..., Any]:
    """An optimizer's step that reports itself. A closure, which computes the loss, runs before.
    Only what a step takes under that name is one, and only a function: any other may be a model."""
    place = place_of_closure(step)

    @functools.wraps(step)
    def call(optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
        if units.stepping:  # the step of a base class
            return step(optimizer, *args, **kwargs)
        by_place = place is not None and place < len(args)
        closure = args[place] if place is not None and by_place else kwargs.get("closure")
        if is_plain(closure, types.FunctionType, types.MethodType):

            def then_step(*inputs: Any, **options: Any) -> Any:
                loss = closure(*inputs, **options)
                units.optimizer_begins()
                return loss

            functools.update_wrapper(then_step, closure)
            if place is not None and by_place:
                args = (*args[:place], then_step, *args[place + 1 :])
            else:
                kwargs["closure"] = then_step
        else:
            units.optimizer_begins()
        units.stepping = True
        try:
            result = step(optimizer, *args, **kwargs)
        finally:
            units.stepping = False
        units.optimizer_ended(optimizer)
        return result

    return call


def mark_class(kind: Any, base: type, units: Units) -> None:
    """Marks the step of a class of optimizers, where it is defined: in the class or a base that
    is an optimizer too, since others may be bases of anything. Leaves what is no plain function, such as a
    property, and classes that do not want to be changed."""
    for owner in kind.__mro__:
        step = vars(owner).get("step")
        if step is None or not issubclass(owner, base):
            continue
        if is_plain(step, types.FunctionType) and not hasattr(step, "is_marked"):
            marked: Any = marked_step(step, units)
            marked.is_marked = True
            try:
                owner.step = marked
            except Exception:
                pass
        return


def watch_torch(torch: Any, units: Units) -> None:
    """Optimizers, loaders, the backward pass, checkpoints."""
    from . import fixes

    def mark_step(init: Callable[..., Any]) -> Callable[..., Any]:
        # Classes of optimizers are marked when they are first used, since anybody may define one.
        def call(optimizer: Any, /, *args: Any, **kwargs: Any) -> None:
            init(optimizer, *args, **kwargs)
            mark_class(type(optimizer), torch.optim.Optimizer, units)

        return call

    replace(torch.optim.Optimizer, "__init__", mark_step)

    def next_batch(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(iterator: Any) -> Any:
            units.batch_requested()
            with units.range("dataloader"):
                batch = original(iterator)
            units.forward_may_begin()
            return batch

        return call

    replace(torch.utils.data.dataloader._BaseDataLoaderIter, "__next__", next_batch)

    def backward(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            units.backward_begins(tensors)
            with units.range("backward"):
                return original(tensors, *args, **kwargs)

        return call

    replace(torch.autograd, "backward", backward)
    replace(torch, "save", within(lambda: units.aside("save")))
    fixes.apply(torch, units.settings.fixes, units.settings.workers)
    units.gpu_is_likely()


def watch_lightning(owner: str) -> Callable[[Any, Units], None]:
    """Validation, of `owner` in one of Lightning's modules."""

    def watch(module: Any, units: Units) -> None:
        replace(getattr(module, owner, None), "run", within(lambda: units.aside("evaluate")))

    return watch


def watch_trainer(module: Any, units: Units) -> None:
    """Hugging Face: evaluations and checkpoints of its Trainer."""
    trainer = getattr(module, "Trainer", None)
    replace(trainer, "evaluate", within(lambda: units.aside("evaluate")))
    replace(trainer, "_save_checkpoint", within(lambda: units.aside("save")))


def watch_generation(module: Any, units: Units) -> None:
    """Hugging Face: a call of generate() is a request."""
    from .units import REQUEST

    def generate(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if units.answering:  # a smaller model helps
                return original(*args, **kwargs)
            units.answering = True
            try:
                with units.range("generate"):
                    answer = original(*args, **kwargs)
            finally:
                units.answering = False
            units.ended(REQUEST)
            return answer

        return call

    replace(getattr(module, "GenerationMixin", None), "generate", generate)


def watch_library(module: Any, units: Units) -> None:
    """A library that uses a GPU, of which no unit is known."""
    units.gpu_is_likely()


WATCHED: Dict[str, Callable[[Any, Units], None]] = {
    "torch": watch_torch,
    "lightning.pytorch.loops.evaluation_loop": watch_lightning("_EvaluationLoop"),
    "pytorch_lightning.loops.evaluation_loop": watch_lightning("_EvaluationLoop"),
    "transformers.trainer": watch_trainer,
    "transformers.generation.utils": watch_generation,
    "cupy": watch_library,
    "jax": watch_library,
    "numba.cuda": watch_library,
    "tensorflow": watch_library,
}


class Watcher:
    """Watches the modules above once they have been imported. Is one of the finders of
    sys.meta_path, which need no base class; that would cost 10 ms of each start of Python."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._units: Optional[Units] = None  # once there is something to watch

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Any = None
    ) -> Optional[ModuleSpec]:
        if name not in WATCHED:
            return None
        finders = iter(sys.meta_path)
        any(finder is self for finder in finders)  # those before have been asked
        for finder in finders:
            find: Any = getattr(finder, "find_spec", None)
            spec: Optional[ModuleSpec] = find(name, path, target) if find else None
            if spec is not None:
                if spec.loader is not None:
                    self._watch(name, spec.loader)
                return spec
        return None

    def _watch(self, name: str, loader: Any) -> None:
        original: Any = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module: Any) -> None:
            original(module)
            try:
                if self._units is None:
                    from .units import Settings, Units

                    self._units = Units(Settings.read(self._folder))
                WATCHED[name](module, self._units)
            except Exception as error:  # the program must not fail because it is watched
                print(f"gh-advise: cannot watch {name}: {error}", file=sys.stderr)

        try:
            loader.exec_module = exec_module
        except Exception:  # a loader may refuse
            pass


def install() -> None:
    """Begins to watch this process, as the settings in the folder say."""
    folder = os.environ.get(FOLDER)
    if folder:
        sys.meta_path.insert(0, Watcher(folder))
