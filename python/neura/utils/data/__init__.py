"""Data sets, samplers and loaders, with PyTorch's names."""

from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .collate import default_collate, default_convert
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]


from types import SimpleNamespace as _Namespace  # noqa: E402

from ... import _lazy  # noqa: E402
from . import collate as _collate, worker as _worker  # noqa: E402

_utils = _Namespace(collate=_collate, worker=_worker)
_lazy.files(__name__, "_utils", vars(_utils).__getitem__)
_lazy.files(__name__ + "._utils", "collate", lambda name: getattr(_collate, name))
