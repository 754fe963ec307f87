"""Switches of convolutions on CUDA devices."""

import sys
import types

from .. import _neura

__all__ = ["allow_tf32"]  # noqa: F822


class _Module(types.ModuleType):
    @property
    def allow_tf32(self):
        """May convolutions of float32 round their operands to TF32, for tensor cores? At first they may."""
        return _neura._cuda.get_cudnn_allow_tf32()

    @allow_tf32.setter
    def allow_tf32(self, allow):
        _neura._cuda.set_cudnn_allow_tf32(bool(allow))


sys.modules[__name__].__class__ = _Module
