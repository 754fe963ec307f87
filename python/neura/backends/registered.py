"""Devices that a library brings along while the program runs; docs/backend.md says how to write one."""

import os

from .. import _neura

__all__ = ["device_types", "forbid_host_fallback", "host_fallbacks", "load_backend", "reset_host_fallbacks"]


def load_backend(path):
    """Loads a back end, a shared library; the device types that it registers are then names like "cpu".

    Libraries that the environment variable NEURA_BACKENDS names, separated by colons, load by themselves. Raises
    IoError where there is no such library, FormatError where it is no back end, and ValueError where its version is
    another or a name is taken.

    >>> neura.load_backend("/no/such/library.so")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    neura.errors.IoError: load_backend: expected a library that can be loaded, got /no/such/library.so ...
    """
    _neura._border.load(os.fspath(path))


def device_types():
    """The names of all kinds of device, such as ``["cpu", "cuda", "meta", "npu"]``.

    >>> neura.backends.device_types()[:3]
    ['cpu', 'cuda', 'meta']
    """
    return _neura._border.types()


def host_fallbacks():
    """Which operations the CPU computed instead of a registered device whose back end has no kernel for them.

    A dict from (device type, operation) to the number of calls since the last :func:`reset_host_fallbacks`.

    >>> neura.backends.reset_host_fallbacks()
    >>> neura.backends.host_fallbacks()
    {}
    """
    return _neura._border.fallbacks()


def reset_host_fallbacks():
    """Counts from zero again; see :func:`host_fallbacks`."""
    _neura._border.reset_fallbacks()


def forbid_host_fallback(forbid=True):
    """From now on an operation without a kernel raises NotImplementedError instead of running on the CPU.

    For all threads; returns what held before. The environment variable NEURA_FORBID_HOST_FALLBACK=1 is the same from
    the start.

    >>> neura.backends.forbid_host_fallback(True)
    False
    >>> neura.backends.forbid_host_fallback(False)
    True
    """
    return _neura._border.forbid(bool(forbid))
