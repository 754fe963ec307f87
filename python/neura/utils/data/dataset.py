"""Data sets: map-style, with items by index, and iterable ones."""

import bisect
import itertools
import math
import warnings
from typing import Generic, TypeVar

from ... import _neura
from ..._neura import errors

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A data set with items by index. Derive from it and define ``__getitem__(index)`` and ``__len__()``.

    Define ``__getitems__(indices)``, which returns a list, where many items at once are cheaper than one by one.

        class Squares(neura.utils.data.Dataset):
            def __getitem__(self, i):
                return neura.tensor(float(i)), i * i

            def __len__(self):
                return 100
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__}: expected __getitem__ in a class derived from Dataset")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A data set that is a stream. Derive from it and define ``__iter__()``.

    Each worker of a loader iterates over all of it; use ``get_worker_info()`` in ``__iter__`` to take a share.
    """

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}: expected __iter__ in a class derived from IterableDataset")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors of equal first size; item i is the tuple of their i-th rows.

    Raises ValueError where the first sizes differ. Whole batches are gathered in C++, without a tensor per row.
    """

    def __init__(self, *tensors):
        sizes = [t.size(0) for t in tensors]
        if len(set(sizes)) > 1:
            raise errors.AssertedValueError(f"TensorDataset: expected tensors of equal first size, got {sizes}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)

    def _collated(self, indices):
        return list(_neura._data.gather(self.tensors, indices))


class StackDataset(Dataset):
    """Data sets of equal length side by side: item i is the tuple of their i-th items, or a dict of them for datasets
    given by name."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: expected data sets either in order or by name, and at least one")
        self.datasets = args or kwargs
        parts = self._parts()
        self._length = len(parts[0])
        if any(len(d) != self._length for d in parts):
            raise ValueError(f"StackDataset: expected data sets of equal length, got {[len(d) for d in parts]}")

    def _parts(self):
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _together(self, items):
        return dict(zip(self.datasets, items)) if isinstance(self.datasets, dict) else tuple(items)

    def __getitem__(self, index):
        return self._together([d[index] for d in self._parts()])

    def __getitems__(self, indices):
        columns = []
        for d in self._parts():
            many = getattr(d, "__getitems__", None)
            columns.append(many(indices) if callable(many) else [d[i] for i in indices])
            if len(columns[-1]) != len(indices):
                raise ValueError(f"StackDataset: expected {len(indices)} items, got {len(columns[-1])}")
        return [self._together(items) for items in zip(*columns)]

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Data sets one after the other. Negative indices count from the end."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise errors.AssertedValueError("ConcatDataset: expected at least one data set, got none")
        for d in self.datasets:
            if isinstance(d, IterableDataset):
                raise errors.AssertedArgumentError(
                    "ConcatDataset: expected data sets with indices, got a stream; use ChainDataset"
                )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        n = len(self)
        if not -n <= idx < n:
            kind = ValueError if idx < 0 else IndexError
            raise kind(f"ConcatDataset: expected an index in [{-n}, {n}), got {idx}")
        idx %= n
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[part][idx - (self.cumulative_sizes[part - 1] if part else 0)]


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def _streams(self):
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise errors.AssertedArgumentError(
                    f"ChainDataset: expected streams (IterableDataset), got {type(d).__name__}"
                )
            yield d

    def __iter__(self):
        for d in self._streams():
            yield from d

    def __len__(self):
        return sum(len(d) for d in self._streams())


class Subset(Dataset[T_co]):
    """The items of ``dataset`` at ``indices``, in that order."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        there = [self.indices[i] for i in indices]
        many = getattr(self.dataset, "__getitems__", None)
        return many(there) if callable(many) else [self.dataset[i] for i in there]

    def __len__(self):
        return len(self.indices)

    def _collated(self, indices):
        return collated(self.dataset)([self.indices[i] for i in indices])


def collated(dataset):
    """The function that makes a whole batch of this data set in C++, equal to default collation of its items; None
    where there is none, or where a derived class changed what an item is."""
    kind = type(dataset)
    for base in kind.__mro__:  # whichever class says last what an item is
        if "_collated" in vars(base):
            break
        if "__getitem__" in vars(base) or "__getitems__" in vars(base):
            return None
    else:
        return None
    if isinstance(dataset, Subset) and collated(dataset.dataset) is None:
        return None
    if isinstance(dataset, TensorDataset) and any(type(t) is not _neura.Tensor for t in dataset.tensors):
        return None
    return dataset._collated


def random_split(dataset, lengths, generator=None):
    """Disjoint random parts, as Subsets.

    ``lengths`` are numbers of items whose sum is ``len(dataset)``, or fractions whose sum is 1; what rounding leaves
    goes to the first parts, one each. ``generator`` decides the split: the default one if None. Raises ValueError for
    lengths that do not fit.

        train, test = random_split(range(10), [0.8, 0.2], generator=neura.Generator().manual_seed(42))
    """
    lengths = list(lengths)
    n = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(f"random_split: expected fractions from 0 to 1, got {part} at index {i}")
        sizes = [math.floor(n * part) for part in lengths]
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warnings.warn(f"random_split: part {i} has no items", stacklevel=2)
        lengths = sizes
    if sum(lengths) != n:
        raise ValueError(f"random_split: expected lengths whose sum is {n} (or fractions: 1), got {sum(lengths)}")
    order = _neura.randperm(n, generator=generator, device="cpu").tolist()
    indices = iter(order)
    return [Subset(dataset, list(itertools.islice(indices, size))) for size in lengths]
