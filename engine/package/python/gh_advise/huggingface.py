"""A callback that records some steps of a training with the Hugging Face Trainer.

    recorder = gh_advise.huggingface.Recorder()
    Trainer(callbacks=[recorder], ...).train()
    print(recorder.report)
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from . import recorder


class Recorder(recorder.Recorder, TrainerCallback):  # type: ignore[misc]
    """A `gh_advise.Recorder`, with its arguments. A step is one of the optimizer.

    Nothing tells a callback that the training failed. If it may, write `with recorder:` around it.
    """

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        self.resume()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.step()
        self._pause_for(control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._pause_for(control)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not control.should_save:  # what is saved follows
            self.resume()

    def on_save(self, *args: Any, **kwargs: Any) -> None:
        self.resume()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.finish()

    def _pause_for(self, control: Any) -> None:
        """The trainer evaluates and saves next, and reports when it has done so."""
        if control.should_evaluate or control.should_save:
            self.pause()
