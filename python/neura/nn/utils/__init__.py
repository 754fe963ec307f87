"""Gradients and parameters of whole networks: clipping, flattening. Parametrizations, and calls with other tensors."""

from ... import _lazy
from ..._neura.utils import *  # noqa: F401,F403

__getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "clip_grad": "clip_grad_norm",
        "convert_parameters": "",
        "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
        "init": "skip_init",
        "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
        "parametrizations": "",
        "parametrize": "",
        "prune": "",
        "reparametrized": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
        "rnn": "",
        "stateless": "",
    },
)


def _of_reparametrized(name):
    from . import reparametrized

    return getattr(reparametrized, name)


_lazy.files(__name__, "spectral_norm weight_norm", _of_reparametrized)
