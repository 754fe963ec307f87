"""The order in which a loader takes items."""

import itertools
from typing import Generic, TypeVar

from ... import _neura

T_co = TypeVar("T_co", covariant=True)
_CHUNK = 4096  # indices drawn at a time with replacement


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


class Sampler(Generic[T_co]):
    """An order of indices (or other keys) of a data set. Derive from it and define ``__iter__()``; define
    ``__len__()`` where the number is known, so that ``len(loader)`` is too."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}: expected __iter__ in a class derived from Sampler")


class SequentialSampler(Sampler[int]):
    """0, 1, … len(data_source) - 1."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _own_generator(generator):
    """The given one, or a new one seeded by the default one: what else draws meanwhile changes nothing."""
    if generator is not None:
        return generator
    seed = _neura.empty((), dtype=_neura.int64, device="cpu").random_().item()
    return _neura.Generator().manual_seed(seed)


class RandomSampler(Sampler[int]):
    """Indices in random order, or drawn with ``replacement``.

    ``num_samples``: how many, ``len(data_source)`` if None; more than that without replacement are several orders after
    each other. ``generator``: where chance comes from; if None, each pass seeds one from the default generator.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: expected replacement to be a bool, got {replacement!r}")
        if not _whole(self.num_samples) or self.num_samples <= 0:
            raise ValueError(f"RandomSampler: expected a positive number as num_samples, got {self.num_samples!r}")

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted = len(self.data_source), self.num_samples
        generator = _own_generator(self.generator)
        if n == 0 and wanted > 0:
            raise ValueError("RandomSampler: expected items to draw from, got an empty data set")
        while wanted > 0:
            if self.replacement:
                drawn = _neura.randint(n, (min(wanted, _CHUNK),), generator=generator, device="cpu")
            else:
                drawn = _neura.randperm(n, generator=generator, device="cpu")
            yield from drawn.tolist()[:wanted]
            wanted -= drawn.numel()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in _neura.randperm(len(self.indices), generator=self.generator, device="cpu").tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices, i with a probability in proportion to ``weights[i]`` (they need not sum to 1)."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if not _whole(num_samples) or num_samples <= 0:
            raise ValueError(f"WeightedRandomSampler: expected a positive number as num_samples, got {num_samples!r}")
        if not isinstance(replacement, bool):
            raise ValueError(f"WeightedRandomSampler: expected replacement to be a bool, got {replacement!r}")
        self.weights = _neura.as_tensor(weights, dtype=_neura.float64, device="cpu")
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: expected weights in one dimension, got shape {list(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = _neura.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """The indices of ``sampler`` (any iterable) in lists of ``batch_size``; ``drop_last`` leaves out a short last one.

    >>> from neura.utils.data import BatchSampler, SequentialSampler
    >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        if not _whole(batch_size) or batch_size <= 0:
            raise ValueError(f"BatchSampler: expected a positive number as batch_size, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: expected drop_last to be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
