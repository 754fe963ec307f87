"""DistributedSampler: a share of a data set for each process."""

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
            from ... import distributed, errors

            if not distributed.is_initialized():
                raise errors.ValueError(
                    "DistributedSampler: expected num_replicas and rank; there is no process group to ask for them"
                )
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        self.num_samples = _neura._data.share_size(len(dataset), num_replicas, rank, drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        options = (self.num_replicas, self.rank, self.shuffle, self.seed, self.drop_last, self.epoch)
        return iter(_neura._data.share(len(self.dataset), *options))

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Sets the number of the epoch, which decides the order of the next pass."""
        self.epoch = epoch
