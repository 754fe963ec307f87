"""Workers that are processes with a copy of the data set."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import signal
import threading
import time
import weakref

from .transfer import Block, Receiver, Sender
from .worker import End, Failure, Place, WorkerDied, WorkerInfo, enter_process
from ... import _neura

_GRACE = 5.0  # seconds that a worker has to finish an item that is no longer wanted
_open_ends = weakref.WeakSet()  # of this process: a forked child must not keep them open


def _close_inherited():
    for receiver in list(_open_ends):
        receiver.close()
    _open_ends.clear()


os.register_at_fork(after_in_child=_close_inherited)


class _Closed(BaseException):
    pass


class _SharedPlace(Place):
    """Where the worker is, in memory that the loader's process reads, even after the worker's death."""

    def __init__(self, sender):
        self.closed, self.epoch = False, 0
        block = Block.create(4096)
        self.numbers = memoryview(block.tensor(0, _neura.uint8, (16,))).cast("q")
        self.numbers[0] = self.numbers[1] = -1
        sender.send_file(("place",), block)

    def at(self, task, position):
        self.numbers[0], self.numbers[1] = task, position
        if self.closed:
            raise _Closed

    position = property(lambda self: self.numbers[1])


def _listen(pipe, tasks, place):
    """Takes tasks out of the pipe as they come, so that the loader never waits for a worker to read; sees at once when
    the loader has closed its end or died."""
    try:
        while True:
            message = pickle.loads(pipe.recv_bytes())
            place.epoch = message[0]
            tasks.put(message)
    except (EOFError, OSError):
        place.closed = True
        tasks.put(None)
        time.sleep(2 * _GRACE)
        os._exit(1)  # an item takes this long, and the loader is gone


def _work(pipe, recipe, worker, count, base_seed, init):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader's process has Ctrl-C, and ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:  # the loader may be gone before its worker has begun
        sender, tasks = Sender(pipe), queue.SimpleQueue()
        place = _SharedPlace(sender)
        threading.Thread(target=_listen, args=(pipe, tasks, place), daemon=True).start()
        enter_process(WorkerInfo(worker, count, base_seed + worker, recipe.dataset), base_seed)
        _serve(sender, tasks, place, recipe, worker, init)
    except (_Closed, BrokenPipeError, ConnectionResetError):
        pass  # what is left is not wanted


def _serve(sender, tasks, place, recipe, worker, init):
    make, epoch, broken = None, -1, None
    try:
        if init is not None:
            init(worker)
    except Exception as error:
        broken = Failure(error, "in worker_init_fn")
    while (message := tasks.get()) is not None:
        its_epoch, number, keys, again, never = message
        sender.give_back(again)
        sender.forget(never)
        if its_epoch != place.epoch:
            continue  # it is no longer wanted
        if its_epoch != epoch:
            epoch, make = its_epoch, recipe.start()
        place.at(number, -1)
        try:
            outcome = ("error", broken) if broken else ("batch", make(number, keys, place))
        except End:
            outcome = ("end", None)
        except Exception as error:
            outcome = ("error", Failure(error, recipe.where(number, keys, place.position)))
        _answer(sender, epoch, number, *outcome)


def _answer(sender, epoch, number, kind, value):
    try:
        return sender.send(epoch, number, kind, value.portable() if kind == "error" else value)
    except (OSError, EOFError):
        raise
    except Exception as error:  # what cannot be pickled
        failure = Failure(error, f"sending batch {number}, which must be of tensors, arrays and what pickle takes")
    sender.send(epoch, number, "error", failure.portable())


class ProcessCrew:
    """Processes that make batches. Each takes its tasks in order; what comes out bears the epoch and the task's
    number."""

    def __init__(self, recipe, count, base_seed, init, context):
        self.context = context or multiprocessing.get_context()
        self.owner, self.closed, self.epoch = os.getpid(), False, 0
        self.processes, self.ends, self.places = [], [], [None] * count
        try:
            for worker in range(count):
                ours, theirs = self.context.Pipe()
                end = Receiver(ours)
                _open_ends.add(end)
                self.ends.append(end)
                p = self.context.Process(
                    target=_work,
                    args=(theirs, recipe, worker, count, base_seed, init),
                    name=f"neura-loader-{worker}",
                    daemon=True,
                )
                p.start()
                theirs.close()
                self.processes.append(p)
        except BaseException:
            self.close()
            raise

    def new_epoch(self):
        self.epoch += 1

    def send(self, worker, number, keys):
        end = self.ends[worker]
        message = pickle.dumps((self.epoch, number, keys, *end.returned()), 5)
        try:
            end.pipe.send_bytes(message)
        except OSError:
            pass  # it died: who waits for the batch will hear so

    def receive(self, worker, timeout):
        """(worker, task, kind, value) of the next result of this worker, of any worker for None; None: timed out."""
        workers = range(len(self.ends)) if worker is None else [worker]
        end = time.monotonic() + timeout if timeout else None
        while True:
            for w in self._ready(workers, end):
                result = self._read(w)
                if result is not None:
                    return (w, *result)
            if end and time.monotonic() >= end:
                return None

    def _ready(self, workers, end):
        """Workers that have sent something or died; after a second at most."""
        pipes = {self.ends[w].pipe: w for w in workers}
        watched = {self.processes[w].sentinel: w for w in workers}
        left = min(1.0, max(0.0, end - time.monotonic())) if end else 1.0
        ready = multiprocessing.connection.wait([*pipes, *watched], left)
        found = {pipes[r] if r in pipes else watched[r] for r in ready}
        return sorted(found) if found else [w for w in workers if not self.processes[w].is_alive()]

    def _read(self, worker):
        end = self.ends[worker]
        try:
            if not end.pipe.poll():  # nothing more, and it is dead
                raise EOFError
            result = end.read(self.epoch)
        except (EOFError, OSError):
            raise WorkerDied(worker, *self._death(worker)) from None
        if isinstance(result, memoryview):
            self.places[worker] = result
            return None
        return result

    def _death(self, worker):
        p = self.processes[worker]
        p.join(1.0)
        code = p.exitcode
        if code is None:
            return p.pid, "closed its connection without ending", ""
        if code >= 0:
            return p.pid, f"exited with code {code}", "its own output may say why"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        advice = {
            "SIGKILL": "the system kills processes when memory runs out: use fewer workers or smaller batches",
            "SIGBUS": "memory may have run out: use fewer workers or smaller batches",
            "SIGSEGV": "a native library crashed in it: num_workers=0 shows where",
        }
        return p.pid, f"was killed by {name}", advice.get(name, "another process sent that signal")

    def place(self, worker):
        try:
            if self.places[worker] is None and self.ends[worker].pipe.poll():
                self._read(worker)  # says where it is to be read, before anything else
        except (WorkerDied, OSError):
            pass
        numbers = self.places[worker]
        return (-1, -1) if numbers is None else tuple(numbers)

    def close(self):
        if self.closed or os.getpid() != self.owner:
            return
        self.closed = True
        self.places.clear()
        for end in self.ends:
            _open_ends.discard(end)
            end.close()
        deadline = time.monotonic() + _GRACE
        for p in self.processes:
            p.join(max(0.0, deadline - time.monotonic()))
        for stop in ("terminate", "kill"):
            left = [p for p in self.processes if p.is_alive()]
            for p in left:
                getattr(p, stop)()
            for p in left:
                p.join(1.0)
