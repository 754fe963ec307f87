"""Workers that are threads over one data set."""

import queue
import threading
import time

from .device_copy import placed
from .worker import End, Failure, Place, WorkerInfo, enter_thread

_GRACE = 5.0  # seconds that a worker has to finish an item that is no longer wanted


class _Closed(BaseException):
    pass


class _Watched(Place):
    """Stops a batch that is no longer wanted at its next item."""

    def __init__(self, crew):
        super().__init__()
        self.crew = crew

    def at(self, task, position):
        super().at(task, position)
        if self.crew.closed:
            raise _Closed


class ThreadCrew:
    """Threads that make batches. Each takes its tasks in order; what comes out bears the epoch and the task."""

    def __init__(self, recipe, count, base_seed, init, device_copy=None):
        self.closed = False
        self.epoch = 0
        self.recipe, self.init, self.device_copy = recipe, init, device_copy
        self.tasks = [queue.SimpleQueue() for _ in range(count)]
        self.results = queue.SimpleQueue()
        self.kept = {}  # that came while another was waited for
        self.places = [_Watched(self) for _ in range(count)]
        infos = [WorkerInfo(i, count, base_seed + i, recipe.dataset) for i in range(count)]
        self.threads = [
            threading.Thread(target=self._work, args=(info,), name=f"neura-loader-{info.id}", daemon=True)
            for info in infos
        ]
        for t in self.threads:
            t.start()

    def _work(self, info):
        enter_thread(info)
        place, make, epoch, broken = self.places[info.id], None, -1, None
        try:
            if self.init is not None:
                self.init(info.id)
        except Exception as error:
            broken = Failure(error, "in worker_init_fn")
        while (task := self.tasks[info.id].get()) is not None:
            if task[0] != self.epoch or self.closed:
                continue
            if task[0] != epoch:
                epoch, make = task[0], placed(self.recipe.start(), self.device_copy)
            try:
                outcome = ("error", broken) if broken else ("batch", make(task[1], task[2], place))
            except End:
                outcome = ("end", None)
            except _Closed:
                return
            except Exception as error:
                outcome = ("error", Failure(error, self.recipe.where(task[1], task[2], place.position)))
            self.results.put((epoch, info.id, task[1], *outcome))
            outcome = None  # its memory belongs to whoever takes it

    def new_epoch(self):
        self.epoch += 1
        self.kept.clear()

    def send(self, worker, number, keys):
        self.tasks[worker].put((self.epoch, number, keys))

    def receive(self, worker, timeout):
        """(worker, task, kind, value) of the next result of this worker, of any worker for None; None: timed out."""
        end = time.monotonic() + timeout if timeout else None
        for w in [worker] if worker is not None else list(self.kept):
            if self.kept.get(w):
                return self.kept[w].pop(0)
        while True:
            try:
                epoch, *result = self.results.get(timeout=max(0.0, end - time.monotonic()) if end else None)
            except queue.Empty:
                return None
            if epoch != self.epoch:
                continue
            if worker is None or result[0] == worker:
                return tuple(result)
            self.kept.setdefault(result[0], []).append(tuple(result))

    def place(self, worker):
        return self.places[worker].task, self.places[worker].position

    def close(self):
        if self.closed:
            return
        self.closed = True
        for q in self.tasks:
            q.put(None)
        end = time.monotonic() + _GRACE
        for t in self.threads:
            if t is not threading.current_thread():
                t.join(max(0.0, end - time.monotonic()))
