"""Switches of convolutions on CUDA devices.

`benchmark`, `deterministic` and `enabled` are there for programs that set them, and change nothing: kernels are chosen
by a fixed rule. `neura.use_deterministic_algorithms` asks for the same numbers in every run.
"""

import sys
import types
from contextlib import contextmanager

from .. import _neura

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "flags", "is_available", "version"]  # noqa: F822

benchmark, deterministic, enabled, benchmark_limit = False, False, True, 10


class _Module(types.ModuleType):
    @property
    def allow_tf32(self):
        """True if float32 convolutions may use TF32 (tensor cores); True by default."""
        return _neura._cuda.get_cudnn_allow_tf32()

    @allow_tf32.setter
    def allow_tf32(self, allow):
        _neura._cuda.set_cudnn_allow_tf32(bool(allow))


def is_available():
    """True if convolutions can run on a CUDA device."""
    return not _neura._cuda.why_not()


def version():
    """None: Neura does not say which version of the library it found."""
    return None


@contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
    """These switches within a block."""
    module = sys.modules[__name__]
    new = dict(enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic)
    new["allow_tf32"] = allow_tf32
    old = {name: getattr(module, name) for name in new}
    try:
        for name, value in new.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in old.items():
            setattr(module, name, value)


sys.modules[__name__].__class__ = _Module
