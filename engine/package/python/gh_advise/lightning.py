"""A callback that records some steps of a training with Lightning.

    recorder = gh_advise.lightning.Recorder()
    Trainer(callbacks=[recorder], ...).fit(model, loader)
    print(recorder.report)
"""

from __future__ import annotations

import sys
from typing import Any

from . import recorder

# Lightning has two names. The callback is of the one that the program uses.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback


class Recorder(recorder.Recorder, Callback):  # type: ignore[misc]
    """A `gh_advise.Recorder`, with its arguments. A step is one of the optimizer."""

    _global_step = 0

    def on_train_batch_start(self, *args: Any, **kwargs: Any) -> None:
        self.resume()

    def on_train_batch_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        if trainer.global_step != self._global_step:  # else gradients are being accumulated
            self._global_step = trainer.global_step
            self.step()

    def on_validation_start(self, *args: Any, **kwargs: Any) -> None:
        self.pause()

    def on_validation_end(self, *args: Any, **kwargs: Any) -> None:
        self.resume()

    def on_save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        self.pause()  # until the next batch, since nothing says when it is written

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        self.finish(exception)

    def on_fit_end(self, *args: Any, **kwargs: Any) -> None:
        self.finish()

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        self.finish()
