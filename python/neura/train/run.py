"""A training run: checkpoints, accumulation, logs, around a loop of the user's own."""

import itertools
import os

from .. import _neura
from .._neura import errors
from ..autograd.grad_mode import no_grad
from . import _random
from ._evaluation import evaluate
from ._saved import Saved
from .callbacks import EVENTS, check_mode, is_better, told

_HALVES = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16"}


def _check(ok, expected):
    if not ok:
        raise errors.ValueError(f"Run: expected {expected}")


def _floats(values):
    return {name: value.item() if hasattr(value, "item") else float(value) for name, value in values.items()}


class Run(Saved):
    """Steps, checkpoints, logs and callbacks of one training. Each part can be left out, and the loop without it works.

    Arguments:
        model: a Module.
        optimizer: an Optimizer.
        scheduler: a schedule of learning rates, or None.
        schedule_per: "step": it moves once for each step that the optimizer really took; "epoch": at the end of epochs.
            A ReduceLROnPlateau always moves at the end of epochs, by the value of `monitor`.
        precision: None, "bf16" or "fp16": what `step` calls runs under autocast. With "fp16" a GradScaler scales.
        scaler: a GradScaler of your own.
        accumulate: how many calls of `step` make one step of the optimizer. A group that an epoch's end cuts short is
            a step, too, of its own weight.
        clip_norm: the largest norm of all gradients together. A norm that is not finite raises RuntimeError, for
            which each step waits for the device; with a scaler that step is left out instead.
        clip_value: the largest absolute value of a gradient.
        ema: the decay of an average of the weights, kept in `run.ema`, an AveragedModel.
        folder: where checkpoints are written, at the end of epochs and every `save_every` steps; None: none.
        keep: how many of them stay, the newest.
        monitor, mode: the logged value ("val/loss") whose best, the smallest with "min" or the largest with "max", has
            its weights in best.safetensors: {"model", "ema", "step", "epoch", "values"}.
        log_every: every so many steps "loss", the mean since the last time, and "lr" are logged.
        check_finite: a loss that is not finite is a ValueError when it is logged, and before a checkpoint or the end of
            an epoch; not with a scaler, which leaves such steps out.
        callbacks: a sequence of Callbacks, which are told in its order.

    `resume()` continues from the newest checkpoint, and what follows is bit for bit what would have followed without a
    stop, on the same machine and with the same numbers of threads and workers: model, optimizer, schedule, scaler,
    average, random numbers (neura, random, NumPy), the place in the epoch, callbacks and the run's own counts.
    ValueError for options out of range.

    >>> model = neura.nn.Linear(2, 1)
    >>> run = neura.train.Run(model, neura.optim.SGD(model.parameters(), lr=0.1), accumulate=2)
    >>> for i in range(4):
    ...     y = model(neura.ones(3, 2))
    ...     print(run.step(lambda: (y.square().sum(), y.numel())))  # a sum, and over how many
    False
    True
    False
    True
    """

    def __init__(
        self,
        model,
        optimizer,
        scheduler=None,
        *,
        schedule_per="step",
        precision=None,
        scaler=None,
        accumulate=1,
        clip_norm=None,
        clip_value=None,
        ema=None,
        folder=None,
        save_every=None,
        keep=2,
        monitor=None,
        mode="min",
        log_every=50,
        check_finite=True,
        callbacks=(),
    ):
        _check(schedule_per in ("step", "epoch"), f'schedule_per "step" or "epoch", got {schedule_per!r}')
        _check(precision is None or precision in _HALVES, f'precision None, "bf16" or "fp16", got {precision!r}')
        _check(accumulate >= 1, f"accumulate of 1 or more, got {accumulate}")
        _check(clip_norm is None or clip_norm > 0, f"a positive clip_norm, got {clip_norm}")
        _check(clip_value is None or clip_value > 0, f"a positive clip_value, got {clip_value}")
        _check(save_every is None or save_every >= 1, f"save_every of 1 or more, got {save_every}")
        _check(save_every is None or folder is not None, "a folder where save_every is given")
        _check(keep >= 1 and log_every >= 1, f"keep and log_every of 1 or more, got {keep} and {log_every}")
        check_mode("Run", mode)
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.accumulate, self.clip_norm, self.clip_value = accumulate, clip_norm, clip_value
        self._clips = clip_norm is not None or clip_value is not None
        self.folder, self.save_every, self.keep = folder if folder is None else os.fspath(folder), save_every, keep
        self.monitor, self.mode, self.log_every, self.check_finite = monitor, mode, log_every, check_finite
        self.steps = self.epoch = self.batch = self.rows = 0
        self.length = self.best = self.stopped = None
        self.values, self.grad_norm = {}, None
        self._micro, self._weight, self._unit, self._losses = 0, 0.0, 1.0, []
        self._due = self._begun = self._in_pass = self._rewound = False
        self._passed = self._order = self._now = self._loader = None
        self._set_precision(precision, scaler)
        self._set_schedule(schedule_per)
        self._set_average(ema)
        self._set_callbacks(callbacks)

    def _set_precision(self, precision, scaler):
        from ..amp import GradScaler, autocast

        device = next((p.device.type for p in self.model.parameters()), "cpu")
        dtype = getattr(_neura, _HALVES[precision]) if precision else None
        self._autocast = autocast(device, dtype=dtype) if precision else None
        self.scaler = GradScaler(device) if scaler is None and dtype == _neura.float16 else scaler
        self._took = False
        if self.scaler is not None:
            self.optimizer.register_step_post_hook(self._note_step)

    def _note_step(self, optimizer, args, kwargs):
        self._took = True

    def _set_schedule(self, per):
        from ..optim.lr_scheduler import ReduceLROnPlateau

        self._plateau = isinstance(self.scheduler, ReduceLROnPlateau)
        _check(not self._plateau or self.monitor, "monitor, the value that ReduceLROnPlateau looks at, got none")
        self._per_step = self.scheduler if per == "step" and not self._plateau else None
        self._per_epoch = None if self._per_step else self.scheduler

    def _set_average(self, decay):
        from ..optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

        self.ema = None if decay is None else AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(decay))

    def _set_callbacks(self, callbacks):
        self.callbacks = list(callbacks)
        self._told = {event: [f for c in self.callbacks for f in told(c, event)] for event in EVENTS}
        self._batch_start, self._batch_end = self._told["on_batch_start"], self._told["on_batch_end"]
        self._on_step = self._told["on_step"]

    def _tell(self, event, *arguments):
        for method in self._told[event]:
            method(self, *arguments)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self._tell("on_exception", error)

    # The loop

    def epochs(self, count):
        """The numbers of the epochs that are left of `count`, for the loop over them. At the end of each, what is left
        of a group is stepped, schedules move, and a checkpoint is written."""
        if not self._begun:
            self._begun = True
            self._tell("on_fit_start")
        if self._now is not None:
            _random.restore(self._now)
        while self.epoch < count and self.stopped is None:
            if self.batch == 0:
                self._tell("on_epoch_start")
            yield self.epoch
            self.flush()
            self._end_epoch()
        self._begun = False
        self._tell("on_fit_end")

    def _end_epoch(self):
        self._check_losses()
        if self._plateau:
            if self.monitor not in self.values:
                raise errors.ValueError(
                    f"Run: expected {self.monitor} among the logged values, got {list(self.values)}"
                )
            self.scheduler.step(self.values[self.monitor])
        elif self._per_epoch is not None:
            self._per_epoch.step()
        self._tell("on_epoch_end")
        self.epoch += 1
        self.batch, self._order, self._now, self._due = 0, None, None, False
        if self.folder is not None:
            self.save()

    def batches(self, loader):
        """The batches of this epoch that are left, of a DataLoader or another iterable that can be iterated over again.

        One pass in an epoch: ValueError for a second one. Batches that were done before a stop are not made again,
        except those of streams and of iterables that are no loader, which are made and left out. A sampler with
        `set_epoch` is told the epoch.
        """
        if self._passed == self.epoch:
            raise errors.ValueError("batches: expected one pass in an epoch, got a second; chain what is iterated over")
        self._passed, self._loader = self.epoch, loader
        for held in (getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)):
            if hasattr(held, "set_epoch"):
                held.set_epoch(self.epoch)
        self.length = len(loader) if hasattr(loader, "__len__") and not getattr(loader, "_stream", False) else None
        now, self._now = self._now, None
        if self._order is None:  # the epoch begins here
            if now is not None:
                _random.restore(now, loader)
            self._order = _random.state(loader)
            return self._pass(self._iterate(loader))
        _random.restore(self._order, loader)
        iterator = self._iterate(loader)
        if now is not None:
            _random.restore(now)
        return self._pass(iterator)

    def _iterate(self, loader):
        from ..utils.data import DataLoader

        skip = self.batch
        if isinstance(loader, DataLoader) and not loader._stream:
            loader._skip, loader._seed_batches = skip, loader.num_workers > 0
            return iter(loader)
        iterator = iter(loader)
        next(itertools.islice(iterator, skip, skip), None)
        return iterator

    def _pass(self, iterator):
        self._in_pass = True
        try:
            for batch in iterator:
                self.batch += 1
                yield batch
                if self._due:
                    self._save_if_due()
            self.flush()
        finally:
            self._in_pass = False
        self._save_if_due()

    def _save_if_due(self):
        if self._due and self._micro == 0:
            self._due = False
            self.save()

    # A step

    def step(self, loss):
        """Gradients of a batch, and every `accumulate` calls the optimizer's step. Returns whether it was taken.

        loss: a function without arguments that returns the loss, a tensor of one element; or a pair of a sum and its
        weight, how many items or tokens it is the sum over. Of pairs the gradient is that of the sum of the sums
        divided by the sum of the weights, so that a step over several batches is that of one large batch, whatever
        their lengths. Losses without a weight all count the same. A step of total weight 0 is not taken.
        ValueError for a negative weight.
        """
        if self._batch_start:
            self._tell("on_batch_start")
        micro = self._micro
        if micro == 0:
            self.optimizer.zero_grad()
        if self._autocast is None:
            value = loss()
        else:
            with self._autocast:
                value = loss()
        weight = 1.0
        if type(value) is tuple:
            value, weight = self._weighed(value)
        if micro == 0:
            self._unit = weight or 1.0
        part = value if self._unit == 1.0 else value / self._unit  # gradients as large as those of a mean
        if self.scaler is not None:
            part = self.scaler.scale(part)
        part.backward()
        self._losses.append((value.detach(), weight))
        self._weight += weight
        self._micro = micro = micro + 1
        taken = self._update() if micro >= self.accumulate else False
        if self._batch_end:
            self._tell("on_batch_end", value.detach() / weight if weight else value.detach())
        return taken

    @staticmethod
    def _weighed(pair):
        if len(pair) != 2:
            raise errors.ValueError(f"step: expected a loss, or a sum and its weight, got {len(pair)} values")
        weight = float(pair[1])
        if not 0 <= weight < float("inf"):
            raise errors.ValueError(f"step: expected a weight of 0 or more, got {weight}")
        return pair[0], weight

    def flush(self):
        """The step of an incomplete group, if there is one. Returns whether it was taken."""
        return self._update() if self._micro else False

    def _parameters(self):
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _update(self):
        factor = self._unit / self._weight if self._weight else 0.0
        self._micro, self._weight = 0, 0.0
        if factor == 0.0:
            return False
        if factor != 1.0:
            with no_grad():
                for p in self._parameters():
                    if p.grad is not None:
                        p.grad.mul_(factor)
        if self._clips:
            self._clip()
        if self.scaler is None:
            self.optimizer.step()
        else:
            self._took = False
            self.scaler.step(self.optimizer)
            self.scaler.update()
            if not self._took:
                return False
        self.advance()
        return True

    def _clip(self):
        from ..nn.utils import clip_grad_norm_, clip_grad_value_

        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        if self.clip_value is not None:
            clip_grad_value_(self._parameters(), self.clip_value)
        if self.clip_norm is not None:
            strict = self.scaler is None
            self.grad_norm = clip_grad_norm_(self._parameters(), self.clip_norm, error_if_nonfinite=strict)

    def advance(self, loss=None):
        """What follows a step of the optimizer: counting, the schedule, the average, logs and checkpoints. For loops
        that take their steps themselves; `loss`, a tensor of one element, is for the log."""
        if loss is not None:
            self._losses.append((loss.detach(), 1.0))
        self.steps = steps = self.steps + 1
        if self._per_step is not None:
            self._per_step.step()
        if self.ema is not None:
            self.ema.update_parameters(self.model)
        if self._on_step:
            self._tell("on_step")
        if steps % self.log_every == 0:
            self._log_losses()
        if self.save_every is not None and steps % self.save_every == 0:
            self._due = True  # at the end of the batch, when all that belongs to it is done
            if not self._in_pass:
                self._save_if_due()

    def _log_losses(self):
        self._check_losses()
        losses, self._losses = self._losses, []
        weight = sum(w for _, w in losses)
        values = {"loss": sum(float(value) for value, _ in losses) / weight} if weight else {}
        self.log({**values, "lr": self.optimizer.param_groups[0]["lr"]})

    # Values

    def log(self, values):
        """Numbers by name, for callbacks, `run.values` and `monitor`: {"val/accuracy": 0.9}."""
        values = _floats(values)
        self.values.update(values)
        self.rows += 1
        self._tell("on_log", values)
        value = values.get(self.monitor)
        if value is not None and is_better(value, self.best, self.mode):
            self.best = value
            if self.folder is not None:
                self._save_best()

    def evaluate(self, name, loader, function, metrics=None):
        """Means over a loader, logged as "name/value" and returned by their short names.

        function(batch): without gradients and with the model, and its average, in eval mode; returns a dict of values,
        each a number that is a mean over the batch's items, or a pair of a sum and its weight; and, under "metrics",
        what the metrics, a dict of `Metric`, are updated with: (output, target). Tables, such as a `ConfusionMatrix`,
        are returned and not logged. Items are those of the first tensor of the batch. What is drawn meanwhile leaves
        the training's random numbers as they were.
        """
        self._tell("on_evaluate_start", name)
        models = [self.model] if self.ema is None else [self.model, self.ema.module]
        result = evaluate(models, loader, function, metrics or {})
        numbers = {key: value for key, value in result.items() if not getattr(value, "shape", None)}
        self.log({f"{name}/{key}": value for key, value in numbers.items()})
        self._tell("on_evaluate_end", name, result)
        return result

    def stop(self, reason="stopped"):
        """Ends the run at the end of this epoch; `run.stopped` is the reason, a text."""
        self.stopped = reason
