"""Batches of a data set, made by workers ahead of time."""

import os
import warnings

from ... import _neura
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .iterator import Single, Worked
from .device_copy import DeviceCopy
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, _whole
from .worker import Recipe, get_worker_info

_MOST_WORKERS = 1024  # as in C++

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


class _Endless(Sampler):
    """What a stream has for keys."""

    def __iter__(self):
        while True:
            yield None


def _check(ok, expected):
    if not ok:
        raise ValueError(f"DataLoader: expected {expected}")


class DataLoader:
    """An iterable over the batches of a data set. Each ``iter(loader)`` is a pass, an epoch.

    Arguments, with PyTorch's names, defaults and meaning:
        dataset: a Dataset, an IterableDataset, or whatever has ``__getitem__`` and ``__len__``.
        batch_size: items in a batch; None: items come as they are, not in batches.
        shuffle: a new random order each epoch.
        sampler: the order of indices, instead of ``shuffle``.
        batch_sampler: lists of indices, instead of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
        num_workers: how many workers make batches ahead of time; 0: each is made on demand.
        collate_fn: makes a batch of a list of items; ``default_collate`` if None.
        pin_memory: batches are put in pinned memory, from which copies to a GPU need no waiting; without CUDA it has no
            effect, which a warning says. Batches that go to a `device` always come from there.
        drop_last: drop the last batch if it is not full.
        timeout: seconds to wait for a batch of a worker; 0: for ever.
        worker_init_fn: called in each worker with its number, after seeding, before its first item.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context; Python's own default if None.
        generator: where the order and the workers' seeds come from; the default generator if None.
        prefetch_factor: batches that each worker prefetches; 2 if None.
        persistent_workers: workers stay alive between epochs.
        in_order: batches come in the order of the sampler; False: as they are done.

    And Neura's own:
        device: where batches are put, by copies on a stream of their own while the device is at the batch before. None:
            where `neura.device` as a block, or set_default_device, puts tensors as the loader is made; without these,
            batches stay where they are.
        worker_type: "process" or "thread". Python code holds the interpreter's lock, so that only processes make its
            items at the same time; their batches come back through shared memory. Threads share the data set, start at
            once, and are as fast where items are made in C++ or waited for. None chooses threads where whole batches
            are gathered in C++ (a TensorDataset, and subsets of it, with default collation), else processes.

    Worker number w draws from seed ``base + w``, where ``base`` is drawn from the generator at the beginning of the
    epoch: the default generator of neura in both kinds of worker, in processes also ``random`` and ``numpy.random``.

    An error in a worker comes out where the batch is asked for, with its own type and with the worker, the index and
    the worker's traceback in its text. A worker that dies or is too slow is a RuntimeError that says which and where.

        loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)
        for image, label in loader: ...
    """

    _iterator = _device_copy = None
    _ready = False
    _context = None
    _skip = 0  # batches at the beginning of the next pass that are not made
    _seed_batches = False  # workers draw what belongs to a batch from a seed of its own
    _fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
        device=None,
        worker_type=None,
    ):
        _check(
            _whole(num_workers) and 0 <= num_workers <= _MOST_WORKERS,
            f"num_workers from 0 to {_MOST_WORKERS}, got {num_workers!r}",
        )
        _check(timeout >= 0, f"a timeout of 0 or more seconds, got {timeout}")
        _check(num_workers or prefetch_factor is None, "num_workers > 0 where prefetch_factor is given")
        _check(prefetch_factor is None or prefetch_factor > 0, f"a positive prefetch_factor, got {prefetch_factor}")
        _check(num_workers or not persistent_workers, "num_workers > 0 where persistent_workers is set")
        _check(worker_type in (None, "thread", "process"), f'worker_type "thread" or "process", got {worker_type!r}')
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.device = _neura._chosen_device() if device is None else _neura.device(device)
        self._stream = isinstance(dataset, IterableDataset)
        self._choose_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self.multiprocessing_context = multiprocessing_context
        self._choose_workers(worker_type)
        self._ready = True

    def _choose_order(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if self._stream:
            _check(not shuffle, "no shuffle for a stream, whose order is its own; shuffle within the data set")
            _check(sampler is None and batch_sampler is None, "no sampler for a stream, whose order is its own")
        _check(sampler is None or not shuffle, "either a sampler or shuffle, got both")
        if batch_sampler is not None:
            alone = batch_size == 1 and not shuffle and sampler is None and not drop_last
            _check(alone, "batch_sampler without batch_size, shuffle, sampler and drop_last, whose place it takes")
            batch_size, drop_last = None, False
        elif batch_size is None:
            _check(not drop_last, "a batch_size where drop_last is set")
        if sampler is None:
            if self._stream:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler

    def _choose_workers(self, worker_type):
        if worker_type is None:
            plain = self.worker_init_fn is None and self._context is None
            worker_type = "thread" if plain and self._recipe().native() else "process"
        given = self._context is not None
        _check(not given or worker_type == "process", 'no multiprocessing_context where worker_type is "thread"')
        self.worker_type = worker_type
        have = len(os.sched_getaffinity(0))
        if worker_type == "process" and self.num_workers > have:
            warnings.warn(
                f"DataLoader: {self.num_workers} worker processes on {have} processors; more are rarely faster",
                stacklevel=3,
            )

    def __setattr__(self, name, value):
        if self._ready and name in self._fixed:
            raise ValueError(f"DataLoader: expected {name} to stay as it was given; make another loader")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            import multiprocessing

            _check(self.num_workers > 0, "num_workers > 0 where multiprocessing_context is given")
            if isinstance(context, str):
                names = multiprocessing.get_all_start_methods()
                _check(context in names, f"a multiprocessing_context among {names}, got {context!r}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(f"DataLoader: expected a name or a context of multiprocessing, got {context!r}")
        self._context = context

    @property
    def _batched(self):
        return self.batch_sampler is not None

    @property
    def _keys(self):
        """What is iterated over for keys: of batches, or of items that are not put in batches."""
        return self.batch_sampler if self._batched else self.sampler

    def _recipe(self):
        return Recipe(self.dataset, self._stream, self._batched, self.collate_fn, self.drop_last)

    def __iter__(self):
        if self.pin_memory and (why := _neura._cuda.why_not()):
            warnings.warn(f"DataLoader: pin_memory has no effect without CUDA: {why}", stacklevel=2)
        if self._device_copy is None and (self.device is not None or self.pin_memory):
            self._device_copy = DeviceCopy(self.device, bool(self.pin_memory))
        if self.num_workers == 0:
            return Single(self)
        if not self.persistent_workers:
            return Worked(self)
        if self._iterator is None or self._iterator.closed:
            self._iterator = Worked(self)
        else:
            self._iterator.start(self)
        return self._iterator

    def __len__(self):
        if not self._stream:
            return len(self._keys)
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
