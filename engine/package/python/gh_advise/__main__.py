"""`python -m gh_advise ARGUMENTS` runs the program with these arguments."""

from __future__ import annotations

import os
import sys

from .program import NAME, ProgramNotFound, find_program


def main() -> None:
    """Becomes the program, which then has this process's streams and exit status."""
    try:
        program = find_program()
        os.execv(program, [program, *sys.argv[1:]])
    except (ProgramNotFound, OSError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
