"""Python imports this at its start, before the program, since its folder is on PYTHONPATH.

The program finds what it would find without: this folder leaves sys.path, the package beside it is
imported under a name of its own, and the `sitecustomize` that this one hides takes its place.
"""

import importlib
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _watch():
    folder = os.path.join(os.path.dirname(_HERE), "gh_advise")
    try:
        spec = importlib.util.spec_from_file_location("_gh_advise", os.path.join(folder, "__init__.py"))
        sys.modules[spec.name] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        importlib.import_module("_gh_advise.hooks").install()
    except Exception as error:  # the program must not fail because it is watched
        print(f"gh-advise: cannot watch this program: {error}", file=sys.stderr)


def _leave():
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    sys.path_importer_cache.pop(_HERE, None)
    del sys.modules["sitecustomize"]
    # If there is none, Python expects this import's error.
    importlib.import_module("sitecustomize")


_watch()
_leave()
