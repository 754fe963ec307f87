"""Modules whose parameters are not filled."""

import inspect

from ... import _neura
from ..module import Module

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """module_cls(*args, **kwargs) on kwargs' device, for a program that fills the parameters itself.

    PyTorch leaves them unfilled; here they have the values of their initialisation, and what it draws does not move the
    default generator. RuntimeError unless module_cls is a Module, or where it takes no device.

    >>> neura.nn.utils.skip_init(neura.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"skip_init: expected a class of modules, got {module_cls!r}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"skip_init: expected {module_cls.__name__} to take an argument device")
    state = _neura.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        _neura.set_rng_state(state)
