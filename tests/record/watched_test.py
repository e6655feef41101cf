#!/usr/bin/python3
"""Tests that a program does not see that it is watched: watched_test.py PROGRAM FIXTURES

Each of PROGRAMS runs as it is and watched, with the environment that `gh-advise record` gives. What
it prints, its exit status and its messages must be the same. They use the PyTorch of small/torch.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from concurrent.futures import ThreadPoolExecutor

program, fixtures = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
here = pathlib.Path(__file__).resolve().parent
REPORT = fixtures / "um-stencil-device.sqlite"
OURS = ("PYTHONPATH", "GH_ADVISE_FOLDER")  # variables that its children need to be watched too

# Name: the program. A first line that begins with #: says how it is started, after python3: with {file} (the default), {source}
# or {shared}, which has the files below; < FILE is its input, and variables come first.
PROGRAMS = {
    # Optimizers
    "a training": "import torch\no = torch.optim.SGD()\nfor n in range(40): o.step()\nprint(n)",
    "a step with a result": "import torch\nclass My(torch.optim.Optimizer):\n  def step(self): return 42\nprint([My().step() for _ in range(40)])",
    "a static step": "import torch\nclass My(torch.optim.Optimizer):\n  @staticmethod\n  def step(x=1): return x\nprint(My().step(), My.step(3))",
    "a step of the class": "import torch\nclass My(torch.optim.Optimizer):\n  @classmethod\n  def step(cls): return cls.__name__\nprint(My().step(), My.step())",
    "a step that is a property": "import torch\nclass My(torch.optim.Optimizer):\n  @property\n  def step(self): return lambda: 42\nprint(My().step(), type(My.step))",
    "a partial step": "import functools, torch\nclass My(torch.optim.Optimizer): step = functools.partial(lambda x: x, 3)\nprint(My().step(), My.step.args)",
    "a partial method": "import functools, torch\nclass My(torch.optim.Optimizer):\n  def by(self, n): return n\n  step = functools.partialmethod(by, 7)\nprint(My().step())",
    "a step that is an object": "import torch\nclass Call:\n  def __call__(self, *a): return len(a)\nclass My(torch.optim.Optimizer): step = Call()\nprint(My().step(), My().step(1))",
    "a step of its own descriptor": "import torch\nclass Get:\n  def __get__(self, o, kind): return lambda: o is None\nclass My(torch.optim.Optimizer): step = Get()\nprint(My().step(), My.step())",
    "no step": "import torch\nclass My(torch.optim.Optimizer): step = None\no = My()\nprint(o.step)",
    "an inherited step stays inherited": "import torch\nclass My(torch.optim.SGD): pass\no = My()\no.step()\nprint('step' in vars(My))\ntorch.optim.SGD.step = lambda self: print('new')\no.step()",
    "the step of a base": "import torch\nclass A(torch.optim.SGD):\n  def step(self, x=1): return x\nclass B(A):\n  def step(self, x=2): return super().step(x) + 10\nprint(B().step(), A().step(), B().step(5))",
    "several bases": "import torch\nclass Mixin:\n  def step(self): return ['mixin', super().step()]\nclass My(Mixin, torch.optim.SGD): pass\nprint(My().step(), [c.__name__ for c in My.__mro__])",
    "a class that refuses changes": "import torch\nclass M(type):\n  def __setattr__(c, k, v): raise TypeError('frozen')\nclass My(torch.optim.Optimizer, metaclass=M):\n  def step(self): return 1\nprint(My().step())",
    "a class that notes changes": "import torch\nseen = []\nclass M(type):\n  def __setattr__(c, k, v):\n    seen.append(k)\n    super().__setattr__(k, v)\nclass My(torch.optim.Optimizer, metaclass=M): pass\nMy().step()\nprint([k for k in seen if k != 'step'])",
    "a class that counts its instances": "import torch\nclass M(type):\n  def __call__(c, *a): print('made', c.__name__); return super().__call__(*a)\nclass My(torch.optim.SGD, metaclass=M): pass\nMy().step()",
    "slots": "import torch\nclass My(torch.optim.Optimizer):\n  __slots__ = ('a',)\n  def step(self): self.a = 1; return self.a\nprint(My().step())",
    "a wrapped step": "import functools, torch\nclass My(torch.optim.SGD):\n  def step(self): 'doc'; return 1\no = My()\nold = My.step\n@functools.wraps(old)\ndef new(self): return old(self) + 1\nMy.step = new\nprint(o.step(), My.step.__doc__, My.step.__name__)",
    "a step of one instance": "import types, torch\no = torch.optim.SGD()\nf = o.step.__func__\no.step = types.MethodType(lambda self: f(self), o)\nprint(o.step(), f.__name__, f.__qualname__, f.__module__)",
    "an argument of any name": "import torch\nclass My(torch.optim.Optimizer):\n  def step(self, optimizer=None, step=0, units=0): return optimizer, step, units\nprint(My().step(optimizer=1, step=2, units=3))",
    "itself by name": "import torch\nclass My(torch.optim.Optimizer):\n  def step(self, x=0): return x\nMy()\nprint(My.step(self=My(), x=4)) if False else print(My.step(My(), x=4))",
    "signatures": "import inspect, torch\nclass My(torch.optim.SGD):\n  def step(self, closure=None, *, scale: float = 1.0) -> float: return scale\no = My()\nprint(inspect.signature(o.step), inspect.signature(My.step), inspect.signature(My), inspect.signature(torch.save))",
    "sources": "import inspect, torch\nclass My(torch.optim.SGD):\n  def step(self): return 'here'\nMy()\nprint(inspect.getsource(My.step), inspect.isfunction(My.step), My.step.__annotations__)",
    "a closure": "import inspect, torch\nclass My(torch.optim.SGD):\n  def step(self, closure=None): return closure.__name__, closure(), str(inspect.signature(closure))\ndef loss(): 'l'; return 0.5\nprint(My().step(loss), My().step(closure=loss), [My().step(loss) for _ in range(40)][-1])",
    "a step of a model": "import torch\nclass Net(torch.nn.Module):\n  def all(self): return [1, 2]\nclass My(torch.optim.SGD):\n  def step(self, model): return sum(model.all())\nprint(My().step(Net()))",
    "a step of a function": "import torch\nclass My(torch.optim.SGD):\n  def step(self, metric=None, closure=None): return metric, closure and closure()\ndef f(): return 1\nprint(My().step(max)[0] is max, My().step(f)[0] is f, My().step(max, f), My().step(closure=f))",
    "a class as an argument": "import torch\nclass My(torch.optim.SGD):\n  def step(self, closure=None): return isinstance(3, closure), closure.__mro__\nprint(My().step(int))",
    "a closure with options": "import torch\nclass My(torch.optim.SGD):\n  def step(self, closure=None): return closure(backward=False)\ndef loss(backward=True): return backward\nprint(My().step(loss), My().step(closure=loss))",
    "a closure that is an object": "import torch\nclass C:\n  count = 0\n  def __call__(self): self.count += 1; return 1\nclass My(torch.optim.SGD):\n  def step(self, closure=None): closure(); closure.reset = True; return closure.count\nc = C()\nprint(My().step(c), c.count, hasattr(c, 'reset'))",
    "a closure that is a method": "import torch\nclass C:\n  def loss(self): return 4\nclass My(torch.optim.SGD):\n  def step(self, closure=None): return closure()\nprint(My().step(C().loss))",
    "closures that run later": "import asyncio, inspect, torch\nclass My(torch.optim.SGD):\n  def step(self, closure=None): return inspect.iscoroutinefunction(closure), asyncio.run(closure())\nasync def f(): return 3\nprint(My().step(f))",
    "an asynchronous step": "import asyncio, inspect, torch\nclass My(torch.optim.SGD):\n  async def step(self): return 1\nprint(inspect.iscoroutinefunction(My().step), asyncio.run(My().step()))",
    "a step that yields": "import inspect, torch\nclass My(torch.optim.SGD):\n  def step(self): yield 1\nprint(inspect.isgeneratorfunction(My().step), list(My().step()))",
    "a base of others too": "import torch\nclass Mixin:\n  __slots__ = ()\n  def step(self): return 'm'\nclass My(Mixin, torch.optim.SGD): pass\nclass Other(Mixin): __slots__ = ()\nprint(My().step(), Other().step(), Other.step.__code__.co_name)",
    "a step of a stranger": "import torch\nclass Slots: __slots__ = ()\nclass My(torch.optim.SGD):\n  def step(self): return 1\nprint(My().step(), My.step(Slots()), My.step(Slots()))",
    "a step that fails": "import torch\nclass My(torch.optim.SGD):\n  def step(self): raise ValueError('mine')\ntry: My().step()\nexcept ValueError as e: print(repr(e))\nMy().step()",
    "an init that fails": "import torch\nclass My(torch.optim.SGD):\n  def __init__(self): super().__init__(); raise KeyError('x')\nMy()",
    "arguments that do not fit": "import torch\ntry: torch.optim.SGD().step(1, 2, 3)\nexcept TypeError as e: print(e)",
    "deep copies": "import copy, torch\nclass My(torch.optim.SGD):\n  def step(self): self.n = getattr(self, 'n', 0) + 1; return self.n\na = My()\na.step()\nb = copy.deepcopy(a)\nprint(a.step(), b.step(), b.step(), type(b) is My, vars(b))",
    "pickled optimizers": "import pickle, torch\no = torch.optim.SGD()\no.step()\np = pickle.loads(pickle.dumps(o))\nprint(type(p) is type(o), p.step(), pickle.loads(pickle.dumps(torch.optim.SGD)) is torch.optim.SGD)",
    "pickled functions": "import pickle, torch, functools\nprint(pickle.loads(pickle.dumps(torch.save)) is torch.save, pickle.loads(pickle.dumps(torch.optim.SGD.step)) is torch.optim.SGD.step)",
    "optimizers that are gone": "import gc, torch, weakref\no = torch.optim.SGD()\nr = weakref.ref(o)\nfor _ in range(40): o.step()\ndel o\ngc.collect()\nprint(r())",
    "equality of optimizers": "import torch\nclass My(torch.optim.SGD):\n  def __eq__(self, other): raise RuntimeError('compared')\n  __hash__ = None\no, p = My(), My()\nfor _ in range(40): o.step(); p.step()\nprint('through')",
    "two optimizers": "import torch\na, b = torch.optim.SGD(), torch.optim.Adam()\nfor n in range(40): a.step(); b.step()\nprint(n, type(a) is type(b))",
    "names of classes": "import torch\no = torch.optim.SGD()\nprint(repr(torch.optim.SGD), torch.optim.Optimizer.__init__.__qualname__, type(o).__name__, sorted(vars(type(o)))[:3], vars(o))",
    "a compiled step": "import torch\ndef compiled(f):\n  code = f.__wrapped__.__code__ if hasattr(f, '__wrapped__') else f.__code__\n  return lambda *a: (code.co_name, f(*a))\no = torch.optim.SGD()\nprint(compiled(type(o).step)(o))",
    # Loaders, losses, checkpoints
    "a loader": "import torch\nclass D: seconds = 0\nfor n, x in enumerate(torch.utils.data.DataLoader(D())):\n  if n == 60: break\nprint(n, x)",
    "a loader that ends": "import torch\nclass It(torch.utils.data.dataloader._BaseDataLoaderIter):\n  n = 0\n  def __next__(self):\n    self.n += 1\n    if self.n > 5: raise StopIteration('end')\n    return super().__next__()\nclass D: seconds = 0\ni = It(torch.utils.data.DataLoader(D()))\ntry:\n  while True: next(i)\nexcept StopIteration as e: print(repr(e))",
    "a loader that fails": "import torch\nclass D:\n  @property\n  def seconds(self): raise LookupError('no data')\nnext(iter(torch.utils.data.DataLoader(D())))",
    "losses": "import torch\no = torch.optim.SGD()\nfor n in range(60): torch.Loss(n).backward(); o.step()\ntorch.autograd.backward(torch.Loss('nan'))\nprint(torch.Loss(3))",
    "checkpoints": "import torch\no = torch.optim.SGD()\nfor n in range(60):\n  o.step()\n  if n % 7 == 0: print(torch.save({'n': n}, 'file'))",
    "a checkpoint that fails": "import torch\nold = torch.save.__name__\nclass Path:\n  def __fspath__(self): raise OSError(28, 'full')\nprint(old, torch.save.__module__)\nopen(Path())",
    "modules": "import torch\nclass Net(torch.nn.Module):\n  def forward(self, x): return x + 1\nn, o = Net(), torch.optim.SGD()\nfor k in range(60): k = n(k); o.step()\nprint(k, list(name for name, _ in n.named_modules()))",
    "PyTorch again": "import importlib, torch\ntorch2 = importlib.import_module('torch')\nprint(torch2 is torch, torch.__name__, torch.__spec__.name, torch.__file__.endswith('small/torch/__init__.py'))",
    "a library that is missing": "try: import jax\nexcept ImportError as e: print(e, e.name)\nimport tensorflow",
    # Threads and processes
    "threads": "import threading, torch\no = torch.optim.SGD()\ndef work():\n  for _ in range(30): o.step()\nts = [threading.Thread(target=work) for _ in range(4)]\n[t.start() for t in ts]; [t.join() for t in ts]\nprint('done', threading.current_thread() is threading.main_thread())",
    "a fork": "import os, torch\no = torch.optim.SGD()\nfor _ in range(10): o.step()\nif (child := os.fork()) == 0:\n  for _ in range(40): o.step()\n  os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "multiprocessing by fork": "import multiprocessing, torch\ndef f(x): torch.optim.SGD().step(); return x * x\nif __name__ == '__main__':\n  with multiprocessing.get_context('fork').Pool(2) as p: print(p.map(f, range(5)))",
    "multiprocessing by spawn": "import multiprocessing, sys, torch\ndef f(x): torch.optim.SGD().step(); return x * x, [m for m in ('hooks', 'gh_advise') if m in sys.modules]\nif __name__ == '__main__':\n  with multiprocessing.get_context('spawn').Pool(1) as p: print(p.map(f, range(3)))",
    "a child": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-B', '-c', 'import sys, torch; torch.optim.SGD().step(); print(sys.argv, len(sys.path)); sys.exit(3)', 'x'], capture_output=True, text=True))",
    "a child without an environment": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import os; print(sorted(os.environ))'], env={'A': 'b'}, capture_output=True, text=True))",
    "exec": "import os, sys\nos.execv(sys.executable, [sys.executable, '-B', '-c', 'import sys, torch; torch.optim.SGD().step(); print(sys.orig_argv[1:]); sys.exit(5)', 'y'])",
    "asyncio": "import asyncio, torch\nasync def main():\n  o = torch.optim.SGD()\n  for _ in range(20): o.step(); await asyncio.sleep(0)\n  return 'ran'\nprint(asyncio.run(main()))",
    # How it ends
    "atexit": "import atexit, torch\natexit.register(print, 'last')\natexit.register(lambda: torch.optim.SGD().step())\nprint('first', flush=True)",
    "a status": "import sys, torch\nsys.exit(17)",
    "a text as a status": "import sys, torch\nsys.exit('the end')",
    "a hard end": "import os, torch\nprint('out', flush=True)\nos._exit(9)",
    "an uncaught error": "import torch\ndef f(): raise RuntimeError('mine') from KeyError('cause')\nf()",
    "an error in a thread": "import threading, torch\nt = threading.Thread(target=lambda: 1 / 0, name='mine')\nt.start(); t.join()",
    "a syntax error": "import torch\nprint('x'\n",
    "killed by itself": "import os, signal, torch\no = torch.optim.SGD()\nfor _ in range(40): o.step()\nos.kill(os.getpid(), signal.SIGKILL)",
    "signals": "import os, signal, torch\nprint([signal.getsignal(s) == d for s, d in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL), (signal.SIGPIPE, signal.SIG_IGN))], signal.pthread_sigmask(0, []))\nsignal.signal(signal.SIGUSR1, lambda n, f: print('got', n))\nos.kill(os.getpid(), signal.SIGUSR1)\nos.kill(os.getpid(), signal.SIGINT)",
    "an excepthook": "import sys, torch\nprint(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)\nsys.excepthook = lambda kind, e, tb: print('hooked', kind.__name__)\n1 / 0",
    # What it can look at
    "sys.path": "import os, sys\nprint(sys.path, sorted(p for p in sys.path_importer_cache if p.endswith('/hooks')))",
    "modules that it finds": "import sys\nprint([m for m in ('torch', 'hooks', 'gh_advise', 'units', 'window', 'json', 'dataclasses', 'threading') if m in sys.modules], type(sys.modules.get('sitecustomize')))",
    "import hooks": "import importlib\nfor name in ('hooks', 'gh_advise', 'gh_advise.hooks', 'sitecustomize.hooks', 'units', 'fixes'):\n  try: print(importlib.import_module(name))\n  except ImportError as e: print(e)",
    "its own hooks": "#: PYTHONPATH={shared}/mine {file}\nimport hooks, gh_advise\nprint(hooks.MINE, gh_advise.MINE)",
    "its own hooks beside PyTorch": "#: PYTHONPATH={small}:{shared}/mine {file}\nimport torch, hooks, gh_advise\no = torch.optim.SGD()\nfor _ in range(40): o.step()\nprint(hooks.MINE, gh_advise.MINE)",
    "its sitecustomize": "#: PYTHONPATH={shared}/mine {file}\nimport sys, sitecustomize\nprint(sitecustomize.X, sys.modules['sitecustomize'].__file__, sitecustomize.__name__, sitecustomize.__spec__.name)",
    "a sitecustomize that fails": "#: PYTHONPATH={shared}/broken {file}\nimport sys\nprint('sitecustomize' in sys.modules)",
    "a sitecustomize that is none": "#: PYTHONPATH={shared}/none {file}\nimport sys\nprint('sitecustomize' in sys.modules)",
    "its usercustomize": "#: PYTHONUSERBASE={shared}/base {file}\nimport usercustomize\nprint(usercustomize.Y)",
    "a .pth": "#: PYTHONUSERBASE={shared}/base {file}\nimport sys\nprint(sys.from_pth, [p for p in sys.path if 'from-pth' in p])",
    "its environment": "import os\nprint({k: v for k, v in os.environ.items() if k not in " + repr(OURS) + "})",
    "no PYTHONPATH": "#: PYTHONPATH= {file}\nimport sys\nprint(sys.path)",
    "arguments": "#: {file} a 'b c' -- --x= ''\nimport sys\nprint(sys.argv, sys.orig_argv[1:], sys.flags, __name__, __file__)",
    "-c": "#: -c {source} x\nimport sys, torch\ntorch.optim.SGD().step()\nprint(sys.argv, __name__, sys.path[0])",
    "-m": "#: PYTHONPATH={small}:{shared}/mine -m package.run x\n",
    "-m of the library": "#: -m json.tool < {shared}/some.json\n",
    "standard input": "#: - x < {file}\nimport sys, torch\ntorch.optim.SGD().step()\nprint(sys.argv, __name__)",
    "what it reads": "#: {file} < {shared}/some.json\nimport sys\nprint(sys.stdin.read(), sys.stdin.isatty(), sys.stdout.line_buffering)",
    "a zipapp": "#: {shared}/app.pyz x\n",
    "a folder": "#: {shared}/mine/package x\n",
    "-I": "#: -I {file}\nimport sys\nprint(sys.path, sys.flags.isolated)\ntry: import torch, gh_advise\nexcept ImportError as e: print('missing')",
    "-E": "#: -E {file}\nimport sys\nprint(sys.path, sys.flags.ignore_environment)",
    "-s": "#: -s {file}\nimport sys, torch\nprint(sys.path, sys.flags.no_user_site)",
    "-S": "#: -S {file}\nimport sys, torch\ntorch.optim.SGD().step()\nprint(sys.flags.no_site, 'site' in sys.modules)",
    "-O": "#: -O {file}\nimport torch\nassert False\ntorch.optim.SGD().step()\nprint(__debug__)",
    "-u": "#: -u {file}\nimport sys, torch\nsys.stderr.write('err')\nsys.stdout.write('out')",
    "-X dev": "#: -X dev {file}\nimport torch\no = torch.optim.SGD()\nfor _ in range(40): o.step()\nprint('through')",
    "-W error": "#: -W error {file}\nimport torch, warnings\no = torch.optim.SGD()\nfor _ in range(40): o.step()\nprint(warnings.filters[0][0])\nwarnings.warn('mine')",
    "warnings": "import torch, warnings\nwarnings.warn('mine', DeprecationWarning)\nwarnings.warn('twice'); print(len(warnings.filters))",
    "warnings of bytes": "#: -bb {file}\nimport torch\nfor _ in range(40): torch.optim.SGD().step()\nprint(b'a' == 'a')",
    "settrace": "import sys, torch\nseen = []\ndef trace(frame, event, arg):\n  if frame.f_code.co_filename == __file__: seen.append((event, frame.f_code.co_name))\n  return trace\nclass My(torch.optim.SGD):\n  def step(self): return 1\no = My()\nsys.settrace(trace)\no.step()\nsys.settrace(None)\nprint(seen)",
    "setprofile": "import sys, torch\nprint(sys.getprofile(), sys.gettrace())\nseen = []\nsys.setprofile(lambda f, e, a: seen.append(e) if f.f_code.co_filename == __file__ else None)\ndef f(): return torch.optim.SGD().step()\nf()\nsys.setprofile(None)\nprint(seen)",
    "the limit of recursion": "import sys, torch\nprint(sys.getrecursionlimit(), sys.getswitchinterval())\ndef f(): return f()\ntry: f()\nexcept RecursionError as e: print(e)",
    "the garbage collector": "import gc, torch\nprint(gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_debug())",
    "random numbers": "import random, torch\nrandom.seed(3)\no = torch.optim.SGD()\nfor _ in range(40): o.step()\nprint(random.random())",
    "open files": "import os, torch\no = torch.optim.SGD()\nfor _ in range(40): o.step()\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3], os.getcwd(), os.umask(0o22), sorted(os.listdir('.')))",
    "streams": "import sys, torch\nprint(sys.stdout.encoding, sys.stderr.errors, sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__)\nprint('to stderr', file=sys.stderr)\nsys.stdout.close()",
    "logging": "import logging, torch\nlogging.warning('mine')\nprint(logging.root.handlers != [], sorted(logging.root.manager.loggerDict))",
    "the built-in names": "import builtins, torch\nprint(sorted(vars(builtins)) == sorted(set(vars(builtins))), builtins.__import__.__module__, len(vars(builtins)))",
    "an audit": "import sys, torch\nseen = []\nsys.addaudithook(lambda e, a: seen.append(e) if e == 'os.system' else None)\ntorch.optim.SGD().step()\nprint(seen)",
    "its own finder": "import sys\nclass Finder:\n  def find_spec(self, name, path, target=None): print('asked for', name) if name == 'torch' else None\nsys.meta_path.insert(0, Finder())\nimport torch\nprint(torch.optim.SGD().step())",
    "its own loader": "import importlib.abc, importlib.util, sys\nclass L(importlib.abc.Loader):\n  __slots__ = ()\n  def create_module(self, spec): return None\n  def exec_module(self, module): module.MINE = 1\nclass F:\n  def find_spec(self, name, path, target=None): return importlib.util.spec_from_loader(name, L()) if name == 'jax' else None\nsys.meta_path.insert(0, F())\nimport jax\nprint(jax.MINE)",
    "a loader of frozen attributes": "import importlib.util, sys\nclass L:\n  def create_module(self, spec): return None\n  def exec_module(self, module): module.MINE = 1\n  def __setattr__(self, *a): raise AttributeError('frozen')\nclass F:\n  def find_spec(self, name, path, target=None): return importlib.util.spec_from_loader(name, L()) if name == 'cupy' else None\nsys.meta_path.append(F())\nimport cupy\nprint(cupy.MINE)",
}

FILES = {
    "mine/hooks.py": "MINE = 'hooks'",
    "mine/gh_advise.py": "MINE = 'gh_advise'",
    "mine/sitecustomize.py": "X = 5",
    "mine/package/__init__.py": "",
    "mine/package/run.py": "import sys\ntry:\n  import torch\n  torch.optim.SGD().step()\nexcept ImportError: pass\nprint(sys.argv, __name__)",
    "mine/package/__main__.py": "import sys\nprint(sys.argv[1:], __name__, __file__)",
    "broken/sitecustomize.py": "raise ValueError('broken')",
    "none/sitecustomize.py": "raise ImportError('there is none', name='sitecustomize')",
    "base/lib/python{}.{}/site-packages/usercustomize.py".format(*sys.version_info): "Y = 6",
    "base/lib/python{}.{}/site-packages/mine.pth".format(*sys.version_info): "from-pth\nimport sys; sys.from_pth = 7",
    "base/lib/python{}.{}/site-packages/from-pth/empty.py".format(*sys.version_info): "",
    "some.json": '{"a": 1}',
}

# Shows its environment and waits, so that others can run in it.
WAITING = "import os, sys, time, torch\nwith open(sys.argv[1], 'w') as f: f.write('\\n'.join(f'{k}={v}' for k, v in os.environ.items()))\n" \
    "os.rename(sys.argv[1], sys.argv[2])\nwhile not os.path.exists(sys.argv[3]): time.sleep(0.01)"

# What watching leaves in messages: its own lines, and its frames within a traceback.
OWN = re.compile(r'gh-advise: .*\n|  File "[^"]*/gh_advise/[^"]*", line .*\n(?:    .*\n)*|  File "<frozen importlib.*\n')


def shown(text):
    return re.sub("0x[0-9a-f]+", "0x", OWN.sub("", text))


class Watched(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="gh-advise-watched-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name).resolve()
        cls.shared, cls.small = cls.folder / "shared", cls.folder / "small"
        shutil.copytree(here / "small", cls.small, ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in FILES.items():
            path = cls.shared / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with zipfile.ZipFile(cls.shared / "app.pyz", "w") as app:
            app.writestr("__main__.py", FILES["mine/package/__main__.py"])
        cls.plain = {"PATH": "/usr/bin:/bin", "HOME": str(cls.folder), "FAKE_GPU": "1", "PYTHONPATH": str(cls.small), "LC_ALL": "C.UTF-8"}
        cls.watched = cls.environment()

    @classmethod
    def environment(cls):
        """What `gh-advise record` adds, and a copy of its folder."""
        work, waiting = cls.folder / "work", cls.folder / "waiting.py"
        part, there, end = (cls.folder / name for name in ("part", "there", "end"))
        work.mkdir()
        waiting.write_text(WAITING)
        run = subprocess.Popen([program, "record", f"--nsys={here / 'nsys'}", "--once", "--delay=2", "--units=3", "--",
                                "/usr/bin/python3", "-B", waiting, part, there, end],
                               cwd=work, env={**cls.plain, "REPORT": str(REPORT)}, stderr=subprocess.PIPE)
        try:
            while not there.exists() and run.poll() is None:
                run.poll()
            seen = dict(line.split("=", 1) for line in there.read_text().splitlines())
            folder = seen["GH_ADVISE_FOLDER"]
            shutil.copytree(folder, cls.folder / "hooks")
        finally:
            end.touch()
            run.communicate()
        return {name: seen[name].replace(folder, "{folder}") for name in OURS}

    def run_once(self, name, number, watched):
        """What a program shows."""
        own = self.folder / f"program{number}"
        own.mkdir()
        file, source = own / "program.py", PROGRAMS[name]
        file.write_text(source)
        start = source.splitlines()[0][2:] if source.startswith("#:") else "{file}"
        known = {"file": file, "source": source, "shared": self.shared, "small": self.small}
        words = [word.format(**known) for word in shlex.split(start)]
        environment, given = dict(self.plain), "/dev/null"
        if "<" in words:
            words, (given,) = words[: words.index("<")], words[words.index("<") + 1 :]
        while "=" in words[0] and not words[0].startswith("-"):
            variable, value = words.pop(0).split("=", 1)
            environment[variable] = value
        if watched:
            hooks = shutil.copytree(self.folder / "hooks", self.folder / f"hooks{number}")
            ours = {key: value.format(folder=hooks) for key, value in self.watched.items()}
            path, _, users = ours["PYTHONPATH"].rpartition(":")
            self.assertEqual(users, str(self.small))
            ours["PYTHONPATH"] = ":".join(filter(None, (path, environment["PYTHONPATH"])))
            environment.update(ours)
        elif not environment["PYTHONPATH"]:
            del environment["PYTHONPATH"]
        cwd = own / "work"
        cwd.mkdir()
        with open(given) as stdin:
            ran = subprocess.run(["/usr/bin/python3", "-B", *words], cwd=cwd, env=environment, stdin=stdin, capture_output=True, text=True, timeout=60)
        state = watched and (hooks / "state.json").exists()
        shutil.rmtree(own)
        return (ran.returncode, shown(ran.stdout), shown(ran.stderr)), state, ran.stderr

    def test_each_program_does_the_same(self):
        def both(numbered):
            number, name = numbered
            return name, self.run_once(name, number, False), self.run_once(name, number, True)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ran = list(pool.map(both, enumerate(PROGRAMS)))
        for name, (plain, _, _), (watched, _, messages) in ran:
            with self.subTest(name):
                self.assertEqual(watched, plain)
                self.assertNotIn("gh-advise: cannot", messages)
        self.assertGreater(sum(state for _, _, (_, state, _) in ran), 20)  # they were watched


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
