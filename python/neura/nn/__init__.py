"""What networks are made of."""

from .._neura import errors as _errors
from .._neura.nn import *  # noqa: F401,F403
from . import functional, init  # noqa: F401
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential  # noqa: F401
from .distance import TripletMarginWithDistanceLoss  # noqa: F401
from .lazy import LazyLinear  # noqa: F401
from .module import Module  # noqa: F401
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401
from . import utils  # noqa: F401

ReLU6.min_val, ReLU6.max_val = 0.0, 6.0  # noqa: F405
for _class in (Upsample, UpsamplingNearest2d, UpsamplingBilinear2d):  # noqa: F405
    _class.name = property(lambda self: type(self).__name__)
del _class


def _from_pretrained(
    cls,
    embeddings,
    freeze=True,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """An Embedding of a table that is there already, [rows, width]; frozen: without gradient."""
    if embeddings.dim() != 2:
        raise _errors.ShapeError(
            f"from_pretrained: expected a table of 2 dimensions, got {tuple(embeddings.shape)}; reshape it"
        )
    options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    return cls(*embeddings.shape, *options, _weight=embeddings, _freeze=freeze)


Embedding.from_pretrained = classmethod(_from_pretrained)  # noqa: F405


def __getattr__(name):
    """The lazy layers, when the first one is asked for."""
    if name.startswith("Lazy"):
        from . import lazy_layers

        if hasattr(lazy_layers, name):
            return getattr(lazy_layers, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
