"""The CPU as a device: for programs that treat all devices alike. There is one, and it has no streams."""

import contextlib

__all__ = ["current_device", "device_count", "is_available", "set_device", "synchronize", "Stream", "stream"]


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


class Stream:
    """Stands where a stream is asked for: work on the CPU is not queued."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Does nothing."""


def stream(stream):
    """A context that changes nothing."""
    return contextlib.nullcontext()
