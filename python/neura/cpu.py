"""The CPU as a device: for programs that treat all devices alike. There is one, and it has no streams."""

import contextlib
import sys

from . import _neura
from .amp import of_cpu as amp

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "reset_peak_memory_stats",
    "set_device",
    "synchronize",
    "Stream",
    "stream",
]

sys.modules[__name__ + ".amp"] = amp  # `from neura.cpu.amp import ...`


def is_available():
    """Always True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """'cpu'."""
    return "cpu"


def set_device(device):
    """Does nothing: there is one."""


def synchronize(device=None):
    """Does nothing: operations on the CPU are done when they return."""


def memory_allocated():
    """Bytes in tensors, in what autograd keeps and in running operations, rounded up to the blocks that hold them.

    >>> before = neura.cpu.memory_allocated()
    >>> x = neura.zeros(1000, 1000)
    >>> neura.cpu.memory_allocated() - before >= x.nbytes
    True
    """
    return _neura._cpu.memory_allocated()


def max_memory_allocated():
    """The most of these bytes since the start or reset_peak_memory_stats. Blocks below 1 MiB count by the pages that
    they were cut from, whether or not they are in use."""
    return _neura._cpu.max_memory_allocated()


def reset_peak_memory_stats():
    """Resets max_memory_allocated."""
    _neura._cpu.reset_peak_memory_stats()


class Stream:
    """A placeholder: work on the CPU is not queued."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Does nothing."""


def stream(stream):
    """A context that changes nothing."""
    return contextlib.nullcontext()
