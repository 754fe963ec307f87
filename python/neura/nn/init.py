"""Initialisation of parameters: every function fills its tensor in place, records nothing, and returns the tensor.

Random ones draw from the generator given, else from the default one.
"""

from .._neura.init import *  # noqa: F401,F403
from .._neura.init import _calculate_fan_in_and_fan_out  # noqa: F401

# PyTorch's names of old, which say nothing about writing in place.
for _name in "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal".split():
    globals()[_name] = globals()[_name + "_"]
xavier_uniform = globals()["xavier_uniform_"]


def _calculate_correct_fan(tensor, mode):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode: expected 'fan_in' or 'fan_out', got {mode!r}")
    return fan_in if mode == "fan_in" else fan_out


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    return globals()["trunc_normal_"](tensor, mean, std, a, b, generator)
