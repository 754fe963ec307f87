"""ONNX: `load` makes a module from a file, `export` a file from a module. `neura.onnx.backend` runs them for
ONNX's own tests."""

import os

from .. import _neura
from .. import nn as _nn  # noqa: F401 - a model has the methods that neura.nn gives to modules
from ._export import TrainingMode, export  # noqa: F401

Model = _neura._onnx.Model
Model.__module__ = __name__


def _deepcopy(self, memo):
    copy = memo[id(self)] = self._copy()
    return copy


def _reduce_ex(self, protocol):
    raise TypeError("cannot pickle a model of an ONNX file; save its state_dict() and load the file again")


Model.__deepcopy__, Model.__reduce_ex__ = _deepcopy, _reduce_ex


def load(path):
    """The model of an ONNX file, in evaluation mode, on the cpu.

    path: a path, or the bytes of a file. Tensors of more than 16 elements become parameters and buffers under the
    names of the file; weights in other files are read from the folder of the model.

    Raises IoError, FormatError for what is no ONNX file, and NotImplementedError that lists every operator of the
    model that is missing, with its nodes.

    >>> import neura
    >>> relu = bytes.fromhex("08083a180a0c0a0178120179220452656c755a030a017862030a017942021011")
    >>> neura.onnx.load(relu)(neura.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        return _neura._onnx.load_bytes(bytes(path))
    return _neura._onnx.load(os.fspath(path))


def operators():
    """What `load` knows: (domain, name, first version, last version or None) of every operator."""
    return _neura._onnx.operators()


def exported():
    """What `export` writes as nodes: (operation, operators of ONNX, first version) of each. Others are written as their
    definitions, where they have one.

    >>> import neura
    >>> ("tanh", "Tanh", 1) in neura.onnx.exported()
    True
    """
    return _neura._onnx.exported()
