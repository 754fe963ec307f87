"""First values of parameters: every function fills its tensor in place, records nothing, and returns the tensor.

Random ones draw from the generator given, else from the default one.
"""

from .._neura.init import *  # noqa: F401,F403
from .._neura.init import _calculate_fan_in_and_fan_out  # noqa: F401
