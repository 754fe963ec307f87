"""What networks are made of."""

from .._neura.nn import *  # noqa: F401,F403
from . import classes, functional, init  # noqa: F401
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential  # noqa: F401
from .distance import TripletMarginWithDistanceLoss  # noqa: F401
from .lazy import LazyLinear  # noqa: F401
from .module import Module  # noqa: F401
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401
from . import utils  # noqa: F401


def __getattr__(name):
    """The lazy layers, when the first one is asked for."""
    if name.startswith("Lazy"):
        from . import lazy_layers

        if hasattr(lazy_layers, name):
            return getattr(lazy_layers, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
