"""Metrics of scores and probabilities, where the others count labels."""

import math

from .. import _neura
from .._neura import errors
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from .metrics import Metric, _check

__all__ = ["AUROC", "Perplexity"]


class AUROC(Metric):
    """The area under the curve of true against false positives, of two classes: how likely an item of class 1 has a
    larger score than one of class 0, equal ones counting half. `update(output, target)`: scores [n], or [n, 2] of which
    the second less the first is taken; labels [n] of 0 and 1. All are kept until they are read. nan where a class
    does not occur; ShapeError, DTypeError, IndexError for what does not fit.

    >>> auroc = neura.train.AUROC()
    >>> auroc.update(neura.tensor([0.1, 0.4, 0.35, 0.8]), neura.tensor([0, 0, 1, 1]))
    >>> auroc.compute()
    0.75
    """

    def __init__(self):
        self.reset()

    def reset(self):
        self._scores, self._labels = [], []

    def update(self, output, target):
        _check("AUROC", output, target)
        if output.dim() == 2 and output.shape[1] != 2 or output.dim() > 2:
            raise errors.ShapeError(f"AUROC: expected outputs [n] or [n, 2], of two classes, got {list(output.shape)}")
        with no_grad():
            self._scores.append(output[:, 1] - output[:, 0] if output.dim() == 2 else output.detach())
            self._labels.append(target.detach())

    def compute(self):
        if not self._scores:
            return float("nan")
        scores, labels = _neura.cat(self._scores).double(), _neura.cat(self._labels)
        if bool(((labels != 0) & (labels != 1)).any()):
            raise errors.IndexError("AUROC: expected labels 0 and 1, got others")
        ones = int((labels != 0).sum())
        zeros = len(labels) - ones
        if not ones or not zeros or bool(scores.isnan().any()):
            return float("nan")
        _, group, counts = _neura.unique(scores, return_inverse=True, return_counts=True)
        ranks = counts.cumsum(0) - (counts - 1) / 2  # of equal scores the mean of their places, from 1 on
        above = float(ranks[group][labels != 0].double().sum()) - ones * (ones + 1) / 2
        return above / (ones * zeros)


class Perplexity(Metric):
    """exp of the mean cross entropy of tokens. `update(output, target)`: logits [..., classes], labels [...], of which
    those that are `ignore_index` do not count. nan over nothing; ShapeError for other sizes.

    >>> perplexity = neura.train.Perplexity()
    >>> perplexity.update(neura.zeros(2, 5, 8), neura.zeros(2, 5, dtype=neura.int64))
    >>> round(perplexity.compute(), 4)
    8.0
    """

    def __init__(self, ignore_index=-100):
        self.ignore_index = ignore_index
        self.reset()

    def reset(self):
        self._sum, self._count = 0.0, 0

    def update(self, output, target):
        if output.dim() < 2 or output.shape[:-1] != target.shape:
            raise errors.ShapeError(
                f"Perplexity: expected logits [..., classes] and labels [...], got {list(output.shape)} and "
                f"{list(target.shape)}"
            )
        with no_grad():
            flat, labels = output.reshape(-1, output.shape[-1]).float(), target.reshape(-1)
            loss = F.cross_entropy(flat, labels, ignore_index=self.ignore_index, reduction="sum")
            self._sum = self._sum + loss.double()
            self._count = self._count + (labels != self.ignore_index).sum()

    def compute(self):
        count = int(self._count)
        if not count:
            return float("nan")
        mean = float(self._sum) / count
        return math.exp(mean) if mean < 700 else float("inf")
