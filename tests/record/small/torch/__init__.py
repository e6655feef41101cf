"""A PyTorch just large enough to be watched, which starts in no time: loaders, losses, optimizers.

FAKE_GPU: it says that it computes on a GPU, and its profiler leaves $TRACE as the recording.
OWN_CLOCK: only the program's sleeping takes time, and it passes on this clock only, so that times are the same each time.
"""
import os
import shutil
import sys
import threading
import time
from types import SimpleNamespace

gpu = bool(os.environ.get("FAKE_GPU"))

if os.environ.get("OWN_CLOCK"):
    now_ns, wait = 1, time.sleep

    def sleep(seconds):
        global now_ns
        if threading.current_thread() is threading.main_thread():
            now_ns += round(seconds * 1e9)
        else:
            wait(seconds)

    time.sleep, time.perf_counter_ns = sleep, lambda: now_ns


class Loss(float):
    def numel(self):
        return 1

    def detach(self):
        return self

    def backward(self):
        sys.modules["torch"].autograd.backward(self)


class Optimizer:
    def __init__(self, *arguments, **options):
        pass

    def step(self):
        pass


class SGD(Optimizer):
    pass


class IterableDataset:
    pass


class Iterator:
    """Of a loader. With workers, batches are there at once."""

    def __init__(self, loader):
        self.loader = loader

    def __next__(self):
        if not self.loader.num_workers:
            time.sleep(self.loader.dataset.seconds)
        return 0


class DataLoader:
    def __init__(self, dataset, num_workers=0, persistent_workers=False, pin_memory=False):
        if num_workers and getattr(dataset, "forbids_workers", False):
            raise RuntimeError("no workers here")
        self.dataset, self.num_workers = dataset, num_workers

    def __iter__(self):
        iterator = Iterator(self)
        while True:
            yield iterator.__next__()


class Profile:
    def __init__(self, **options):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass

    def export_chrome_trace(self, path):
        shutil.copy(os.environ["TRACE"], path)


class Range:
    def __init__(self, name):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


class Module:
    def __call__(self, *inputs):
        return self.forward(*inputs)

    def named_modules(self):
        yield "", self
        for name, part in vars(self).items():
            yield name, part


class EmitNvtx:
    def __init__(self, record_shapes):
        self.shapes = record_shapes

    def __enter__(self):
        print(f"operators, shapes={self.shapes}")

    def __exit__(self, *error):
        print("no operators any more")


dataloader = SimpleNamespace(_BaseDataLoaderIter=Iterator)
utils = SimpleNamespace(
    data=SimpleNamespace(DataLoader=DataLoader, IterableDataset=IterableDataset, dataloader=dataloader)
)
optim = SimpleNamespace(Optimizer=Optimizer, SGD=SGD, Adam=SGD, AdamW=SGD, Adagrad=SGD)
autograd = SimpleNamespace(backward=lambda loss: None, profiler=SimpleNamespace(emit_nvtx=EmitNvtx))
backends = SimpleNamespace(
    cudnn=SimpleNamespace(benchmark=False, allow_tf32=False),
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
)
nn = SimpleNamespace(Module=Module)
jit = SimpleNamespace(is_tracing=lambda: False)
profiler = SimpleNamespace(
    ProfilerActivity=SimpleNamespace(CPU=0, CUDA=1), profile=Profile, record_function=Range
)
cuda = SimpleNamespace(
    is_available=lambda: gpu,
    is_initialized=lambda: gpu, is_current_stream_capturing=lambda: False,
    synchronize=lambda: None,
    cudart=lambda: SimpleNamespace(cudaProfilerStart=lambda: None, cudaProfilerStop=lambda: None),
    nvtx=SimpleNamespace(
        range_start=lambda name: 0, range_end=lambda token: None,
        range_push=lambda name: print(f"<{name}>"), range_pop=lambda: print("</>"),
    ),
)


def save(value, path):
    pass
