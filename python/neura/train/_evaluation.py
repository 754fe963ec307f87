"""Evaluation: a measured pass over a loader."""

import contextlib

from ..autograd.grad_mode import no_grad
from ..nn.modes import in_mode
from ..random import fork_rng
from .metrics import Mean


@contextlib.contextmanager
def evaluating(*models):
    """Without gradients and in eval mode; afterwards each module is in the mode in which it was."""
    with contextlib.ExitStack() as modes:
        for model in models:
            modes.enter_context(in_mode(model, False))
        modes.enter_context(no_grad())
        yield


def evaluate(models, loader, function, metrics):
    """The means and metrics of `Run.evaluate`."""
    means = {}
    for metric in metrics.values():
        metric.reset()
    with evaluating(*models), fork_rng():
        for batch in loader:
            values = dict(function(batch))
            for metric in metrics.values():
                metric.update(*values["metrics"])
            values.pop("metrics", None)
            for key, value in values.items():
                if not isinstance(value, tuple):
                    items = _items(batch)
                    value = value * items, items
                means.setdefault(key, Mean()).add(*value)
    return {key: metric.compute() for key, metric in {**means, **metrics}.items()}


def _items(batch):
    """How many items a batch has: the first size of its first tensor."""
    while isinstance(batch, (list, tuple, dict)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return batch.shape[0] if getattr(batch, "shape", None) else 1
