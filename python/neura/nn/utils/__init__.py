"""Gradients and parameters of whole networks: clipping, flattening."""

from ..._neura.utils import *  # noqa: F401,F403
