"""First values of parameters: every function fills its tensor in place, records nothing, and returns the tensor.

Random ones draw from the generator given, else from the default one.
"""

from .._neura.init import *  # noqa: F401,F403
from .._neura.init import _calculate_fan_in_and_fan_out  # noqa: F401

# PyTorch's names of old, which say nothing about writing in place.
for _name in "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal".split():
    globals()[_name] = globals()[_name + "_"]
xavier_uniform = globals()["xavier_uniform_"]
