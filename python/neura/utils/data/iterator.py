"""One pass over a loader: without workers, or with a crew of them."""

import collections
import contextlib
import itertools
import warnings
import weakref

from ... import _neura
from .device_copy import Placed, placed
from .worker import End, Place, Seeded, WorkerDied


def _on_the_cpu():
    """Where items are made, whatever the default device."""
    return _neura.device("cpu") if _neura._chosen_device() else contextlib.nullcontext()


class _Pass:
    """Counts batches, and has them arrive on the loader's device."""

    def __init__(self, loader):
        self.begin(loader)

    def begin(self, loader):
        self.loader, self.count = loader, loader._skip
        loader._skip = 0
        self.keys = iter(loader._keys)
        # Drawn in any case, so that the same seed gives the same order with any number of workers.
        self.base_seed = _neura.empty((), dtype=_neura.int64, device="cpu").random_(generator=loader.generator).item()
        next(itertools.islice(self.keys, self.count, self.count), None)
        try:
            self.expected = len(loader) if loader._stream else None
        except TypeError:
            self.expected = None

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader._keys)

    def __next__(self):
        batch = self.next()
        self.count += 1
        if self.expected is not None and self.count == self.expected + 1:
            warnings.warn(
                f"DataLoader: expected {self.expected} batches, as the data set's length says, got more; "
                "workers may each iterate over all of it: use get_worker_info() to take a share",
                stacklevel=2,
            )
        to = self.loader._device_copy
        if to is not None and not isinstance(batch, Placed):  # of another process, which has no device
            batch = to.send(batch)
        return batch.take() if isinstance(batch, Placed) else batch


class Single(_Pass):
    """Makes each batch on demand."""

    def __init__(self, loader):
        super().__init__(loader)
        with _on_the_cpu():
            self.make, self.place = placed(loader._recipe().start(), loader._device_copy), Place()

    def next(self):
        keys = next(self.keys)
        try:
            with _on_the_cpu():
                return self.make(self.count, keys, self.place)
        except End:
            raise StopIteration from None
        except StopIteration as error:
            raise RuntimeError("DataLoader: expected an item, got StopIteration from the data set") from error


def _crew(loader, base_seed):
    if loader.worker_type == "thread":
        from .threads import ThreadCrew

        return ThreadCrew(loader._recipe(), loader.num_workers, base_seed, loader.worker_init_fn, loader._device_copy)
    from .processes import ProcessCrew

    return ProcessCrew(
        loader._recipe(), loader.num_workers, base_seed, loader.worker_init_fn, loader.multiprocessing_context
    )


class Worked(_Pass):
    """Has workers make batches ahead of time.

    Batch k is made by worker k modulo their number, whatever their speed, so that an epoch with its random numbers
    follows from the seed. Workers whose stream has ended are passed over.
    """

    def __init__(self, loader):
        super().__init__(loader)
        self.crew = _crew(loader, self.base_seed)
        weakref.finalize(self, self.crew.close)
        self.reset()

    def start(self, loader):
        """Another epoch of the same crew."""
        self.begin(loader)
        self.crew.new_epoch()
        self.reset()

    def reset(self):
        n = self.loader.num_workers
        self.sent, self.turn, self.exhausted = self.count, self.count % n, False
        self.waiting = collections.OrderedDict()  # number of the batch -> (worker, keys)
        self.load, self.active = [0] * n, [True] * n
        self.assign()

    @property
    def closed(self):
        return self.crew.closed

    def free_worker(self):
        """Whose turn it is, if it may have another task."""
        n = len(self.load)
        for worker in ((self.turn + i) % n for i in range(n)):
            if self.active[worker]:
                if self.load[worker] < self.loader.prefetch_factor:
                    return worker
                if self.loader.in_order:
                    return None
        return None

    def assign(self):
        while not self.exhausted and (worker := self.free_worker()) is not None:
            try:
                keys = next(self.keys)
            except StopIteration:
                self.exhausted = True
                return
            self.waiting[self.sent] = worker, keys
            self.load[worker] += 1
            seeded = self.loader._seed_batches
            self.crew.send(worker, self.sent, Seeded(self.base_seed + self.sent, keys) if seeded else keys)
            self.turn = (worker + 1) % len(self.load)
            self.sent += 1

    def next(self):
        if self.closed:
            raise StopIteration
        while self.waiting:
            worker, number, kind, value = self.receive()
            del self.waiting[number]
            self.load[worker] -= 1
            if kind == "end":
                self.active[worker] = False
            self.assign()
            if kind == "batch":
                return value
            if kind == "error":
                value.raise_in(worker)
        if not self.loader.persistent_workers:
            self.crew.close()
        raise StopIteration

    def receive(self):
        number, (worker, _) = next(iter(self.waiting.items()))
        try:
            result = self.crew.receive(worker if self.loader.in_order else None, self.loader.timeout)
        except WorkerDied as error:
            raise self.death(number, *error.args) from None
        if result is None:
            where = "; ".join(f"worker {w} is {self.where(w)}" for w in range(len(self.load)))
            raise RuntimeError(
                f"DataLoader: timed out: expected batch {number} within {self.loader.timeout} s; {where}"
            )
        return result

    def where(self, worker):
        task, position = self.crew.place(worker)
        if task not in self.waiting or self.waiting[task][0] != worker:
            return "starting" if task < 0 else "idle"
        return self.loader._recipe().where(task, self.waiting[task][1], position)

    def death(self, number, worker, pid, how, advice):
        where = self.where(worker)
        self.crew.close()
        return RuntimeError(
            f"DataLoader: expected batch {number}, got the end of worker {worker} (process {pid}), which {how} "
            f"while it was {where}" + (f"; {advice}" if advice else "")
        )
