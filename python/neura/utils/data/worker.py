"""What a worker is: its number, its seeds, and how it makes batches."""

import importlib.util
import random
import sys
import threading
import traceback

from ... import _neura
from .collate import default_collate
from .dataset import collated

_info = threading.local()  # of worker threads
_process_info = None  # of a worker process, for all of its threads


class WorkerInfo:
    """A worker as its data set sees it: ``id`` from 0 to ``num_workers`` - 1, ``seed``, and ``dataset``, which is a
    copy in each worker process, and the loader's own in worker threads."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


def get_worker_info():
    """The WorkerInfo of the worker in which this is called; None outside of workers."""
    return getattr(_info, "value", None) or _process_info


def enter_thread(info):
    """Makes this thread a worker: what it draws from the default generator follows from its seed alone."""
    _info.value = info
    _neura._enter_generator(_neura.Generator().manual_seed(info.seed))


def enter_process(info, base_seed):
    """Makes this process a worker: seeds neura and random with its seed and NumPy with numbers derived from it."""
    global _process_info
    _process_info = info
    _neura.set_num_threads(1)  # the workers are the parallelism
    if _neura._chosen_device():  # a fork has the blocks of the thread that made it
        _neura.device("cpu").__enter__()
    _neura.manual_seed(info.seed)
    random.seed(info.seed)
    numpy = NumPySeed([info.id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0])
    if "numpy.random" in sys.modules:
        numpy.seed(sys.modules["numpy.random"])
    else:
        sys.meta_path.insert(0, numpy)


class Seeded:
    """Keys of a batch, and the seed of all that is drawn for it: so it does not depend on who made the ones before."""

    def __init__(self, seed, keys):
        self.seed, self.keys = seed, keys

    def enter(self):
        """Has this worker draw from the seed, and returns the keys. What threads share is left alone."""
        _neura.manual_seed(self.seed)
        if _process_info is not None:
            random.seed(self.seed)
            if "numpy.random" in sys.modules:
                sys.modules["numpy.random"].seed([self.seed & 0xFFFFFFFF, self.seed >> 32 & 0xFFFFFFFF])
        return self.keys


class NumPySeed:
    """Seeds numpy.random as it is imported, so that a worker that needs no NumPy does not wait for it."""

    def __init__(self, words):
        self.words = words

    def seed(self, module):
        module.seed(module.SeedSequence(self.words).generate_state(4))

    def find_spec(self, name, path=None, target=None):
        if name != "numpy.random":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_seed(module):
            load(module)
            self.seed(module)

        spec.loader.exec_module = load_and_seed
        return spec


class End(Exception):
    """The stream of this worker has nothing more."""


class WorkerDied(Exception):
    """(worker, process id, how it ended, advice)"""


class Place:
    """Where a worker is: the position in its present batch. What waits for it reads it to say what went wrong."""

    def __init__(self):
        self.task, self.position = -1, -1

    def at(self, task, position):
        self.task, self.position = task, position


class Recipe:
    """How a loader makes a batch of the keys that its sampler gives."""

    def __init__(self, dataset, stream, batched, collate_fn, drop_last):
        self.dataset, self.stream, self.batched = dataset, stream, batched
        self.collate_fn, self.drop_last = collate_fn, drop_last

    def start(self):
        """The function from (number of the batch, keys, place) to a batch, for one pass."""
        if self.stream:
            return _Stream(self).batch
        make = self._many if self.batched else self._one
        return lambda task, keys, place: make(task, keys.enter() if type(keys) is Seeded else keys, place)

    def where(self, task, keys, position):
        """That position of a batch in words."""
        keys = keys.keys if type(keys) is Seeded else keys
        if position < 0:
            return f"making batch {task}"
        if self.stream:
            return f"at item {position} of batch {task} of its stream"
        return f"at index {keys[position] if self.batched else keys!r} of batch {task}"

    def native(self):
        """The function that makes whole batches in C++, if there is one."""
        return collated(self.dataset) if self.batched and self.collate_fn is default_collate else None

    def _one(self, task, key, place):
        place.at(task, 0)
        return self.collate_fn(self.dataset[key])

    def _many(self, task, keys, place):
        whole = self.native()
        if whole:
            try:
                return whole(keys)
            except TypeError:  # keys that are no numbers: item by item
                pass
        many = getattr(self.dataset, "__getitems__", None)
        if callable(many):
            place.at(task, -1)
            items = many(keys)
        else:
            items = []
            for position, key in enumerate(keys):
                place.at(task, position)
                items.append(self.dataset[key])
        place.at(task, -1)
        return self.collate_fn(items)


class _Stream:
    def __init__(self, recipe):
        self.recipe, self.items, self.ended = recipe, None, False

    def batch(self, task, keys, place):
        recipe = self.recipe
        items = []
        if self.ended:  # not every iterator may be asked again
            raise End
        for position in range(len(keys) if recipe.batched else 1):
            place.at(task, position)
            if self.items is None:
                self.items = iter(recipe.dataset)
            try:
                items.append(next(self.items))
            except StopIteration:
                self.ended = True
                break
        if not items or (recipe.batched and recipe.drop_last and len(items) < len(keys)):
            raise End
        place.at(task, -1)
        return recipe.collate_fn(items if recipe.batched else items[0])


class _Text(str):
    def __repr__(self):  # KeyError shows the repr of its argument: lines would be lost
        return str(self)


class Failure:
    """An exception in a worker, on its way to whoever iterates."""

    def __init__(self, error, where):
        self.kind = RuntimeError if isinstance(error, StopIteration) else type(error)
        self.where = where
        self.what = f"{type(error).__name__}: {error}"
        self.lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.error = error

    def portable(self):
        """Without what may not be pickled."""
        self.error = None
        module = sys.modules.get(self.kind.__module__)
        if getattr(module, self.kind.__qualname__, None) is not self.kind:
            self.kind = next(k for k in self.kind.__mro__ if k.__module__ == "builtins")
        return self

    def raise_in(self, worker):
        text = f"DataLoader: worker {worker} failed {self.where}: {self.what}"
        if self.error is None:
            text += f"\n\nIn the worker:\n{self.lines}"
        try:
            raised = self.kind(_Text(text) if issubclass(self.kind, KeyError) else text)
        except Exception:  # a type that is not made of one text
            raised = RuntimeError(text)
        raise raised from self.error
