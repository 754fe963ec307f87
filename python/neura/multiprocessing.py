"""Python's multiprocessing, with spawn. Tensors that go to another process are copied, by pickling.

To share one, move it to memory that processes forked afterwards see: `Tensor.share_memory_()`, `Module.share_memory()`.
"""

import multiprocessing as _python
import signal as _signal
import sys as _sys
import traceback as _traceback
from multiprocessing import *  # noqa: F401,F403

from ._neura import errors

__all__ = [
    *(name for name in _python.__all__ if getattr(getattr(_python, name), "__doc__", None) and name != "reducer"),
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """A process failed: error_index is its number, error_pid the system's."""

    def __init__(self, message, error_index, pid):
        super().__init__(message)
        self.msg, self.error_index, self.error_pid, self.pid = message, error_index, pid, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception: the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with another code than 0: exit_code, signal_name."""

    def __init__(self, message, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(message, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn, index, args, failures):
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        failures.put(_traceback.format_exc())
        _sys.exit(1)


class ProcessContext:
    """The processes that spawn(join=False) started."""

    def __init__(self, processes, failures):
        self.processes, self._failures = processes, failures
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """The system's numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits for one more process to end, or for timeout seconds; True once all have ended.

        Where one failed, ends the others (after grace_period seconds in which they may do so by themselves) and raises
        ProcessRaisedException or ProcessExitedException.
        """
        if not self.sentinels:
            return True
        from multiprocessing import connection

        failed = None
        for sentinel in connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        for process in self.processes:
            process.join(grace_period or 0)
            if process.is_alive():
                process.terminate()
            process.join()
        self._raise(failed)

    def _raise(self, index):
        process, failures = self.processes[index], self._failures[index]
        if not failures.empty():
            text = f"process {index} raised:\n\n{failures.get()}"
            raise ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        name = _signal.Signals(-code).name if code < 0 else None
        text = f"process {index} ended with signal {name}" if name else f"process {index} ended with code {code}"
        raise ProcessExitedException(text, index, process.pid, code, name)


SpawnContext = ProcessContext


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """fn(i, *args) in nprocs processes, for i from 0; see spawn."""
    context = _python.get_context(start_method)
    processes, failures = [], []
    for index in range(nprocs):
        failures.append(context.SimpleQueue())
        process = context.Process(target=_run, args=(fn, index, args, failures[index]), daemon=daemon)
        process.start()
        processes.append(process)
    started = ProcessContext(processes, failures)
    if not join:
        return started
    while not started.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(i, *args) in nprocs fresh Python processes, for i from 0, and waits for them.

    fn: of a module, so that it can be pickled. join=False: returns a ProcessContext at once. start_method: 'spawn',
    'fork' or 'forkserver'. Raises ProcessRaisedException with the traceback of the first that raised, and
    ProcessExitedException for one that ended otherwise; the others are ended.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def get_all_sharing_strategies():
    """How tensors go to other processes: {'file_system'}, PyTorch's word that comes closest to copying them."""
    return {"file_system"}


def get_sharing_strategy():
    """'file_system'; see get_all_sharing_strategies."""
    return "file_system"


def set_sharing_strategy(new_strategy):
    """Accepts 'file_system', and 'file_descriptor' of programs for PyTorch; ValueError for another. Changes nothing."""
    if new_strategy not in ("file_system", "file_descriptor"):
        raise errors.ValueError(
            f"set_sharing_strategy: expected 'file_system' or 'file_descriptor', got {new_strategy!r}"
        )
