"""The program gh-advise: where it is, and how it is run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Optional, Sequence, Tuple, Union

StrPath = Union[str, "os.PathLike[str]"]

NAME = "gh-advise"
VARIABLE = "GH_ADVISE"  # of the environment: the path of the program


class GhAdviseError(Exception):
    """The program could not do what it was asked for.

    The message is the last line that it printed to standard error; `stderr` has all of it, and
    `exit_status` is its exit status (below 0: the signal that ended it; None: it never ran).
    """

    def __init__(self, message: str, stderr: str = "", exit_status: Optional[int] = None) -> None:
        super().__init__(message)
        self.stderr = stderr
        self.exit_status = exit_status

    def __reduce__(self) -> Tuple[Any, ...]:  # whole, so that worker processes can raise it
        return type(self), (str(self), self.stderr, self.exit_status)


class ProgramNotFound(GhAdviseError):
    """There is no program gh-advise where it was looked for. The message says what to do."""


def find_program(program: Optional[StrPath] = None) -> str:
    """The path of the program: `program`, else what the environment variable GH_ADVISE names, else
    the one that was installed with this package, else gh-advise on the PATH.

    Raises ProgramNotFound. A place that is named but does not hold the program is an error, even
    if there is a program elsewhere.
    """
    if program is not None:
        return _named(os.fspath(program), "the argument `program`")
    if os.environ.get(VARIABLE):
        return _named(os.environ[VARIABLE], f"the environment variable {VARIABLE}")
    found = _of_wheel() or shutil.which(NAME)
    if not found:
        raise ProgramNotFound(
            f"the program {NAME} was not installed with this package, and is not on the PATH: "
            f"install it, or name it with the argument `program` or the environment variable "
            f"{VARIABLE}"
        )
    return found


def run(
    program: str, arguments: Sequence[str], folder: Optional[str] = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs the program in `folder` (None: the current one) and waits for its end.

    Raises ProgramNotFound if it cannot be started; its exit status is left to the caller.
    """
    try:
        return subprocess.run(
            [program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True
        )
    except OSError as error:
        raise ProgramNotFound(f"{program} cannot be run: {error}") from error


def error_of(done: subprocess.CompletedProcess[bytes]) -> GhAdviseError:
    """What a run that failed says of why."""
    stderr = done.stderr.decode(errors="replace")
    lines = stderr.strip().splitlines() or [f"exit status {done.returncode}, without a message"]
    prefix = f"{NAME}: "
    message = lines[-1][len(prefix) :] if lines[-1].startswith(prefix) else lines[-1]
    return GhAdviseError(message, stderr, done.returncode)


def _of_wheel() -> Optional[str]:
    """The program of the wheel in which this package came; None if it came without."""
    from importlib import metadata  # takes long, and a program that is watched does not need it

    try:
        listed = metadata.files("gh-advise") or []
    except metadata.PackageNotFoundError:
        listed = []
    places = [os.path.realpath(file.locate()) for file in listed if file.name == NAME]
    places.append(str(Path(__file__).parents[1] / "bin" / NAME))  # of `pip install --target`
    return next(filter(None, map(shutil.which, places)), None)


def _named(path: str, by: str) -> str:
    found = shutil.which(path)
    if not found:
        raise ProgramNotFound(
            f"{by} names {path!r}, where there is no program that can be run: give the path of "
            f"{NAME}, or leave it out to take the one on the PATH"
        )
    return found
