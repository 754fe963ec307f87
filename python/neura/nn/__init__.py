"""Modules, layers and losses: the building blocks of networks."""

from .. import _lazy
from .._neura import nn as _nn

_nn._define_layers(_nn)

from .._neura.nn import *  # noqa: E402,F401,F403
from . import classes  # noqa: E402,F401
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential  # noqa: E402,F401
from .module import Module  # noqa: E402,F401
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: E402,F401

from . import transformer_layers  # noqa: E402,F401  it changes classes of C++

NLLLoss2d = NLLLoss  # noqa: F405  PyTorch's name of old

__getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "attention": "",
        "distance": "TripletMarginWithDistanceLoss",
        "families": "RNNCellBase SyncBatchNorm",
        "functional": "",
        "grad": "",
        "init": "",
        "lazy": "LazyLinear",
        "lazy_layers": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
        "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
        "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
        "modules": "",
        "parallel": "DataParallel",
        "utils": "",
    },
)
