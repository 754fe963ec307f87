"""Metrics over many batches: sums stay on the device until a value is requested."""

from .. import _neura
from .._neura import Tensor, errors
from ..autograd.grad_mode import no_grad

__all__ = ["Accuracy", "ConfusionMatrix", "F1", "Mean", "Metric", "Precision", "Recall"]


class Metric:
    """The base. Derive from it and define `reset`, `update` and `compute`."""

    def reset(self):
        """Forgets everything."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method reset, got none; define it")

    def update(self, output, target):
        """Adds a batch."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method update, got none; define it")

    def compute(self):
        """The value over all batches since `reset`, a number."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method compute, got none; define it")


class Mean(Metric):
    """A weighted mean. `update(value, weight)`: numbers, or tensors of one element; nan over nothing.

    >>> mean = neura.train.Mean()
    >>> mean.update(1.0, 3)
    >>> mean.update(5.0)
    >>> mean.compute()
    2.0
    """

    def __init__(self):
        self.reset()

    def reset(self):
        self._sum = self._weight = 0

    def update(self, value, weight=1):
        value = value.detach().double() if isinstance(value, Tensor) else value
        self.add(value * weight, weight)

    def add(self, total, weight):
        """Adds a sum and what it is a sum over."""
        self._sum = self._sum + (total.detach().double() if isinstance(total, Tensor) else total)
        self._weight = self._weight + weight

    def compute(self):
        weight = float(self._weight)
        return float(self._sum) / weight if weight else float("nan")


def _check(name, output, target):
    if output.shape[:1] != target.shape or target.dim() != 1:
        raise errors.ShapeError(
            f"{name}: expected targets [n] and outputs [n] or [n, classes], got {list(target.shape)} and "
            f"{list(output.shape)}"
        )
    if target.is_floating_point() or target.is_complex():
        raise errors.DTypeError(f"{name}: expected targets of integers, got {target.dtype}; convert them with .long()")


def _is_host(labels):
    """Are their values there without waiting?"""
    return labels.device.type == "cpu"


class Accuracy(Metric):
    """The share of targets, [n] of integers, that are among the `top_k` largest of outputs [n, classes]; or that equal
    outputs [n], integers. nan over nothing. ShapeError for other sizes, DTypeError for other numbers, ValueError for a
    top_k below 1.

    >>> accuracy = neura.train.Accuracy()
    >>> accuracy.update(neura.tensor([[0.1, 0.9], [0.8, 0.2]]), neura.tensor([1, 1]))
    >>> accuracy.compute()
    0.5
    """

    def __init__(self, top_k=1):
        if top_k < 1:
            raise errors.ValueError(f"Accuracy: expected top_k of 1 or more, got {top_k}")
        self.top_k = top_k
        self.reset()

    def reset(self):
        self._right, self._count = 0, 0

    def update(self, output, target):
        _check("Accuracy", output, target)
        if output.dim() == 1 and (output.is_floating_point() or output.is_complex()):
            raise errors.DTypeError(
                f"Accuracy: expected outputs [n] of integers, labels, got {output.dtype}; compare probabilities with a "
                "threshold"
            )
        with no_grad():
            if output.dim() == 1:
                right = output == target
            elif self.top_k == 1:
                right = output.argmax(1) == target
            else:
                right = output.topk(min(self.top_k, output.shape[1]), 1)[1] == target.unsqueeze(1)
            self._right = self._right + right.sum()
        self._count += target.shape[0]

    def compute(self):
        return int(self._right) / self._count if self._count else float("nan")


class _Table(Metric):
    """How often each label is predicted as each."""

    def __init__(self, num_classes, threshold):
        if num_classes < 2:
            raise errors.ValueError(f"{type(self).__name__}: expected num_classes of 2 or more, got {num_classes}")
        self.num_classes, self.threshold = num_classes, threshold
        self.reset()

    def reset(self):
        self._table = 0

    def update(self, output, target):
        """outputs [n, classes], [n] of labels, or, for two classes, [n] of probabilities; targets [n] of labels."""
        _check(type(self).__name__, output, target)
        with no_grad():
            if output.dim() == 2:
                output = output.argmax(1)
            elif output.is_floating_point():
                output = (output > self.threshold).long()
            n = self.num_classes
            output, target = output.long(), target.long()
            if _is_host(output) and _is_host(target):
                self._check_labels(output, target)
            fits = (output >= 0) & (output < n) & (target >= 0) & (target < n)
            place = _neura.where(fits, target * n + output, n * n)  # after the table: looked at when it is read
            none = _neura.zeros(n * n + 1, dtype=_neura.int64, device=place.device)
            self._table = self._table + none.index_add(0, place, _neura.ones_like(place))

    def _check_labels(self, *all_labels):
        for labels in all_labels:
            if labels.numel() and not 0 <= int(labels.min()) <= int(labels.max()) < self.num_classes:
                raise errors.IndexError(
                    f"{type(self).__name__}: expected labels in [0, {self.num_classes}), got {int(labels.min())} to "
                    f"{int(labels.max())}"
                )

    def _counts(self):
        """The table as one list, row by row. IndexError where labels on a device were out of range."""
        n = self.num_classes
        flat = self._table.tolist() if isinstance(self._table, Tensor) else [0] * (n * n + 1)
        if wrong := flat.pop():
            raise errors.IndexError(
                f"{type(self).__name__}: expected labels in [0, {n}), got others in {wrong} of the items"
            )
        return flat


class ConfusionMatrix(_Table):
    """How often items of each class are taken for each: `compute()` gives int64 [num_classes, num_classes], a row for
    what they are and a column for what was predicted. Printing shows it, with the names of `classes`, if given. Outputs
    and targets as of `Precision`; `Run.evaluate` returns the tensor and logs nothing of it. ValueError for fewer than
    two classes, or another number of names.

    >>> table = neura.train.ConfusionMatrix(2, ["cat", "dog"])
    >>> table.update(neura.tensor([1, 1, 0]), neura.tensor([1, 0, 1]))
    >>> table.compute().tolist()
    [[0, 1], [1, 1]]
    >>> print(table)
         cat  dog
    cat    0    1
    dog    1    1
    """

    def __init__(self, num_classes=2, classes=None, threshold=0.5):
        super().__init__(num_classes, threshold)
        self.classes = [str(i) for i in range(num_classes)] if classes is None else [str(c) for c in classes]
        if len(self.classes) != num_classes:
            raise errors.ValueError(f"ConfusionMatrix: expected {num_classes} classes, got {len(self.classes)} names")

    def compute(self):
        """The counts over all batches since `reset`. IndexError where labels on a device were out of range."""
        return _neura.tensor(self._counts()).reshape(self.num_classes, self.num_classes)

    def __str__(self):
        rows = [["", *self.classes]]
        rows += [[name, *map(str, row)] for name, row in zip(self.classes, self.compute().tolist())]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [[row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))] for row in rows]
        return "\n".join("  ".join(line).rstrip() for line in lines)


class _Counted(_Table):
    def __init__(self, num_classes=2, average=None, threshold=0.5):
        super().__init__(num_classes, threshold)
        average = average or ("binary" if num_classes == 2 else "macro")
        if average not in ("binary", "macro", "micro") or (average == "binary" and num_classes != 2):
            raise errors.ValueError(
                f'{type(self).__name__}: expected average "macro", "micro" or, of two, "binary", got {average!r}'
            )
        self.average = average

    def compute(self):
        """The value over all batches since `reset`. IndexError where labels on a device were out of range."""
        n, flat = self.num_classes, self._counts()
        hits = [flat[i * n + i] for i in range(n)]
        said = [sum(flat[i::n]) for i in range(n)]
        there = [sum(flat[i * n : i * n + n]) for i in range(n)]
        if self.average == "binary":
            return self._score(hits[1], said[1], there[1])
        if self.average == "micro":
            return self._score(sum(hits), sum(said), sum(there))
        scores = [self._score(*of) for of in zip(hits, said, there) if of[1] or of[2]]
        return sum(scores) / len(scores) if scores else 0.0


class Precision(_Counted):
    """The share of the items predicted to be of a class that are. "binary": of class 1; "macro": the mean over the
    classes that occur; "micro": over all items. 0 over nothing.

    >>> precision = neura.train.Precision()
    >>> precision.update(neura.tensor([1, 1, 0]), neura.tensor([1, 0, 1]))
    >>> precision.compute()
    0.5
    """

    @staticmethod
    def _score(hits, said, there):
        return hits / said if said else 0.0


class Recall(_Counted):
    """The share of the items of a class that were predicted to be. Averages as of `Precision`."""

    @staticmethod
    def _score(hits, said, there):
        return hits / there if there else 0.0


class F1(_Counted):
    """The harmonic mean of precision and recall. Averages as of `Precision`."""

    @staticmethod
    def _score(hits, said, there):
        return 2 * hits / (said + there) if said + there else 0.0
