"""Trials before a training: which learning rate, and how many items in a batch. All is as it was afterwards."""

import contextlib
import copy
import itertools
import math

from .._neura import errors
from ..utils.data import default_collate
from . import _random


@contextlib.contextmanager
def _trial(model, optimizer, loader=None):
    """Weights, states, gradients, modes and random numbers are what they were when the block ends."""
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    state, drawn = copy.deepcopy(optimizer.state_dict()), _random.state(loader)
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    try:
        yield
    finally:
        model.load_state_dict(weights)
        optimizer.load_state_dict(state)
        optimizer.zero_grad()
        for module, training in modes:
            module.training = training
        _random.restore(drawn, loader)


def _step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


class LearningRates:
    """What `find_lr` saw. ``rates`` and the smoothed ``losses``; ``suggestion``: a tenth of the rate with the least
    loss, None where it never fell."""

    def __init__(self, rates, losses):
        self.rates, self.losses = rates, losses
        self.suggestion = self._safe()

    def _safe(self):
        lowest = min(range(len(self.losses)), key=self.losses.__getitem__)
        return self.rates[lowest] / 10 if self.losses[lowest] < self.losses[0] else None

    def __repr__(self):
        said = "none: the loss never fell" if self.suggestion is None else f"{self.suggestion:.2g}"
        return f"LearningRates({len(self.rates)} from {self.rates[0]:.2g} to {self.rates[-1]:.2g}, suggestion {said})"


def find_lr(model, optimizer, loader, loss, *, low=1e-7, high=1.0, steps=100):
    """The range test of learning rates (Smith, 2015): steps with rates that grow from `low` to `high`, until the loss
    is four times its least or not finite. Several groups keep the ratios of their rates; that of the first is meant.

    loader: batches, iterated over as often as is needed. loss(batch): the loss of a batch, a tensor of one element.
    Returns LearningRates. The model, the optimizer and all random numbers are afterwards what they were before.
    ValueError for rates that do not grow, fewer than 10 steps and a loader without batches.

    >>> import neura
    >>> neura.manual_seed(0)  # doctest: +ELLIPSIS
    <...>
    >>> model = neura.nn.Linear(4, 1)
    >>> x = neura.randn(64, 4)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> optimizer = neura.optim.Adam(model.parameters())
    >>> found = neura.train.find_lr(model, optimizer, batches, lambda b: (model(b[0]) - b[1]).square().mean())
    >>> 1e-3 < found.suggestion < 1
    True
    """
    if not 0 < low < high or steps < 10:
        raise errors.ValueError(
            f"find_lr: expected 0 < low < high and 10 steps or more, got {low}, {high} and {steps} steps"
        )
    rates, losses, mean = [], [], 0.0
    with _trial(model, optimizer, loader):
        first = optimizer.param_groups[0]["lr"] or 1.0
        ratios = [group["lr"] / first for group in optimizer.param_groups]
        batches = itertools.chain.from_iterable(_passes(loader))
        for i, batch in zip(range(steps), batches):
            rate = low * (high / low) ** (i / (steps - 1))
            for group, ratio in zip(optimizer.param_groups, ratios):
                group["lr"] = rate * ratio
            value = _step(optimizer, loss(batch))
            mean = 0.9 * mean + 0.1 * value
            smooth = mean / (1 - 0.9 ** (i + 1))
            if not math.isfinite(smooth):
                break
            rates.append(rate)
            losses.append(smooth)
            if smooth > 4 * min(losses) and min(losses) > 0:
                break
    if not rates:
        raise errors.ValueError("find_lr: expected a finite loss at the lowest rate, got another; look at the data")
    return LearningRates(rates, losses)


def _passes(loader):
    while True:
        batches = iter(loader)
        first = next(batches, None)
        if first is None:
            raise errors.ValueError(
                "find_lr: expected a loader with batches, got none; a list can be iterated over again"
            )
        yield itertools.chain((first,), batches)


def find_batch_size(model, optimizer, dataset, loss, *, start=2, limit=4096, collate_fn=default_collate):
    """The largest power of two times `start`, up to `limit`, of which a training step fits into memory.

    dataset: items by number, repeated where there are fewer than a batch has. loss(batch): the loss of a batch, which
    it puts where the model is. Beyond what fits, an OutOfMemoryError or MemoryError is caught. All is afterwards what
    it was before.
    OutOfMemoryError where not even `start` items fit.
    """
    if start < 1 or limit < start or not len(dataset):
        raise errors.ValueError(
            f"find_batch_size: expected 1 <= start <= limit and items, got {start}, {limit} and {len(dataset)} items"
        )
    fits, size = None, start
    with _trial(model, optimizer):
        while size <= limit:
            try:
                _step(optimizer, loss(collate_fn([dataset[i % len(dataset)] for i in range(size)])))
            except (errors.OutOfMemoryError, MemoryError) as error:
                if fits is None:
                    raise errors.OutOfMemoryError(f"find_batch_size: expected {start} items to fit, got: {error}")
                optimizer.zero_grad()
                break
            fits, size = size, size * 2
    return fits
