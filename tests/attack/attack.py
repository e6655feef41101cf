"""What attacks have in common: the program is started with limits on memory and processor time, and must end by itself."""
import pathlib
import resource
import subprocess
import sys

program, fixtures = (pathlib.Path(p).resolve() for p in sys.argv[1:3])

GIB = 1 << 30
ENDED = {0, 1, 2, 141}  # as README.md has them; a signal is a negative status


def limited(memory_bytes=4 * GIB, processor_s=60):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return set_limits


def run(*arguments, limits=limited(), **options):
    """The ended process. Fails if it was killed, or printed what a terminal or CI would obey."""
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL, preexec_fn=limits, **options
    )
    said = done.stdout + done.stderr
    assert done.returncode in ENDED, (arguments, done.returncode, said[-500:])
    for obeyed in ("\x1b", "\n::", "##["):
        assert (obeyed if options.get("text") else obeyed.encode()) not in said, (arguments, said[:500])
    return done
