"""Apple's GPUs, which Neura does not use."""

from ._neura import errors

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available():
    """Always False: tensors cannot be put on Apple's GPUs."""
    return False


def device_count():
    """How many there are to use: 0."""
    return 0


def empty_cache():
    """Does nothing: there is no memory to give back."""


def manual_seed(seed):
    """Does nothing: there is no generator."""


def synchronize():
    """DeviceError: there is nothing to wait for."""
    raise errors.DeviceError("mps: expected a device of Apple's, got none; Neura does not use them")
