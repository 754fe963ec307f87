"""Shares of a data set for processes that train together."""

import itertools
import math

from ... import _neura
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Share number `rank` of `num_replicas` equal shares of a data set.

    With ``shuffle`` each epoch has a new order, which all ranks know: it follows from ``seed`` and from the number
    given to ``set_epoch``; call that before each epoch. Where the data set does not divide evenly, its first items are
    taken twice, or with ``drop_last`` its last ones not at all.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "DistributedSampler: expected num_replicas and rank; there is no process group to ask for them"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"DistributedSampler: expected a rank in [0, {num_replicas}), got {rank}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        n = len(self.dataset)
        if self.shuffle:
            generator = _neura.Generator().manual_seed(self.seed + self.epoch)
            order = _neura.randperm(n, generator=generator, device="cpu").tolist()
        else:
            order = list(range(n))
        missing = self.total_size - n
        if n and missing > 0:
            order += itertools.islice(itertools.cycle(list(order)), missing)
        return itertools.islice(order, self.rank, self.total_size, self.num_replicas)

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Sets the number of the epoch, which decides the order of the next pass."""
        self.epoch = epoch
