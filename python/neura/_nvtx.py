"""neura.cuda.nvtx: ranges and marks that NVIDIA's profilers show; without their library the calls do nothing."""

import contextlib
import functools

__all__ = ["mark", "range", "range_pop", "range_push"]


@functools.cache
def _library():
    import ctypes
    import ctypes.util

    found = ctypes.util.find_library("nvToolsExt") or ctypes.util.find_library("nvtx3interop")
    try:
        return ctypes.CDLL(found) if found else None
    except OSError:
        return None


def _call(name, *args):
    function = getattr(_library(), name, None)
    return -1 if function is None else function(*args)


def range_push(msg):
    """Begins a range on this thread; returns its depth, from 0, or -1 without the library."""
    return _call("nvtxRangePushA", str(msg).encode())


def range_pop():
    """Ends the innermost range of this thread; returns its depth, or -1 without the library."""
    return _call("nvtxRangePop")


def mark(msg):
    """Marks this moment."""
    _call("nvtxMarkA", str(msg).encode())


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A range for a block, called msg.format(*args, **kwargs)."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
